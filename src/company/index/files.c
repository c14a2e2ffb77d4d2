/* SPDX-License-Identifier: MIT */
/* The files that the index is made from: finding them, and what is remembered of each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "company/index/index-internal.h"
#include "company/place.h"

/* ---- the walk -------------------------------------------------------------------------------- */

enum { WALK_NAMES_MAX = 100000 }; /* entries of one folder; more is a failure */

static const IndexLeaf walk_of_root[] = {{"inbox", 0}, {"org", 0}, {"work", 0}, {".local", 0}, {NULL, 0}};
static const IndexLeaf walk_of_local[] = {{"sessions", 0}, {NULL, 0}};
static const IndexLeaf walk_of_inbox[] = {
        {"conversations", 0}, {"help_requests", 0}, {"reviews", 0}, {"workspace_home", 0}, {NULL, 0}};
static const IndexLeaf walk_of_remarks[] = {{"comments", 0}, {NULL, 0}};
static const IndexLeaf walk_of_org[] = {{"agents", 0}, {NULL, 0}};
static const IndexLeaf walk_of_work[] = {{"projects", 0}, {NULL, 0}};
static const IndexLeaf walk_of_project[] = {{"artifacts", 0}, {"conversations", 0}, {"jobs", 0},
                                            {"runs", 0},      {"tasks", 0},         {NULL, 0}};
static const IndexLeaf walk_agents[] = {{"agent.yaml", INDEX_KIND_AGENT}, {NULL, 0}};
static const IndexLeaf walk_artifacts[] = {{".md", INDEX_KIND_ARTIFACT}};
static const IndexLeaf walk_comments[] = {{".yaml", INDEX_KIND_COMMENT}};
static const IndexLeaf walk_conversations[] = {
        {"conversation.yaml", INDEX_KIND_CONVERSATION}, {"messages.jsonl", INDEX_KIND_MESSAGES}, {NULL, 0}};
static const IndexLeaf walk_helps[] = {{".md", INDEX_KIND_HELP}};
static const IndexLeaf walk_jobs[] = {{"job.yaml", INDEX_KIND_JOB}, {NULL, 0}};
static const IndexLeaf walk_reviews[] = {{".yaml", INDEX_KIND_REVIEW}};
static const IndexLeaf walk_runs[] = {
        {"run.yaml", INDEX_KIND_RUN}, {"events.jsonl", INDEX_KIND_EVENTS}, {NULL, 0}};
static const IndexLeaf walk_sessions[] = {{".yaml", INDEX_KIND_SESSION}};
static const IndexLeaf walk_tasks[] = {{".md", INDEX_KIND_TASK}};

typedef struct Walk {
        IndexWatch *watch; /* NULL: none */
        int (*found)(void *user, const IndexFile *file);
        void *user;
        Buf path;    /* of the folder or file that it is at */
        Str project; /* that it is in */
} Walk;

static int walk_compare(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static void walk_free_names(char **names, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(names[i]);
        free(names);
}

bool index_takes(const char *name, const char *suffix) {
        size_t n = strlen(name), n_suffix = suffix ? strlen(suffix) : 0;

        return name[0] != '.' && n > n_suffix && (!suffix || !strcmp(name + n - n_suffix, suffix));
}

/* Names in a folder, sorted. Takes the descriptor. */
static int walk_list(int fd, const char *suffix, char ***ret, size_t *ret_n) {
        DIR *dir = fdopendir(fd);
        char **names = NULL;
        size_t n = 0, n_room = 0;
        int r = 0;

        if (!dir) {
                close(fd);
                return error_origin(-ENOMEM);
        }
        for (struct dirent *entry; !r && (entry = readdir(dir));) {
                if (!index_takes(entry->d_name, suffix))
                        continue;
                if (n == n_room) {
                        char **more = realloc(names, (n_room = n_room ? 2 * n_room : 64) * sizeof(*names));

                        if (!more) {
                                r = error_origin(-ENOMEM);
                                break;
                        }
                        names = more;
                }
                if (n == WALK_NAMES_MAX)
                        r = error_origin(-E2BIG);
                else if (!(names[n] = strdup(entry->d_name)))
                        r = error_origin(-ENOMEM);
                else
                        n++;
        }
        closedir(dir);
        if (r) {
                walk_free_names(names, n);
                return r;
        }
        if (n)
                qsort(names, n, sizeof(*names), walk_compare);
        *ret = names;
        *ret_n = n;
        return 0;
}

static int walk_open(int at, const char *name) {
        return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool walk_identify(int at, const char *path, FileIdentity *ret) {
        const unsigned wants = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME;
        struct statx st;

        if (statx(at, path, AT_SYMLINK_NOFOLLOW, wants, &st) || !S_ISREG(st.stx_mode))
                return false;
        *ret = (FileIdentity){.ino = st.stx_ino,
                              .n_bytes = (int64_t)st.stx_size,
                              .mtime_ns = st.stx_mtime.tv_sec * 1000000000 + st.stx_mtime.tv_nsec,
                              .ctime_ns = st.stx_ctime.tv_sec * 1000000000 + st.stx_ctime.tv_nsec};
        return true;
}

bool index_identify(int root, const char *path, FileIdentity *ret) {
        return walk_identify(root, path, ret);
}

/* One file, if it is one; links and the like are not looked at. */
static int walk_file(Walk *walk, int at, IndexKind kind, Str name, const char *leaf) {
        const size_t mark = walk->path.n;
        IndexFile file = {.kind = kind, .project = walk->project, .name = name};
        int r;

        if (!walk_identify(at, leaf, &file.identity))
                return 0;
        if (buf_printf(&walk->path, "/%s", leaf) || !buf_cstr(&walk->path))
                return error_origin(-ENOMEM);
        file.path = buf_str(&walk->path);
        r = walk->found(walk->user, &file);
        walk->path.n = mark;
        return r;
}

/* Opens a folder and goes into it with the path; what stands in it is listed after it is watched. */
static int walk_enter(Walk *walk, int at, const char *folder, IndexFolder role, const IndexLeaf *leaves,
                      int *ret) {
        int fd = walk_open(at, folder);

        *ret = fd;
        if (fd < 0)
                return 0;
        if (buf_printf(&walk->path, "%s%s", walk->path.n ? "/" : "", folder)) {
                close(fd);
                return error_origin(-ENOMEM);
        }
        index_watch_add(walk->watch, fd, ".", buf_str(&walk->path), role, leaves);
        return 0;
}

/* Files of one kind in a folder: NAME.md. */
static int walk_files(Walk *walk, int at, const char *folder, const IndexLeaf *leaf) {
        const size_t mark = walk->path.n;
        char **names = NULL;
        size_t n = 0;
        int fd, r = walk_enter(walk, at, folder, INDEX_FOLDER_FILES, leaf, &fd);

        if (fd < 0 || r)
                return error_trace(r);
        r = walk_list(dup(fd), leaf->name, &names, &n);
        for (size_t i = 0; !r && i < n; i++)
                r = walk_file(walk, fd, leaf->kind, (Str){names[i], strlen(names[i]) - strlen(leaf->name)},
                              names[i]);
        walk->path.n = mark;
        walk_free_names(names, n);
        close(fd);
        return error_trace(r);
}

/* The files of one folder, by a path each: opening the folder would cost more than the looks. */
static int walk_pair(Walk *walk, int at, Str name, const IndexLeaf *leaves) {
        const size_t mark = walk->path.n;
        char path[512];
        int r = 0;

        if (name.n > 255 || mark < name.n)
                return 0;
        index_watch_add(walk->watch, at, name.data, buf_str(&walk->path), INDEX_FOLDER_PAIR, leaves);
        walk->path.n = mark - name.n - 1; /* walk_file() appends NAME/FILE */
        for (; !r && leaves->name; leaves++) {
                snprintf(path, sizeof(path), "%.*s/%s", (int)name.n, name.data, leaves->name);
                r = walk_file(walk, at, leaves->kind, name, path);
        }
        walk->path.n = mark;
        return r;
}

static int walk_project(Walk *walk, int at, Str name);

/* Folders below one, each with the same files: NAME/run.yaml, NAME/events.jsonl. Without leaves: projects. */
static int walk_folders(Walk *walk, int at, const char *folder, const IndexLeaf *leaves) {
        const size_t mark = walk->path.n;
        char **names = NULL;
        size_t n = 0, inner;
        int fd, r = walk_enter(walk, at, folder, leaves ? INDEX_FOLDER_PAIRS : INDEX_FOLDER_MANY, leaves,
                               &fd);

        if (fd < 0 || r)
                return error_trace(r);
        r = walk_list(dup(fd), NULL, &names, &n);
        inner = walk->path.n;
        for (size_t i = 0; !r && i < n; i++) {
                const Str name = str_from(names[i]);

                if (buf_printf(&walk->path, "/%s", names[i]))
                        r = error_origin(-ENOMEM);
                else
                        r = leaves ? walk_pair(walk, fd, name, leaves) : walk_project(walk, fd, name);
                walk->path.n = inner;
        }
        walk->path.n = mark;
        walk_free_names(names, n);
        close(fd);
        return error_trace(r);
}

static int walk_project(Walk *walk, int at, Str name) {
        int fd = walk_open(at, name.data), r;

        if (fd < 0)
                return 0;
        index_watch_add(walk->watch, fd, ".", buf_str(&walk->path), INDEX_FOLDER_PARTS, walk_of_project);
        walk->project = name;
        r = walk_files(walk, fd, "artifacts", walk_artifacts);
        if (!r)
                r = walk_folders(walk, fd, "conversations", walk_conversations);
        if (!r)
                r = walk_folders(walk, fd, "jobs", walk_jobs);
        if (!r)
                r = walk_folders(walk, fd, "runs", walk_runs);
        if (!r)
                r = walk_files(walk, fd, "tasks", walk_tasks);
        walk->project = STR_NULL;
        close(fd);
        return error_trace(r);
}

static int walk_home(Walk *walk, int root) {
        int fd = walk_open(root, "inbox"), r = 0;

        if (fd < 0)
                return 0;
        if (buf_append_str(&walk->path, STR("inbox/workspace_home")))
                r = error_origin(-ENOMEM);
        else
                r = walk_pair(walk, fd, STR("workspace_home"), walk_conversations);
        walk->path.n = 0;
        close(fd);
        return error_trace(r);
}

static int walk_tables(Walk *walk, int root) {
        int r;

        index_watch_add(walk->watch, root, ".", STR(""), INDEX_FOLDER_PARTS, walk_of_root);
        index_watch_add(walk->watch, root, ".local", STR(".local"), INDEX_FOLDER_PARTS, walk_of_local);
        index_watch_add(walk->watch, root, "inbox", STR("inbox"), INDEX_FOLDER_PARTS, walk_of_inbox);
        index_watch_add(walk->watch, root, "org", STR("org"), INDEX_FOLDER_PARTS, walk_of_org);
        index_watch_add(walk->watch, root, "work", STR("work"), INDEX_FOLDER_PARTS, walk_of_work);
        r = walk_files(walk, root, PLACE_SESSIONS, walk_sessions);
        if (!r)
                r = walk_folders(walk, root, "inbox/conversations", walk_conversations);
        if (!r)
                r = walk_files(walk, root, "inbox/help_requests", walk_helps);
        if (!r)
                r = walk_files(walk, root, "inbox/reviews", walk_reviews);
        if (!r)
                r = walk_home(walk, root);
        if (!r)
                r = walk_folders(walk, root, "org/agents", walk_agents);
        return r ? error_trace(r) : walk_folders(walk, root, PLACE_PROJECTS, NULL);
}

static int walk_remarks(Walk *walk, int root) {
        index_watch_add(walk->watch, root, ".", STR(""), INDEX_FOLDER_PARTS, walk_of_root);
        index_watch_add(walk->watch, root, "inbox", STR("inbox"), INDEX_FOLDER_PARTS, walk_of_remarks);
        return walk_files(walk, root, "inbox/comments", walk_comments);
}

int index_walk(int root, IndexArea area, IndexWatch *watch, int (*found)(void *user, const IndexFile *file),
               void *user) {
        Walk walk = {.watch = watch, .found = found, .user = user};
        int r = area == INDEX_AREA_TABLES ? walk_tables(&walk, root) : walk_remarks(&walk, root);

        buf_deinit(&walk.path);
        return error_trace(r);
}

/* ---- a file by its path ---------------------------------------------------------------------- */

static Str index_path_part(Str *rest) {
        const char *slash = memchr(rest->data, '/', rest->n);
        Str part = {rest->data, slash ? (size_t)(slash - rest->data) : rest->n};

        rest->data += part.n + (slash != NULL);
        rest->n -= part.n + (slash != NULL);
        return part;
}

static Str index_path_stem(Str name) {
        while (name.n && name.data[name.n - 1] != '.')
                name.n--;
        return (Str){name.data, name.n ? name.n - 1 : 0};
}

static bool index_file_of_project(Str rest, IndexFile *ret) {
        Str what;

        ret->project = index_path_part(&rest);
        what = index_path_part(&rest);
        ret->name = index_path_part(&rest);
        if (str_is(what, "artifacts") || str_is(what, "tasks")) {
                ret->kind = str_is(what, "tasks") ? INDEX_KIND_TASK : INDEX_KIND_ARTIFACT;
                ret->name = index_path_stem(ret->name);
        } else if (str_is(what, "runs"))
                ret->kind = str_is(rest, "run.yaml") ? INDEX_KIND_RUN : INDEX_KIND_EVENTS;
        else if (str_is(what, "conversations"))
                ret->kind = str_is(rest, "messages.jsonl") ? INDEX_KIND_MESSAGES : INDEX_KIND_CONVERSATION;
        else if (str_is(what, "jobs"))
                ret->kind = INDEX_KIND_JOB;
        else
                return false;
        return true;
}

IndexArea index_area_of(Str path) {
        return str_starts(path, STR("inbox/comments/")) ? INDEX_AREA_COMMENTS : INDEX_AREA_TABLES;
}

bool index_file_of(Str path, IndexFile *ret) {
        Str rest = path, top = index_path_part(&rest), what = index_path_part(&rest);

        *ret = (IndexFile){.path = path};
        if (str_is(top, "work"))
                return index_file_of_project(rest, ret);
        if (!str_is(what, "workspace_home"))
                ret->name = index_path_part(&rest);
        if (str_is(what, "agents"))
                ret->kind = INDEX_KIND_AGENT;
        else if (str_is(what, "comments") || str_is(what, "sessions")) {
                ret->kind = str_is(what, "comments") ? INDEX_KIND_COMMENT : INDEX_KIND_SESSION;
                ret->name = index_path_stem(ret->name);
        } else if (str_is(what, "reviews") || str_is(what, "help_requests")) {
                ret->kind = str_is(what, "reviews") ? INDEX_KIND_REVIEW : INDEX_KIND_HELP;
                ret->name = index_path_stem(ret->name);
        } else if (str_is(what, "workspace_home") || str_is(what, "conversations"))
                ret->kind = str_is(rest, "messages.jsonl") ? INDEX_KIND_MESSAGES : INDEX_KIND_CONVERSATION;
        else
                return false;
        return true;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static IndexEntry index_map_gone; /* stands where one was removed */

void index_map_deinit(IndexMap *map) {
        for (size_t i = 0; i < map->n_slots; i++)
                if (map->slots[i] != &index_map_gone)
                        free(map->slots[i]);
        free(map->slots);
        *map = (IndexMap){0};
}

static IndexEntry **index_map_slot(const IndexMap *map, Str path) {
        size_t at = hash_str(path) & (map->n_slots - 1);

        for (;; at = (at + 1) & (map->n_slots - 1)) {
                IndexEntry *entry = map->slots[at];

                if (!entry || (entry != &index_map_gone && str_eq(path, (Str){entry->path, entry->n_path})))
                        return &map->slots[at];
        }
}

IndexEntry *index_map_find(const IndexMap *map, Str path) {
        return map->n_slots ? *index_map_slot(map, path) : NULL;
}

static int index_map_grow(IndexMap *map) {
        IndexMap larger = {.n_slots = MAX((size_t)256, 4 * map->n)};

        while (larger.n_slots & (larger.n_slots - 1))
                larger.n_slots &= larger.n_slots - 1;
        larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
        if (!larger.slots)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < map->n_slots; i++) {
                IndexEntry *entry = map->slots[i];

                if (!entry || entry == &index_map_gone)
                        continue;
                *index_map_slot(&larger, (Str){entry->path, entry->n_path}) = entry;
                larger.n++;
        }
        larger.n_used = larger.n;
        free(map->slots);
        *map = larger;
        return 0;
}

IndexEntry *index_map_put(IndexMap *map, Str path) {
        IndexEntry **slot, *entry;

        if (2 * (map->n_used + 1) > map->n_slots && index_map_grow(map))
                return NULL;
        slot = index_map_slot(map, path);
        if (*slot)
                return *slot;
        entry = calloc(1, sizeof(*entry) + path.n + 1);
        if (!entry)
                return NULL;
        memcpy(entry->path, path.data, path.n);
        entry->n_path = (uint32_t)path.n;
        *slot = entry;
        map->n++;
        map->n_used++;
        return entry;
}

void index_map_remove(IndexMap *map, IndexEntry *entry) {
        *index_map_slot(map, (Str){entry->path, entry->n_path}) = &index_map_gone;
        map->n--;
        free(entry);
}

int index_map_load(Index *index, Sql *sql) {
        SqlStatement *rows = NULL;
        int r = sql_prepare(sql,
                            "SELECT path, inode, n_size, mtime_ns, ctime_ns, n_lines, n_bytes, tail "
                            "FROM muster_files",
                            &rows);

        while (!r && !(r = sql_step(rows))) {
                const Str path = sql_str(rows, 0);
                IndexEntry *entry = index_map_put(&index->parts[index_area_of(path)].map, path);

                if (!entry) {
                        (void)sql_finish(rows);
                        return error_origin(-ENOMEM);
                }
                entry->identity = (FileIdentity){.ino = (uint64_t)sql_int(rows, 1),
                                                 .n_bytes = sql_int(rows, 2),
                                                 .mtime_ns = sql_int(rows, 3),
                                                 .ctime_ns = sql_int(rows, 4)};
                entry->n_lines = (uint64_t)sql_int(rows, 5);
                entry->n_bytes = (uint64_t)sql_int(rows, 6);
                entry->tail = (uint64_t)sql_int(rows, 7);
        }
        return r == SQL_E_DONE ? 0 : r;
}
