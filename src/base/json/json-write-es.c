/* SPDX-License-Identifier: MIT */
/*
 * Writing as ECMAScript does. Hashes are made over this form, so every byte of it counts. It recurses: trees
 * that were read are JSON_DEPTH_DEFAULT deep at most.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json-private.h"
#include "base/json/json-writer.h"
#include "base/utf8.h"

enum { ES_INDEX_DIGITS = 10 }; /* of the largest array index, 4294967294 */

/* ---- scalars --------------------------------------------------------------------------------- */

/* Half of a surrogate pair, as the lenient reader leaves it: three bytes that no UTF-8 has. */
static bool es_is_half(Str s) {
        return s.n >= 3 && (uint8_t)s.data[0] == 0xed && ((uint8_t)s.data[1] & 0xe0) == 0xa0 &&
               utf8_is_tail(s.data[2]);
}

static size_t es_find_half(Str s) {
        size_t i = 0;

        while (i < s.n) {
                const char *at = memchr(s.data + i, 0xed, s.n - i);

                if (!at)
                        return s.n;
                i = (size_t)(at - s.data);
                if (es_is_half((Str){at, s.n - i}))
                        return i;
                i++;
        }
        return s.n;
}

static int es_put_half(Buf *out, Str s) {
        unsigned code = 0xd000 | ((unsigned)s.data[1] & 0x3f) << 6 | ((unsigned)s.data[2] & 0x3f);

        return buf_printf(out, "\\u%04x", code);
}

/* The text between the halves is written as any other, without the quotes that would stand around it. */
static int es_put_string(Buf *out, Str s) {
        size_t n_half = es_find_half(s);
        int r = 0;

        if (n_half == s.n)
                return json_put_string(out, s) ? 0 : error_origin(-ENOMEM);
        r = buf_append(out, "\"", 1);
        while (!r) {
                size_t start = out->n;

                if (!json_put_string(out, (Str){s.data, n_half}))
                        return error_origin(-ENOMEM);
                memmove(out->data + start, out->data + start + 1, out->n - start - 2);
                out->n -= 2;
                s = (Str){s.data + n_half, s.n - n_half};
                if (!s.n)
                        break;
                r = es_put_half(out, s);
                s = (Str){s.data + 3, s.n - 3};
                n_half = es_find_half(s);
        }
        return r ? error_trace(r) : error_trace(buf_append(out, "\"", 1));
}

/* Beyond the reach of a double it is Infinity, which is written as null. */
static int es_put_number(Buf *out, const Json *json) {
        char text[JSON_NUMBER_MAX];
        double value;

        if (!json_double(json, &value))
                return buf_append(out, "null", 4);
        if (value == 0)
                return buf_append(out, "0", 1);
        return buf_append(out, text, json_format_double(text, value));
}

/* ---- containers ------------------------------------------------------------------------------ */

static int es_put(Buf *out, const Json *json);

static bool es_index(const Json *member, uint64_t *ret) {
        Str key = json_key(member);
        uint64_t value = 0;

        if (!key.n || key.n > ES_INDEX_DIGITS || (key.n > 1 && key.data[0] == '0'))
                return false;
        for (size_t i = 0; i < key.n; i++) {
                if (!json_is_digit(key.data[i]))
                        return false;
                value = value * 10 + (uint64_t)(key.data[i] - '0');
        }
        *ret = value;
        return value < UINT32_MAX;
}

static int es_compare(const void *a, const void *b) {
        uint64_t x = 0, y = 0;

        (void)es_index(*(const Json *const *)a, &x);
        (void)es_index(*(const Json *const *)b, &y);
        return x < y ? -1 : x > y;
}

static int es_put_member(Buf *out, const Json *member, bool *has_comma) {
        int r = *has_comma ? buf_append(out, ",", 1) : 0;

        *has_comma = true;
        if (!r && member->key)
                r = es_put_string(out, json_key(member));
        if (!r && member->key)
                r = buf_append(out, ":", 1);
        return r ? error_trace(r) : es_put(out, member);
}

/* Those that are indexes, by number. */
static int es_put_indexes(Buf *out, const Json *object, size_t n, bool *has_comma) {
        const Json **members = calloc(n, sizeof(*members));
        uint64_t index;
        size_t i = 0;
        int r = 0;

        if (!members)
                return error_origin(-ENOMEM);
        json_each (member, object)
                if (es_index(member, &index))
                        members[i++] = member;
        qsort(members, n, sizeof(*members), es_compare);
        for (i = 0; !r && i < n; i++)
                r = es_put_member(out, members[i], has_comma);
        free(members);
        return error_trace(r);
}

static int es_put_object(Buf *out, const Json *object) {
        bool has_comma = false;
        size_t n_indexes = 0;
        uint64_t index;
        int r;

        json_each (member, object)
                n_indexes += es_index(member, &index);
        r = buf_append(out, "{", 1);
        if (!r && n_indexes)
                r = es_put_indexes(out, object, n_indexes, &has_comma);
        json_each (member, object)
                if (!r && !(n_indexes && es_index(member, &index)))
                        r = es_put_member(out, member, &has_comma);
        return r ? error_trace(r) : buf_append(out, "}", 1);
}

static int es_put_array(Buf *out, const Json *array) {
        bool has_comma = false;
        int r = buf_append(out, "[", 1);

        json_each (item, array)
                if (!r)
                        r = es_put_member(out, item, &has_comma);
        return r ? error_trace(r) : buf_append(out, "]", 1);
}

static int es_put(Buf *out, const Json *json) {
        switch ((JsonType)json->type) {
        case JSON_NULL: return buf_append(out, "null", 4);
        case JSON_BOOL: return json->truth ? buf_append(out, "true", 4) : buf_append(out, "false", 5);
        case JSON_NUMBER: return es_put_number(out, json);
        case JSON_STRING: return es_put_string(out, json_str(json));
        case JSON_ARRAY: return es_put_array(out, json);
        case JSON_OBJECT: return es_put_object(out, json);
        }
        return 0;
}

int json_write_es(Buf *out, const Json *json) {
        size_t n_before = out->n;
        int r = json ? es_put(out, json) : buf_append(out, "null", 4);

        if (r)
                out->n = n_before;
        return error_trace(r);
}
