/* SPDX-License-Identifier: MIT */
#include "sessions/coopfile/coopfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/toml.h"
#include "sessions/coopfile/coopfile-internal.h"

enum { TEXT_MAX = 1 << 20 };

static const char built_in[] = "[agent]\n"
                               "command = 'claude'\n"
                               "[sandbox]\n"
                               "login = true\n"
                               "[workspace]\n"
                               "mount = '.'\n"
                               "[network]\n"
                               "mode = 'host'\n"
                               "[session]\n"
                               "persist = ['.claude']\n"
                               "auto_restart = true\n"
                               "restart_delay_ms = 1000\n"
                               "restart_delay_max_ms = 60000\n"
                               "restart_limit = 3\n"
                               "size = 'last'\n"
                               "record = false\n"
                               "[input_filter]\n"
                               "ctrl_c_debounce_ms = 500\n";

/* layer has all but its text. */
static int merge_text(Layer *layer, Str text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        TomlFault fault = {0};
        Json *document;
        int r;

        if (text.n > TEXT_MAX)
                return layer_refuse_at(layer, 0, "longer than 1 MiB");
        r = toml_parse_text(&arena, text, &document, &fault);
        if (r == TOML_E_SYNTAX)
                return layer_refuse_at(layer, fault.line, fault.what);
        if (r)
                return error_fold(r);
        layer->text = text;
        return error_trace(layer_merge(layer, document));
}

/* Whether it is the machine that fails, and not this file. */
static bool is_exhausted(int error) {
        return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* Of the text that was read, or that is kept. */
static int coopfile_keep_text(char **kept, const Buf *text) {
        *kept = str_dup(buf_str(text));
        return *kept ? 0 : error_origin(-ENOMEM);
}

/* path NULL: there was no memory for it. kept: see CoopfileTexts; NULL: nobody wants it. */
static int merge_file(Layer *layer, const char *path, const CoopfileTexts *texts, char **kept) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        layer->name = path;
        if (texts && texts->is_kept)
                return *kept ? error_trace(merge_text(layer, str_from(*kept))) : 0;
        r = file_read(path, TEXT_MAX, &text);
        if (r == FILE_E_MISSING)
                return 0;
        if (r == FILE_E_TOO_LARGE)
                return layer_refuse_at(layer, 0, "longer than 1 MiB");
        if (is_exhausted(r))
                return error_trace(r);
        if (r)
                return layer_refuse_at(layer, 0, strerror(-r));
        if (kept) {
                r = coopfile_keep_text(kept, &text);
                if (r)
                        return error_trace(r);
        }
        return error_trace(merge_text(layer, buf_str(&text)));
}

static char *global_path(void) {
        const char *base = getenv("XDG_CONFIG_HOME");

        return base && base[0] == '/' ? path_join(base, "coop/default.toml")
                                      : path_expand("~/.config/coop/default.toml");
}

/* Whoever works in a folder that holds the user's own file can write that, too. */
static bool coopfile_is_below(const char *path, const char *folder) {
        _cleanup_(freep) char *real = path ? path_resolve(path) : NULL, *above = realpath(folder, NULL);
        size_t n = above ? strlen(above) : 0;

        return real && above && !strncmp(real, above, n) && (real[n] == '/' || n == 1);
}

static int merge_layer(Layer layer, const char *workspace, Str override, CoopfileTexts *texts) {
        _cleanup_(freep) char *path = NULL;

        switch (layer.which) {
        case COOPFILE_GLOBAL:
                path = global_path();
                layer.is_agents = coopfile_is_below(path, workspace);
                if (!layer.is_agents)
                        return error_trace(merge_file(&layer, path, NULL, NULL));
                return error_trace(merge_file(&layer, path, texts, texts ? &texts->everybody : NULL));
        case COOPFILE_PROJECT:
                path = path_join(workspace, "coop.toml");
                layer.is_agents = true;
                return error_trace(merge_file(&layer, path, texts, texts ? &texts->project : NULL));
        case COOPFILE_OVERRIDE: layer.name = "coopfile"; return error_trace(merge_text(&layer, override));
        case COOPFILE_BUILT_IN:
        default: layer.name = "built-in"; return error_fold(merge_text(&layer, str_from(built_in)));
        }
}

int coopfile_load(Coopfile *ret, const char *workspace, Str override, CoopfileTexts *texts, char *reterr,
                  size_t n_reterr) {
        _cleanup_(coopfile_deinit) Coopfile file = {0};
        int r;

        for (CoopfileLayer which = COOPFILE_BUILT_IN; which <= COOPFILE_OVERRIDE; which++) {
                Layer layer = {
                        .file = &file, .which = which, .item = -1, .reterr = reterr, .n_reterr = n_reterr};

                r = merge_layer(layer, workspace, override, texts);
                if (r)
                        return error_trace(r);
        }
        r = coopfile_expand(&file, workspace);
        if (r)
                return error_fold(r);
        *ret = file;
        file = (Coopfile){0};
        return 0;
}

void coopfile_texts_deinit(CoopfileTexts *texts) {
        free(texts->everybody);
        free(texts->project);
        *texts = (CoopfileTexts){0};
}

static bool text_eq(const char *a, const char *b) {
        return a && b ? !strcmp(a, b) : a == b;
}

bool coopfile_texts_eq(const CoopfileTexts *a, const CoopfileTexts *b) {
        return text_eq(a->everybody, b->everybody) && text_eq(a->project, b->project);
}

/* Variables as well: one that begins with $ takes a value of the host inside. What the file had instead goes
 * with held. */
void coopfile_hold(Coopfile *file, Coopfile *held) {
        const Coopfile own = *file;

        file->sandbox_mode = held->sandbox_mode;
        file->network = held->network;
        file->mounts = held->mounts;
        file->n_mounts = held->n_mounts;
        file->hide = held->hide;
        file->hide_is_said = held->hide_is_said;
        file->login = held->login;
        file->persist = held->persist;
        file->persist_is_said = held->persist_is_said;
        file->env = held->env;
        file->env_unset = held->env_unset;
        held->sandbox_mode = own.sandbox_mode;
        held->network = own.network;
        held->mounts = own.mounts;
        held->n_mounts = own.n_mounts;
        held->hide = own.hide;
        held->hide_is_said = own.hide_is_said;
        held->login = own.login;
        held->persist = own.persist;
        held->persist_is_said = own.persist_is_said;
        held->env = own.env;
        held->env_unset = own.env_unset;
}

static void lists_deinit(Coopfile *file) {
        for (size_t i = 0; i < file->n_mounts; i++) {
                free(file->mounts[i].host);
                free(file->mounts[i].inside);
        }
        for (size_t i = 0; i < file->n_packages; i++) {
                free(file->packages[i].manager);
                strvec_deinit(&file->packages[i].names);
        }
        for (size_t i = 0; i < file->n_block_sequences; i++)
                free(file->block_sequences[i].data);
        free(file->mounts);
        free(file->packages);
        free(file->block_sequences);
}

void coopfile_deinit(Coopfile *file) {
        char *texts[] = {file->command,      file->shell,           file->image,
                         file->user,         file->workspace_mount, file->workspace_path,
                         file->sandbox_mode, file->network,         file->size};
        StrVec *vecs[] = {&file->args,      &file->setup,   &file->env,
                          &file->env_unset, &file->persist, &file->hide};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                free(texts[i]);
        for (size_t i = 0; i < ARRAY_SIZE(vecs); i++)
                strvec_deinit(vecs[i]);
        lists_deinit(file);
        *file = (Coopfile){0};
}
