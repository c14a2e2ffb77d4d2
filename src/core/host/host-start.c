/* SPDX-License-Identifier: MIT */
/*
 * Starting a hosted process: its folder is made on a worker (disks may be slow or full), then the shim is
 * started with the control socket as descriptor 3; the shim's first word says how it went.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "core/host/host-internal.h"
#include "core/recording/recording.h"
#include "core/runtimes.h"
#include "core/trust.h"
#include "core/usage/agent-account.h"

/* Words of the shim's command line before the command; the place of the one that a worker fills in. */
enum { N_FIXED = 9, AT_NPROC = 6 };

/* Everything that has to survive until the shim runs; a copy, because the spec is the caller's. */
typedef struct Start {
        Hosted *hosted;
        char **argv; /* of the shim, command included */
        char **env;
        size_t n_ring, n_ring_err;
        unsigned cols, rows;
        int recording;                     /* its file; -1: none */
        char *title;                       /* in it */
        char token[HOST_TOKEN_DIGITS + 1]; /* of the process; in its environment and nowhere else */
        Buf meta;
        char *spare;       /* folder that is to become this one's; NULL: none */
        TrustNote exposed; /* that it can write in its workspace from now on */
        int r;
} Start;

static void start_free(Start *start) {
        program_list_free(start->argv);
        program_list_free(start->env);
        buf_deinit(&start->meta);
        free(start->spare);
        free(start->title);
        close_fd(start->recording);
        trust_note_deinit(&start->exposed);
        free(start);
}

/* As the shim reads it; NULL without memory. */
static char *kind_word(const HostedSpec *spec) {
        char *word = NULL;

        if (spec->kind == SHIM_PTY)
                return strdup("pty");
        if (!spec->stdin_path)
                return strdup(spec->has_no_input ? "pipes-null" : "pipes");
        return asprintf(&word, "pipes-file=%s", spec->stdin_path) < 0 ? NULL : word;
}

static int shim_argv(Start *start, const Hosted *hosted, const HostedSpec *spec) {
        _cleanup_(freep) char *kind = kind_word(spec);
        char cols[16], rows[16], files[24];
        const char *fixed[N_FIXED] = {"muster-shim",
                                      hosted->dir,
                                      kind,
                                      cols,
                                      rows,
                                      files,
                                      "0",
                                      hosted->cgroup ? hosted->cgroup : "",
                                      spec->program->workspace};

        snprintf(cols, sizeof(cols), "%u", hosted->cols);
        snprintf(rows, sizeof(rows), "%u", hosted->rows);
        snprintf(files, sizeof(files), "%lu", spec->n_files ? spec->n_files : hosted->host->daemon->n_files);
        start->argv = kind ? program_exec_argv(spec->program, fixed, N_FIXED) : NULL;
        return start->argv ? 0 : error_origin(-ENOMEM);
}

/* What a later daemon must know; the environment is not written anywhere, it may hold secrets. */
static int write_meta(Start *start, const HostedSpec *spec) {
        JsonWriter w = JSON_WRITER(&start->meta);

        jw_begin_object(&w);
        jw_field_int(&w, "version", 1);
        jw_field_cstr(&w, "owner", spec->owner);
        jw_field_cstr(&w, "object", spec->object);
        jw_field_cstr(&w, "workspace", start->hosted->workspace);
        jw_field_cstr(&w, "command", start->hosted->command);
        jw_field_cstr(&w, "sandbox", spec->sandbox);
        jw_field_cstr(&w, "token_sha256", start->hosted->token);
        if (start->hosted->cgroup)
                jw_field_cstr(&w, "cgroup", start->hosted->cgroup);
        if (spec->limits.memory_max)
                jw_field_int(&w, "memory_max", spec->limits.memory_max);
        if (spec->limits.n_pids)
                jw_field_int(&w, "pids_max", spec->limits.n_pids);
        if (start->hosted->recording_path)
                jw_field_cstr(&w, "recording", start->hosted->recording_path);
        jw_key(&w, "meta");
        jw_raw(&w, str_from(start->hosted->meta));
        jw_end_object(&w);
        if (w.failed)
                return error_origin(-ENOMEM);
        return start->meta.n > HOST_META_MAX ? HOST_E_META : 0;
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static int host_start_make_folder(const Start *start) {
        return error_trace(host_make_folder(&(FolderSpec){.dir = start->hosted->dir,
                                                          .spare = start->spare,
                                                          .kind = start->hosted->kind,
                                                          .is_lossless = start->hosted->is_lossless,
                                                          .n_ring = start->n_ring,
                                                          .n_ring_err = start->n_ring_err,
                                                          .meta = buf_str(&start->meta)}));
}

/* Without a cgroup for it, the number of processes is bound by RLIMIT_NPROC, which counts all that the user
 * has: those that run already are added. */
static int make_limits(Start *start) {
        const Hosted *hosted = start->hosted;
        char *nproc = NULL;
        int64_t n;

        if (hosted->cgroup)
                return error_trace(cgroup_create(hosted->cgroup, &hosted->limits));
        if (!hosted->limits.n_pids)
                return 0;
        n = count_user_threads() + hosted->limits.n_pids;
        if (asprintf(&nproc, "%lld", (long long)n) < 0)
                return error_origin(-ENOMEM);
        free(start->argv[AT_NPROC]);
        start->argv[AT_NPROC] = nproc;
        return 0;
}

static int make_recording(Start *start) {
        const Hosted *hosted = start->hosted;

        if (!hosted->recording_path)
                return 0;
        start->recording = recording_create(hosted->recording_path, start->title, start->cols, start->rows);
        return start->recording < 0 ? error_trace(start->recording) : 0;
}

static void host_start_prepare(void *user) {
        Start *start = user;

        start->r = host_start_make_folder(start);
        if (!start->r)
                start->r = make_limits(start);
        if (!start->r)
                start->r = make_recording(start);
        if (!start->r)
                start->r = trust_note_write(&start->exposed);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void on_shim_reaped(void *user, _unused_ int status) {
        Hosted *hosted = user;

        hosted->is_shim_reaped = true;
        hosted->shim = NULL; /* what its end means is said by the control socket and the record */
}

static int spawn_shim(Start *start, int control) {
        Hosted *hosted = start->hosted;
        posix_spawn_file_actions_t actions;
        pid_t pid;
        int r;

        r = posix_spawn_file_actions_init(&actions);
        if (r)
                return error_origin(-r);
        for (int fd = 0; !r && fd < 3; fd++)
                r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
        if (!r)
                r = posix_spawn_file_actions_adddup2(&actions, control, SHIM_CONTROL_FD);
        if (!r)
                r = posix_spawn(&pid, hosted->host->daemon->shim_path, &actions, NULL, start->argv,
                                start->env);
        posix_spawn_file_actions_destroy(&actions);
        if (r)
                return error_origin(-r);
        (void)loop_child_open(hosted->host->daemon->loop, pid, on_shim_reaped, hosted, &hosted->shim);
        return 0;
}

static int launch(Start *start) {
        Hosted *hosted = start->hosted;
        int pair[2], r;

        r = hosted_open_files(hosted);
        if (!r && start->recording >= 0) {
                r = recording_open(&hosted->recording, hosted, start->recording);
                start->recording = -1;
        }
        if (r)
                return error_fold(r);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
                return error_origin(-errno);
        r = spawn_shim(start, pair[1]);
        close_fd(pair[1]);
        if (r) {
                close_fd(pair[0]);
                return error_trace(r);
        }
        return error_trace(hosted_open_control(hosted, pair[0]));
}

static void prepared(void *user) {
        Start *start = user;
        Hosted *hosted = start->hosted;
        int r = start->r ? start->r : launch(start);

        if (r) {
                hosted_set_state(hosted, HOSTED_EVENT_FAILED);
                if (hosted->handler)
                        hosted->handler->started(hosted, -r);
                host_forget(hosted);
        } else if (hosted->is_killed)
                hosted_tell(hosted, SHIM_KILL, 0); /* somebody changed their mind meanwhile */
        start_free(start);
}

/* None when the number of processes must be bound by other means. */
static int name_cgroup(Hosted *hosted) {
        const HostCgroups *cgroups = &hosted->host->cgroups;

        if (!cgroups->folder || (hosted->limits.n_pids && !cgroups->has_pids))
                return 0;
        if (asprintf(&hosted->cgroup, "%s/hosted-%s", cgroups->folder, hosted->id) < 0) {
                hosted->cgroup = NULL;
                return error_origin(-ENOMEM);
        }
        return 0;
}

static int host_start_fill(Hosted *hosted, const HostedSpec *spec) {
        const Program *program = spec->program;
        int r;

        hosted->owner = strdup(spec->owner);
        hosted->object = strdup(spec->object);
        hosted->workspace = strdup(program->workspace);
        hosted->command = strdup(program->command ? program->command : program->argv.items[0]);
        hosted->sandbox = strdup(spec->sandbox);
        hosted->meta = program->meta.n ? str_dup(buf_str(&program->meta)) : strdup("{}");
        hosted->kind = spec->kind;
        hosted->is_lossless = spec->is_lossless;
        hosted->stdin_path = spec->stdin_path ? strdup(spec->stdin_path) : NULL;
        hosted->limits = spec->limits;
        hosted->has_hooks = program->has_hooks;
        r = name_cgroup(hosted);
        if (r)
                return error_trace(r);
        if (spec->is_recorded && spec->kind == SHIM_PTY) {
                hosted->recording_path = recording_path(
                        hosted->host->daemon->home, spec->title ? spec->title : spec->object, hosted->id);
                if (!hosted->recording_path)
                        return error_origin(-ENOMEM);
        }
        hosted->cols = spec->cols || spec->kind != SHIM_PTY ? spec->cols : HOST_COLS;
        hosted->rows = spec->rows || spec->kind != SHIM_PTY ? spec->rows : HOST_ROWS;
        hosted->state_since_us = loop_wall_us(hosted->host->daemon->loop);
        if (!hosted->owner || !hosted->object || !hosted->workspace || !hosted->command ||
            !hosted->sandbox || !hosted->meta || (spec->stdin_path && !hosted->stdin_path))
                return error_origin(-ENOMEM);
        return 0;
}

static int host_start_token(Start *start) {
        int r = id_hex(start->token, HOST_TOKEN_DIGITS);

        return error_trace(r ? r : sha256_hex(str_from(start->token), start->hosted->token));
}

static int host_start_begin(Hosted *hosted, const HostedSpec *spec) {
        Start *start = calloc(1, sizeof(*start));
        int r = start ? host_start_fill(hosted, spec) : -ENOMEM;

        if (!start)
                return error_origin(r);
        start->hosted = hosted;
        start->recording = -1;
        start->title = strdup(spec->title ? spec->title : spec->object);
        start->cols = hosted->cols;
        start->rows = hosted->rows;
        start->n_ring = spec->n_ring ? spec->n_ring : RING_BYTES_DEFAULT;
        start->n_ring_err = spec->n_ring_err ? spec->n_ring_err : start->n_ring;
        if (!r)
                r = host_start_token(start);
        start->env = program_exec_env(
                spec->program, hosted->host->daemon,
                &(ProgramMarks){.dir = hosted->dir, .sandbox = spec->sandbox, .token = start->token});
        if (!r)
                r = start->env && start->title ? shim_argv(start, hosted, spec) : -ENOMEM;
        if (!r)
                r = write_meta(start, spec);
        if (!r && hosted_is_sandboxed(hosted))
                r = host_expose(hosted, &start->exposed);
        if (!r)
                start->spare = host_take_spare(hosted->host, spec->kind);
        if (!r)
                r = loop_work(hosted->host->daemon->loop, host_start_prepare, prepared, start);
        if (r)
                start_free(start);
        return error_trace(r);
}

/* Not needed for the start: without memory it is found out later. */
static void host_start_account(Hosted *hosted, const Program *program) {
        const char *zone = environment_get(&program->env, "TZ");

        if (hosted->command)
                hosted->account = account_of_list(
                        str_from(runtime_of_command(str_from(hosted->command))->name), &program->env);
        hosted->zone = zone ? strdup(zone) : NULL;
}

int host_start(Host *host, const HostedSpec *spec, const HostedHandler *handler, void *user, Hosted **ret) {
        struct stat st;
        Hosted *hosted;
        char id[17];
        int r;

        if (!host)
                return error_origin(-ENOSYS); /* a daemon that hosts nothing (fuzzers) */
        if (spec->kind != SHIM_PIPES && (spec->stdin_path || spec->is_lossless))
                return error_origin(-EINVAL);
        if (stat(spec->program->workspace, &st) || !S_ISDIR(st.st_mode))
                return HOST_E_WORKSPACE;
        if (host_missing_limit(host, &spec->limits))
                return HOST_E_NO_LIMIT;
        r = id_hex(id, sizeof(id) - 1);
        if (!r)
                r = hosted_new(&hosted, host, id);
        if (r)
                return error_trace(r);
        hosted->handler = handler;
        hosted->user = user;
        r = host_start_begin(hosted, spec);
        if (r) {
                hosted_unlink_and_free(hosted);
                return error_trace(r);
        }
        host_start_account(hosted, spec->program);
        *ret = hosted;
        return 0;
}
