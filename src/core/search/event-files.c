/* SPDX-License-Identifier: MIT */
#include "core/search/event-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/time.h"

/* ---- what is found --------------------------------------------------------------------------- */

static int event_compare(EventPlace a, EventPlace b) {
        if (a.ts_us != b.ts_us)
                return a.ts_us < b.ts_us ? -1 : 1;
        return (a.number > b.number) - (a.number < b.number);
}

static void event_hit_deinit(EventHit *hit) {
        free(hit->owner);
        free(hit->kind);
        free(hit->line);
        free(hit->part);
        *hit = (EventHit){0};
}

/* Whether there are enough that are younger. */
static bool event_is_too_old(const EventFiles *self, EventPlace place) {
        return self->n_hits == self->n_limit &&
               event_compare(place, self->hits[self->n_hits - 1].place) <= 0;
}

static void event_put(EventFiles *self, const EventHit *hit) {
        size_t i;

        if (self->n_hits == self->n_limit)
                event_hit_deinit(&self->hits[--self->n_hits]);
        for (i = self->n_hits++; i && event_compare(self->hits[i - 1].place, hit->place) < 0; i--)
                self->hits[i] = self->hits[i - 1];
        self->hits[i] = *hit;
}

/* The first text in the tree that fits; the words of a key are none. */
static bool event_tree_fits(Query *query, const Json *json, Str *ret_text, size_t *ret_at) {
        if (json_is(json, JSON_STRING)) {
                *ret_text = json_str(json);
                return query_fits(query, *ret_text, ret_at);
        }
        if (!json_is(json, JSON_OBJECT) && !json_is(json, JSON_ARRAY))
                return false;
        json_each (item, json)
                if (!(json_is(json, JSON_OBJECT) && str_is(json_key(item), "env")) &&
                    event_tree_fits(query, item, ret_text, ret_at))
                        return true;
        return false;
}

typedef struct EventCandidate {
        EventPlace place;
        const char *domain;
        Str owner, kind, line;
} EventCandidate;

static void event_take(EventFiles *self, const EventCandidate *found, const Json *json) {
        Str text = STR_NULL;
        size_t at = 0;
        EventHit hit = {.place = found->place, .domain = found->domain};

        if (event_compare(found->place, self->before) >= 0 || event_is_too_old(self, found->place) ||
            (self->kind.n && !str_eq(self->kind, found->kind)))
                return;
        if ((self->query.regex || self->query.words.n) && !event_tree_fits(&self->query, json, &text, &at))
                return;
        hit.owner = str_dup(found->owner);
        hit.kind = str_dup(found->kind);
        hit.line = found->line.n <= EVENTS_SHOWN_MAX ? str_dup(found->line) : NULL;
        hit.part = str_dup(query_part(text, at));
        if (hit.owner && hit.kind && hit.part) {
                event_put(self, &hit);
                return;
        }
        event_hit_deinit(&hit);
        self->r = error_origin(-ENOMEM);
}

/* ---- lines of files -------------------------------------------------------------------------- */

/* False: nothing that is older is wanted. */
static bool event_see_line(EventFiles *self, const EventFile *file, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        EventCandidate found = {.domain = file->domain, .owner = str_from(file->owner), .line = line};
        Json *json = NULL;

        if (!line.n || json_parse(&arena, line.data, line.n, NULL, &json, NULL) ||
            !json_is(json, JSON_OBJECT) || !time_parse(json_text_of(json, "ts"), &found.place.ts_us))
                return true;
        if (event_is_too_old(self, found.place))
                return false;
        found.kind = json_text_of(json, "kind");
        event_take(self, &found, json);
        return true;
}

/* The end of a line whose beginning was not read yet. */
static int event_prepend(EventFiles *self, Buf *rest, const char *bytes, size_t n) {
        Buf joined = BUF_NULL;

        if (n + rest->n > EVENTS_LINE_MAX) {
                self->is_cut = true;
                rest->n = 0;
                return 0;
        }
        if (buf_append(&joined, bytes, n) || buf_append_str(&joined, buf_str(rest))) {
                buf_deinit(&joined);
                return error_origin(-ENOMEM);
        }
        buf_deinit(rest);
        *rest = joined;
        return 0;
}

static bool event_see_block(EventFiles *self, const EventFile *file, const char *block, size_t n,
                            Buf *rest) {
        for (;;) {
                const char *newline = n ? memrchr(block, '\n', n) : NULL;
                size_t begin = newline ? (size_t)(newline - block) + 1 : 0;

                self->r = event_prepend(self, rest, block + begin, n - begin);
                if (self->r || !newline)
                        return !self->r;
                if (!event_see_line(self, file, buf_str(rest)) || query_is_spent(&self->query))
                        return false;
                rest->n = 0;
                n = begin - 1;
        }
}

static void event_scan(EventFiles *self, const EventFile *file, int fd, uint64_t end) {
        _cleanup_(buf_deinit) Buf rest = BUF_NULL;
        _cleanup_(freep) char *block = malloc(EVENTS_BLOCK);
        bool goes_on = block != NULL;

        while (goes_on && end && self->n_searched < EVENTS_BYTES) {
                size_t n = (size_t)MIN(end, (uint64_t)EVENTS_BLOCK);
                ssize_t got = pread(fd, block, n, (off_t)(end - n));

                if (got != (ssize_t)n)
                        return; /* it was cut meanwhile */
                end -= n;
                self->n_searched += n;
                goes_on = event_see_block(self, file, block, n, &rest);
        }
        if (goes_on && !end && rest.n)
                (void)event_see_line(self, file, buf_str(&rest));
        self->is_over = self->n_searched >= EVENTS_BYTES || query_is_spent(&self->query);
        self->is_cut |= self->is_over;
}

static int event_open(const EventFile *file, struct stat *st) {
        int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode)))
                fd = close_fd(fd);
        return fd;
}

/* ---- which files ----------------------------------------------------------------------------- */

int event_files_add(EventFiles *files, const char *domain, Str owner, Str path) {
        EventFile *more, file = {.domain = domain};

        if (files->n_files == EVENTS_FILES_MAX) {
                files->is_cut = true;
                return 0;
        }
        if (files->n_files == files->n_files_max) {
                size_t n = MAX(files->n_files_max * 2, (size_t)16);

                more = realloc(files->files, n * sizeof(*more));
                if (!more)
                        return error_origin(-ENOMEM);
                files->files = more;
                files->n_files_max = n;
        }
        file.owner = str_dup(owner);
        file.path = str_dup(path);
        if (file.owner && file.path) {
                files->files[files->n_files++] = file;
                return 0;
        }
        free(file.owner);
        free(file.path);
        return error_origin(-ENOMEM);
}

static void event_list_folder(EventFiles *self) {
        DIR *dir = self->folder ? opendir(self->folder) : NULL;
        const struct dirent *entry;

        while (dir && !self->r && (entry = readdir(dir))) {
                _cleanup_(buf_deinit) Buf path = BUF_NULL;

                if (entry->d_name[0] == '.')
                        continue;
                self->r = buf_printf(&path, "%s/%s/%s", self->folder, entry->d_name, self->folder_file);
                if (!self->r)
                        self->r = event_files_add(self, self->folder_domain, str_from(entry->d_name),
                                                  buf_str(&path));
        }
        if (dir)
                closedir(dir);
}

static void event_date(EventFile *file) {
        struct stat st;

        file->changed_us = lstat(file->path, &st) ? 0 : (int64_t)st.st_mtim.tv_sec * 1000000 + 999999;
}

static int event_compare_files(const void *a, const void *b) {
        const EventFile *x = a, *y = b;

        return (x->changed_us < y->changed_us) - (x->changed_us > y->changed_us);
}

/* ---- the search ------------------------------------------------------------------------------ */

static void event_see_texts(EventFiles *self) {
        for (size_t i = 0; i < self->n_texts && !self->r && !query_is_spent(&self->query); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                const EventText *text = &self->texts[i];
                EventCandidate found = {.place = text->place,
                                        .domain = text->domain,
                                        .owner = str_from(text->owner),
                                        .kind = str_from(text->kind),
                                        .line = text->text ? (Str){text->text->data, text->text->n}
                                                           : STR_NULL};
                Json *json = NULL;

                if (found.line.n && json_parse(&arena, found.line.data, found.line.n, NULL, &json, NULL))
                        continue;
                event_take(self, &found, json);
        }
}

/* The youngest first: when there are enough, older ones are not even opened. */
void event_files_run(EventFiles *self) {
        query_begin(&self->query);
        self->hits = calloc(self->n_limit, sizeof(*self->hits));
        self->r = self->hits ? 0 : error_origin(-ENOMEM);
        if (!self->r)
                event_see_texts(self);
        if (!self->r)
                event_list_folder(self);
        for (size_t i = 0; i < self->n_files; i++)
                event_date(&self->files[i]);
        if (self->n_files)
                qsort(self->files, self->n_files, sizeof(*self->files), event_compare_files);
        for (size_t i = 0; i < self->n_files && !self->r && !self->is_over; i++) {
                const EventFile *file = &self->files[i];
                struct stat st;
                _cleanup_(closep) int fd = -1;

                if (event_is_too_old(self, (EventPlace){.ts_us = file->changed_us}))
                        break;
                fd = event_open(file, &st);
                if (fd >= 0)
                        event_scan(self, file, fd, (uint64_t)st.st_size);
        }
        self->is_cut |= self->query.is_limited;
        query_end(&self->query);
}

void event_files_deinit(EventFiles *self) {
        for (size_t i = 0; i < self->n_hits; i++)
                event_hit_deinit(&self->hits[i]);
        for (size_t i = 0; i < self->n_files; i++) {
                free(self->files[i].owner);
                free(self->files[i].path);
        }
        for (size_t i = 0; i < self->n_texts; i++) {
                free(self->texts[i].owner);
                free(self->texts[i].kind);
                chunk_unref(self->texts[i].text);
        }
        free(self->hits);
        free(self->files);
        free(self->texts);
        free(self->folder);
        query_deinit(&self->query);
        *self = (EventFiles){0};
}
