/* SPDX-License-Identifier: MIT */
#include "wire/http-negotiate.h"

/* RFC 6750, 2.1: token68. */
static bool bearer_is_good(Str token) {
        static const bool is_char[256] = {
                ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true, ['.'] = true,
                ['_'] = true,         ['~'] = true,         ['+'] = true,         ['/'] = true,
        };
        size_t n = token.n;

        while (n && token.data[n - 1] == '=')
                n--;
        for (size_t i = 0; i < n; i++)
                if (!is_char[(unsigned char)token.data[i]])
                        return false;
        return n;
}

bool http_bearer(const HttpHead *head, Str *ret) {
        Str value = http_head_get(head, STR("Authorization")), scheme = STR("Bearer ");

        if (value.n <= scheme.n || !str_eq_nocase((Str){value.data, scheme.n}, scheme))
                return false;
        value = (Str){value.data + scheme.n, value.n - scheme.n};
        while (value.n && value.data[0] == ' ')
                value.data++, value.n--;
        *ret = value;
        return bearer_is_good(value);
}

/* ---- codings --------------------------------------------------------------------------------- */

/* Takes what stands before the next ';'. */
static Str coding_take_part(Str *rest) {
        const char *end = rest->n ? memchr(rest->data, ';', rest->n) : NULL;
        size_t n = end ? (size_t)(end - rest->data) : rest->n;
        Str part = str_trim((Str){rest->data, n});

        n += !!end;
        *rest = (Str){rest->data + n, rest->n - n};
        return part;
}

/* q=0, q=0.0, q=0.000: the only weights that matter to who has one order of preference. */
static bool coding_is_refused(Str rest) {
        while (rest.n) {
                Str part = coding_take_part(&rest);
                size_t n = 3;

                if (part.n < 3 || (part.data[0] | 0x20) != 'q' || part.data[1] != '=' || part.data[2] != '0')
                        continue;
                if (n < part.n && part.data[n] == '.')
                        n++;
                while (n < part.n && part.data[n] == '0')
                        n++;
                return n == part.n;
        }
        return false;
}

unsigned http_codings(const HttpHead *head) {
        HttpItems items = http_items(head, STR("Accept-Encoding"));
        unsigned named = 0, taken = 0, all = HTTP_CODING_GZIP | HTTP_CODING_BR;
        bool takes_others = false;
        Str item;

        while (http_items_next(&items, &item)) {
                Str name = coding_take_part(&item);
                bool is_taken = !coding_is_refused(item);
                unsigned coding = str_eq_nocase(name, STR("gzip")) ? HTTP_CODING_GZIP
                                  : str_eq_nocase(name, STR("br")) ? HTTP_CODING_BR
                                                                   : 0;

                if (str_is(name, "*"))
                        takes_others = is_taken;
                named |= coding;
                taken |= is_taken ? coding : 0;
        }
        return taken | (takes_others ? all & ~named : 0);
}

/* ---- what it has ----------------------------------------------------------------------------- */

/* The next entity-tag of a list, with its quotes, which may have commas between them. */
static bool etag_next(Str *rest, Str *ret) {
        const char *p = rest->data, *end = p + rest->n, *close;

        while (p < end && (*p == ' ' || *p == '\t' || *p == ','))
                p++;
        if (end - p > 2 && p[0] == 'W' && p[1] == '/')
                p += 2;
        if (p == end || *p != '"')
                return false;
        close = memchr(p + 1, '"', (size_t)(end - p) - 1);
        if (!close)
                return false;
        *ret = (Str){p, (size_t)(close + 1 - p)};
        *rest = (Str){close + 1, (size_t)(end - close) - 1};
        return true;
}

bool http_none_match(const HttpHead *head, Str etag) {
        for (size_t i = 0; i < head->n_fields; i++) {
                Str rest = head->fields[i].value, each;

                if (!str_eq_nocase(head->fields[i].name, STR("If-None-Match")) || !rest.n)
                        continue;
                if (str_is(rest, "*"))
                        return true;
                while (rest.n && etag_next(&rest, &each))
                        if (str_eq(each, etag))
                                return true;
        }
        return false;
}

/* ---- the part it wants ----------------------------------------------------------------------- */

/* The digits at the front; false: more than 18. No digits: *ret is left alone. */
static bool range_take_number(Str *rest, bool *has, uint64_t *ret) {
        size_t n = 0;

        *has = false;
        while (n < rest->n && rest->data[n] >= '0' && rest->data[n] <= '9') {
                if (n == 18)
                        return false;
                *ret = (*has ? *ret * 10 : 0) + (uint64_t)(rest->data[n++] - '0');
                *has = true;
        }
        *rest = (Str){rest->data + n, rest->n - n};
        return true;
}

int http_range(const HttpHead *head, uint64_t n_size, uint64_t *ret_first, uint64_t *ret_n) {
        Str rest = http_head_get(head, STR("Range")), unit = STR("bytes=");
        uint64_t first = 0, last = 0;
        bool has_first, has_last;

        if (rest.n <= unit.n || !str_eq_nocase((Str){rest.data, unit.n}, unit))
                return HTTP_RANGE_E_WHOLE;
        rest = (Str){rest.data + unit.n, rest.n - unit.n};
        if (!range_take_number(&rest, &has_first, &first) || !rest.n || rest.data[0] != '-')
                return HTTP_RANGE_E_WHOLE;
        rest = (Str){rest.data + 1, rest.n - 1};
        if (!range_take_number(&rest, &has_last, &last) || rest.n || (!has_first && !has_last) ||
            (has_first && has_last && last < first))
                return HTTP_RANGE_E_WHOLE;
        if (!has_first) { /* the last so many */
                first = last < n_size ? n_size - last : 0;
                has_last = last; /* … which are none of 0 */
                last = last ? UINT64_MAX : 0;
                if (!has_last)
                        return HTTP_RANGE_E_OUTSIDE;
        } else if (!has_last) {
                last = UINT64_MAX;
        }
        if (first >= n_size)
                return HTTP_RANGE_E_OUTSIDE;
        *ret_first = first;
        *ret_n = (last < n_size - 1 ? last : n_size - 1) - first + 1;
        return 0;
}
