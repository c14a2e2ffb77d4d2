/* SPDX-License-Identifier: MIT */
/*
 * The program muster-tunnel, one for each tunnel: started with one end of a socket as its descriptor 3, told what it needs, listened to. It ends when
 * that socket does, so also when the daemon is killed; a stop of the daemon waits for it.
 */
#define LOG_MODULE "tunnel/process"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/daemon.h"
#include "dialect/tunnel/tunnel.h"

enum { TUNNEL_TURN_MESSAGES = 64 };

/* ---- what it is told ------------------------------------------------------------------------- */

/* What it cannot be told ends it: it does not read, or is gone. */
void tunnel_say(Tunnel *tunnel, const TunnelMessage *message, const int *fds) {
        int r = tunnel->fd >= 0 ? tunnel_send(tunnel->fd, message, fds) : -EPIPE;

        if (!r || tunnel->phase == TUNNEL_OVER)
                return;
        log_warning(&tunnel->daemon->log, tunnel->name, "its process cannot be told: %s", strerror(-r));
        tunnel_end(tunnel, r == -EAGAIN ? "muster-tunnel does not listen" : "muster-tunnel is gone");
}

static void tunnel_process_configure(Tunnel *tunnel, bool waits_for_pin) {
        char ufrag[TUNNEL_UFRAG_TEXT + 1], pwd[TUNNEL_PWD_TEXT + 1];
        TunnelMessage message = {.type = TUNNEL_CONFIG};

        tunnel_code_ice(&tunnel->code, ufrag, pwd);
        message.config = (TunnelConfig){.ufrag = str_from(ufrag),
                                        .pwd = str_from(pwd),
                                        .n_sockets = (uint8_t)tunnel->net.n,
                                        .waits_for_pin = waits_for_pin,
                                        .key = buf_str(&tunnel->pair.key),
                                        .certificate = buf_str(&tunnel->pair.certificate),
                                        .stun = tunnel->stun};
        tunnel_say(tunnel, &message, tunnel->net.fds);
        explicit_bzero(pwd, sizeof(pwd));
        certificate_pair_deinit(&tunnel->pair);
        tunnel_net_close(&tunnel->net);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static bool tunnel_is_same_address(const TunnelAddress *a, const TunnelAddress *b) {
        return a->family == b->family && a->port == b->port &&
               !memcmp(a->bytes, b->bytes, a->family == 4 ? 4 : sizeof(a->bytes));
}

static void tunnel_add_reflexive(Tunnel *tunnel, const TunnelState *state) {
        TunnelCode *code = &tunnel->code;

        for (size_t i = 0; i < code->n_candidates; i++) /* it is one of our own: not behind NAT */
                if (tunnel_is_same_address(&code->candidates[i].address, &state->address))
                        return;
        if (state->address.port && code->n_candidates < TUNNEL_CODE_CANDIDATES)
                code->candidates[code->n_candidates++] =
                        (TunnelCandidate){.is_reflexive = true, .address = state->address};
}

static void tunnel_process_on_ready(Tunnel *tunnel, const TunnelState *state) {
        tunnel->protections = state->protections;
        log_info(&tunnel->daemon->log, tunnel->name, "ready pid=%d protections=%#x", (int)tunnel->pid,
                 state->protections);
        if (tunnel->phase != TUNNEL_STARTING)
                return;
        if (tunnel->n_reflexive_due)
                tunnel_set_phase(tunnel,
                                 TUNNEL_STARTING); /* from now on it is the STUN server that is waited for */
        else
                tunnel_is_ready(tunnel);
}

static void tunnel_process_on_state(Tunnel *tunnel, const TunnelState *state) {
        if (state->step == TUNNEL_READY)
                tunnel_process_on_ready(tunnel, state);
        else if (state->step != TUNNEL_REFLEXIVE)
                tunnel_on_state(tunnel, state);
        else if (tunnel->phase == TUNNEL_STARTING && tunnel->n_reflexive_due) {
                tunnel_add_reflexive(tunnel, state);
                if (!--tunnel->n_reflexive_due)
                        tunnel_is_ready(tunnel);
        }
}

static void tunnel_process_on_message(Tunnel *tunnel, const TunnelMessage *message) {
        char why[TUNNEL_REASON_MAX + 1];

        switch (message->type) {
        case TUNNEL_STATE: tunnel_process_on_state(tunnel, &message->state); break;
        case TUNNEL_ASK: tunnel_on_ask(tunnel, &message->ask); break;
        case TUNNEL_CLOSED: break; /* the end of its socket says the same */
        case TUNNEL_FAILED:
                snprintf(why, sizeof(why), STR_FMT, STR_ARG(message->reason));
                for (char *c = why; *c; c++) /* people read it at a terminal */
                        *c = *c >= ' ' && *c < 0x7f ? *c : '?';
                log_warning(&tunnel->daemon->log, tunnel->name, "its process failed: %s", why);
                tunnel_end(tunnel, why);
                break;
        default: tunnel_end(tunnel, "muster-tunnel says what only we say"); break;
        }
}

static void tunnel_process_on_readable(void *user, _unused_ unsigned events) {
        Tunnel *tunnel = user;
        TunnelReceived received;
        int r = 0;

        for (unsigned i = 0; !r && tunnel->fd >= 0 && i < TUNNEL_TURN_MESSAGES; i++) {
                r = tunnel_receive(tunnel->fd, &received);
                if (r)
                        break;
                if (tunnel->phase != TUNNEL_OVER)
                        tunnel_process_on_message(tunnel, &received.message);
                tunnel_received_deinit(&received);
        }
        if (!r || r == -EAGAIN)
                return;
        if (tunnel->watch)
                loop_fd_watch(tunnel->watch, 0); /* it has ended, which its status tells; or is told to */
        if (r > 0)
                tunnel_end(tunnel, "muster-tunnel says what cannot be understood");
}

/* ---- its life -------------------------------------------------------------------------------- */

static void tunnel_process_on_ended(void *user, int status) {
        Tunnel *tunnel = user;

        tunnel->child = NULL;
        tunnel->pid = 0;
        tunnel->watch = loop_fd_close(tunnel->watch);
        tunnel->fd = close_fd(tunnel->fd);
        if (tunnel->phase == TUNNEL_OVER)
                log_debug(&tunnel->daemon->log, tunnel->name, "its process has ended status=%d", status);
        else {
                log_warning(&tunnel->daemon->log, tunnel->name, "its process has ended status=%d", status);
                tunnel_end(tunnel,
                           WIFSIGNALED(status) ? "muster-tunnel was killed" : "muster-tunnel has ended");
        }
        timer_clear(&tunnel->deadline);
        daemon_release_stop(tunnel->daemon);
}

static int tunnel_process_actions(posix_spawn_file_actions_t *actions, int fd) {
        int r = 0;

        for (int i = 0; !r && i < 2; i++)
                r = posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
        if (!r)
                r = posix_spawn_file_actions_adddup2(actions, fd, TUNNEL_CONTROL_FD);
        return r ? r : posix_spawn_file_actions_addchdir_np(actions, "/");
}

/* A session of its own, so that nothing typed at the daemon's terminal is meant for it. */
static int tunnel_process_spawn(const Tunnel *tunnel, int fd, pid_t *ret) {
        char *argv[] = {"muster-tunnel", NULL}, *env[] = {NULL};
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int r = posix_spawn_file_actions_init(&actions);

        if (r)
                return error_origin(-r);
        r = posix_spawnattr_init(&attributes);
        if (!r) {
                r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
                if (!r)
                        r = tunnel_process_actions(&actions, fd);
                if (!r)
                        r = posix_spawn(ret, tunnel->daemon->tunnel_path, &actions, &attributes, argv, env);
                posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
        return r ? error_origin(-r) : 0;
}

int tunnel_process_start(Tunnel *tunnel, bool waits_for_pin) {
        Loop *loop = tunnel->daemon->loop;
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
                return error_origin(-errno);
        tunnel->fd = pair[0];
        r = tunnel_process_spawn(tunnel, pair[1], &tunnel->pid);
        close_fd(pair[1]);
        if (!r)
                r = loop_child_open(loop, tunnel->pid, tunnel_process_on_ended, tunnel, &tunnel->child);
        if (!r) {
                daemon_hold_stop(tunnel->daemon);
                r = loop_fd_open(loop, tunnel->fd, tunnel_process_on_readable, tunnel, &tunnel->watch);
        }
        if (r)
                return error_trace(r);
        loop_fd_watch(tunnel->watch, LOOP_READ);
        tunnel_process_configure(tunnel, waits_for_pin);
        return 0;
}

void tunnel_process_quit(Tunnel *tunnel) {
        if (tunnel->is_quitting)
                return;
        tunnel->is_quitting = true;
        tunnel_say(tunnel, &(TunnelMessage){.type = TUNNEL_QUIT}, NULL);
        if (tunnel->child)
                tunnel_set_phase(tunnel, TUNNEL_OVER);
        else
                timer_clear(&tunnel->deadline);
}

void tunnel_process_drop(Tunnel *tunnel) {
        tunnel->watch = loop_fd_close(tunnel->watch);
        tunnel->fd = close_fd(tunnel->fd);
        if (!tunnel->child)
                return;
        (void)kill(tunnel->pid, SIGKILL);
        tunnel->child = loop_child_release(tunnel->child);
        tunnel->pid = 0;
        daemon_release_stop(tunnel->daemon);
}
