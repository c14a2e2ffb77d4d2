/* SPDX-License-Identifier: MIT */
#include "core/term/vt.h"

#include "base/error.h"
#include "base/macro.h"

typedef enum Class {
        CLASS_CONTROL,
        CLASS_BEL,
        CLASS_CANCEL, /* CAN, SUB */
        CLASS_ESC,
        CLASS_BETWEEN, /* 20-2f, intermediates */
        CLASS_PARAM,   /* 30-3b */
        CLASS_LEADER,  /* 3c-3f */
        CLASS_FINAL,   /* 40-7e but those below */
        CLASS_CSI,     /* [ */
        CLASS_OSC,     /* ] */
        CLASS_STRING,  /* P X ^ _ */
        CLASS_ST,      /* \ */
        CLASS_DEL,
        CLASS_HIGH, /* 80-ff */
        _CLASS_N,
} Class;

static const uint8_t classes[256] = {
        [0x00 ... 0x06] = CLASS_CONTROL,
        [0x07] = CLASS_BEL,
        [0x08 ... 0x17] = CLASS_CONTROL,
        [0x18] = CLASS_CANCEL,
        [0x19] = CLASS_CONTROL,
        [0x1a] = CLASS_CANCEL,
        [0x1b] = CLASS_ESC,
        [0x1c ... 0x1f] = CLASS_CONTROL,
        [0x20 ... 0x2f] = CLASS_BETWEEN,
        [0x30 ... 0x3b] = CLASS_PARAM,
        [0x3c ... 0x3f] = CLASS_LEADER,
        [0x40 ... 'O'] = CLASS_FINAL,
        ['P'] = CLASS_STRING,
        ['Q' ... 'W'] = CLASS_FINAL,
        ['X'] = CLASS_STRING,
        ['Y' ... 'Z'] = CLASS_FINAL,
        ['['] = CLASS_CSI,
        ['\\'] = CLASS_ST,
        [']'] = CLASS_OSC,
        ['^' ... '_'] = CLASS_STRING,
        ['`' ... '~'] = CLASS_FINAL,
        [0x7f] = CLASS_DEL,
        [0x80 ... 0xff] = CLASS_HIGH,
};

typedef struct Move {
        uint8_t event;
        uint8_t next;
} Move;

/* Controls inside a sequence are obeyed and the sequence goes on; CAN and SUB end it, ESC begins another
 * one. */
static const Move moves[_VT_STATE_N][_CLASS_N] =
        {
                [VT_GROUND] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_GROUND},
                                [CLASS_CANCEL] = {VT_EVENT_CONTROL, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN... CLASS_ST] = {VT_EVENT_PRINT, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_CONTROL, VT_GROUND},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_ESCAPE] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_ESCAPE},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN] = {VT_EVENT_NONE, VT_ESCAPE_BETWEEN},
                                [CLASS_PARAM... CLASS_FINAL] = {VT_EVENT_ESCAPE, VT_GROUND},
                                [CLASS_CSI] = {VT_EVENT_NONE, VT_CSI_START},
                                [CLASS_OSC] = {VT_EVENT_NONE, VT_OSC},
                                [CLASS_STRING] = {VT_EVENT_NONE, VT_STRING},
                                [CLASS_ST] = {VT_EVENT_ESCAPE, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_ESCAPE_BETWEEN] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_ESCAPE_BETWEEN},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN] = {VT_EVENT_NONE, VT_ESCAPE_BETWEEN},
                                [CLASS_PARAM... CLASS_ST] = {VT_EVENT_ESCAPE, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_ESCAPE_BETWEEN},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_CSI_START] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_CSI_START},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN] = {VT_EVENT_NONE, VT_CSI_BETWEEN},
                                [CLASS_PARAM... CLASS_LEADER] = {VT_EVENT_NONE, VT_CSI_PARAMS},
                                [CLASS_FINAL... CLASS_ST] = {VT_EVENT_CSI, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_CSI_START},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_CSI_PARAMS] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_CSI_PARAMS},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN] = {VT_EVENT_NONE, VT_CSI_BETWEEN},
                                [CLASS_PARAM] = {VT_EVENT_NONE, VT_CSI_PARAMS},
                                [CLASS_LEADER] = {VT_EVENT_NONE, VT_CSI_IGNORE},
                                [CLASS_FINAL... CLASS_ST] = {VT_EVENT_CSI, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_CSI_PARAMS},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_CSI_BETWEEN] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_CSI_BETWEEN},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN] = {VT_EVENT_NONE, VT_CSI_BETWEEN},
                                [CLASS_PARAM... CLASS_LEADER] = {VT_EVENT_NONE, VT_CSI_IGNORE},
                                [CLASS_FINAL... CLASS_ST] = {VT_EVENT_CSI, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_CSI_BETWEEN},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_CSI_IGNORE] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_CSI_IGNORE},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN... CLASS_LEADER] = {VT_EVENT_NONE, VT_CSI_IGNORE},
                                [CLASS_FINAL... CLASS_ST] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_CSI_IGNORE},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
                [VT_OSC] =
                        {
                                [CLASS_CONTROL] = {VT_EVENT_NONE, VT_OSC},
                                [CLASS_BEL] = {VT_EVENT_STRING, VT_GROUND},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_STRING_ESCAPE},
                                [CLASS_BETWEEN... CLASS_HIGH] = {VT_EVENT_NONE, VT_OSC},
                        },
                [VT_STRING] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_NONE, VT_STRING},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_STRING_ESCAPE},
                                [CLASS_BETWEEN... CLASS_HIGH] = {VT_EVENT_NONE, VT_STRING},
                        },
                /* As VT_ESCAPE, but for ST. */
                [VT_STRING_ESCAPE] =
                        {
                                [CLASS_CONTROL... CLASS_BEL] = {VT_EVENT_CONTROL, VT_ESCAPE},
                                [CLASS_CANCEL] = {VT_EVENT_NONE, VT_GROUND},
                                [CLASS_ESC] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_BETWEEN] = {VT_EVENT_NONE, VT_ESCAPE_BETWEEN},
                                [CLASS_PARAM... CLASS_FINAL] = {VT_EVENT_ESCAPE, VT_GROUND},
                                [CLASS_CSI] = {VT_EVENT_NONE, VT_CSI_START},
                                [CLASS_OSC] = {VT_EVENT_NONE, VT_OSC},
                                [CLASS_STRING] = {VT_EVENT_NONE, VT_STRING},
                                [CLASS_ST] = {VT_EVENT_STRING, VT_GROUND},
                                [CLASS_DEL] = {VT_EVENT_NONE, VT_ESCAPE},
                                [CLASS_HIGH] = {VT_EVENT_PRINT, VT_GROUND},
                        },
};

VtEvent vt_step(uint8_t *state, char c) {
        Move move = moves[*state][classes[(unsigned char)c]];

        *state = move.next;
        return move.event;
}

static void vt_begin(VtParser *vt) {
        vt->leader = 0;
        vt->intermediate = 0;
        vt->n_params = 0;
        vt->has_too_many = false;
        vt->subs = 0;
        vt->n_raw = 1;
        vt->raw[0] = '\x1b';
}

static void vt_keep(VtParser *vt, char c) {
        if (vt->n_raw < VT_RAW_MAX)
                vt->raw[vt->n_raw] = c;
        if (vt->n_raw <= VT_RAW_MAX)
                vt->n_raw++;
}

static void next_param(VtParser *vt, bool is_sub) {
        if (vt->n_params == VT_PARAMS_MAX) {
                vt->has_too_many = true;
                return;
        }
        if (is_sub)
                vt->subs |= 1u << vt->n_params;
        vt->params[vt->n_params++] = VT_PARAM_MISSING;
}

static void take_param(VtParser *vt, char c) {
        uint16_t *param;
        unsigned value;

        if (!vt->n_params)
                next_param(vt, false);
        if (c == ';' || c == ':') {
                next_param(vt, c == ':');
                return;
        }
        param = &vt->params[vt->n_params - 1];
        value = (*param == VT_PARAM_MISSING ? 0 : *param) * 10u + (unsigned)(c - '0');
        *param = (uint16_t)MIN(value, (unsigned)VT_PARAM_MAX);
}

/* What this byte adds to the sequence that is open after it. */
static void vt_collect(VtParser *vt, char c) {
        if (c >= 0x20 && c <= 0x2f)
                vt->intermediate = vt->intermediate ? VT_MANY : (uint8_t)c;
        else if (vt->state == VT_CSI_PARAMS && c >= '<' && c <= '?')
                vt->leader = c;
        else if (vt->state == VT_CSI_PARAMS)
                take_param(vt, c);
}

static VtEvent vt_finish(VtParser *vt, VtEvent event, char c) {
        vt->final = c;
        return vt->has_too_many || vt->n_raw > VT_RAW_MAX ? VT_EVENT_NONE : event;
}

VtEvent vt_next(VtParser *vt, char c) {
        uint8_t before = vt->state;
        VtEvent event = vt_step(&vt->state, c);

        if (before == VT_STRING_ESCAPE ? event != VT_EVENT_STRING : vt->state == VT_ESCAPE && c == '\x1b')
                vt_begin(vt);
        if (event == VT_EVENT_CONTROL || event == VT_EVENT_PRINT || vt->state == VT_ESCAPE)
                return event;
        if ((unsigned char)c < 0x20 && c != '\x1b')
                return event == VT_EVENT_STRING ? vt_finish(vt, event, c) : VT_EVENT_NONE;
        if (c != 0x7f)
                vt_keep(vt, c);
        if (event != VT_EVENT_NONE)
                return vt_finish(vt, event, c);
        if (vt->state < VT_OSC && c != 0x7f)
                vt_collect(vt, c);
        return VT_EVENT_NONE;
}

unsigned vt_param(const VtParser *vt, unsigned i, unsigned missing) {
        return i < vt->n_params && vt->params[i] != VT_PARAM_MISSING ? vt->params[i] : missing;
}

Str vt_string(const VtParser *vt) {
        size_t n = MIN(vt->n_raw, (uint32_t)VT_RAW_MAX);

        if (vt->final == '\\')
                n -= MIN(n, (size_t)2); /* ST */
        return n > 2 ? (Str){vt->raw + 2, n - 2} : STR_NULL;
}

/* Stands for an open sequence that was too long to keep: one that every terminal swallows, and so do we. */
static Str swallower(const VtParser *vt) {
        switch (vt->raw[1]) {
        case '[': return STR("\x1b[=<");
        case ']': return vt->state == VT_STRING_ESCAPE ? STR("\x1b]9990;\x1b") : STR("\x1b]9990;");
        case 'P':
        case 'X':
        case '^':
        case '_': return vt->state == VT_STRING_ESCAPE ? STR("\x1b_\x1b") : STR("\x1b_");
        default: return STR("\x1b  ");
        }
}

int vt_append_open(const VtParser *vt, Buf *out) {
        if (vt->state == VT_GROUND)
                return 0;
        if (vt->n_raw > VT_RAW_MAX || vt->has_too_many)
                return error_trace(buf_append_str(out, swallower(vt)));
        return error_trace(buf_append(out, vt->raw, vt->n_raw));
}
