/* SPDX-License-Identifier: MIT */
/*
 * Processes whose shim is gone. Everything that a hosted process starts has the folder's path in its
 * environment (HOST_MARK), so it can be told from all others by a name that is never used twice, whatever
 * became of its parents, group and session. What has washed its environment is not found; a cgroup or a
 * sandbox holds that.
 */
#define LOG_MODULE "core/host"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/host-internal.h"

enum {
        ENVIRON_MAX = 2 << 20, /* as much as exec takes */
        SWEEP_ROUNDS = 50,     /* those that fork while they are looked for are met again */
        LOST_MAX = 64,         /* reported; one more line says that there are others */
};

typedef struct Found {
        pid_t pid;
        uint64_t start;
        char id[17];
        char *object, *workspace;
} Found;

typedef struct Sweep {
        Host *host;
        char *cgroup; /* NULL: none */
        char *mark;   /* "MUSTER_HOSTED=<folder>", of one process or of all */
        bool is_all;  /* the folder of all of them: only looked at */
        StrVec known; /* ids in the table when it began: what ends meanwhile may still be seen, and is not
                         lost */
        Found found[LOST_MAX];
        size_t n_found, n_ended;
} Sweep;

/* ---- on a worker: looking -------------------------------------------------------------------- */

/* The value behind name= in an environment, or NULL. All of it ends with a zero. */
static const char *env_find(const Buf *env, const char *name) {
        size_t n = strlen(name);

        for (size_t at = 0; at < env->n; at += strlen(env->data + at) + 1)
                if (!strncmp(env->data + at, name, n) && env->data[at + n] == '=')
                        return env->data + at + n + 1;
        return NULL;
}

/* The mark of a process: what it has behind the mark that is looked for, or NULL. */
static const char *mark_of(const Sweep *sweep, const Buf *env) {
        size_t n = strlen(sweep->mark);

        for (size_t at = 0; at < env->n; at += strlen(env->data + at) + 1)
                if (!strncmp(env->data + at, sweep->mark, n))
                        return env->data + at + n;
        return NULL;
}

static int read_environ(const char *pid, Buf *ret) {
        char path[300];
        int r;

        snprintf(path, sizeof(path), "/proc/%s/environ", pid);
        r = file_read(path, ENVIRON_MAX, ret);
        return r ? -1 : buf_append(ret, "", 1);
}

static void host_sweep_note(Sweep *sweep, pid_t pid, const char *rest, const Buf *env) {
        const char *object = env_find(env, "COOP_SESSION"), *workspace = env_find(env, "COOP_WORKSPACE");
        Found *found = &sweep->found[sweep->n_found];

        if (*rest != '/' || strlen(rest + 1) != sizeof(found->id) - 1 || sweep->n_found == LOST_MAX)
                return;
        for (size_t i = 0; i < sweep->n_found; i++)
                if (!strcmp(sweep->found[i].id, rest + 1))
                        return; /* the lowest pid stands for all */
        *found = (Found){.pid = pid, .start = shim_start_time(pid)};
        memcpy(found->id, rest + 1, sizeof(found->id));
        found->object = strdup(object ? object : "unknown");
        found->workspace = strdup(workspace ? workspace : "unknown");
        sweep->n_found += found->object && found->workspace;
}

/* By descriptor, taken before the environment is read: the pid cannot have become another's in between. */
static bool end_marked(const Sweep *sweep, const char *name) {
        _cleanup_(buf_deinit) Buf env = BUF_NULL;
        _cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, atoi(name), 0);
        const char *rest;

        if (fd < 0 || read_environ(name, &env))
                return false;
        rest = mark_of(sweep, &env);
        return rest && !*rest && !syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

static bool host_sweep_look_at(Sweep *sweep, const char *name) {
        _cleanup_(buf_deinit) Buf env = BUF_NULL;
        const char *rest;

        if (!sweep->is_all)
                return end_marked(sweep, name);
        rest = read_environ(name, &env) ? NULL : mark_of(sweep, &env);
        if (rest)
                host_sweep_note(sweep, (pid_t)atoi(name), rest, &env);
        return false;
}

/* Returns how many were ended. */
static size_t walk(Sweep *sweep) {
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        struct stat st;
        size_t n = 0;

        while (dir && (entry = readdir(dir)))
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && atoi(entry->d_name) != getpid() &&
                    !fstatat(dirfd(dir), entry->d_name, &st, 0) && st.st_uid == geteuid())
                        n += host_sweep_look_at(sweep, entry->d_name);
        if (dir)
                closedir(dir);
        return n;
}

static void host_sweep_run(void *user) {
        Sweep *sweep = user;
        size_t n = 1;

        if (sweep->cgroup)
                cgroup_kill(sweep->cgroup);
        for (int i = 0; n && i < SWEEP_ROUNDS; i++) {
                n = walk(sweep);
                sweep->n_ended += n;
        }
}

/* ---- on the loop: telling -------------------------------------------------------------------- */

/* In the table, so that `ps` shows it; what it is called is what it says itself. */
static void add_lost(Host *host, const StrVec *known, Found *found) {
        Hosted *hosted;

        for (size_t i = 0; i < known->n; i++)
                if (!strcmp(known->items[i], found->id))
                        return;
        if (host_find(host, str_from(found->id)) || shim_start_time(found->pid) != found->start ||
            hosted_new(&hosted, host, found->id))
                return;
        hosted->owner = strdup("unknown");
        hosted->object = steal(&found->object);
        hosted->workspace = steal(&found->workspace);
        hosted->command = strdup("unknown");
        hosted->sandbox = strdup("unknown");
        hosted->meta = strdup("{}");
        hosted->pid = found->pid;
        hosted->state = HOSTED_LOST;
        hosted->state_since_us = loop_wall_us(host->daemon->loop);
        if (!hosted->owner || !hosted->command || !hosted->sandbox || !hosted->meta) {
                hosted_unlink_and_free(hosted);
                return;
        }
        log_warning(host_log(host), hosted->id,
                    "lost: object=%s pid=%d runs, but its folder is gone; it is left alone", hosted->object,
                    (int)hosted->pid);
}

static void sweep_free(Sweep *sweep) {
        for (size_t i = 0; i < sweep->n_found; i++) {
                free(sweep->found[i].object);
                free(sweep->found[i].workspace);
        }
        strvec_deinit(&sweep->known);
        free(sweep->mark);
        free(sweep->cgroup);
        free(sweep);
}

static void host_sweep_done(void *user) {
        Sweep *sweep = user;

        for (size_t i = 0; i < sweep->n_found; i++)
                add_lost(sweep->host, &sweep->known, &sweep->found[i]);
        if (sweep->n_found == LOST_MAX)
                log_warning(host_log(sweep->host), "host", "there may be more that are lost");
        if (sweep->n_ended)
                log_notice(host_log(sweep->host), "host", "ended what a shim left behind: n=%zu %s",
                           sweep->n_ended, sweep->mark);
        sweep_free(sweep);
}

static void host_sweep_begin(Host *host, const char *dir, const char *cgroup, bool is_all) {
        Sweep *sweep = calloc(1, sizeof(*sweep));

        if (!sweep)
                return;
        *sweep = (Sweep){.host = host, .is_all = is_all};
        if (asprintf(&sweep->mark, HOST_MARK "=%s", dir) < 0)
                sweep->mark = NULL;
        if (cgroup)
                sweep->cgroup = strdup(cgroup); /* without memory for it the marks remain */
        for (const Hosted *hosted = is_all ? host->first : NULL; hosted; hosted = hosted->next)
                (void)strvec_push(&sweep->known,
                                  hosted->id); /* without memory it may be told of one too many */
        if (!sweep->mark || loop_work_slow(host->daemon->loop, host_sweep_run, host_sweep_done, sweep)) {
                log_warning(host_log(host), "host", "cannot look for processes without a shim");
                sweep_free(sweep);
        }
}

void host_sweep(Hosted *hosted) {
        host_sweep_begin(hosted->host, hosted->dir, hosted->cgroup, false);
}

void host_look_for_lost(Host *host) {
        host_sweep_begin(host, host->dir, NULL, true);
}
