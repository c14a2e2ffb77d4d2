/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/link/caller-env.h"
#include "cli/link/cccc.h"
#include "cli/print/report.h"

/* The answer is the event; a person wants its id, to reply to or to look for. */
static int send_tell(Cccc *cccc, const Options *options) {
        Str id = json_str(json_get(json_get(cccc->reply.result, "event"), "id"));

        if (options->json)
                return cccc_print(cccc);
        text_put(stdout, id);
        putchar('\n');
        return CLI_OK;
}

static int send_text(Cccc *cccc, const char *op, Str reply_to, const Options *options, char **words, int n) {
        Str text = STR_NULL;
        int r = cccc_text(cccc, words, n, &text);

        if (r)
                return r;
        if (!str_trim(text).n) {
                complain(CLI_USAGE, "%s: the message is empty", op);
                advise("its words stand behind the command; a - takes them from stdin");
                return CLI_USAGE;
        }
        cccc_set_target(cccc);
        cccc_set_str(cccc, "text", text);
        if (reply_to.n)
                cccc_set_str(cccc, "reply_to", reply_to);
        cccc_set_strings(cccc, "to", options->to.items, options->to.n);
        if (options->attention)
                cccc_set_str(cccc, "priority", STR("attention"));
        if (options->key)
                cccc_set_str(cccc, "client_id", str_from(options->key));
        r = cccc_call(cccc, op);
        return r ? r : send_tell(cccc, options);
}

/* ---- to whatever is hosted ------------------------------------------------------------------- */

/* Words that no group has a recipient for: kind:…, or with a slash. */
static bool send_is_name(const char *word) {
        static const char *const kinds[] = {"actor:", "session:", "task:", "run:"};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (str_starts(str_from(word), str_from(kinds[i])))
                        return true;
        return strchr(word, '/');
}

static bool send_is_address(const char *word) {
        return *word == '@' || !strcmp(word, "user");
}

/* Asks without a word to anybody. */
static bool send_knows(Cccc *cccc, const char *dialect, const char *op) {
        const Asking what = {cccc->socket, dialect, op, &cccc->link, &cccc->arena};

        return !asking(&what, &cccc->args, &cccc->reply) && !cccc->reply.is_error;
}

/* The group of this folder has an actor of this id or title. */
static bool send_is_of_group(Cccc *cccc, const char *word) {
        _cleanup_(freep) char *folder = getcwd(NULL, 0);
        Str id;

        cccc_set_str(cccc, "path", str_from(folder ? folder : "/"));
        if (!send_knows(cccc, "native", "group.find"))
                return false;
        id = arena_str(&cccc->arena, json_str(json_get(cccc->reply.result, "group_id")));
        cccc_set_str(cccc, "group_id", id);
        if (!send_knows(cccc, "cccc", "actor_list"))
                return true; /* who asks it says what is wrong */
        json_each (actor, json_get(cccc->reply.result, "actors"))
                if (str_is(json_text_of(actor, "id"), word) || str_is(json_text_of(actor, "title"), word))
                        return true;
        return false;
}

static bool send_is_known(Cccc *cccc, const char *word) {
        cccc_set_str(cccc, "name", str_from(word));
        return send_knows(cccc, "native", "fleet.find");
}

/* A word that could be both is of the group: of the one that was named, else of this folder's. */
static bool send_is_for_fleet(Cccc *cccc, const Options *options) {
        const char *word = options->to.n ? options->to.items[0] : "@", *own = getenv("CCCC_GROUP_ID");

        if (send_is_name(word))
                return true;
        if (options->to.n != 1 || options->group || (own && *own) || send_is_address(word))
                return false;
        return !send_is_of_group(cccc, word) && send_is_known(cccc, word);
}

static int send_to_one(Cccc *cccc, const Options *options, const char *word, Str text) {
        Str answer;
        int r;

        cccc_set_str(cccc, "name", str_from(word));
        cccc_set_str(cccc, "text", text);
        cccc_set_str(cccc, "by", cccc->by);
        cccc_set(cccc, "env", caller_env(&cccc->arena));
        if (options->attention)
                cccc_set_str(cccc, "priority", STR("attention"));
        if (options->key)
                cccc_set_str(cccc, "client_id", str_from(options->key));
        r = cccc_call_native(cccc, "fleet.send");
        if (r || options->json)
                return r ? r : cccc_print(cccc);
        answer = json_text_of(cccc->reply.result, "event_id");
        answer = answer.n ? answer : json_text_of(cccc->reply.result, "task");
        if (answer.n) {
                text_put(stdout, answer);
                putchar('\n');
        }
        return CLI_OK;
}

/* Each gets a message of its own. */
static int send_to_fleet(Cccc *cccc, const Options *options) {
        Str text = STR_NULL;
        int r = cccc_text(cccc, options->operands, options->n_operands, &text);

        if (!r && !str_trim(text).n)
                return complain(CLI_USAGE, "send: the message is empty");
        for (int i = 0; !r && i < options->to.n; i++)
                if (send_is_address(options->to.items[i]))
                        r = complain(CLI_USAGE,
                                     "send: %s is of a group, and %s is not: send them one by one",
                                     options->to.items[i], options->to.items[0]);
        for (int i = 0; !r && i < options->to.n; i++)
                r = send_to_one(cccc, options, options->to.items[i], text);
        return r;
}

int cmd_send(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        int r = cccc_begin(&cccc, "send", options);

        if (!r && send_is_for_fleet(&cccc, options))
                return send_to_fleet(&cccc, options);
        if (!r)
                r = cccc_choose_group(&cccc, options);
        return r ? r : send_text(&cccc, "send", STR_NULL, options, options->operands, options->n_operands);
}

int cmd_reply(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        Str reply_to = STR_NULL;
        int r = cccc_begin(&cccc, "reply", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (!r)
                r = cccc_event_id(&cccc, options->operands[0], &reply_to);
        if (r)
                return r;
        return send_text(&cccc, "reply", reply_to, options, options->operands + 1, options->n_operands - 1);
}

int cmd_ack(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        Str event = STR_NULL;
        int r = cccc_open(&cccc, "ack", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (!r)
                r = cccc_event_id(&cccc, options->operands[0], &event);
        if (r)
                return r;
        cccc_set_target(&cccc);
        cccc_set_str(&cccc, "actor_id", cccc.by);
        cccc_set_str(&cccc, "event_id", event);
        r = cccc_call(&cccc, "chat_ack");
        return r || !options->json ? r : cccc_print(&cccc);
}
