/* SPDX-License-Identifier: MIT */
/*
 * muster open: the console in a browser of this machine. A server that only this machine can reach is used, or opened and
 * left; the browser gets a one-time code, since an address stands in its history and on its command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "cli/cli.h"
#include "cli/link/web-link.h"
#include "cli/print/report.h"

enum { OPEN_ADDRESS_MAX = 1024 };

typedef struct Opening {
        const Options *options;
        WebLink web;
        char base[256]; /* scheme://HOST:PORT */
        char id[64];    /* of the agent's process; "": none is meant */
        char address[OPEN_ADDRESS_MAX];
} Opening;

static void opening_deinit(Opening *self) {
        web_link_deinit(&self->web);
}

/* ---- the server ------------------------------------------------------------------------------ */

static bool opening_take(Opening *self, const Json *server) {
        Str host = json_text_of(server, "host"), address = json_text_of(server, "address");
        int64_t port = 0;

        (void)json_int64(json_get(server, "port"), &port);
        if (str_starts(host, STR("127.")) || str_is(host, "::1"))
                snprintf(self->base, sizeof(self->base), STR_FMT, STR_ARG(address));
        else if (str_is(host, "0.0.0.0"))
                snprintf(self->base, sizeof(self->base), "http%s://127.0.0.1:%lld",
                         str_starts(address, STR("https:")) ? "s" : "", (long long)port);
        return *self->base;
}

static int opening_find(Opening *self, bool *ret_is_found) {
        const Json *answer = NULL;
        int r = web_link_ask(&self->web, "web.ls", &answer);

        *ret_is_found = false;
        json_each (server, json_get(answer, "servers"))
                if (!*ret_is_found && str_is(json_text_of(server, "state"), "listening"))
                        *ret_is_found = opening_take(self, server);
        return r;
}

static int opening_serve(Opening *self) {
        const Json *answer = NULL;
        bool is_found;
        int r = opening_find(self, &is_found);

        if (r || is_found)
                return r;
        web_link_set_int(&self->web, "port", 0); /* one that is free: 8888 may be somebody else's */
        r = web_link_ask(&self->web, "web.open", &answer);
        if (!r && !opening_take(self, answer))
                r = complain(CLI_FAILED, "open: the daemon tells no address");
        return r;
}

/* ---- the page -------------------------------------------------------------------------------- */

static int opening_find_agent(Opening *self, const char *word) {
        const Json *answer = NULL;
        _cleanup_(freep) char *here = path_expand(".");
        Str id;
        int r;

        if (strcmp(word, ".") != 0) /* that one is the session of the path */
                web_link_set(&self->web, "name", word);
        web_link_set(&self->web, "path", here);
        r = web_link_ask(&self->web, "fleet.find", &answer);
        if (r)
                return r;
        id = json_text_of(answer, "id");
        if (!id.n)
                return complain(CLI_FAILED, "open: %s does not run", word);
        snprintf(self->id, sizeof(self->id), STR_FMT, STR_ARG(id));
        return CLI_OK;
}

static int opening_address(Opening *self) {
        Str code;
        int r = web_link_code(&self->web, "admin", NULL, &code);

        if (r)
                return r;
        snprintf(self->address, sizeof(self->address), "%s/#code=" STR_FMT "%s%s", self->base, STR_ARG(code),
                 *self->id ? "&to=" : "", self->id);
        return CLI_OK;
}

/* ---- the browser ----------------------------------------------------------------------------- */

/* $BROWSER may be several, separated by colons; the first that is there counts. Malloc'd; NULL: none. */
static char *opening_browser(void) {
        const char *path = getenv("PATH"), *said = getenv("BROWSER");
        char *found = NULL;

        for (const char *at = said ? said : ""; !found && *at; at += *at == ':') {
                size_t n = strcspn(at, ":");
                _cleanup_(freep) char *name = strndup(at, n);

                if (name && *name)
                        (void)path_find_command(".", path, name, &found);
                at += n;
        }
        if (!found && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
                (void)path_find_command(".", path, "xdg-open", &found);
        return found;
}

/* Whether it took the address: it has ended well, or still runs after a while. */
static bool opening_browse(const char *program, char *address) {
        pid_t pid = fork();
        int status = 0;

        if (!pid) {
                char *argv[] = {(char *)program, address, NULL};

                execv(program, argv);
                _exit(127);
        }
        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static int opening_show(Opening *self) {
        _cleanup_(freep) char *browser = self->options->json ? NULL : opening_browser();
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (browser && opening_browse(browser, self->address))
                return CLI_OK;
        if (!self->options->json) {
                advise(browser ? "The browser did not take it."
                               : "There is no browser here; open this in one:");
                print("%s\n", self->address);
                return CLI_OK;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "address", self->address);
        jw_end_object(&w);
        if (w.failed)
                return complain(CLI_FAILED, "out of memory");
        json_put_text(stdout, buf_str(&text));
        return CLI_OK;
}

int cmd_open(const Options *options) {
        _cleanup_(opening_deinit) Opening self = {.options = options, .web = WEB_LINK_NULL};
        int r = asking_start(&self.web.socket);

        self.web.is_json = options->json;
        if (!r && options->n_operands)
                r = opening_find_agent(&self, options->operands[0]);
        r = r ? r : opening_serve(&self);
        r = r ? r : opening_address(&self);
        return r ? r : opening_show(&self);
}
