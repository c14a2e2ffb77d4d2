/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "collab/template/template.h"

/*
 * A template for people to look at, and how a group would differ afterwards.
 */

static const char *source_of(Str prompt) {
        return prompt.data ? "repo" : "builtin";
}

/* ---- the template ---------------------------------------------------------------------------- */

static void template_preview_write_actor(JsonWriter *w, const TemplateActor *actor) {
        jw_begin_object(w);
        jw_field_str(w, "id", actor->id);
        jw_field_str(w, "title", actor->title);
        jw_field_str(w, "runtime", actor->runtime);
        jw_field_str(w, "runner", actor->runner);
        jw_field_value(w, "command", actor->given);
        jw_field_str(w, "submit", actor->submit);
        jw_field_bool(w, "enabled", actor->is_enabled);
        jw_end_object(w);
}

/* With a mark below when there is more. */
static void write_beginning(JsonWriter *w, Str text) {
        Str shown = utf8_first(text, TEMPLATE_PREVIEW_MAX);
        char marked[(size_t)4 * TEMPLATE_PREVIEW_MAX + sizeof("\n…")];
        int n = snprintf(marked, sizeof(marked), STR_FMT "%s", STR_ARG(shown),
                         shown.n < text.n ? "\n…" : "");

        jw_field_str(w, "preview", (Str){marked, (size_t)n});
}

static void write_prompt(JsonWriter *w, Str prompt) {
        jw_begin_object(w);
        jw_field_cstr(w, "source", source_of(prompt));
        if (prompt.data) {
                jw_field_uint(w, "chars", utf8_count(prompt));
                write_beginning(w, str_trim(prompt));
        }
        jw_end_object(w);
}

void template_write(const Template *template, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "kind", "cccc.group_template");
        jw_field_int(w, "v", template->v);
        jw_field_str(w, "title", template->title);
        jw_field_str(w, "topic", template->topic);
        jw_field_str(w, "exported_at", template->exported_at);
        jw_field_str(w, "cccc_version", template->cccc_version);
        jw_key(w, "actors");
        jw_begin_array(w);
        for (size_t i = 0; i < template->n_actors; i++)
                template_preview_write_actor(w, &template->actors[i]);
        jw_end_array(w);
        jw_field_value(w, "settings", template->settings);
        jw_key(w, "prompts");
        jw_begin_object(w);
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++) {
                jw_key(w, template_prompt_name(i));
                write_prompt(w, template->prompts[i]);
        }
        jw_end_object(w);
        jw_end_object(w);
}

/* ---- the difference -------------------------------------------------------------------------- */

static bool actors_are_equal(const TemplateActor *a, const TemplateActor *b) {
        return str_eq(a->title, b->title) && str_eq(a->runtime, b->runtime) &&
               str_eq(a->runner, b->runner) && str_eq(a->submit, b->submit) &&
               a->is_enabled == b->is_enabled && json_equal(a->command, b->command);
}

/* Ids of `from` that other does not have; with is_changed, those that it has otherwise. */
static void template_preview_write_ids(JsonWriter *w, const char *key, const Template *from,
                                       const Template *other, bool is_changed) {
        jw_key(w, key);
        jw_begin_array(w);
        for (size_t i = 0; i < from->n_actors; i++) {
                const TemplateActor *twin = template_find(other, from->actors[i].id);
                if (is_changed ? twin && !actors_are_equal(&from->actors[i], twin) : !twin)
                        jw_str(w, from->actors[i].id);
        }
        jw_end_array(w);
}

static void template_preview_write_settings(JsonWriter *w, const Json *from, const Json *to) {
        jw_key(w, "settings_changed");
        jw_begin_object(w);
        json_each (value, to) {
                const Json *old = json_get_str(from, json_key(value));
                if (json_equal(old, value))
                        continue;
                jw_key_str(w, json_key(value));
                jw_begin_object(w);
                jw_field_value(w, "from", old);
                jw_field_value(w, "to", value);
                jw_end_object(w);
        }
        jw_end_object(w);
}

/* No prompt is something else than an empty one. */
static bool template_preview_is_same(Str a, Str b) {
        return a.data && b.data ? str_eq(a, b) : a.data == b.data;
}

static void write_prompt_change(JsonWriter *w, Str from, Str to) {
        jw_begin_object(w);
        jw_field_bool(w, "changed", !template_preview_is_same(from, to));
        jw_field_uint(w, "current_chars", utf8_count(from));
        jw_field_uint(w, "new_chars", utf8_count(to));
        jw_field_cstr(w, "current_source", source_of(from));
        jw_field_cstr(w, "new_source", source_of(to));
        jw_end_object(w);
}

void template_write_diff(const Template *template, const Template *now, JsonWriter *w) {
        jw_begin_object(w);
        template_preview_write_ids(w, "actors_add", template, now, false);
        template_preview_write_ids(w, "actors_update", template, now, true);
        template_preview_write_ids(w, "actors_remove", now, template, false);
        template_preview_write_settings(w, now->settings, template->settings);
        jw_key(w, "prompts_changed");
        jw_begin_object(w);
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++) {
                jw_key(w, template_prompt_name(i));
                write_prompt_change(w, now->prompts[i], template->prompts[i]);
        }
        jw_end_object(w);
        jw_end_object(w);
}

TemplateJob *template_job_new(Arena *arena, Str text, Str by, const GroupDoc *doc) {
        const ScopeView *scope = doc ? group_doc_scope(doc, doc->active_scope_key) : NULL;
        TemplateJob *job = arena_alloc(arena, sizeof(*job));

        if (!job)
                return NULL;
        *job = (TemplateJob){.arena = arena, .text = text, .by = by};
        if (scope && scope->url.n)
                job->root = arena_str(arena, scope->url);
        return scope && scope->url.n && !job->root.data ? NULL : job;
}

static const char *prompt_path(TemplateJob *job, TemplatePrompt prompt) {
        return arena_printf(job->arena, "%s/%s", job->root.data, template_prompt_file(prompt)).data;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_prompt(TemplateJob *job, TemplatePrompt prompt) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const char *path = prompt_path(job, prompt);
        Str copy;
        int r;

        r = path ? file_read_beneath(path, TEMPLATE_PROMPT_MAX, &text) : error_origin(-ENOMEM);
        if (r == FILE_E_MISSING)
                return 0;
        if (r)
                return r > 0 ? error_origin(-EFBIG) : error_trace(r);
        copy = arena_str(job->arena, buf_str(&text));
        job->is_file[prompt] = true;
        job->prompts[prompt] = copy;
        return copy.data ? 0 : error_origin(-ENOMEM);
}

static int template_job_read_text(TemplateJob *job) {
        int r;

        r = template_parse(&job->template, job->arena, job->text, job->why);
        if (!r && job->is_for_apply)
                r = template_check(&job->template, job->why);
        if (!r && job->is_for_apply)
                r = template_bound_settings(&job->template, job->arena);
        job->is_invalid = r > 0;
        return r < 0 ? error_trace(r) : 0;
}

int template_job_read(TemplateJob *job) {
        struct stat st;
        int r = 0;

        job->is_folder = job->root.n && stat(job->root.data, &st) == 0 && S_ISDIR(st.st_mode);
        if (job->text.n)
                r = template_job_read_text(job);
        for (TemplatePrompt i = 0; !r && job->is_folder && i < _TEMPLATE_PROMPTS; i++)
                r = read_prompt(job, i);
        return error_trace(r);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int remove_prompt(const char *path) {
        return unlink(path) < 0 && errno != ENOENT ? error_origin(-errno) : 0;
}

static int put_prompt(TemplateJob *job, TemplatePrompt prompt) {
        Str wanted = job->template.prompts[prompt];
        const char *path = prompt_path(job, prompt);
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        if (wanted.data ? job->is_file[prompt] && str_eq(wanted, job->prompts[prompt])
                        : !job->is_file[prompt])
                return 0;
        r = wanted.data ? error_fold(file_replace(path, wanted, 0644, FILE_DURABLE)) : remove_prompt(path);
        job->is_written[prompt] = !r;
        return error_trace(r);
}

int template_job_write(TemplateJob *job) {
        int r = 0;

        for (TemplatePrompt i = 0; !r && i < _TEMPLATE_PROMPTS; i++)
                r = put_prompt(job, i);
        if (r)
                template_job_restore(job);
        return error_trace(r);
}

void template_job_restore(TemplateJob *job) {
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++) {
                const char *path = job->is_written[i] ? prompt_path(job, i) : NULL;
                if (path && job->is_file[i])
                        (void)file_replace(path, job->prompts[i], 0644, FILE_DURABLE);
                else if (path)
                        (void)remove_prompt(path);
                job->is_written[i] = false;
        }
}
