/* SPDX-License-Identifier: MIT */
#include "cli/link/cccc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "gen/errors.h"

enum {
        TEXT_MAX = 2000000,
        READ_STEP = 65536,
        EVENT_ID_LENGTH = 32,
        EVENTS_LOOKED_AT = 2000,
        MESSAGES_LOOKED_AT = 200,
        GROUP_ID_LENGTH = 14
};

static int out_of_memory(void) {
        return complain(CLI_FAILED, "out of memory");
}

static const char *from_environment(const char *name) {
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

static void cccc_init(Cccc *cccc, const char *command, const Options *options) {
        const char *actor = from_environment("CCCC_ACTOR_ID");

        cccc->command = command;
        cccc->is_json = options->json;
        cccc->by = str_from(options->as ? options->as : actor ? actor : "user");
}

int cccc_open(Cccc *cccc, const char *command, const Options *options) {
        cccc_init(cccc, command, options);
        return asking_find(&cccc->socket);
}

int cccc_begin(Cccc *cccc, const char *command, const Options *options) {
        cccc_init(cccc, command, options);
        return asking_start(&cccc->socket);
}

void cccc_deinit(Cccc *cccc) {
        free(cccc->socket);
        link_deinit(&cccc->link);
        arena_deinit(&cccc->arena);
}

/* ---- requests -------------------------------------------------------------------------------- */

void cccc_set(Cccc *cccc, const char *key, Json *value) {
        arguments_set(&cccc->args, &cccc->arena, key, value);
}

void cccc_set_str(Cccc *cccc, const char *key, Str value) {
        arguments_set_str(&cccc->args, &cccc->arena, key, value);
}

void cccc_set_int(Cccc *cccc, const char *key, int64_t value) {
        arguments_set_int(&cccc->args, &cccc->arena, key, value);
}

void cccc_set_strings(Cccc *cccc, const char *key, const char *const *items, int n) {
        Json *list = n ? json_new(&cccc->arena, JSON_ARRAY) : NULL;

        for (int i = 0; list && i < n; i++)
                if (json_push(list, json_new_str(&cccc->arena, str_from(items[i]))))
                        cccc->args.is_out_of_memory = true;
        if (n)
                cccc_set(cccc, key, list);
}

void cccc_set_target(Cccc *cccc) {
        cccc_set_str(cccc, "group_id", cccc->group);
        cccc_set_str(cccc, "by", cccc->by);
}

/* What still ran of a group that is gone was ended: that was the wish. */
static bool cccc_has_ended(const Cccc *cccc) {
        const Json *ended = json_get(cccc->reply.details, "ended");

        if (!cccc->is_ending || !json_count(ended))
                return false;
        advise(STR_FMT, STR_ARG(cccc->reply.message));
        json_each (actor, ended)
                advise("  " STR_FMT, STR_ARG(json_str(actor)));
        return true;
}

static int cccc_ask(Cccc *cccc, const char *dialect, const char *op) {
        const Asking what = {cccc->socket, dialect, op, &cccc->link, &cccc->arena};
        int r = asking(&what, &cccc->args, &cccc->reply);

        if (r || !cccc->reply.is_error || cccc_has_ended(cccc))
                return r;
        reply_complain(cccc->command, &cccc->reply, cccc->is_json);
        return CLI_FAILED;
}

int cccc_call(Cccc *cccc, const char *op) {
        return cccc_ask(cccc, "cccc", op);
}

int cccc_call_native(Cccc *cccc, const char *op) {
        return cccc_ask(cccc, "native", op);
}

int cccc_print(Cccc *cccc) {
        const Json *answer = cccc->reply.is_error ? cccc->reply.details : cccc->reply.result;

        return json_print(stdout, answer, false) ? out_of_memory() : CLI_OK;
}

/* ---- which group ----------------------------------------------------------------------------- */

int cccc_find_group(Cccc *cccc, const char *named) {
        _cleanup_(freep) char *folder = named ? NULL : getcwd(NULL, 0);
        int64_t code;
        int r;

        if (!named && !folder)
                return complain(CLI_FAILED, "%s: %s", cccc->command, strerror(errno));
        if (named)
                cccc_set_str(cccc, "group", str_from(named));
        else
                cccc_set_str(cccc, "path", str_from(folder));
        r = cccc_call_native(cccc, "group.find");
        if (r == CLI_FAILED && named && !cccc->is_json && json_int64(cccc->reply.code, &code) &&
            code == native_error_code(CALL_E_GROUP_NOT_FOUND))
                advise("see which groups there are with: muster group list");
        return r;
}

int cccc_check_name(Cccc *cccc, Str name) {
        _cleanup_(buf_deinit) Buf names = BUF_NULL;
        int r;

        if (str_is(name, "user"))
                return CLI_OK;
        cccc_set_str(cccc, "group_id", cccc->group);
        r = cccc_call(cccc, "actor_list");
        if (r)
                return r;
        json_each (actor, json_get(cccc->reply.result, "actors")) {
                if (str_eq(json_text_of(actor, "id"), name))
                        return CLI_OK;
                if (buf_printf(&names, ", " STR_FMT, STR_ARG(json_text_of(actor, "id"))))
                        return out_of_memory();
        }
        complain(CLI_USAGE, "%s: nobody in this group is called " STR_FMT, cccc->command, STR_ARG(name));
        advise("there are: user" STR_FMT, STR_ARG(buf_str(&names)));
        return CLI_USAGE;
}

/* An id as a whole needs no group that can be found. */
static bool cccc_is_whole_id(const char *named) {
        return named && str_starts(str_from(named), STR("g_")) && strlen(named) == GROUP_ID_LENGTH;
}

bool cccc_group_is_gone(Cccc *cccc, const char *named) {
        const Asking what = {cccc->socket, "native", "group.find", &cccc->link, &cccc->arena};
        int64_t code;

        if (!cccc->is_ending || !cccc_is_whole_id(named))
                return false;
        cccc_set_str(cccc, "group", str_from(named));
        return !asking(&what, &cccc->args, &cccc->reply) && cccc->reply.is_error &&
               json_int64(cccc->reply.code, &code) && code == native_error_code(CALL_E_GROUP_NOT_FOUND);
}

int cccc_choose_group(Cccc *cccc, const Options *options) {
        const char *named = options->group ? options->group : from_environment("CCCC_GROUP_ID");
        int r;

        if (cccc_group_is_gone(cccc, named)) {
                cccc->group = str_from(named);
                return CLI_OK;
        }
        r = cccc_find_group(cccc, named);

        if (r == CLI_FAILED && !named && !cccc->is_json)
                advise("name one with --group, or make one for this folder with: muster group attach");
        if (r)
                return r;
        cccc->group = arena_str(&cccc->arena, json_str(json_get(cccc->reply.result, "group_id")));
        cccc->folder = arena_str(&cccc->arena, json_str(json_get(cccc->reply.result, "folder")));
        if (!cccc->group.data || !cccc->folder.data)
                return out_of_memory();
        if (!json_int64(json_get(cccc->reply.result, "events"), &cccc->n_events))
                cccc->n_events = -1;
        return options->as ? cccc_check_name(cccc, cccc->by) : CLI_OK;
}

/* ---- which event ----------------------------------------------------------------------------- */

static int cccc_refuse_event(Cccc *cccc, const char *text) {
        complain(CLI_FAILED, "%s: several events begin with %s:", cccc->command, text);
        json_each (event, json_get(cccc->reply.result, "events"))
                if (str_starts(json_text_of(event, "id"), str_from(text)))
                        advise("  " STR_FMT "  " STR_FMT, STR_ARG(json_text_of(event, "id")),
                               STR_ARG(json_text_of(event, "kind")));
        return CLI_FAILED;
}

/* The last message that somebody else has sent. */
static int cccc_last_message(Cccc *cccc, Str *ret) {
        Str found = STR_NULL;
        int r;

        cccc_set_str(cccc, "group", cccc->group);
        cccc_set_str(cccc, "kind", STR("chat.message"));
        cccc_set_int(cccc, "limit", MESSAGES_LOOKED_AT);
        r = cccc_call_native(cccc, "group.events");
        if (r)
                return r;
        json_each (event, json_get(cccc->reply.result, "events"))
                if (!str_eq(json_text_of(event, "by"), cccc->by))
                        found = json_text_of(event, "id");
        if (!found.n)
                return complain(CLI_FAILED, "%s: nobody else has sent a message here lately", cccc->command);
        *ret = arena_str(&cccc->arena, found);
        return ret->data ? CLI_OK : out_of_memory();
}

int cccc_event_id(Cccc *cccc, const char *text, Str *ret) {
        Str given = str_from(text), found = given;
        size_t n = 0;
        int r;

        if (str_is(given, "last"))
                return cccc_last_message(cccc, ret);

        *ret = given;
        if (!given.n)
                return complain(CLI_USAGE, "%s: the id of an event is empty", cccc->command);
        if (given.n >= EVENT_ID_LENGTH)
                return CLI_OK;
        cccc_set_str(cccc, "group", cccc->group);
        cccc_set_int(cccc, "limit", EVENTS_LOOKED_AT);
        r = cccc_call_native(cccc, "group.events");
        if (r)
                return r;
        json_each (event, json_get(cccc->reply.result, "events"))
                if (str_starts(json_text_of(event, "id"), given)) {
                        found = json_text_of(event, "id");
                        n++;
                }
        if (n > 1)
                return cccc_refuse_event(cccc, text);
        *ret = arena_str(&cccc->arena, found);
        return ret->data ? CLI_OK : out_of_memory();
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int cccc_read_stdin(Cccc *cccc, Buf *out) {
        while (out->n <= TEXT_MAX) {
                ssize_t n;

                if (buf_reserve(out, READ_STEP))
                        return out_of_memory();
                n = read(STDIN_FILENO, out->data + out->n, READ_STEP);
                if (n < 0 && errno != EINTR)
                        return complain(CLI_FAILED, "%s: stdin: %s", cccc->command, strerror(errno));
                if (n == 0)
                        return CLI_OK;
                out->n += n > 0 ? (size_t)n : 0;
        }
        return complain(CLI_FAILED, "%s: the text is longer than %d bytes", cccc->command, TEXT_MAX);
}

static int join_words(char **words, int n, Buf *out) {
        for (int i = 0; i < n; i++)
                if (buf_printf(out, "%s%s", i ? " " : "", words[i]))
                        return out_of_memory();
        return CLI_OK;
}

int cccc_text(Cccc *cccc, char **words, int n, Str *ret) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        bool is_stdin = n == 1 && !strcmp(words[0], "-");
        int r = is_stdin ? cccc_read_stdin(cccc, &text) : join_words(words, n, &text);

        if (r)
                return r;
        *ret = arena_str(&cccc->arena, buf_str(&text));
        return ret->data ? CLI_OK : out_of_memory();
}
