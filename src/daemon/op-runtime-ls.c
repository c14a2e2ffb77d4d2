/* SPDX-License-Identifier: MIT */
/*
 * runtime.ls: the agent programs that are known by name, and where they lie on the PATH that hosted processes get.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "core/call.h"
#include "core/daemon.h"
#include "core/runtimes.h"
#include "gen/native-ops.h"

enum { RUNTIMES_MAX = 64 };

typedef struct RuntimeLook {
        Carry carry;
        const char *folders; /* as in $PATH */
        char *paths[RUNTIMES_MAX];
} RuntimeLook;

static void runtime_look_release(void *object) {
        RuntimeLook *self = object;

        for (size_t i = 0; i < RUNTIMES_MAX; i++)
                free(self->paths[i]);
}

static void runtime_look_run(const Carry *carry) {
        RuntimeLook *self = container_of(carry, RuntimeLook, carry);
        size_t i = 0;

        for (const Runtime *one = runtime_first(); one->name && i < RUNTIMES_MAX; one++, i++)
                if (one->program && self->folders)
                        self->paths[i] = path_search(self->folders, one->program);
}

static const char *runtime_title(const char *name) {
        static const char *const titles[][2] = {{"aider", "Aider"},
                                                {"amp", "Amp"},
                                                {"auggie", "Auggie (Augment)"},
                                                {"claude", "Claude Code"},
                                                {"codex", "Codex CLI"},
                                                {"copilot", "GitHub Copilot CLI"},
                                                {"cursor", "Cursor CLI"},
                                                {"custom", "Custom"},
                                                {"droid", "Droid CLI"},
                                                {"gemini", "Gemini CLI"},
                                                {"kilocode", "Kilo Code CLI"},
                                                {"neovate", "Neovate Code"},
                                                {"opencode", "OpenCode"}};

        for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
                if (!strcmp(name, titles[i][0]))
                        return titles[i][1];
        return name;
}

static void runtime_put(JsonWriter *w, const Runtime *one, const char *path) {
        jw_begin_object(w);
        jw_field_cstr(w, "name", one->name);
        jw_field_cstr(w, "display_name", runtime_title(one->name));
        jw_field_cstr(w, "command", one->program ? one->program : one->name);
        jw_field_bool(w, "available", path);
        jw_field_cstr(w, "path", path);
        jw_field_cstr(w, "capabilities", one->headless[0] ? "terminal; headless; MCP" : "terminal; MCP");
        jw_end_object(w);
}

static int runtime_tell(Call *call, const Carry *carry) {
        RuntimeLook *self = container_of(carry, RuntimeLook, carry);
        JsonWriter *w = call_result(call);
        size_t i = 0;

        jw_begin_object(w);
        jw_key(w, "runtimes");
        jw_begin_array(w);
        for (const Runtime *one = runtime_first(); one->name && i < RUNTIMES_MAX; one++, i++)
                runtime_put(w, one, self->paths[i]);
        jw_end_array(w);
        jw_key(w, "available");
        jw_begin_array(w);
        i = 0;
        for (const Runtime *one = runtime_first(); one->name && i < RUNTIMES_MAX; one++, i++)
                if (self->paths[i])
                        jw_cstr(w, one->name);
        jw_end_array(w);
        jw_key(w, "pool");
        jw_raw(w, STR("[]"));
        jw_end_object(w);
        return 0;
}

int op_native_runtime_ls(Call *call, _unused_ const NativeRuntimeLsArgs *args) {
        RuntimeLook *self = arena_alloc(&call->arena, sizeof(*self));
        const char *given = environment_get(&call->daemon->env, "PATH");
        Str folders;

        if (!self)
                return -ENOMEM;
        folders = str_from(given ? given : getenv("PATH"));
        *self = (RuntimeLook){.folders = folders.n ? arena_str(&call->arena, folders).data : NULL};
        if (call_hold(call, self, runtime_look_release))
                return -ENOMEM;
        return call_work(call, runtime_look_run, runtime_tell, &self->carry);
}
