/* SPDX-License-Identifier: MIT */
/*
 * Native methods for agents: what the project of a group says of itself, and how one works here. Both are files of the group's
 * active folder, which agents write: they are read on a worker, up to a bound, and links that lead out of it count as missing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/group/group-work.h"
#include "collab/group/help.h"
#include "gen/native-ops.h"

enum { PROJECT_FILE_MAX = 512 << 10 };

typedef struct ProjectRead {
        Carry carry;
        Call *call;
        Str root;                 /* empty: the group has no folder */
        const char *const *names; /* the first of them that is there; NULL behind the last */
        Str actor, role;
        char *path;
        Buf text;
        bool is_found;
        int r; /* of the reading; 0, FILE_E_*, or negative */
} ProjectRead;

static void project_read_release(void *object) {
        ProjectRead *self = object;

        free(self->path);
        buf_deinit(&self->text);
}

/* The active folder, else the first that it has. */
static Str project_root(const GroupDoc *doc) {
        const ScopeView *scope = group_doc_scope(doc, doc->active_scope_key);

        if (!scope && doc->n_scopes)
                scope = &doc->scopes[0];
        return scope ? scope->url : STR_NULL;
}

static int project_read_run(_unused_ const Group *group, const Carry *carry) {
        ProjectRead *self = container_of(carry, ProjectRead, carry);

        for (size_t i = 0; self->names[i] && !self->is_found; i++) {
                char *path = path_join(self->root.data, self->names[i]);

                if (!path)
                        return error_origin(-ENOMEM);
                self->r = file_read_beneath(path, PROJECT_FILE_MAX, &self->text);
                self->is_found = self->r != FILE_E_MISSING;
                if (self->is_found || !self->path) {
                        free(self->path);
                        self->path = steal(&path);
                }
                free(path);
        }
        return 0;
}

static int project_read(Call *call, Group *group, const char *const *names, GroupFn then,
                        ProjectRead **ret) {
        ProjectRead *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (ProjectRead){
                .call = call, .names = names, .root = arena_str(&call->arena, project_root(group->doc))};
        *ret = self;
        if (!self->root.data || call_hold(call, self, project_read_release))
                return error_origin(-ENOMEM);
        return self->root.n ? group_work(call, group, project_read_run, then, &self->carry)
                            : then(call, group, &self->carry);
}

/* ---- group.project --------------------------------------------------------------------------- */

static void project_put_error(JsonWriter *w, const ProjectRead *self) {
        char text[512];

        if (!self->root.n)
                snprintf(text, sizeof(text), "the group has no folder: attach one first");
        else if (!self->is_found)
                snprintf(text, sizeof(text), "PROJECT.md not found at %s", self->path);
        else
                snprintf(text, sizeof(text), "cannot read %s: %s", self->path,
                         self->r == FILE_E_TOO_LARGE ? "it is over 512 KiB"
                                                     : strerror(self->r < 0 ? -self->r : EIO));
        jw_field_cstr(w, "error", text);
}

static int project_tell(Call *call, _unused_ Group *group, const Carry *carry) {
        const ProjectRead *self = container_of(carry, ProjectRead, carry);
        bool is_read = self->is_found && !self->r;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "found", is_read);
        jw_field_cstr(w, "path", self->path);
        if (is_read)
                jw_field_str(w, "content", buf_str(&self->text));
        else
                jw_field_null(w, "content");
        if (!is_read)
                project_put_error(w, self);
        jw_end_object(w);
        return 0;
}

int op_native_group_project(Call *call, Group *group, _unused_ const NativeGroupProjectArgs *args) {
        static const char *const names[] = {"PROJECT.md", "project.md", NULL};
        ProjectRead *self;

        return project_read(call, group, names, project_tell, &self);
}

/* ---- group.help ------------------------------------------------------------------------------ */

static int project_help_put(Call *call, Str markdown, const char *source, Str role, Str actor) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter *w;

        if (help_select(&text, markdown, role, actor))
                return error_origin(-ENOMEM);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "markdown", buf_str(&text));
        jw_field_cstr(w, "source", source);
        jw_end_object(w);
        return 0;
}

static int project_help_tell(Call *call, Group *group, const Carry *carry) {
        const ProjectRead *self = container_of(carry, ProjectRead, carry);
        const NativeGroupHelpArgs *args = container_of(call->target, NativeGroupHelpArgs, carry);
        Str role = args->actor.n ? str_from(group_role(group->doc, args->actor)) : STR_NULL;
        bool has_own = self->is_found && !self->r && str_trim(buf_str(&self->text)).n;

        return has_own ? project_help_put(call, buf_str(&self->text), self->path, role, args->actor)
                       : project_help_put(call, help_built_in(), HELP_BUILT_IN, role, args->actor);
}

static int project_help_of(Call *call, Group *group, const Carry *carry) {
        static const char *const names[] = {"CCCC_HELP.md", NULL};
        ProjectRead *self;

        call->target = carry;
        return project_read(call, group, names, project_help_tell, &self);
}

int op_native_group_help(Call *call, const NativeGroupHelpArgs *args) {
        if (!str_trim(args->group).n)
                return project_help_put(call, help_built_in(), HELP_BUILT_IN, STR_NULL, args->actor);
        if (!call->daemon->collab)
                return call_fail(call, CALL_E_UNAVAILABLE, "this daemon serves no CCCC home");
        return collab_call(call, str_trim(args->group), project_help_of, &args->carry);
}
