/* SPDX-License-Identifier: MIT */
/*
 * muster token: who may come in over the web (cli/web/web-token.c), and the word that clients on other machines say first, to the CCCC endpoint over TCP. A file of
 * the state folder; a daemon that runs is told to read it again.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"
#include "base/json/json-writer.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/web/web-token.h"

enum { TOKEN_DIGITS = 64, TOKEN_FILE_MAX = 2048, TOKEN_ASK_MS = 10000 };

/* It is in the file: a daemon that cannot be told now reads it when it starts. */
static int token_tell(void) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(freep) char *path = find_socket();
        const Json *answer = NULL;

        if (!path || link_open(&link, path, clock_ms() + TOKEN_ASK_MS))
                return CLI_OK;
        return native_call(&link, path, "daemon.reopen", &arena, &answer);
}

static int token_say(const Options *options, const char *path, const char *key, Str value,
                     const char *words) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (!options->json) {
                print("%s\n", words);
                return CLI_OK;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "path", path);
        if (value.data)
                jw_field_str(&w, key, value);
        else
                jw_field_bool(&w, key, value.n);
        jw_end_object(&w);
        if (w.failed)
                return complain(CLI_FAILED, "out of memory");
        json_put_text(stdout, buf_str(&text));
        return CLI_OK;
}

static int token_new(const Options *options, const char *home, const char *path) {
        _cleanup_(freep) char *hint =
                hint_new("Other machines say it first now; see it with: muster token show");
        char text[TOKEN_DIGITS + 2], words[2 * PATH_MAX + 128];
        int r = id_hex(text, TOKEN_DIGITS);

        memcpy(text + TOKEN_DIGITS, "\n", 2);
        r = r ? r : dir_make(home, 0700);
        r = r ? r : file_replace(path, str_from(text), 0600, FILE_DURABLE);
        explicit_bzero(text, sizeof(text));
        if (r)
                return complain(CLI_FAILED, "token: cannot write %s: %s", path, strerror(-r));
        r = token_tell();
        if (r)
                return r;
        snprintf(words, sizeof(words), "made, in %s\n%s", path, hint ? hint : "");
        return token_say(options, path, "made", (Str){NULL, 1}, words);
}

static int token_remove(const Options *options, const char *path) {
        int r;

        if (unlink(path) && errno != ENOENT)
                return complain(CLI_FAILED, "token: cannot remove %s: %s", path, strerror(errno));
        r = token_tell();
        if (r)
                return r;
        return token_say(options, path, "removed", (Str){NULL, 1},
                         "removed\nNobody is asked for a token; with cccc.allow_remote other machines may "
                         "do\neverything without one.");
}

/* The file, without what stands around the token; false: there is none. */
static bool token_read(const char *path, Buf *text, Str *ret) {
        if (file_read(path, TOKEN_FILE_MAX, text))
                return false;
        *ret = str_trim(buf_str(text));
        return ret->n > 0;
}

static int token_show(const Options *options, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str token;

        if (!token_read(path, &text, &token))
                return complain(CLI_FAILED, "token: there is none at %s; make one with: muster token new",
                                path);
        if (options->json)
                return token_say(options, path, "token", token, "");
        text_put(stdout, token);
        putchar('\n');
        return CLI_OK;
}

static int token_look(const Options *options, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char words[PATH_MAX + 64];
        Str token;
        bool is_there = token_read(path, &text, &token);

        snprintf(words, sizeof(words), is_there ? "there is one, in %s" : "there is none at %s", path);
        return token_say(options, path, "exists", (Str){NULL, is_there}, words);
}

int cmd_token(const Options *options) {
        _cleanup_(freep) char *home = place_home(), *path = home ? path_join(home, PLACE_TOKEN) : NULL;
        const char *verb = options->n_operands ? options->operands[0] : "";

        if (!path)
                return complain(CLI_FAILED, "cannot tell where the state folder is: is HOME set?");
        if (!strcmp(verb, "ls") || !strcmp(verb, "create") || !strcmp(verb, "revoke"))
                return web_token(options, verb);
        if (!*verb)
                return token_look(options, path);
        if (!strcmp(verb, "new"))
                return token_new(options, home, path);
        if (!strcmp(verb, "show"))
                return token_show(options, path);
        if (!strcmp(verb, "rm"))
                return token_remove(options, path);
        return complain(CLI_USAGE,
                        "usage: muster token [new | show | rm | ls | create [LABEL] | revoke ID]");
}
