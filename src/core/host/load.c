/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/load"

#include "core/host/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/host.h"
#include "core/host/load-file.h"

/* What was seen of one process last, and what has come together since the last coarse record. */
typedef struct LoadRow {
        struct LoadRow *next;
        uint64_t id;
        bool is_seen; /* by this look */
        int64_t cpu_ms, rss_kb;
        uint64_t n_bytes;
        uint64_t sum_cpu_ms, sum_bytes, most_rss_kb;
} LoadRow;

struct Load {
        Daemon *daemon;
        char *folder, *fine, *coarse;
        Timer look;
        LoadRow *rows;
        unsigned n_looks;           /* since the last coarse record */
        Buf fine_next, coarse_next; /* records that wait for the worker … */
        Buf fine_now, coarse_now;   /* … and those that it writes, while is_writing */
        bool is_writing, has_warned;
        int r; /* the worker's */
};

/* ---- one process ----------------------------------------------------------------------------- */

bool load_look(pid_t pid, int64_t *ret_cpu_ms, int64_t *ret_rss_kb) {
        char path[64], text[1024];
        unsigned long user = 0, system = 0;
        long pages = 0;
        const char *at;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        close_fd(fd);
        if (n <= 0)
                return false;
        text[n] = 0;
        at = strrchr(text, ')');
        if (!at || sscanf(at + 1,
                          " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u "
                          "%*u %ld",
                          &user, &system, &pages) != 3)
                return false;
        *ret_cpu_ms = (int64_t)((user + system) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
        *ret_rss_kb = pages * (sysconf(_SC_PAGESIZE) / 1024);
        return true;
}

static LoadRow *load_row(Load *self, uint64_t id) {
        LoadRow *row = self->rows;

        while (row && row->id != id)
                row = row->next;
        if (row)
                return row;
        row = calloc(1, sizeof(*row));
        if (!row)
                return NULL;
        row->id = id;
        row->rss_kb = -1; /* it is new: the first look is told */
        row->next = self->rows;
        self->rows = row;
        return row;
}

static uint32_t load_fit(uint64_t value) {
        return (uint32_t)MIN(value, (uint64_t)UINT32_MAX);
}

static void load_put(const Load *self, Buf *out, uint64_t id, uint64_t cpu_ms, uint64_t rss_kb,
                     uint64_t n_bytes) {
        LoadRecord record = {
                .id = id,
                .at_s = load_fit((uint64_t)MAX(loop_wall_us(self->daemon->loop) / 1000000, (int64_t)0)),
                .cpu_ms = load_fit(cpu_ms),
                .rss_kb = load_fit(rss_kb),
                .n_bytes = load_fit(n_bytes)};

        if (out->n < LOAD_RECORDS * sizeof(record)) /* a disk that hangs */
                (void)buf_append(out, &record, sizeof(record));
}

static void load_see(Load *self, Hosted *hosted) {
        uint64_t n_bytes = hosted->out.header ? ring_end(&hosted->out) : 0;
        LoadRow *row = load_row(self, strtoull(hosted->id, NULL, 16));
        int64_t cpu_ms = 0, rss_kb = 0;
        uint64_t more_cpu, more_bytes;

        if (!row || !load_look(hosted_agent_pid(hosted), &cpu_ms, &rss_kb))
                return;
        row->is_seen = true;
        more_cpu = cpu_ms > row->cpu_ms && row->rss_kb >= 0 ? (uint64_t)(cpu_ms - row->cpu_ms) : 0;
        more_bytes = n_bytes > row->n_bytes && row->rss_kb >= 0 ? n_bytes - row->n_bytes : 0;
        if (more_cpu || more_bytes || rss_kb != row->rss_kb)
                load_put(self, &self->fine_next, row->id, more_cpu, (uint64_t)rss_kb, more_bytes);
        row->sum_cpu_ms += more_cpu;
        row->sum_bytes += more_bytes;
        row->most_rss_kb = MAX(row->most_rss_kb, (uint64_t)rss_kb);
        row->cpu_ms = cpu_ms;
        row->rss_kb = rss_kb;
        row->n_bytes = n_bytes;
}

static void load_put_coarse(Load *self, LoadRow *row) {
        load_put(self, &self->coarse_next, row->id, row->sum_cpu_ms, row->most_rss_kb, row->sum_bytes);
        row->sum_cpu_ms = row->sum_bytes = row->most_rss_kb = 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void load_write(Load *self);

static int load_write_one(const char *path, const Buf *records) {
        return records->n ? load_file_append(path, (const LoadRecord *)(const void *)records->data,
                                             records->n / sizeof(LoadRecord))
                          : 0;
}

static void load_write_run(void *user) {
        Load *self = user;

        self->r = dir_make(self->folder, 0700);
        if (!self->r)
                self->r = load_write_one(self->fine, &self->fine_now);
        if (!self->r)
                self->r = load_write_one(self->coarse, &self->coarse_now);
}

static void load_write_done(void *user) {
        Load *self = user;

        self->is_writing = false;
        self->fine_now.n = self->coarse_now.n = 0;
        if (self->r && !self->has_warned)
                log_warning(&self->daemon->log, self->folder, "what processes use is not kept: %s",
                            strerror(-self->r));
        self->has_warned = self->r != 0;
        load_write(self);
}

static void load_write(Load *self) {
        Buf fine = self->fine_now, coarse = self->coarse_now;

        if (self->is_writing || (!self->fine_next.n && !self->coarse_next.n))
                return;
        self->fine_now = self->fine_next;
        self->coarse_now = self->coarse_next;
        self->fine_next = fine;
        self->coarse_next = coarse;
        self->is_writing = !loop_work(self->daemon->loop, load_write_run, load_write_done, self);
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* What is gone has a last coarse record. */
static void load_sweep(Load *self, bool is_coarse) {
        for (LoadRow **at = &self->rows, *row; (row = *at);) {
                if (is_coarse || !row->is_seen)
                        load_put_coarse(self, row);
                if (row->is_seen) {
                        at = &row->next;
                        continue;
                }
                *at = row->next;
                free(row);
        }
}

static void load_on_look(Timer *timer) {
        Load *self = container_of(timer, Load, look);
        bool is_running = false, is_coarse = ++self->n_looks >= LOAD_COARSE_S / LOAD_FINE_S;

        for (LoadRow *row = self->rows; row; row = row->next)
                row->is_seen = false;
        for (Hosted *h = self->daemon->host ? host_first(self->daemon->host) : NULL; h; h = h->next)
                if (h->state == HOSTED_RUNNING) {
                        is_running = true;
                        load_see(self, h);
                }
        load_sweep(self, is_coarse);
        if (is_coarse)
                self->n_looks = 0;
        load_write(self);
        if (is_running)
                (void)timer_set(&self->look, (int64_t)LOAD_FINE_S * 1000);
}

void load_wake(Load *load) {
        if (load && !timer_is_set(&load->look))
                (void)timer_set(&load->look, (int64_t)LOAD_FINE_S * 1000);
}

/* ---- life ------------------------------------------------------------------------------------ */

const char *load_path(const Load *load, bool is_fine) {
        return is_fine ? load->fine : load->coarse;
}

int load_new(Load **ret, Daemon *daemon) {
        Load *self = calloc(1, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        self->daemon = daemon;
        timer_init(&self->look, daemon->loop, load_on_look);
        self->folder = path_join(daemon->home, "load");
        self->fine = self->folder ? path_join(self->folder, "fine") : NULL;
        self->coarse = self->folder ? path_join(self->folder, "coarse") : NULL;
        if (!self->fine || !self->coarse) {
                load_free(self);
                return error_origin(-ENOMEM);
        }
        *ret = self;
        return 0;
}

Load *load_free(Load *load) {
        if (!load)
                return NULL;
        timer_clear(&load->look);
        for (LoadRow *row = load->rows, *next; row; row = next) {
                next = row->next;
                free(row);
        }
        buf_deinit(&load->fine_next);
        buf_deinit(&load->coarse_next);
        buf_deinit(&load->fine_now);
        buf_deinit(&load->coarse_now);
        free(load->folder);
        free(load->fine);
        free(load->coarse);
        free(load);
        return NULL;
}
