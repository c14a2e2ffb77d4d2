#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the files of the JSON module share among themselves; nobody else includes this.
 */
#include "base/json/json.h"
#include "base/macro.h"

/* Json.flags */
enum {
        JSON_F_INTEGER = 1,      /* number without fraction and exponent */
        JSON_F_KEY_VERBATIM = 2, /* key lies in the input between its quotes, and the value behind it */
        JSON_F_REPEATED = 4,     /* lenient reader: a later member of a name that was there … */
        JSON_F_REPLACED = 8,     /* … the one that was there … */
        JSON_F_REPEATS = 16,     /* … and the object that has both */
};

enum {
        JSON_FEW_KEYS = 16,   /* up to here members are compared one by one, beyond they are hashed */
        JSON_NUMBER_MAX = 32, /* longest text that json_format_*() write */
};

#define JSON_LENGTH_MAX ((size_t)UINT32_MAX) /* of a text or a name */

/* Why the reader stopped: a condition or a negative errno, and for conditions where and why. */
typedef struct JsonStop {
        int r;
        const char *at;
        const char *what;
        bool is_lenient; /* before it stopped: what JsonLimits says */
} JsonStop;

static inline const char *json_stop(JsonStop *stop, int r, const char *at, const char *what) {
        *stop = (JsonStop){.r = r, .at = at, .what = what};
        return NULL;
}

static inline bool json_is_digit(char c) {
        return (uint8_t)(c - '0') < 10;
}

/* Position behind the number at p, or NULL. */
static inline const char *json_number_end(const char *p, const char *end, uint8_t *ret_flags,
                                          JsonStop *stop) {
        uint8_t flags = JSON_F_INTEGER;

        if (p < end && *p == '-')
                p++;
        if (unlikely(p == end || !json_is_digit(*p)))
                return json_stop(stop, JSON_E_SYNTAX, p, "a digit is missing");
        if (*p == '0')
                p++;
        else
                while (p < end && json_is_digit(*p))
                        p++;
        if (p < end && *p == '.') {
                flags = 0;
                if (unlikely(++p == end || !json_is_digit(*p)))
                        return json_stop(stop, JSON_E_SYNTAX, p, "a digit is missing behind the point");
                while (p < end && json_is_digit(*p))
                        p++;
        }
        if (p < end && (*p == 'e' || *p == 'E')) {
                flags = 0;
                p++;
                if (p < end && (*p == '+' || *p == '-'))
                        p++;
                if (unlikely(p == end || !json_is_digit(*p)))
                        return json_stop(stop, JSON_E_SYNTAX, p, "a digit is missing in the exponent");
                while (p < end && json_is_digit(*p))
                        p++;
        }
        *ret_flags = flags;
        return p;
}

static inline bool json_has_key(const Json *member, Str key) {
        return member->key_n == key.n && (key.n == 0 || memcmp(member->key, key.data, key.n) == 0);
}

static inline void json_name(Json *value, Str key) {
        value->flags &= (uint8_t)~JSON_F_KEY_VERBATIM;
        value->key = key.data;
        value->key_n = (uint32_t)key.n;
}

void json_append(Json *container, Json *value); /* without a look at the other names */

/* Decimal text of at most JSON_NUMBER_MAX bytes, not terminated; each returns its length. A double must be
 * finite. */
size_t json_format_uint(char *text, uint64_t value);
size_t json_format_int(char *text, int64_t value);
size_t json_format_double(char *text, double value);

/*
 * Decodes a string with escapes into the arena, NUL-terminated. It starts at `start`, behind the quote; its
 * first backslash is at p, and all before p is valid. Returns the position behind the closing quote, or
 * NULL.
 */
const char *json_string_decode(Arena *arena, const char *start, const char *p, const char *end, Str *ret,
                               JsonStop *stop);

/*
 * JsonKeys: the member names of one object in a hash table. Keyed with the secret of the process, so that
 * nobody outside can choose names that collide.
 */
typedef struct JsonKeys JsonKeys;
struct JsonKeys {
        JsonKeys *outer; /* for its user: the next one of a stack */
        const Json *object;
        struct JsonKeySlot *slots;
        size_t n;
        size_t cap; /* a power of two */
        uint64_t secret[2];
};

JsonKeys *json_keys_new(
        const Json *object); /* with the members there are, which must differ; NULL: no memory */
JsonKeys *json_keys_free(JsonKeys *keys);
int json_keys_add(JsonKeys *keys, Json *member); /* 0, JSON_E_DUPLICATE or -ENOMEM */
Json *json_keys_find(const JsonKeys *keys, Str key);

/*
 * Makes room in a stack of *cap items of `size` bytes that starts out as the array `few` on the C stack and
 * moves to the heap when it gets deep. Whoever owns it frees *items unless it is `few`.
 */
int json_stack_grow(void **items, size_t *cap, size_t size, const void *few);

/* Writing into a Buf: json_room() makes room for n bytes, the others rely on it. False: no memory. */
static inline bool json_room(Buf *out, size_t n) {
        return likely(out->cap - out->n >= n) || buf_reserve_slow(out, n) == 0;
}

static inline void json_put(Buf *out, const void *data, size_t n) {
        memcpy(out->data + out->n, data, n);
        out->n += n;
}

static inline void json_put_char(Buf *out, char c) {
        out->data[out->n++] = c;
}

/* A string with its quotes; makes room itself. */
bool json_put_string(Buf *out, Str s);
