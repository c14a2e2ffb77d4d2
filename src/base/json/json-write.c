/* SPDX-License-Identifier: MIT */
/*
 * Writing of whole trees. What was read and not changed goes out as it came in, without a look at the bytes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json-private.h"
#include "base/json/json-writer.h"
#include "base/utf8-scan.h"

/* One ASCII character that may not stand for itself in a string; at most 6 bytes. */
static void json_write_put_escape(Buf *out, char c) {
        static const char shorts[128] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                         ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
        static const char digits[] = "0123456789abcdef";

        json_put_char(out, '\\');
        if (shorts[(uint8_t)c]) {
                json_put_char(out, shorts[(uint8_t)c]);
                return;
        }
        json_put(out, "u00", 3);
        json_put_char(out, digits[(uint8_t)c >> 4]);
        json_put_char(out, digits[(uint8_t)c & 15]);
}

/* End of the bytes that are written as they are. */
static const char *skip_verbatim(const char *p, const char *end) {
        for (;;) {
                const char *q = scan_plain(p, end);
                p = scan_non_ascii(q, end);
                if (p == q)
                        return p;
        }
}

bool json_put_string(Buf *out, Str s) {
        const char *p = s.n ? s.data : "", *end = p + s.n;

        if (!json_room(out, s.n + 2))
                return false;
        json_put_char(out, '"');
        while (p < end) {
                const char *q = (uint8_t)*p < ' ' ? p : skip_verbatim(p, end);

                /* All that is left, one escape, the quote. */
                if (!json_room(out, (size_t)(end - p) + 6 + 1))
                        return false;
                json_put(out, p, (size_t)(q - p));
                if (q == end)
                        break;
                if ((uint8_t)*q < 0x80) {
                        json_write_put_escape(out, *q);
                        p = q + 1;
                } else {
                        json_put(out, "\xef\xbf\xbd", 3);
                        p = q + utf8_ill_formed(q, end);
                }
        }
        json_put_char(out, '"');
        return true;
}

/*
 * The position in the output is handed from function to function, NULL for no memory: this keeps it in a
 * register. out->n is brought up to date only when the buffer grows, and at the end.
 */
typedef struct TreeWriter {
        Buf *out;
        char *end; /* of the room in out */
        unsigned indent;
        const Json **open; /* containers around the value that is being written */
        size_t n_open;
        size_t cap;
        const Json *few[JSON_DEPTH_DEFAULT];
} TreeWriter;

static char *make_room_slow(TreeWriter *w, char *at, size_t n) {
        w->out->n = (size_t)(at - w->out->data);
        if (buf_reserve(w->out, n))
                return NULL;
        w->end = w->out->data + w->out->cap;
        return w->out->data + w->out->n;
}

static inline char *json_write_make_room(TreeWriter *w, char *at, size_t n) {
        return likely((size_t)(w->end - at) >= n) ? at : make_room_slow(w, at, n);
}

static inline char *write_char(TreeWriter *w, char *at, char c) {
        at = json_write_make_room(w, at, 1);
        if (unlikely(!at))
                return NULL;
        *at = c;
        return at + 1;
}

static inline char *json_write_write_text(TreeWriter *w, char *at, const char *text, size_t n) {
        at = json_write_make_room(w, at, n);
        if (unlikely(!at))
                return NULL;
        memcpy(at, text, n);
        return at + n;
}

static char *write_string(TreeWriter *w, char *at, Str s) {
        w->out->n = (size_t)(at - w->out->data);
        if (!json_put_string(w->out, s))
                return NULL;
        w->end = w->out->data + w->out->cap;
        return w->out->data + w->out->n;
}

static char *write_line_break(TreeWriter *w, char *at) {
        size_t n = w->n_open * w->indent;

        at = json_write_make_room(w, at, n + 1);
        if (!at)
                return NULL;
        *at = '\n';
        memset(at + 1, ' ', n);
        return at + 1 + n;
}

static inline char *write_key(TreeWriter *w, char *at, const Json *member, bool pretty) {
        if (likely(member->flags & JSON_F_KEY_VERBATIM))
                at = json_write_write_text(w, at, member->key - 1, member->key_n + (size_t)2);
        else
                at = write_string(w, at, json_key(member));
        if (unlikely(!at))
                return NULL;
        return pretty ? json_write_write_text(w, at, ": ", 2) : write_char(w, at, ':');
}

/* A value that was built by hand, or a container without children. */
static char *write_built(TreeWriter *w, char *at, const Json *json) {
        switch ((JsonType)json->type) {
        case JSON_NULL: return json_write_write_text(w, at, "null", 4);
        case JSON_BOOL:
                return json->truth ? json_write_write_text(w, at, "true", 4)
                                   : json_write_write_text(w, at, "false", 5);
        case JSON_NUMBER: return json_write_write_text(w, at, json->text, json->n);
        case JSON_STRING: return write_string(w, at, json_str(json));
        case JSON_ARRAY: return json_write_write_text(w, at, "[]", 2);
        case JSON_OBJECT: return json_write_write_text(w, at, "{}", 2);
        }
        return NULL;
}

/* A leaf that was read in compact form, `"key":value`, lies in the input just as it is to be written. */
static inline bool is_compact_member(const Json *json) {
        return (json->flags & JSON_F_KEY_VERBATIM) && json->raw == json->key + json->key_n + 2;
}

/* Anything without children, with its name where it has one. */
static inline char *write_leaf(TreeWriter *w, char *at, const Json *json, bool named, bool pretty) {
        bool is_raw = json->raw_n && json->type < JSON_ARRAY;

        if (!pretty && named && is_raw && is_compact_member(json))
                return json_write_write_text(w, at, json->key - 1, json->key_n + (size_t)3 + json->raw_n);
        if (named)
                at = write_key(w, at, json, pretty);
        if (unlikely(!at))
                return NULL;
        return likely(is_raw) ? json_write_write_text(w, at, json->raw, json->raw_n)
                              : write_built(w, at, json);
}

static inline char *open_container(TreeWriter *w, char *at, const Json *json, bool named, bool pretty) {
        if (unlikely(w->n_open == w->cap)) {
                void *open = w->open;

                if (json_stack_grow(&open, &w->cap, sizeof(*w->open), w->few) < 0)
                        return NULL;
                w->open = open;
        }
        w->open[w->n_open++] = json;
        if (named)
                at = write_key(w, at, json, pretty);
        if (unlikely(!at))
                return NULL;
        return write_char(w, at, json->type == JSON_OBJECT ? '{' : '[');
}

/* Inlined twice, so that the compact form pays nothing for the pretty one. */
static inline __attribute__((always_inline)) char *write_tree(TreeWriter *w, char *at, const Json *json,
                                                              bool pretty) {
        for (;;) {
                bool named = w->n_open && w->open[w->n_open - 1]->type == JSON_OBJECT;

                if (json_first(json)) {
                        at = open_container(w, at, json, named, pretty);
                        json = json->first;
                } else {
                        at = write_leaf(w, at, json, named, pretty);
                        while (at && w->n_open && !json->next) {
                                json = w->open[--w->n_open];
                                if (pretty)
                                        at = write_line_break(w, at);
                                if (at)
                                        at = write_char(w, at, json->type == JSON_OBJECT ? '}' : ']');
                        }
                        if (!at || w->n_open == 0)
                                return at;
                        json = json->next;
                        at = write_char(w, at, ',');
                }
                if (pretty && at)
                        at = write_line_break(w, at);
                if (unlikely(!at))
                        return NULL;
        }
}

static inline __attribute__((always_inline)) int json_write_write_all(Buf *out, const Json *json,
                                                                      bool pretty, unsigned indent) {
        size_t n_before = out->n;
        TreeWriter w;
        char *at;

        if (!json)
                return error_trace(buf_append(out, "null", 4));
        if (buf_reserve(out, json->raw_n + (size_t)1))
                return error_origin(-ENOMEM);
        w.out = out;
        w.end = out->data + out->cap;
        w.indent = indent;
        w.open = w.few;
        w.n_open = 0;
        w.cap = ARRAY_SIZE(w.few);
        at = write_tree(&w, out->data + out->n, json, pretty);
        if (unlikely(w.open != w.few))
                free(w.open);
        out->n = likely(at != NULL) ? (size_t)(at - out->data) : n_before;
        return likely(at != NULL) ? 0 : error_origin(-ENOMEM);
}

int json_write(Buf *out, const Json *json) {
        return json_write_write_all(out, json, false, 0);
}

int json_write_pretty(Buf *out, const Json *json, unsigned indent) {
        return json_write_write_all(out, json, true, indent);
}
