/* SPDX-License-Identifier: MIT */
#include "core/regex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

enum { DEPTH_MAX = 500, HEAP_KIB = 256 };

struct Regex {
        pcre2_code *code;
        pcre2_match_data *data;
        pcre2_match_context *limits;
};

static int complain(char reterr[REGEX_WHY_MAX], const char *what, size_t offset) {
        snprintf(reterr, REGEX_WHY_MAX, "%s at byte %zu", what, offset);
        return REGEX_E_WRONG;
}

static int regex_set_limits(Regex *regex) {
        regex->limits = pcre2_match_context_create(NULL);
        regex->data = pcre2_match_data_create(1, NULL);
        if (!regex->limits || !regex->data)
                return error_origin(-ENOMEM);
        pcre2_set_match_limit(regex->limits, REGEX_STEPS);
        pcre2_set_depth_limit(regex->limits, DEPTH_MAX);
        pcre2_set_heap_limit(regex->limits, HEAP_KIB);
        return 0;
}

int regex_new(Regex **ret, Str pattern, char reterr[REGEX_WHY_MAX]) {
        Regex *regex;
        int number = 0;
        size_t offset = 0;

        if (pattern.n > REGEX_PATTERN_MAX)
                return complain(reterr, "longer than 4096 bytes", REGEX_PATTERN_MAX);
        regex = calloc(1, sizeof(*regex));
        if (!regex)
                return error_origin(-ENOMEM);
        regex->code =
                pcre2_compile((PCRE2_SPTR)(pattern.n ? pattern.data : ""), pattern.n,
                              PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_ALT_BSUX, &number, &offset, NULL);
        if (!regex->code) {
                PCRE2_UCHAR text[REGEX_WHY_MAX / 2];
                (void)pcre2_get_error_message(number, text, sizeof(text));
                regex_free(regex);
                return complain(reterr, (const char *)text, offset);
        }
        if (regex_set_limits(regex)) {
                regex_free(regex);
                return error_origin(-ENOMEM);
        }
        *ret = regex;
        return 0;
}

Regex *regex_free(Regex *regex) {
        if (!regex)
                return NULL;
        pcre2_code_free(regex->code);
        pcre2_match_data_free(regex->data);
        pcre2_match_context_free(regex->limits);
        free(regex);
        return NULL;
}

/* Texts come from JSON trees, which are UTF-8; one that is not (a file's name) does not match. */
int regex_search(const Regex *regex, Str text) {
        int r;

        if (text.n > REGEX_TEXT_MAX)
                return REGEX_E_LIMIT;
        r = pcre2_match(regex->code, (PCRE2_SPTR)(text.n ? text.data : ""), text.n, 0, 0, regex->data,
                        regex->limits);
        if (r >= 0)
                return 0;
        if (r == PCRE2_ERROR_NOMEMORY)
                return error_origin(-ENOMEM);
        return r == PCRE2_ERROR_MATCHLIMIT || r == PCRE2_ERROR_DEPTHLIMIT || r == PCRE2_ERROR_HEAPLIMIT
                       ? REGEX_E_LIMIT
                       : REGEX_E_NO_MATCH;
}
