#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * JSON: a tree in an arena, and a reader that builds it from outside bytes.
 *
 * Strict RFC 8259 and strict UTF-8. Numbers stay text and are converted on access, so they go back out byte
 * for byte. Strings without escapes are slices of the input: the input must outlive the tree. Every parsed
 * value keeps its raw span. Member names are unique (duplicates are refused, unless asked otherwise). Depth and size are bounded;
 * nothing recurses on input. Trees can also be built and changed by hand (YAML, settings); such values have
 * no raw span. The tree belongs to its arena; there is no free.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

typedef enum JsonType { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonType;

/* Conditions of json_parse(). */
enum {
        _JSON_E_SUCCESS,
        JSON_E_SYNTAX,    /* not JSON, or bytes after the value */
        JSON_E_UTF8,      /* not UTF-8, or an escape that is not a scalar value */
        JSON_E_DUPLICATE, /* one member name twice in one object */
        JSON_E_DEPTH,     /* nested deeper than the limit */
        JSON_E_SIZE,      /* longer than the limit */
};

enum { JSON_DEPTH_DEFAULT = 128 };

typedef struct JsonLimits {
        size_t n_bytes;   /* 0: up to 1 GiB */
        unsigned n_depth; /* 0: JSON_DEPTH_DEFAULT */
        size_t n_values;  /* 0: no limit; a value takes 56 bytes of the arena, however short its text */
        bool is_lenient;  /* as ECMAScript reads: halves of surrogate pairs stay as three bytes each, of
                             members of one name the last one counts, at the first one's place */
} JsonLimits;

typedef struct JsonFault {
        size_t offset;    /* of the first byte that does not fit */
        const char *what; /* static text */
} JsonFault;

/* Where an offset is for a person: both from 1, a column is a character. */
typedef struct JsonPlace {
        size_t line, column;
} JsonPlace;

typedef struct Json Json;
struct Json {
        uint8_t type;  /* JsonType */
        uint8_t flags; /* private */
        uint32_t n;    /* string, number: length of text; array, object: number of children */
        uint32_t key_n;
        uint32_t raw_n;
        union {
                const char *text; /* string (decoded), number */
                Json *first;      /* array, object */
                bool truth;       /* bool */
        };
        const char *key; /* member name, decoded, when the parent is an object */
        union {
                const char *raw; /* span in the input, when raw_n is not 0 */
                Json *last;      /* private: last child of a container built or changed by hand */
        };
        Json *next; /* sibling */
};

/* *ret lives in the arena and points into data. reterr may be NULL. */
int json_parse(Arena *arena, const char *data, size_t n, const JsonLimits *limits, Json **ret,
               JsonFault *reterr);
/* Whether it is a JSON object and nothing else, in one line: what is told line by line may hold it. */
bool json_text_is_object(Str text);
const char *json_condition_name(int condition);
JsonPlace json_place(const char *data, size_t n, size_t offset);

static inline bool json_is(const Json *json, JsonType type) {
        return json && json->type == type;
}
static inline Str json_str(const Json *json) { /* empty unless a string */
        return json_is(json, JSON_STRING) ? (Str){json->text, json->n} : STR_NULL;
}
static inline Str json_key(const Json *json) {
        return (Str){json->key, json->key_n};
}
static inline Str json_raw(const Json *json) { /* empty when built or changed by hand */
        return json && json->raw_n ? (Str){json->raw, json->raw_n} : STR_NULL;
}
static inline Json *json_first(const Json *json) { /* first child, or NULL */
        return json && json->type >= JSON_ARRAY ? json->first : NULL;
}
static inline size_t json_count(const Json *json) {
        return json && json->type >= JSON_ARRAY ? json->n : 0;
}
#define json_each(item, parent) for (Json *item = json_first(parent); item; item = item->next)

/* Member by name, or NULL (also when json is NULL or not an object). */
Json *json_get(const Json *json, const char *key);
Json *json_get_str(const Json *json, Str key);
/* Each returns false, and leaves *ret alone, unless the value is a number that fits exactly (by value: 1.0,
 * 1e2 do). */
bool json_int64(const Json *json, int64_t *ret);
bool json_uint64(const Json *json, uint64_t *ret);
bool json_is_integer(const Json *json);          /* written as one: neither 1.0 nor 1e2 is */
bool json_is_whole(const Json *json);            /* by value, of any size: 1.0 and 1e300 are */
bool json_double(const Json *json, double *ret); /* any number; infinity refused */
bool json_bool(const Json *json, bool *ret);
/* Of a member; empty unless that is a string, false unless it is true. */
Str json_text_of(const Json *object, const char *key);
bool json_truth_of(const Json *object, const char *key);
/* Numbers by text, objects regardless of order. Without memory (deep trees only): false. */
bool json_equal(const Json *a, const Json *b);

/* Building. Each returns NULL without memory; text is copied into the arena (NUL-terminated) unless said
 * otherwise. */
Json *json_new(Arena *arena, JsonType type); /* null, false, 0, "", [] or {} */
Json *json_new_bool(Arena *arena, bool truth);
Json *json_new_int(Arena *arena, int64_t value);
Json *json_new_number(Arena *arena, Str text);     /* text must be a JSON number */
Json *json_new_double(Arena *arena, double value); /* null when not finite */
Json *json_new_str(Arena *arena, Str text);
Json *json_clone(Arena *arena, const Json *json); /* deep, no raw spans, nothing shared with the source */
/*
 * Replaces in place or appends; takes value (which may have one parent only). -ENOMEM when value is NULL.
 * A changed container loses its raw span; those around it keep theirs, which then show what was read.
 */
int json_set(Arena *arena, Json *object, Str key, Json *value);
/* The same for a name that the object is known not to have: for copies of others with many members. */
int json_add(Arena *arena, Json *object, Str key, Json *value);
int json_push(Json *array, Json *value);
bool json_remove(Json *object, Str key);
