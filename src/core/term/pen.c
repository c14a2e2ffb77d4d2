/* SPDX-License-Identifier: MIT */
#include "core/term/pen.h"

#include "base/macro.h"

/* ---- reading ------------------------------------------------------------------------------------ */

static bool is_sub(const VtParser *sgr, unsigned i) {
        return i < sgr->n_params && sgr->subs & 1u << i;
}

static unsigned end_of_subs(const VtParser *sgr, unsigned i) {
        while (is_sub(sgr, i))
                i++;
        return i;
}

static uint32_t rgb(const VtParser *sgr, unsigned i) {
        return PEN_RGB | (vt_param(sgr, i, 0) & 255) << 16 | (vt_param(sgr, i + 1, 0) & 255) << 8 |
               (vt_param(sgr, i + 2, 0) & 255);
}

/* The colour behind 38, 48 or 58 at i: "5;n", "2;r;g;b", the same with colons, and "2:space:r:g:b". Returns
 * the parameter after it; *colour stays as it is when there is none. */
static unsigned read_colour(const VtParser *sgr, unsigned i, uint32_t *colour) {
        bool has_subs = is_sub(sgr, i + 1);
        unsigned kind = vt_param(sgr, i + 1, 0), end = has_subs ? end_of_subs(sgr, i + 1) : sgr->n_params;
        unsigned n = end - MIN(end, i + 2), first = i + 2;

        if (kind == 5 && n >= 1) {
                *colour = PEN_INDEXED | (vt_param(sgr, first, 0) & 255);
                return has_subs ? end : first + 1;
        }
        if (kind == 2 && n >= 3) {
                *colour = rgb(sgr, has_subs && n >= 4 ? first + 1 : first);
                return has_subs ? end : first + 3;
        }
        return has_subs ? end : sgr->n_params;
}

static void set_underline(Pen *pen, const VtParser *sgr, unsigned i) {
        unsigned style = is_sub(sgr, i + 1) ? vt_param(sgr, i + 1, 1) : 1;

        pen->underline = (uint8_t)(style <= 3 ? style : 1);
}

/* Attributes that one number switches on, and those that one switches off. */
static const uint8_t set_by[10] = {[1] = PEN_BOLD,  [2] = PEN_DIM,     [3] = PEN_ITALIC,  [5] = PEN_BLINK,
                                   [6] = PEN_BLINK, [7] = PEN_REVERSE, [8] = PEN_CONCEAL, [9] = PEN_STRIKE};
static const uint8_t cleared_by[10] = {[2] = PEN_BOLD | PEN_DIM, [3] = PEN_ITALIC,  [5] = PEN_BLINK,
                                       [7] = PEN_REVERSE,        [8] = PEN_CONCEAL, [9] = PEN_STRIKE};

static void apply_attribute(Pen *pen, unsigned number) {
        if (number < 10)
                pen->attrs |= set_by[number];
        else if (number >= 20 && number < 30)
                pen->attrs &= (uint8_t)~cleared_by[number - 20];
        if (number == 53)
                pen->attrs |= PEN_OVERLINE;
        else if (number == 55)
                pen->attrs &= (uint8_t)~PEN_OVERLINE;
        else if (number == 21)
                pen->underline = 2;
        else if (number == 24)
                pen->underline = 0;
}

static void apply_colour(Pen *pen, unsigned number) {
        if (number >= 30 && number < 38)
                pen->fg = PEN_INDEXED | (number - 30);
        else if (number >= 40 && number < 48)
                pen->bg = PEN_INDEXED | (number - 40);
        else if (number >= 90 && number < 98)
                pen->fg = PEN_INDEXED | (number - 90 + 8);
        else if (number >= 100 && number < 108)
                pen->bg = PEN_INDEXED | (number - 100 + 8);
        else if (number == 39)
                pen->fg = PEN_DEFAULT;
        else if (number == 49)
                pen->bg = PEN_DEFAULT;
}

void pen_apply(Pen *pen, const VtParser *sgr) {
        uint32_t unused;

        if (!sgr->n_params)
                *pen = PEN_NULL;
        for (unsigned i = 0; i < sgr->n_params;) {
                unsigned number = vt_param(sgr, i, 0);

                if (number == 38 || number == 48 || number == 58) {
                        i = read_colour(sgr, i, number == 38 ? &pen->fg : number == 48 ? &pen->bg : &unused);
                        continue;
                }
                if (number == 0)
                        *pen = PEN_NULL;
                else if (number == 4)
                        set_underline(pen, sgr, i);
                else
                        apply_attribute(pen, number), apply_colour(pen, number);
                i = end_of_subs(sgr, i + 1);
        }
}

/* ---- writing ------------------------------------------------------------------------------------ */

static char *pen_put_number(char *out, unsigned number) {
        char digits[10];
        size_t n = 0;

        do
                digits[n++] = (char)('0' + number % 10);
        while (number /= 10);
        while (n)
                *out++ = digits[--n];
        return out;
}

static char *put_attribute(char *out, unsigned number) {
        *out++ = ';';
        return pen_put_number(out, number);
}

/* base: 30 or 40. */
static char *put_colour(char *out, uint32_t colour, unsigned base) {
        unsigned value = colour & 0xffffff;

        if ((colour & PEN_COLOUR_KIND) == PEN_RGB) {
                out = put_attribute(put_attribute(out, base + 8), 2);
                out = put_attribute(put_attribute(out, value >> 16), value >> 8 & 255);
                return put_attribute(out, value & 255);
        }
        if ((colour & PEN_COLOUR_KIND) != PEN_INDEXED)
                return out;
        if (value < 16)
                return put_attribute(out, value < 8 ? base + value : base + 60 + value - 8);
        return put_attribute(put_attribute(put_attribute(out, base + 8), 5), value);
}

static char *put_attributes(char *out, const Pen *pen, bool for_libvterm) {
        uint8_t kept =
                for_libvterm ? (uint8_t)(pen->attrs & ~(PEN_DIM | PEN_CONCEAL | PEN_OVERLINE)) : pen->attrs;
        unsigned font = ((pen->attrs & PEN_DIM) ? 1u : 0u) | ((pen->attrs & PEN_CONCEAL) ? 1u : 0u) << 1 |
                        ((pen->attrs & PEN_OVERLINE) ? 1u : 0u) << 2;

        for (unsigned number = 1; number < 10; number++)
                if (number != 6 && kept & set_by[number])
                        out = put_attribute(out, number);
        if (pen->underline)
                out = put_attribute(out, 4);
        if (pen->underline > 1)
                *out++ = ':', out = pen_put_number(out, pen->underline);
        if (kept & PEN_OVERLINE)
                out = put_attribute(out, 53);
        return for_libvterm && font ? put_attribute(out, 10 + font) : out;
}

/* Two sequences: libvterm has room for 16 numbers in one. */
size_t pen_sgr(char *out, const Pen *pen, bool for_libvterm) {
        char *p = out, *colours;

        *p++ = '\x1b', *p++ = '[', *p++ = '0';
        p = put_attributes(p, pen, for_libvterm);
        if (pen->fg || pen->bg) {
                if (for_libvterm)
                        *p++ = 'm', *p++ = '\x1b', *p++ = '[';
                colours = p;
                p = put_colour(put_colour(p, pen->fg, 30), pen->bg, 40);
                if (for_libvterm)
                        memmove(colours, colours + 1, (size_t)(p - colours) - 1), p--;
        }
        *p++ = 'm';
        return (size_t)(p - out);
}
