/* SPDX-License-Identifier: MIT */
#include "core/driver.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"

static const Driver drivers[] = {
        {.family = DRIVER_CODEX,
         .name = "codex",
         .providers = {"codex", "codex_app_server", "codex-app-server"},
         .help = {"exec", "--help"},
         .schema_word = "--output-schema",
         .reads_stdin = true},
        {.family = DRIVER_CLAUDE,
         .name = "claude",
         .providers = {"claude", "claude_code", "claude-code"},
         .help = {"--help"},
         .schema_word = "--json-schema",
         .plain_format = "stream-json",
         .schema_format = "json"},
        {.family = DRIVER_GEMINI,
         .name = "gemini",
         .providers = {"gemini", "gemini_cli"},
         .help = {"--help"},
         .plain_format = "json",
         .schema_format = "json"},
};

const Driver *driver_of_provider(Str provider) {
        for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
                for (const char *const *name = drivers[i].providers; *name; name++)
                        if (strlen(*name) == provider.n && !strncasecmp(*name, provider.data, provider.n))
                                return &drivers[i];
        return NULL;
}

/* A word of a command, and not the beginning of a longer one: --json is not in --json-schema. */
static bool driver_mentions(Str text, const char *word) {
        size_t n = strlen(word);

        for (const char *at = text.data, *end = text.data + text.n; at && at < end; at++) {
                at = memmem(at, (size_t)(end - at), word, n);
                if (!at)
                        return false;
                if (at + n == end || (at[n] != '-' && at[n] != '_' && !(at[n] >= 'a' && at[n] <= 'z')))
                        return true;
        }
        return false;
}

void driver_read_help(const Driver *driver, Str help, DriverFacts *facts) {
        facts->takes_schema = driver->schema_word && driver_mentions(help, driver->schema_word);
        facts->asks_approval = !driver_mentions(help, "--skip-git-repo-check") ||
                               driver_mentions(help, "--approval-policy");
}

/* ---- the words of a command ------------------------------------------------------------------ */

typedef enum DriverValue {
        DRIVER_NO_VALUE, /* the flag alone */
        DRIVER_TEXT,
        DRIVER_MODEL,
        DRIVER_SANDBOX,
        DRIVER_SCHEMA,
        DRIVER_SCHEMA_PATH,
        DRIVER_TOOLS,
        DRIVER_PROMPT,
} DriverValue;

typedef enum DriverWhen {
        DRIVER_ALWAYS,
        DRIVER_WITH_SCHEMA,
        DRIVER_WITHOUT_SCHEMA,
        DRIVER_ASKING
} DriverWhen;

/* A value that is empty is left out with its flag. */
typedef struct DriverWord {
        const char *flag; /* NULL: the value stands alone */
        const char *text;
        DriverValue value;
        DriverWhen when;
} DriverWord;

static const DriverWord driver_words_codex[] = {
        {.flag = "exec"},
        {.flag = "--model", .value = DRIVER_MODEL},
        {.flag = "--skip-git-repo-check"},
        {.flag = "--sandbox", .value = DRIVER_SANDBOX},
        {.flag = "--approval-policy", .value = DRIVER_TEXT, .text = "never", .when = DRIVER_ASKING},
        {.flag = "--color", .value = DRIVER_TEXT, .text = "never"},
        {.flag = "--output-schema", .value = DRIVER_SCHEMA_PATH, .when = DRIVER_WITH_SCHEMA},
        {.flag = "--json"},
        {.flag = "-"},
        {.flag = NULL},
};

static const DriverWord driver_words_claude[] = {
        {.flag = "--model", .value = DRIVER_MODEL},
        {.flag = "--print"},
        {.flag = "--output-format", .value = DRIVER_TEXT, .text = "json", .when = DRIVER_WITH_SCHEMA},
        {.flag = "--output-format",
         .value = DRIVER_TEXT,
         .text = "stream-json",
         .when = DRIVER_WITHOUT_SCHEMA},
        {.flag = "--include-partial-messages", .when = DRIVER_WITHOUT_SCHEMA},
        {.flag = "--no-session-persistence"},
        {.flag = "--permission-mode", .value = DRIVER_TEXT, .text = "dontAsk"},
        {.flag = "--json-schema", .value = DRIVER_SCHEMA, .when = DRIVER_WITH_SCHEMA},
        {.flag = "--allowedTools", .value = DRIVER_TOOLS},
        {.value = DRIVER_PROMPT},
        {.flag = NULL},
};

static const DriverWord driver_words_gemini[] = {
        {.flag = "--output-format", .value = DRIVER_TEXT, .text = "json"},
        {.flag = "--model", .value = DRIVER_MODEL},
        {.flag = "-p", .value = DRIVER_PROMPT},
        {.flag = NULL},
};

static const DriverWord *const driver_words[] = {
        [DRIVER_CODEX] = driver_words_codex,
        [DRIVER_CLAUDE] = driver_words_claude,
        [DRIVER_GEMINI] = driver_words_gemini,
};

static Str driver_join(Arena *arena, const StrList *list) {
        Str joined = STR_NULL;

        for (size_t i = 0; i < list->n; i++)
                joined = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(joined), i ? "," : "",
                                      STR_ARG(list->items[i]));
        return joined;
}

bool driver_pipes(const Driver *driver, Str prompt) {
        return driver->reads_stdin || prompt.n > DRIVER_WORD_MAX;
}

static Str driver_value(Arena *arena, const Driver *driver, const DriverWord *word,
                        const DriverQuestion *question) {
        switch (word->value) {
        case DRIVER_TEXT: return str_from(word->text);
        case DRIVER_MODEL: return question->model;
        case DRIVER_SANDBOX:
                return str_is(question->permission, "read-only") ? STR("read-only") : STR("workspace-write");
        case DRIVER_SCHEMA: return question->schema;
        case DRIVER_SCHEMA_PATH: return question->schema_path;
        case DRIVER_TOOLS: return driver_join(arena, &question->tools);
        case DRIVER_PROMPT: return driver_pipes(driver, question->prompt) ? STR_NULL : question->prompt;
        case DRIVER_NO_VALUE: break;
        }
        return STR_NULL;
}

static bool driver_is_wanted(const DriverWord *word, const DriverFacts *facts) {
        switch (word->when) {
        case DRIVER_WITH_SCHEMA: return facts->takes_schema;
        case DRIVER_WITHOUT_SCHEMA: return !facts->takes_schema;
        case DRIVER_ASKING: return facts->asks_approval;
        case DRIVER_ALWAYS: break;
        }
        return true;
}

static int driver_push(Arena *arena, StrList *list, Str word) {
        Str copy = arena_str(arena, word);

        if (!copy.data)
                return error_origin(-ENOMEM);
        list->items[list->n++] = copy;
        return 0;
}

int driver_argv(Arena *arena, const Driver *driver, const DriverFacts *facts, const DriverQuestion *question,
                StrList *ret) {
        enum { DRIVER_ARGS_MAX = 32 };
        int r;

        *ret = (StrList){.items = arena_alloc(arena, DRIVER_ARGS_MAX * sizeof(Str))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        r = driver_push(arena, ret, question->program);
        for (const DriverWord *word = driver_words[driver->family]; !r && (word->flag || word->value);
             word++) {
                Str value = driver_value(arena, driver, word, question);

                if (!driver_is_wanted(word, facts) || (word->value && !value.n))
                        continue;
                r = word->flag ? driver_push(arena, ret, str_from(word->flag)) : 0;
                r = !r && word->value ? driver_push(arena, ret, value) : r;
        }
        return error_trace(r);
}

/* ---- words of a person ----------------------------------------------------------------------- */

static bool driver_is_shell(Str word) {
        static const char *const shells[] = {"sh",  "bash",       "zsh",  "fish",           "dash",   "ksh",
                                             "cmd", "powershell", "pwsh", "powershell.exe", "cmd.exe"};
        const char *slash = word.n ? memrchr(word.data, '/', word.n) : NULL;
        Str name = slash ? (Str){slash + 1, word.n - (size_t)(slash + 1 - word.data)} : word;

        for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
                if (name.n == strlen(shells[i]) && !strncasecmp(name.data, shells[i], name.n))
                        return true;
        return false;
}

static int driver_fill(Arena *arena, const Driver *driver, Str word, const DriverQuestion *question,
                       Str *ret) {
        const struct {
                Str name, value;
        } places[] = {
                {STR("{PROMPT}"), question->prompt},
                {STR("{MODEL}"), question->model},
                {STR("{PERMISSION_LEVEL}"), question->permission},
                {STR("{OUTPUT_FORMAT}"), str_from(driver->plain_format ? driver->plain_format : "json")},
        };
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        int r = 0;

        for (size_t i = 0, k; !r && i < word.n;) {
                Str rest = {word.data + i, word.n - i};

                for (k = 0; k < ARRAY_SIZE(places) && !str_starts(rest, places[k].name); k++)
                        ;
                r = k < ARRAY_SIZE(places) ? buf_append_str(&out, places[k].value)
                                           : buf_append(&out, rest.data, 1);
                i += k < ARRAY_SIZE(places) ? places[k].name.n : 1;
        }
        *ret = arena_str(arena, buf_str(&out));
        return r || !ret->data ? error_origin(-ENOMEM) : 0;
}

int driver_argv_of(Arena *arena, const Driver *driver, const Json *words, const DriverQuestion *question,
                   StrList *ret) {
        Str first = json_str(json_first(words));

        if (!json_is(words, JSON_ARRAY) || !first.n || driver_is_shell(first))
                return DRIVER_E_TEMPLATE;
        *ret = (StrList){.items = arena_alloc(arena, (json_count(words) + 1) * sizeof(Str))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (word, words) {
                Str text = json_str(word);
                int r;

                if (!json_is(word, JSON_STRING) || memchr(text.data, '\n', text.n) ||
                    memchr(text.data, '\r', text.n) || memchr(text.data, 0, text.n))
                        return DRIVER_E_TEMPLATE;
                r = driver_fill(arena, driver, text, question, &ret->items[ret->n]);
                if (r)
                        return error_trace(r);
                if (ret->items[ret->n++].n > DRIVER_WORD_MAX)
                        return DRIVER_E_LONG;
        }
        return 0;
}
