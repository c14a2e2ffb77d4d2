/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/daemon"

#include "core/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/record.h"

static void wake_listeners(void *user) {
        Daemon *daemon = user;

        for (Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->listener)
                        listener_wake(e->listener);
}

static bool has_clients(const Daemon *daemon) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (!LIST_EMPTY(&e->clients))
                        return true;
        return false;
}

static int64_t stop_clock_us(clockid_t clock) {
        struct timespec ts = {0};

        (void)clock_gettime(clock, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* A slow machine is waited for as long as workers come back, or one of them computes. One that hangs (a dead disk) is
 * not: nothing on the loop can wait for it. */
static bool stop_is_stuck(Daemon *daemon) {
        uint64_t done_before = daemon->n_stop_done;
        int64_t cpu_before = daemon->stop_cpu_us;

        daemon->n_stop_done = loop_n_done(daemon->loop);
        daemon->stop_cpu_us =
                stop_clock_us(CLOCK_PROCESS_CPUTIME_ID) - stop_clock_us(CLOCK_THREAD_CPUTIME_ID);
        return daemon->n_stop_limits > DAEMON_ABORTS ||
               (daemon->n_stop_limits > 1 && daemon->n_stop_done == done_before &&
                daemon->stop_cpu_us - cpu_before < DAEMON_BUSY_US);
}

static void on_stop_limit(Timer *timer) {
        Daemon *daemon = container_of(timer, Daemon, stop_limit);

        daemon->n_stop_limits++;
        if (stop_is_stuck(daemon)) {
                const char *left = loop_work_left(daemon->loop);

                log_err(&daemon->log, "-",
                        "something did not come to its end: leaving without it holds=%u clients=%s work=%u "
                        "oldest=%s",
                        (unsigned)daemon->n_stop_holds, has_clients(daemon) ? "yes" : "no",
                        (unsigned)loop_n_work(daemon->loop), left ? left : "-");
                _exit(EXIT_STATUS_INTERNAL);
        }
        (void)timer_set(timer, DAEMON_ABORT_MS);
        for (Endpoint *e = daemon->endpoints; e; e = e->next)
                for (Client *client = LIST_FIRST(&e->clients); client; client = LIST_NEXT(client, link))
                        conn_abort(client->conn, "did not take its last bytes");
        daemon_check_stopped(daemon);
}

static void on_stop_check(Deferred *deferred) {
        Daemon *daemon = container_of(deferred, Daemon, stop_check);

        if (!daemon->is_stopping || has_clients(daemon) || daemon->n_stop_holds)
                return;
        if (!loop_n_work(daemon->loop))
                loop_stop(daemon->loop);
        else
                (void)timer_set(&daemon->stop_again, 5); /* only workers are left: look again soon */
}

static void on_stop_again(Timer *timer) {
        daemon_check_stopped(container_of(timer, Daemon, stop_again));
}

int daemon_init(Daemon *daemon) {
        int r = loop_new(&daemon->loop, &daemon->log);

        if (r)
                return error_trace(r);
        daemon->lock_fd = -1;
        daemon->started_us = loop_wall_us(daemon->loop);
        daemon->started_ms = loop_now_ms(daemon->loop);
        turns_init(&daemon->turns, daemon->loop);
        daemon->shared = (ConnShared){
                .loop = daemon->loop, .turns = &daemon->turns, .fd_freed = wake_listeners, .user = daemon};
        daemon->shared.read_buffer = malloc(CONN_READ_MAX);
        daemon->accounts.max_conns = (size_t)daemon->config.max_connections;
        daemon->accounts.max_bytes = (size_t)daemon->config.max_queued_mb << 20;
        timer_init(&daemon->stop_limit, daemon->loop, on_stop_limit);
        timer_init(&daemon->stop_again, daemon->loop, on_stop_again);
        deferred_init(&daemon->stop_check, daemon->loop, on_stop_check);
        if (!daemon->shared.read_buffer)
                return error_origin(-ENOMEM);
        r = feed_new(&daemon->feed, daemon->loop, (size_t)daemon->config.feed_items);
        if (!r && daemon->config.record)
                r = recorder_new(&daemon->recorder, daemon->config.record);
        return error_trace(r);
}

void daemon_deinit(Daemon *daemon) {
        timer_clear(&daemon->stop_limit);
        timer_clear(&daemon->stop_again);
        deferred_cancel(&daemon->stop_check);
        turns_deinit(&daemon->turns);
        while (daemon->endpoints) {
                Endpoint *e = daemon->endpoints;
                daemon->endpoints = e->next;
                endpoint_free(e);
        }
        for (size_t i = 0; i < daemon->n_activated; i++)
                close_fd(daemon->activated[i].fd);
        free(daemon->activated);
        call_pool_deinit(daemon);
        arena_deinit(&daemon->envelope);
        accounts_deinit(&daemon->accounts);
        recorder_free(daemon->recorder);
        free(daemon->shared.read_buffer);
        strvec_deinit(&daemon->env);
        standstill_deinit(&daemon->standstill);
        free(daemon->home);
        free(daemon->state_home);
        close_fd(daemon->lock_fd);
        feed_free(daemon->feed);
        loop_free(daemon->loop);
}

int daemon_take_activated(Daemon *daemon, const char *name) {
        for (size_t i = 0; i < daemon->n_activated; i++)
                if (daemon->activated[i].fd >= 0 && !strcmp(daemon->activated[i].name, name)) {
                        return fcntl(daemon->activated[i].fd, F_DUPFD_CLOEXEC, 0);
                }
        return -1;
}

void daemon_serve(Daemon *daemon) {
        (void)loop_run(daemon->loop);
        while (loop_n_work(daemon->loop)) { /* behind the last look something began, in the same turn */
                daemon_check_stopped(daemon);
                (void)loop_run(daemon->loop);
        }
}

void daemon_stop(Daemon *daemon, const char *why) {
        if (daemon->is_stopping)
                return;
        log_notice(&daemon->log, "-", "stopping why=%s", why);
        daemon->is_stopping = true;
        daemon->n_stop_limits = 0;
        if (daemon->stopping)
                daemon->stopping(daemon);
        for (Endpoint *e = daemon->endpoints; e; e = e->next)
                endpoint_close(e);
        if (timer_set(&daemon->stop_limit, DAEMON_STOP_MS))
                loop_stop(daemon->loop);
        daemon_check_stopped(daemon);
}

void daemon_check_stopped(Daemon *daemon) {
        deferred_schedule(&daemon->stop_check);
}

int daemon_add_log(Daemon *daemon, const char *path, LogLevel level) {
        const Config *config = &daemon->config;
        struct stat st;

        if (!lstat(path, &st) && !S_ISREG(st.st_mode))
                return error_origin(-EINVAL);
        return log_add_file(&daemon->log, path, (uint64_t)config->log_max_kb << 10,
                            (unsigned)MIN(config->log_keep, (int64_t)1000), level, O_NOFOLLOW | O_NONBLOCK);
}

void daemon_hold_stop(Daemon *daemon) {
        daemon->n_stop_holds++;
}

void daemon_release_stop(Daemon *daemon) {
        daemon->n_stop_holds--;
        daemon_check_stopped(daemon);
}

static bool serves_contract(const Daemon *daemon) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->state == ENDPOINT_LISTENING && !e->type->is_beside &&
                    strcmp(e->type->name, "native") != 0)
                        return true;
        return false;
}

bool daemon_is_stand_in(const Daemon *daemon) {
        return daemon->config.only.n == 1;
}

void daemon_stop_endpoint(Daemon *daemon, Endpoint *endpoint, pid_t by, const char *how) {
        if (endpoint->state == ENDPOINT_LISTENING)
                endpoint_note(endpoint, by, "%s", how ? how : "a client stopped it");
        endpoint_close(endpoint);
        if (serves_contract(daemon))
                return;
        daemon->is_dismissed = true;
        daemon_stop(daemon, "the last contract was stopped");
}
