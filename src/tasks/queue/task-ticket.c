/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/ticket"

#include "tasks/queue/task-ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "tasks/project.h"

enum { TICKET_FILE_MAX = 256 << 20 };

/* ---- lines ----------------------------------------------------------------------------------- */

static int ticket_line(const Task *task, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "task", task->id);
        jw_field_cstr(&w, "sha256", task->ticket);
        if (task->env.n)
                environment_write(&w, "env", &task->env);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(buf_append_str(out, STR("\n")));
}

static int ticket_line_gone(const Task *task, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "gone", task->id);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(buf_append_str(out, STR("\n")));
}

/* The whole file as it is to be. */
static int ticket_text(const TaskTickets *tickets, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r;

        jw_begin_object(&w);
        jw_field_int(&w, "version", 1);
        jw_field_cstr(&w, "project", tickets->project->dir);
        jw_end_object(&w);
        r = w.failed ? error_origin(-ENOMEM) : buf_append_str(out, STR("\n"));
        for (const Task *task = LIST_FIRST(&tickets->live); !r && task; task = LIST_NEXT(task, ticket_link))
                r = ticket_line(task, out);
        return error_trace(r);
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct TicketJob {
        TaskTickets *tickets;
        char *path;
        Buf text;
        Task *tasks; /* who waits for it */
        bool is_whole, is_synced;
        Deferred failed; /* before it came to a worker: told in a later turn all the same */
        int r;
} TicketJob;

static void ticket_flush(TaskTickets *tickets);

static int ticket_append(const TicketJob *job) {
        _cleanup_(closep) int fd = open(job->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
        Str rest = buf_str(&job->text);

        if (fd < 0)
                return error_origin(-errno);
        while (rest.n) {
                ssize_t n = write(fd, rest.data, rest.n);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_origin(-errno);
                rest = (Str){rest.data + n, rest.n - (size_t)n};
        }
        return job->is_synced && fdatasync(fd) ? error_origin(-errno) : 0;
}

static void ticket_job_run(void *user) {
        TicketJob *job = user;

        if (!job->is_whole)
                job->r = ticket_append(job);
        else if (job->text.n)
                job->r = file_replace(job->path, buf_str(&job->text), 0600,
                                      job->is_synced ? FILE_DURABLE : FILE_RUNTIME);
        else
                job->r = unlink(job->path) && errno != ENOENT ? error_origin(-errno) : 0;
}

/* What could not be written is in the next text, which is a whole one. */
static void ticket_failed(TaskTickets *tickets, int r) {
        tickets->has_file = false;
        log_warning(&tickets->project->daemon->log, tickets->project->dir,
                    "tickets of waiting tasks not written: %s", strerror(-r));
}

static void ticket_job_settle(TicketJob *job, int r) {
        TaskTickets *tickets = job->tickets;

        tickets->is_writing = false;
        tickets->has_file = !job->is_whole || job->text.n;
        if (r)
                ticket_failed(tickets, r);
        while (job->tasks) {
                Task *task = job->tasks;
                void (*done)(Task *, int) = steal(&task->ticketed);

                job->tasks = task->next_waiting;
                done(task, r);
        }
        free(job->path);
        buf_deinit(&job->text);
        free(job);
        ticket_flush(tickets);
}

static void ticket_job_done(void *user) {
        TicketJob *job = user;

        ticket_job_settle(job, job->r);
}

static void ticket_job_on_failed(Deferred *deferred) {
        TicketJob *job = container_of(deferred, TicketJob, failed);

        ticket_job_settle(job, job->r);
}

static int ticket_job_fill(TicketJob *job) {
        TaskTickets *tickets = job->tickets;
        int r = 0;

        job->is_whole = tickets->is_stale || !tickets->has_file;
        job->is_synced = tickets->wants_sync;
        if (job->is_whole && !LIST_EMPTY(&tickets->live))
                r = ticket_text(tickets, &job->text);
        else if (!job->is_whole)
                r = buf_append_str(&job->text, buf_str(&tickets->pending));
        job->path = r ? NULL : strdup(tickets->path);
        return r ? error_trace(r) : job->path ? 0 : error_origin(-ENOMEM);
}

static void ticket_begin(TaskTickets *tickets, TicketJob *job) {
        int r;

        job->tickets = tickets;
        while (tickets->waiting) { /* oldest first */
                Task *task = tickets->waiting;

                tickets->waiting = task->next_waiting;
                task->next_waiting = job->tasks;
                job->tasks = task;
        }
        tickets->is_writing = true;
        r = ticket_job_fill(job);
        tickets->n_dead = job->is_whole ? 0 : tickets->n_dead;
        tickets->is_stale = tickets->wants_sync = false;
        tickets->pending.n = 0;
        if (!r)
                r = loop_work(tickets->project->daemon->loop, ticket_job_run, ticket_job_done, job);
        if (r) {
                job->r = r;
                deferred_init(&job->failed, tickets->project->daemon->loop, ticket_job_on_failed);
                deferred_schedule(&job->failed);
        }
}

static void ticket_flush(TaskTickets *tickets) {
        void (*idle)(Project *);
        TicketJob *job;

        if (tickets->is_writing || tickets->n_beside)
                return;
        job = tickets->pending.n || tickets->is_stale ? calloc(1, sizeof(*job)) : NULL;
        if (job) {
                ticket_begin(tickets, job);
                return;
        }
        idle = steal(&tickets->idle);
        if (idle)
                idle(tickets->project);
}

void task_tickets_finish(Project *project, void (*idle)(Project *project)) {
        project->tickets.idle = idle;
        ticket_flush(&project->tickets);
}

/* ---- live ones ------------------------------------------------------------------------------- */

static void ticket_link(Task *task) {
        TaskTickets *tickets = &task->project->tickets;

        task->has_ticket = true;
        LIST_INSERT_HEAD(&tickets->live, task, ticket_link);
        tickets->n_env_bytes += task->n_ticket_env;
}

void task_ticket_forget(Task *task) {
        if (!task->has_ticket)
                return;
        LIST_REMOVE(task, ticket_link);
        task->has_ticket = false;
        task->project->tickets.n_env_bytes -= task->n_ticket_env;
}

/* Nothing is being written, and nothing has to be. */
static bool ticket_may_go_beside(const TaskTickets *tickets) {
        return tickets->has_file && !tickets->is_stale && !tickets->is_writing && !tickets->pending.n;
}

int task_ticket_put(Task *task, Str record, void (*done)(Task *task, int r)) {
        TaskTickets *tickets = &task->project->tickets;
        bool is_beside = done && ticket_may_go_beside(tickets);
        Buf *text = is_beside ? &task->ticket_text : &tickets->pending;
        size_t before = text->n;
        int r = record.data ? sha256_hex(record, task->ticket) : 0;

        if (!r)
                r = tickets->path ? ticket_line(task, text) : -ENOTSUP;
        if (r) {
                text->n = before;
                return error_trace(r);
        }
        task->n_ticket_env = task->env.n ? text->n - before : 0;
        ticket_link(task);
        if (is_beside) {
                tickets->n_beside++;
                return TASK_TICKET_E_BESIDE;
        }
        tickets->wants_sync |= task->env.n > 0;
        if (done) {
                task->ticketed = done;
                task->next_waiting = tickets->waiting;
                tickets->waiting = task;
        }
        ticket_flush(tickets);
        return 0;
}

/* The tickets of this change and of those behind it, in one piece. Until they are kept the loop only looks at
 * these tasks. */
static void ticket_append_together(LedgerChange *first) {
        TicketJob job = {.path = container_of(first, Task, change)->project->tickets.path};

        for (LedgerChange *change = first; change && !job.r; change = change->next)
                if (change->prepare == task_ticket_prepare) {
                        const Task *task = container_of(change, Task, change);

                        job.r = buf_append_str(&job.text, buf_str(&task->ticket_text));
                        job.is_synced |= task->env.n > 0;
                }
        if (!job.r)
                job.r = ticket_append(&job);
        for (LedgerChange *change = first; change; change = change->next)
                if (change->prepare == task_ticket_prepare) {
                        Task *task = container_of(change, Task, change);

                        task->is_ticketed = true;
                        task->ticket_r = job.r;
                }
        buf_deinit(&job.text);
}

int task_ticket_prepare(LedgerChange *change) {
        const Task *task = container_of(change, Task, change);

        if (!task->is_ticketed)
                ticket_append_together(change);
        return task->ticket_r;
}

void task_ticket_kept(Task *task) {
        TaskTickets *tickets = &task->project->tickets;

        if (!task->ticket_text.n)
                return;
        buf_deinit(&task->ticket_text);
        tickets->n_beside--;
        if (task->ticket_r)
                ticket_failed(tickets, task->ticket_r);
        ticket_flush(tickets);
}

/* Keys do not stay in the file longer than they are needed. */
void task_ticket_drop(Task *task) {
        TaskTickets *tickets = &task->project->tickets;

        if (!task->has_ticket)
                return;
        task_ticket_forget(task);
        tickets->n_dead++;
        if (task->n_ticket_env || LIST_EMPTY(&tickets->live) || tickets->n_dead > TICKET_DEAD_MAX ||
            ticket_line_gone(task, &tickets->pending))
                tickets->is_stale = true;
        ticket_flush(tickets);
}

void task_tickets_deinit(TaskTickets *tickets) {
        free(tickets->path);
        free(tickets->real);
        buf_deinit(&tickets->pending);
        *tickets = (TaskTickets){.project = tickets->project};
}

/* ---- what the last daemon left --------------------------------------------------------------- */

typedef struct TicketEntry {
        Str id, digest;
        const Json *env; /* NULL: none */
        size_t order;
        bool is_gone;
} TicketEntry;

typedef struct TicketBook {
        Project *project;
        void (*loaded)(Project *project);
        char *history, *real, *path;
        Arena arena;
        Buf text;
        TicketEntry *entries; /* by id; each id once */
        size_t n, n_claimed;
        int r;
} TicketBook;

static TicketBook *ticket_book_free(TicketBook *book) {
        if (!book)
                return NULL;
        free(book->history);
        free(book->real);
        free(book->path);
        free(book->entries);
        arena_deinit(&book->arena);
        buf_deinit(&book->text);
        free(book);
        return NULL;
}

static int ticket_compare_ids(const void *a, const void *b) {
        Str x = ((const TicketEntry *)a)->id, y = ((const TicketEntry *)b)->id;
        int r = memcmp(x.data, y.data, MIN(x.n, y.n));

        return r ? r : (x.n > y.n) - (x.n < y.n);
}

static int ticket_compare(const void *a, const void *b) {
        size_t x = ((const TicketEntry *)a)->order, y = ((const TicketEntry *)b)->order;
        int r = ticket_compare_ids(a, b);

        return r ? r : (x > y) - (x < y);
}

/* A line that a crash has cut, or that is none, is passed over. */
static void ticket_read_line(TicketBook *book, Str line) {
        TicketEntry *entry = &book->entries[book->n];
        Json *json = NULL;
        Str gone;

        if (json_parse(&book->arena, line.data, line.n, NULL, &json, NULL))
                return;
        gone = json_str(json_get(json, "gone"));
        *entry = (TicketEntry){.id = gone.n ? gone : json_str(json_get(json, "task")),
                               .digest = json_str(json_get(json, "sha256")),
                               .env = json_get(json, "env"),
                               .order = book->n,
                               .is_gone = gone.n};
        book->n += entry->id.n > 0;
}

static int ticket_read(TicketBook *book) {
        size_t n_lines = 0, n = 0;
        Str rest;
        int r = file_read(book->path, TICKET_FILE_MAX, &book->text);

        if (r)
                return r < 0 ? error_trace(r) : r == FILE_E_MISSING ? 0 : -EFBIG;
        rest = buf_str(&book->text);
        for (size_t i = 0; i < rest.n; i++)
                n_lines += rest.data[i] == '\n';
        book->entries = calloc(n_lines + 1, sizeof(*book->entries));
        if (!book->entries)
                return error_origin(-ENOMEM);
        for (const char *end; rest.n && (end = memchr(rest.data, '\n', rest.n));) {
                size_t n_line = (size_t)(end - rest.data);

                ticket_read_line(book, (Str){rest.data, n_line});
                rest = (Str){end + 1, rest.n - n_line - 1};
        }
        qsort(book->entries, book->n, sizeof(*book->entries), ticket_compare);
        for (size_t i = 0; i < book->n; i++) /* the last word counts */
                if (i + 1 == book->n || ticket_compare_ids(&book->entries[i], &book->entries[i + 1]) != 0)
                        book->entries[n++] = book->entries[i];
        book->n = n;
        return 0;
}

static void ticket_load_run(void *user) {
        TicketBook *book = user;

        book->real = path_resolve(book->history);
        book->path = book->real ? trust_place(book->project->daemon->trust, "queue-", book->real) : NULL;
        book->r = book->path ? ticket_read(book) : error_origin(-ENOMEM);
}

static void ticket_load_done(void *user) {
        TicketBook *book = user;
        Project *project = book->project;
        TaskTickets *tickets = &project->tickets;

        if (book->r)
                log_warning(&project->daemon->log, project->dir,
                            "tickets of waiting tasks cannot be read: %s: %s", book->path ? book->path : "-",
                            strerror(-book->r));
        task_tickets_deinit(tickets);
        tickets->real = steal(&book->real);
        tickets->path = steal(&book->path);
        tickets->book = book;
        book->loaded(project);
}

int task_tickets_load(Project *project, void (*loaded)(Project *project)) {
        TicketBook *book = calloc(1, sizeof(*book));
        int r = 0;

        if (!book)
                return error_origin(-ENOMEM);
        project->tickets.project = project;
        *book = (TicketBook){.project = project, .loaded = loaded};
        book->history = strdup(project->store.ledger_path);
        if (book->history)
                r = loop_work(project->daemon->loop, ticket_load_run, ticket_load_done, book);
        if (!book->history || r) {
                ticket_book_free(book);
                return error_origin(-ENOMEM);
        }
        return 0;
}

bool task_ticket_claim(Task *task, const char digest[SHA256_HEX_MAX]) {
        TicketBook *book = task->project->tickets.book;
        TicketEntry key = {.id = str_from(task->id)}, *entry;

        memcpy(task->ticket, digest, sizeof(task->ticket));
        if (!*digest)
                return false;
        entry = book && book->n && key.id.n
                        ? bsearch(&key, book->entries, book->n, sizeof(key), ticket_compare_ids)
                        : NULL;
        if (!entry || entry->is_gone || !str_is(entry->digest, task->ticket) ||
            environment_put_json(&task->env, entry->env))
                return false;
        if (task->env.n) {
                _cleanup_(buf_deinit) Buf line = BUF_NULL;

                (void)ticket_line(task, &line);
                task->n_ticket_env = line.n;
        }
        ticket_link(task);
        entry->is_gone = true; /* it is good for one */
        book->n_claimed++;
        return true;
}

void task_tickets_settle(Project *project) {
        TaskTickets *tickets = &project->tickets;
        TicketBook *book = steal(&tickets->book);

        if (!book)
                return;
        tickets->is_stale = book->n != book->n_claimed || book->r;
        tickets->wants_sync = tickets->n_env_bytes > 0;
        tickets->has_file = book->n > 0;
        ticket_book_free(book);
        ticket_flush(tickets);
}

bool task_tickets_are_needed(const Project *project) {
        return trust_was_open(project->daemon->trust, project->store.ledger_path, project->tickets.real);
}
