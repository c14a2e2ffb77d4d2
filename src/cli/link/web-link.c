/* SPDX-License-Identifier: MIT */
#include "cli/link/web-link.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

void web_link_deinit(WebLink *self) {
        free(self->socket);
        link_deinit(&self->link);
        arena_deinit(&self->arena);
}

void web_link_set(WebLink *self, const char *key, const char *value) {
        if (value)
                arguments_set_str(&self->arguments, &self->arena, key, str_from(value));
}

void web_link_set_int(WebLink *self, const char *key, int64_t value) {
        arguments_set_int(&self->arguments, &self->arena, key, value);
}

void web_link_set_bool(WebLink *self, const char *key, bool value) {
        arguments_set(&self->arguments, &self->arena, key, json_new_bool(&self->arena, value));
}

int web_link_ask(WebLink *self, const char *method, const Json **ret) {
        const Asking what = {self->socket, "native", method, &self->link, &self->arena};
        Reply reply;
        int r = asking(&what, &self->arguments, &reply);

        if (r)
                return r;
        if (reply.is_error) {
                reply_complain(method, &reply, self->is_json);
                return CLI_FAILED;
        }
        *ret = json_clone(&self->arena,
                          reply.result); /* its texts lie in the link, which the next question closes */
        return *ret ? CLI_OK : complain(CLI_FAILED, "out of memory");
}

int web_link_code(WebLink *self, const char *scope, const char *object, Str *ret) {
        const Json *answer = NULL;
        int r;

        web_link_set_bool(self, "code", true);
        web_link_set(self, "scope", scope);
        web_link_set(self, "object", object);
        r = web_link_ask(self, "token.create", &answer);
        *ret = r ? STR_NULL : json_text_of(answer, "token");
        return r;
}
