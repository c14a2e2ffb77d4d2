/* SPDX-License-Identifier: MIT */
/*
 * What the machine has to offer: agent programs, bubblewrap and what it needs, room on the disk, and whether
 * what runs may stay when the user logs out.
 */
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/doctor/doctor.h"
#include "cli/link/native.h"
#include "core/sandbox/sandbox.h"
#include "core/runtimes.h"

enum { ENVIRON_BYTES = 4 << 20, SPACE_LOW_MB = 200, MACHINE_ASK_MS = 5000 };

/* ---- agent programs -------------------------------------------------------------------------- */

/* The PATH that `muster env` has given it. By a link of its own, as what daemon.info answered lies in the
 * other one. Malloc'd; NULL: none, or it is not told. */
static char *doctor_given_path(Doctor *doctor) {
        const Request request = {.dialect = "native", .op = "env.show"};
        _cleanup_(link_deinit) Link link = LINK_NULL;
        Reply reply = {0};
        const Json *path;

        if (!doctor->info || link_open(&link, doctor->socket, clock_ms() + MACHINE_ASK_MS) ||
            exchange(&link, &request, &doctor->arena, &reply) || reply.is_error)
                return NULL;
        path = json_get(json_get(reply.result, "env"), "PATH");
        return json_is(path, JSON_STRING) ? str_dup(json_str(path)) : NULL;
}

/* That of the daemon itself. Malloc'd; NULL: no daemon, or it is not ours. */
static char *doctor_daemon_path(const Doctor *doctor) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char name[64];

        snprintf(name, sizeof(name), "/proc/%lld/environ", (long long)info_pid(doctor->info));
        if (!doctor->info || file_read(name, ENVIRON_BYTES, &text) || !buf_cstr(&text))
                return NULL;
        for (size_t at = 0; at < text.n; at += strlen(text.data + at) + 1)
                if (!strncmp(text.data + at, "PATH=", 5))
                        return strdup(text.data + at + 5);
        return NULL;
}

static void doctor_add_name(Buf *names, const char *name) {
        (void)buf_printf(names, "%s%s", names->n ? ", " : "", name);
}

void doctor_check_programs(Doctor *doctor) {
        _cleanup_(freep) char *given = doctor_given_path(doctor), *inherited = doctor_daemon_path(doctor);
        const char *daemon_path = given ? given : inherited;
        _cleanup_(buf_deinit) Buf found = BUF_NULL, lacking = BUF_NULL;
        const char *ours = getenv("PATH");

        for (const Runtime *runtime = runtime_first(); runtime->name; runtime++) {
                _cleanup_(freep) char *here = NULL, *there = NULL;

                if (!runtime->program)
                        continue;
                here = path_search(ours ? ours : "", runtime->program);
                there = path_search(daemon_path ? daemon_path : "", runtime->program);
                if (here || there)
                        doctor_add_name(&found, runtime->program);
                if (here && daemon_path && !there)
                        doctor_add_name(&lacking, runtime->program);
        }
        if (lacking.n)
                doctor_find(doctor, DOCTOR_WARNING, NULL,
                            STR_FMT
                            " on your PATH, but not on the daemon's, which actors and tasks get: run "
                            "muster env set PATH from this shell. The daemon's: %s",
                            STR_ARG(buf_str(&lacking)), daemon_path);
        else if (found.n)
                doctor_pass(doctor, STR_FMT, STR_ARG(buf_str(&found)));
        else
                doctor_find(doctor, DOCTOR_WARNING, NULL, "no agent that musterd knows is on the PATH: %s",
                            daemon_path ? daemon_path
                            : ours      ? ours
                                        : "(empty)");
}

/* ---- sandboxes ------------------------------------------------------------------------------- */

void doctor_check_bwrap(Doctor *doctor) {
        const char *folders = getenv("PATH");
        _cleanup_(freep) char *program = path_search(folders ? folders : "/usr/bin:/bin", "bwrap");

        if (program)
                doctor_pass(doctor, "%s", program);
        else
                doctor_find(doctor, DOCTOR_WARNING, NULL,
                            "not on the PATH, so there are no sandboxes: install the package bubblewrap, or "
                            "use muster new --sandbox none");
}

static char *doctor_sandbox_helper(void) {
        char self[PATH_MAX], *slash;
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n < 0)
                return NULL;
        self[n] = 0;
        slash = strrchr(self, '/');
        if (slash)
                *slash = 0;
        return path_join(self, "muster-sandbox");
}

/* Not by looking at the kernel's switches, of which there are many, but by making a sandbox. */
void doctor_check_namespaces(Doctor *doctor) {
        _cleanup_(sandbox_probe_deinit) SandboxProbe probe = {0};
        _cleanup_(freep) char *helper = doctor_sandbox_helper();
        SandboxKnown known = {0};

        if (!helper || sandbox_probe(helper, SANDBOX_NETWORK_NONE, &known, &probe))
                doctor_find(doctor, DOCTOR_WARNING, helper, "cannot try out a sandbox");
        else if (!probe.program)
                doctor_find(doctor, DOCTOR_NOTE, NULL, "not tried out, since there is no bwrap");
        else if (!probe.is_available)
                doctor_find(doctor, DOCTOR_WARNING, NULL,
                            "no sandbox can be made: %s. Until then: muster new --sandbox none",
                            probe.reason);
        else
                doctor_pass(doctor, "a sandbox can be made%s%s",
                            probe.has_network ? "" : ", but none without a network: ", probe.network_reason);
        doctor->has_no_sandbox = !probe.is_available;
}

/* ---- staying, and room ----------------------------------------------------------------------- */

/* Below the user's manager of systemd, which ends with the last login unless told otherwise. */
static bool doctor_is_user_service(const Doctor *doctor) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char name[64];

        snprintf(name, sizeof(name), "/proc/%lld/cgroup", (long long)info_pid(doctor->info));
        return doctor->info && !file_read(name, 1 << 16, &text) && buf_cstr(&text) &&
               strstr(text.data, "/user@");
}

void doctor_check_linger(Doctor *doctor) {
        const struct passwd *user = getpwuid(geteuid());
        _cleanup_(freep) char *path = user ? path_join("/var/lib/systemd/linger", user->pw_name) : NULL;

        if (access("/run/systemd/system", F_OK))
                doctor_pass(doctor, "no systemd here: nothing ends what runs at logout");
        else if (path && !access(path, F_OK))
                doctor_pass(doctor, "on: what runs stays when you log out");
        else if (doctor_is_user_service(doctor))
                doctor_find(doctor, DOCTOR_WARNING, NULL,
                            "off, and the daemon is a service of yours: it ends when you log out. Do: "
                            "loginctl enable-linger");
        else
                doctor_find(doctor, DOCTOR_NOTE, NULL,
                            "off: a service of yours would end when you log out (loginctl enable-linger)");
}

/* The folder, or what it will be made in. */
static bool doctor_find_disk(const char *folder, struct statvfs *ret) {
        _cleanup_(freep) char *path = folder ? strdup(folder) : NULL;
        char *slash;

        while (path && *path && statvfs(path, ret)) {
                slash = strrchr(path, '/');
                if (!slash)
                        return false;
                *slash = 0;
        }
        return path && (*path || !statvfs("/", ret));
}

void doctor_check_space(Doctor *doctor) {
        struct statvfs fs;
        unsigned long long mb;

        if (!doctor_find_disk(doctor->home, &fs)) {
                doctor_find(doctor, DOCTOR_NOTE, doctor->home, "cannot be told");
                return;
        }
        mb = (unsigned long long)fs.f_bavail * fs.f_frsize >> 20;
        if (!fs.f_bavail || (fs.f_files && !fs.f_favail))
                doctor_find(doctor, DOCTOR_ERROR, doctor->home, "the disk is full: nothing can be kept");
        else if (mb < SPACE_LOW_MB)
                doctor_find(doctor, DOCTOR_WARNING, doctor->home, "only %llu MB are left on this disk", mb);
        else
                doctor_pass(doctor, "%llu MB free", mb);
}
