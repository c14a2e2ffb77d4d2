/* SPDX-License-Identifier: MIT */
/*
 * The version of a context: a hash over the content, whatever order the members stand in.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sha256.h"
#include "collab/context-internal.h"

static int by_key(const void *a, const void *b) {
        Str x = json_key(*(Json *const *)a), y = json_key(*(Json *const *)b);
        int order = memcmp(x.data, y.data, MIN(x.n, y.n));

        return order ? order : (x.n > y.n) - (x.n < y.n);
}

static void write_sorted(JsonWriter *w, const Json *json);

static void write_members(JsonWriter *w, const Json *object) {
        _cleanup_(freep) Json **members = calloc(json_count(object) + 1, sizeof(Json *));
        size_t n = 0;

        if (!members) {
                w->failed = true;
                return;
        }
        json_each (member, object)
                members[n++] = member;
        qsort(members, n, sizeof(Json *), by_key);
        jw_begin_object(w);
        for (size_t i = 0; i < n; i++) {
                jw_key_str(w, json_key(members[i]));
                write_sorted(w, members[i]);
        }
        jw_end_object(w);
}

/* As deep as YAML may be: YAML_DEPTH. */
static void write_sorted(JsonWriter *w, const Json *json) { // NOLINT(misc-no-recursion)
        if (json_is(json, JSON_OBJECT)) {
                write_members(w, json);
        } else if (json_is(json, JSON_ARRAY)) {
                jw_begin_array(w);
                json_each (item, json)
                        write_sorted(w, item);
                jw_end_array(w);
        } else {
                jw_value(w, json);
        }
}

static int append_doc(Buf *text, const ContextDoc *doc) {
        JsonWriter w = JSON_WRITER(text);
        int r;

        r = doc->id.n ? buf_printf(text, "\n" STR_FMT ".yaml\n", STR_ARG(doc->id)) : 0;
        if (!r)
                write_sorted(&w, doc->json);
        return r || w.failed ? error_origin(-ENOMEM) : 0;
}

int context_version(const Context *context, char out[CONTEXT_VERSION_MAX]) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char hex[SHA256_HEX_MAX];
        int r;

        r = context->main.is_stored ? append_doc(&text, &context->main) : 0;
        for (size_t i = 0; !r && i < context->n_tasks; i++)
                r = context->tasks[i]->is_stored ? append_doc(&text, context->tasks[i]) : 0;
        if (!r)
                r = sha256_hex(buf_str(&text), hex);
        if (r)
                return error_trace(r);
        memcpy(out, hex, CONTEXT_VERSION_MAX - 1);
        out[CONTEXT_VERSION_MAX - 1] = 0;
        return 0;
}
