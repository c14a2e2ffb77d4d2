/* SPDX-License-Identifier: MIT */
#include "base/json/json-writer.h"

#include <math.h>

#include "base/json/json-private.h"
#include "base/time.h"

/* Room for n bytes and a comma, which is written when one is due. False when the writer has failed. */
static bool json_writer_begin(JsonWriter *w, size_t n) {
        if (w->failed)
                return false;
        if (unlikely(!json_room(w->out, n + 1))) {
                w->failed = true;
                return false;
        }
        if (w->comma)
                json_put_char(w->out, ',');
        w->comma = true;
        return true;
}

/* A value is whole, perhaps inside another one. */
static void json_writer_end(JsonWriter *w) {
        if (unlikely(w->full && w->out->n >= w->n_full))
                w->full(w);
}

static void json_writer_write_text(JsonWriter *w, const char *text, size_t n) {
        if (json_writer_begin(w, n))
                json_put(w->out, text, n);
}

void jw_begin_object(JsonWriter *w) {
        json_writer_write_text(w, "{", 1);
        w->comma = false;
}

void jw_end_object(JsonWriter *w) {
        w->comma = false;
        json_writer_write_text(w, "}", 1);
        json_writer_end(w);
}

void jw_begin_array(JsonWriter *w) {
        json_writer_write_text(w, "[", 1);
        w->comma = false;
}

void jw_end_array(JsonWriter *w) {
        w->comma = false;
        json_writer_write_text(w, "]", 1);
        json_writer_end(w);
}

void jw_key_of(JsonWriter *w, const char *key, size_t n) {
        if (json_writer_begin(w, n + 3)) {
                char *at = w->out->data + w->out->n;

                at[0] = '"';
                memcpy(at + 1, key, n);
                at[n + 1] = '"';
                at[n + 2] = ':';
                w->out->n += n + 3;
        }
        w->comma = false;
}

void jw_key_str(JsonWriter *w, Str key) {
        jw_str(w, key);
        w->comma = false;
        json_writer_write_text(w, ":", 1);
        w->comma = false;
}

void jw_str(JsonWriter *w, Str s) {
        if (json_writer_begin(w, s.n + 2) && !json_put_string(w->out, s))
                w->failed = true;
}

void jw_int(JsonWriter *w, int64_t v) {
        char text[JSON_NUMBER_MAX];

        json_writer_write_text(w, text, json_format_int(text, v));
}

void jw_uint(JsonWriter *w, uint64_t v) {
        char text[JSON_NUMBER_MAX];

        json_writer_write_text(w, text, json_format_uint(text, v));
}

void jw_double(JsonWriter *w, double v) {
        char text[JSON_NUMBER_MAX];

        if (isfinite(v))
                json_writer_write_text(w, text, json_format_double(text, v));
        else
                jw_null(w);
}

void jw_bool(JsonWriter *w, bool v) {
        if (v)
                json_writer_write_text(w, "true", 4);
        else
                json_writer_write_text(w, "false", 5);
}

void jw_null(JsonWriter *w) {
        json_writer_write_text(w, "null", 4);
}

void jw_raw(JsonWriter *w, Str json) {
        json_writer_write_text(w, json.data ? json.data : "", json.n);
        json_writer_end(w);
}

void jw_stored(JsonWriter *w, Str json) {
        jw_raw(w, json_text_is_object(json) ? json : STR("{}"));
}

void jw_value(JsonWriter *w, const Json *json) {
        if (json_writer_begin(w, 0) && json_write(w->out, json))
                w->failed = true;
        json_writer_end(w);
}

void jw_field_time_ms(JsonWriter *w, const char *key, int64_t us) {
        char text[TIME_TEXT_MAX];

        jw_key(w, key);
        if (us)
                jw_str(w, (Str){text, time_format_ms(us, text)});
        else
                jw_null(w);
}

void jw_field_time_us(JsonWriter *w, const char *key, int64_t us) {
        char text[TIME_TEXT_MAX];

        jw_key(w, key);
        if (us)
                jw_str(w, (Str){text, time_format_us(us, text)});
        else
                jw_null(w);
}
