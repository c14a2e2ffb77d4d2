/* SPDX-License-Identifier: MIT */
/*
 * Any document, any batch: "YAML of context.yaml, NUL, YAML of a task, NUL, JSON of the ops". The batch is
 * applied or refused with a complaint, and what is there can be shown.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collab/context/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static Str cut(Str *rest) {
        const char *nul = rest->n ? memchr(rest->data, 0, rest->n) : NULL;
        Str part = {rest->data, nul ? (size_t)(nul - rest->data) : rest->n};

        *rest = nul ? (Str){nul + 1, rest->n - part.n - 1} : STR_NULL;
        return part;
}

static void read_doc(ContextDoc *doc, Str text) {
        *doc = (ContextDoc){.path = "x", .id = doc->id, .document = document_new()};
        if (!doc->document)
                abort();
        doc->is_stored = text.n && !document_parse(&doc->document->arena, text, DOCUMENT_YAML,
                                                   &doc->document->json, NULL, NULL);
}

static void show(Arena *arena, const Context *context) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        JsonWriter w = JSON_WRITER(&out);
        Json *json;

        jw_begin_array(&w);
        if (context_write_summary(context, &w))
                abort();
        context_write_tasks(context, &w);
        jw_end_array(&w);
        if (w.failed || json_parse(arena, out.data, out.n, NULL, &json, NULL))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str rest = {(const char *)data, n};
        ContextDoc task = {.id = STR("T001")}, *tasks[1] = {&task};
        _cleanup_(context_deinit) Context context = {
                .arena = &arena, .dir = "x", .tasks = tasks, .n_tasks = 1, .cap_tasks = 1, .last_task = 1};
        Json *ops;
        int r;

        context.changes = json_new(&arena, JSON_ARRAY);
        read_doc(&context.main, cut(&rest));
        read_doc(&task, cut(&rest));
        read_doc(&context.presence, STR_NULL);
        show(&arena, &context);
        if (json_parse(&arena, rest.data, rest.n, NULL, &ops, NULL) || !json_is(ops, JSON_ARRAY))
                return 0;
        r = context_apply(&context, ops);
        if (r < 0 || (r > 0 && !context.complaint.data))
                abort();
        if (!r)
                show(&arena, &context);
        return 0;
}
