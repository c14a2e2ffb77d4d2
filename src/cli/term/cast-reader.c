/* SPDX-License-Identifier: MIT */
#include "cli/term/cast.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#include "base/error.h"

enum { VERSION = 2 };

void cast_deinit(CastReader *cast) {
        free(cast->line);
        arena_deinit(&cast->arena);
}

static int cast_reader_wrong(CastReader *cast, const char *what) {
        snprintf(cast->why, sizeof(cast->why), "line %u: %s", cast->number, what);
        return CAST_E_WRONG;
}

/* The next line that is not empty. Conditions: CAST_E_END, CAST_E_WRONG. */
static int cast_reader_read_value(CastReader *cast, Json **ret) {
        ssize_t n;
        Str line;
        int r;

        do {
                n = getline(&cast->line, &cast->n_line, cast->in);
                if (n < 0)
                        return ferror(cast->in) ? error_origin(-EIO) : CAST_E_END;
                cast->number++;
                line = str_trim((Str){cast->line, (size_t)n});
        } while (!line.n);
        arena_reset(&cast->arena);
        r = json_parse(&cast->arena, line.data, line.n, NULL, ret, NULL);
        return r > 0 ? cast_reader_wrong(cast, "not JSON") : error_trace(r);
}

int cast_read_header(CastReader *cast, CastHeader *ret, double *ret_max_idle_s) {
        uint64_t version = 0, cols = 0, rows = 0;
        Json *json = NULL;
        int r = cast_reader_read_value(cast, &json);

        if (r == CAST_E_END)
                return cast_reader_wrong(cast, "the file is empty");
        if (r)
                return r;
        if (!json_is(json, JSON_OBJECT) || !json_uint64(json_get(json, "version"), &version))
                return cast_reader_wrong(cast, "not the header of an asciicast");
        if (version != VERSION)
                return cast_reader_wrong(cast, "only version 2 of the asciicast format is known");
        (void)json_uint64(json_get(json, "width"), &cols);
        (void)json_uint64(json_get(json, "height"), &rows);
        *ret = (CastHeader){.cols = (unsigned)cols,
                            .rows = (unsigned)rows,
                            .title = arena_str(&cast->arena, json_str(json_get(json, "title"))).data};
        (void)json_int64(json_get(json, "timestamp"), &ret->time_s);
        *ret_max_idle_s = -1;
        (void)json_double(json_get(json, "idle_time_limit"), ret_max_idle_s);
        return 0;
}

int cast_read_event(CastReader *cast, CastEvent *ret) {
        const Json *time, *kind, *text;
        Json *json = NULL;
        int r = cast_reader_read_value(cast, &json);

        if (r)
                return r;
        time = json_is(json, JSON_ARRAY) ? json_first(json) : NULL;
        kind = time ? time->next : NULL;
        text = kind ? kind->next : NULL;
        if (!json_double(time, &ret->seconds) || !json_str(kind).n || !json_is(text, JSON_STRING))
                return cast_reader_wrong(cast, "not an event [seconds, kind, text]");
        ret->kind = json_str(kind).data[0];
        ret->text = json_str(text);
        return 0;
}
