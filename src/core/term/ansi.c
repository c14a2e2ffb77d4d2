/* SPDX-License-Identifier: MIT */
#include "core/term/ansi.h"

#include "base/error.h"
#include "core/term/vt.h"

/* Bytes that need no look: text but DEL and C2, LF, TAB. */
static const bool is_plain[256] = {
        ['\t'] = true, ['\n'] = true, [0x20 ... 0x7e] = true, [0x80 ... 0xc1] = true, [0xc3 ... 0xff] = true,
};

static const char *end_of_plain(const char *p, const char *end) {
        while (p < end && is_plain[(unsigned char)*p])
                p++;
        return p;
}

static char *ansi_copy(char *to, const char *from, size_t n) {
        memcpy(to, from, n);
        return to + n;
}

/* The byte behind C2, in the ground state. */
static char *settle_lead(char *to, AnsiState *state, const char **p) {
        unsigned char c = (unsigned char)**p;

        state->has_lead = false;
        if (c >= 0x80 && c < 0xa0) {
                ++*p; /* C1 */
                return to;
        }
        *to++ = '\xc2';
        return to;
}

/* A byte that is not plain, or one inside a sequence. */
static char *ansi_take(char *to, AnsiState *state, const char **p, const char *end) {
        char c = **p;
        const char *final = c == '\x1b' && state->vt == VT_GROUND ? vt_plain_csi(*p, end) : NULL;
        VtEvent event;

        if (final) {
                *p = final + 1;
                return to;
        }
        if (c == '\xc2' && state->vt == VT_GROUND) {
                state->has_lead = true;
                ++*p;
                return to;
        }
        event = vt_step(&state->vt, c);
        if (event == VT_EVENT_PRINT)
                return to; /* the sequence was given up: it is looked at again, as text */
        if (event == VT_EVENT_CONTROL && (c == '\n' || c == '\t'))
                *to++ = c;
        ++*p;
        return to;
}

int ansi_strip(Buf *out, Str in, AnsiState *state) {
        const char *p = in.data, *end = in.n ? p + in.n : p;
        char *to;
        int r;

        r = buf_reserve(out, in.n + 1); /* one more: a C2 that waited */
        if (r)
                return error_trace(r);
        to = out->data + out->n;
        while (p < end) {
                if (state->has_lead) {
                        to = settle_lead(to, state, &p);
                        continue;
                }
                if (state->vt == VT_GROUND) {
                        const char *plain = end_of_plain(p, end);
                        to = ansi_copy(to, p, (size_t)(plain - p));
                        p = plain;
                }
                if (p < end)
                        to = ansi_take(to, state, &p, end);
        }
        out->n = (size_t)(to - out->data);
        return 0;
}
