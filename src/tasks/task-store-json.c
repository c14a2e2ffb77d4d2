/* SPDX-License-Identifier: MIT */
/*
 * tasks.json: {version, updatedAt, tasks: [record...]} in order of creation, one record a line, replaced as
 * a whole. Records that have ended do not change any more: those at the beginning of the file are copied
 * from the old file by the kernel, the rest comes from the history and, for tasks that wait or run, from
 * memory.
 *
 * It is written as often as it takes a tenth of the time at most, and never later than a second after a
 * change. While writing it takes milliseconds, the end of a task is told after it is in the file; while it
 * has few tasks, so is everything, and it is written at once: the original's file is never behind its
 * answers.
 */
#define LOG_MODULE "tasks/store"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "tasks/project.h"
#include "tasks/supervisor.h"
#include "tasks/task-store.h"

enum {
        WRITE_SHARE = 10,       /* at most one part in so many of the time is spent on writing */
        WRITE_BEHIND_MS = 1000, /* and no change waits longer than this */
        WRITE_MENDING_MS = 50,  /* until it is looked again whether the history can be read */
        WRITE_LAZY_MS =
                400, /* what nobody waits for is written so much later: it shares the disk with commits */
        WAIT_COST_US = 3000, /* nobody waits for a file that takes longer … */
        FEW_TASKS = 64,
        FEW_COST_US = 50000, /* … or, while it has few tasks, for one that takes longer than this */
        OUT_MAX = 1 << 20,   /* written in pieces of this size */
};

/* One record: a line of the history, or a text made on the loop. */
typedef struct Part {
        uint64_t offset;
        uint32_t n_bytes;
        bool is_final;
        uint32_t n_text; /* > 0: so many bytes of texts; neither: purged, not written */
} Part;

typedef struct JsonJob {
        TaskStore *store;
        const char *path, *ledger_path;
        char *temp_path;
        bool is_durable;
        uint64_t n_stable, stable_bytes; /* before, then after */
        bool has_record;                 /* one stands before the next */
        Buf parts, texts, out;
        char updated[TIME_TEXT_MAX];
        TaskFileStamp stamp; /* of the old file, then of the new one */
        int64_t cost_us;
        int r;
} JsonJob;

static int64_t task_store_json_clock_us(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static TaskFileStamp stamp_of(const struct stat *st) {
        return (TaskFileStamp){.device = st->st_dev,
                               .inode = st->st_ino,
                               .n_bytes = (uint64_t)st->st_size,
                               .changed_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec};
}

bool task_file_stamp(const char *path, TaskFileStamp *ret) {
        struct stat st;

        if (stat(path, &st))
                return false;
        *ret = stamp_of(&st);
        return true;
}

static bool stamp_open(int fd, TaskFileStamp *ret) {
        struct stat st;

        if (fstat(fd, &st))
                return false;
        *ret = stamp_of(&st);
        return true;
}

bool task_file_stamp_equal(const TaskFileStamp *a, const TaskFileStamp *b) {
        return a->device == b->device && a->inode == b->inode && a->n_bytes == b->n_bytes &&
               a->changed_ns == b->changed_ns;
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static int flush_out(JsonJob *job, int fd) {
        size_t at = 0;

        while (at < job->out.n) {
                ssize_t n = write(fd, job->out.data + at, job->out.n - at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return error_origin(n < 0 ? -errno : -EIO);
                at += (size_t)n;
        }
        job->out.n = 0;
        return 0;
}

/* The head has always the same length, so the records behind it stay where they are. */
static int task_store_json_put_head(JsonJob *job) {
        return buf_printf(&job->out, "{\"version\":1,\"updatedAt\":\"%s\",\"tasks\":[\n", job->updated);
}

/* Copies what does not change any more; nothing of it when the old file is not ours. */
static int copy_stable(JsonJob *job, int fd) {
        _cleanup_(closep) int old = open(job->path, O_RDONLY | O_CLOEXEC);
        TaskFileStamp now;
        off_t from = (off_t)job->out.n;

        job->has_record = job->stable_bytes > (uint64_t)from;
        if (old < 0 || !stamp_open(old, &now) || !task_file_stamp_equal(&now, &job->stamp))
                return error_origin(-ESTALE);
        if (flush_out(job, fd))
                return error_origin(-EIO);
        while ((uint64_t)from < job->stable_bytes) {
                ssize_t n = copy_file_range(old, &from, fd, NULL, job->stable_bytes - (uint64_t)from, 0);
                if (n <= 0)
                        return error_origin(n < 0 ? -errno : -ESTALE);
        }
        return 0;
}

static int append_line(JsonJob *job, int history, const Part *part) {
        size_t from = job->out.n;
        Str record;

        if (buf_reserve(&job->out, part->n_bytes))
                return error_origin(-ENOMEM);
        if (pread(history, job->out.data + from, part->n_bytes, (off_t)part->offset) !=
            (ssize_t)part->n_bytes)
                return error_origin(-EIO);
        record = task_line_record((Str){job->out.data + from, part->n_bytes});
        if (!json_text_is_object(record)) {
                job->out.n = from;
                return error_trace(buf_append_str(&job->out, STR("{}")));
        }
        memmove(job->out.data + from, record.data, record.n);
        job->out.n = from + record.n;
        return 0;
}

static int put_part(JsonJob *job, int fd, int history, const Part *part, size_t *text_at) {
        int r = 0;

        if (!part->n_text && !part->n_bytes)
                return 0;
        if (job->has_record)
                r = buf_append_str(&job->out, STR(",\n"));
        job->has_record = true;
        if (r)
                return error_trace(r);
        if (part->n_text) {
                r = buf_append(&job->out, job->texts.data + *text_at, part->n_text);
                *text_at += part->n_text;
        } else
                r = append_line(job, history, part);
        if (!r && job->out.n > OUT_MAX)
                r = flush_out(job, fd);
        return error_trace(r);
}

static void note_stable(JsonJob *job, int fd) {
        job->stable_bytes = (uint64_t)lseek(fd, 0, SEEK_CUR) + job->out.n;
}

static int put_records(JsonJob *job, int fd) {
        _cleanup_(closep) int history = open(job->ledger_path, O_RDONLY | O_CLOEXEC);
        const Part *parts = (const Part *)job->parts.data;
        size_t n = job->parts.n / sizeof(Part), text_at = 0;
        bool is_stable = true;
        int r = history < 0 ? -errno : 0;

        for (size_t i = 0; i < n && !r; i++) {
                if (is_stable && !parts[i].is_final) {
                        is_stable = false;
                        note_stable(job, fd);
                }
                job->n_stable += is_stable;
                r = put_part(job, fd, history, &parts[i], &text_at);
        }
        if (is_stable)
                note_stable(job, fd);
        if (!r)
                r = buf_append_str(&job->out, STR("\n]}\n"));
        return error_trace(r ? r : flush_out(job, fd));
}

static int task_store_json_write_file(JsonJob *job) {
        _cleanup_(closep) int fd =
                open(job->temp_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        int r = fd < 0 ? -errno : task_store_json_put_head(job);

        if (!r && job->n_stable)
                r = copy_stable(job, fd);
        if (!r)
                r = put_records(job, fd);
        if (!r && job->is_durable && fsync(fd))
                r = -errno;
        if (!r && (!stamp_open(fd, &job->stamp) || rename(job->temp_path, job->path)))
                r = -errno;
        return error_trace(r);
}

static void task_store_json_run(void *user) {
        JsonJob *job = user;
        int64_t since = task_store_json_clock_us();

        job->r = task_store_json_write_file(job);
        job->cost_us = task_store_json_clock_us() - since;
        if (job->r)
                (void)unlink(job->temp_path);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void task_store_json_job_free(JsonJob *job) {
        buf_deinit(&job->parts);
        buf_deinit(&job->texts);
        buf_deinit(&job->out);
        free(job->temp_path);
        free(job);
}

/* In the order in which they came; the list is the other way round. */
static void serve(TaskStoreWait *newest) {
        TaskStoreWait *list = NULL;

        while (newest) {
                TaskStoreWait *next = newest->next;
                newest->next = list;
                list = newest;
                newest = next;
        }
        while (list) {
                TaskStoreWait *next = list->next;
                list->done(list);
                list = next;
        }
}

static void task_store_json_done(void *user) {
        JsonJob *job = user;
        TaskStore *store = job->store;
        TaskRowsHeader *header = store->rows.header;
        int r = job->r;

        store->is_writing = false;
        store->cost_us = job->cost_us;
        store->written_ms = loop_now_ms(store->project->daemon->loop);
        header->n_stable = r ? 0 : job->n_stable;
        header->stable_bytes = r ? 0 : job->stable_bytes;
        if (!r)
                header->json = job->stamp;
        (void)task_rows_flush(&store->rows);
        task_store_json_job_free(job);
        if (r == -ESTALE) /* somebody else wrote it meanwhile: all of it anew */
                store->is_dirty = true;
        else if (r)
                log_warning(&store->project->daemon->log, store->project->dir,
                            "tasks.json not written error=%d", -r);
        serve(steal(&store->served));
        if (store->is_dirty && store->ledger)
                task_store_changed(store, NULL);
}

/* A task whose record is not as its line in the history says: it has an agent, or an end that is not kept.
 * One that waits is as it was submitted, however long its prompt: that is copied by the worker. */
static const Task *find_changed(const TaskStore *store, uint64_t row) {
        const Task *task = supervisor_find_row(store->project, row);
        bool is_waiting = task && task->state == TASK_QUEUED && store->rows.rows[row].state == TASK_QUEUED;

        return is_waiting ? NULL : task;
}

static int add_part(JsonJob *job, const TaskStore *store, uint64_t row) {
        const TaskRow *at = &store->rows.rows[row];
        Part part = {.is_final = task_state_is_final((TaskState)at->state)};
        const Task *task = part.is_final ? NULL : find_changed(store, row);
        size_t before = job->texts.n;

        if (at->state == TASK_PURGED)
                return buf_append(&job->parts, &part, sizeof(part));
        if (task) {
                JsonWriter w = JSON_WRITER(&job->texts);
                task_write(task, &w);
                part.n_text = (uint32_t)(job->texts.n - before);
                if (w.failed)
                        return error_origin(-ENOMEM);
        } else {
                LedgerEntry entry = ledger_entry(store->ledger, at->position);
                part.offset = entry.offset;
                part.n_bytes = entry.n_bytes;
        }
        return buf_append(&job->parts, &part, sizeof(part));
}

static int task_store_json_fill(JsonJob *job, const TaskStore *store) {
        const TaskRowsHeader *header = store->rows.header;
        int r = 0;

        job->temp_path = path_join(store->project->daemon_dir, ".tasks.json.tmp");
        time_format_ms(loop_wall_us(store->project->daemon->loop), job->updated);
        if (!job->temp_path)
                return error_origin(-ENOMEM);
        for (uint64_t i = header->n_stable; i < header->n_rows && !r; i++)
                r = add_part(job, store, i);
        return r;
}

void task_store_write(TaskStore *store) {
        const TaskRowsHeader *header = store->rows.header;
        JsonJob *job = store->is_writing ? NULL : calloc(1, sizeof(*job));

        if (job && ledger_is_mending(store->ledger)) { /* no line of it could be found */
                free(job);
                (void)timer_set(&store->write_timer, WRITE_MENDING_MS);
                return;
        }
        if (!job)
                return; /* the end of the one under way comes back here; without memory the next change does
                         */
        *job = (JsonJob){.store = store,
                         .path = store->json_path,
                         .ledger_path = store->ledger_path,
                         .is_durable = store->is_last,
                         .n_stable = header->n_stable,
                         .stable_bytes = header->stable_bytes,
                         .stamp = header->json};
        if (task_store_json_fill(job, store) ||
            loop_work(store->project->daemon->loop, task_store_json_run, task_store_json_done, job)) {
                task_store_json_job_free(job);
                return;
        }
        store->is_dirty = false;
        store->is_writing = true;
        store->served = steal(&store->waiting);
}

static bool has_few(const TaskStore *store) {
        return task_store_total(store) <= FEW_TASKS && store->cost_us <= FEW_COST_US;
}

static int64_t delay_ms(const TaskStore *store) {
        int64_t pause_ms = store->cost_us * (WRITE_SHARE - 1) / 1000;
        int64_t since_ms = loop_now_ms(store->project->daemon->loop) - store->written_ms;

        if (store->is_last || has_few(store))
                return 0;
        pause_ms =
                MAX(MIN(pause_ms, (int64_t)WRITE_BEHIND_MS - store->cost_us / 1000) - since_ms, (int64_t)0);
        return store->waiting ? pause_ms : MAX(pause_ms, (int64_t)WRITE_LAZY_MS);
}

/* Later when it is not set; never later than it was. */
static void task_store_json_set_timer(TaskStore *store) {
        int64_t delay = delay_ms(store), now_ms = loop_now_ms(store->project->daemon->loop);

        if (!timer_is_set(&store->write_timer) || store->write_timer.due_ms > now_ms + delay)
                (void)timer_set(&store->write_timer, delay);
}

static bool may_wait_for(const TaskStore *store, bool is_end) {
        return has_few(store) || store->is_last || (is_end && store->cost_us <= WAIT_COST_US);
}

void task_store_changed(TaskStore *store, TaskStoreWait *wait) {
        bool may_wait = wait && may_wait_for(store, wait->is_end);

        store->is_dirty = true;
        if (may_wait) {
                wait->next = store->waiting;
                store->waiting = wait;
        }
        if (!store->is_writing)
                task_store_json_set_timer(store);
        if (wait && !may_wait)
                wait->done(wait);
}
