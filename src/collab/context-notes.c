/* SPDX-License-Identifier: MIT */
/*
 * The plain ops of context.yaml: vision, sketch, notes and references.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/context-internal.h"

static int context_notes_set_text(Context *context, const char *key, const Json *item) {
        context->main.is_changed = true;
        return context_set(context, context->main.json, key, context_text(item, key));
}

int context_vision_update(Context *context, const Json *item, Str *detail) {
        int r = context_notes_set_text(context, "vision", item);

        return r ? error_trace(r) : context_detail(context, detail, "Set vision");
}

int context_sketch_update(Context *context, const Json *item, Str *detail) {
        int r = context_notes_set_text(context, "sketch", item);

        return r ? error_trace(r) : context_detail(context, detail, "Set sketch");
}

/* A new entry {id} of the list; the caller adds the rest. NULL without memory. */
static Json *context_notes_add_entry(Context *context, const char *list_key, char letter, int64_t number,
                                     Str *detail) {
        Json *list = context_list(context, &context->main, list_key, true);
        Json *entry = json_new(context->arena, JSON_OBJECT);
        Str id = arena_printf(context->arena, "%c%03lld", letter, (long long)number);

        context->main.is_changed = true;
        if (!list || !entry || !id.data || context_set(context, entry, "id", id) || json_push(list, entry) ||
            context_detail(context, detail, "Added %s", id.data))
                return NULL;
        return entry;
}

static int context_notes_remove_entry(Context *context, const char *list_key, Json *entry, Str id,
                                      Str *detail) {
        int r = context_list_remove(context, &context->main, list_key, entry);

        context->main.is_changed = true;
        return r ? error_trace(r) : context_detail(context, detail, "Removed " STR_FMT, STR_ARG(id));
}

static Json *find_entry(Context *context, const char *list_key, Str id) {
        return context_find(context_list(context, &context->main, list_key, false), id);
}

/* The number of a removed last entry is given again. */
static void forget_number(Context *context, const char *list_key, char letter, Str id, int64_t *last) {
        if (context_number(id, letter) == *last)
                *last = context_highest(context_list(context, &context->main, list_key, false), letter);
}

int context_note_add(Context *context, const Json *item, Str *detail) {
        Json *note = context_notes_add_entry(context, "notes", 'N', ++context->last_note, detail);

        return note ? context_set(context, note, "content", context_text(item, "content"))
                    : error_origin(-ENOMEM);
}

int context_note_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "note_id");
        Json *note = find_entry(context, "notes", id);
        int r;

        if (!note)
                return context_refuse(context, "Note not found: " STR_FMT, STR_ARG(id));
        context->main.is_changed = true;
        r = context_set_given(context, note, "content", item);
        return r ? error_trace(r) : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

int context_note_remove(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "note_id");
        Json *note = find_entry(context, "notes", id);
        int r;

        if (!note)
                return context_refuse(context, "Note not found: " STR_FMT, STR_ARG(id));
        r = context_notes_remove_entry(context, "notes", note, id, detail);
        forget_number(context, "notes", 'N', id, &context->last_note);
        return r;
}

int context_reference_add(Context *context, const Json *item, Str *detail) {
        Json *reference =
                context_notes_add_entry(context, "references", 'R', ++context->last_reference, detail);
        int r;

        r = reference ? context_set(context, reference, "url", context_text(item, "url"))
                      : error_origin(-ENOMEM);
        return r ? error_trace(r) : context_set(context, reference, "note", context_text(item, "note"));
}

int context_reference_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "reference_id");
        Json *reference = find_entry(context, "references", id);
        int r;

        if (!reference)
                return context_refuse(context, "Reference not found: " STR_FMT, STR_ARG(id));
        context->main.is_changed = true;
        r = context_set_given(context, reference, "url", item);
        if (!r)
                r = context_set_given(context, reference, "note", item);
        return r ? error_trace(r) : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

int context_reference_remove(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "reference_id");
        Json *reference = find_entry(context, "references", id);
        int r;

        if (!reference)
                return context_refuse(context, "Reference not found: " STR_FMT, STR_ARG(id));
        r = context_notes_remove_entry(context, "references", reference, id, detail);
        forget_number(context, "references", 'R', id, &context->last_reference);
        return r;
}
