/* SPDX-License-Identifier: MIT */
/*
 * Without arguments: unit tests of the command line that a sandbox is made of. With arguments it becomes
 * that command line, for tests/fault/sandbox.py:
 *
 *   test-sandbox WORKSPACE HOME [network=none] [name=N] [mount=HOST:INSIDE] [write=HOST:INSIDE]
 * [persist=HOST:INSIDE] [hide=PATH] -- COMMAND... test-sandbox probe
 */
#include "core/sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/file.h"
#include "base/macro.h"
#include "core/sandbox/sandbox-internal.h"

/* An empty folder with a home and a workspace in it, which is also the working directory. */
typedef struct World {
        char path[64], home[96], workspace[96];
        SandboxReport report;
        StrVec argv;
} World;

static int world_make(void **state) {
        World *world = calloc(1, sizeof(*world));

        strcpy(world->path, "/var/tmp/test-sandbox.XXXXXX"); /* not /tmp: that one is new inside */
        *state = world;
        if (!mkdtemp(world->path) || chdir(world->path))
                return -1;
        snprintf(world->home, sizeof(world->home), "%s/home", world->path);
        snprintf(world->workspace, sizeof(world->workspace), "%s/home/project", world->path);
        return mkdir("home", 0700) || mkdir("home/project", 0700) || mkdir("home/data", 0700) ||
               mkdir("outside", 0700);
}

static int world_remove(void **state) {
        _cleanup_(freep) World *world = *state;
        char command[128];

        sandbox_report_deinit(&world->report);
        strvec_deinit(&world->argv);
        snprintf(command, sizeof(command), "rm -rf %s", world->path);
        return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static SandboxSpec spec_of(const World *world) {
        return (SandboxSpec){.mode = SANDBOX_BWRAP,
                             .bwrap = "/usr/bin/bwrap",
                             .helper = "/opt/muster-sandbox",
                             .name = "demo",
                             .workspace = world->workspace,
                             .home = world->home,
                             .env = environ};
}

static int wrap(World *world, const SandboxSpec *spec) {
        static char *const command[] = {"sh", "-c", "exit 7", NULL};

        strvec_deinit(&world->argv);
        sandbox_report_deinit(&world->report);
        return sandbox_wrap(spec, command, &world->argv, &world->report);
}

static int wrap_mount(World *world, const char *host, const char *inside) {
        SandboxMount mount = {.host = host, .inside = inside};
        SandboxSpec spec = spec_of(world);

        spec.mounts = &mount;
        spec.n_mounts = 1;
        return wrap(world, &spec);
}

/* Where the words stand one after the other, from `from` on; -1: nowhere. */
static int find(const World *world, int from, const char *a, const char *b, const char *c) {
        for (size_t i = (size_t)from; i + 2 < world->argv.n; i++)
                if (strcmp(world->argv.items[i], a) == 0 && strcmp(world->argv.items[i + 1], b) == 0 &&
                    (!c || strcmp(world->argv.items[i + 2], c) == 0))
                        return (int)i;
        return -1;
}

static const char *at_path(const World *world, const char *name, char *ret, size_t n) {
        snprintf(ret, n, "%s/%s", world->path, name);
        return ret;
}

/* ---- names
 * ------------------------------------------------------------------------------------------------------------------------
 */

static void test_names(_unused_ void **state) {
        assert_int_equal(sandbox_network_from_name("none"), SANDBOX_NETWORK_NONE);
        assert_int_equal(sandbox_network_from_name("veth"), SANDBOX_NETWORK_OWN);
        assert_int_equal(sandbox_network_from_name("mesh"), -EINVAL);
}

/* ---- paths
 * ------------------------------------------------------------------------------------------------------------------------
 */

static void test_normal_paths(_unused_ void **state) {
        static const char *const cases[][2] = {
                {"/a/b", "/a/b"}, {"//a///b/", "/a/b"}, {"/", "/"}, {"/a/..b", "/a/..b"}};
        static const char *const wrong[] = {"a", "", "/a/../b", "/..", "/a/./b", "~/a"};
        char *path;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_int_equal(sandbox_path_normal(cases[i][0], &path), 0);
                assert_string_equal(path, cases[i][1]);
                free(path);
        }
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(sandbox_path_normal(wrong[i], &path), -EINVAL);
}

static void test_within(_unused_ void **state) {
        assert_true(sandbox_path_is_within("/a/b", "/a"));
        assert_true(sandbox_path_is_within("/a", "/a"));
        assert_true(sandbox_path_is_within("/a/b", "/a/"));
        assert_false(sandbox_path_is_within("/ab", "/a"));
        assert_false(sandbox_path_is_within("/a", "/a/b"));
}

static void test_resolve_keeps_what_is_missing(void **state) {
        World *world = *state;
        char want[128];
        char *path;

        assert_int_equal(symlink("home", "link"), 0);
        assert_int_equal(sandbox_path_resolve(at_path(world, "link/new/file", want, sizeof(want)), &path),
                         0);
        assert_string_equal(path, at_path(world, "home/new/file", want, sizeof(want)));
        free(path);
        assert_int_equal(symlink("nowhere", "dangling"), 0);
        assert_int_equal(sandbox_path_resolve(at_path(world, "dangling/x", want, sizeof(want)), &path),
                         -ELOOP);
}

/* ---- the command line
 * ---------------------------------------------------------------------------------------------------------------
 */

static void test_none_is_a_copy(void **state) {
        World *world = *state;
        SandboxSpec spec = {.mode = SANDBOX_NONE};

        assert_int_equal(wrap(world, &spec), 0);
        assert_int_equal(world->argv.n, 3);
        assert_string_equal(world->argv.items[2], "exit 7");
        assert_null(world->argv.items[3]);
}

static void test_command_line(void **state) {
        World *world = *state;
        SandboxSpec spec = spec_of(world);
        int root, workspace, confine;

        assert_int_equal(wrap(world, &spec), 0);
        assert_int_equal(find(world, 0, "/opt/muster-sandbox", "enter", "/usr/bin/bwrap"), 0);
        root = find(world, 0, "--ro-bind", "/", "/");
        workspace = find(world, 0, "--bind", world->workspace, world->workspace);
        confine = find(world, 0, "--", "/opt/muster-sandbox", "confine");
        assert_true(root > 0 && workspace > root && confine > workspace);
        assert_true(find(world, 0, "--cap-drop", "ALL", NULL) > 0);
        assert_true(find(world, 0, "--tmpfs", "/tmp", NULL) > root);
        assert_true(find(world, 0, "--ro-bind", "/proc/sys", "/proc/sys") > root);
        assert_true(find(world, 0, "--chdir", world->workspace, NULL) > workspace);
        assert_true(find(world, confine, "--write", world->workspace, NULL) > confine);
        assert_int_equal(find(world, confine, "--", "sh", "-c"), (int)world->argv.n - 4);
        assert_null(world->argv.items[world->argv.n]);
        for (size_t i = 0; i < world->argv.n; i++) {
                assert_string_not_equal(world->argv.items[i], "--new-session");
                assert_string_not_equal(world->argv.items[i], "--unshare-net");
        }
}

static void test_network_none(void **state) {
        World *world = *state;
        SandboxSpec spec = spec_of(world);

        spec.network = SANDBOX_NETWORK_NONE;
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--unshare-net", "--ro-bind", "/") > 0);
}

static void test_host_name_is_made_valid(void **state) {
        World *world = *state;
        SandboxSpec spec = spec_of(world);
        char name[301];

        memset(name, 'n', 300);
        name[300] = 0;
        name[1] = '/';
        spec.name = name;
        assert_int_equal(wrap(world, &spec), 0);
        name[1] = '-';
        name[63] = 0;
        assert_true(find(world, 0, "--hostname", name, NULL) > 0);
        spec.name = "";
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--hostname", "sandbox", NULL) > 0);
}

static void test_workspaces_that_cannot_be(void **state) {
        World *world = *state;
        char *hidden[] = {world->home, NULL};
        SandboxSpec spec = spec_of(world);
        static const char *const wrong[] = {"/",    "/proc",           "/dev/shm",
                                            "/sys", "/no/such/folder", "/etc/passwd"};

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                spec.workspace = wrong[i];
                assert_int_equal(wrap(world, &spec), SANDBOX_E_WORKSPACE);
                assert_non_null(strstr(world->report.problem, wrong[i]));
        }
        spec.workspace = world->workspace;
        spec.hidden = hidden;
        assert_int_equal(wrap(world, &spec), SANDBOX_E_WORKSPACE);
}

static void test_workspace_by_a_link(void **state) {
        World *world = *state;
        SandboxSpec spec = spec_of(world);
        char link[128];

        assert_int_equal(symlink(world->workspace, "link"), 0);
        spec.workspace = at_path(world, "link", link, sizeof(link));
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--bind", world->workspace, world->workspace) > 0);
}

static void test_commands_that_are_missing(void **state) {
        World *world = *state;
        SandboxSpec spec = spec_of(world);
        static const struct {
                char *name;
                int error;
        } cases[] = {{"no-such-program-here", ENOENT},
                     {"./plain", EACCES},
                     {"./folder", EACCES},
                     {"", ENOENT},
                     {"./good", 0}};

        assert_int_equal(file_replace("home/project/plain", STR("x"), 0600, FILE_RUNTIME), 0);
        assert_int_equal(file_replace("home/project/good", STR("x"), 0700, FILE_RUNTIME), 0);
        assert_int_equal(mkdir("home/project/folder", 0700), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *const command[] = {cases[i].name, NULL};

                strvec_deinit(&world->argv);
                assert_int_equal(sandbox_wrap(&spec, command, &world->argv, &world->report),
                                 cases[i].error ? SANDBOX_E_COMMAND : 0);
                assert_int_equal(world->report.command_errno, cases[i].error);
        }
}

/* ---- mounts
 * -------------------------------------------------------------------------------------------------------------------------
 */

static void test_mount_of_the_home(void **state) {
        World *world = *state;
        char data[128];

        at_path(world, "home/data", data, sizeof(data));
        assert_int_equal(wrap_mount(world, "~/data", "/tmp/data"), 0);
        assert_true(find(world, 0, "--ro-bind", data, "/tmp/data") > 0);
        assert_int_equal(find(world, 0, "--write", "/tmp/data", NULL), -1);
        assert_int_equal(world->report.warnings.n, 0);
}

static void test_writable_mount(void **state) {
        World *world = *state;
        SandboxMount mount = {.host = "~/data", .inside = "~/data", .is_writable = true};
        SandboxSpec spec = spec_of(world);
        char data[128];

        at_path(world, "home/data", data, sizeof(data));
        spec.mounts = &mount;
        spec.n_mounts = 1;
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--bind", data, data) > 0);
        assert_true(find(world, 0, "--write", data, NULL) > 0);
}

static void test_missing_mount_is_skipped(void **state) {
        World *world = *state;

        assert_int_equal(wrap_mount(world, "~/nothing", "/tmp/x"), 0);
        assert_int_equal(world->report.warnings.n, 1);
        assert_string_equal(world->report.warnings.items[0], "mount ~/nothing: does not exist, skipped");
        assert_int_equal(find(world, 0, "--ro-bind", "/tmp/x", NULL), -1);
}

static void test_mounts_from_elsewhere(void **state) {
        World *world = *state;
        char outside[128], above[128], sibling[128];
        const char *const wrong[] = {
                "/etc",
                "/",
                "relative",
                "~other/x",
                "",
                at_path(world, "outside", outside, sizeof(outside)),
                at_path(world, "home/../outside", above, sizeof(above)),
                at_path(world, "homework", sibling, sizeof(sibling)),
        };

        assert_int_equal(mkdir("homework", 0700), 0);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(wrap_mount(world, wrong[i], "/tmp/x"), SANDBOX_E_MOUNT);
}

static void assert_skipped(World *world, const char *host) {
        assert_int_equal(wrap_mount(world, host, "/tmp/x"), 0);
        assert_int_equal(world->report.warnings.n, 1);
        assert_non_null(strstr(world->report.warnings.items[0], "is a link"));
        for (size_t i = 0; i < world->argv.n; i++)
                assert_string_not_equal(world->argv.items[i], "/tmp/x");
}

static void test_links_that_lead_out(void **state) {
        World *world = *state;
        char link[128];

        assert_int_equal(symlink("/etc", "home/link"), 0);
        assert_skipped(world, "~/link");
        assert_int_equal(symlink("../outside", "home/relative"), 0);
        assert_skipped(world, "~/relative");
        assert_int_equal(mkdir("outside/deep", 0700), 0);
        assert_skipped(world, "~/relative/deep");
        /* The agent can make links in its workspace: they must not choose a folder of the home. */
        assert_int_equal(symlink("../data", "home/project/link"), 0);
        assert_skipped(world, at_path(world, "home/project/link", link, sizeof(link)));
        /* Nor does it matter that it leads to a place that could be mounted by its name. */
        assert_int_equal(symlink("data", "home/inner"), 0);
        assert_skipped(world, "~/inner");
}

static void test_dots_are_worked_out_by_the_text(void **state) {
        World *world = *state;
        char beside[128], data[128];

        at_path(world, "home/data", data, sizeof(data));
        assert_int_equal(wrap_mount(world, at_path(world, "home/project/./../data", beside, sizeof(beside)),
                                    "/tmp/x"),
                         0);
        assert_true(find(world, 0, "--ro-bind", data, "/tmp/x") > 0);
}

static void test_a_home_that_is_a_link(void **state) {
        World *world = *state;
        SandboxMount mount = {.host = "~/data", .inside = "~/data"};
        SandboxSpec spec = spec_of(world);
        char home[128], data[128];

        assert_int_equal(symlink("home", "user"), 0);
        spec.home = at_path(world, "user", home, sizeof(home));
        spec.mounts = &mount;
        spec.n_mounts = 1;
        at_path(world, "home/data", data, sizeof(data));
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--ro-bind", data, data) > 0);
}

static void test_places_that_cannot_be_mounted_on(void **state) {
        World *world = *state;
        const char *const wrong[] = {"/",  "/proc/1",     "/dev", "/sys/x",         "~",
                                     "..", "/tmp/../etc", "",     world->workspace, "/var"};

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(wrap_mount(world, "~/data", wrong[i]), SANDBOX_E_MOUNT);
}

static void test_mount_points(void **state) {
        World *world = *state;

        assert_int_equal(wrap_mount(world, "~/data", "/no-such-place/x"), 0); /* the root is read-only */
        assert_int_equal(world->report.warnings.n, 1);
        assert_int_equal(wrap_mount(world, "~/data", "/etc/passwd"), 0); /* a file */
        assert_int_equal(world->report.warnings.n, 1);
        assert_int_equal(wrap_mount(world, "~/data", "~/new/place"), 0); /* made for it */
        assert_int_equal(world->report.warnings.n, 0);
        assert_int_equal(access("home/new/place", F_OK), 0);
        assert_int_equal(file_replace("home/file", STR("x"), 0600, FILE_RUNTIME), 0);
        assert_int_equal(wrap_mount(world, "~/file", "~/other"),
                         0); /* no empty files in the home of people */
        assert_int_equal(world->report.warnings.n, 1);
}

static void test_later_mount_wins_and_parents_come_first(void **state) {
        World *world = *state;
        SandboxMount mounts[] = {{.host = "~/data", .inside = "/tmp/a/b"},
                                 {.host = "~/project", .inside = "/tmp/a"},
                                 {.host = "~/data", .inside = "/tmp/a"}};
        SandboxSpec spec = spec_of(world);
        char data[128];
        int parent, child;

        at_path(world, "home/data", data, sizeof(data));
        spec.mounts = mounts;
        spec.n_mounts = ARRAY_SIZE(mounts);
        assert_int_equal(wrap(world, &spec), 0);
        parent = find(world, 0, "--ro-bind", data, "/tmp/a");
        child = find(world, 0, "--ro-bind", data, "/tmp/a/b");
        assert_true(parent > 0 && child > parent);
        assert_int_equal(find(world, 0, "--ro-bind", world->workspace, "/tmp/a"), -1);
}

static void test_hidden(void **state) {
        World *world = *state;
        char state_dir[128], *hidden[] = {state_dir, "/no/such/thing", NULL};
        SandboxMount mount = {.host = "~/state/x", .inside = "/tmp/x"};
        SandboxSpec spec = spec_of(world);

        assert_int_equal(mkdir("home/state", 0700), 0);
        assert_int_equal(mkdir("home/state/x", 0700), 0);
        at_path(world, "home/state", state_dir, sizeof(state_dir));
        spec.workspace = world->home; /* writable, and our state lies in it */
        spec.hidden = hidden;
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--tmpfs", state_dir, NULL) >
                    find(world, 0, "--bind", world->home, world->home));
        assert_int_equal(find(world, 0, "--tmpfs", "/no/such/thing", NULL), -1);
        spec.mounts = &mount;
        spec.n_mounts = 1;
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        mount.host = "~"; /* holds it */
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
}

static void test_persist(void **state) {
        World *world = *state;
        char host[128], inside[128];
        SandboxMount persist = {.host = host, .inside = "~/.agent"};
        SandboxSpec spec = spec_of(world);

        at_path(world, "home/.ours/agent", host, sizeof(host));
        at_path(world, "home/.agent", inside, sizeof(inside));
        spec.persist = &persist;
        spec.n_persist = 1;
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--bind", host, inside) > 0);
        assert_true(find(world, 0, "--write", inside, NULL) > 0);
        persist.inside = "/etc";
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        persist.inside = "~";
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        persist.inside = "~/../x";
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        assert_int_equal(symlink("/etc", "home/link"), 0);
        persist.inside = "~/link";
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        assert_int_equal(symlink("nowhere", "home/dangling"), 0);
        persist.inside = "~/dangling";
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
}

/* What an agent leaves in a folder of its own leads nowhere: neither as the folder nor on the way to it. */
static void test_links_in_persistent_folders(void **state) {
        World *world = *state;
        char host[128];
        SandboxMount persist = {.host = host, .inside = "~/.agent"};
        SandboxSpec spec = spec_of(world);

        spec.persist = &persist;
        spec.n_persist = 1;
        assert_int_equal(mkdir("home/.ours", 0700), 0);
        assert_int_equal(symlink("../..", "home/.ours/x"), 0);
        at_path(world, "home/.ours/x", host, sizeof(host));
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        assert_non_null(strstr(world->report.problem, "a link is on the way"));
        at_path(world, "home/.ours/x/outside/new", host, sizeof(host));
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
        assert_int_not_equal(access("outside/new", F_OK), 0);
        at_path(world, "outside/new", host, sizeof(host));
        assert_int_equal(wrap(world, &spec), SANDBOX_E_MOUNT);
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void test_concealed(void **state) {
        World *world = *state;
        char keys[128], shown[128], *conceal[] = {"~/.keys", "~/token", "~/nothing", NULL};
        SandboxMount mount = {.host = "~/.keys", .inside = "~/.keys"};
        SandboxSpec spec = spec_of(world);

        assert_int_equal(mkdir("home/.keys", 0700), 0);
        assert_int_equal(file_replace("home/token", STR("x"), 0600, FILE_RUNTIME), 0);
        at_path(world, "home/.keys", keys, sizeof(keys));
        at_path(world, "home/token", shown, sizeof(shown));
        spec.conceal = conceal;
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--tmpfs", keys, NULL) > 0);
        assert_true(find(world, 0, "--ro-bind", "/dev/null", shown) > 0);
        spec.mounts = &mount;
        spec.n_mounts = 1;
        assert_int_equal(wrap(world, &spec), 0); /* of the project's file: it says nothing */
        assert_int_equal(world->report.warnings.n, 1);
        assert_true(find(world, 0, "--tmpfs", keys, NULL) > 0);
        mount.shows_hidden = true;
        assert_int_equal(wrap(world, &spec), 0);
        assert_int_equal(find(world, 0, "--tmpfs", keys, NULL), -1);
        assert_true(find(world, 0, "--ro-bind", keys, keys) > 0);
}

/* A folder that is mounted elsewhere takes no secret with it. */
static void test_concealed_in_a_mount(void **state) {
        World *world = *state;
        char *conceal[] = {"~/data/key", NULL}, data[128];
        SandboxMount mount = {.host = "~/data", .inside = "/tmp/x", .shows_hidden = true};
        SandboxSpec spec = spec_of(world);

        assert_int_equal(file_replace("home/data/key", STR("x"), 0600, FILE_RUNTIME), 0);
        spec.conceal = conceal;
        spec.mounts = &mount;
        spec.n_mounts = 1;
        assert_int_equal(wrap(world, &spec), 0);
        assert_true(find(world, 0, "--ro-bind", "/dev/null", "/tmp/x/key") > 0);
        assert_true(find(world, 0, "--ro-bind", "/dev/null",
                         at_path(world, "home/data/key", data, sizeof(data))) > 0);
        mount.is_login = true; /* the runtime whose it is */
        mount.inside = "~/data";
        assert_int_equal(wrap(world, &spec), 0);
        assert_int_equal(find(world, 0, "--ro-bind", "/dev/null", NULL), -1);
        assert_string_equal(buf_cstr(&world->report.login), "~/data read-only");
}

/* ---- for the black-box tests
 * ----------------------------------------------------------------------------------------------------------
 */

enum { OPTIONS_MAX = 16 };

typedef struct Options {
        SandboxSpec spec;
        SandboxMount mounts[OPTIONS_MAX], persist[OPTIONS_MAX];
        char *hidden[OPTIONS_MAX];
        size_t n_hidden;
} Options;

static SandboxMount split_mount(char *text, bool is_writable) {
        char *colon = strchr(text, ':');

        *colon = 0;
        return (SandboxMount){.host = text, .inside = colon + 1, .is_writable = is_writable};
}

static void take_option(Options *options, char *text) {
        char *value = strchr(text, '=') + 1;

        if (text[0] == 'm' || text[0] == 'w')
                options->mounts[options->spec.n_mounts++] = split_mount(value, text[0] == 'w');
        else if (text[0] == 'p')
                options->persist[options->spec.n_persist++] = split_mount(value, true);
        else if (text[0] == 'h')
                options->hidden[options->n_hidden++] = value;
        else if (strncmp(text, "name", 4) == 0)
                options->spec.name = value;
        else
                options->spec.network = (SandboxNetwork)sandbox_network_from_name(value);
}

static char *helper_path(void) {
        static char path[4096];
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

        path[n > 0 ? n : 0] = 0;
        strcpy(strrchr(path, '/') + 1, "muster-sandbox");
        return path;
}

static int show_probe(void) {
        SandboxKnown known = {0};
        SandboxProbe probe;
        int r = sandbox_probe(helper_path(), SANDBOX_NETWORK_NONE, &known, &probe);

        printf("%d %d %d\n%s\n%s\n%s\n", probe.is_available, probe.has_network, probe.landlock,
               probe.program ? probe.program : "", probe.reason, probe.network_reason);
        sandbox_probe_deinit(&probe);
        return r ? 1 : 0;
}

static int become(char **argv) {
        Options options = {
                .spec = {.mode = SANDBOX_BWRAP, .helper = helper_path(), .name = "test", .env = environ}};
        SandboxReport report = {0};
        StrVec wrapped = {0};
        int i = 3, r;

        options.spec.bwrap = "/usr/bin/bwrap";
        options.spec.workspace = argv[1];
        options.spec.home = argv[2];
        for (; strcmp(argv[i], "--") != 0; i++)
                take_option(&options, argv[i]);
        options.spec.mounts = options.mounts;
        options.spec.persist = options.persist;
        options.spec.hidden = options.hidden;
        r = sandbox_wrap(&options.spec, argv + i + 1, &wrapped, &report);
        for (size_t k = 0; k < report.warnings.n; k++)
                fprintf(stderr, "warning: %s\n", report.warnings.items[k]);
        if (r) {
                fprintf(stderr, "refused: %d %s\n", r, report.problem);
                return 99;
        }
        if (getenv("WAIT_FOR_LINE")) { /* between the checks and the mounts */
                fprintf(stderr, "checked\n");
                (void)getchar();
        }
        execv(wrapped.items[0], wrapped.items);
        perror(wrapped.items[0]);
        return 98;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_normal_paths),
                cmocka_unit_test(test_within),
                cmocka_unit_test_setup_teardown(test_resolve_keeps_what_is_missing, world_make,
                                                world_remove),
                cmocka_unit_test_setup_teardown(test_none_is_a_copy, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_command_line, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_network_none, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_host_name_is_made_valid, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_workspaces_that_cannot_be, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_workspace_by_a_link, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_commands_that_are_missing, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_mount_of_the_home, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_writable_mount, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_missing_mount_is_skipped, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_mounts_from_elsewhere, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_links_that_lead_out, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_a_home_that_is_a_link, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_dots_are_worked_out_by_the_text, world_make,
                                                world_remove),
                cmocka_unit_test_setup_teardown(test_links_in_persistent_folders, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_concealed, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_concealed_in_a_mount, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_places_that_cannot_be_mounted_on, world_make,
                                                world_remove),
                cmocka_unit_test_setup_teardown(test_mount_points, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_later_mount_wins_and_parents_come_first, world_make,
                                                world_remove),
                cmocka_unit_test_setup_teardown(test_hidden, world_make, world_remove),
                cmocka_unit_test_setup_teardown(test_persist, world_make, world_remove),
        };

        if (argc == 2 && strcmp(argv[1], "probe") == 0)
                return show_probe();
        return argc > 1 ? become(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
