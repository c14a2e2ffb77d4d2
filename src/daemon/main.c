/* SPDX-License-Identifier: MIT */
/*
 * musterd: reads its options, makes the one Daemon, opens the endpoints, runs the loop, tidies up.
 * Everything else is somebody else's.
 */
#define LOG_MODULE "daemon/main"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mapping.h"
#include "base/nest.h"
#include "collab/collab.h"
#include "company/company.h"
#include "core/daemon.h"
#include "core/version.h"
#include "core/approval/approval.h"
#include "core/attention/attention.h"
#include "core/principal/audit.h"
#include "core/usage/usage-book.h"
#include "daemon/options.h"
#include "daemon/own-log.h"
#include "daemon/projects.h"
#include "daemon/service.h"
#include "daemon/setup.h"
#include "daemon/web-servers.h"
#include "dialect/native/native.h"

enum {
        DESCRIPTORS_WANTED = 65536,
        MOVED_BY_PAGES = 2 << 20, /* bytes */
};

/* ---- signals --------------------------------------------------------------------------------- */

typedef struct Signals {
        LoopSignal *term, *interrupt, *hangup;
} Signals;

static void on_term(void *user) {
        daemon_stop(user, "signal");
}

static void on_hangup(void *user) {
        setup_reload(user);
}

static int signals_open(Signals *signals, Daemon *daemon) {
        int r;

        signal(SIGPIPE, SIG_IGN);
        mapping_handle_faults();
        signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is an error of one request */
        r = loop_signal_open(daemon->loop, SIGTERM, on_term, daemon, &signals->term);
        if (!r)
                r = loop_signal_open(daemon->loop, SIGINT, on_term, daemon, &signals->interrupt);
        if (!r)
                r = loop_signal_open(daemon->loop, SIGHUP, on_hangup, daemon, &signals->hangup);
        return r;
}

/* It ends anyway, and with its own status: nothing that comes now is news. */
static void signals_ignore(LoopSignal *handler, int number) {
        loop_signal_swallow(number);
        loop_signal_close(handler);
}

static void signals_close(Signals *signals) {
        signals_ignore(signals->term, SIGTERM);
        signals_ignore(signals->interrupt, SIGINT);
        signals_ignore(signals->hangup, SIGHUP);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void raise_descriptor_limit(Daemon *daemon) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit))
                return;
        daemon->n_files = limit.rlim_cur;
        if (limit.rlim_cur >= DESCRIPTORS_WANTED)
                return;
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* The commands stand beside the daemon: named so that they can be copied from the screen. */
static void daemon_greet(const Daemon *daemon) {
        const char *slash = strrchr(program_invocation_name, '/');
        int n = slash ? (int)(slash - program_invocation_name) + 1 : 0;
        const char *folder = program_invocation_name;
        bool is_reached = false; /* by muster(1) */

        printf("musterd %s, pid %d\n", MUSTER_VERSION, (int)getpid());
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->state == ENDPOINT_LISTENING) {
                        printf("  %-7s %s\n", e->type->name, e->address);
                        is_reached = is_reached || e->type == &native_endpoint;
                }
        if (is_reached) {
                printf("Try in another terminal:  %.*smuster status, %.*smuster --help\n", n, folder, n,
                       folder);
                printf("Stop with Ctrl+C or:      %.*smuster down\n", n, folder);
        } else {
                printf("Stop with Ctrl+C\n");
        }
        fflush(stdout);
}

static void daemon_on_stopping(Daemon *daemon) {
        if (daemon->has_test_clock) /* a stop has limits */
                loop_clock_thaw(daemon->loop);
        company_stop(daemon->company);
        audit_stop(daemon->audit);
        approvals_stop(daemon->approvals);
        attention_stop(daemon->attention);
        usage_book_stop(daemon->usage);
        if (daemon->is_dismissed)
                web_servers_forget(daemon);
        service_notify("STOPPING=1");
}

/* Whoever started us with a standard stream closed must not find a socket of ours in its place. */
static void open_standard_streams(void) {
        int fd;

        do
                fd = open("/dev/null", O_RDWR);
        while (fd >= 0 && fd <= STDERR_FILENO);
        close_fd(fd);
}

static int daemon_run(Daemon *daemon) {
        Signals signals = {0};
        int r = signals_open(&signals, daemon), status = r ? EXIT_STATUS_INTERNAL : 0;

        if (r)
                fprintf(stderr, "musterd: cannot wait for signals: %s\n", strerror(-r));
        if (!status)
                status = setup_home(daemon);
        if (!status)
                status = setup_host(daemon);
        if (!status)
                status = setup_open(daemon);
        if (!status) {
                daemon_greet(daemon);
                own_log_greeted(daemon);
                service_notify("READY=1");
                daemon_serve(daemon);
                log_notice(&daemon->log, "-", "stopped");
        }
        setup_unhost(daemon);
        signals_close(&signals);
        return status < 0 ? 0 : status; /* negative: nothing to do, and that is fine */
}

/* Tests turn the clock themselves: CONTRIBUTING.md. */
static void stop_clock(Daemon *daemon) {
        if (!getenv("MUSTER_TEST_CLOCK"))
                return;
        loop_clock_freeze(daemon->loop, loop_wall_us(daemon->loop));
        daemon->has_test_clock = true;
}

/* Tests hold back what workers have done, so that the world can change meanwhile: CONTRIBUTING.md. */
static void slow_workers(Daemon *daemon) {
        const char *late = getenv("MUSTER_TEST_LATE");

        if (late)
                loop_work_late(daemon->loop, (unsigned)strtoul(late, NULL, 10));
}

static int daemon_run_all(Daemon *daemon) {
        int r;

        stop_clock(daemon);
        slow_workers(daemon);
        r = service_take_sockets(daemon);
        if (!r)
                r = setup_endpoints(daemon);
        if (!r)
                return daemon_run(daemon);
        fprintf(stderr, "musterd: cannot tell what to serve, and where: %s\n", strerror(-r));
        return EXIT_STATUS_INTERNAL;
}

static int daemon_start(Daemon *daemon) {
        int status = EXIT_STATUS_INTERNAL;

        daemon->stopping = daemon_on_stopping;
        daemon->reopen = setup_reopen;
        log_init(&daemon->log);
        own_log_open(daemon);
        raise_descriptor_limit(daemon);
        if (daemon_init(daemon))
                fprintf(stderr, "musterd: cannot start (is the file for --record writable?)\n");
        else {
                own_log_follow(daemon);
                status = daemon_run_all(daemon);
        }
        daemon->collab = collab_free(daemon->collab);
        own_log_close(daemon);
        projects_free(daemon);
        daemon_deinit(daemon);
        log_deinit(&daemon->log);
        return status;
}

/* A hosted process's shim takes all that is below it along at the end, also what left its session. */
static bool is_in_wrong_place(void) {
        if (nest_is_allowed() || !nest_is_hosted())
                return false;
        fprintf(stderr, "musterd: this is inside a process that muster hosts: a daemon started here would "
                        "end with it. Start it elsewhere, such as in another terminal.\n");
        return true;
}

/* A buffer that grows is moved by its pages instead of its bytes, once it is long: the allocator would raise the bound
 * with each one that is freed, up to 32 MiB, and then a reply that grows holds the loop while it is copied. */
static void limit_copies(void) {
        (void)mallopt(M_MMAP_THRESHOLD, MOVED_BY_PAGES);
        (void)mallopt(M_TRIM_THRESHOLD, MOVED_BY_PAGES);
}

int main(int argc, char **argv) {
        char wrong[OPTIONS_FAULT_MAX] = "out of memory";
        Daemon daemon = {.lock_fd = -1, .argc = argc, .argv = argv};
        int r, status;

        limit_copies();
        open_standard_streams();
        (void)setlocale(LC_CTYPE, "C.UTF-8"); /* what is a letter, and nothing else */
        r = options_load(&daemon.config, argc, argv, wrong);
        if (r == OPTIONS_E_DONE)
                status = EXIT_STATUS_OK;
        else if (r) {
                fprintf(stderr, "musterd: %s\n", wrong);
                status = r < 0 ? EXIT_STATUS_INTERNAL : EXIT_STATUS_USAGE;
        } else
                status = is_in_wrong_place() ? EXIT_STATUS_HOSTED : daemon_start(&daemon);
        config_deinit(&daemon.config);
        return status;
}
