/* SPDX-License-Identifier: MIT */
#include "collab/unicode.h"

#include <wctype.h>

#include "base/utf8.h"

static size_t length_by_lead(uint8_t lead) {
        return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

uint32_t unicode_take(Str *text) {
        uint8_t lead = (uint8_t)text->data[0];
        size_t n = length_by_lead(lead);
        uint32_t c = n == 1 ? lead : lead & (0x7fu >> n);

        if (n > text->n)
                n = 1;
        for (size_t i = 1; i < n; i++) {
                if (!utf8_is_tail(text->data[i])) {
                        n = 1;
                        break;
                }
                c = c << 6 | ((uint8_t)text->data[i] & 0x3f);
        }
        text->data += n;
        text->n -= n;
        return n == 1 ? lead : c;
}

bool unicode_is_word(uint32_t c) {
        return c == '_' || iswalnum((wint_t)c);
}

bool unicode_equal_folded(Str a, Str b) {
        while (a.n && b.n)
                if (towlower((wint_t)unicode_take(&a)) != towlower((wint_t)unicode_take(&b)))
                        return false;
        return !a.n && !b.n;
}

Str unicode_first(Str text, size_t n) {
        Str rest = text;

        while (rest.n && n--)
                unicode_take(&rest);
        return (Str){text.data, text.n - rest.n};
}

static bool is_space(uint32_t c) {
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) || c == 0x85 || c == 0xa0 ||
               c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
               c == 0x205f || c == 0x3000;
}

Str unicode_trim(Str text) {
        Str rest = text, kept = {text.data, 0};

        while (rest.n) {
                bool is_blank = is_space(unicode_take(&rest));

                if (is_blank && !kept.n)
                        kept.data = rest.data;
                else if (!is_blank)
                        kept.n = (size_t)(rest.data - kept.data);
        }
        return kept;
}
