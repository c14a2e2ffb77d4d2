/* SPDX-License-Identifier: MIT */
/* agent.refresh_context: the index of what an agent works on, in its guide. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "company/learn/guide.h"
#include "company/learn/learn.h"
#include "company/people/people.h"
#include "company/place.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

typedef struct ContextTask {
        const Json *matter;
        const char *path;
        Str project_id;
} ContextTask;

typedef struct Context {
        const AgentcompanyAgentRefreshContextArgs *args;
        const char *guide_path;
        ContextTask *tasks;
        size_t n_tasks, n_lines;
        Buf lines;
        int r;
        bool is_updated;
        Str now;
} Context;

static void context_deinit(Context *context) {
        free(context->tasks);
        buf_deinit(&context->lines);
}

static int context_add_task(Edit *edit, Context *context, Str project_id, Str task_id) {
        const char *path = place_task(edit->arena, project_id, task_id);
        Json *matter = NULL;
        ContextTask *grown;
        int r = path ? document_load(edit->arena, edit->root, path, DOCUMENT_MATTER, &matter, NULL, NULL)
                     : 1;

        if (r == -ENOMEM)
                return error_trace(r);
        if (r || !shape_fits(&shape_task, matter) ||
            !str_eq(json_text_of(matter, "assignee_agent_id"), context->args->agent_id))
                return 0;
        grown = reallocarray(context->tasks, context->n_tasks + 1, sizeof(*grown));
        if (!grown)
                return error_origin(-ENOMEM);
        context->tasks = grown;
        grown[context->n_tasks++] = (ContextTask){.matter = matter, .path = path, .project_id = project_id};
        return 0;
}

static int context_find_tasks(Edit *edit, Context *context) {
        StrList projects = {0};
        int r = place_names(edit->arena, edit->root, PLACE_PROJECTS, NULL, &projects);

        for (size_t i = 0; !r && i < projects.n; i++) {
                const char *folder = place_project(edit->arena, projects.items[i], "tasks");
                StrList tasks = {0};

                if (!folder ||
                    (context->args->project_id.n && !str_eq(context->args->project_id, projects.items[i])))
                        continue;
                r = place_names(edit->arena, edit->root, folder, ".md", &tasks);
                for (size_t k = 0; !r && k < tasks.n; k++)
                        r = context_add_task(edit, context, projects.items[i], tasks.items[k]);
        }
        return error_trace(r);
}

static int context_compare(Str a, Str b) {
        size_t n = MIN(a.n, b.n);
        int order = n ? memcmp(a.data, b.data, n) : 0;

        return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Newest first, then by id. */
static int context_compare_tasks(const void *a, const void *b) {
        const ContextTask *x = a, *y = b;
        int order = context_compare(json_text_of(y->matter, "created_at"),
                                    json_text_of(x->matter, "created_at"));

        return order ? order : context_compare(json_text_of(x->matter, "id"), json_text_of(y->matter, "id"));
}

/* A line of the index; the same one stands there once. */
static void context_line(Context *context, const char *format, ...) _printf_(2, 3);
static void context_line(Context *context, const char *format, ...) {
        char *text = NULL;
        va_list args;
        int n;

        va_start(args, format);
        n = vasprintf(&text, format, args);
        va_end(args);
        if (n < 0)
                context->r = error_origin(-ENOMEM);
        else if (!memmem(context->lines.data ? context->lines.data : "", context->lines.n, text,
                         (size_t)n)) {
                context->n_lines++;
                context->r = context->r ? context->r : buf_append(&context->lines, text, (size_t)n);
        }
        if (n >= 0)
                free(text);
}

static void context_scope_lines(Context *context, const ContextTask *task) {
        const Json *scope = json_get(task->matter, "scope");
        Str id = json_text_of(task->matter, "id"), repo = json_text_of(scope, "repo_id"),
            folder = json_text_of(scope, "workdir_rel");
        int64_t n = 0;

        if (repo.n)
                context_line(context, "- task_scope_repo_id: `" STR_FMT "` (task: `" STR_FMT "`)\n",
                             STR_ARG(repo), STR_ARG(id));
        if (folder.n)
                context_line(context, "- task_scope_workdir: `" STR_FMT "` (task: `" STR_FMT "`)\n",
                             STR_ARG(folder), STR_ARG(id));
        json_each (path, json_get(scope, "paths")) {
                if (n++ == context->args->max_scope_paths) {
                        context_line(context, "- task_scope_paths_truncated: true (max_scope_paths=%lld)\n",
                                     (long long)context->args->max_scope_paths);
                        break;
                }
                context_line(context, "- task_scope_path: `" STR_FMT "` (task: `" STR_FMT "`)\n",
                             STR_ARG(json_str(path)), STR_ARG(id));
        }
}

static void context_write_lines(Edit *edit, Context *context) {
        Str agent = context->args->agent_id;
        const char *log = place_agent(edit->arena, agent, "mistakes.yaml");

        context_line(context, "- company_contract: `company.yaml`\n");
        context_line(context, "- org_visibility_policy: `org/policy.yaml`\n");
        context_line(context, "- agent_profile: `%s`\n", place_agent(edit->arena, agent, "agent.yaml"));
        context_line(context, "- agent_journal: `%s`\n", place_agent(edit->arena, agent, "journal.md"));
        if (place_has(edit->root, log))
                context_line(context, "- mistakes_log: `%s`\n", log);
        for (size_t i = 0; i < context->n_tasks && i < (size_t)context->args->max_tasks; i++) {
                context_line(context, "- assigned_task: `%s`\n", context->tasks[i].path);
                context_line(context, "- project_memory: `%s`\n",
                             place_project(edit->arena, context->tasks[i].project_id, "memory.md"));
                context_scope_lines(context, &context->tasks[i]);
        }
        if (context->n_tasks > (size_t)context->args->max_tasks)
                context_line(context, "- assigned_tasks_truncated: true (max_tasks=%lld)\n",
                             (long long)context->args->max_tasks);
        if (!context->n_tasks)
                context_line(context, "- no_assigned_tasks: true\n");
}

static int context_write_index(Edit *edit, Context *context) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        bool is_new;
        Str before;
        int r = learn_read_guide(edit, context->guide_path, context->args->agent_id, &before, &is_new);

        if (!r)
                r = guide_set_index(&text, before, buf_str(&context->lines));
        if (r)
                return error_trace(r);
        context->is_updated = is_new || !str_eq(before, buf_str(&text));
        return context->is_updated ? error_trace(edit_replace(edit, context->guide_path,
                                                              arena_str(edit->arena, buf_str(&text))))
                                   : 0;
}

static int context_refresh_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyAgentRefreshContextArgs *args =
                container_of(carry, AgentcompanyAgentRefreshContextArgs, carry);
        _cleanup_(context_deinit) Context context = {
                .args = args, .guide_path = place_agent(edit->arena, args->agent_id, "AGENTS.md")};
        Context *kept = arena_alloc(edit->arena, sizeof(*kept));
        int r;

        if (!kept)
                return error_origin(-ENOMEM);
        if (!context.guide_path || !people_agent(edit->root, edit->arena, args->agent_id))
                return edit_fail(edit, CALL_E_COMPANY, "Agent not found: " STR_FMT, STR_ARG(args->agent_id));
        r = context_find_tasks(edit, &context);
        if (r)
                return error_trace(r);
        if (context.n_tasks)
                qsort(context.tasks, context.n_tasks, sizeof(*context.tasks), context_compare_tasks);
        context_write_lines(edit, &context);
        r = context.r ? context.r : context_write_index(edit, &context);
        context.now = edit_now(edit);
        *kept = context;
        kept->tasks = NULL;
        kept->lines = BUF_NULL;
        edit->user = kept;
        return error_trace(r);
}

static void context_refresh_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyAgentRefreshContextArgs *args =
                container_of(carry, AgentcompanyAgentRefreshContextArgs, carry);
        const Context *context = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "agent_id", args->agent_id);
        jw_field_cstr(w, "agents_md_relpath", context->guide_path);
        jw_field_uint(w, "assignment_count", MIN(context->n_tasks, (size_t)args->max_tasks));
        jw_field_uint(w, "reference_count", context->n_lines);
        jw_field_bool(w, "updated", context->is_updated);
        jw_field_str(w, "generated_at", context->now);
        if (args->project_id.n)
                jw_field_str(w, "project_id", args->project_id);
        jw_end_object(w);
}

int op_agentcompany_agent_refresh_context(Call *call, Workspace *workspace,
                                          const AgentcompanyAgentRefreshContextArgs *args) {
        return company_edit(call, workspace, context_refresh_decide, context_refresh_reply, &args->carry);
}
