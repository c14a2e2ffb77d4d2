/* SPDX-License-Identifier: MIT */
#include "core/term/modes.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/utf8.h"

enum {
        MOUSE = MODE_MOUSE_X10 | MODE_MOUSE_CLICK | MODE_MOUSE_DRAG | MODE_MOUSE_MOVE,
        MOUSE_FORM = MODE_MOUSE_UTF8 | MODE_MOUSE_SGR | MODE_MOUSE_URXVT | MODE_MOUSE_PIXELS,
        AFTER_RESET = MODE_AUTOWRAP | MODE_CURSOR_VISIBLE,
        /* What DECSTR puts back. */
        SOFT = MODE_CURSOR_KEYS | MODE_ORIGIN | MODE_AUTOWRAP | MODE_CURSOR_VISIBLE | MODE_KEYPAD |
               MODE_INSERT | MODE_NEWLINE,
};

const ModeInfo mode_infos[MODES_N_INFOS] = {
        {MODE_CURSOR_KEYS, 0, 1, false},
        {MODE_REVERSE_SCREEN, 0, 5, false},
        {MODE_ORIGIN, 0, 6, false},
        {MODE_AUTOWRAP, 0, 7, false},
        {MODE_MOUSE_X10, MOUSE, 9, false},
        {MODE_CURSOR_VISIBLE, 0, 25, false},
        {MODE_SIDE_MARGINS, 0, 69, false},
        {MODE_MOUSE_CLICK, MOUSE, 1000, false},
        {MODE_MOUSE_DRAG, MOUSE, 1002, false},
        {MODE_MOUSE_MOVE, MOUSE, 1003, false},
        {MODE_FOCUS, 0, 1004, false},
        {MODE_MOUSE_UTF8, MOUSE_FORM, 1005, false},
        {MODE_MOUSE_SGR, MOUSE_FORM, 1006, false},
        {MODE_WHEEL_KEYS, 0, 1007, true},
        {MODE_MOUSE_URXVT, MOUSE_FORM, 1015, false},
        {MODE_MOUSE_PIXELS, MOUSE_FORM, 1016, false},
        {MODE_PASTE, 0, 2004, false},
        {MODE_COLOUR_REPORTS, 0, 2031, false},
        {MODE_SIZE_REPORTS, 0, 2048, false},
};

static void modes_hard_reset(Modes *modes) {
        *modes = (Modes){.parser = modes->parser, .set = AFTER_RESET, .seen = modes->seen};
}

void modes_init(Modes *modes) {
        *modes = (Modes){.parser = VT_NULL, .set = AFTER_RESET};
}

void modes_resized(Modes *modes) {
        modes->top = modes->bottom = modes->left = modes->right = 0;
}

static void modes_soft_reset(Modes *modes) {
        modes->set = (modes->set & ~(uint32_t)SOFT) | (SOFT & AFTER_RESET);
        modes_resized(modes);
}

static void change(Modes *modes, uint32_t flag, uint32_t others, bool is_on) {
        modes->set &= ~(flag | others);
        if (is_on)
                modes->set |= flag;
        modes->seen |= flag;
}

/* ---- switches ----------------------------------------------------------------------------------- */

static int compare_number(const void *key, const void *info) {
        return (int)*(const unsigned *)key - ((const ModeInfo *)info)->number;
}

static const ModeInfo *find_info(unsigned number) {
        return bsearch(&number, mode_infos, ARRAY_SIZE(mode_infos), sizeof(mode_infos[0]), compare_number);
}

/* Its keyboard flags begin anew each time: what a program left there is not known to whoever comes later. */
static void set_alternate(Modes *modes, bool is_on) {
        if (is_on && !(modes->set & MODE_ALTERNATE)) {
                modes->n_keyboards[1] = 0;
                memset(modes->keyboards[1], 0, sizeof(modes->keyboards[1]));
        }
        change(modes, MODE_ALTERNATE, 0, is_on);
}

static void set_private(Modes *modes, unsigned number, bool is_on) {
        const ModeInfo *info = find_info(number);

        if (info)
                change(modes, info->flag, info->others, is_on);
        else if (number == 47 || number == 1047 || number == 1049)
                set_alternate(modes, is_on);
        else if (number == 66)
                change(modes, MODE_KEYPAD, 0, is_on);
        if (number == 69)
                modes->left = modes->right = 0;
}

static void set_ansi(Modes *modes, unsigned number, bool is_on) {
        if (number == 4)
                change(modes, MODE_INSERT, 0, is_on);
        else if (number == 20)
                change(modes, MODE_NEWLINE, 0, is_on);
}

static void apply_switches(Modes *modes, bool is_on) {
        const VtParser *vt = &modes->parser;

        for (unsigned i = 0; i < vt->n_params; i++)
                if (vt->leader == '?')
                        set_private(modes, vt_param(vt, i, 0), is_on);
                else if (!vt->leader)
                        set_ansi(modes, vt_param(vt, i, 0), is_on);
}

unsigned modes_report(const Modes *modes, unsigned number) {
        const ModeInfo *info = find_info(number);
        uint32_t flag = info                                               ? info->flag
                        : number == 47 || number == 1047 || number == 1049 ? (uint32_t)MODE_ALTERNATE
                                                                           : 0;

        return !flag ? 0 : modes->set & flag ? 1 : 2;
}

/* ---- keyboard ----------------------------------------------------------------------------------- */

unsigned modes_keyboard(const Modes *modes) {
        bool is_alternate = modes->set & MODE_ALTERNATE;

        return modes->keyboards[is_alternate][modes->n_keyboards[is_alternate]];
}

static void push_keyboard(uint8_t *keyboards, uint8_t *n, unsigned flags) {
        if (*n == MODES_KEYBOARDS - 1)
                memmove(keyboards + 1, keyboards + 2, MODES_KEYBOARDS - 2); /* the oldest is lost */
        else
                ++*n;
        keyboards[*n] = (uint8_t)flags;
}

static void pop_keyboards(uint8_t *keyboards, uint8_t *n, unsigned count) {
        if (count > *n)
                keyboards[0] = 0;
        *n -= (uint8_t)MIN(count, (unsigned)*n);
}

static void change_keyboard(uint8_t *flags, unsigned value, unsigned how) {
        *flags = (uint8_t)(how == 2 ? *flags | value : how == 3 ? *flags & ~value : value);
}

static void apply_keyboard(Modes *modes) {
        const VtParser *vt = &modes->parser;
        bool is_alternate = modes->set & MODE_ALTERNATE;
        uint8_t *keyboards = modes->keyboards[is_alternate], *n = &modes->n_keyboards[is_alternate];

        switch (vt->leader) {
        case '>': push_keyboard(keyboards, n, vt_param(vt, 0, 0) & 31); break;
        case '<': pop_keyboards(keyboards, n, MAX(vt_param(vt, 0, 1), 1u)); break;
        case '=': change_keyboard(keyboards + *n, vt_param(vt, 0, 0) & 31, vt_param(vt, 1, 1)); break;
        default: break;
        }
}

/* ---- sequences ---------------------------------------------------------------------------------- */

/* Regions of less than two lines are ignored, as by xterm. How many lines there are is not known here. */
static void apply_margins(uint16_t *first, uint16_t *last, const VtParser *vt) {
        unsigned low = MAX(vt_param(vt, 0, 1), 1u), high = vt_param(vt, 1, 0);

        if (high && high <= low)
                return;
        *first = (uint16_t)(low == 1 && !high ? 0 : low);
        *last = (uint16_t)high;
}

static void apply_plain_csi(Modes *modes) {
        const VtParser *vt = &modes->parser;

        switch (vt->final) {
        case 'h': apply_switches(modes, true); break;
        case 'l': apply_switches(modes, false); break;
        case 'u': apply_keyboard(modes); break;
        case 'm':
                if (vt->leader == '>' && vt_param(vt, 0, 0) == 4)
                        modes->modify_keys = (uint8_t)MIN(vt_param(vt, 1, 0), 3u);
                break;
        case 'r':
                if (!vt->leader)
                        apply_margins(&modes->top, &modes->bottom, vt);
                break;
        case 's':
                if (!vt->leader && modes->set & MODE_SIDE_MARGINS)
                        apply_margins(&modes->left, &modes->right, vt);
                break;
        default: break;
        }
}

static void apply_csi(Modes *modes) {
        const VtParser *vt = &modes->parser;

        if (!vt->intermediate)
                apply_plain_csi(modes);
        else if (vt->intermediate == ' ' && vt->final == 'q' && !vt->leader && vt_param(vt, 0, 0) <= 6)
                modes->cursor_shape = (uint8_t)vt_param(vt, 0, 0);
        else if (vt->intermediate == '!' && vt->final == 'p' && !vt->leader)
                modes_soft_reset(modes);
}

static void apply_escape(Modes *modes) {
        if (modes->parser.intermediate)
                return;
        switch (modes->parser.final) {
        case '=': change(modes, MODE_KEYPAD, 0, true); break;
        case '>': change(modes, MODE_KEYPAD, 0, false); break;
        case 'c': modes_hard_reset(modes); break;
        default: break;
        }
}

/* Whole characters, as many as there is room for. C0 does not reach us, C1 and ill-formed bytes are left
 * out. */
static void set_title(Modes *modes, Str title) {
        modes->n_title = 0;
        while (title.n) {
                int32_t code;
                size_t n = utf8_next(title, &code);

                if (code != UTF8_WRONG && (code < 0x80 || code >= 0xa0)) {
                        if (modes->n_title + n > MODES_TITLE_MAX)
                                return;
                        memcpy(modes->title + modes->n_title, title.data, n);
                        modes->n_title += (uint8_t)n;
                }
                title = (Str){title.data + n, title.n - n};
        }
}

static void apply_string(Modes *modes) {
        Str body = vt_string(&modes->parser);

        if (modes->parser.raw[1] != ']')
                return;
        if (str_starts(body, STR("0;")) || str_starts(body, STR("2;")))
                set_title(modes, (Str){body.data + 2, body.n - 2});
}

static bool modes_is_csi_query(const VtParser *vt) {
        switch (vt->final) {
        case 'c': return !vt->intermediate && (!vt->leader || vt->leader == '>');
        case 'n': return !vt->intermediate && (!vt->leader || vt->leader == '?');
        case 'p': return vt->intermediate == '$' && vt->leader == '?';
        case 'u': return !vt->intermediate && vt->leader == '?';
        default: return false;
        }
}

unsigned modes_colour_query(const VtParser *vt) {
        static const char *const bodies[] = {"10;?", "11;?", "12;?"};

        for (unsigned i = 0; i < ARRAY_SIZE(bodies); i++)
                if (vt->raw[1] == ']' && str_is(vt_string(vt), bodies[i]))
                        return 10 + i;
        return 0;
}

void modes_apply(Modes *modes, VtEvent event) {
        if ((event == VT_EVENT_CSI && modes_is_csi_query(&modes->parser)) ||
            (event == VT_EVENT_STRING && modes_colour_query(&modes->parser)))
                modes->n_queries++;
        if (event == VT_EVENT_CSI)
                apply_csi(modes);
        else if (event == VT_EVENT_ESCAPE)
                apply_escape(modes);
        else if (event == VT_EVENT_STRING)
                apply_string(modes);
}

/* Of the plain CSI sequences these matter here (modes, margins, queries); the others move, erase and colour.
 */
static bool modes_is_ours(char final) {
        return final == 'h' || final == 'l' || final == 'r' || final == 's' || final == 'n' || final == 'c';
}

static const char *pass_over(const char *p, const char *end) {
        const char *final = vt_plain_csi(p, end);

        return final && !modes_is_ours(*final) ? final + 1 : NULL;
}

void modes_feed(Modes *modes, Str bytes) {
        const char *p = bytes.data, *end = bytes.n ? p + bytes.n : p, *behind;

        while (p < end) {
                if (modes->parser.state == VT_GROUND) {
                        p = memchr(p, '\x1b', (size_t)(end - p));
                        if (!p)
                                return;
                        behind = pass_over(p, end);
                        if (behind) {
                                p = behind;
                                continue;
                        }
                }
                modes_apply(modes, vt_next(&modes->parser, *p++));
        }
}
