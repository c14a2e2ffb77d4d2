/* SPDX-License-Identifier: MIT */
#include "collab/actor-id.h"

#include <locale.h>
#include <strings.h>
#include <wchar.h>
#include <wctype.h>

#include "base/macro.h"
#include "base/utf8.h"

bool actor_id_is_reserved(Str id) {
        static const char *const words[] = {"user",  "all",   "system", "foreman",
                                            "peers", "admin", "root",   "cccc"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (id.n == strlen(words[i]) && !strncasecmp(id.data, words[i], id.n))
                        return true;
        return false;
}

/* In the thread's locale, which the caller made a UTF-8 one. */
static bool has_good_characters(Str id) {
        mbstate_t state = {0};
        size_t n = 0, n_bytes;
        wchar_t c;

        for (size_t i = 0; i < id.n; i += n_bytes, n++) {
                n_bytes = mbrtowc(&c, id.data + i, id.n - i, &state);
                if (n_bytes == 0 || n_bytes > id.n - i)
                        return false;
                if (!iswalnum((wint_t)c) && c != L'_' && (c != L'-' || n == 0))
                        return false;
        }
        return n >= 1 && n <= ACTOR_ID_MAX;
}

bool actor_id_is_valid(Str id) {
        locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before;
        bool is_good;

        if (!utf8)
                return false;
        before = uselocale(utf8);
        is_good = has_good_characters(id);
        uselocale(before);
        freelocale(utf8);
        return is_good;
}

static size_t count_characters(Str id) {
        size_t n = 0;

        for (size_t i = 0; i < id.n; i++)
                n += !utf8_is_tail(id.data[i]);
        return n;
}

const char *actor_id_fault(Str id) {
        static const struct {
                const char *characters, *fault;
        } forbidden[] = {{" \t\r\n", "a name has no spaces in it"},
                         {".", "a name has no dots in it"},
                         {"@", "a name has no @ in it"},
                         {"/\\", "a name has no slashes in it"}};

        if (actor_id_is_valid(id))
                return NULL;
        if (!id.n)
                return "a name is missing";
        if (count_characters(id) > ACTOR_ID_MAX)
                return "a name has at most 32 characters";
        for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
                for (const char *c = forbidden[i].characters; *c; c++)
                        if (memchr(id.data, *c, id.n))
                                return forbidden[i].fault;
        return "a name has letters, digits, hyphens and underscores only, and no hyphen first";
}
