#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Load: what hosted processes used over time: processor time and memory of the first process of each (in a sandbox: of
 * the program), and the bytes that it printed. Not tokens (core/usage).
 *
 * Two files of one size each, <home>/load/fine and <home>/load/coarse, are rings of short records: one in LOAD_FINE_S for each
 * process of which something has changed, one in LOAD_COARSE_S for each that runs. The oldest are overwritten: with many
 * busy processes the past is shorter, nothing grows. Nothing of the past is in memory; a question reads a file on a worker.
 * A look costs one read of /proc per process, and is taken only while something runs; what it found is written by a worker, without
 * a sync: a kill of the daemon loses at most the last look, a power loss perhaps a minute. Owned by the Daemon.
 */
#include "core/daemon.h"

enum {
        LOAD_FINE_S = 10,
        LOAD_COARSE_S = 300,
        LOAD_FINE_DAYS = 1,
        LOAD_COARSE_DAYS = 30,
        LOAD_RECORDS = 400000,   /* of each file: 24 bytes each */
        LOAD_POINTS_MAX = 50000, /* of one answer */
        LOAD_SERIES_MAX = 500,
};

typedef struct Load Load;
typedef struct Hosted Hosted;

int load_new(Load **ret, Daemon *daemon);
Load *load_free(Load *load);
void load_wake(Load *load); /* something runs: looks are taken from now on. NULL: fine */
/* Reads /proc (never a disk): false when there is no such process. */
bool load_look(pid_t pid, int64_t *ret_cpu_ms, int64_t *ret_rss_kb);

/* A question, filled on the loop, run by a worker, read on the loop. */
typedef struct LoadPoint {
        int64_t at_s;
        uint64_t cpu_ms, rss_kb, n_bytes;
} LoadPoint;

typedef struct LoadSeries {
        uint64_t id;
        LoadPoint *points; /* in order of time */
        size_t n, n_max;
} LoadSeries;

typedef struct LoadQuestion {
        const char *path; /* load_path() */
        int64_t from_s, to_s, step_s;
        const uint64_t *ids; /* NULL: all */
        size_t n_ids;
        LoadSeries *series; /* out; load_question_deinit() */
        size_t n_series, n_points;
        bool is_cut;
        int r;
} LoadQuestion;

const char *load_path(const Load *load, bool is_fine);
void load_question_run(LoadQuestion *question); /* on a worker */
void load_question_deinit(LoadQuestion *question);
