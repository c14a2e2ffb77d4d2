/* SPDX-License-Identifier: MIT */
#include "core/sandbox/sandbox.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/sandbox/sandbox-internal.h"

enum { HOSTNAME_MAX = 63 };

static const char *const network_names[] = {
        [SANDBOX_NETWORK_HOST] = "host", [SANDBOX_NETWORK_NONE] = "none", [SANDBOX_NETWORK_OWN] = "veth"};

static const char *const mode_names[] = {[SANDBOX_NONE] = "none", [SANDBOX_BWRAP] = "bwrap"};

int sandbox_mode_from_name(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++)
                if (strcmp(mode_names[i], name) == 0)
                        return (int)i;
        return -EINVAL;
}

const char *sandbox_mode_name(SandboxMode mode) {
        return mode_names[mode];
}

const char *sandbox_network_name(SandboxNetwork network) {
        return network_names[network];
}

int sandbox_network_from_name(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(network_names); i++)
                if (strcmp(network_names[i], name) == 0)
                        return (int)i;
        return -EINVAL;
}

/* ---- words of the report, items of the argv -------------------------------------------------- */

int sandbox_refuse(SandboxReport *report, int condition, const char *format, ...) {
        va_list args;

        va_start(args, format);
        /* A file of two libraries is analysed twice, and the second time this is not understood. */
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        vsnprintf(report->problem, sizeof(report->problem), format, args);
        va_end(args);
        return condition;
}

int sandbox_warn(SandboxReport *report, const char *format, ...) {
        char text[512];
        va_list args;

        va_start(args, format);
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        return error_trace(strvec_push(&report->warnings, text));
}

void sandbox_report_deinit(SandboxReport *report) {
        strvec_deinit(&report->warnings);
        buf_deinit(&report->login);
        *report = (SandboxReport){0};
}

int sandbox_push(StrVec *argv, ...) {
        const char *item;
        va_list args;
        int r = 0;

        va_start(args, argv);
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        while (!r && (item = va_arg(args, const char *)))
                r = strvec_push(argv, item);
        va_end(args);
        return error_trace(r);
}

static int sandbox_push_list(StrVec *argv, char *const *list) {
        int r = 0;

        for (; !r && *list; list++)
                r = strvec_push(argv, *list);
        return error_trace(r);
}

int sandbox_terminate(StrVec *argv) {
        char **items = realloc(argv->items, (argv->n + 1) * sizeof(*items));

        if (!items)
                return error_origin(-ENOMEM);
        argv->items = items;
        items[argv->n] = NULL;
        return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* What is no letter, digit, dot or dash becomes a dash. */
static void host_name(const char *name, char *ret) {
        size_t n = 0;

        for (; name[n] && n < HOSTNAME_MAX; n++)
                ret[n] = (char)(isalnum((unsigned char)name[n]) || name[n] == '.' ? name[n] : '-');
        ret[n] = 0;
        if (!n)
                memcpy(ret, "sandbox", sizeof("sandbox"));
}

/* The host's name server is often one of its own loopback, which a network of one's own does not lead to:
 * `enter` puts the descriptor of a file in the place of the word, with the address of slirp4netns's. */
static int push_resolver(StrVec *argv) {
        _cleanup_(sandbox_path_deinit) SandboxPath path = SANDBOX_PATH_NULL;

        if (sandbox_path_open("/etc/resolv.conf", &path) || path.is_dir)
                return 0;
        return error_trace(sandbox_push(argv, "--ro-bind-data", SANDBOX_RESOLVER_WORD, path.path, NULL));
}

/*
 * Capabilities go even when we are root: with them the read-only mounts could be made writable again. And
 * root may write to /proc/sys without any (the kernel asks for the user only), so that is bound read-only;
 * bubblewrap looks after the rest of /proc. No --new-session: it would take job control away; the filter
 * does what it is good for.
 */
int sandbox_base(StrVec *argv, const char *helper, const char *bwrap, const char *slirp, const char *name,
                 SandboxNetwork network) {
        char hostname[HOSTNAME_MAX + 1];
        int r;

        host_name(name, hostname);
        r = sandbox_push(argv, helper, "enter", NULL);
        if (!r && network == SANDBOX_NETWORK_OWN)
                r = sandbox_push(argv, "--network", slirp, NULL);
        if (!r)
                r = sandbox_push(argv, bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc",
                                 "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--cap-drop",
                                 "ALL", "--hostname", hostname, NULL);
        if (!r && network == SANDBOX_NETWORK_NONE)
                r = sandbox_push(argv, "--unshare-net", NULL);
        if (!r)
                r = sandbox_push(argv, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                                 "--ro-bind", "/proc/sys", "/proc/sys", "--perms", "1777", "--tmpfs", "/tmp",
                                 NULL);
        return error_trace(r ? r : network == SANDBOX_NETWORK_OWN ? push_resolver(argv) : 0);
}

static int push_cover(StrVec *argv, const SandboxBind *cover) {
        if (cover->host.is_dir)
                return error_trace(sandbox_push(argv, "--perms", "0500", "--tmpfs", cover->inside, NULL));
        return error_trace(sandbox_push(argv, "--ro-bind", "/dev/null", cover->inside, NULL));
}

static int push_binds(StrVec *argv, const SandboxBinds *binds) {
        int r = 0;

        for (size_t i = 0; !r && i < binds->n; i++) {
                const SandboxBind *bind = &binds->items[i];

                r = !bind->host.path ? push_cover(argv, bind)
                                     : sandbox_push(argv, bind->is_writable ? "--bind" : "--ro-bind",
                                                    bind->host.path, bind->inside, NULL);
        }
        return error_trace(r);
}

/* What lies in a folder that is hidden, too, goes with it: there is no such place in the cover. */
static bool lies_in_hidden(const SandboxPath *paths, size_t n, size_t i) {
        for (size_t k = 0; k < n; k++)
                if (k != i && paths[k].path && paths[k].is_dir &&
                    sandbox_path_is_within(paths[i].path, paths[k].path) &&
                    (k < i || strcmp(paths[k].path, paths[i].path) != 0))
                        return true;
        return false;
}

/* After the binds: the workspace may be the home, with our sockets in it. A missing path stays out: there is
 * nothing to hide. */
static int push_hidden(StrVec *argv, const SandboxSpec *spec) {
        SandboxPath *paths;
        size_t n = 0;
        int r = 0;

        for (char *const *hidden = spec->hidden; hidden && *hidden; hidden++)
                n++;
        paths = calloc(n + 1, sizeof(*paths));
        if (!paths)
                return error_origin(-ENOMEM);
        for (size_t i = 0; r != -ENOMEM && i < n; i++)
                r = sandbox_path_open(spec->hidden[i], &paths[i]);
        r = r == -ENOMEM ? r : 0;
        for (size_t i = 0; !r && i < n; i++) {
                SandboxBind cover = {.host.is_dir = paths[i].is_dir, .inside = paths[i].path};

                if (cover.inside && !lies_in_hidden(paths, n, i))
                        r = push_cover(argv, &cover);
        }
        for (size_t i = 0; i < n; i++)
                sandbox_path_deinit(&paths[i]);
        free(paths);
        return error_trace(r);
}

static int push_expected(StrVec *argv, const SandboxBind *bind) {
        char identity[64];

        snprintf(identity, sizeof(identity), "%llx:%llx", (unsigned long long)bind->host.dev,
                 (unsigned long long)bind->host.ino);
        return error_trace(sandbox_push(argv, "--expect", identity, bind->inside, NULL));
}

/* The helper is bound onto itself: it may lie in /tmp, in something hidden, or in the workspace. */
static int push_confine(StrVec *argv, const SandboxSpec *spec, const SandboxBinds *binds) {
        int r = sandbox_push(argv, "--ro-bind", spec->helper, spec->helper, "--chdir", binds->workspace.path,
                             "--", spec->helper, "confine", NULL);

        for (size_t i = 0; !r && i < binds->n; i++) {
                if (!binds->items[i].host.path)
                        continue;
                r = push_expected(argv, &binds->items[i]);
                if (!r && binds->items[i].is_writable)
                        r = sandbox_push(argv, "--write", binds->items[i].inside, NULL);
        }
        if (!r)
                r = sandbox_push(argv, "--write", "/tmp", "--write", "/dev", "--", NULL);
        return error_trace(r);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const char *search_path(char *const *env) {
        for (; env && *env; env++)
                if (strncmp(*env, "PATH=", 5) == 0)
                        return *env + 5;
        return "/bin:/usr/bin";
}

/* Inside, a failing exec can only be an exit status; looked for here, it is an answer to whoever asked for
 * the start. */
static int find_command(const SandboxSpec *spec, const char *name, char **ret) {
        return path_find_command(spec->workspace, search_path(spec->env), name, ret);
}

/* Whether a place below /tmp, which is new and empty inside, has what the host has there. */
static bool is_shown(const SandboxBinds *binds, const char *path) {
        bool is_shown = binds->home.path && sandbox_path_is_within(path, binds->home.path);

        for (size_t i = 0; i < binds->n; i++) /* what lies deeper comes later */
                if (sandbox_path_is_within(path, binds->items[i].inside))
                        is_shown = binds->items[i].host.path;
        return is_shown;
}

/* A home anywhere else is to be seen as it is; so is one below /tmp. */
static int push_home(StrVec *argv, const SandboxBinds *binds) {
        const char *home = binds->home.path;

        if (!home || !strcmp(home, "/tmp") || !sandbox_path_is_within(home, "/tmp"))
                return 0;
        return error_trace(sandbox_push(argv, "--ro-bind", home, home, NULL));
}

static int check_command(const SandboxSpec *spec, const SandboxBinds *binds, const char *name,
                         SandboxReport *report) {
        _cleanup_(freep) char *found = NULL, *real = NULL;
        int error = find_command(spec, name, &found);

        if (error == ENOMEM)
                return error_origin(-ENOMEM);
        report->command_errno = error;
        if (error)
                return sandbox_refuse(report, SANDBOX_E_COMMAND, "%s: %s", name, strerror(error));
        real = path_resolve(found);
        if (!real)
                return error_origin(-ENOMEM);
        if (sandbox_path_is_within(real, "/tmp") && !is_shown(binds, real))
                return sandbox_refuse(report, SANDBOX_E_COMMAND,
                                      "%s lies below /tmp, which is new and empty in a sandbox", found);
        return 0;
}

/* "~/.a, ~/.b read-write; ~/.c read-only" */
static int tell_login(const SandboxBinds *binds, SandboxReport *report) {
        int r = 0;

        for (int is_writable = 1; is_writable >= 0; is_writable--) {
                size_t n = 0;

                for (size_t i = 0; !r && i < binds->n; i++) {
                        const SandboxBind *bind = &binds->items[i];

                        if (!bind->is_login || bind->is_writable != is_writable)
                                continue;
                        r = buf_printf(&report->login, "%s~%s",
                                       n++               ? ", "
                                       : report->login.n ? "; "
                                                         : "",
                                       bind->inside + strlen(binds->home.path));
                }
                if (!r && n)
                        r = buf_append_str(&report->login,
                                           is_writable ? STR(" read-write") : STR(" read-only"));
        }
        return error_trace(r);
}

static int wrap_bwrap(const SandboxSpec *spec, char *const *argv, StrVec *ret, SandboxReport *report) {
        _cleanup_(sandbox_binds_deinit) SandboxBinds binds = SANDBOX_BINDS_NULL;
        int r = sandbox_binds_collect(&binds, spec, report);

        if (r)
                return error_trace(r);
        r = check_command(spec, &binds, argv[0], report);
        if (!r)
                r = sandbox_base(ret, spec->helper, spec->bwrap, spec->slirp, spec->name, spec->network);
        if (!r)
                r = push_home(ret, &binds);
        if (!r)
                r = push_binds(ret, &binds);
        if (!r)
                r = push_hidden(ret, spec);
        if (!r)
                r = push_confine(ret, spec, &binds);
        return error_trace(r ? r : tell_login(&binds, report));
}

int sandbox_wrap(const SandboxSpec *spec, char *const *argv, StrVec *ret, SandboxReport *report) {
        int r = spec->mode == SANDBOX_BWRAP ? wrap_bwrap(spec, argv, ret, report) : 0;

        if (!r)
                r = sandbox_push_list(ret, argv);
        if (!r)
                r = sandbox_terminate(ret);
        return error_trace(r);
}
