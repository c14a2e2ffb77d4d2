/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json-private.h"
#include "base/utf8.h"

Json *json_get_str(const Json *json, Str key) {
        if (!json_is(json, JSON_OBJECT))
                return NULL;
        json_each (member, json) {
                if (json_has_key(member, key))
                        return member;
        }
        return NULL;
}

Json *json_get(const Json *json, const char *key) {
        return json_get_str(json, str_from(key));
}

JsonPlace json_place(const char *data, size_t n, size_t offset) {
        JsonPlace place = {.line = 1, .column = 1};

        for (size_t i = 0; i < n && i < offset; i++)
                if (data[i] == '\n')
                        place = (JsonPlace){.line = place.line + 1, .column = 1};
                else if (!utf8_is_tail(data[i]))
                        place.column++;
        return place;
}

bool json_bool(const Json *json, bool *ret) {
        if (!json_is(json, JSON_BOOL))
                return false;
        *ret = json->truth;
        return true;
}

Str json_text_of(const Json *object, const char *key) {
        return json_str(json_get(object, key));
}

bool json_truth_of(const Json *object, const char *key) {
        bool value = false;

        json_bool(json_get(object, key), &value);
        return value;
}

static Json *node_new(Arena *arena, JsonType type, Str text, uint8_t flags) {
        Json *json = arena_alloc(arena, sizeof(*json));

        if (!json)
                return NULL;
        *json = (Json){.type = (uint8_t)type, .flags = flags, .n = (uint32_t)text.n, .text = text.data};
        return json;
}

/* A string or number with a text of its own. */
static Json *node_new_text(Arena *arena, JsonType type, Str text, uint8_t flags) {
        Str copy;

        if (text.n > JSON_LENGTH_MAX)
                return NULL;
        copy = arena_str(arena, text);
        return copy.data ? node_new(arena, type, copy, flags) : NULL;
}

Json *json_new(Arena *arena, JsonType type) {
        Str text = STR_NULL;

        if (type == JSON_NUMBER)
                text = STR("0");
        else if (type == JSON_STRING)
                text = STR("");
        return node_new(arena, type, text, type == JSON_NUMBER ? JSON_F_INTEGER : 0);
}

Json *json_new_bool(Arena *arena, bool truth) {
        Json *json = json_new(arena, JSON_BOOL);

        if (json)
                json->truth = truth;
        return json;
}

Json *json_new_int(Arena *arena, int64_t value) {
        char text[JSON_NUMBER_MAX];
        size_t n = json_format_int(text, value);

        return node_new_text(arena, JSON_NUMBER, (Str){text, n}, JSON_F_INTEGER);
}

Json *json_new_number(Arena *arena, Str text) {
        const char *end = text.data + text.n;
        uint8_t flags = 0;
        JsonStop stop;
        const char *stopped = json_number_end(text.data, end, &flags, &stop);

        assert(text.n && stopped == end);
        (void)stopped;
        return node_new_text(arena, JSON_NUMBER, text, flags);
}

/* What JSON cannot say is null, as in jw_double(). */
Json *json_new_double(Arena *arena, double value) {
        char text[JSON_NUMBER_MAX];

        if (!isfinite(value))
                return json_new(arena, JSON_NULL);
        return json_new_number(arena, (Str){text, json_format_double(text, value)});
}

Json *json_new_str(Arena *arena, Str text) {
        return node_new_text(arena, JSON_STRING, text, 0);
}

/*
 * Changing. A container that was changed has no raw span any more and remembers its last child in the same
 * place. The raw spans of the containers around it are not touched: they still show what was read.
 */

static void begin_change(Json *container) {
        if (container->raw_n == 0)
                return;
        container->raw_n = 0;
        container->last = NULL;
        json_each (item, container)
                container->last = item;
}

void json_append(Json *container, Json *value) {
        begin_change(container);
        value->next = NULL;
        if (container->last)
                container->last->next = value;
        else
                container->first = value;
        container->last = value;
        container->n++;
}

static Json *find_member(const Json *object, Str key, Json **ret_before) {
        Json *before = NULL;

        json_each (member, object) {
                if (json_has_key(member, key)) {
                        *ret_before = before;
                        return member;
                }
                before = member;
        }
        return NULL;
}

/* Puts value, or nothing, in the place of the member that stands behind `before`. */
static void json_replace(Json *object, Json *before, Json *member, Json *value) {
        Json *next = member->next;

        begin_change(object);
        member->next = NULL;
        if (value)
                value->next = next;
        *(before ? &before->next : &object->first) = value ? value : next;
        if (object->last == member)
                object->last = value ? value : before;
}

int json_set(Arena *arena, Json *object, Str key, Json *value) {
        Json *member, *before;
        Str copy;

        assert(json_is(object, JSON_OBJECT));
        if (!value || key.n > JSON_LENGTH_MAX)
                return error_origin(-ENOMEM);
        copy = arena_str(arena, key);
        if (!copy.data)
                return error_origin(-ENOMEM);
        member = find_member(object, key, &before);
        if (member)
                json_replace(object, before, member, value);
        else
                json_append(object, value);
        json_name(value, copy);
        return 0;
}

int json_add(Arena *arena, Json *object, Str key, Json *value) {
        Str copy = key.n <= JSON_LENGTH_MAX && value ? arena_str(arena, key) : STR_NULL;

        assert(json_is(object, JSON_OBJECT));
        if (!copy.data)
                return error_origin(-ENOMEM);
        json_append(object, value);
        json_name(value, copy);
        return 0;
}

int json_push(Json *array, Json *value) {
        assert(json_is(array, JSON_ARRAY));
        if (!value)
                return error_origin(-ENOMEM);
        json_append(array, value);
        json_name(value, STR_NULL);
        return 0;
}

bool json_remove(Json *object, Str key) {
        Json *member, *before;

        if (!json_is(object, JSON_OBJECT))
                return false;
        member = find_member(object, key, &before);
        if (!member)
                return false;
        json_replace(object, before, member, NULL);
        object->n--;
        return true;
}

bool json_text_is_object(Str text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;

        return text.n && !memchr(text.data, '\n', text.n) &&
               !json_parse(&arena, text.data, text.n, NULL, &json, NULL) && json_is(json, JSON_OBJECT);
}
