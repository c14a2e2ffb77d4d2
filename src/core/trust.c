/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/trust"

#include "core/trust.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/sha256.h"
#include "core/daemon.h"
#include "core/host/host.h"

#define TRUST_FOLDER_PREFIX "folder-"
#define TRUST_FILE_PREFIX   "file-"

enum { TRUST_NAME_DIGITS = 32, TRUST_RECORD_MAX = 8 << 20 };

/* A folder that a sandbox could write to, or a file that was accepted. */
typedef struct TrustEntry {
        struct TrustEntry *next;
        uint64_t number;
        char digest[SHA256_HEX_MAX]; /* files: of the accepted content */
        char path[];
} TrustEntry;

struct Trust {
        Daemon *daemon;
        char *dir;
        uint64_t number;     /* the greatest there is */
        uint64_t clean_upto; /* the greatest of a file */
        TrustEntry *folders, *files;
        size_t n_folders;
};

static TrustEntry *trust_find(TrustEntry *list, const char *path) {
        while (list && strcmp(list->path, path) != 0)
                list = list->next;
        return list;
}

static TrustEntry *trust_add(TrustEntry **list, const char *path) {
        size_t n = strlen(path) + 1;
        TrustEntry *entry = calloc(1, sizeof(*entry) + n);

        if (!entry)
                return NULL;
        memcpy(entry->path, path, n);
        entry->next = *list;
        *list = entry;
        return entry;
}

/* Named by a digest of what it is about: a path can be longer than a name. */
char *trust_place(const Trust *trust, const char *prefix, const char *path) {
        char digest[SHA256_HEX_MAX], name[64];

        if (sha256_hex(str_from(path), digest))
                return NULL;
        snprintf(name, sizeof(name), "%s%.*s", prefix, TRUST_NAME_DIGITS, digest);
        return path_join(trust->dir, name);
}

void trust_note_deinit(TrustNote *note) {
        free(note->path);
        buf_deinit(&note->text);
        *note = TRUST_NOTE_NULL;
}

int trust_note_write(const TrustNote *note) {
        return note->path ? error_trace(file_replace(note->path, buf_str(&note->text), 0600, FILE_DURABLE))
                          : 0;
}

/* A line of JSON; behind it the content, as it is. */
static int trust_note(const Trust *trust, const char *prefix, const TrustEntry *entry, const Str *content,
                      TrustNote *ret) {
        JsonWriter w = JSON_WRITER(&ret->text);

        ret->path = trust_place(trust, prefix, entry->path);
        jw_begin_object(&w);
        jw_field_int(&w, "version", 1);
        jw_field_cstr(&w, "path", entry->path);
        jw_field_uint(&w, "number", entry->number);
        if (content)
                jw_field_cstr(&w, "sha256", entry->digest);
        jw_end_object(&w);
        if (ret->path && !w.failed && !buf_append_str(&ret->text, STR("\n")) &&
            !buf_append_str(&ret->text, content ? *content : STR_NULL))
                return 0;
        trust_note_deinit(ret);
        return error_origin(-ENOMEM);
}

/* ---- what earlier daemons have left ----------------------------------------------------------- */

/* Condition: TRUST_E_NONE, there is none that can be read. */
static int trust_read_record(const char *path, Arena *arena, Buf *text, Json **ret, Str *ret_content) {
        const char *end;
        int r = file_read(path, TRUST_RECORD_MAX, text);
        size_t n;

        if (r == -ENOMEM)
                return error_trace(r);
        end = r ? NULL : memchr(text->data, '\n', text->n);
        if (!end)
                return TRUST_E_NONE;
        n = (size_t)(end - text->data);
        r = json_parse(arena, text->data, n, NULL, ret, NULL);
        if (r)
                return r < 0 ? error_trace(r) : TRUST_E_NONE;
        *ret_content = (Str){end + 1, text->n - n - 1};
        return 0;
}

static int trust_load_entry(Trust *trust, const char *name) {
        bool is_folder = !strncmp(name, TRUST_FOLDER_PREFIX, strlen(TRUST_FOLDER_PREFIX));
        bool is_file = !strncmp(name, TRUST_FILE_PREFIX, strlen(TRUST_FILE_PREFIX));
        _cleanup_(freep) char *record = path_join(trust->dir, name);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TrustEntry *entry;
        Json *json = NULL;
        int64_t number;
        Str path, content;
        int r;

        if (!is_folder && !is_file)
                return 0;
        if (!record)
                return error_origin(-ENOMEM);
        r = trust_read_record(record, &arena, &text, &json, &content);
        if (r == TRUST_E_NONE)
                log_warning(&trust->daemon->log, "trust", "cannot be read: %s", record);
        if (r)
                return r < 0 ? error_trace(r) : 0;
        path = arena_str(&arena, json_str(json_get(json, "path"))); /* with a NUL */
        if (!path.n || !json_int64(json_get(json, "number"), &number) || number < 0)
                return 0;
        entry = trust_add(is_folder ? &trust->folders : &trust->files, path.data);
        if (!entry)
                return error_origin(-ENOMEM);
        entry->number = (uint64_t)number;
        trust->n_folders += is_folder;
        trust->number = MAX(trust->number, entry->number);
        if (is_file) {
                trust->clean_upto = MAX(trust->clean_upto, entry->number);
                snprintf(entry->digest, sizeof(entry->digest), STR_FMT,
                         STR_ARG(json_str(json_get(json, "sha256"))));
        }
        return 0;
}

static int trust_load(Trust *trust) {
        struct dirent *entry;
        DIR *dir;
        int r = dir_make(trust->dir, 0700);

        if (r)
                return error_trace(r);
        dir = opendir(trust->dir);
        if (!dir)
                return error_origin(-errno);
        while (!r && (entry = readdir(dir)))
                r = trust_load_entry(trust, entry->d_name);
        closedir(dir);
        return error_trace(r);
}

int trust_open(Trust **ret, Daemon *daemon) {
        Trust *trust = calloc(1, sizeof(*trust));
        int r;

        if (!trust)
                return error_origin(-ENOMEM);
        trust->daemon = daemon;
        trust->dir = path_join(daemon->home, "trust");
        r = trust->dir ? trust_load(trust) : error_origin(-ENOMEM);
        if (r) {
                trust_free(trust);
                return error_trace(r);
        }
        *ret = trust;
        return 0;
}

static void trust_free_list(TrustEntry *list) {
        while (list) {
                TrustEntry *next = list->next;
                free(list);
                list = next;
        }
}

Trust *trust_free(Trust *trust) {
        if (!trust)
                return NULL;
        trust_free_list(trust->folders);
        trust_free_list(trust->files);
        free(trust->dir);
        free(trust);
        return NULL;
}

/* ---- folders ---------------------------------------------------------------------------------- */

static void trust_forget_oldest(Trust *trust) {
        TrustEntry **oldest = &trust->folders, *gone;
        _cleanup_(freep) char *record = NULL;

        for (TrustEntry **at = &trust->folders; *at; at = &(*at)->next)
                if ((*at)->number < (*oldest)->number)
                        oldest = at;
        gone = *oldest;
        if (!gone)
                return;
        *oldest = gone->next;
        trust->n_folders--;
        record = trust_place(trust, TRUST_FOLDER_PREFIX, gone->path);
        if (record)
                (void)unlink(record);
        free(gone);
}

int trust_expose(Trust *trust, const char *folder, TrustNote *ret) {
        TrustEntry *entry = trust_find(trust->folders, folder);

        *ret = TRUST_NOTE_NULL;
        if (entry && entry->number > trust->clean_upto)
                return 0; /* all that lies in it is exposed, and that is written down */
        if (!entry) {
                if (trust->n_folders >= TRUST_FOLDERS_MAX)
                        trust_forget_oldest(trust);
                entry = trust_add(&trust->folders, folder);
                if (!entry)
                        return error_origin(-ENOMEM);
                trust->n_folders++;
        }
        entry->number = ++trust->number;
        return error_trace(trust_note(trust, TRUST_FOLDER_PREFIX, entry, NULL, ret));
}

/* ---- files ------------------------------------------------------------------------------------ */

TrustMoment trust_moment(const Trust *trust) {
        return (TrustMoment){.number = trust->number, .is_quiet = !host_has_sandboxed(trust->daemon->host)};
}

static bool trust_is_exposed(const Trust *trust, const char *path, const char *real, uint64_t number) {
        for (const TrustEntry *folder = trust->folders; folder; folder = folder->next)
                if (folder->number > number &&
                    (path_is_within(path, folder->path) || (real && path_is_within(real, folder->path))))
                        return true;
        return false;
}

static int trust_digest(Str content, char out[SHA256_HEX_MAX]) {
        out[0] = 0; /* of what is not there */
        return content.data ? error_trace(sha256_hex(content, out)) : 0;
}

int trust_judge(const Trust *trust, const char *path, const char *real, Str content) {
        const TrustEntry *entry = trust_find(trust->files, path);
        char digest[SHA256_HEX_MAX];
        int r;

        if (!trust_is_exposed(trust, path, real, entry ? entry->number : 0))
                return 0;
        if (!entry)
                return content.data ? TRUST_E_HELD : 0;
        r = trust_digest(content, digest);
        if (r)
                return error_trace(r);
        return strcmp(digest, entry->digest) != 0 ? TRUST_E_HELD : 0;
}

int trust_accept(Trust *trust, const char *path, const char *real, TrustMoment moment, Str content,
                 TrustNote *ret) {
        TrustEntry *entry = trust_find(trust->files, path);
        uint64_t number = entry ? entry->number : 0;
        bool is_exposed = trust_is_exposed(trust, path, real, number);
        char digest[SHA256_HEX_MAX];
        int r = trust_digest(content, digest);

        *ret = TRUST_NOTE_NULL;
        if (r)
                return error_trace(r);
        if (entry && !strcmp(entry->digest, digest) && !(is_exposed && moment.is_quiet))
                return 0;
        if (!entry)
                entry = trust_add(&trust->files, path);
        if (!entry)
                return error_origin(-ENOMEM);
        memcpy(entry->digest, digest, sizeof(digest));
        if (!is_exposed || moment.is_quiet)
                entry->number = MAX(number, moment.number);
        trust->clean_upto = MAX(trust->clean_upto, entry->number);
        return error_trace(trust_note(trust, TRUST_FILE_PREFIX, entry, &content, ret));
}

bool trust_was_open(const Trust *trust, const char *path, const char *real) {
        return trust_is_exposed(trust, path, real, 0);
}

bool trust_wants_look(const Trust *trust, const char *path) {
        const TrustEntry *entry = trust_find(trust->files, path);

        return trust->folders && entry && !host_has_sandboxed(trust->daemon->host) &&
               trust_is_exposed(trust, path, NULL, entry->number);
}

int trust_read(const Trust *trust, const char *path, Buf *out) {
        _cleanup_(freep) char *record = trust_place(trust, TRUST_FILE_PREFIX, path);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        Str content;
        int r;

        if (!record)
                return error_origin(-ENOMEM);
        if (!trust_find(trust->files, path))
                return TRUST_E_NONE;
        r = trust_read_record(record, &arena, &text, &json, &content);
        return r ? r : error_trace(buf_append_str(out, content));
}
