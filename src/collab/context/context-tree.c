/* SPDX-License-Identifier: MIT */
/*
 * How the ops of a batch look at their arguments and change the documents.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/context/context-internal.h"

enum { DETAIL_MAX = 1000 }; /* ids come from outside: longer texts are cut */

static Str context_tree_keep_text(Arena *arena, const char text[DETAIL_MAX], int n) {
        return arena_str(arena, (Str){text, n < 0 ? 0 : MIN((size_t)n, (size_t)DETAIL_MAX - 1)});
}

int context_own(ContextDoc *doc) {
        Document *own =
                doc->document->n_refs > 1 ? document_clone(doc->document) : document_ref(doc->document);

        if (!own)
                return error_origin(-ENOMEM);
        document_unref(doc->document);
        doc->document = own;
        return 0;
}

int context_refuse(Context *context, const char *format, ...) {
        char text[DETAIL_MAX];
        va_list list;
        int n;

        va_start(list, format);
        n = vsnprintf(text, sizeof(text), format, list);
        va_end(list);
        context->complaint = context_tree_keep_text(context->arena, text, n);
        return context->complaint.data ? CONTEXT_E_REFUSED : error_origin(-ENOMEM);
}

int context_detail(Context *context, Str *detail, const char *format, ...) {
        char text[DETAIL_MAX];
        va_list list;
        int n;

        va_start(list, format);
        n = vsnprintf(text, sizeof(text), format, list);
        va_end(list);
        *detail = context_tree_keep_text(context->arena, text, n);
        return detail->data ? 0 : error_origin(-ENOMEM);
}

/* ---- arguments ------------------------------------------------------------------------------- */

Str context_text(const Json *item, const char *key) {
        const Json *value = json_get(item, key);
        double number;
        bool truth;

        if (json_double(value, &number))
                return number != 0 ? (Str){value->text, value->n} : STR_NULL;
        if (json_bool(value, &truth))
                return truth ? STR("true") : STR_NULL;
        return json_str(value);
}

Str context_id(const Json *item, const char *key) {
        return str_trim(context_text(item, key));
}

bool context_is_given(const Json *item, const char *key) {
        const Json *value = json_get(item, key);

        return value && !json_is(value, JSON_NULL);
}

/* ---- members --------------------------------------------------------------------------------- */

int context_set(Context *context, Json *object, const char *key, Str text) {
        return error_trace(
                json_set(context->arena, object, str_from(key), json_new_str(context->arena, text)));
}

int context_set_given(Context *context, Json *object, const char *key, const Json *item) {
        return context_is_given(item, key) ? context_set(context, object, key, context_text(item, key)) : 0;
}

int context_set_now(Context *context, Json *object, const char *key) {
        char text[TIME_TEXT_MAX];
        size_t n = time_format_us(context->now_us, text);

        return context_set(context, object, key, (Str){text, n});
}

int context_set_today(Context *context, Json *object, const char *key) {
        char text[TIME_TEXT_MAX];

        time_format_s(context->now_us, text);
        return context_set(context, object, key, (Str){text, strlen("2026-01-02")});
}

/* ---- lists ----------------------------------------------------------------------------------- */

Json *context_list(Context *context, ContextDoc *doc, const char *key, bool is_made) {
        Json *list = json_get(doc->document->json, key);

        if (json_is(list, JSON_ARRAY))
                return list;
        list = is_made ? json_new(context->arena, JSON_ARRAY) : NULL;
        return list && !json_set(context->arena, doc->document->json, str_from(key), list) ? list : NULL;
}

Json *context_find(const Json *list, Str id) {
        json_each (item, list)
                if (id.n && str_eq(json_str(json_get(item, "id")), id))
                        return item;
        return NULL;
}

int context_list_remove(Context *context, ContextDoc *doc, const char *key, const Json *item) {
        Json *kept = json_new(context->arena, JSON_ARRAY);

        for (Json *at = json_first(json_get(doc->document->json, key)), *next; kept && at; at = next) {
                next = at->next;
                if (at != item)
                        (void)json_push(kept, at);
        }
        return error_trace(json_set(context->arena, doc->document->json, str_from(key), kept));
}

/* ---- statuses -------------------------------------------------------------------------------- */

static const char *context_tree_word_of(Str text, const char *const words[]) {
        for (; *words; words++)
                if (text.n == strlen(*words) && !strncasecmp(text.data, *words, text.n))
                        return *words;
        return NULL;
}

const char *context_status(Str text) {
        static const char *const words[] = {"planned", "active", "done", "archived", "pending", NULL};
        const char *word = context_tree_word_of(str_trim(text), words);

        return word && !strcmp(word, "pending") ? "planned" : word;
}

const char *context_status_of(const Json *object) {
        const char *word = context_status(json_str(json_get(object, "status")));

        return word ? word : "planned";
}

const char *context_step_status(Str text) {
        static const char *const words[] = {"pending", "in_progress", "done", NULL};

        return context_tree_word_of(str_trim(text), words);
}

const char *context_step_status_of(const Json *step) {
        const char *word = context_step_status(json_str(json_get(step, "status")));

        return word ? word : "pending";
}

int context_set_status(Context *context, Json *object, const char *status) {
        const char *old = context_status_of(object);
        const bool is_archived = !strcmp(status, "archived");
        int r = 0;

        if (!is_archived)
                json_remove(object, STR("archived_from"));
        else if (strcmp(old, "archived") != 0)
                r = context_set(context, object, "archived_from", str_from(old));
        if (!r)
                r = context_set(context, object, "status", str_from(status));
        return error_trace(r);
}

int context_unarchive(Context *context, Json *object, const char **ret) {
        const char *word = context_status(json_str(json_get(object, "archived_from")));

        *ret = word && strcmp(word, "archived") != 0 ? word : "planned";
        return error_trace(context_set_status(context, object, *ret));
}
