/* SPDX-License-Identifier: MIT */
#include "core/usage/agent-account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/macro.h"
#include "core/environment.h"

enum { ACCOUNT_ENVIRON_MAX = 256 << 10 };

typedef struct AccountPlace {
        const char *runtime, *variable, *below;
} AccountPlace;

static const AccountPlace account_places[] = {{"claude", "CLAUDE_CONFIG_DIR", ".claude"},
                                              {"codex", "CODEX_HOME", ".codex"},
                                              {"gemini", "GEMINI_CLI_HOME", ".gemini"},
                                              {"opencode", "XDG_DATA_HOME", ".local/share/opencode"}};

static const AccountPlace *account_place(Str runtime) {
        for (size_t i = 0; i < ARRAY_SIZE(account_places); i++)
                if (str_is(runtime, account_places[i].runtime))
                        return &account_places[i];
        return NULL;
}

bool account_is_known(Str runtime) {
        return account_place(runtime);
}

static char *account_make(const AccountPlace *place, Str folder, Str home) {
        char *account = NULL;

        if (!home.n)
                home = str_from(getenv("HOME"));
        if (asprintf(&account, "%s:" STR_FMT "%s%s", place->runtime, STR_ARG(folder.n ? folder : home),
                     folder.n ? "" : "/", folder.n ? "" : place->below) < 0)
                return NULL;
        return account;
}

char *account_of_list(Str runtime, const StrVec *env) {
        const AccountPlace *place = account_place(runtime);

        return place ? account_make(place, str_from(environment_get(env, place->variable)),
                                    str_from(environment_get(env, "HOME")))
                     : NULL;
}

/* Empty: it is not there. */
static Str account_variable(const Buf *environ_text, const char *name) {
        size_t n = strlen(name);

        for (size_t at = 0; at < environ_text->n;
             at += strnlen(environ_text->data + at, environ_text->n - at) + 1) {
                Str line = {environ_text->data + at, strnlen(environ_text->data + at, environ_text->n - at)};

                if (line.n > n && line.data[n] == '=' && !memcmp(line.data, name, n))
                        return (Str){line.data + n + 1, line.n - n - 1};
        }
        return STR_NULL;
}

char *account_of_process(Str runtime, pid_t pid, char **ret_zone) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const AccountPlace *place = account_place(runtime);
        char path[64];
        Str zone;

        if (!place)
                return NULL;
        snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
        if (pid <= 0 || file_read(path, ACCOUNT_ENVIRON_MAX, &text))
                text.n = 0;
        zone = account_variable(&text, "TZ");
        if (ret_zone)
                *ret_zone = zone.n ? str_dup(zone) : NULL;
        return account_make(place, account_variable(&text, place->variable),
                            account_variable(&text, "HOME"));
}
