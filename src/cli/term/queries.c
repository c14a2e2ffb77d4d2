/* SPDX-License-Identifier: MIT */
#include "cli/term/queries.h"

#include "base/error.h"

enum { ENQ = 0x05, HELD_MAX = 64 * 1024 };

void queries_deinit(Queries *queries) {
        buf_deinit(&queries->held);
}

/* Reports about the window: which ones are answered. */
static bool is_window_report(const VtParser *vt) {
        unsigned number = vt_param(vt, 0, 0);

        return !vt->leader && !vt->intermediate &&
               (number == 11 || (number >= 13 && number <= 16) || (number >= 18 && number <= 21));
}

static bool is_csi_query(const VtParser *vt) {
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

static bool contains(Str text, Str word) {
        return text.n && memmem(text.data, text.n, word.data, word.n);
}

static bool is_string_query(const VtParser *vt) {
        Str body = vt_string(vt);

        switch (vt->raw[1]) {
        case ']': return contains(body, STR(";?")); /* a colour, the clipboard */
        case 'P': return str_starts(body, STR("$q")) || str_starts(body, STR("+q"));
        case '_': return str_starts(body, STR("G")) && contains(body, STR("a=q")); /* graphics */
        default: return false;
        }
}

static bool is_query(const VtParser *vt, VtEvent event) {
        switch (event) {
        case VT_EVENT_ESCAPE: return vt->final == 'Z' && !vt->intermediate;
        case VT_EVENT_CSI: return is_csi_query(vt);
        case VT_EVENT_STRING: return is_string_query(vt);
        default: return false;
        }
}

/* A sequence that never ends is let through rather than kept. */
static int hold(Queries *queries, char c, Buf *out) {
        int r = buf_append(&queries->held, &c, 1);

        if (!r && queries->held.n >= HELD_MAX)
                r = queries_end(queries, out);
        return error_trace(r);
}

static int drop_byte(Queries *queries, char c, Buf *out) {
        bool was_open = queries->vt.state != VT_GROUND;
        VtEvent event = vt_next(&queries->vt, c);
        int r;

        if (!was_open && queries->vt.state == VT_GROUND)
                return c == ENQ ? 0 : error_trace(buf_append(out, &c, 1));
        r = hold(queries, c, out);
        if (r || queries->vt.state != VT_GROUND)
                return error_trace(r);
        if (is_query(&queries->vt, event))
                queries->held.n = 0;
        return error_trace(queries_end(queries, out));
}

int queries_drop(Queries *queries, Str input, Buf *out) {
        int r = buf_reserve(out, input.n);

        for (size_t i = 0; !r && i < input.n; i++)
                r = drop_byte(queries, input.data[i], out);
        return error_trace(r);
}

int queries_end(Queries *queries, Buf *out) {
        int r = buf_append_str(out, buf_str(&queries->held));

        queries->held.n = 0;
        return error_trace(r);
}
