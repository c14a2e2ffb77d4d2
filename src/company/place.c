/* SPDX-License-Identifier: MIT */
#include "company/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/macro.h"

const char *const place_folders[] = {"company",       "company/migrations",
                                     "org",           "org/teams",
                                     "org/agents",    "work",
                                     "work/projects", "inbox",
                                     "inbox/reviews", "inbox/help_requests",
                                     ".local",        NULL};
const char *const place_files[] = {PLACE_COMPANY, PLACE_POLICY, PLACE_MACHINE, NULL};

/* ---- paths ----------------------------------------------------------------------------------- */

/* One component of a path, that lists show (place_names()) and that stands on one line of a text. */
static bool place_takes(Str id) {
        if (!id_is_path_safe(id) || *id.data == '.')
                return false;
        for (size_t i = 0; i < id.n; i++)
                if ((unsigned char)id.data[i] < ' ' || id.data[i] == 0x7f)
                        return false;
        return true;
}

/* folder/id, and /name behind it unless that is empty. */
static const char *place_in(Arena *arena, const char *folder, Str id, const char *name) {
        if (!folder || !place_takes(id))
                return NULL;
        return arena_printf(arena, "%s/" STR_FMT "%s%s", folder, STR_ARG(id), *name ? "/" : "", name).data;
}

static const char *place_file(Arena *arena, const char *folder, Str id, const char *suffix) {
        if (!folder || !place_takes(id))
                return NULL;
        return arena_printf(arena, "%s/" STR_FMT "%s", folder, STR_ARG(id), suffix).data;
}

const char *place_agent(Arena *arena, Str agent_id, const char *name) {
        return place_in(arena, PLACE_AGENTS, agent_id, name);
}

const char *place_team(Arena *arena, Str team_id, const char *name) {
        return place_in(arena, PLACE_TEAMS, team_id, name);
}

const char *place_project(Arena *arena, Str project_id, const char *name) {
        return place_in(arena, PLACE_PROJECTS, project_id, name);
}

const char *place_run(Arena *arena, Str project_id, Str run_id, const char *name) {
        return place_in(arena, place_project(arena, project_id, "runs"), run_id, name);
}

Str place_run_of_project(Arena *arena, Str run_id, const char *name) {
        return str_from(place_in(arena, "runs", run_id, name));
}

const char *place_worktree(Arena *arena, Str project_id, Str task_id, Str run_id) {
        const char *project = place_in(arena, PLACE_WORKTREES, project_id, "");

        return place_in(arena, place_in(arena, project, task_id, ""), run_id, "");
}

const char *place_job(Arena *arena, Str project_id, Str job_id, const char *name) {
        return place_in(arena, place_project(arena, project_id, "jobs"), job_id, name);
}

const char *place_context_pack(Arena *arena, Str project_id, Str pack_id, const char *name) {
        return place_in(arena, place_project(arena, project_id, "context_packs"), pack_id, name);
}

const char *place_share_pack(Arena *arena, Str project_id, Str pack_id, const char *name) {
        return place_in(arena, place_project(arena, project_id, "share_packs"), pack_id, name);
}

const char *place_task(Arena *arena, Str project_id, Str task_id) {
        return place_file(arena, place_project(arena, project_id, "tasks"), task_id, ".md");
}

const char *place_artifact(Arena *arena, Str project_id, Str artifact_id, const char *suffix) {
        return place_file(arena, place_project(arena, project_id, "artifacts"), artifact_id, suffix);
}

const char *place_review(Arena *arena, Str review_id) {
        return place_file(arena, PLACE_REVIEWS, review_id, ".yaml");
}

const char *place_help_request(Arena *arena, Str help_id) {
        return place_file(arena, PLACE_HELP, help_id, ".md");
}

const char *place_comment(Arena *arena, Str comment_id) {
        return place_file(arena, PLACE_COMMENTS, comment_id, ".yaml");
}

const char *place_conversation(Arena *arena, Str project_id, Str conversation_id, bool is_home,
                               const char *name) {
        if (project_id.n)
                return place_in(arena, place_project(arena, project_id, "conversations"), conversation_id,
                                name);
        if (is_home)
                return place_in(arena, "inbox", STR("workspace_home"), name);
        return place_in(arena, "inbox/conversations", conversation_id, name);
}

/* ---- sessions -------------------------------------------------------------------------------- */

enum { PLACE_SESSION_MAX = 200 }; /* bytes of an encoded session_ref */

/* What a component of a URI may hold as it is. */
static bool place_is_plain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c && strchr("-_.!~*'()", c));
}

const char *place_session(Arena *arena, Str session_ref) {
        char text[PLACE_SESSION_MAX + 4];
        size_t n = 0;

        for (size_t i = 0; i < session_ref.n; i++) {
                char c = session_ref.data[i];

                if (n >= PLACE_SESSION_MAX)
                        return NULL;
                if (place_is_plain(c)) {
                        text[n++] = c;
                        continue;
                }
                text[n++] = '%';
                text[n++] = "0123456789ABCDEF"[(unsigned char)c >> 4];
                text[n++] = "0123456789ABCDEF"[(unsigned char)c & 15];
        }
        return n > PLACE_SESSION_MAX ? NULL : place_file(arena, PLACE_SESSIONS, (Str){text, n}, ".yaml");
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool place_is_folder(int folder, const struct dirent *entry) {
        struct stat st;

        if (entry->d_type != DT_UNKNOWN)
                return entry->d_type == DT_DIR;
        return !fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* The part of the name that counts; data NULL: none of those wanted. */
static Str place_wanted(int folder, const struct dirent *entry, const char *suffix) {
        Str name = str_from(entry->d_name), end = str_from(suffix ? suffix : "");
        bool is_folder;

        if (name.data[0] == '.' || name.n <= end.n)
                return STR_NULL;
        if (end.n && memcmp(name.data + name.n - end.n, end.data, end.n) != 0)
                return STR_NULL;
        is_folder = place_is_folder(folder, entry);
        return is_folder == !suffix ? (Str){name.data, name.n - end.n} : STR_NULL;
}

static int place_compare(const void *a, const void *b) {
        const Str *x = a, *y = b;
        int order = memcmp(x->data, y->data, MIN(x->n, y->n));

        return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int place_push(Arena *arena, StrList *list, size_t *cap, Str name) {
        if (list->n == PLACE_NAMES_MAX)
                return error_origin(-E2BIG);
        if (list->n == *cap) {
                size_t more = *cap ? *cap * 2 : 64;
                Str *items = arena_alloc(arena, more * sizeof(*items));

                if (!items)
                        return error_origin(-ENOMEM);
                if (list->n)
                        memcpy(items, list->items, list->n * sizeof(*items));
                list->items = items;
                *cap = more;
        }
        name = arena_str(arena, name);
        if (!name.data)
                return error_origin(-ENOMEM);
        list->items[list->n++] = name;
        return 0;
}

static int place_walk(Arena *arena, DIR *dir, const char *suffix, StrList *ret) {
        const struct dirent *entry;
        size_t cap = 0;
        int r = 0;

        while (!r && (errno = 0, entry = readdir(dir))) {
                Str name = place_wanted(dirfd(dir), entry, suffix);

                if (name.data)
                        r = place_push(arena, ret, &cap, name);
        }
        return r ? error_trace(r) : errno ? error_origin(-errno) : 0;
}

int place_names(Arena *arena, int root, const char *folder, const char *suffix, StrList *ret) {
        int fd = folder ? path_open_beneath(root, folder, O_RDONLY | O_DIRECTORY, 0) : -ENOENT, r;
        DIR *dir;

        *ret = (StrList){0};
        if (fd == -ENOENT || fd == -ENOTDIR)
                return 0;
        if (fd < 0)
                return error_trace(fd);
        dir = fdopendir(fd);
        if (!dir) {
                r = error_origin(-errno);
                close(fd);
                return r;
        }
        r = place_walk(arena, dir, suffix, ret);
        closedir(dir);
        if (!r && ret->n)
                qsort(ret->items, ret->n, sizeof(*ret->items), place_compare);
        return error_trace(r);
}

int place_look(int root, const char *path) {
        _cleanup_(closep) int fd = path ? path_open_beneath(root, path, O_PATH, 0) : -ENOENT;

        switch (fd) {
        case -EMFILE:
        case -ENFILE:
        case -ENOMEM:
        case -EIO: return fd;
        default: return fd < 0 ? FILE_E_MISSING : 0;
        }
}

/* What cannot be told properly is asked in a way that needs no descriptor, and minds no link on the way. */
bool place_has(int root, const char *path) {
        struct stat st;
        int r = place_look(root, path);

        return r < 0 ? !fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) : !r;
}

const char *place_owner(Arena *arena, const char *path, const char **ret_kind, Str *ret_id) {
        static const struct {
                Str folder;
                const char *document, *kind;
        } owners[] = {{STR(PLACE_PROJECTS "/"), "project.yaml", "Project"},
                      {STR(PLACE_AGENTS "/"), "agent.yaml", "Agent"},
                      {STR(PLACE_TEAMS "/"), "team.yaml", "Team"}};

        for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
                const char *id = path + owners[i].folder.n, *end;

                if (!str_starts(str_from(path), owners[i].folder))
                        continue;
                end = strchrnul(id, '/');
                *ret_id = (Str){id, (size_t)(end - id)};
                *ret_kind = owners[i].kind;
                return arena_printf(arena, "%.*s/%s", (int)(end - path), path, owners[i].document).data;
        }
        return NULL;
}
