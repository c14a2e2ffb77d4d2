/* SPDX-License-Identifier: MIT */
/*
 * muster upgrade-daemon: the daemon that runs makes room for the one that belongs to this program. Hosted
 * processes run on and are found again by the new one, which gets the flags and the working directory of the
 * old one, and the environment of whoever asks.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/nest.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/link/start.h"
#include "cli/link/stop.h"
#include "cli/print/report.h"
#include "core/version.h"

enum { STOP_MS = 15000, START_MS = 20000, FLAGS_MAX = 256, FLAGS_BYTES = 1 << 20 };

/* What is to be known of the old daemon before it goes. */
typedef struct Upgrade {
        char *socket;
        Arena arena;
        int64_t pid; /* 0: none was running */
        const char *version;
        char folder[PATH_MAX]; /* its working directory; empty: not known */
        Buf cmdline;
        char *flags[FLAGS_MAX]; /* point into cmdline */
        int n_flags;
        const Json *answer; /* of daemon.shutdown */
} Upgrade;

static void upgrade_deinit(Upgrade *upgrade) {
        free(upgrade->socket);
        arena_deinit(&upgrade->arena);
        buf_deinit(&upgrade->cmdline);
}

static bool upgrade_read_proc(const Upgrade *upgrade, const char *what, Buf *out) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)upgrade->pid, what);
        return !file_read(path, FLAGS_BYTES, out) && buf_cstr(out);
}

/* A service that is stopped behind the back of its manager is started again by it, or not at all. */
static int upgrade_refuse_service(const Upgrade *upgrade) {
        _cleanup_(buf_deinit) Buf cgroup = BUF_NULL;

        if (!upgrade_read_proc(upgrade, "cgroup", &cgroup) || !strstr(cgroup.data, "musterd.service"))
                return CLI_OK;
        complain(CLI_FAILED, "the daemon is a service of systemd, which starts it");
        advise("restart it there: systemctl --user restart musterd");
        return CLI_FAILED;
}

static void upgrade_look(Upgrade *upgrade) {
        char path[64];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%lld/cwd", (long long)upgrade->pid);
        n = readlink(path, upgrade->folder, sizeof(upgrade->folder) - 1);
        upgrade->folder[n > 0 ? n : 0] = 0;
        if (!upgrade_read_proc(upgrade, "cmdline", &upgrade->cmdline))
                return;
        for (size_t at = strlen(upgrade->cmdline.data) + 1;
             at < upgrade->cmdline.n && upgrade->n_flags < FLAGS_MAX;
             at += strlen(upgrade->cmdline.data + at) + 1)
                upgrade->flags[upgrade->n_flags++] = upgrade->cmdline.data + at;
}

static int upgrade_stop(Upgrade *upgrade, int64_t wait_ms) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Json *info = NULL;
        int r = link_open(&link, upgrade->socket, clock_ms() + wait_ms);

        if (r)
                return r == LINK_E_ABSENT ? CLI_OK : link_complain(r, upgrade->socket);
        r = native_call(&link, upgrade->socket, "daemon.info", &upgrade->arena, &info);
        if (r || !info)
                return r;
        upgrade->pid = info_pid(info);
        upgrade->version = arena_str(&upgrade->arena, json_str(json_get(info, "version"))).data;
        r = upgrade_refuse_service(upgrade);
        if (r)
                return r;
        upgrade_look(upgrade);
        return stop_daemon(&link, upgrade->socket, STOP_KEEP_WEB, &upgrade->arena, &upgrade->pid,
                           &upgrade->answer, NULL);
}

/* How many processes of the old daemon run on below the new one. */
static int upgrade_count(Start *start, int64_t *ret) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Json *answer = NULL;
        int r = link_open(&link, start->socket, clock_ms() + START_MS);

        *ret = 0;
        if (r)
                return link_complain(r, start->socket);
        r = native_call(&link, start->socket, "ps", &start->arena, &answer);
        json_each (row, json_get(answer, "processes")) {
                bool is_adopted = false;

                (void)json_bool(json_get(row, "adopted"), &is_adopted);
                if (is_adopted && str_is(json_str(json_get(row, "state")), "running"))
                        ++*ret;
        }
        return r;
}

static void upgrade_tell_json(const Upgrade *upgrade, const Start *start, int64_t n_adopted) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        if (upgrade->version)
                jw_field_cstr(&w, "from", upgrade->version);
        else
                jw_field_null(&w, "from");
        jw_field_cstr(&w, "to", MUSTER_VERSION);
        jw_field_int(&w, "pid", info_pid(start->info));
        jw_field_int(&w, "adopted", n_adopted);
        jw_end_object(&w);
        if (!w.failed)
                json_put_text(stdout, buf_str(&text));
}

static void upgrade_tell(const Upgrade *upgrade, const Start *start, int64_t n_adopted) {
        if (!upgrade->pid)
                print("no daemon was running; musterd %s started, pid %lld\n", MUSTER_VERSION,
                      (long long)info_pid(start->info));
        else
                print("musterd %s, pid %lld, is now %s, pid %lld\n",
                      upgrade->version ? upgrade->version : "?", (long long)upgrade->pid, MUSTER_VERSION,
                      (long long)info_pid(start->info));
        print("%lld %s on and %s taken over\n", (long long)n_adopted,
              n_adopted == 1 ? "process runs" : "processes run", n_adopted == 1 ? "was" : "were");
}

static int upgrade_start(Upgrade *upgrade, const Options *options) {
        _cleanup_(start_deinit) Start start = START_NULL;
        bool has_flags = options->n_operands > 0;
        int64_t n_adopted;
        int r;

        if (upgrade->folder[0] && chdir(upgrade->folder))
                complain(0, "the old daemon's folder %s cannot be entered; the new one starts here",
                         upgrade->folder);
        r = start_daemon(&start, has_flags ? options->operands : upgrade->flags,
                         has_flags ? options->n_operands : upgrade->n_flags,
                         options->wait_ms < 0 ? START_MS : options->wait_ms);
        if (r) {
                advise("the old daemon has stopped; what it hosted runs on: muster up finds it again");
                return r;
        }
        if (!start.info)
                return complain(CLI_FAILED, "musterd runs, but does not listen at %s", start.socket);
        r = upgrade_count(&start, &n_adopted);
        if (r)
                return r;
        if (options->json)
                upgrade_tell_json(upgrade, &start, n_adopted);
        else
                upgrade_tell(upgrade, &start, n_adopted);
        return CLI_OK;
}

int cmd_upgrade_daemon(const Options *options) {
        _cleanup_(upgrade_deinit) Upgrade upgrade = {.socket = find_socket()};
        int r;

        if (!upgrade.socket)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        if (nest_is_hosted() && !nest_is_allowed())
                return complain(CLI_FAILED,
                                "this is inside a process that musterd hosts: a daemon started here "
                                "would end with it; do it in another terminal");
        r = upgrade_stop(&upgrade, options->wait_ms < 0 ? STOP_MS : options->wait_ms);
        return r ? r : upgrade_start(&upgrade, options);
}
