/* SPDX-License-Identifier: MIT */
#include "cli/link/caller-env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/print/report.h"

/*
 * What somebody at a laptop expects an agent to find: programs (PATH and the version managers), language and
 * time, how to reach the network, who is known to the agents' services. A `*` at the end: all that begin so.
 * Nothing that says who the caller is or which terminal it has: the process gets a terminal of its own.
 */
static const char *const names[] = {
        "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "COLORTERM", "EDITOR", "VISUAL", "PAGER", "SHELL",
        "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
        /* version managers and toolchains */
        "NVM_*", "FNM_*", "VOLTA_HOME", "MISE_*", "ASDF_*", "PYENV_ROOT", "RBENV_ROOT", "SDKMAN_DIR",
        "VIRTUAL_ENV", "CONDA_PREFIX", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
        "PNPM_HOME", "BUN_INSTALL", "DENO_INSTALL",
        /* network */
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy",
        "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
        /* agents and their services */
        "ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CONFIG_DIR", "OPENAI_*", "CODEX_HOME", "AZURE_OPENAI_*", "GEMINI_*", "GOOGLE_API_KEY",
        "GOOGLE_GENAI_*", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "OPENROUTER_API_KEY",
        "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "GROQ_API_KEY", "MOONSHOT_API_KEY",
        "DASHSCOPE_API_KEY", "CURSOR_API_KEY", "AMP_API_KEY", "FACTORY_API_KEY", "AUGMENT_*", "GITHUB_TOKEN",
        "GH_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"};

static bool caller_env_passes(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                Str pattern = str_from(names[i]);

                if (str_eq(name, pattern) || (pattern.data[pattern.n - 1] == '*' &&
                                              str_starts(name, (Str){pattern.data, pattern.n - 1})))
                        return true;
        }
        return false;
}

static bool caller_env_is_text(Str s) {
        return utf8_valid_prefix(s.data, s.n) == s.n;
}

static int caller_env_set(Arena *arena, Json *object, Str name, Str value) {
        return json_set(arena, object, name, json_new_str(arena, value));
}

/* What is no UTF-8 cannot be said in JSON, and is left out. */
Json *caller_env(Arena *arena) {
        Json *object = json_new(arena, JSON_OBJECT);

        for (char **line = environ; object && *line; line++) {
                Str name = {*line, strcspn(*line, "=")};
                Str value = str_from((*line)[name.n] ? *line + name.n + 1 : "");

                if (caller_env_passes(name) && caller_env_is_text(value) &&
                    caller_env_set(arena, object, name, value))
                        return NULL;
        }
        return object;
}

int caller_env_named(Arena *arena, const char *command, const OptionList *words, Json *object) {
        for (int i = 0; i < words->n; i++) {
                const char *word = words->items[i], *equals = strchr(word, '=');
                Str name = {word, equals ? (size_t)(equals - word) : strlen(word)};
                const char *value = equals ? equals + 1 : getenv(word);

                if (!name.n)
                        return complain(CLI_USAGE, "%s: --env: %s has no name", command, word);
                if (!value)
                        return complain(CLI_USAGE,
                                        "%s: --env: %s is not set here; give it a value: %s=VALUE", command,
                                        word, word);
                if (!caller_env_is_text(str_from(word)) || !caller_env_is_text(str_from(value)))
                        return complain(CLI_USAGE, "%s: --env: must be UTF-8", command);
                if (caller_env_set(arena, object, name, str_from(value)))
                        return complain(CLI_FAILED, "out of memory");
        }
        return CLI_OK;
}
