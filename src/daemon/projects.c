/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "daemon/projects"

#include "daemon/projects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/json/json.h"
#include "dialect/aiwg/aiwg.h"

enum { PROJECTS_MAX = 1 << 20 };

/* No word that anybody knows. */
static const char unreadable[] = "(projects.json cannot be read)";

struct ProjectWords {
        ProjectWords *next;
        char *dir, *sandbox, *network; /* NULL: not said */
};

/* ---- words ----------------------------------------------------------------------------------- */

static ProjectWords *words_free(ProjectWords *words) {
        if (!words)
                return NULL;
        free(words->dir);
        free(words->sandbox);
        free(words->network);
        free(words);
        return NULL;
}

static ProjectWords **words_at(Daemon *daemon, const char *dir) {
        ProjectWords **at = &daemon->project_words;

        while (*at && strcmp((*at)->dir, dir) != 0)
                at = &(*at)->next;
        return at;
}

void projects_forget(Daemon *daemon, const char *dir) {
        ProjectWords **at = words_at(daemon, dir), *words = *at;

        if (!words)
                return;
        *at = words->next;
        words_free(words);
}

void projects_free(Daemon *daemon) {
        while (daemon->project_words)
                projects_forget(daemon, daemon->project_words->dir);
}

static int words_set(char **word, const char *value) {
        char *copy = *value ? strdup(value) : NULL;

        if (*value && !copy)
                return error_origin(-ENOMEM);
        free(*word);
        *word = copy;
        return 0;
}

static int words_say(Daemon *daemon, const char *dir, const char *sandbox, const char *network) {
        ProjectWords **at = words_at(daemon, dir);
        int r = 0;

        if (!*at) {
                *at = calloc(1, sizeof(**at));
                if (!*at)
                        return error_origin(-ENOMEM);
                (*at)->dir = strdup(dir);
                if (!(*at)->dir) {
                        *at = words_free(*at);
                        return error_origin(-ENOMEM);
                }
        }
        if (sandbox)
                r = words_set(&(*at)->sandbox, sandbox);
        if (!r && network)
                r = words_set(&(*at)->network, network);
        return error_trace(r);
}

static int words_give(Daemon *daemon, Endpoint *endpoint) {
        const ProjectWords *words = *words_at(daemon, endpoint->where);

        return error_trace(endpoint_set_sandbox(endpoint, words ? words->sandbox : NULL,
                                                words ? words->network : NULL));
}

int projects_say(Daemon *daemon, Endpoint *endpoint, const char *sandbox, const char *network) {
        int r = sandbox || network ? words_say(daemon, endpoint->where, sandbox, network) : 0;

        return error_trace(r ? r : words_give(daemon, endpoint));
}

int projects_spread(Daemon *daemon) {
        int r = 0;

        for (Endpoint *e = daemon->endpoints; !r && e; e = e->next)
                if (e->type == &aiwg_endpoint)
                        r = words_give(daemon, e);
        return error_trace(r);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Copied: with a NUL, and not cut by one. What is there and no text is not known either. */
static const char *file_word(Arena *arena, const Json *object, const char *key) {
        const Json *value = json_get(object, key);
        Str word = arena_str(arena, json_str(value));

        if (!value)
                return NULL;
        return word.n && !memchr(word.data, 0, word.n) ? word.data : "(no text)";
}

static int read_words(Daemon *daemon, Arena *arena, const Json *sandboxes) {
        int r = 0;

        json_each (entry, sandboxes) {
                Str dir = arena_str(arena, json_key(entry));

                if (!r && dir.n && dir.data[0] == '/')
                        r = words_say(daemon, dir.data, file_word(arena, entry, "sandbox"),
                                      file_word(arena, entry, "network"));
        }
        return error_trace(r);
}

/* Whatever is served, and is not in the file, may have stood in it. */
static int distrust(Daemon *daemon, const char *path, int error) {
        int r = 0;

        log_err(&daemon->log, "-",
                "%s cannot be read: %s; no task is started before its sandbox is said again", path,
                strerror(error));
        for (const Endpoint *e = daemon->endpoints; !r && e; e = e->next)
                if (e->type == &aiwg_endpoint)
                        r = words_say(daemon, e->where, unreadable, NULL);
        return error_trace(r);
}

int projects_load(Daemon *daemon, const char *home, StrVec *ret) {
        _cleanup_(freep) char *path = path_join(home, "projects.json");
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int r = path ? file_read(path, PROJECTS_MAX, &text) : -ENOMEM;

        if (r == FILE_E_MISSING)
                return 0;
        if (r == -ENOMEM)
                return error_trace(r);
        if (!r && json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                r = -EINVAL;
        if (r)
                return error_trace(distrust(daemon, path, r < 0 ? -r : EFBIG));
        json_each (dir, json_get(json, "projects")) {
                Str name = arena_str(&arena, json_str(dir)); /* with a NUL */
                if (!r && name.n && name.data[0] == '/')
                        r = strvec_push(ret, name.data);
        }
        return error_trace(r ? r : read_words(daemon, &arena, json_get(json, "sandboxes")));
}

static void write_words(const Daemon *daemon, JsonWriter *w) {
        jw_key(w, "sandboxes");
        jw_begin_object(w);
        for (const ProjectWords *words = daemon->project_words; words; words = words->next) {
                if (!words->sandbox && !words->network)
                        continue;
                jw_key_str(w, str_from(words->dir));
                jw_begin_object(w);
                if (words->sandbox)
                        jw_field_cstr(w, "sandbox", words->sandbox);
                if (words->network)
                        jw_field_cstr(w, "network", words->network);
                jw_end_object(w);
        }
        jw_end_object(w);
}

int projects_text(const Daemon *daemon, Buf *ret) {
        JsonWriter w = JSON_WRITER(ret);

        jw_begin_object(&w);
        jw_field_int(&w, "version", 1);
        jw_key(&w, "projects");
        jw_begin_array(&w);
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->type == &aiwg_endpoint && e->is_kept && !e->is_removed)
                        jw_cstr(&w, e->where);
        jw_end_array(&w);
        if (daemon->project_words)
                write_words(daemon, &w);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* ---- endpoints ------------------------------------------------------------------------------- */

int projects_endpoint(Daemon *daemon, const char *dir, Endpoint **ret) {
        Endpoint **at = &daemon->endpoints;
        int r;

        for (; *at; at = &(*at)->next)
                if ((*at)->type == &aiwg_endpoint && !strcmp((*at)->where, dir)) {
                        *ret = *at;
                        return 0;
                }
        r = endpoint_new(at, daemon, &aiwg_endpoint, dir);
        *ret = *at;
        return error_trace(r);
}
