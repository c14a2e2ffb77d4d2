/* SPDX-License-Identifier: MIT */
#include "cli/term/queries.h"

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"

enum { ENQ = 0x05, HELD_MAX = 64 * 1024 };

void queries_deinit(Queries *queries) {
        buf_deinit(&queries->held);
}

static int queries_flush(Queries *queries, Buf *out) {
        int r = buf_append_str(out, buf_str(&queries->held));

        queries->held.n = queries->n_broken = 0;
        return error_trace(r);
}

/* Reports about the window: which ones are answered. */
static bool is_window_report(const VtParser *vt) {
        unsigned number = vt_param(vt, 0, 0);

        return !vt->leader && !vt->intermediate &&
               (number == 11 || (number >= 13 && number <= 16) || (number >= 18 && number <= 21));
}

static bool queries_is_csi_query(const VtParser *vt) {
        switch (vt->final) {
        case 'c': return !vt->intermediate;       /* device attributes, all three */
        case 'n': return vt->leader != '>';       /* status, place of the cursor; > sets keys */
        case 'x': return !vt->intermediate;       /* terminal parameters; with $ and * it draws */
        case 'p': return vt->intermediate == '$'; /* state of a mode */
        case 'y': return vt->intermediate == '*'; /* checksum */
        case 'q': return vt->leader == '>';       /* name and version */
        case 'u':                                 /* keyboard protocol */
        case 'm':                                 /* keys */
        case 'S': return vt->leader == '?';       /* graphics */
        case 't': return is_window_report(vt);
        default: return false;
        }
}

static bool queries_contains(Str text, Str word) {
        return text.n && memmem(text.data, text.n, word.data, word.n);
}

/* Of a string, open or not, as much as is kept of it behind its introducer. */
static Str queries_body(const VtParser *vt) {
        size_t n = MIN(vt->n_raw, (uint32_t)VT_RAW_MAX);

        return n > 2 ? (Str){vt->raw + 2, n - 2} : STR_NULL;
}

/* The number of an OSC; -1: it has none, or not yet a whole one. */
static int queries_osc(const VtParser *vt) {
        Str body = queries_body(vt);
        int number = -1;

        for (size_t i = 0; i < body.n && i < 6; i++) {
                if (body.data[i] < '0' || body.data[i] > '9')
                        return number;
                number = MAX(number, 0) * 10 + (body.data[i] - '0');
        }
        return number;
}

/* Whether the string, open or not, is one that is taken out. */
static bool queries_takes_string(const Queries *queries) {
        const VtParser *vt = &queries->vt;
        Str body = queries_body(vt);
        bool is_live = queries->use == QUERIES_LIVE;
        int number;

        switch (vt->raw[1]) {
        case ']':
                number = queries_osc(vt);
                if (number == 52)
                        return true;
                if (number <= 2 && queries->use == QUERIES_PRINT)
                        return true;                                  /* a title */
                return !is_live && queries_contains(body, STR(";?")); /* a colour */
        case 'P': return !is_live && (str_starts(body, STR("$q")) || str_starts(body, STR("+q")));
        case '_':
                return !is_live && str_starts(body, STR("G")) &&
                       queries_contains(body, STR("a=q")); /* graphics */
        default: return false;
        }
}

static bool queries_is_title_report(const VtParser *vt) {
        unsigned number = vt_param(vt, 0, 0);

        return vt->final == 't' && (number == 20 || number == 21);
}

static bool queries_is_string_open(const Queries *queries) {
        uint8_t state = queries->vt.state;

        return state == VT_OSC || state == VT_STRING || state == VT_STRING_ESCAPE;
}

/* Whether the sequence that has just ended is taken out. A string that was too long for the parser has no
 * event, and is judged by its beginning. */
static bool queries_takes(const Queries *queries, VtEvent event, bool is_string) {
        const VtParser *vt = &queries->vt;
        bool is_live = queries->use == QUERIES_LIVE;

        if (is_string)
                return queries_takes_string(queries);
        switch (event) {
        case VT_EVENT_ESCAPE: return !is_live && vt->final == 'Z' && !vt->intermediate;
        case VT_EVENT_CSI: return is_live ? queries_is_title_report(vt) : queries_is_csi_query(vt);
        default: return false;
        }
}

/* What is printed instead of a sequence that would destroy what stands on the person's terminal; no data: the
 * sequence destroys nothing. Erasing above and below the cursor clears as much as the whole does. */
static Str queries_mild(const Queries *queries, VtEvent event) {
        const VtParser *vt = &queries->vt;
        bool is_reset = event == VT_EVENT_ESCAPE && vt->final == 'c' && !vt->intermediate;

        if (queries->use != QUERIES_PRINT)
                return STR_NULL;
        if (is_reset)
                return STR("\x1b[?1049l\x1b[!p\x1b[9999S\x1b[H\x1b[J");
        if (event != VT_EVENT_CSI || vt->final != 'J' || vt->intermediate)
                return STR_NULL;
        switch (vt_param(vt, 0, 0)) {
        case 2: return queries->has_moved ? STR("\x1b[1J\x1b[J") : STR("\x1b[9999S\x1b[1J\x1b[J");
        case 3: return STR("");
        default: return STR_NULL;
        }
}

static void queries_forget(Queries *queries) {
        queries->held.n = 0;
        queries->n_broken = 0;
}

static int queries_soften(Queries *queries, VtEvent event) {
        Str mild = queries_mild(queries, event);

        if (!mild.data)
                return 0;
        queries_forget(queries);
        queries->has_moved = queries->has_moved || mild.n;
        return error_trace(buf_append_str(&queries->held, mild));
}

/* A sequence that never ends is let through rather than kept, unless it would be taken out. */
static int queries_hold(Queries *queries, char c, Buf *out) {
        int r = queries->is_dropped ? 0 : buf_append(&queries->held, &c, 1);

        if (r || queries->held.n < HELD_MAX)
                return error_trace(r);
        queries->is_dropped = queries_is_string_open(queries) && queries_takes_string(queries);
        if (queries->is_dropped)
                queries_forget(queries);
        return error_trace(queries_flush(queries, out));
}

/* The string was broken off by another sequence. Some terminals obey it nevertheless. */
static int queries_break(Queries *queries) {
        Buf *held = &queries->held;
        int r = 0;

        if (queries->is_dropped)
                r = buf_append(held, "\x1b", 1);
        else if (queries->n_broken) {
                held->n -= queries->n_broken;
                memmove(held->data, held->data + queries->n_broken, held->n);
        }
        queries->is_dropped = false;
        queries->n_broken = 0;
        return error_trace(r);
}

static int queries_drop_byte(Queries *queries, char c, Buf *out) {
        uint8_t before = queries->vt.state;
        bool was_string = queries_is_string_open(queries),
             is_broken = before == VT_STRING_ESCAPE && c != '\\';
        VtEvent event;
        int r = 0;

        if (c == '\x1b' && was_string && before != VT_STRING_ESCAPE && queries_takes_string(queries))
                queries->n_broken = queries->held.n;
        event = vt_next(&queries->vt, c);
        if (before == VT_GROUND && queries->vt.state == VT_GROUND)
                return c == ENQ && queries->use != QUERIES_LIVE ? 0 : error_trace(buf_append(out, &c, 1));
        if (is_broken)
                r = queries_break(queries);
        if (!r)
                r = queries_hold(queries, c, out);
        if (r || queries->vt.state != VT_GROUND)
                return error_trace(r);
        if (queries->is_dropped || queries_takes(queries, event, was_string && !is_broken))
                queries_forget(queries);
        else
                r = queries_soften(queries, event);
        queries->is_dropped = false;
        return error_trace(r ? r : queries_flush(queries, out));
}

/* ---- characters ------------------------------------------------------------------------------ */

static bool queries_is_c1(char c) {
        return ((unsigned char)c & 0xe0) == 0x80;
}

static int queries_take(Queries *queries, char c, Buf *out) {
        char lead = queries->lead;
        Utf8Open open;
        int r = 0;

        queries->lead = 0;
        if (lead && queries_is_c1(c))
                return 0;
        if (lead) {
                r = queries_drop_byte(queries, lead, out);
                queries->n_tail = 1;
        }
        if (r)
                return error_trace(r);
        if (utf8_is_tail(c)) {
                if (!queries->n_tail && queries_is_c1(c))
                        return 0;
                queries->n_tail -= queries->n_tail > 0;
                return error_trace(queries_drop_byte(queries, c, out));
        }
        queries->n_tail = 0;
        if (c == '\xc2') {
                queries->lead = c;
                return 0;
        }
        if (utf8_begin(&open, c))
                queries->n_tail = open.n_more;
        return error_trace(queries_drop_byte(queries, c, out));
}

/* Text that needs no look at each byte. */
static size_t queries_plain(const Queries *queries, Str input) {
        size_t n = 0;

        if (queries->vt.state != VT_GROUND || queries->lead)
                return 0;
        while (n < input.n && ((input.data[n] >= 0x20 && input.data[n] < 0x7f) || input.data[n] == '\n'))
                n++;
        return n;
}

int queries_drop(Queries *queries, Str input, Buf *out) {
        int r = buf_reserve(out, input.n);

        while (!r && input.n) {
                size_t n = queries_plain(queries, input);

                if (n) {
                        r = buf_append(out, input.data, n);
                        queries->n_tail = 0;
                } else {
                        r = queries_take(queries, *input.data, out);
                        n = 1;
                }
                input = (Str){input.data + n, input.n - n};
        }
        return error_trace(r);
}

int queries_end(Queries *queries, Buf *out) {
        int r = queries->lead ? queries_drop_byte(queries, queries->lead, out) : 0;

        queries->lead = 0;
        if (queries_is_string_open(queries) && (queries->n_broken || queries_takes_string(queries)))
                queries_forget(queries);
        queries->is_dropped = false;
        queries->vt = VT_NULL;
        return error_trace(r ? r : queries_flush(queries, out));
}
