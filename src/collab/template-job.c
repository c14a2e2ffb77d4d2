/* SPDX-License-Identifier: MIT */
#include "collab/template-job.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

TemplateJob *template_job_new(Arena *arena, const void *args, Str text, Str by, const GroupDoc *doc) {
        const ScopeView *scope = doc ? group_doc_scope(doc, doc->active_scope_key) : NULL;
        TemplateJob *job = arena_alloc(arena, sizeof(*job));

        if (!job)
                return NULL;
        *job = (TemplateJob){.args = args, .arena = arena, .text = text, .by = by};
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
