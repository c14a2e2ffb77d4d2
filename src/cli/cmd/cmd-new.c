/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/cmd/coopfile-text.h"
#include "cli/link/ending.h"
#include "cli/link/caller-env.h"
#include "cli/options.h"
#include "cli/print/report.h"
#include "cli/term/show.h"
#include "gen/errors.h"

static char *find_workspace(const char *operand) {
        _cleanup_(freep) char *path = path_expand(operand ? operand : ".");

        return path ? realpath(path, NULL) : NULL;
}

static int set_coopfile(Coop *coop, const Options *options) {
        const CoopfileText text = {.command = options->command,
                                   .n_command = options->n_command,
                                   .sandbox = options->sandbox,
                                   .is_once = options->once};
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        int r = coopfile_text(&text, &out);

        if (r == COOPFILE_TEXT_E_NOT_UTF8)
                return complain(CLI_USAGE, "new: the command and the sandbox must be UTF-8");
        if (r)
                return complain(CLI_FAILED, "out of memory");
        if (out.n)
                coop_set_str(coop, "coopfile", buf_str(&out));
        return CLI_OK;
}

static int set_env(Coop *coop, const Options *options) {
        Json *named = json_new(&coop->arena, JSON_OBJECT);
        int r = named ? caller_env_named(&coop->arena, "new", &options->env, named)
                      : complain(CLI_FAILED, "out of memory");

        if (r)
                return r;
        arguments_set(&coop->args, &coop->arena, "caller_env", caller_env(&coop->arena));
        arguments_set(&coop->args, &coop->arena, "env", named);
        return CLI_OK;
}

/* ---- a session that is there already --------------------------------------------------------- */

/* The workspace of a session, or NULL. */
static const char *workspace_of(Coop *coop, const char *name) {
        if (coop_ask(coop, "ls") || coop->reply.is_error)
                return NULL;
        json_each (session, json_get(coop->reply.result, "sessions"))
                if (str_is(json_str(json_get(session, "name")), name))
                        return arena_str(&coop->arena, json_str(json_get(session, "workspace"))).data;
        return NULL;
}

static bool is_same_folder(const char *a, const char *b) {
        _cleanup_(freep) char *resolved = realpath(a, NULL);

        return !strcmp(resolved ? resolved : a, b);
}

static int print_existing(Coop *coop, const char *name) {
        Arena *arena = &coop->arena;
        Json *object = json_new(arena, JSON_OBJECT);

        return !object || json_set(arena, object, STR("session"), json_new_str(arena, str_from(name))) ||
                               json_set(arena, object, STR("existing"), json_new_bool(arena, true)) ||
                               json_print(stdout, object, false)
                       ? complain(CLI_FAILED, "out of memory")
                       : CLI_OK;
}

/* The folder has a session that runs: who wants nothing else is shown that one. The name belongs to another
 * folder: then it is not meant. */
static int use_existing(Coop *coop, const Options *options, const char *workspace, const char **ret_name) {
        const char *name = arena_str(&coop->arena, json_str(json_get(coop->reply.whole, "session"))).data;
        const char *other = name && *name ? workspace_of(coop, name) : NULL;

        if (!name || !*name)
                return coop_complain(coop);
        if (other && !is_same_folder(other, workspace)) {
                complain(CLI_FAILED, "new: there is a session %s already, for %s", name, other);
                advise("choose another name with --name, or attach to it: muster attach %s", name);
                return CLI_FAILED;
        }
        if (options->n_command || options->sandbox || options->once) {
                complain(CLI_FAILED, "new: session %s runs in this folder already; nothing was started",
                         name);
                advise("show it: muster attach %s    end it: muster kill %s", name, name);
                if (!options->name)
                        advise("another one beside it: muster new --name NAME …");
                return CLI_FAILED;
        }
        *ret_name = name;
        if (options->json)
                return print_existing(coop, name);
        advise("Session '%s' exists already in this folder", name);
        return CLI_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int complain_new(Coop *coop, const Options *options) {
        bool is_unsaid = !options->n_command && coop_was_refused(coop, CALL_E_SPAWN_FAILED);
        int r = coop_complain(coop);

        if (is_unsaid)
                advise("say what is to run: muster new -- COMMAND, or agent.command in the folder's "
                       "coop.toml");
        return r;
}

static int new_create(Coop *coop, const Options *options, const char *workspace, const char **ret_name,
                      bool *ret_is_old) {
        int r = ending_wait(coop, options->name, options->name ? NULL : workspace);

        if (!r)
                r = set_coopfile(coop, options);
        if (r)
                return r;
        coop_set_str(coop, "workspace", str_from(workspace));
        if (options->name)
                coop_set_str(coop, "name", str_from(options->name));
        coop_set_bool(coop, "detach", options->detach);
        coop_set_bool(coop, "beside", options->name != NULL);
        coop_set_bool(coop, "replace", true);
        r = set_env(coop, options);
        if (r)
                return r;
        r = coop_ask(coop, "create");
        if (r)
                return r;
        *ret_is_old = coop_was_refused(coop, CALL_E_SESSION_EXISTS);
        if (*ret_is_old)
                return use_existing(coop, options, workspace, ret_name);
        if (coop->reply.is_error)
                return complain_new(coop, options);
        *ret_name = arena_str(&coop->arena, json_str(json_get(coop->reply.result, "session"))).data;
        if (!*ret_name)
                return complain(CLI_FAILED, "out of memory");
        if (options->json)
                return coop_print(coop);
        fprint(options->detach ? stdout : stderr, "Session '%s' created\n", *ret_name);
        coop_tell_notes(coop);
        return CLI_OK;
}

static int new_attach(Coop *coop, Show *show) {
        int r = coop_choose(coop, show->name);

        if (!r)
                r = coop_refuse_itself(coop, 0);
        if (r)
                return r;
        r = show_ask(show);
        return r ? r : show_terminal(show);
}

int cmd_new(const Options *options) {
        const char *operand = options->n_operands ? options->operands[0] : NULL;
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        _cleanup_(freep) char *workspace = find_workspace(operand);
        Show show = {.coop = &coop};
        int r;

        if (!workspace && errno == ENOENT && operand && !strchr(operand, '/'))
                return complain(CLI_FAILED,
                                "new: %s: there is no such folder; for a name: muster new --name %s",
                                operand, operand);
        if (!workspace)
                return complain(CLI_FAILED, "new: %s: %s", operand ? operand : ".", strerror(errno));
        r = options_check_sandbox("new", options);
        if (r)
                return r;
        if (options->command && !options->n_command)
                return complain(CLI_USAGE, "new: there is no command behind --");
        if (options->json && !options->detach)
                return complain(CLI_USAGE, "new: --json needs -d: a terminal has no JSON form");
        coop.is_json = options->json;
        r = show_choose_keys(&show, options);
        if (!r)
                r = coop_begin(&coop, "new");
        if (!r)
                r = new_create(&coop, options, workspace, &show.name, &show.has_past);
        return r || options->detach ? r : new_attach(&coop, &show);
}
