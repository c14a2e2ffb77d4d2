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
#include "tasks/queue/supervisor.h"
#include "tasks/queue/task-store.h"

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

/* One record: a line of the history, or one that is written from a copy. */
typedef struct Part {
        uint64_t offset;
        uint32_t n_bytes;
        bool is_final;
        TaskView *view; /* NULL, and no bytes: purged, not written */
} Part;

typedef struct JsonJob {
        const char *path, *ledger_path;
        ProjectFolder folder;
        char temp[PROJECT_FOLDER_MAX], target[PROJECT_FOLDER_MAX];
        bool is_durable;
        uint64_t n_stable, stable_bytes; /* before, then after */
        bool has_record;                 /* one stands before the next */
        Buf parts, out;
        Arena views; /* of the parts */
        char updated[TIME_TEXT_MAX];
        TaskFileStamp stamp; /* of the old file, then of the new one */
        LaneItems served;    /* told when it is written */
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

/* Condition: the line is no record any more, since somebody has overwritten it; nothing is appended then. */
enum { _TASK_STORE_JSON_E_SUCCESS, TASK_STORE_JSON_E_DAMAGED };

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
                return TASK_STORE_JSON_E_DAMAGED;
        }
        memmove(job->out.data + from, record.data, record.n);
        job->out.n = from + record.n;
        return 0;
}

static int append_view(JsonJob *job, const TaskView *view) {
        JsonWriter w = JSON_WRITER(&job->out);

        task_view_write(view, &w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static int put_part(JsonJob *job, int fd, int history, const Part *part) {
        size_t from = job->out.n;
        int r = 0;

        if (!part->view && !part->n_bytes)
                return 0;
        if (job->has_record)
                r = buf_append_str(&job->out, STR(",\n"));
        if (r)
                return error_trace(r);
        r = part->view ? append_view(job, part->view) : append_line(job, history, part);
        if (r == TASK_STORE_JSON_E_DAMAGED) {
                job->out.n = from;
                return 0;
        }
        job->has_record = true;
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
        size_t n = job->parts.n / sizeof(Part);
        bool is_stable = true;
        int r = history < 0 ? -errno : 0;

        for (size_t i = 0; i < n && !r; i++) {
                if (is_stable && !parts[i].is_final) {
                        is_stable = false;
                        note_stable(job, fd);
                }
                job->n_stable += is_stable;
                r = put_part(job, fd, history, &parts[i]);
        }
        if (is_stable)
                note_stable(job, fd);
        if (!r)
                r = buf_append_str(&job->out, STR("\n]}\n"));
        return error_trace(r ? r : flush_out(job, fd));
}

static int task_store_json_write_file(JsonJob *job) {
        _cleanup_(closep) int fd =
                open(job->temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        int r = fd < 0 ? -errno : task_store_json_put_head(job);

        if (!r && job->n_stable)
                r = copy_stable(job, fd);
        if (!r)
                r = put_records(job, fd);
        if (!r && job->is_durable && fsync(fd))
                r = -errno;
        if (!r && (!stamp_open(fd, &job->stamp) || rename(job->temp, job->target)))
                r = -errno;
        return error_trace(r);
}

static int task_store_json_write(JsonJob *job) {
        _cleanup_(closep) int from = project_folder_pin(&job->folder, ".tasks.json.tmp", job->temp),
                              to = project_folder_pin(&job->folder, "tasks.json", job->target);
        int r = from < 0 ? from : to;

        if (r < 0)
                return error_trace(r);
        r = task_store_json_write_file(job);
        if (r)
                (void)unlink(job->temp);
        return error_trace(r);
}

static void task_store_json_run(Lane *lane) {
        JsonJob *job = container_of(lane, TaskStore, writes)->writing;
        int64_t since = task_store_json_clock_us();

        job->r = task_store_json_write(job);
        job->cost_us = task_store_json_clock_us() - since;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void task_store_json_job_free(JsonJob *job) {
        buf_deinit(&job->parts);
        arena_deinit(&job->views);
        buf_deinit(&job->out);
        free(job);
}

/* Whoever is told may change tasks again, or close the store. */
static void task_store_json_serve(LaneItems *served) {
        LaneItem *item;

        while ((item = STAILQ_FIRST(served))) {
                TaskStoreWait *wait = container_of(item, TaskStoreWait, item);

                STAILQ_REMOVE_HEAD(served, next);
                wait->done(wait);
        }
}

static void task_store_json_done(Lane *lane) {
        TaskStore *store = container_of(lane, TaskStore, writes);
        JsonJob *job = steal(&store->writing);
        TaskRowsHeader *header = store->rows.header;
        LaneItems served = STAILQ_HEAD_INITIALIZER(served);
        int r = job->r;

        store->cost_us = job->cost_us;
        store->written_ms = loop_now_ms(store->project->daemon->loop);
        header->n_stable = r ? 0 : job->n_stable;
        header->stable_bytes = r ? 0 : job->stable_bytes;
        if (!r)
                header->json = job->stamp;
        (void)task_rows_flush(&store->rows);
        STAILQ_CONCAT(&served, &job->served);
        task_store_json_job_free(job);
        if (r == -ESTALE) /* somebody else wrote it meanwhile: all of it anew */
                store->is_dirty = true;
        else if (r)
                log_warning(&store->project->daemon->log, store->project->dir,
                            "tasks.json not written error=%d", -r);
        lane_over(lane);
        task_store_json_serve(&served);
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

        if (at->state == TASK_PURGED)
                return buf_append(&job->parts, &part, sizeof(part));
        if (task) {
                part.view = task_view_new(&job->views, task);
                if (!part.view)
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

        time_format_ms(loop_wall_us(store->project->daemon->loop), job->updated);
        for (uint64_t i = header->n_stable; i < header->n_rows && !r; i++)
                r = add_part(job, store, i);
        return r;
}

/* Without memory the next change tries again. */
static int task_store_json_start(TaskStore *store) {
        const TaskRowsHeader *header = store->rows.header;
        JsonJob *job = calloc(1, sizeof(*job));
        int r;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (JsonJob){.path = store->json_path,
                         .ledger_path = store->ledger_path,
                         .folder = store->project->folder,
                         .is_durable = store->is_last,
                         .n_stable = header->n_stable,
                         .stable_bytes = header->stable_bytes,
                         .stamp = header->json,
                         .served = STAILQ_HEAD_INITIALIZER(job->served)};
        store->writing = job;
        r = task_store_json_fill(job, store);
        if (!r)
                r = lane_work(&store->writes, task_store_json_run, task_store_json_done);
        if (r)
                task_store_json_job_free(steal(&store->writing));
        return error_trace(r);
}

static void task_store_json_begin(Lane *lane) {
        TaskStore *store = container_of(lane, TaskStore, writes);
        bool is_mending = ledger_is_mending(store->ledger); /* no line of it could be found */

        if (is_mending)
                (void)timer_set(&store->write_timer, WRITE_MENDING_MS);
        if (is_mending || task_store_json_start(store)) {
                lane_over(lane);
                return;
        }
        store->is_dirty = false;
        lane_take_all(lane, &store->writing->served);
}

const LaneType task_store_writes = {
        .begin = task_store_json_begin, .needs_kick = true, .n_max = LANE_WAITING_MAX};

void task_store_write(TaskStore *store) {
        lane_kick(&store->writes); /* the end of one that is under way comes back to what is dirty */
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
        return store->writes.n_waiting ? pause_ms : MAX(pause_ms, (int64_t)WRITE_LAZY_MS);
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
        bool does_wait = wait && may_wait_for(store, wait->is_end) && !lane_add(&store->writes, &wait->item);

        store->is_dirty = true;
        if (!store->writes.is_busy)
                task_store_json_set_timer(store);
        if (wait && !does_wait)
                wait->done(wait);
}
