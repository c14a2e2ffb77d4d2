/* SPDX-License-Identifier: MIT */
#include "cli/print/columns.h"

#include <wchar.h>

#include "base/utf8.h"

size_t columns_of(Str character) {
        int32_t code;
        int n;

        if (!character.n || utf8_next(character, &code) != character.n || code == UTF8_WRONG)
                return 1;
        n = wcwidth((wchar_t)code);
        return n < 0 ? 1 : (size_t)n;
}

size_t columns_of_text(Str text) {
        size_t n = 0;

        for (size_t i = 0, n_bytes; i < text.n; i += n_bytes) {
                int32_t code;

                n_bytes = utf8_next((Str){text.data + i, text.n - i}, &code);
                n += columns_of((Str){text.data + i, n_bytes});
        }
        return n;
}

Str columns_first(Str text, size_t n_columns) {
        size_t at = 0;

        while (at < text.n) {
                int32_t code;
                size_t n_bytes = utf8_next((Str){text.data + at, text.n - at}, &code);
                size_t n = columns_of((Str){text.data + at, n_bytes});

                if (n > n_columns)
                        break;
                n_columns -= n;
                at += n_bytes;
        }
        return (Str){text.data, at};
}
