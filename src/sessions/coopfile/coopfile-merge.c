/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "sessions/coopfile/coopfile-internal.h"

/*
 * One layer over the ones below it: every table and key that a coopfile may have, in both schemas that are
 * about ([agent] and its neighbours, and all in [sandbox]). A key that is not in the table is an error: a
 * setting that is silently ignored would be worse than a session that does not start.
 */

#define FIELD(member) offsetof(Coopfile, member)

static const CoopfileKey keys[] = {
        {"agent", "command", apply_text, check_not_empty, FIELD(command), false},
        {"agent", "args", apply_list, NULL, FIELD(args), false},
        {"agent", "install", apply_commands, check_not_empty, FIELD(setup), true},
        {"base", "image", apply_text, check_not_empty, FIELD(image), false},
        {"setup", "run", apply_commands, check_not_empty, FIELD(setup), true},
        {"packages", NULL, apply_packages, check_not_empty, FIELD(packages), true},
        {"sandbox", "command", apply_text, check_not_empty, FIELD(command), false},
        {"sandbox", "agent", apply_text, check_not_empty, FIELD(command), false},
        {"sandbox", "args", apply_list, NULL, FIELD(args), false},
        {"sandbox", "setup", apply_list, check_not_empty, FIELD(setup), true},
        {"sandbox", "image", apply_text, check_not_empty, FIELD(image), false},
        {"sandbox", "user", apply_text, check_user, FIELD(user), false},
        {"sandbox", "mounts", apply_mounts, NULL, FIELD(mounts), true},
        {"sandbox", "shell", apply_text, check_not_empty, FIELD(shell), false},
        {"sandbox", "hide", apply_hide, check_hide, FIELD(hide), false},
        {"sandbox", "login", apply_login, NULL, FIELD(login), false},
        {"sandbox", "mode", apply_mode, check_mode, FIELD(sandbox_mode), false},
        {"workspace", "mount", apply_text, check_folder, FIELD(workspace_mount), false},
        {"workspace", "path", apply_text, check_inside, FIELD(workspace_path), false},
        {"env", NULL, apply_env, NULL, FIELD(env), true},
        {"network", "mode", apply_text, check_network, FIELD(network), false},
        {"session", "persist", apply_persist, check_persist, FIELD(persist), false},
        {"session", "auto_restart", apply_bool, NULL, FIELD(auto_restart), false},
        {"session", "end_on_success", apply_bool, NULL, FIELD(end_on_success), false},
        {"session", "restart_delay_ms", apply_ms, NULL, FIELD(restart_delay_ms), false},
        {"session", "restart_delay_max_ms", apply_ms, NULL, FIELD(restart_delay_max_ms), false},
        {"session", "restart_limit", apply_count, NULL, FIELD(restart_limit), false},
        {"session", "size", apply_text, check_size, FIELD(size), false},
        {"session", "record", apply_bool, NULL, FIELD(record), false},
        {"limits", "memory_max", apply_bytes, NULL, FIELD(memory_max), false},
        {"limits", "pids_max", apply_count, NULL, FIELD(pids_max), false},
        {"limits", "files_max", apply_count, NULL, FIELD(files_max), false},
        {"input_filter", "ctrl_c_debounce_ms", apply_ms, NULL, FIELD(ctrl_c_debounce_ms), false},
        {"input_filter", "block_sequences", apply_sequences, NULL, FIELD(block_sequences), true},
};

static bool is_table(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (str_is(name, keys[i].table))
                        return true;
        return false;
}

static const CoopfileKey *coopfile_merge_find_key(Str table, Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (str_is(table, keys[i].table) && (!keys[i].name || str_is(name, keys[i].name)))
                        return &keys[i];
        return NULL;
}

/* A key of the other schema, or an older name, that this document has too; NULL: none. */
static const CoopfileKey *find_rival(const Json *document, const CoopfileKey *key) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (&keys[i] != key && keys[i].offset == key->offset && !key->adds &&
                    json_get(json_get(document, keys[i].table), keys[i].name))
                        return &keys[i];
        return NULL;
}

static int merge_key(Layer *layer, const Json *document, const Json *value) {
        const CoopfileKey *key = coopfile_merge_find_key(layer->table, json_key(value)), *rival;

        layer->key = json_key(value);
        if (!key)
                return layer_refuse(layer, "no such key");
        rival = find_rival(document, key);
        if (rival)
                return layer_refuse(layer, "means the same as %s.%s, which is here too", rival->table,
                                    rival->name);
        return error_trace(key->apply(layer, key, value));
}

static int merge_table(Layer *layer, const Json *document, const Json *table) {
        layer->table = json_key(table);
        layer->key = STR_NULL;
        layer->item = -1;
        if (!is_table(layer->table))
                return layer_refuse(layer, "no such table");
        if (!json_is(table, JSON_OBJECT))
                return layer_refuse(layer, "a table is required");
        json_each (value, table) {
                int r = merge_key(layer, document, value);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

int layer_merge(Layer *layer, const Json *document) {
        json_each (table, document) {
                int r = merge_table(layer, document, table);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

/*
 * The last step, once all layers are there: what depends on the host (its home, its variables) is worked out
 * for the values that are left. A sandbox shows the home at the same path, so `~` means one thing on both
 * sides.
 */

/* `~` of the host, absolute, or below the workspace; NULL without memory. */
static char *coopfile_expand_host_path(const char *path, const char *workspace) {
        if (path[0] == '~' || path[0] == '/')
                return path_expand(path);
        while (path[0] == '.' && (path[1] == '/' || !path[1]))
                path += 1 + strspn(path + 1, "/");
        return path_join(workspace, path);
}

/* Takes value, which is NULL without memory. */
static int coopfile_expand_replace(char **field, char *value) {
        if (!value)
                return error_origin(-ENOMEM);
        free(*field);
        *field = value;
        return 0;
}

static char *volume_path(const char *name) {
        _cleanup_(freep) char *folder = path_expand("~/.coop/volumes");

        return folder ? path_join(folder, name) : NULL;
}

static int expand_mounts(Coopfile *file, const char *workspace) {
        for (size_t i = 0; i < file->n_mounts; i++) {
                Mount *mount = &file->mounts[i];
                int r = coopfile_expand_replace(
                        &mount->host, mount->is_volume ? volume_path(mount->host)
                                                       : coopfile_expand_host_path(mount->host, workspace));

                if (!r)
                        r = coopfile_expand_replace(&mount->inside, path_expand(mount->inside));
                if (r)
                        return error_trace(r);
        }
        return 0;
}

/* A value that begins with $ is a host variable as a whole, so what follows is its name whatever it holds. A
 * name that is not known may be a secret that happens to begin with $: only the key is told. */
static int expand_variable(Coopfile *file, char **entry) {
        char *equals = strchr(*entry, '='), *expanded = NULL;
        const char *value;
        int r = 0;

        if (equals[1] != '$')
                return 0;
        *equals = 0;
        value = getenv(equals + 2);
        if (!value)
                r = strvec_push(&file->env_unset, *entry);
        if (!r && asprintf(&expanded, "%s=%s", *entry, value ? value : "") < 0)
                expanded = NULL;
        return error_trace(r ? r : coopfile_expand_replace(entry, expanded));
}

static int expand_env(Coopfile *file) {
        for (size_t i = 0; i < file->env.n; i++) {
                int r = expand_variable(file, &file->env.items[i]);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

int coopfile_expand(Coopfile *file, const char *workspace) {
        int r;

        r = coopfile_expand_replace(&file->workspace_mount,
                                    coopfile_expand_host_path(file->workspace_mount, workspace));
        if (!r && file->workspace_path)
                r = coopfile_expand_replace(&file->workspace_path, path_expand(file->workspace_path));
        if (!r)
                r = expand_mounts(file, workspace);
        return error_trace(r ? r : expand_env(file));
}
