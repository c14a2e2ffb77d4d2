#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * ProjectLog: .aiwg/daemon/daemon.log, the log that AIWG users know: one `[time] text` line per fact of
 * their project. It is not the log of musterd.
 *
 * Lines are collected and written on a worker, one writing at a time; the daemon waits for it when it stops.
 * When more than PROJECT_LOG_MAX bytes wait (a disk that does not take them), lines are lost, and the next
 * one says how many. Before a writing, a file over its limit becomes .log.1, .log.1 becomes .log.2, and so
 * on; nothing is kept beyond max_files. Embedded in its Project.
 */
#include "base/buf.h"
#include "base/macro.h"
#include "core/daemon.h"
#include "tasks/project-folder.h"

enum { PROJECT_LOG_MAX = 1 << 20 };

typedef struct ProjectLog {
        Daemon *daemon;
        const ProjectFolder *folder; /* borrowed */
        char *path;                  /* for people */
        Buf pending;
        uint64_t n_lost;
        int64_t max_bytes;
        unsigned max_files;
        bool is_open; /* before, lines are collected only: the file may be another daemon's */
        bool is_writing;
} ProjectLog;

int project_log_init(ProjectLog *log, Daemon *daemon, const ProjectFolder *folder, const char *path);
void project_log_deinit(ProjectLog *log);
void project_log_open(ProjectLog *log);
void project_log_limits(ProjectLog *log, double max_size_mb, double max_files);
void project_log_line(ProjectLog *log, const char *format, ...) _printf_(2, 3);
