/* SPDX-License-Identifier: MIT */
#include "collab/context/test-context-fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { MAY_2026 = 1778000000 }; /* 2026-05-05 */

int place_make(void **state) {
        Place *place = calloc(1, sizeof(*place));

        *state = place;
        strcpy(place->path, "/tmp/test-context.XXXXXX");
        place->now_us = (int64_t)MAY_2026 * 1000000;
        return mkdtemp(place->path) ? 0 : -1;
}

int place_remove(void **state) {
        _cleanup_(freep) Place *place = *state;
        char command[128];

        context_deinit(&place->context);
        context_cache_deinit(&place->cache);
        arena_deinit(&place->arena);
        snprintf(command, sizeof(command), "rm -rf %s", place->path);
        return system(command) == 0 ? 0 : -1;
}

void place_load(Place *place) {
        place->now_us += 1000000;
        context_deinit(&place->context);
        assert_int_equal(
                context_load(&place->context, &place->arena, place->path, place->now_us, &place->cache), 0);
}

int place_apply(Place *place, const char *ops) {
        Json *json;

        assert_int_equal(json_parse(&place->arena, ops, strlen(ops), NULL, &json, NULL), 0);
        return context_apply(&place->context, json);
}

const char *place_changes(Place *place) {
        Buf text = BUF_NULL;
        Str copy;

        assert_int_equal(json_write(&text, place->context.changes), 0);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

const char *place_store(Place *place, const char *ops) {
        const char *result;

        place_load(place);
        assert_int_equal(place_apply(place, ops), 0);
        result = place_changes(place);
        assert_int_equal(context_store(&place->context), 0);
        place_load(place);
        return result;
}

void assert_refused(Place *place, const char *ops, const char *complaint) {
        place_load(place);
        assert_int_equal(place_apply(place, ops), CONTEXT_E_REFUSED);
        assert_string_equal(place->context.complaint.data, complaint);
}

char *place_path(Place *place, const char *name) {
        return (char *)arena_printf(&place->arena, "%s/%s", place->path, name).data;
}

void place_write_file(Place *place, const char *name, const char *text) {
        assert_int_equal(dir_make(place_path(place, "tasks"), 0700), 0);
        assert_int_equal(file_replace(place_path(place, name), str_from(text), 0600, FILE_RUNTIME), 0);
}

const char *place_read_file(Place *place, const char *name) {
        Buf text = BUF_NULL;
        Str copy;

        assert_int_equal(file_read(place_path(place, name), 1 << 20, &text), 0);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

void assert_has(const char *text, const char *part) {
        if (!text || !strstr(text, part))
                fail_msg("\"%s\" is not in:\n%s", part, text ? text : "");
}

const char *place_summary(Place *place) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str copy;

        assert_int_equal(context_write_summary(&place->context, &w), 0);
        assert_false(w.failed);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

const char *place_tasks(Place *place) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str copy;

        context_write_tasks(&place->context, &w);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

void place_version(Place *place, char out[CONTEXT_VERSION_MAX]) {
        assert_int_equal(context_version(&place->context, out), 0);
}
