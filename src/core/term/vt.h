#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * VtParser: cuts terminal output into controls and sequences, byte by byte, as xterm does for UTF-8 streams.
 *
 * It knows where sequences begin and end and what their numbers are, not what they mean: that is said by
 * Modes, Screen and the stripper, which share this one table. Text is not its business: in the ground state
 * the caller looks for ESC itself and hands over from there. What it keeps is bounded; a longer sequence is
 * swallowed as a whole and has no effect. Embedded in its owner; VT_NULL is a fresh one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

typedef enum VtState {
        VT_GROUND,
        VT_ESCAPE,         /* after ESC */
        VT_ESCAPE_BETWEEN, /* after ESC and intermediates */
        VT_CSI_START,      /* after ESC [ */
        VT_CSI_PARAMS,
        VT_CSI_BETWEEN,
        VT_CSI_IGNORE,    /* malformed: up to its final byte */
        VT_OSC,           /* ended by BEL or ST */
        VT_STRING,        /* DCS, APC, PM, SOS: ended by ST */
        VT_STRING_ESCAPE, /* ESC inside either */
        _VT_STATE_N,
} VtState;

typedef enum VtEvent {
        VT_EVENT_NONE,
        VT_EVENT_PRINT,   /* the byte is text; a sequence that stood open before it is given up */
        VT_EVENT_CONTROL, /* the byte is a C0 control, to be obeyed wherever it stands */
        VT_EVENT_ESCAPE,  /* ESC, intermediate, final */
        VT_EVENT_CSI,     /* leader, params, intermediate, final */
        VT_EVENT_STRING,  /* vt_string() */
} VtEvent;

enum {
        VT_PARAMS_MAX = 32,
        VT_PARAM_MAX = 32767, /* larger numbers become this one */
        VT_PARAM_MISSING = 65535,
        VT_RAW_MAX = 512,
        VT_MANY = 255, /* in place of a second intermediate */
};

typedef struct VtParser {
        uint8_t state;
        char leader;          /* < = > ? or 0 */
        uint8_t intermediate; /* 0, the byte, or VT_MANY */
        char final;
        uint8_t n_params;
        bool has_too_many; /* parameters */
        uint32_t subs;     /* bit i: params[i] belongs to the one before it (colon) */
        uint16_t params[VT_PARAMS_MAX];
        uint32_t n_raw;       /* may be above VT_RAW_MAX: then the rest was dropped */
        char raw[VT_RAW_MAX]; /* the sequence from its ESC on, without controls */
} VtParser;

#define VT_NULL ((VtParser){.state = VT_GROUND})

/* The bare table, for whoever needs no parameters: what this byte is, and the state after it. */
VtEvent vt_step(uint8_t *state, char c);
VtEvent vt_next(VtParser *vt, char c);

/* The final byte of the plain CSI sequence (numbers only) at p, whose first byte is ESC; NULL when it is
 * another one or not whole. For who wants to pass over the many that only colour text. */
static inline const char *vt_plain_csi(const char *p, const char *end) {
        if (end - p < 3 || p[1] != '[')
                return NULL;
        for (p += 2; p < end; p++)
                if (*p < '0' || *p > ';')
                        return *p >= '@' && *p <= '~' ? p : NULL;
        return NULL;
}

/* Number i of the sequence, or what it is when left out. */
unsigned vt_param(const VtParser *vt, unsigned i, unsigned missing);
/* Whole body of a string behind its introducer; the introducer is vt->raw[1]. */
Str vt_string(const VtParser *vt);
/* Appends what a terminal must have been sent to stand inside the same open sequence. */
int vt_append_open(const VtParser *vt, Buf *out);
