/* SPDX-License-Identifier: MIT */
/*
 * muster setup: our server in the settings of agent programs that are started elsewhere than by musterd, and out of them again. A
 * file that is a link, somebody else's or broken is left alone.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/setup/setup-edit.h"
#include "cli/setup/setup-file.h"

typedef enum SetupForm { SETUP_PLAIN, SETUP_STDIO, SETUP_COPILOT, SETUP_OPENCODE, SETUP_CODEX } SetupForm;

/* What is known of each, by its public documentation. */
typedef struct SetupRuntime {
        const char *name;
        const char *variable;           /* of the environment that names the folder; NULL: none does */
        const char *in_variable, *path; /* the file: in that folder, or else */
        const char *key;                /* JSON: the member that servers are in; NULL: it is TOML */
        SetupForm form;
} SetupRuntime;

static const SetupRuntime setup_runtimes[] = {
        {"claude", "CLAUDE_CONFIG_DIR", ".claude.json", "~/.claude.json", "mcpServers", SETUP_STDIO},
        {"codex", "CODEX_HOME", "config.toml", "~/.codex/config.toml", NULL, SETUP_CODEX},
        {"copilot", NULL, NULL, "~/.copilot/mcp-config.json", "mcpServers", SETUP_COPILOT},
        {"cursor", NULL, NULL, "~/.cursor/mcp.json", "mcpServers", SETUP_PLAIN},
        {"droid", NULL, NULL, "~/.factory/mcp.json", "mcpServers", SETUP_STDIO},
        {"gemini", NULL, NULL, "~/.gemini/settings.json", "mcpServers", SETUP_PLAIN},
        {"opencode", "XDG_CONFIG_HOME", "opencode/opencode.json", "~/.config/opencode/opencode.json", "mcp",
         SETUP_OPENCODE},
};

static const SetupRuntime *setup_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(setup_runtimes); i++)
                if (!strcmp(name, setup_runtimes[i].name))
                        return &setup_runtimes[i];
        return NULL;
}

static char *setup_path(const SetupRuntime *runtime) {
        const char *folder = runtime->variable ? getenv(runtime->variable) : NULL;

        return folder && *folder == '/' ? path_join(folder, runtime->in_variable)
                                        : path_expand(runtime->path);
}

/* ---- our entry ------------------------------------------------------------------------------- */

static void setup_put_args(JsonWriter *w, const char *socket) {
        jw_cstr(w, "mcp");
        jw_cstr(w, "--socket");
        jw_cstr(w, socket);
        jw_end_array(w);
}

static int setup_put_json(Buf *out, SetupForm form, const char *muster, const char *socket) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        if (form != SETUP_PLAIN)
                jw_field_cstr(&w, "type", form == SETUP_STDIO ? "stdio" : "local");
        jw_key(&w, "command");
        if (form == SETUP_OPENCODE)
                jw_begin_array(&w);
        jw_cstr(&w, muster);
        if (form != SETUP_OPENCODE) {
                jw_key(&w, "args");
                jw_begin_array(&w);
        }
        setup_put_args(&w, socket);
        if (form == SETUP_OPENCODE)
                jw_field_bool(&w, "enabled", true);
        if (form == SETUP_COPILOT) {
                jw_key(&w, "tools");
                jw_raw(&w, STR("[\"*\"]"));
        }
        jw_end_object(&w);
        return w.failed ? -ENOMEM : 0;
}

/* Texts and lists of JSON are some of TOML, too. */
static int setup_put_toml(Buf *out, const char *muster, const char *socket) {
        JsonWriter command = JSON_WRITER(out), args = JSON_WRITER(out);
        int r = buf_append_str(out, STR("[mcp_servers.muster]\ncommand = "));

        jw_cstr(&command, muster);
        r = r ? r : buf_append_str(out, STR("\nargs = "));
        jw_begin_array(&args);
        setup_put_args(&args, socket);
        return r || command.failed || args.failed ? -ENOMEM : buf_append_str(out, STR("\n"));
}

/* ---- the command ----------------------------------------------------------------------------- */

static int setup_tell(const Options *options, const SetupRuntime *runtime, const SetupFile *file,
                      const char *state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (!options->json) {
                print("%s: %s (%s)\n", runtime->name, state, file->path);
                return CLI_OK;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "runtime", runtime->name);
        jw_field_cstr(&w, "path", file->path);
        jw_field_cstr(&w, "state", state);
        jw_end_object(&w);
        if (w.failed)
                return complain(CLI_FAILED, "out of memory");
        json_put_text(stdout, buf_str(&text));
        return CLI_OK;
}

static int setup_change(const Options *options, const SetupRuntime *runtime, SetupFile *file, Str entry) {
        SetupEdit edit = {.key = runtime->key, .entry = entry, .is_removal = options->remove};
        Str text = setup_text(file);
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "", why[SETUP_WHAT_MAX + 64];
        int r = runtime->key ? setup_json(&edit, text, &out, what) : setup_toml(&edit, text, &out, what);

        if (r == SETUP_E_SAME)
                return setup_tell(options, runtime, file, options->remove ? "not there" : "there already");
        if (r == SETUP_E_OTHER)
                return setup_refuse(file, "it has a server of this name that is not ours");
        if (r == SETUP_E_BROKEN) {
                snprintf(why, sizeof(why), "it cannot be changed: %s", what);
                return setup_refuse(file, why);
        }
        if (r < 0)
                return complain(CLI_FAILED, "out of memory");
        if (r == SETUP_E_GONE)
                r = unlink(file->path) ? setup_refuse(file, strerror(errno)) : CLI_OK;
        else
                r = setup_write(file, buf_str(&out));
        return r ? r : setup_tell(options, runtime, file, options->remove ? "removed" : "added");
}

int cmd_setup(const Options *options) {
        const SetupRuntime *runtime = setup_find(options->operands[0]);
        _cleanup_(setup_file_deinit) SetupFile file = {0};
        _cleanup_(freep) char *socket = options->socket ? path_expand(options->socket) : place_socket(NULL);
        _cleanup_(buf_deinit) Buf entry = BUF_NULL;
        char self[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        int r = output_check();

        if (r)
                return r;
        if (!runtime)
                return complain(
                        CLI_USAGE,
                        "setup: where %s keeps its servers is not known here; the command of ours is "
                        "muster mcp --socket %s",
                        options->operands[0], socket ? socket : "PATH");
        file.path = setup_path(runtime);
        if (n <= 0 || !socket || !file.path)
                return complain(CLI_FAILED, "cannot tell where this program, the daemon's socket or %s is",
                                runtime->path);
        self[n] = '\0';
        r = runtime->key ? setup_put_json(&entry, runtime->form, self, socket)
                         : setup_put_toml(&entry, self, socket);
        if (r)
                return complain(CLI_FAILED, "out of memory");
        r = setup_read(&file);
        return r ? r : setup_change(options, runtime, &file, buf_str(&entry));
}
