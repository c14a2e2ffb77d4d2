/* SPDX-License-Identifier: MIT */
/*
 * tasks.json that another program wrote: the original, or an editor. Its tasks that we do not know, and
 * those that have ended there and not here, become lines of the history. A file that cannot be used is moved
 * aside, never overwritten: what is not JSON as tasks.json.damaged, one of a later version as
 * tasks.json.version-N.
 */
#define LOG_MODULE "tasks/store"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "tasks/project.h"
#include "tasks/queue/task-store.h"

enum { IMPORT_MAX = 1 << 30, IMPORT_LINES = 256, STORE_VERSION = 1 };

typedef struct TaskImport {
        TaskStore *store;
        void (*done)(TaskStore *store, int r);
        const char *path;
        TaskFileStamp stamp;
        Buf text;
        Arena arena;
        Json *document;
        const Json *next; /* record to be looked at */
        int64_t now_us;
        uint64_t n_taken;
        const char *wrong; /* why it cannot be used; NULL: it can */
        int64_t version;
        Buf lines; /* of the change under way, each with a newline */
        LedgerChange change;
        int r;
} TaskImport;

static void import_end(TaskImport *import, int r) {
        TaskStore *store = import->store;
        void (*done)(TaskStore *, int) = import->done;

        if (!r && import->n_taken)
                log_notice(&store->project->daemon->log, store->project->dir,
                           "tasks of another program taken in count=%llu",
                           (unsigned long long)import->n_taken);
        if (!r && !import->wrong)
                store->rows.header->json = import->stamp;
        store->rows.header->n_stable = store->rows.header->stable_bytes = 0;
        (void)task_rows_flush(&store->rows);
        store->is_dirty = import->n_taken || import->wrong;
        store->import = NULL;
        buf_deinit(&import->text);
        buf_deinit(&import->lines);
        arena_deinit(&import->arena);
        free(import);
        done(store, r);
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static void move_aside(const TaskImport *import) {
        char path[4096 + 64];

        if (import->version > STORE_VERSION)
                snprintf(path, sizeof(path), "%s.version-%lld", import->path, (long long)import->version);
        else
                snprintf(path, sizeof(path), "%s.damaged", import->path);
        (void)rename(import->path, path);
}

/* Whoever works in the project can put a device in its place, which has no end, or a hole of a terabyte. */
static int task_store_import_read(TaskImport *import) {
        _cleanup_(closep) int fd =
                open(import->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0 && errno == ENOENT)
                return FILE_E_MISSING;
        if (fd < 0 && errno != ELOOP)
                return error_origin(-errno);
        if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > IMPORT_MAX)
                return FILE_E_TOO_LARGE;
        return error_trace(file_read_fd(fd, IMPORT_MAX, &import->text));
}

static void task_store_import_run(void *user) {
        TaskImport *import = user;
        int r = task_store_import_read(import);

        if (r < 0) {
                import->r = r;
                return;
        }
        if (r ||
            json_parse(&import->arena, import->text.data, import->text.n, NULL, &import->document, NULL))
                import->wrong = "not JSON";
        else if (json_int64(json_get(import->document, "version"), &import->version) &&
                 import->version > STORE_VERSION)
                import->wrong = "of a later version";
        else if (!json_is(json_get(import->document, "tasks"), JSON_ARRAY))
                import->wrong = "without a list of tasks";
        if (import->wrong)
                move_aside(import);
        import->next = import->wrong ? NULL : json_first(json_get(import->document, "tasks"));
}

/* ---- on the loop ----------------------------------------------------------------------------- */

/* Nobody runs it any more: the contract's remedy for records that a crash left behind. */
static int fail_record(TaskImport *import, Json *record) {
        char now[TIME_TEXT_MAX];
        Arena *arena = &import->arena;
        int r = json_set(arena, record, STR("state"), json_new_str(arena, STR("failed")));

        time_format_ms(import->now_us, now);
        if (!r)
                r = json_set(arena, record, STR("error"), json_new_str(arena, STR("daemon restarted")));
        if (!r)
                r = json_set(arena, record, STR("completedAt"), json_new_str(arena, str_from(now)));
        if (!r)
                r = json_set(arena, record, STR("pid"), json_new(arena, JSON_NULL));
        return r;
}

static bool task_store_import_is_wanted(const TaskImport *import, const Json *record, TaskState *ret_state) {
        const TaskRows *rows = &import->store->rows;
        Str id = json_str(json_get(record, "id"));
        int64_t row = id.n ? task_rows_find(rows, id) : -1;

        if (!id.n || !json_get(record, "prompt") ||
            !task_state_from_name(json_str(json_get(record, "state")), ret_state))
                return false;
        return row < 0 ||
               (task_state_is_final(*ret_state) && !task_state_is_final((TaskState)rows->rows[row].state));
}

/* -EMSGSIZE, a record too large for the history, passes one over; it stays in the file that is moved aside.
 */
static int task_store_import_add_record(TaskImport *import, Json *record, TaskState state) {
        size_t from = import->lines.n;
        JsonWriter w = JSON_WRITER(&import->lines);
        int r = task_state_is_final(state) ? 0 : fail_record(import, record);

        if (r)
                return error_trace(r);
        task_line_begin(&w, "task.imported", import->now_us);
        jw_value(&w, record);
        task_line_end(&w);
        if (w.failed)
                return error_origin(-ENOMEM);
        r = ledger_change_line(&import->change, (Str){import->lines.data + from, import->lines.n - from});
        if (r == -EMSGSIZE || r == -EINVAL) {
                import->lines.n = from;
                return 0;
        }
        import->n_taken += !r;
        return r ? r : buf_append_str(&import->lines, STR("\n"));
}

static void take_some(TaskImport *import);

static void task_store_import_on_kept(LedgerChange *change, int r) {
        TaskImport *import = container_of(change, TaskImport, change);
        Str rest = buf_str(&import->lines);

        for (uint64_t i = 0; !r && i < change->n_lines; i++) {
                const char *end = memchr(rest.data, '\n', rest.n);
                size_t n = (size_t)(end - rest.data);
                task_store_apply(import->store, (Str){rest.data, n}, change->first + i);
                rest = (Str){rest.data + n + 1, rest.n - n - 1};
        }
        if (!r) {
                LedgerEntry last = ledger_entry(import->store->ledger, change->first + change->n_lines - 1);
                task_rows_cover(&import->store->rows, change->first + change->n_lines,
                                last.offset + last.n_bytes);
                take_some(import);
        } else
                import_end(import, r);
}

static void take_some(TaskImport *import) {
        uint64_t before = import->n_taken;
        TaskState state;
        int r = 0;

        import->lines.n = 0;
        ledger_change_init(&import->change, import->store->ledger, task_store_import_on_kept);
        for (; import->next && !r && import->n_taken - before < IMPORT_LINES;
             import->next = import->next->next)
                if (task_store_import_is_wanted(import, import->next, &state))
                        r = task_store_import_add_record(import, (Json *)import->next, state);
        if (!r && import->n_taken > before)
                r = ledger_change_commit(&import->change);
        else
                ledger_change_deinit(&import->change);
        if (r || import->n_taken == before)
                import_end(import, r);
}

static void task_store_import_read_done(void *user) {
        TaskImport *import = user;

        if (import->wrong)
                log_warning(&import->store->project->daemon->log, import->store->project->dir,
                            "tasks.json is %s: moved aside", import->wrong);
        if (import->r)
                import_end(import, import->r);
        else
                take_some(import);
}

void task_store_import(TaskStore *store, void (*done)(TaskStore *store, int r)) {
        TaskImport *import;
        TaskFileStamp stamp;

        if (!task_file_stamp(store->json_path, &stamp)) { /* gone, or never there: it will be written */
                store->rows.header->n_stable = store->rows.header->stable_bytes = 0;
                done(store, 0);
                return;
        }
        if (task_file_stamp_equal(&stamp, &store->rows.header->json)) {
                done(store, 0);
                return;
        }
        import = calloc(1, sizeof(*import));
        if (!import) {
                done(store, -ENOMEM);
                return;
        }
        *import = (TaskImport){.store = store,
                               .done = done,
                               .path = store->json_path,
                               .stamp = stamp,
                               .now_us = loop_wall_us(store->project->daemon->loop)};
        store->import = import;
        if (loop_work(store->project->daemon->loop, task_store_import_run, task_store_import_read_done,
                      import))
                import_end(import, -ENOMEM);
}
