/* SPDX-License-Identifier: MIT */
#include "company/draft.h"

#include <errno.h>

#include "base/error.h"
#include "core/document.h"
#include "core/shape.h"

JsonWriter *draft_begin(Draft *draft, const char *type) {
        *draft = (Draft){0};
        draft->w = JSON_WRITER(&draft->text);
        jw_begin_object(&draft->w);
        jw_field_int(&draft->w, "schema_version", 1);
        jw_field_cstr(&draft->w, "type", type);
        return &draft->w;
}

Json *draft_end(Draft *draft, Arena *arena) {
        Json *json = NULL;
        Str text = STR_NULL;

        jw_end_object(&draft->w);
        if (!draft->w.failed)
                text = arena_str(arena, buf_str(&draft->text));
        buf_deinit(&draft->text);
        if (!text.data || json_parse(arena, text.data, text.n, NULL, &json, NULL))
                return NULL;
        return json;
}

void draft_optional(JsonWriter *w, const char *key, Str value) {
        if (value.n)
                jw_field_str(w, key, value);
}

void draft_strings(JsonWriter *w, const char *key, const StrList *list) {
        jw_key(w, key);
        jw_begin_array(w);
        for (size_t i = 0; i < list->n; i++)
                jw_str(w, list->items[i]);
        jw_end_array(w);
}

/* ---- files of an edit ------------------------------------------------------------------------ */

static bool draft_text(Edit *edit, const char *path, const Json *json, Str *ret) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        *ret = STR("");
        if (!path || !json)
                return edit_try(edit, error_origin(path ? -ENOMEM : -EINVAL));
        if (!edit_try(edit, document_text(json, DOCUMENT_YAML, STR_NULL, &text)))
                return false;
        *ret = arena_str(edit->arena, buf_str(&text));
        return ret->data || edit_try(edit, error_origin(-ENOMEM));
}

void draft_create(Edit *edit, const char *path, const Json *json) {
        Str text;

        if (draft_text(edit, path, json, &text))
                (void)edit_create(edit, path, text);
}

void draft_replace(Edit *edit, const char *path, const Json *json) {
        Str text;

        if (draft_text(edit, path, json, &text))
                (void)edit_replace(edit, path, text);
}

void draft_create_text(Edit *edit, const char *path, Str text) {
        if (!path || !text.data)
                (void)edit_try(edit, error_origin(path ? -ENOMEM : -EINVAL));
        else
                (void)edit_create(edit, path, text);
}

Json *draft_read(Edit *edit, const char *path, const Shape *shape) {
        Json *json = NULL;
        Str text;
        int r = path ? edit_read(edit, path, DOCUMENT_MAX, &text) : FILE_E_MISSING;

        if (r < 0)
                (void)edit_try(edit, r);
        if (r || document_parse(edit->arena, text, DOCUMENT_YAML, &json, NULL, NULL))
                return NULL;
        return shape_fits(shape, json) ? json : NULL;
}

int draft_unique(Arena *arena, const StrList *list, StrList *ret) {
        *ret = (StrList){.items = arena_alloc(arena, list->n * sizeof(Str))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < list->n; i++) {
                bool is_new = true;

                for (size_t j = 0; j < ret->n; j++)
                        is_new = is_new && !str_eq(ret->items[j], list->items[i]);
                if (is_new)
                        ret->items[ret->n++] = list->items[i];
        }
        return 0;
}

Str draft_id(Edit *edit, const char *prefix) {
        Str *id = arena_alloc(edit->arena, sizeof(*id));

        if (!id)
                return STR_NULL;
        *id = edit_id(edit, prefix);
        edit->user = id;
        return *id;
}

void draft_reply_id(Call *call, const Edit *edit, const char *key) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, key, *(const Str *)edit->user);
        jw_end_object(w);
}
