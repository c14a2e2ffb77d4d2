/* SPDX-License-Identifier: MIT */
#include "base/collate.h"

#include <stdint.h>

#include "base/utf8.h"

/* Marks in the order of the Unicode collation; digits and letters follow. */
static const char collate_marks[] = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

enum { COLLATE_DIGIT = 64, COLLATE_LETTER = 128, COLLATE_OTHER = 1024 };

/* The letters below the accents of U+00C0 to U+00FF; '.': it has none. */
static const char collate_latin[] = "aaaaaaaceeeeiiiidnooooo.ouuuuyts"
                                    "aaaaaaaceeeeiiiidnooooo.ouuuuyty";

typedef struct CollateKey {
        int32_t primary, accent;
        bool is_large;
} CollateKey;

static CollateKey collate_key(int32_t code) {
        const char *mark;

        if (code >= 'a' && code <= 'z')
                return (CollateKey){COLLATE_LETTER + code - 'a', 0, false};
        if (code >= 'A' && code <= 'Z')
                return (CollateKey){COLLATE_LETTER + code - 'A', 0, true};
        if (code >= '0' && code <= '9')
                return (CollateKey){COLLATE_DIGIT + code - '0', 0, false};
        if (code >= 0xc0 && code <= 0xff && collate_latin[code - 0xc0] != '.')
                return (CollateKey){COLLATE_LETTER + collate_latin[code - 0xc0] - 'a',
                                    code >= 0xe0 ? code : code + 0x20, code < 0xdf};
        mark = code > 0 && code < 0x80 ? strchr(collate_marks, code) : NULL;
        if (mark)
                return (CollateKey){1 + (int32_t)(mark - collate_marks), 0, false};
        return (CollateKey){code < 0x80 ? 0 : COLLATE_OTHER + code, 0, false};
}

int text_compare(Str a, Str b) {
        int accent = 0, large = 0, order;
        Str x = a, y = b;

        while (x.n && y.n) {
                int32_t code_x, code_y;
                size_t n_x = utf8_next(x, &code_x), n_y = utf8_next(y, &code_y);
                CollateKey key_x = collate_key(code_x), key_y = collate_key(code_y);

                if (key_x.primary != key_y.primary)
                        return key_x.primary < key_y.primary ? -1 : 1;
                if (!accent)
                        accent = (key_x.accent > key_y.accent) - (key_x.accent < key_y.accent);
                if (!large)
                        large = (int)key_x.is_large - (int)key_y.is_large;
                x = (Str){x.data + n_x, x.n - n_x};
                y = (Str){y.data + n_y, y.n - n_y};
        }
        if (x.n || y.n)
                return x.n ? 1 : -1;
        if (accent || large)
                return accent ? accent : large;
        order = a.n && b.n ? memcmp(a.data, b.data, a.n < b.n ? a.n : b.n) : 0;
        return order ? order : (a.n > b.n) - (a.n < b.n);
}
