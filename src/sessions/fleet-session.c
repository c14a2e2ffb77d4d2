/* SPDX-License-Identifier: MIT */
/*
 * Sessions in the fleet: session:NAME is the agent, session:NAME.N another of its terminals. A session of which
 * nothing runs is found all the same, as long as it is listed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

enum { FLEET_SEND_MAX = 64 << 10, FLEET_ENTER_MS = 300 /* a program that takes a paste needs a moment */ };

static int fleet_session_fill(Arena *arena, Str session, unsigned number, Str folder, FleetThing *ret) {
        ret->owner = &fleet_session;
        ret->number = number;
        ret->place = arena_str(arena, session);
        ret->object = ret->place;
        ret->folder = arena_str(arena, folder);
        ret->name = number ? arena_printf(arena, "session:" STR_FMT ".%u", STR_ARG(session), number)
                           : arena_printf(arena, "session:" STR_FMT, STR_ARG(session));
        return ret->place.data && ret->folder.data && ret->name.data ? 0 : error_origin(-ENOMEM);
}

/* One of an earlier daemon that nobody looks after yet: its meta says which it is. */
static int fleet_session_describe(_unused_ Daemon *daemon, const Hosted *hosted, Arena *arena,
                                  FleetThing *ret) {
        const Pty *pty = hosted->handler == &pty_hosted_handler ? hosted->user : NULL;
        Str meta = str_from(hosted->meta);
        int64_t number = 0;
        Json *json = NULL;

        if (pty)
                return fleet_session_fill(arena, str_from(pty->session->name), pty->id,
                                          str_from(pty->session->resolved), ret);
        if (meta.n && !json_parse(arena, meta.data, meta.n, NULL, &json, NULL))
                (void)json_int64(json_get(json, "pty"), &number);
        return fleet_session_fill(arena, str_from(hosted->object),
                                  number > 0 && number <= UINT32_MAX ? (unsigned)number : 0,
                                  str_from(hosted->workspace), ret);
}

static int fleet_session_offer(Daemon *daemon, FleetSearch *search) {
        const Session *session = daemon->sessions ? daemon->sessions->first : NULL;
        int r = 0;

        for (; session && !r; session = session->next) {
                FleetThing thing = {0};

                if (!session->is_listed)
                        continue;
                r = fleet_session_fill(search->arena, str_from(session->name), 0,
                                       str_from(session->resolved), &thing);
                r = r ? r : fleet_offer(search, &thing);
        }
        return error_trace(r);
}

int fleet_session_at(Daemon *daemon, Arena *arena, Str folder, FleetThing *ret) {
        const Session *best = NULL;

        *ret = (FleetThing){0};
        for (const Session *s = daemon->sessions ? daemon->sessions->first : NULL; s; s = s->next)
                if (s->is_listed && fleet_is_below(folder, str_from(s->resolved)) &&
                    (!best || strlen(s->resolved) > strlen(best->resolved)))
                        best = s;
        if (!best)
                return 0;
        if (best->ptys && best->ptys->hosted)
                memcpy(ret->id, best->ptys->hosted->id, sizeof(ret->id));
        return error_trace(
                fleet_session_fill(arena, str_from(best->name), 0, str_from(best->resolved), ret));
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static int fleet_session_kill(Call *call, const FleetThing *thing, _unused_ Str by, bool is_forced) {
        Session *session = NULL;
        Pty *pty = NULL;
        int r = thing->number ? pty_require(call, thing->place, thing->number, &pty)
                              : session_require(call, thing->place, &session);

        if (r)
                return r;
        if (pty)
                pty_kill(pty, is_forced);
        else
                session_kill(session, is_forced);
        return 0;
}

static int fleet_session_restart(Call *call, const FleetThing *thing, _unused_ Str by,
                                 _unused_ const Json *env) {
        CoopRestartArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (!args)
                return error_origin(-ENOMEM);
        *args = (CoopRestartArgs){.session = thing->place, .pty = thing->number};
        return op_coop_restart(call, args);
}

/* ---- a message is typed ---------------------------------------------------------------------- */

typedef struct FleetTyping { /* malloc'd: a timer is in it */
        Call *call;
        char id[17]; /* of the process */
        Timer enter;
} FleetTyping;

/* Letters, blanks and new lines: nothing that a terminal would take for a key or an order. */
static int fleet_session_clean(Str text, Buf *out) {
        int r = 0;

        for (size_t i = 0; !r && i < text.n; i++) {
                unsigned char c = (unsigned char)text.data[i];
                bool is_c1 = c == 0xc2 && i + 1 < text.n && (unsigned char)text.data[i + 1] < 0xa0;

                if (is_c1)
                        i++;
                else if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t')
                        r = buf_append(out, &text.data[i], 1);
        }
        return error_trace(r);
}

static int fleet_session_payload(const Hosted *hosted, Str text, Buf *out) {
        bool is_paste = hosted->modes.set & MODE_PASTE;
        int r = is_paste ? buf_append_str(out, STR("\x1b[200~")) : 0;

        r = r ? r : fleet_session_clean(text, out);
        return error_trace(!r && is_paste ? buf_append_str(out, STR("\x1b[201~")) : r);
}

static void fleet_typing_enter(Timer *timer) {
        FleetTyping *typing = container_of(timer, FleetTyping, enter);
        Call *call = typing->call;
        Hosted *hosted = host_find(call->daemon->host, str_from(typing->id));
        int r = hosted ? host_feed(hosted, STR("\r")) : HOST_E_ENDED;

        timer_clear(&typing->enter);
        free(typing);
        daemon_release_stop(call->daemon);
        if (r == HOST_E_ENDED)
                r = call_fail(call, CALL_E_UNAVAILABLE, "it ended while it was told");
        call_finish(call, r == HOST_E_FULL ? 0 : r);
}

static int fleet_typing_begin(Call *call, const Hosted *hosted) {
        FleetTyping *typing = calloc(1, sizeof(*typing));

        if (!typing)
                return error_origin(-ENOMEM);
        typing->call = call;
        memcpy(typing->id, hosted->id, sizeof(typing->id));
        timer_init(&typing->enter, call->daemon->loop, fleet_typing_enter);
        if (timer_set(&typing->enter, FLEET_ENTER_MS)) {
                free(typing);
                return error_origin(-ENOMEM);
        }
        daemon_hold_stop(call->daemon);
        return CALL_LATER;
}

/* As a person would: the text, pasted where the program takes pastes, and Enter a moment later. */
static int fleet_session_send(Call *call, const FleetThing *thing, const FleetMessage *message) {
        _cleanup_(buf_deinit) Buf payload = BUF_NULL;
        Pty *pty = NULL;
        int r = pty_require(call, thing->place, thing->number, &pty);

        if (r)
                return r;
        if (message->text.n > FLEET_SEND_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "a message that is typed has at most %d bytes",
                                 FLEET_SEND_MAX);
        if (!pty->hosted || pty->hosted->state != HOSTED_RUNNING)
                return call_fail(call, CALL_E_UNAVAILABLE, "nothing runs in session '%s'",
                                 pty->session->name);
        r = fleet_session_payload(pty->hosted, message->text, &payload);
        r = r ? r : host_feed(pty->hosted, buf_str(&payload));
        if (r == HOST_E_ENDED)
                return call_fail(call, CALL_E_UNAVAILABLE, "nothing runs in session '%s'",
                                 pty->session->name);
        return r && r != HOST_E_FULL ? error_trace(r) : fleet_typing_begin(call, pty->hosted);
}

const FleetOwner fleet_session = {
        .owner = "sessions",
        .kind = "session",
        .describe = fleet_session_describe,
        .offer = fleet_session_offer,
        .kill = fleet_session_kill,
        .restart = fleet_session_restart,
        .start = fleet_session_restart,
        .send = fleet_session_send,
        .send_right = RIGHT_TYPE,
};
