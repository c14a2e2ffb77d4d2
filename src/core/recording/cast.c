/* SPDX-License-Identifier: MIT */
#include "core/recording/cast.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json-writer.h"
#include "base/macro.h"
#include "base/utf8.h"

static bool cast_is_plain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '.';
}

void cast_file_name(const char *title, char ret[CAST_NAME_MAX + 1]) {
        size_t n = strnlen(title, CAST_NAME_MAX);

        for (size_t i = 0; i < n; i++)
                ret[i] = cast_is_plain(title[i]) && (i || title[i] != '.') ? title[i] : '_';
        ret[n] = 0;
}

static void cast_put_line(CastWriter *cast, const JsonWriter *w, const Buf *line) {
        if (w->failed || buf_append_str(cast->out, buf_str(line)) || buf_append(cast->out, "\n", 1))
                cast->is_out_of_memory = true;
}

void cast_begin(CastWriter *cast, Buf *out, const CastHeader *header, int64_t now_ms) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        *cast = (CastWriter){.out = out, .began_ms = now_ms};
        jw_begin_object(&w);
        jw_field_int(&w, "version", 2);
        jw_field_uint(&w, "width", header->cols);
        jw_field_uint(&w, "height", header->rows);
        jw_field_int(&w, "timestamp", header->time_s);
        jw_field_cstr(&w, "title", header->title);
        jw_key(&w, "env");
        jw_begin_object(&w);
        jw_field_cstr(&w, "TERM", "xterm-256color");
        jw_end_object(&w);
        jw_end_object(&w);
        cast_put_line(cast, &w, &line);
}

static void cast_put_event(CastWriter *cast, const char *kind, Str text, int64_t now_ms) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        int64_t ms = MAX(now_ms - cast->began_ms, (int64_t)0);
        JsonWriter w = JSON_WRITER(&line);
        char seconds[32];
        int n = snprintf(seconds, sizeof(seconds), "%lld.%03lld", (long long)(ms / 1000),
                         (long long)(ms % 1000));

        jw_begin_array(&w);
        jw_raw(&w, (Str){seconds, (size_t)n});
        jw_cstr(&w, kind);
        jw_str(&w, text);
        jw_end_array(&w);
        cast_put_line(cast, &w, &line);
}

/* ---- output ---------------------------------------------------------------------------------- */

void cast_output(CastWriter *cast, Str bytes, int64_t now_ms) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        size_t n;

        if (buf_append(&text, cast->held, cast->n_held) || buf_append_str(&text, bytes)) {
                cast->is_out_of_memory = true;
                return;
        }
        n = utf8_unfinished(buf_str(&text));
        memcpy(cast->held, text.data + text.n - n, n);
        cast->n_held = n;
        text.n -= n;
        if (text.n)
                cast_put_event(cast, "o", buf_str(&text), now_ms);
}

void cast_resize(CastWriter *cast, unsigned cols, unsigned rows, int64_t now_ms) {
        char text[32];
        int n = snprintf(text, sizeof(text), "%ux%u", cols, rows);

        cast_put_event(cast, "r", (Str){text, (size_t)n}, now_ms);
}

void cast_marker(CastWriter *cast, const char *text, int64_t now_ms) {
        cast_put_event(cast, "m", str_from(text), now_ms);
}

void cast_end(CastWriter *cast, int64_t now_ms) {
        if (cast->n_held)
                cast_put_event(cast, "o", (Str){cast->held, cast->n_held}, now_ms);
        cast->n_held = 0;
}
