/* SPDX-License-Identifier: MIT */
/*
 * The reader. It keeps no stack: an open container's `next` leads to the one around it until it is closed,
 * and its `raw_n` holds a small filter of its member names, which spares most comparisons.
 */
#include "base/json/json.h"

#include <errno.h>

#include "base/error.h"
#include "base/json/json-private.h"
#include "base/utf8-scan.h"

enum { N_BYTES_DEFAULT = 1 << 30 };

/* A member of a name that its object has already. */
typedef struct JsonRepeat {
        struct JsonRepeat *next;
        Json *object, *first, *later;
        bool is_first_of_object;
} JsonRepeat;

typedef struct Reader {
        Arena *arena;
        const char *end;
        JsonKeys *keys; /* of the open objects with many members, innermost first */
        JsonStop stop;
        JsonRepeat *repeats; /* lenient: members whose names were there already, the last one first */
} Reader;

const char *json_condition_name(int condition) {
        static const char *const names[] = {
                [_JSON_E_SUCCESS] = "success",    [JSON_E_SYNTAX] = "syntax", [JSON_E_UTF8] = "utf8",
                [JSON_E_DUPLICATE] = "duplicate", [JSON_E_DEPTH] = "depth",   [JSON_E_SIZE] = "size",
        };

        return condition >= 0 && (size_t)condition < ARRAY_SIZE(names) ? names[condition] : "unknown";
}

static inline const char *fault(Reader *reader, int condition, const char *at, const char *what) {
        return json_stop(&reader->stop, condition, at, what);
}

static inline const char *json_parse_no_memory(Reader *reader) {
        return json_stop(&reader->stop, error_origin(-ENOMEM), NULL, NULL);
}

static inline const char *skip_space(const char *p, const char *end) {
        while (p < end && unlikely((uint8_t)*p <= ' ') &&
               (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
                p++;
        return p;
}

/* p is behind the opening quote. Returns the position behind the closing one, or NULL. */
static inline const char *read_string(Reader *reader, const char *p, Str *ret) {
        const char *start = p, *end = reader->end;

        for (;;) {
                p = scan_plain(p, end);
                if (unlikely(p == end))
                        return fault(reader, JSON_E_SYNTAX, p, "the string does not end");
                if (likely(*p == '"')) {
                        *ret = (Str){start, (size_t)(p - start)};
                        return p + 1;
                }
                if (*p == '\\')
                        return json_string_decode(reader->arena, start, p, end, ret, &reader->stop);
                if (unlikely((uint8_t)*p < 0x20))
                        return fault(reader, JSON_E_SYNTAX, p, "a control character in a string");
                p = scan_non_ascii(p, end);
                if (unlikely(p < end && (uint8_t)*p >= 0x80))
                        return fault(reader, JSON_E_UTF8, p, "not UTF-8");
        }
}

/* Forgets the names of the innermost object that has them in a table. */
static void drop_keys(Reader *reader) {
        JsonKeys *outer = reader->keys->outer;

        json_keys_free(reader->keys);
        reader->keys = outer;
}

/* One bit of 32 that equal names share, and different ones mostly not. */
static inline uint32_t key_bit(const Json *member) {
        const char *key = member->key;
        uint32_t n = member->key_n;

        return n == 0 ? 1 : (uint32_t)1 << (((uint8_t)key[0] * 5u + (uint8_t)key[n - 1] * 3u + n) & 31);
}

static int note_repeat(Reader *reader, Json *object, Json *first, Json *later) {
        JsonRepeat *repeat;

        if (!reader->stop.is_lenient)
                return JSON_E_DUPLICATE;
        repeat = arena_alloc(reader->arena, sizeof(*repeat));
        if (!repeat)
                return error_origin(-ENOMEM);
        *repeat = (JsonRepeat){.next = reader->repeats,
                               .object = object,
                               .first = first,
                               .later = later,
                               .is_first_of_object = !(object->flags & JSON_F_REPEATS)};
        object->flags |= JSON_F_REPEATS;
        reader->repeats = repeat;
        return 0;
}

/* Whether member's name is new in object, of which it is not a part yet. */
static int check_key_slow(Reader *reader, Json *object, Json *member) {
        Json *other = object->first;
        int r;

        if (object->n >= JSON_FEW_KEYS) {
                if (!reader->keys || reader->keys->object != object) {
                        JsonKeys *keys = json_keys_new(object);
                        if (!keys)
                                return error_origin(-ENOMEM);
                        keys->outer = reader->keys;
                        reader->keys = keys;
                }
                r = json_keys_add(reader->keys, member);
                return r == JSON_E_DUPLICATE
                               ? note_repeat(reader, object, json_keys_find(reader->keys, json_key(member)),
                                             member)
                               : error_trace(r);
        }
        /* By count: the last one's `next` is not set yet. */
        for (uint32_t i = 0; i < object->n; i++, other = other->next)
                if (json_has_key(other, json_key(member)))
                        return note_repeat(reader, object, other, member);
        return 0;
}

static inline int check_key(Reader *reader, Json *object, Json *member) {
        uint32_t bit = key_bit(member);

        if (likely(!(object->raw_n & bit) && object->n < JSON_FEW_KEYS)) {
                object->raw_n |= bit;
                return 0;
        }
        return check_key_slow(reader, object, member);
}

/* A member's name and colon, and the space up to the value. */
static inline const char *read_key(Reader *reader, const char *p, Json *object, Json *member) {
        const char *start = p, *end = reader->end;
        Str key;
        int r;

        if (unlikely(p == end || *p != '"'))
                return fault(reader, JSON_E_SYNTAX, p, "a member name is missing");
        p = read_string(reader, p + 1, &key);
        if (unlikely(!p))
                return NULL;
        member->key = key.data;
        member->key_n = (uint32_t)key.n;
        member->flags = key.data == start + 1 ? JSON_F_KEY_VERBATIM : 0;
        r = check_key(reader, object, member);
        if (unlikely(r < 0))
                return json_parse_no_memory(reader);
        if (unlikely(r > 0))
                return fault(reader, JSON_E_DUPLICATE, start,
                             "the object has a member of this name already");
        p = skip_space(p, end);
        if (unlikely(p == end || *p != ':'))
                return fault(reader, JSON_E_SYNTAX, p, "a colon is missing");
        return skip_space(p + 1, end);
}

static inline const char *json_parse_read_word(Reader *reader, const char *p, const char *word, size_t n) {
        if (likely((size_t)(reader->end - p) >= n && memcmp(p, word, n) == 0))
                return p + n;
        while (p < reader->end && *p == *word)
                p++, word++;
        return fault(reader, JSON_E_SYNTAX, p, "not a JSON value");
}

/* Any value; of a container the opening bracket only. */
static inline const char *json_parse_read_value(Reader *reader, const char *p, Json *node) {
        const char *start = p;
        uint8_t flags = 0;
        Str text;

        if (unlikely(p == reader->end))
                return fault(reader, JSON_E_SYNTAX, p, "a value is missing");
        node->raw = start;
        switch (*p) {
        case '"':
                node->type = JSON_STRING;
                p = read_string(reader, p + 1, &text);
                if (unlikely(!p))
                        return NULL;
                node->text = text.data;
                node->n = (uint32_t)text.n;
                break;
        case '{':
        case '[':
                node->type = *p == '{' ? JSON_OBJECT : JSON_ARRAY;
                node->n = 0;
                node->raw_n = 0;
                node->first = NULL;
                return p + 1;
        case '-':
        case '0' ... '9':
                node->type = JSON_NUMBER;
                p = json_number_end(p, reader->end, &flags, &reader->stop);
                if (unlikely(!p))
                        return NULL;
                node->flags |= flags;
                node->text = start;
                node->n = (uint32_t)(p - start);
                break;
        case 't':
        case 'f':
                node->type = JSON_BOOL;
                node->n = 0;
                node->text = NULL;
                node->truth = *p == 't';
                p = node->truth ? json_parse_read_word(reader, p, "true", 4)
                                : json_parse_read_word(reader, p, "false", 5);
                break;
        case 'n':
                node->type = JSON_NULL;
                node->n = 0;
                node->text = NULL;
                p = json_parse_read_word(reader, p, "null", 4);
                break;
        default: return fault(reader, JSON_E_SYNTAX, p, "not a JSON value");
        }
        node->raw_n = (uint32_t)(p - start);
        return p;
}

/* Reads the one value that the text is. Returns NULL when it is not, and reader->stop says why. */
static const char *json_parse_read_text(Reader *reader, const char *p, const JsonLimits *limits,
                                        Json **ret) {
        const char *const end = reader->end;
        Json *open = NULL; /* innermost open container */
        Json **link = ret; /* where the next value is entered */
        unsigned depth = 0;
        size_t n_left = limits->n_values ? limits->n_values : SIZE_MAX;

        p = skip_space(p, end);
        for (;;) {
                /* A value begins here, in an object with its name. */
                Json *node = arena_alloc(reader->arena, sizeof(*node));
                if (unlikely(!node))
                        return json_parse_no_memory(reader);
                if (unlikely(n_left-- == 0))
                        return fault(reader, JSON_E_SIZE, p, "too many values");
                if (open && open->type == JSON_OBJECT) {
                        p = read_key(reader, p, open, node);
                        if (unlikely(!p))
                                return NULL;
                } else {
                        node->key = NULL;
                        node->key_n = 0;
                        node->flags = 0;
                }
                const char *start = p;
                p = json_parse_read_value(reader, p, node);
                if (unlikely(!p))
                        return NULL;
                *link = node;
                link = &node->next;
                if (open)
                        open->n++;
                if (node->type >= JSON_ARRAY) {
                        if (unlikely(depth++ == limits->n_depth))
                                return fault(reader, JSON_E_DEPTH, start, "nested too deep");
                        node->next = open;
                        open = node;
                        link = &node->first;
                        p = skip_space(p, end);
                        if (p == end || *p != (node->type == JSON_OBJECT ? '}' : ']'))
                                continue;
                }

                /* A value ended here, and perhaps containers with it. */
                for (;;) {
                        if (!open) {
                                *link = NULL;
                                return p;
                        }
                        p = skip_space(p, end);
                        if (unlikely(p == end))
                                return fault(reader, JSON_E_SYNTAX, p, "the text ends too early");
                        if (*p == ',') {
                                p = skip_space(p + 1, end);
                                break;
                        }
                        if (unlikely(*p != (open->type == JSON_OBJECT ? '}' : ']')))
                                return fault(reader, JSON_E_SYNTAX, p, "neither a comma nor the end");
                        p++;
                        *link = NULL;
                        link = &open->next;
                        if (unlikely(reader->keys && reader->keys->object == open))
                                drop_keys(reader);
                        open->raw_n = (uint32_t)(p - open->raw);
                        open = open->next;
                        depth--;
                }
        }
}

/* Takes the value of the last member of its name; the name and its place stay. */
static void take_over(Json *first, const Json *later) {
        first->type = later->type;
        first->n = later->n;
        first->first = later->first;
        first->raw = later->raw;
        first->raw_n = later->raw_n;
        first->flags = (uint8_t)((first->flags & JSON_F_KEY_VERBATIM) | (later->flags & JSON_F_INTEGER));
}

static void sweep_repeated(Json *object) {
        Json **link = &object->first;

        if (object->type != JSON_OBJECT)
                return; /* it was itself replaced */
        while (*link) {
                Json *member = *link;

                if (member->flags & JSON_F_REPEATED) {
                        *link = member->next;
                        object->n--;
                        continue;
                }
                if (member->flags & JSON_F_REPLACED)
                        take_over(member, member->first);
                link = &member->next;
        }
}

/* The list begins with what was read last, so what lies inside a value is settled before that is moved. */
static void settle_repeats(const Reader *reader) {
        for (JsonRepeat *repeat = reader->repeats; repeat; repeat = repeat->next) {
                Json *first = repeat->first;

                repeat->later->flags |= JSON_F_REPEATED;
                if (!(first->flags & JSON_F_REPLACED)) {
                        first->flags |= JSON_F_REPLACED;
                        first->first = repeat->later;
                        first->type = JSON_NULL;
                }
                if (repeat->is_first_of_object)
                        sweep_repeated(repeat->object);
        }
}

int json_parse(Arena *arena, const char *data, size_t n, const JsonLimits *limits, Json **ret,
               JsonFault *reterr) {
        JsonLimits in_force = limits ? *limits : (JsonLimits){0};
        size_t n_bytes = in_force.n_bytes ? in_force.n_bytes : N_BYTES_DEFAULT;
        Reader reader = {.arena = arena, .stop = {.is_lenient = in_force.is_lenient}};
        Json *root = NULL;
        const char *p;

        if (!in_force.n_depth)
                in_force.n_depth = JSON_DEPTH_DEFAULT;
        n_bytes = MIN(n_bytes, JSON_LENGTH_MAX);
        if (n == 0)
                data = "";
        reader.end = data + n;
        if (unlikely(n > n_bytes)) {
                fault(&reader, JSON_E_SIZE, data + n_bytes, "too long");
        } else {
                p = json_parse_read_text(&reader, data, &in_force, &root);
                if (likely(p != NULL))
                        p = skip_space(p, reader.end);
                if (unlikely(p && p != reader.end))
                        fault(&reader, JSON_E_SYNTAX, p, "bytes behind the value");
        }
        while (reader.keys)
                drop_keys(&reader);
        if (unlikely(reader.stop.r)) {
                if (reterr && reader.stop.r > 0)
                        *reterr = (JsonFault){(size_t)(reader.stop.at - data), reader.stop.what};
                return reader.stop.r;
        }
        settle_repeats(&reader);
        *ret = root;
        return 0;
}
