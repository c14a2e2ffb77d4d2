/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/host"

#include "core/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/host-internal.h"
#include "core/recording/recording.h"

static const char *const state_names[] = {
        [HOSTED_STARTING] = "starting", [HOSTED_RUNNING] = "running", [HOSTED_ENDED] = "ended",
        [HOSTED_FAILED] = "failed",     [HOSTED_LOST] = "lost",       [HOSTED_FOREIGN] = "foreign",
};

const char *hosted_state_name(const Hosted *hosted) {
        bool is_told = hosted->is_killed || hosted->is_stopped;

        return is_told && hosted->state <= HOSTED_RUNNING ? "ending" : state_names[hosted->state];
}

Log *host_log(const Host *host) {
        return &host->daemon->log;
}

/* Where each event leads; a cell that says the same state again means "cannot happen, stays". */
static const HostedState transitions[][4] = {
        [HOSTED_STARTING] = {[HOSTED_EVENT_STARTED] = HOSTED_RUNNING,
                             [HOSTED_EVENT_ENDED] = HOSTED_ENDED,
                             [HOSTED_EVENT_FAILED] = HOSTED_FAILED,
                             [HOSTED_EVENT_LOST] = HOSTED_LOST},
        [HOSTED_RUNNING] = {[HOSTED_EVENT_STARTED] = HOSTED_RUNNING,
                            [HOSTED_EVENT_ENDED] = HOSTED_ENDED,
                            [HOSTED_EVENT_FAILED] = HOSTED_RUNNING,
                            [HOSTED_EVENT_LOST] = HOSTED_LOST},
        [HOSTED_ENDED] = {HOSTED_ENDED, HOSTED_ENDED, HOSTED_ENDED, HOSTED_ENDED},
        [HOSTED_FAILED] = {HOSTED_FAILED, HOSTED_FAILED, HOSTED_FAILED, HOSTED_FAILED},
        [HOSTED_LOST] = {HOSTED_LOST, HOSTED_LOST, HOSTED_LOST, HOSTED_LOST},
        [HOSTED_FOREIGN] = {HOSTED_FOREIGN, HOSTED_FOREIGN, HOSTED_FOREIGN, HOSTED_FOREIGN},
};

static bool is_live(const Hosted *hosted) {
        return hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING;
}

static void check_all_ended(Host *host) {
        void (*done)(void *user) = host->all_ended;

        for (Hosted *hosted = host->first; hosted; hosted = hosted->next)
                if (is_live(hosted))
                        return;
        host->all_ended = NULL;
        if (done)
                done(host->all_ended_user);
}

/* With what has changed; the rest is what `ps` says. */
void host_announce(const Hosted *hosted, const char *kind) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        jw_begin_object(&w);
        jw_field_cstr(&w, "id", hosted->id);
        jw_field_cstr(&w, "owner", hosted->owner);
        jw_field_cstr(&w, "object", hosted->object);
        jw_field_int(&w, "pid", hosted->pid);
        jw_field_bool(&w, "adopted", hosted->is_adopted);
        if (hosted->state == HOSTED_ENDED)
                jw_field_int(&w, "exit_code", hosted_exit_code(hosted));
        if (hosted->modes.n_title)
                jw_field_str(&w, "title", (Str){hosted->modes.title, hosted->modes.n_title});
        jw_field_bool(&w, "is_recorded", hosted->recording != NULL);
        if (hosted->report) {
                jw_key(&w, "report");
                jw_raw(&w, str_from(hosted->report));
        }
        jw_end_object(&w);
        feed_place(&place, "host", str_from(hosted->id), str_from(kind), FEED_NOWHERE);
        (void)feed_push(hosted->host->daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
}

int host_report(Hosted *hosted, Str json) {
        char *copy = str_dup(json);

        if (!copy)
                return error_origin(-ENOMEM);
        free(hosted->report);
        hosted->report = copy;
        host_announce(hosted, "report");
        return 0;
}

HostedState hosted_state_after(HostedState state, HostedEvent event) {
        return transitions[state][event];
}

void hosted_set_state(Hosted *hosted, HostedEvent event) {
        HostedState next = hosted_state_after(hosted->state, event);

        if (next == hosted->state)
                return;
        log_notice(host_log(hosted->host), hosted->id, "%s → %s owner=%s object=%s pid=%d",
                   state_names[hosted->state], state_names[next], hosted->owner, hosted->object,
                   (int)hosted->pid);
        hosted->state = next;
        hosted->state_since_us = loop_wall_us(hosted->host->daemon->loop);
        host_announce(hosted, state_names[hosted->state]);
        if (hosted->host->watch)
                hosted->host->watch->changed(hosted, hosted->host->watch_user);
        check_all_ended(hosted->host);
}

void host_end_all(Host *host, int grace_ms, void (*done)(void *user), void *user) {
        host->all_ended = done;
        host->all_ended_user = user;
        for (Hosted *hosted = host->first; hosted; hosted = hosted->next)
                if (is_live(hosted))
                        host_discard(hosted, grace_ms);
        check_all_ended(host);
}

int host_new(Host **ret, Daemon *daemon) {
        _cleanup_(freep) char *recordings = NULL;
        Host *host = calloc(1, sizeof(*host));
        int r;

        if (!host)
                return error_origin(-ENOMEM);
        host->daemon = daemon;
        host->dir = path_join(daemon->home, "host");
        r = host->dir ? dir_make(host->dir, 0700) : -ENOMEM;
        recordings = path_join(daemon->home, "recordings"); /* there before a sandbox is to cover it */
        if (!r)
                r = recordings ? dir_make(recordings, 0700) : -ENOMEM;
        if (!r && cgroups_open(&host->cgroups, daemon->config.cgroup))
                log_warning(&daemon->log, "host",
                            "cannot use the cgroup %s: no folder of cgroup2 that we may write",
                            daemon->config.cgroup ? daemon->config.cgroup : "that was delegated");
        if (host->cgroups.folder)
                log_notice(&daemon->log, "host", "cgroup=%s memory=%s pids=%s", host->cgroups.folder,
                           host->cgroups.has_memory ? "yes" : "no", host->cgroups.has_pids ? "yes" : "no");
        if (r) {
                host_free(host);
                return error_trace(r);
        }
        *ret = host;
        return 0;
}

Host *host_free(Host *host) {
        if (!host)
                return NULL;
        while (host->first)
                hosted_unlink_and_free(host->first);
        host_remove_spares(host);
        free(host->dir);
        cgroups_deinit(&host->cgroups);
        free(host);
        return NULL;
}

void host_watch(Host *host, const HostWatch *watch, void *user) {
        host->watch = watch;
        host->watch_user = user;
}

Hosted *host_first(Host *host) {
        return host->first;
}

Hosted *host_find(Host *host, Str id) {
        for (Hosted *h = host->first; h; h = h->next)
                if (str_is(id, h->id))
                        return h;
        return NULL;
}

/* ---- one of them ----------------------------------------------------------------------------- */

static void on_settle(Deferred *deferred) {
        Hosted *hosted = container_of(deferred, Hosted, settle);

        hosted_check_end(hosted);
}

int hosted_new(Hosted **ret, Host *host, const char *id) {
        Hosted *hosted = calloc(1, sizeof(*hosted)), **end = &host->first;

        if (!hosted)
                return error_origin(-ENOMEM);
        hosted->host = host;
        hosted->fd_in = hosted->fd_out = hosted->fd_err = hosted->control = -1;
        memcpy(hosted->id, id, strnlen(id, sizeof(hosted->id) - 1));
        deferred_init(&hosted->settle, host->daemon->loop, on_settle);
        modes_init(&hosted->modes);
        host_title_init(hosted);
        TAILQ_INIT(&hosted->seats);
        hosted->dir = path_join(host->dir, hosted->id);
        if (!hosted->dir) {
                free(hosted);
                return error_origin(-ENOMEM);
        }
        while (*end)
                end = &(*end)->next;
        *end = hosted;
        *ret = hosted;
        return 0;
}

static void free_texts(Hosted *hosted) {
        char *texts[] = {hosted->account, hosted->zone,           hosted->dir,     hosted->owner,
                         hosted->object,  hosted->workspace,      hosted->command, hosted->sandbox,
                         hosted->meta,    hosted->recording_path, hosted->cgroup,  hosted->stdin_path,
                         hosted->report};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                free(texts[i]);
}

void hosted_unlink_and_free(Hosted *hosted) {
        Hosted **at = &hosted->host->first;

        if (hosted->host->watch)
                hosted->host->watch->gone(hosted, hosted->host->watch_user);
        while (*at != hosted)
                at = &(*at)->next;
        *at = hosted->next;
        while (!LIST_EMPTY(&hosted->viewers))
                viewer_detach(LIST_FIRST(&hosted->viewers));
        hosted_clear_seats(hosted);
        deferred_cancel(&hosted->settle);
        timer_clear(&hosted->title.later);
        hosted_forget_drawings(hosted);
        if (hosted->recording)
                recording_drop(hosted->recording);
        hosted_close_io(hosted);
        hosted->watch_control = loop_fd_close(hosted->watch_control);
        hosted->control = close_fd(hosted->control);
        hosted->shim = loop_child_release(hosted->shim);
        if (hosted->record)
                (void)munmap(hosted->record, SHIM_RECORD_BYTES);
        hosted->record_mapping = mapping_remove(hosted->record_mapping);
        ring_close(&hosted->out);
        ring_close(&hosted->err);
        buf_deinit(&hosted->input);
        free_texts(hosted);
        loop_defer_free(hosted->host->daemon->loop, hosted);
}

static int host_open_record(Hosted *hosted) {
        _cleanup_(freep) char *path = path_join(hosted->dir, SHIM_RECORD);
        _cleanup_(closep) int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
        void *map;

        if (fd < 0)
                return error_origin(-errno);
        if (lseek(fd, 0, SEEK_END) < SHIM_RECORD_BYTES)
                return RING_E_DAMAGED;
        map = mmap(NULL, SHIM_RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
                return error_origin(-errno);
        if (memcmp(((ShimRecord *)map)->magic, "musshim1", 8) != 0 ||
            ((ShimRecord *)map)->version != SHIM_VERSION) {
                (void)munmap(map, SHIM_RECORD_BYTES);
                return RING_E_DAMAGED;
        }
        hosted->record_mapping = mapping_add(map, SHIM_RECORD_BYTES);
        if (!hosted->record_mapping) {
                (void)munmap(map, SHIM_RECORD_BYTES);
                return error_origin(-ENOSPC);
        }
        hosted->record = map;
        hosted->kind = hosted->record->kind == SHIM_PIPES ? SHIM_PIPES : SHIM_PTY;
        return 0;
}

int hosted_open_files(Hosted *hosted) {
        _cleanup_(freep) char *out = path_join(hosted->dir, SHIM_OUT),
                              *err = path_join(hosted->dir, SHIM_ERR);
        int r = out && err ? host_open_record(hosted) : -ENOMEM;

        if (!r)
                r = ring_open(&hosted->out, out);
        if (!r && hosted->kind == SHIM_PIPES)
                r = ring_open(&hosted->err, err);
        return r;
}

int hosted_exit_code(const Hosted *hosted) {
        if (hosted->state != HOSTED_ENDED)
                return -1;
        return WIFSIGNALED(hosted->wait_status) ? 128 + WTERMSIG(hosted->wait_status)
                                                : WEXITSTATUS(hosted->wait_status);
}

/* By the time since boot, as its start is noted: nobody can set that clock. */
int64_t hosted_age_ms(const Hosted *hosted) {
        int64_t start = hosted->record ? (int64_t)hosted->record->child_start : 0;
        struct timespec now;
        int64_t age_ms;

        if (start <= 0 || start > INT64_MAX / 1000 || clock_gettime(CLOCK_BOOTTIME, &now))
                return 0;
        age_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - start * 1000 / sysconf(_SC_CLK_TCK);
        return MAX(age_ms, (int64_t)0);
}

void host_clear(Hosted *hosted) {
        hosted->n_cleared = hosted->shown_out;
        if (hosted->record)
                atomic_store(&hosted->record->n_cleared, hosted->shown_out);
}

/* ---- ending ---------------------------------------------------------------------------------- */

void host_kill(Hosted *hosted, int grace_ms) {
        if (hosted->state != HOSTED_STARTING && hosted->state != HOSTED_RUNNING)
                return;
        hosted->is_killed = true;
        hosted_tell(hosted, SHIM_KILL, grace_ms);
}

void host_discard(Hosted *hosted, int grace_ms) {
        if (hosted->record)
                atomic_store(&hosted->record->is_discarded, 1);
        host_kill(hosted, grace_ms);
}

void host_stop(Hosted *hosted, int grace_ms) {
        hosted->is_stopped = true;
        if (hosted->record)
                atomic_store(&hosted->record->is_stopped, 1);
        host_kill(hosted, grace_ms);
}

const char *host_missing_limit(const Host *host, const HostedLimits *limits) {
        if (limits->memory_max && !host->cgroups.has_memory)
                return "memory_max cannot be enforced: no delegated cgroup with the memory controller";
        if (limits->n_pids && !host->cgroups.has_pids && geteuid() == 0)
                return "pids_max cannot be enforced: no delegated cgroup with the pids controller, and root "
                       "is not "
                       "bound by RLIMIT_NPROC";
        return NULL;
}

void host_forget(Hosted *hosted) {
        hosted->handler = NULL;
        if (hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING) {
                hosted->is_forgotten = true; /* hosted_check_end() comes back here */
                if (!hosted->is_killed)
                        host_kill(hosted, 0);
                deferred_schedule(&hosted->settle); /* one that only waited for room waits no more */
                return;
        }
        host_retire_folder(hosted);
        if (hosted->cgroup)
                cgroup_remove(hosted->host->daemon->loop, hosted->cgroup);
        hosted_unlink_and_free(hosted);
}
