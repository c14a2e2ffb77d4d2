/* SPDX-License-Identifier: MIT */
/*
 * What is remembered comes first, then what happens. The first line of --json is the answer of feed.follow:
 * its epoch and a number of an item make the EPOCH:NUMBER of --since.
 */
#include "cli/cmd/events-all.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/link/again.h"
#include "cli/link/cccc.h"
#include "cli/print/event-text.h"
#include "cli/print/report.h"

enum { PAST_ITEMS = 20 };

typedef struct Show {
        const Options *options;
        uint64_t last; /* number of the youngest item when it was asked for */
        uint64_t skip; /* items up to this one are not shown */
        bool is_over;
        char epoch[80];   /* of the last answer */
        uint64_t reached; /* number of the last item that came */
} Show;

static uint64_t number_of(const Json *object, const char *key) {
        uint64_t number = 0;

        (void)json_uint64(json_get(object, key), &number);
        return number;
}

static void put_word(Str word) {
        putchar(' ');
        text_put(stdout, word);
}

/* The member of an event that says most in a line. */
static Str gist(const Json *event) {
        static const char *const keys[] = {"by", "taskId", "run_id", "op"};

        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                Str text = json_str(json_get(event, keys[i]));

                if (text.n)
                        return text;
        }
        return STR("-");
}

/* A hosted process by its name, and how it ended. */
static void events_put_hosted(const Json *params) {
        const Json *event = json_get(params, "event"), *code = json_get(event, "exit_code");
        Str name = json_str(json_get(event, "object"));

        put_word(name.n ? name : json_str(json_get(params, "owner")));
        put_word(json_str(json_get(params, "kind")));
        if (json_is(code, JSON_NUMBER))
                print(" (" STR_FMT ")", STR_ARG(json_raw(code)));
}

static void events_all_put_item(const Json *params) {
        Str domain = json_str(json_get(params, "domain"));

        print("%" PRIu64 " ", number_of(params, "number"));
        event_put_time(stdout, json_str(json_get(params, "at")));
        put_word(domain);
        if (str_is(domain, "host"))
                events_put_hosted(params);
        else {
                put_word(json_str(json_get(params, "owner")));
                put_word(json_str(json_get(params, "kind")));
                put_word(gist(json_get(params, "event")));
        }
        putchar('\n');
}

static bool events_all_is_shown(const Show *show, const Json *params, uint64_t number, bool is_gap) {
        const char *kind = show->options->kind;

        if (is_gap)
                return show->options->since || number > show->skip;
        return number > show->skip && (!kind || str_is(json_str(json_get(params, "kind")), kind));
}

/* One notification. false: stdout takes no more. */
static bool events_all_put_message(Show *show, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *params;
        uint64_t number;
        bool is_gap;
        Json *message;

        if (json_parse(&arena, line.data, line.n, NULL, &message, NULL))
                return true;
        params = json_get(message, "params");
        is_gap = str_is(json_str(json_get(message, "method")), "feed.gap");
        number = number_of(params, is_gap ? "to" : "number");
        show->is_over = number >= show->last;
        show->reached = number;
        if (!events_all_is_shown(show, params, number, is_gap))
                return true;
        if (show->options->json) {
                if (json_print(stdout, is_gap ? message : params, false))
                        return false;
        } else if (is_gap && !number_of(params, "from"))
                print("gap: another run of the daemon; what the one before told last may be missing\n");
        else if (is_gap)
                print("gap: items %" PRIu64 " to %" PRIu64 " were missed\n", number_of(params, "from"),
                      number);
        else
                events_all_put_item(params);
        return fflush(stdout) == 0;
}

/* EPOCH:NUMBER, or a number. */
static int set_since(Show *show, Cccc *cccc) {
        const char *since = show->options->since;
        const char *colon = since ? strchr(since, ':') : NULL, *digits = colon ? colon + 1 : since;
        char *end = NULL;
        long long number = since ? strtoll(digits, &end, 10) : 0;

        if (since && (end == digits || *end || number < 0))
                return complain(CLI_USAGE, "%s: --all takes --since [EPOCH:]NUMBER", cccc->command);
        show->reached = (uint64_t)number;
        cccc_set_int(cccc, "after", number);
        if (colon)
                cccc_set_str(cccc, "epoch", (Str){since, (size_t)(colon - since)});
        return CLI_OK;
}

static void events_all_begin(Show *show, const Json *answer) {
        uint64_t tail = (uint64_t)(show->options->tail >= 0 ? show->options->tail : PAST_ITEMS);

        show->last = number_of(answer, "number");
        snprintf(show->epoch, sizeof(show->epoch), STR_FMT, STR_ARG(json_str(json_get(answer, "epoch"))));
        if (!show->options->since)
                show->reached = show->skip = show->last - MIN(tail, show->last);
        show->is_over = show->skip == show->last;
        if (show->options->json)
                (void)json_print(stdout, answer, false);
        (void)fflush(stdout);
}

/* Asks for what comes behind the last item that came. */
static int come_back(Show *show, Cccc *cccc) {
        int r;

        cccc_set_int(cccc, "after", (int64_t)show->reached);
        cccc_set_str(cccc, "epoch", str_from(show->epoch));
        r = cccc_call_native(cccc, "feed.follow");
        if (r)
                return r;
        show->skip = 0; /* numbers begin anew with an epoch */
        snprintf(show->epoch, sizeof(show->epoch), STR_FMT,
                 STR_ARG(json_str(json_get(cccc->reply.result, "epoch"))));
        if (show->options->json)
                (void)json_print(stdout, cccc->reply.result, false);
        return CLI_OK;
}

static int events_all_receive(Show *show, Cccc *cccc) {
        bool goes_on = show->options->follow || show->options->since;
        Again again;
        Str line;
        int r;

        again_init(&again, cccc->socket, &cccc->link, show->options->no_reconnect);
        while (goes_on || !show->is_over) {
                cccc->link.deadline_ms = DEADLINE_NEVER;
                r = link_receive(&cccc->link, FRAMING_LINE, &line);
                if (r == LINK_E_CLOSED) {
                        if (again_wait(&again, -1) != AGAIN_BACK)
                                return CLI_NO_DAEMON;
                        r = come_back(show, cccc);
                        if (r)
                                return r;
                        continue;
                }
                if (r)
                        return link_complain(r, cccc->socket);
                if (!events_all_put_message(show, line))
                        return CLI_FAILED; /* main() says why */
        }
        return CLI_OK;
}

int events_all(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        Show show = {.options = options};
        int r = cccc_open(&cccc, "events", options);

        if (!r)
                r = set_since(&show, &cccc);
        if (!r)
                r = cccc_call_native(&cccc, "feed.follow");
        if (r)
                return r;
        events_all_begin(&show, cccc.reply.result);
        return events_all_receive(&show, &cccc);
}
