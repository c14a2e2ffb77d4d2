/* SPDX-License-Identifier: MIT */
#include "company/job/preflight.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "core/exec.h"

/* ---- what is demanded ------------------------------------------------------------------------ */

static const struct {
        const char *channel, *strategy, *pattern;
} preflight_defaults[] = {
        [DRIVER_CODEX] = {"subscription_cli", "codex_cli", "codex"},
        [DRIVER_CLAUDE] = {"subscription_cli", "claude_cli", "claude"},
        [DRIVER_GEMINI] = {"api", NULL, "gemini"},
};

static int preflight_read(Arena *arena, const Json *settings, PreflightPolicy *ret) {
        const Json *patterns = json_get(settings, "allowed_bin_patterns");

        ret->key = json_key(settings);
        ret->channel = json_text_of(settings, "channel");
        ret->strategy = json_text_of(settings, "proof_strategy");
        ret->needs_proof = json_truth_of(settings, "require_subscription_proof");
        ret->patterns.items = arena_alloc(arena, (json_count(patterns) + 1) * sizeof(Str));
        if (!ret->patterns.items)
                return error_origin(-ENOMEM);
        json_each (pattern, patterns)
                ret->patterns.items[ret->patterns.n++] = json_str(pattern);
        return 0;
}

int preflight_policy(Arena *arena, const Json *machine, const Driver *driver, Str provider,
                     PreflightPolicy *ret) {
        const Json *all = json_get(machine, "provider_execution_policy");
        const Json *settings = json_get_str(all, provider);

        *ret = (PreflightPolicy){.key = provider};
        if (!settings)
                settings = json_get(all, driver->name);
        if (settings)
                return error_trace(preflight_read(arena, settings, ret));
        ret->channel = str_from(preflight_defaults[driver->family].channel);
        ret->strategy = str_from(preflight_defaults[driver->family].strategy);
        ret->needs_proof = ret->strategy.n;
        ret->patterns.items = arena_alloc(arena, sizeof(Str));
        if (!ret->patterns.items)
                return error_origin(-ENOMEM);
        ret->patterns.items[ret->patterns.n++] = str_from(preflight_defaults[driver->family].pattern);
        return 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

static Str preflight_base(Str program) {
        const char *slash = program.n ? memrchr(program.data, '/', program.n) : NULL;

        return slash ? (Str){slash + 1, program.n - (size_t)(slash + 1 - program.data)} : program;
}

static bool preflight_is_allowed(const StrList *patterns, Str program) {
        Str base = preflight_base(program);

        for (size_t i = 0; i < patterns->n; i++) {
                Str pattern = patterns->items[i];

                if (pattern.n && program.n && memmem(program.data, program.n, pattern.data, pattern.n) &&
                    (memchr(program.data, '/', program.n) || str_eq(base, pattern) ||
                     (str_starts(base, pattern) && base.data[pattern.n] == '-')))
                        return true;
        }
        return !patterns->n;
}

/* ---- what it proves -------------------------------------------------------------------------- */

typedef struct Preflight {
        Arena *arena;
        const Driver *driver;
        const DriverPlace *place;
        Str program;
        PreflightVerdict *verdict;
} Preflight;

static void preflight_fail(Preflight *preflight, const char *reason, Str message) {
        preflight->verdict->reason = reason;
        preflight->verdict->message = message;
}

static void preflight_pass(Preflight *preflight, const char *strategy, Str message) {
        *preflight->verdict = (PreflightVerdict){.passed = true, .strategy = strategy, .message = message};
}

static bool preflight_has(const Preflight *preflight, const char *name) {
        return str_trim(str_from(driver_env(preflight->place, name))).n > 0;
}

/* The first of them that is set; NULL: none. */
static const char *preflight_first(const Preflight *preflight, const char *const *names) {
        for (; *names; names++)
                if (preflight_has(preflight, *names))
                        return *names;
        return NULL;
}

static bool preflight_says_yes(const Preflight *preflight, const char *name) {
        static const char *const words[] = {"1", "true", "yes", "on"};
        Str value = str_trim(str_from(driver_env(preflight->place, name)));

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (value.n == strlen(words[i]) && !strncasecmp(value.data, words[i], value.n))
                        return true;
        return false;
}

static void preflight_api(Preflight *preflight) {
        static const char *const keys[] = {"GEMINI_API_KEY", "GOOGLE_API_KEY", NULL};

        if (preflight->driver->family != DRIVER_GEMINI || preflight_first(preflight, keys) ||
            (preflight_says_yes(preflight, "GOOGLE_GENAI_USE_VERTEXAI") &&
             preflight_has(preflight, "GOOGLE_CLOUD_PROJECT") &&
             preflight_has(preflight, "GOOGLE_CLOUD_LOCATION")))
                preflight_pass(preflight, "api", STR("the provider is used through its API"));
        else
                preflight_fail(preflight, "auth_probe_failed",
                               STR("gemini has neither GEMINI_API_KEY nor GOOGLE_API_KEY, nor all that "
                                   "Vertex AI needs"));
}

/* A key that is set would be billed, whatever the login says. */
static bool preflight_refuses_keys(Preflight *preflight, const char *const *names) {
        const char *name = preflight_first(preflight, names);

        if (name)
                preflight_fail(preflight, "api_key_present",
                               arena_printf(preflight->arena,
                                            "%s is set, so %s would not use the subscription", name,
                                            preflight->driver->name));
        return name;
}

static bool preflight_mentions(Str text, const char *word) {
        size_t n = strlen(word);

        for (size_t i = 0; i + n <= text.n; i++)
                if (!strncasecmp(text.data + i, word, n))
                        return true;
        return false;
}

static void preflight_read_login(Preflight *preflight, const ExecResult *result) {
        Str said[] = {buf_str(&result->out), buf_str(&result->err)};
        bool has_key = false, has_login = false;

        for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
                has_key |= preflight_mentions(said[i], "api key") || preflight_mentions(said[i], "apikey") ||
                           preflight_mentions(said[i], "api-key");
                has_login |= (preflight_mentions(said[i], "chatgpt") ||
                              preflight_mentions(said[i], "logged in")) &&
                             !preflight_mentions(said[i], "not logged in");
        }
        if (result->status)
                preflight_fail(preflight, "auth_probe_failed", STR("codex login status failed"));
        else if (has_key)
                preflight_fail(preflight, "auth_probe_failed",
                               STR("codex login status indicates API-key auth mode"));
        else if (!has_login)
                preflight_fail(preflight, "auth_probe_failed", STR("codex login status shows no login"));
        else
                preflight_pass(preflight, "codex_cli",
                               STR("codex auth probe passed and no API-key mode was detected"));
}

static void preflight_codex(Preflight *preflight) {
        static const char *const keys[] = {"OPENAI_API_KEY", "CODEX_API_KEY", NULL};
        const char *file = driver_find(preflight->place, preflight->arena, preflight->program);
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        char *argv[] = {(char *)file, (char *)"login", (char *)"status", NULL};
        int r;

        if (preflight_refuses_keys(preflight, keys))
                return;
        r = file ? exec_run(&(ExecSpec){.argv = argv,
                                        .env = preflight->place->env,
                                        .folder = preflight->place->folder,
                                        .limit_ms = PREFLIGHT_ASK_MS,
                                        .is_off = preflight->place->is_off,
                                        .n_max = 4096},
                            &result)
                 : -ENOENT;
        if (r)
                preflight_fail(preflight, "auth_probe_failed",
                               arena_printf(preflight->arena, "codex login status could not be asked: %s",
                                            strerror(-r)));
        else
                preflight_read_login(preflight, &result);
}

static void preflight_claude(Preflight *preflight) {
        static const char *const keys[] = {"ANTHROPIC_API_KEY", NULL};

        if (!preflight_refuses_keys(preflight, keys))
                preflight_pass(preflight, "claude_cli", STR("no API key of claude is set"));
}

static void preflight_gemini(Preflight *preflight) {
        static const char *const keys[] = {"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI",
                                           NULL};

        if (!preflight_refuses_keys(preflight, keys))
                preflight_pass(preflight, "gemini_cli", STR("no API key of gemini is set"));
}

static const struct {
        const char *name;
        void (*prove)(Preflight *preflight);
} preflight_strategies[] = {
        {"codex_cli", preflight_codex},
        {"claude_cli", preflight_claude},
        {"gemini_cli", preflight_gemini},
};

static void preflight_prove(Preflight *preflight, Str strategy) {
        for (size_t i = 0; i < ARRAY_SIZE(preflight_strategies); i++)
                if (str_is(strategy, preflight_strategies[i].name)) {
                        preflight_strategies[i].prove(preflight);
                        return;
                }
        preflight_fail(preflight, "unknown_proof_strategy",
                       strategy.n ? arena_printf(preflight->arena,
                                                 "the settings demand a proof that is not known: " STR_FMT,
                                                 STR_ARG(strategy))
                                  : STR("the settings demand a proof and do not say which"));
}

int preflight_check(Arena *arena, const PreflightPolicy *policy, const Driver *driver,
                    const DriverPlace *place, Str program, PreflightVerdict *ret) {
        Preflight preflight = {arena, driver, place, program, ret};

        *ret = (PreflightVerdict){0};
        if (!preflight_is_allowed(&policy->patterns, program))
                preflight_fail(&preflight, "unapproved_worker_binary",
                               arena_printf(arena, "the settings do not allow this program: " STR_FMT,
                                            STR_ARG(program)));
        else if (str_is(policy->channel, "api"))
                preflight_api(&preflight);
        else if (!policy->needs_proof)
                preflight_pass(&preflight, "none", STR("the settings demand no proof"));
        else
                preflight_prove(&preflight, policy->strategy);
        return ret->message.data ? 0 : error_origin(-ENOMEM);
}
