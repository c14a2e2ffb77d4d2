/* SPDX-License-Identifier: MIT */
/*
 * Finding the processes of earlier daemons again. The folder says what was there; whether it still is, is
 * decided by identity: boot, pid and start time of the shim, never by a pid alone. What cannot be adopted is
 * reported lost, not guessed at.
 */
#define LOG_MODULE "core/host"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/host-internal.h"
#include "core/recording/recording.h"

enum { ID_DIGITS = 16 };

/* Why one is not adopted. */
enum {
        _ADOPT_E_SUCCESS,
        ADOPT_E_NOTHING, /* nothing ran, or nothing of use is left */
        ADOPT_E_USELESS, /* it runs, but what we would have to know of it is gone */
        ADOPT_E_UNKNOWN, /* nobody can tell */
        ADOPT_E_VERSION, /* it runs, by another version's rules */
};

static char *copy_member(const Json *json, const char *key) {
        Str s = json_str(json_get(json, key));

        return str_dup(s);
}

static void adopt_token(Hosted *hosted, Str hash) {
        if (hash.n == SHA256_HEX_MAX - 1)
                memcpy(hosted->token, hash.data, hash.n);
}

static int read_meta(Hosted *hosted) {
        _cleanup_(freep) char *path = path_join(hosted->dir, SHIM_META);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        Str meta;

        if (!path || file_read(path, HOST_META_MAX, &text) ||
            json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return RING_E_DAMAGED;
        hosted->owner = copy_member(json, "owner");
        hosted->object = copy_member(json, "object");
        hosted->workspace = copy_member(json, "workspace");
        hosted->command = copy_member(json, "command");
        hosted->sandbox = copy_member(json, "sandbox");
        if (json_str(json_get(json, "recording")).n)
                hosted->recording_path = copy_member(json, "recording");
        if (json_str(json_get(json, "cgroup")).n)
                hosted->cgroup = copy_member(json, "cgroup");
        adopt_token(hosted, json_str(json_get(json, "token_sha256")));
        (void)json_int64(json_get(json, "memory_max"), &hosted->limits.memory_max);
        (void)json_int64(json_get(json, "pids_max"), &hosted->limits.n_pids);
        meta = json_raw(json_get(json, "meta"));
        hosted->meta = meta.n ? str_dup(meta) : strdup("{}");
        if (!hosted->owner || !hosted->object || !hosted->workspace || !hosted->command ||
            !hosted->sandbox || !hosted->meta)
                return error_origin(-ENOMEM);
        return 0;
}

static int connect_shim(Hosted *hosted) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_(closep) int dir = open(hosted->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int fd;

        if (dir < 0)
                return error_origin(-errno);
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SHIM_SOCKET, dir);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return error_origin(-errno);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
                int r = -errno;
                close_fd(fd);
                return error_origin(r);
        }
        return error_trace(hosted_open_control(hosted, fd));
}

static bool shim_is_alive(const ShimRecord *record) {
        return record->boot == shim_boot_hash() && record->shim_pid > 0 &&
               shim_start_time(record->shim_pid) == record->shim_start;
}

static void settle_dead(Hosted *hosted) {
        ShimRecord *record = hosted->record;
        bool has_exited = atomic_load(&record->state) == SHIM_STATE_EXITED;

        hosted_take_rings(hosted);
        hosted->wait_status = record->wait_status;
        hosted->ended_us = record->ended_us;
        hosted_set_state(hosted, has_exited ? HOSTED_EVENT_ENDED : HOSTED_EVENT_LOST);
        if (has_exited)
                hosted->state_since_us = record->ended_us;
}

/* Alive: the shim answers, and is the one that the record names (a record that is still new names none). */
static bool reach(Hosted *hosted, uint32_t state) {
        if (state == SHIM_STATE_FAILED || (state != SHIM_STATE_NEW && !shim_is_alive(hosted->record)))
                return false;
        return !connect_shim(hosted);
}

/* A file that somebody removed or that cannot be written stays as it is; the process is not the worse for
 * it. */
static void resume_recording(Hosted *hosted) {
        int fd = recording_reopen(hosted->recording_path, hosted->record);
        int r = fd < 0 ? fd : recording_open(&hosted->recording, hosted, fd);

        if (r) {
                log_warning(host_log(hosted->host), hosted->id, "recording not continued: %s: %s",
                            hosted->recording_path, strerror(-r));
                return;
        }
        if (hosted->state == HOSTED_RUNNING)
                recording_poke(hosted->recording);
        else
                hosted_end_recording(hosted);
}

static int host_adopt_adopt(Hosted *hosted) {
        ShimRecord *record;
        uint32_t state;
        bool is_alive, is_discarded, is_useless;
        int r = hosted_open_files(hosted);

        if (r == -ENOENT && !hosted->record)
                return ADOPT_E_NOTHING; /* a daemon was killed while it made or removed the folder */
        if (r < 0 && r != -ENOENT)
                return error_trace(r);
        if (!hosted->record)
                return ADOPT_E_UNKNOWN;
        record = hosted->record;
        state = atomic_load(&record->state);
        if (r == RING_E_VERSION && shim_is_alive(record))
                return ADOPT_E_VERSION; /* not even connected to: the shim would stop reading for us */
        is_alive = reach(hosted, state);
        if (!is_alive && (state == SHIM_STATE_NEW || state == SHIM_STATE_FAILED))
                return ADOPT_E_NOTHING; /* it never ran: nobody was told it did */
        hosted->is_lossless = hosted->kind == SHIM_PIPES && record->is_lossless;
        is_discarded = atomic_load(&record->is_discarded);
        is_useless = read_meta(hosted) || r || (is_discarded && !hosted->is_lossless);
        if (!is_alive && state == SHIM_STATE_RUNNING && record->boot == shim_boot_hash())
                host_sweep(hosted);
        if (is_useless)
                return is_alive ? ADOPT_E_USELESS : ADOPT_E_NOTHING;
        hosted->is_adopted = true;
        hosted->is_stopped = atomic_load(&record->is_stopped);
        hosted->pid = record->child_pid;
        hosted->started_us = record->started_us;
        hosted->awaits_io = is_alive; /* the descriptors arrive with the shim's first word */
        hosted_set_state(hosted, HOSTED_EVENT_STARTED);
        hosted->state_since_us = record->started_us;
        if (!is_alive)
                settle_dead(hosted);
        hosted->shown_out = ring_end(&hosted->out);
        hosted->n_cleared = atomic_load(&record->n_cleared);
        if (hosted->n_cleared > hosted->shown_out)
                hosted->n_cleared = 0; /* it cannot be true */
        modes_feed(&hosted->modes, ring_span(&hosted->out, 0));
        hosted->shown_err = hosted->err.header ? ring_end(&hosted->err) : 0;
        hosted_adopt_kept(hosted);
        if (is_discarded)
                host_kill(hosted, 0); /* its domain is to see its end */
        if (hosted->recording_path && !recording_is_over(record))
                resume_recording(hosted);
        return 0;
}

/* An earlier version did not write down what its sandboxes can write. */
static void adopt_exposed(const Hosted *hosted) {
        TrustNote note = TRUST_NOTE_NULL;
        int r;

        if (!hosted_is_sandboxed(hosted) || hosted->state == HOSTED_ENDED)
                return;
        r = host_expose(hosted, &note);
        if (!r)
                r = trust_note_write(&note);
        if (r)
                log_err(host_log(hosted->host), hosted->id, "not noted what its sandbox can write: %s",
                        strerror(-r));
        trust_note_deinit(&note);
}

static bool is_id(const char *name) {
        return strlen(name) == ID_DIGITS && strspn(name, "0123456789abcdef") == ID_DIGITS;
}

static char *or_unknown(char *text) {
        return text ? text : strdup("unknown");
}

/* For those that the domains are not told of. */
static void fill_unknown(Hosted *hosted) {
        hosted->owner = or_unknown(hosted->owner);
        hosted->object = or_unknown(hosted->object);
        hosted->workspace = or_unknown(hosted->workspace);
        hosted->command = or_unknown(hosted->command);
        hosted->sandbox = or_unknown(hosted->sandbox);
        hosted->meta = or_unknown(hosted->meta);
        hosted->pid = hosted->record->child_pid;
        hosted->started_us = hosted->state_since_us = hosted->record->started_us;
}

/* Ends one that cannot be used. It stays in the table until the shim says that nothing is left: hanging up
 * before that could take the word back (a socket that is closed with something unread makes the other side
 * drop what it has not read yet). */
static void doom(Hosted *hosted) {
        fill_unknown(hosted);
        hosted->is_adopted = true;
        hosted->state = HOSTED_RUNNING;
        hosted->is_killed = hosted->is_forgotten = true;
        hosted_tell(hosted, SHIM_KILL, 0);
}

/* Shown, so that nobody wonders who has the workspace; the version that it belongs to can still adopt it. */
static void leave_alone(Hosted *hosted) {
        (void)read_meta(hosted);
        fill_unknown(hosted);
        hosted->state = HOSTED_FOREIGN;
        adopt_exposed(hosted);
}

/* Never leaves a process behind that nobody knows of: it is ended, or its folder stays for somebody to look
 * at. */
static void reject(Hosted *hosted, int r) {
        static const char *const words[] = {
                [ADOPT_E_NOTHING] = "it never ran, or nothing of use is left; its folder is removed",
                [ADOPT_E_USELESS] = "it was to be ended, or its folder is damaged; it is ended now",
                [ADOPT_E_UNKNOWN] = "its record is damaged; the folder is left",
                [ADOPT_E_VERSION] = "its ring is of another version of musterd; it runs on, untouched"};

        log_warning(host_log(hosted->host), hosted->id, "cannot be adopted: %s",
                    r < 0 ? strerror(-r) : words[r]);
        if (r == ADOPT_E_USELESS) {
                doom(hosted);
                return;
        }
        if (r == ADOPT_E_VERSION) {
                leave_alone(hosted);
                return;
        }
        hosted->state = HOSTED_FAILED;
        if (r == ADOPT_E_NOTHING) {
                host_forget(hosted);
                return;
        }
        hosted->host->has_strays = true;
        hosted_unlink_and_free(hosted);
}

/* Of a daemon that was killed. */
static void remove_spare(const Host *host, const char *name) {
        _cleanup_(freep) char *path = path_join(host->dir, name);

        if (path)
                host_remove_folder(path);
}

int host_adopt(Host *host, void (*found)(Hosted *hosted, void *user), void *user) {
        DIR *dir = opendir(host->dir);
        struct dirent *entry;

        if (!dir)
                return error_origin(-errno);
        while ((entry = readdir(dir))) {
                Hosted *hosted;
                int r;

                if (host_is_spare(entry->d_name))
                        remove_spare(host, entry->d_name);
                if (!is_id(entry->d_name))
                        continue;
                r = hosted_new(&hosted, host, entry->d_name);
                if (r)
                        break;
                r = host_adopt_adopt(hosted);
                if (!r) {
                        adopt_exposed(hosted);
                        found(hosted, user);
                } else
                        reject(hosted, r);
        }
        closedir(dir);
        host_look_for_lost(host);
        return 0;
}
