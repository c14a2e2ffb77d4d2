/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "core/driver.h"

static const char *driver_line(Arena *arena, const StrList *argv) {
        Str line = STR("");

        for (size_t i = 0; i < argv->n; i++)
                line = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(line), i ? " " : "",
                                    STR_ARG(argv->items[i]));
        return line.data;
}

static const char *asked(Arena *arena, const char *provider, const char *help,
                         const DriverQuestion *question) {
        const Driver *driver = driver_of_provider(str_from(provider));
        DriverFacts facts = {0};
        StrList argv;

        assert_non_null(driver);
        driver_read_help(driver, str_from(help), &facts);
        assert_int_equal(driver_argv(arena, driver, &facts, question, &argv), 0);
        return driver_line(arena, &argv);
}

static void test_providers(_unused_ void **state) {
        assert_string_equal(driver_of_provider(STR("codex_app_server"))->name, "codex");
        assert_string_equal(driver_of_provider(STR("Claude-Code"))->name, "claude");
        assert_string_equal(driver_of_provider(STR("gemini_cli"))->name, "gemini");
        assert_null(driver_of_provider(STR("codexx")));
        assert_null(driver_of_provider(STR_NULL));
}

static void test_codex(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        DriverQuestion question = {.program = STR("codex"),
                                   .model = STR("big"),
                                   .permission = STR("patch"),
                                   .prompt = STR("do it"),
                                   .schema = STR("{}"),
                                   .schema_path = STR("/w/s.json")};

        assert_string_equal(asked(&arena, "codex", "usage: codex exec [--output-schema FILE]", &question),
                            "codex exec --model big --skip-git-repo-check --sandbox workspace-write "
                            "--approval-policy never --color never --output-schema /w/s.json --json -");
        question.model = STR_NULL;
        question.permission = STR("read-only");
        /* -s is the short form of --sandbox today: it says nothing about a schema. */
        assert_string_equal(asked(&arena, "codex", "-s, --sandbox MODE", &question),
                            "codex exec --skip-git-repo-check --sandbox read-only --approval-policy never "
                            "--color never --json -");
        /* One that lists its flags, and not this one, ends with status 2 when it is given. */
        assert_string_equal(asked(&arena, "codex", "--skip-git-repo-check\n--output-schema-x", &question),
                            "codex exec --skip-git-repo-check --sandbox read-only --color never --json -");
        assert_non_null(strstr(asked(&arena, "codex", "--skip-git-repo-check --approval-policy", &question),
                               "--approval-policy never"));
}

static void test_claude(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str tools[] = {STR("Read"), STR("Bash")};
        DriverQuestion question = {.program = STR("/o/claude"),
                                   .permission = STR("patch"),
                                   .prompt = STR("do it"),
                                   .schema = STR("{}"),
                                   .tools = {tools, 2}};

        assert_string_equal(asked(&arena, "claude", "--json-schema SCHEMA", &question),
                            "/o/claude --print --output-format json --no-session-persistence "
                            "--permission-mode dontAsk --json-schema {} --allowedTools Read,Bash do it");
        question.model = STR("m");
        question.tools.n = 0;
        assert_string_equal(
                asked(&arena, "claude", "", &question),
                "/o/claude --model m --print --output-format stream-json "
                "--include-partial-messages --no-session-persistence --permission-mode dontAsk do it");
}

static void test_gemini(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        DriverQuestion question = {.program = STR("gemini"), .model = STR("flash"), .prompt = STR("do it")};

        assert_string_equal(asked(&arena, "gemini", "", &question),
                            "gemini --output-format json --model flash -p do it");
}

/* One argument has a bound, and programs that take the prompt as one take it on their input too. */
static void test_long_prompt(_unused_ void **state) {
        static char text[DRIVER_WORD_MAX + 2];
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        DriverQuestion question = {.program = STR("p")};
        const Driver *gemini = driver_of_provider(STR("gemini"));
        Json *words = NULL;
        StrList argv;

        memset(text, 'x', sizeof(text) - 1);
        question.prompt = (Str){text, DRIVER_WORD_MAX};
        assert_false(driver_pipes(gemini, question.prompt));
        assert_true(driver_pipes(driver_of_provider(STR("codex")), question.prompt));
        assert_int_equal(strlen(asked(&arena, "gemini", "", &question)),
                         strlen("p --output-format json -p ") + DRIVER_WORD_MAX);
        assert_int_equal(json_parse(&arena, "[\"g\",\"{PROMPT}\"]", 16, NULL, &words, NULL), 0);
        assert_int_equal(driver_argv_of(&arena, gemini, words, &question, &argv), 0);
        question.prompt.n++;
        assert_true(driver_pipes(gemini, question.prompt));
        assert_string_equal(asked(&arena, "gemini", "", &question), "p --output-format json");
        assert_string_equal(asked(&arena, "claude", "", &question),
                            "p --print --output-format stream-json --include-partial-messages "
                            "--no-session-persistence --permission-mode dontAsk");
        assert_int_equal(driver_argv_of(&arena, gemini, words, &question, &argv), DRIVER_E_LONG);
}

static int filled(Arena *arena, const char *words, const char **ret) {
        DriverQuestion question = {
                .model = STR("{PROMPT}"), .prompt = STR("a\nb {MODEL}"), .permission = STR("patch")};
        Json *json = NULL;
        StrList argv;
        int r;

        assert_int_equal(json_parse(arena, words, strlen(words), NULL, &json, NULL), 0);
        r = driver_argv_of(arena, driver_of_provider(STR("gemini")), json, &question, &argv);
        *ret = r ? NULL : driver_line(arena, &argv);
        return r;
}

static void test_template(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const char *line;
        static const char *const wrong[] = {
                "[]",         "[\"/bin/sh\",\"-c\"]", "[\"BASH\"]", "[\"a\",\"b\\nc\"]",
                "[\"a\", 1]", "\"gemini {PROMPT}\"",  "[\"\"]",     "[\"a\",\"\\u0000\"]",
                "[\"a\\rb\"]"};

        assert_int_equal(filled(&arena,
                                "[\"g\",\"-m={MODEL}\",\"{OUTPUT_FORMAT}\",\"{PERMISSION_LEVEL}\",\"{PROMPT}"
                                "\",\"{X}\"]",
                                &line),
                         0);
        /* What is put in is not looked at again. */
        assert_string_equal(line, "g -m={PROMPT} json patch a\nb {MODEL} {X}");
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(filled(&arena, wrong[i], &line), DRIVER_E_TEMPLATE);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void write_program(const char *path, const char *text) {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs(text, file);
        fclose(file);
        assert_int_equal(chmod(path, 0755), 0);
}

static void test_asking(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        char folder[] = "/tmp/driver-XXXXXX", path[64], count[80], line[64];
        char *env[] = {NULL, (char *)"HOME=/nowhere", NULL};
        DriverPlace place = {.env = env, .folder = "/"};
        const Driver *codex = driver_of_provider(STR("codex"));
        DriverCache *cache = NULL;
        DriverFacts facts;

        assert_non_null(mkdtemp(folder));
        (void)snprintf(path, sizeof(path), "%s/codex", folder);
        (void)snprintf(count, sizeof(count), "%s/n", folder);
        (void)snprintf(line, sizeof(line), "PATH=relative::/usr/bin:/bin:%s", folder);
        env[0] = line;
        assert_int_equal(driver_cache_new(&cache), 0);
        assert_null(driver_find(&place, &arena, STR("codex")));
        write_program(
                path,
                "#!/bin/sh\necho x >> ${0%/*}/n\ncase $1 in --version) echo; echo v1; echo v2;; exec) echo "
                "'--output-schema F' >&2;; *) echo help;; esac\n");
        assert_string_equal(driver_find(&place, &arena, STR("codex")), path);
        assert_string_equal(driver_find(&place, &arena, str_from(path)), path);
        assert_null(driver_find(&place, &arena, STR("sub/codex")));
        for (int i = 0; i < 2; i++) { /* the second time it is known */
                struct stat st;

                driver_ask(cache, codex, &place, path, &facts);
                assert_true(facts.takes_schema && facts.asks_approval);
                assert_string_equal(facts.version, "v1");
                assert_int_equal(strlen(facts.help_hash), 64);
                assert_int_equal(stat(count, &st), 0);
                assert_int_equal(st.st_size, 3 * 2);
        }
        unlink(path); /* another program of the same name is asked again */
        write_program(path, "#!/bin/sh\nexit 1\n");
        driver_ask(cache, codex, &place, path, &facts);
        assert_true(!facts.takes_schema && facts.asks_approval && !facts.version[0]);
        unlink(path);
        driver_ask(cache, codex, &place, path, &facts); /* and one that is gone says nothing */
        assert_true(!facts.takes_schema && !facts.version[0] && !facts.help_hash[0]);
        unlink(count);
        rmdir(folder);
        driver_cache_free(cache);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_providers),   cmocka_unit_test(test_codex),
                cmocka_unit_test(test_claude),      cmocka_unit_test(test_gemini),
                cmocka_unit_test(test_long_prompt), cmocka_unit_test(test_template),
                cmocka_unit_test(test_asking),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
