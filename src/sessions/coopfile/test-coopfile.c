/* SPDX-License-Identifier: MIT */
#include "sessions/coopfile/coopfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/file.h"
#include "base/macro.h"
#include "base/utf8.h"

/* Every test has a home and a workspace of its own, both empty; the working directory is somewhere else. */
typedef struct Place {
        char path[64], workspace[96], global[160], project[128];
        char message[512];
        Coopfile file;
} Place;

static int place_make(void **state) {
        Place *place = calloc(1, sizeof(*place));
        char folder[128];

        *state = place;
        strcpy(place->path, "/tmp/test-coopfile.XXXXXX");
        if (!mkdtemp(place->path))
                return -1;
        snprintf(place->workspace, sizeof(place->workspace), "%s/ws", place->path);
        snprintf(place->project, sizeof(place->project), "%s/coop.toml", place->workspace);
        snprintf(folder, sizeof(folder), "%s/.config/coop", place->path);
        snprintf(place->global, sizeof(place->global), "%s/default.toml", folder);
        setenv("HOME", place->path, 1);
        unsetenv("XDG_CONFIG_HOME");
        return dir_make(place->workspace, 0755) || dir_make(folder, 0755) || chdir("/");
}

static int place_remove(void **state) {
        _cleanup_(freep) Place *place = *state;
        char command[128];

        coopfile_deinit(&place->file);
        snprintf(command, sizeof(command), "rm -rf %s", place->path);
        return system(command) == 0 ? 0 : -1;
}

static void write_file(const char *path, const char *text) {
        assert_int_equal(file_replace(path, str_from(text), 0644, FILE_RUNTIME), 0);
}

static int try_load(Place *place, Str override) {
        coopfile_deinit(&place->file);
        place->message[0] = 0;
        return coopfile_load(&place->file, place->workspace, override, NULL, place->message,
                             sizeof(place->message));
}

static const Coopfile *load(Place *place, const char *override) {
        int r = try_load(place, str_from(override));

        if (r)
                fail_msg("%d: %s", r, place->message);
        return &place->file;
}

/* Texts of all three layers; NULL: none. */
static const Coopfile *load_layers(Place *place, const char *global, const char *project,
                                   const char *override) {
        if (global)
                write_file(place->global, global);
        if (project)
                write_file(place->project, project);
        return load(place, override);
}

static void assert_refused(Place *place, const char *override, const char *message) {
        assert_int_equal(try_load(place, str_from(override)), COOPFILE_E_INVALID);
        assert_string_equal(place->message, message);
        assert_null(place->file.command); /* untouched */
}

/* want: items with | between them. */
static void assert_list(const StrVec *vec, const char *want) {
        _cleanup_(buf_deinit) Buf got = BUF_NULL;

        for (size_t i = 0; i < vec->n; i++)
                assert_int_equal(buf_printf(&got, "%s%s", i ? "|" : "", vec->items[i]), 0);
        assert_string_equal(buf_cstr(&got), want);
}

static void assert_below(const Place *place, const char *path, const char *rest) {
        char want[256];

        snprintf(want, sizeof(want), "%s%s", place->path, rest);
        assert_string_equal(path, want);
}

static void test_defaults(void **state) {
        Place *place = *state;
        const Coopfile *file = load(place, NULL);

        assert_string_equal(file->command, "claude");
        assert_list(&file->args, "");
        assert_null(file->shell);
        assert_null(file->image);
        assert_null(file->user);
        assert_int_equal(file->n_mounts, 0);
        assert_below(place, file->workspace_mount, "/ws");
        assert_null(file->workspace_path);
        assert_list(&file->env, "");
        assert_string_equal(file->network, "host");
        assert_list(&file->persist, ".claude");
        assert_true(file->auto_restart);
        assert_int_equal(file->restart_delay_ms, 1000);
        assert_int_equal(file->restart_delay_max_ms, 60000);
        assert_int_equal(file->restart_limit, 3);
        assert_string_equal(file->size, "last");
        assert_int_equal(file->ctrl_c_debounce_ms, 500);
        assert_int_equal(file->n_block_sequences, 0);
        assert_null(file->sandbox_mode);
        assert_false(file->record);
        assert_list(&file->setup, "");
        assert_int_equal(file->n_packages, 0);
        assert_string_equal(load(place, "# nothing\n")->command, "claude");
}

/* The schema with a table for each matter. */
static void test_agent_schema(void **state) {
        const Coopfile *file = load(*state, "[agent]\n"
                                            "command = 'codex'\n"
                                            "args = ['--full-auto', '']\n"
                                            "install = 'npm install codex'\n"
                                            "[base]\n"
                                            "image = 'debian:12'\n"
                                            "[setup]\n"
                                            "run = ['a', 'b']\n"
                                            "[packages]\n"
                                            "apt = ['git', 'curl']\n"
                                            "npm = []\n"
                                            "[workspace]\n"
                                            "mount = 'sub'\n"
                                            "path = '~/work'\n"
                                            "[network]\n"
                                            "mode = 'host'\n"
                                            "[session]\n"
                                            "persist = ['.codex', '.cache/x']\n"
                                            "auto_restart = false\n"
                                            "restart_delay_ms = 0\n"
                                            "record = true\n"
                                            "[input_filter]\n"
                                            "ctrl_c_debounce_ms = 86400000\n");

        assert_string_equal(file->command, "codex");
        assert_list(&file->args, "--full-auto|");
        assert_list(&file->setup, "npm install codex|a|b");
        assert_string_equal(file->image, "debian:12");
        assert_int_equal(file->n_packages, 2);
        assert_string_equal(file->packages[0].manager, "apt");
        assert_list(&file->packages[0].names, "git|curl");
        assert_list(&file->packages[1].names, "");
        assert_below(*state, file->workspace_mount, "/ws/sub");
        assert_below(*state, file->workspace_path, "/work");
        assert_string_equal(file->network, "host");
        assert_list(&file->persist, ".codex|.cache/x");
        assert_false(file->auto_restart);
        assert_int_equal(file->restart_delay_ms, 0);
        assert_true(file->record);
        assert_int_equal(file->ctrl_c_debounce_ms, 86400000);
}

/* The schema with most of it in [sandbox], and the names that came later. */
static void test_sandbox_schema(void **state) {
        const Coopfile *file = load(*state, "[sandbox]\n"
                                            "command = 'aider'\n"
                                            "args = ['-v']\n"
                                            "setup = ['x']\n"
                                            "image = 'alpine'\n"
                                            "user = 'dev_1.x'\n"
                                            "shell = '/bin/bash'\n"
                                            "mode = 'bwrap'\n"
                                            "mounts = ['/a:~/a']\n");

        assert_string_equal(file->command, "aider");
        assert_list(&file->args, "-v");
        assert_list(&file->setup, "x");
        assert_string_equal(file->image, "alpine");
        assert_string_equal(file->user, "dev_1.x");
        assert_string_equal(file->shell, "/bin/bash");
        assert_string_equal(file->sandbox_mode, "bwrap");
        assert_below(*state, file->mounts[0].inside, "/a");
        assert_string_equal(load(*state, "sandbox = {agent = 'goose'}")->command, "goose");
}

static void test_scalars_replace(void **state) {
        const Coopfile *file =
                load_layers(*state,
                            "[sandbox]\ncommand = 'a'\nargs = ['1', '2']\nshell = '/s1'\nmode = 'none'\n"
                            "[session]\npersist = ['.a', '.b']\nrestart_delay_ms = 7\nauto_restart = false\n"
                            "[network]\nmode = 'none'\n[input_filter]\nctrl_c_debounce_ms = 9\n",
                            "[agent]\ncommand = 'b'\n[session]\npersist = ['.c']\n",
                            "[agent]\nargs = []\n[sandbox]\nshell = '/s3'\n");

        assert_string_equal(file->command, "b");
        assert_list(&file->args, "");
        assert_string_equal(file->shell, "/s3");
        assert_list(&file->persist, ".c");
        /* What a layer does not mention it leaves alone. */
        assert_int_equal(file->restart_delay_ms, 7);
        assert_false(file->auto_restart);
        assert_string_equal(file->network, "none");
        assert_int_equal(file->ctrl_c_debounce_ms, 9);
        assert_string_equal(file->sandbox_mode, "none");
}

static void test_lists_append(void **state) {
        Place *place = *state;
        const Coopfile *file = load_layers(
                place,
                "[sandbox]\nsetup = ['1']\nmounts = ['/a:/1']\n[input_filter]\nblock_sequences = ['a']\n",
                "[setup]\nrun = '2'\n[sandbox]\nmounts = [{host = '/b', container = '/2'}, '/c:/3']\n",
                "[agent]\ninstall = ['3']\n[sandbox]\nsetup = ['4']\nmounts = ['/a:/1']\n"
                "[input_filter]\nblock_sequences = ['b']\n");

        assert_list(&file->setup, "1|2|3|4");
        assert_int_equal(file->n_mounts, 4);
        assert_string_equal(file->mounts[1].host, "/b");
        assert_string_equal(file->mounts[1].inside, "/2");
        assert_string_equal(file->mounts[3].inside, "/1");
        assert_int_equal(file->n_block_sequences, 2);
        assert_memory_equal(file->block_sequences[1].data, "b", 1);
}

static void test_maps_add_up(void **state) {
        const Coopfile *file =
                load_layers(*state, "[env]\nA = '1'\nAB = '2'\n[packages]\napt = ['x']\nnpm = ['y']\n",
                            "[env]\nB = '3'\n[packages]\napt = ['z', 'w']\n", "env = {A = '', C = 'a=b'}");

        assert_list(&file->env, "A=|AB=2|B=3|C=a=b");
        assert_int_equal(file->n_packages, 2);
        assert_list(&file->packages[0].names, "z|w");
        assert_list(&file->packages[1].names, "y");
}

static void test_env_expands(void **state) {
        const Coopfile *file;

        setenv("TEST_COOPFILE_TOKEN", "$HOME s3cret", 1);
        unsetenv("TEST_COOPFILE_NONE");
        file = load_layers(*state, "[env]\nGONE = '$TEST_COOPFILE_NONE'\nSET = '$TEST_COOPFILE_NONE'\n",
                           NULL,
                           "[env]\nTOKEN = '$TEST_COOPFILE_TOKEN'\nPART = 'x$TEST_COOPFILE_TOKEN'\n"
                           "WHOLE = '$TEST_COOPFILE_TOKEN/x'\nBARE = '$'\nSET = 'now'\n");
        assert_list(&file->env, "GONE=|SET=now|TOKEN=$HOME s3cret|PART=x$TEST_COOPFILE_TOKEN|WHOLE=|BARE=");
        assert_list(&file->env_unset, "GONE|WHOLE|BARE");
}

/* Neither the value as written nor the one of the host is in a message. */
static void test_env_is_not_told(void **state) {
        Place *place = *state;
        static const char *const texts[] = {"[env]\nA = '$TEST_COOPFILE_TOKEN'\n'' = 's3cret'\n",
                                            "[env]\n'a=b' = 's3cret'\n", "[env]\nA = ['s3cret']\n",
                                            "[env]\nA = \"s3cret\\u0000\"\n", "[env]\nA = 's3cret'\n[x]\n"};

        setenv("TEST_COOPFILE_TOKEN", "s3cret", 1);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                assert_int_equal(try_load(place, str_from(texts[i])), COOPFILE_E_INVALID);
                assert_true(*place->message);
                assert_null(strstr(place->message, "s3cret"));
        }
}

static void test_mounts(void **state) {
        Place *place = *state;
        const Coopfile *file =
                load(place, "[sandbox]\nmounts = ['~:~', '~/.ssh:~/.ssh', './data:/data', "
                            "'.:/here', '../up:/up',\n"
                            "  'a/b:/ab', {host = '/x:y', container = '/c:d'}, '/abs:/abs/']\n");

        assert_int_equal(file->n_mounts, 8);
        assert_below(place, file->mounts[0].host, "");
        assert_below(place, file->mounts[0].inside, "");
        assert_below(place, file->mounts[1].host, "/.ssh");
        assert_below(place, file->mounts[1].inside, "/.ssh");
        assert_below(place, file->mounts[2].host, "/ws/data");
        assert_below(place, file->mounts[3].host, "/ws");
        assert_below(place, file->mounts[4].host, "/ws/../up");
        assert_below(place, file->mounts[5].host, "/ws/a/b");
        assert_string_equal(file->mounts[6].host, "/x:y");
        assert_string_equal(file->mounts[6].inside, "/c:d");
        assert_string_equal(file->mounts[7].host, "/abs");
}

static void test_block_sequences(void **state) {
        const Coopfile *file = load(*state, "[input_filter]\nblock_sequences = ['\\x00a\\xfF', \"/q\\r\", "
                                            "'\\n', \"\\u0000\", '\\', 'é']\n");
        static const Str want[] = {STR("\0a\xff"), STR("/q\r"), STR("\\n"), STR("\0"), STR("\\"), STR("é")};

        assert_int_equal(file->n_block_sequences, ARRAY_SIZE(want));
        for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
                assert_int_equal(file->block_sequences[i].n, want[i].n);
                assert_memory_equal(file->block_sequences[i].data, want[i].data, want[i].n);
        }
}

/* What is said of the text of `create`; each message begins with "coopfile". */
static const struct {
        const char *text, *message;
} bad[] = {
        {"[agent", ":1: Error while parsing table header: encountered end-of-file"},
        {"[agent]\ncommand = 'a'\ncommand = 'b'\n", NULL},
        {"\xff", NULL},
        {"\n[agnt]\ncommand = 'x'\n", ":2: agnt: no such table"},
        {"command = 'x'\n", ":1: command: no such table"},
        {"'' = 1\n", ": no such table"},
        {"agent = 'x'\n", ":1: agent: a table is required"},
        {"[[agent]]\ncommand = 'x'\n", ":1: agent: a table is required"},
        {"env = []\n", ":1: env: a table is required"},
        {"# [agent]\n[network]\ncommand = 1\n", ":3: network.command: no such key"},
        {"[agent]\nmode = 'none'\n", ":2: agent.mode: no such key"},
        {"agent.comand = 'x'\n", ":1: agent.comand: no such key"},
        {"agent = {comand = 'x'}\n", ": agent.comand: no such key"},
        {"[ agent . comand ]\n", ":1: agent.comand: no such key"},
        {"[sandbox]\n\"shel l\" = 1\n", ":2: sandbox.shel l: no such key"},
        {"[sandbox]\n\"a\\u001b\" = 1\n", ": sandbox.a?: no such key"},
        {"[agent]\ncommand = 1\n", ":2: agent.command: a string is required"},
        {"[agent]\ncommand = ['x']\n", ":2: agent.command: a string is required"},
        {"[agent]\ncommand = ''\n", ":2: agent.command: must not be empty"},
        {"[agent]\ncommand = \"a\\u0000b\"\n", ":2: agent.command: must not contain a zero byte"},
        {"[agent]\nargs = 'x'\n", ":2: agent.args: a list is required"},
        {"[agent]\nargs = ['x',\n 1]\n", ":2: agent.args[1]: a string is required"},
        {"[agent]\nargs = [\"\\u0000\"]\n", ":2: agent.args[0]: must not contain a zero byte"},
        {"[agent]\ninstall = 1\n", ":2: agent.install: a string or a list of strings is required"},
        {"[setup]\nrun = ['']\n", ":2: setup.run[0]: must not be empty"},
        {"[sandbox]\nsetup = 'x'\n", ":2: sandbox.setup: a list is required"},
        {"[packages]\napt = 'git'\n", ":2: packages.apt: a list is required"},
        {"[packages]\napt = ['git', 2]\n", ":2: packages.apt[1]: a string is required"},
        {"[packages]\n'' = []\n", ":1: packages: not a name for a package manager"},
        {"[base]\nimage = false\n", ":2: base.image: a string is required"},
        {"[sandbox]\ncommand = 'a'\nagent = 'b'\n",
         ":2: sandbox.command: means the same as sandbox.agent, which is here too"},
        {"[agent]\ncommand = 'a'\n[sandbox]\ncommand = 'a'\n",
         ":2: agent.command: means the same as sandbox.command, which is here too"},
        {"[sandbox]\nmode = 'docker'\n", ":2: sandbox.mode: must be none or bwrap"},
        {"[sandbox]\nmode = ''\n", ":2: sandbox.mode: must be none or bwrap"},
        {"[sandbox]\nuser = '../x'\n", NULL},
        {"[sandbox]\nuser = ''\n", NULL},
        {"[sandbox]\nuser = 'a:b'\n", NULL},
        {"[sandbox]\nuser = '-a'\n", NULL},
        {"[sandbox]\nuser = 'abcdefghijklmnopqrstuvwxyzabcdefg'\n",
         ":2: sandbox.user: must be 1 to 32 letters, digits and _ - . and begin with none of - ."},
        {"[sandbox]\nshell = ''\n", ":2: sandbox.shell: must not be empty"},
        {"[sandbox]\nmounts = '/a:/b'\n", ":2: sandbox.mounts: a list is required"},
        {"[sandbox]\nmounts = ['/a:/b', 1]\n",
         ":2: sandbox.mounts[1]: \"host:inside\" or {host, container} is required"},
        {"[sandbox]\nmounts = ['/a']\n", ":2: sandbox.mounts[0]: \"host:inside\" with one colon is "
                                         "required; {host, container} takes any path"},
        {"[sandbox]\nmounts = ['/a:/b:ro']\n", ":2: sandbox.mounts[0]: \"host:inside\" with one colon is "
                                               "required; {host, container} takes any path"},
        {"[sandbox]\nmounts = [':/b']\n", ":2: sandbox.mounts[0]: must not be empty"},
        {"[sandbox]\nmounts = ['/a:']\n", ":2: sandbox.mounts[0]: the path inside must begin with / or ~/"},
        {"[sandbox]\nmounts = ['/a:b']\n", ":2: sandbox.mounts[0]: the path inside must begin with / or ~/"},
        {"[sandbox]\nmounts = ['/a://']\n", ":2: sandbox.mounts[0]: the path inside must not be /"},
        {"[sandbox]\nmounts = ['/a:~/x/../..']\n",
         ":2: sandbox.mounts[0]: the path inside must not contain .."},
        {"[sandbox]\nmounts = ['my vol:/b']\n",
         ":2: sandbox.mounts[0]: a named volume has 1 to 64 letters, digits and _ - . in its name; a path "
         "begins with /, ~/ or ./"},
        {"[sandbox]\nmounts = ['-v:/b']\n", NULL},
        {"[sandbox]\nhide = ['.ssh']\n", ":2: sandbox.hide[0]: must begin with / or ~/"},
        {"[sandbox]\nhide = ['~/a/../..']\n", ":2: sandbox.hide[0]: must not contain .."},
        {"[sandbox]\nlogin = 'yes'\n", ":2: sandbox.login: true or false is required"},
        {"[sandbox]\nmounts = ['~root/x:/b']\n",
         ":2: sandbox.mounts[0]: only ~ and ~/… are known, not the home of another user"},
        {"[sandbox]\nmounts = [{host = '/a'}]\n",
         ":2: sandbox.mounts[0]: exactly the keys host and container are required"},
        {"[sandbox]\nmounts = [{host = '/a', container = '/b', ro = true}]\n",
         ":2: sandbox.mounts[0]: exactly the keys host and container are required"},
        {"[sandbox]\nmounts = [{host = 1, container = '/b'}]\n",
         ":2: sandbox.mounts[0]: a string is required"},
        {"[workspace]\nmount = ''\n", ":2: workspace.mount: must not be empty"},
        {"[workspace]\nmount = '~x'\n", NULL},
        {"[workspace]\npath = 'w'\n", ":2: workspace.path: the path inside must begin with / or ~/"},
        {"[workspace]\npath = '/'\n", ":2: workspace.path: the path inside must not be /"},
        {"[env]\nA = 1\n", ":2: env.A: a string is required"},
        {"[env]\n[env.A]\nB = 'x'\n", ":2: env.A: a string is required"},
        {"[env]\n'a=b' = ''\n", ":2: env.a=b: not a name for a variable"},
        {"[env]\n'' = ''\n", ":1: env: not a name for a variable"},
        {"[env]\n\"a\\u0000\" = ''\n", NULL},
        {"[network]\nmode = 'bridge'\n", ":2: network.mode: must be none, host or veth"},
        {"[network]\nmode = 'Host'\n", ":2: network.mode: must be none, host or veth"},
        {"[network]\nmode = true\n", ":2: network.mode: a string is required"},
        {"[session]\npersist = '.claude'\n", ":2: session.persist: a list is required"},
        {"[session]\npersist = ['../x']\n",
         ":2: session.persist[0]: must be a folder below the home, such as .claude"},
        {"[session]\npersist = ['a/../../x']\n", NULL},
        {"[session]\npersist = ['a/..']\n", NULL},
        {"[session]\npersist = ['/etc']\n", NULL},
        {"[session]\npersist = ['~/x']\n", NULL},
        {"[session]\npersist = ['.']\n", NULL},
        {"[session]\npersist = ['']\n", NULL},
        {"[session]\nauto_restart = 'yes'\n", ":2: session.auto_restart: true or false is required"},
        {"[session]\nauto_restart = 1\n", ":2: session.auto_restart: true or false is required"},
        {"[session]\nrecord = 'no'\n", ":2: session.record: true or false is required"},
        {"[limits]\nmemory_max = '5X'\n", ":2: limits.memory_max: a size is required: 0, or 4096 and more, "
                                          "as a number or a text with K, M, G or T"},
        {"[limits]\nmemory_max = '5MB'\n", ":2: limits.memory_max: a size is required: 0, or 4096 and more, "
                                           "as a number or a text with K, M, G or T"},
        {"[limits]\nmemory_max = -1\n", ":2: limits.memory_max: a size is required: 0, or 4096 and more, as "
                                        "a number or a text with K, M, G or T"},
        {"[limits]\nmemory_max = '99999999999T'\n", ":2: limits.memory_max: a size is required: 0, or 4096 "
                                                    "and more, as a number or a text with K, M, G or T"},
        {"[limits]\npids_max = 'many'\n", ":2: limits.pids_max: an integer is required"},
        {"[limits]\ncpu = 1\n", ":2: limits.cpu: no such key"},
        {"[session]\nrestart_limit = -1\n", ":2: session.restart_limit: must be from 0 to 1000000"},
        {"[session]\nrestart_delay_max_ms = true\n",
         ":2: session.restart_delay_max_ms: an integer is required"},
        {"[session]\nsize = 'largest'\n", ":2: session.size: must be last or smallest"},
        {"[session]\nrestart_delay_ms = '5'\n", ":2: session.restart_delay_ms: an integer is required"},
        {"[session]\nrestart_delay_ms = 1.5\n", ":2: session.restart_delay_ms: an integer is required"},
        {"[session]\nrestart_delay_ms = inf\n", ":2: session.restart_delay_ms: an integer is required"},
        {"[session]\nrestart_delay_ms = -1\n", ":2: session.restart_delay_ms: must be from 0 to 86400000"},
        {"[session]\nrestart_delay_ms = 86400001\n",
         ":2: session.restart_delay_ms: must be from 0 to 86400000"},
        {"[input_filter]\nctrl_c_debounce_ms = -5\n",
         ":2: input_filter.ctrl_c_debounce_ms: must be from 0 to 86400000"},
        {"[input_filter]\nblock_sequences = 'x'\n", ":2: input_filter.block_sequences: a list is required"},
        {"[input_filter]\nblock_sequences = [1]\n",
         ":2: input_filter.block_sequences[0]: a string is required"},
        {"[input_filter]\nblock_sequences = ['']\n",
         ":2: input_filter.block_sequences[0]: must not be empty"},
        {"[input_filter]\nblock_sequences = ['\\x4', 'a']\n",
         ":2: input_filter.block_sequences[0]: two hexadecimal digits must follow \\x"},
        {"[input_filter]\nblock_sequences = ['\\x4g']\n", NULL},
};

static void test_bad_documents(void **state) {
        Place *place = *state;

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                int r = try_load(place, str_from(bad[i].text));

                if (r != COOPFILE_E_INVALID)
                        fail_msg("%zu gave %d: %s", i, r, bad[i].text);
                assert_memory_equal(place->message, "coopfile", 8);
                if (bad[i].message)
                        assert_string_equal(place->message + 8, bad[i].message);
                else
                        assert_true(strlen(place->message) > 12);
        }
}

/* The line is told where it can be found, and not at all rather than wrong. */
static void test_lines(void **state) {
        assert_refused(*state, "[sandbox]\nargs = []\n[session]\nargs = []\n",
                       "coopfile:4: session.args: no such key");
        assert_refused(*state, "[session.x]\nargs = 1\n[session]\n", "coopfile:1: session.x: no such key");
        assert_refused(*state, "[sandbox]\nmounts = [\n  # one\n  '/a:/b',\n  '/a',\n]\nuser = '/'\n",
                       "coopfile:2: sandbox.mounts[1]: \"host:inside\" with one colon is required; {host, "
                       "container} takes any "
                       "path");
        assert_refused(*state, "[network]\r\n\r\n  mode\t=\t'x'\r\n",
                       "coopfile:3: network.mode: must be none, host or veth");
        assert_refused(*state, "[network]\n\"mo\\u0064e\" = 'x'\n",
                       "coopfile: network.mode: must be none, host or veth");
        assert_refused(*state, "[agent]\nnetwork = 1", "coopfile:2: agent.network: no such key");
        assert_refused(*state, "[sandbox]\nsetup = [\n'''\n[network]\nmode = 3'''\n]\n[env]\nX = 4\n",
                       "coopfile:8: env.X: a string is required");
}

static void test_files_are_named(void **state) {
        Place *place = *state;
        char want[256];

        write_file(place->project, "[network]\nmode = 'x'\n");
        snprintf(want, sizeof(want), "%s:2: network.mode: must be none, host or veth", place->project);
        assert_refused(place, "[network]\nmode = 'y'\n", want); /* the lowest that is wrong */
        write_file(place->global, "\n\nfoo = 1\n");
        snprintf(want, sizeof(want), "%s:3: foo: no such table", place->global);
        assert_refused(place, NULL, want);
}

static void test_unreadable(void **state) {
        Place *place = *state;
        char want[256];

        assert_int_equal(mkdir(place->project, 0755), 0);
        snprintf(want, sizeof(want), "%s: Is a directory", place->project);
        assert_refused(place, NULL, want);
        assert_int_equal(rmdir(place->project), 0);
        assert_int_equal(symlink("coop.toml", place->project), 0);
        snprintf(want, sizeof(want), "%s: Too many levels of symbolic links", place->project);
        assert_refused(place, NULL, want);
        assert_int_equal(unlink(place->project), 0);
        assert_int_equal(symlink("/dev/zero", place->project), 0);
        snprintf(want, sizeof(want), "%s: longer than 1 MiB", place->project);
        assert_refused(place, NULL, want);
        assert_int_equal(unlink(place->project), 0);
        assert_int_equal(mkfifo(place->project, 0600), 0);
        assert_string_equal(load(place, NULL)->command, "claude"); /* does not hang */
}

static void test_missing_workspace(void **state) {
        Place *place = *state;

        strcat(place->workspace, "/none");
        assert_string_equal(load(place, NULL)->command, "claude");
}

static void test_sizes(void **state) {
        Place *place = *state;
        const size_t limit = 1 << 20;
        _cleanup_(freep) char *text = malloc(limit + 2);
        char want[256];

        memset(text, '#', limit + 1);
        text[limit + 1] = 0;
        assert_int_equal(try_load(place, (Str){text, limit}), 0);
        assert_refused(place, text, "coopfile: longer than 1 MiB");
        write_file(place->global, text);
        snprintf(want, sizeof(want), "%s: longer than 1 MiB", place->global);
        assert_refused(place, NULL, want);
        text[limit] = 0;
        write_file(place->global, text);
        assert_string_equal(load(place, NULL)->command, "claude");
}

/* A list of n items in front of and behind what is given. */
static void append_items(Buf *text, const char *begin, const char *item, const char *end, size_t n) {
        text->n = 0;
        assert_int_equal(buf_append_str(text, str_from(begin)), 0);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(buf_printf(text, item, i), 0);
        assert_int_equal(buf_append_str(text, str_from(end)), 0);
}

static void test_items_are_bounded(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Place *place = *state;
        const struct {
                const char *begin, *item, *message;
        } cases[] = {
                {"[agent]\nargs = [", "'%zu',", "coopfile:2: agent.args[4096]: more than 4096 items"},
                {"[sandbox]\nmounts = [", "'/a:/%zu',",
                 "coopfile:2: sandbox.mounts[4096]: more than 4096 items"},
                {"[input_filter]\nblock_sequences = [", "'%zu',",
                 "coopfile:2: input_filter.block_sequences[4096]: more than 4096 items"},
                {"env = {Z = ''", ",V%zu = ''", "coopfile: env.V4095: more than 4096 items"},
                {"packages = {Z = []", ",V%zu = []",
                 "coopfile: packages.V4095: more than 4096 package managers"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *end = strchr(cases[i].begin, '[') == cases[i].begin ? "]" : "}";
                const size_t n_max = *end == ']' ? 4096 : 4095;

                append_items(&text, cases[i].begin, cases[i].item, end, n_max);
                assert_string_equal(load(place, buf_cstr(&text))->command, "claude");
                append_items(&text, cases[i].begin, cases[i].item, end, n_max + 1);
                assert_refused(place, buf_cstr(&text), cases[i].message);
        }
}

static void test_sequences_are_bounded(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const char *begin = "[input_filter]\nblock_sequences = [";

        append_items(&text, begin, "'%032zu',", "]", 1024);
        assert_int_equal(load(*state, buf_cstr(&text))->n_block_sequences, 1024);
        append_items(&text, begin, "'%032zu',", "'']", 1024);
        assert_refused(*state, buf_cstr(&text),
                       "coopfile:2: input_filter.block_sequences[1024]: must not be empty");
        append_items(&text, begin, "'%032zu',", "'x']", 1024);
        assert_refused(*state, buf_cstr(&text),
                       "coopfile:2: input_filter.block_sequences[1024]: more than 32768 bytes together");
}

/* Whatever the room: terminated, whole characters, nothing behind the end. */
static void test_message_room(void **state) {
        Place *place = *state;
        Str text = STR("[agent]\n'ééé' = 1\n");
        char message[64];

        for (size_t n = 0; n <= sizeof(message); n++) {
                memset(message, '!', sizeof(message));
                assert_int_equal(
                        coopfile_load(&place->file, place->workspace, text, NULL, n ? message : NULL, n),
                        COOPFILE_E_INVALID);
                if (n == 0)
                        continue;
                assert_true(strnlen(message, n) < n);
                assert_int_equal(utf8_valid_prefix(message, strlen(message)), strlen(message));
                if (n < sizeof(message))
                        assert_int_equal(message[n], '!');
        }
        assert_string_equal(message, "coopfile:2: agent.ééé: no such key");
}

static void test_global_place(void **state) {
        Place *place = *state;
        char folder[128], path[256];

        write_file(place->global, "[agent]\ncommand = 'home'\n");
        snprintf(folder, sizeof(folder), "%s/xdg", place->path);
        snprintf(path, sizeof(path), "%s/coop", folder);
        assert_int_equal(dir_make(path, 0755), 0);
        strcat(path, "/default.toml");
        write_file(path, "[agent]\ncommand = 'xdg'\n");

        assert_string_equal(load(place, NULL)->command, "home");
        setenv("XDG_CONFIG_HOME", folder, 1);
        assert_string_equal(load(place, NULL)->command, "xdg");
        setenv("XDG_CONFIG_HOME", "", 1);
        assert_string_equal(load(place, NULL)->command, "home");
        setenv("XDG_CONFIG_HOME", "relative", 1); /* counts as not set */
        assert_string_equal(load(place, NULL)->command, "home");
        unsetenv("XDG_CONFIG_HOME");
}

static void test_deinit(void **state) {
        Coopfile file = {0};

        (void)state;
        coopfile_deinit(&file);
        coopfile_deinit(&file);
        assert_null(file.command);
}

#define in_place(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void) {
        const struct CMUnitTest tests[] = {
                in_place(test_defaults),
                in_place(test_agent_schema),
                in_place(test_sandbox_schema),
                in_place(test_scalars_replace),
                in_place(test_lists_append),
                in_place(test_maps_add_up),
                in_place(test_env_expands),
                in_place(test_env_is_not_told),
                in_place(test_mounts),
                in_place(test_block_sequences),
                in_place(test_bad_documents),
                in_place(test_lines),
                in_place(test_files_are_named),
                in_place(test_unreadable),
                in_place(test_missing_workspace),
                in_place(test_sizes),
                in_place(test_items_are_bounded),
                in_place(test_sequences_are_bounded),
                in_place(test_message_room),
                in_place(test_global_place),
                cmocka_unit_test(test_deinit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
