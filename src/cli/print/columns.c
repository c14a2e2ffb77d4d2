/* SPDX-License-Identifier: MIT */
#include "cli/print/columns.h"

#include <stdint.h>

#include "base/macro.h"
#include "base/utf8.h"

typedef struct Range {
        int32_t first, last;
} Range;

static const Range none[] = {{0x300, 0x36f},    {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                             {0x64b, 0x65f},    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                             {0x20d0, 0x20ff},  {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff},
                             {0xe0100, 0xe01ef}};
static const Range two[] = {{0x1100, 0x115f},  {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
                            {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                            {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                            {0x20000, 0x3fffd}};

static bool is_in(const Range *ranges, size_t n, int32_t code) {
        for (size_t i = 0; i < n; i++)
                if (code >= ranges[i].first && code <= ranges[i].last)
                        return true;
        return false;
}

size_t columns_of(Str character) {
        int32_t code;

        if (!character.n || utf8_next(character, &code) != character.n || code == UTF8_WRONG)
                return 1;
        if (is_in(none, ARRAY_SIZE(none), code))
                return 0;
        return is_in(two, ARRAY_SIZE(two), code) ? 2 : 1;
}
