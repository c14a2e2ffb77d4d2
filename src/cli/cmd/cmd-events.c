/* SPDX-License-Identifier: MIT */
/*
 * events and tail: what has happened in a group, and what happens. The past comes from the native method
 * group.events, which has every kind; what follows from the contract's stream, which has messages, notices
 * and their acknowledgements.
 */
#include <stdio.h>

#include "cli/link/again.h"
#include "cli/link/cccc.h"
#include "cli/print/event-text.h"
#include "cli/cmd/events-all.h"
#include "cli/print/report.h"

enum { PAST_EVENTS = 20 };

typedef struct Show {
        Cccc *cccc;
        bool is_text;   /* for people; else one JSON object a line */
        char last[128]; /* id of the newest event that came; the daemon goes on behind it */
} Show;

/* false: stdout takes no more. */
static bool events_put_event(const Show *show, const Json *event) {
        if (show->is_text)
                event_print(stdout, event, show->cccc->folder);
        else if (json_print(stdout, event, false))
                return false;
        return fflush(stdout) == 0;
}

static bool is_of_kind(const Json *event, const char *kind) {
        return !kind || str_is(json_str(json_get(event, "kind")), kind);
}

/* *ret: id of the newest event shown or left out, "" when there is none. */
static int show_past(const Show *show, const Options *options, Str *ret) {
        int r;

        cccc_set_str(show->cccc, "group", show->cccc->group);
        cccc_set_int(show->cccc, "limit", options->tail >= 0 ? options->tail : PAST_EVENTS);
        if (options->kind)
                cccc_set_str(show->cccc, "kind", str_from(options->kind));
        r = cccc_call_native(show->cccc, "group.events");
        if (r)
                return r;
        json_each (event, json_get(show->cccc->reply.result, "events"))
                if (!events_put_event(show, event))
                        return CLI_FAILED; /* main() says why */
        *ret = arena_str(&show->cccc->arena, json_str(json_get(show->cccc->reply.result, "last_event_id")));
        return ret->data ? CLI_OK : complain(CLI_FAILED, "out of memory");
}

/* ---- what comes ------------------------------------------------------------------------------ */

static bool events_put_item(Show *show, Str line, const char *kind) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *event;
        Json *item;
        Str id;

        if (json_parse(&arena, line.data, line.n, NULL, &item, NULL))
                return true;
        event = json_get(item, "event");
        if (!str_is(json_str(json_get(item, "t")), "event"))
                return true;
        id = json_str(json_get(event, "id"));
        if (id.n && id.n < sizeof(show->last))
                snprintf(show->last, sizeof(show->last), STR_FMT, STR_ARG(id));
        if (!is_of_kind(event, kind))
                return true;
        return events_put_event(show, event);
}

/* One connection, up to its end. */
static int events_follow(Show *show, const Options *options) {
        Cccc *cccc = show->cccc;
        Str line;
        int r;

        cccc_set_target(cccc);
        if (show->last[0])
                cccc_set_str(cccc, "since_event_id", str_from(show->last));
        if (show->last[0] || !cccc->n_events) /* the past has kinds that the stream has not */
                cccc_set(cccc, "since_any", json_new_bool(&cccc->arena, true));
        r = cccc_call(cccc, "events_stream");
        if (r)
                return r;
        cccc->link.deadline_ms = DEADLINE_NEVER;
        while ((r = link_receive(&cccc->link, FRAMING_LINE, &line)) == 0)
                if (!events_put_item(show, line, options->kind))
                        return CLI_FAILED;
        return r == LINK_E_CLOSED ? CLI_OK : link_complain(r, cccc->socket);
}

static int follow_on(Show *show, const Options *options) {
        Again again = {0};

        for (;;) {
                int r = events_follow(show, options);

                if (r)
                        return r;
                if (!again.socket)
                        again_init(&again, show->cccc->socket, &show->cccc->link, options->no_reconnect);
                if (again_wait(&again, -1) != AGAIN_BACK)
                        return CLI_NO_DAEMON;
        }
}

static int events_run(const char *command, bool is_text, const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        Show show = {.cccc = &cccc, .is_text = is_text};
        Str since = str_from(options->since);
        int r = cccc_open(&cccc, command, options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (!r && options->since)
                r = cccc_event_id(&cccc, options->since, &since);
        if (!r && !options->since)
                r = show_past(&show, options, &since);
        if (r || !(options->follow || options->since))
                return r;
        snprintf(show.last, sizeof(show.last), STR_FMT, STR_ARG(since));
        return follow_on(&show, options);
}

int cmd_events(const Options *options) {
        return options->all ? events_all(options) : events_run("events", false, options);
}

int cmd_tail(const Options *options) {
        return events_run("tail", !options->json, options);
}
