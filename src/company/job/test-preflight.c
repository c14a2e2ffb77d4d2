/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "company/job/preflight.h"

static Json *settings(Arena *arena, const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

typedef struct Case {
        const char *provider, *policy /* NULL: none */, *program;
        const char *env[4];
        const char *reason; /* NULL: it passes */
} Case;

static void try_case(const Case *one) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Driver *driver = driver_of_provider(str_from(one->provider));
        DriverPlace place = {.env = (char *const *)(uintptr_t)one->env, .folder = "/"};
        Json *machine = one->policy
                                ? settings(&arena, arena_printf(&arena, "{\"provider_execution_policy\":%s}",
                                                                one->policy)
                                                           .data)
                                : NULL;
        PreflightPolicy policy;
        PreflightVerdict verdict;

        assert_int_equal(preflight_policy(&arena, machine, driver, str_from(one->provider), &policy), 0);
        assert_int_equal(preflight_check(&arena, &policy, driver, &place, str_from(one->program), &verdict),
                         0);
        if (verdict.passed != !one->reason || (one->reason && strcmp(verdict.reason, one->reason) != 0))
                fail_msg("%s %s: %s, %.*s", one->provider, one->program, verdict.reason,
                         STR_ARG(verdict.message));
}

#define API "{\"gemini\":{\"channel\":\"api\",\"allowed_bin_patterns\":[]}}"
#define KEYLESS                                                                                             \
        "{\"gemini\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true,\"proof_"        \
        "strategy\":\"gemini_cli\"}}"
#define STRANGE                                                                                             \
        "{\"claude\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true,\"proof_"        \
        "strategy\":\"oath\"}}"
#define NO_WAY  "{\"claude\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true}}"
#define TRUSTED "{\"claude\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":false}}"
#define VERTEX  "GOOGLE_GENAI_USE_VERTEXAI=True", "GOOGLE_CLOUD_PROJECT=p"

static void test_table(_unused_ void **state) {
        static const Case cases[] = {
                {"claude", NULL, "claude", {NULL}, NULL},
                {"claude_code", NULL, "claude-2", {"ANTHROPIC_API_KEY="}, NULL},
                {"claude", NULL, "claude", {"ANTHROPIC_API_KEY=k"}, "api_key_present"},
                {"claude", NULL, "claudette", {NULL}, "unapproved_worker_binary"},
                {"claude", NULL, "/opt/claude/run", {NULL}, NULL},
                {"claude", NULL, "/opt/x/evil", {NULL}, "unapproved_worker_binary"},
                {"claude", NULL, "", {NULL}, "unapproved_worker_binary"},
                {"claude", STRANGE, "claude", {NULL}, "unknown_proof_strategy"},
                {"claude", NO_WAY, "claude", {NULL}, "unknown_proof_strategy"},
                {"claude", TRUSTED, "anything", {"ANTHROPIC_API_KEY=k"}, NULL},
                {"gemini", NULL, "gemini", {NULL}, "auth_probe_failed"},
                {"gemini", NULL, "gemini", {"GEMINI_API_KEY=k"}, NULL},
                {"gemini_cli", API, "anything", {"GOOGLE_API_KEY=k"}, NULL},
                {"gemini", API, "gemini", {VERTEX}, "auth_probe_failed"},
                {"gemini", API, "gemini", {VERTEX, "GOOGLE_CLOUD_LOCATION=l"}, NULL},
                {"gemini", KEYLESS, "gemini", {"GOOGLE_API_KEY=k"}, "api_key_present"},
                {"gemini", KEYLESS, "gemini", {NULL}, NULL},
                {"codex", NULL, "codex", {"OPENAI_API_KEY=k"}, "api_key_present"},
                {"codex", NULL, "codex", {"CODEX_API_KEY=k"}, "api_key_present"},
                {"codex", NULL, "codex", {"PATH=/nowhere"}, "auth_probe_failed"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                try_case(&cases[i]);
}

static void test_login(_unused_ void **state) {
        static const struct {
                const char *script, *reason;
        } says[] = {
                {"echo Logged in using ChatGPT", NULL},
                {"echo LOGGED IN >&2", NULL},
                {"echo Logged in using an API key", "auth_probe_failed"},
                {"echo Not logged in", "auth_probe_failed"},
                {"echo Logged in; exit 1", "auth_probe_failed"},
                {"exit 0", "auth_probe_failed"},
        };
        char folder[] = "/tmp/preflight-XXXXXX", path[64], env[64];

        assert_non_null(mkdtemp(folder));
        (void)snprintf(path, sizeof(path), "%s/codex", folder);
        (void)snprintf(env, sizeof(env), "PATH=%s:/usr/bin:/bin", folder);
        for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
                Case one = {"codex", NULL, "codex", {env}, says[i].reason};
                FILE *file = fopen(path, "w");

                assert_non_null(file);
                fprintf(file, "#!/bin/sh\n[ \"$1 $2\" = 'login status' ] || exit 9\n%s\n", says[i].script);
                fclose(file);
                assert_int_equal(chmod(path, 0755), 0);
                try_case(&one);
        }
        {
                Case one = {"codex", NULL, "codex", {env}, "auth_probe_failed"};
                FILE *file = fopen(path, "w"); /* it is no program */

                assert_non_null(file);
                fputs("\x7f"
                      "ELF nonsense",
                      file);
                fclose(file);
                try_case(&one);
        }
        unlink(path);
        rmdir(folder);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_login)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
