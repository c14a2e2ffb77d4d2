/* SPDX-License-Identifier: MIT */
#include "collab/unicode.h"

#include <wctype.h>

#include "base/utf8.h"

uint32_t unicode_take(Str *text) {
        int32_t code;
        size_t n = utf8_next(*text, &code);

        if (code == UTF8_WRONG) {
                code = (uint8_t)text->data[0];
                n = 1;
        }
        *text = (Str){text->data + n, text->n - n};
        return (uint32_t)code;
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
