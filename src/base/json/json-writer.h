#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * JsonWriter: writes JSON text into a Buf, member by member, without a tree.
 *
 * Commas take care of themselves. Strings must be UTF-8 (invalid bytes become U+FFFD); only what RFC 8259
 * demands is escaped. Running out of memory is remembered (w->failed) and everything after it is ignored, so
 * callers check once, at the end. The writer owns nothing.
 */
#include "base/json/json.h"

typedef struct JsonWriter JsonWriter;
struct JsonWriter {
        Buf *out;
        bool failed;
        bool comma;    /* a value stands before the next one */
        size_t n_full; /* with so many bytes in out … */
        void (*full)(
                JsonWriter *w); /* … this is told behind a value, and may take them; NULL: nobody is told */
};

#define JSON_WRITER(buf) ((JsonWriter){.out = (buf)})

void jw_begin_object(JsonWriter *w);
void jw_end_object(JsonWriter *w);
void jw_begin_array(JsonWriter *w);
void jw_end_array(JsonWriter *w);
/* key: plain ASCII without anything to escape. Inline, as the fields below: the length of a literal is known then. */
void jw_key_of(JsonWriter *w, const char *key, size_t n);
static inline void jw_key(JsonWriter *w, const char *key) {
        jw_key_of(w, key, strlen(key));
}
void jw_key_str(JsonWriter *w, Str key); /* any key */

void jw_str(JsonWriter *w, Str s);
void jw_int(JsonWriter *w, int64_t v);
void jw_uint(JsonWriter *w, uint64_t v);
void jw_double(JsonWriter *w, double v); /* shortest form that reads back; not finite: null */
void jw_bool(JsonWriter *w, bool v);
void jw_null(JsonWriter *w);
static inline void jw_cstr(JsonWriter *w, const char *s) { /* NULL is written as null */
        if (s)
                jw_str(w, str_from(s));
        else
                jw_null(w);
}
void jw_raw(JsonWriter *w, Str json); /* a JSON text that is known to be one */
/* A JSON object read from a file that others can write: what is none is written as an empty one. */
void jw_stored(JsonWriter *w, Str json);
void jw_value(JsonWriter *w, const Json *json);

/* Key and value in one line. */
static inline void jw_field_str(JsonWriter *w, const char *key, Str s) {
        jw_key(w, key);
        jw_str(w, s);
}
static inline void jw_field_cstr(JsonWriter *w, const char *key, const char *s) {
        jw_key(w, key);
        jw_cstr(w, s);
}
static inline void jw_field_int(JsonWriter *w, const char *key, int64_t v) {
        jw_key(w, key);
        jw_int(w, v);
}
static inline void jw_field_uint(JsonWriter *w, const char *key, uint64_t v) {
        jw_key(w, key);
        jw_uint(w, v);
}
static inline void jw_field_bool(JsonWriter *w, const char *key, bool v) {
        jw_key(w, key);
        jw_bool(w, v);
}
static inline void jw_field_null(JsonWriter *w, const char *key) {
        jw_key(w, key);
        jw_null(w);
}
static inline void jw_field_value(JsonWriter *w, const char *key, const Json *json) {
        jw_key(w, key);
        jw_value(w, json);
}
void jw_field_time_ms(JsonWriter *w, const char *key, int64_t us); /* as time_format_ms() has it; 0: null */
void jw_field_time_us(JsonWriter *w, const char *key, int64_t us); /* as time_format_us() has it; 0: null */

/*
 * A whole tree: compact, or pretty with `indent` blanks per level ("key": value, one item a line). On
 * failure out is as before. The tree must not have been read from out itself, which moves when it grows.
 */
int json_write(Buf *out, const Json *json);
/* Compact, and just as ECMAScript would write the same value: numbers in its shortest form, names that are
 * array indexes first, halves of surrogate pairs as \\u escapes, nothing as it was read. */
int json_write_es(Buf *out, const Json *json);
int json_write_pretty(Buf *out, const Json *json, unsigned indent);
