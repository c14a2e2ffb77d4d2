/* SPDX-License-Identifier: MIT */
/* The terminal of an actor: looking at it, clearing it, its size, attaching to it. */
#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "collab/actor/runner.h"
#include "collab/actor/transcript.h"
#include "collab/collab.h"
#include "collab/group/group-doc.h"
#include "collab/group/group-work.h"
#include "collab/group/settings.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "gen/cccc-ops.h"

/* terminal_tail, terminal_clear, term_resize: looking at an actor's terminal without attaching to it. */

/* ---- who may look ---------------------------------------------------------------------------- */

static bool may_look(const GroupDoc *doc, Str by, Str target) {
        int64_t visibility = doc->settings.transcript_visibility;

        if (!by.n || str_is(by, "user") || str_eq(by, target))
                return true;
        if (!group_doc_actor(doc, by))
                return false;
        return visibility == TRANSCRIPT_ALL ||
               (visibility == TRANSCRIPT_FOREMAN && group_is_foreman(doc, by));
}

static int terminal_refuse(Call *call, const GroupDoc *doc, Str by, Str target) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_cstr(w, "visibility", settings_visibility_name(doc));
        jw_field_str(w, "by", by);
        jw_field_cstr(w, "by_role", group_role(doc, by));
        jw_field_str(w, "target_actor_id", target);
        jw_field_cstr(w, "how_to_enable",
                      "group_settings_update with terminal_transcript_visibility \"foreman\" or \"all\"");
        jw_end_object(w);
        return call_fail(call, CALL_E_PERMISSION_DENIED,
                         "terminal transcript is restricted by group settings");
}

static int refuse_runner(Call *call, const ActorView *actor) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_str(w, "runner", actor->runner);
        jw_end_object(w);
        return call_fail(call, CALL_E_NOT_PTY_ACTOR, "terminal transcript is only available for PTY actors");
}

static int terminal_look(Call *call, const Group *group, Str by, Str target, const char *what,
                         Runner **ret) {
        const ActorView *actor = group_doc_actor(group->doc, target);
        Runner *runner = runner_find(group->collab, str_from(group->id), target);

        if (!may_look(group->doc, by, target))
                return terminal_refuse(call, group->doc, by, target);
        if (!actor)
                return call_fail(call, CALL_E_ACTOR_NOT_FOUND, "actor not found: " STR_FMT, STR_ARG(target));
        if (!str_is(actor->runner, "pty"))
                return refuse_runner(call, actor);
        if (!runner_is_running(runner) || runner->kind != RUNNER_PTY)
                return call_fail(call, CALL_E_ACTOR_NOT_RUNNING, "actor is not running (%s)", what);
        *ret = runner;
        return 0;
}

/* ---- tail ------------------------------------------------------------------------------------ */

/* Of the output so much is copied for the worker as the answer should need: most of it may be sequences, so
 * it is more the next time if it was too little. */
enum {
        CHARS_DEFAULT = 8000, /* also when it is not positive */
        CHARS_MAX = 200000,
        COPY_FIRST = 32 << 10, /* and four bytes for each character */
        COPY_TIMES = 4,
        COPY_MAX = 8 << 20, /* what is older is not looked at */
        BREAK_MAX = 4096, /* within so many bytes a copy that begins anywhere should have a place to begin */
};

typedef struct Tail {
        Carry carry;
        Str actor_id;
        Buf copy; /* the worker must not look at the ring */
        size_t n_copy;
        bool is_cut; /* there was more */
        TranscriptOptions options;
        bool is_raw;
        Buf text;
} Tail;

static int terminal_copy(Tail *tail, const Hosted *hosted) {
        Str bytes = hosted_scrollback(hosted, tail->n_copy + 1);
        size_t n = MIN(bytes.n, tail->n_copy);

        tail->is_cut = bytes.n > n;
        tail->copy.n = tail->text.n = 0;
        return buf_append(&tail->copy, bytes.data + bytes.n - n, n);
}

/* Not with the rest of a sequence. */
static Str begin_whole(Str bytes) {
        for (size_t i = 0; i < MIN(bytes.n, (size_t)BREAK_MAX); i++)
                if (bytes.data[i] == '\n' || bytes.data[i] == '\r' || bytes.data[i] == '\x1b')
                        return (Str){bytes.data + i, bytes.n - i};
        return bytes;
}

static void tail_deinit(Tail *tail) {
        buf_deinit(&tail->copy);
        buf_deinit(&tail->text);
}

static int render(_unused_ const Group *group, const Carry *carry) {
        Tail *tail = container_of(carry, Tail, carry);
        Str bytes = buf_str(&tail->copy);
        int r;

        if (tail->is_raw)
                r = transcript_raw(bytes, tail->options.max_chars, &tail->text);
        else
                r = transcript_render(tail->is_cut ? begin_whole(bytes) : bytes, &tail->options,
                                      &tail->text);
        if (r)
                tail_deinit(tail);
        return r;
}

static bool is_enough(const Tail *tail) {
        return tail->is_raw || !tail->is_cut || tail->n_copy >= COPY_MAX ||
               utf8_count(buf_str(&tail->text)) >= tail->options.max_chars;
}

static int terminal_answer(Call *call, const Group *group, const Tail *tail) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_field_str(w, "actor_id", tail->actor_id);
        jw_field_cstr(w, "warning", "Terminal transcript may include sensitive stdout/stderr.");
        jw_field_cstr(w, "hint",
                      tail->copy.n && !tail->text.n
                              ? "there was output, but no text is left of it; try strip_ansi=false"
                              : "");
        jw_field_str(w, "text", buf_str(&tail->text));
        jw_end_object(w);
        return 0;
}

static int terminal_look_at(Call *call, Group *group, Tail *tail, const Hosted *hosted);

static int terminal_show(Call *call, Group *group, const Carry *carry) {
        Tail *tail = container_of(carry, Tail, carry);
        const Runner *runner =
                is_enough(tail) ? NULL : runner_find(group->collab, str_from(group->id), tail->actor_id);
        int r;

        if (runner && runner->hosted) {
                tail->n_copy = MIN(tail->n_copy * COPY_TIMES, (size_t)COPY_MAX);
                return terminal_look_at(call, group, tail, runner->hosted);
        }
        r = terminal_answer(call, group, tail);
        tail_deinit(tail);
        return r;
}

static int terminal_look_at(Call *call, Group *group, Tail *tail, const Hosted *hosted) {
        int r = terminal_copy(tail, hosted);

        if (!r)
                r = group_work(call, group, render, terminal_show, &tail->carry);
        if (r != CALL_LATER)
                tail_deinit(tail);
        return error_trace(r);
}

int op_cccc_terminal_tail(Call *call, Group *group, const CcccTerminalTailArgs *args) {
        Tail *self = arena_alloc(&call->arena, sizeof(*self));
        Runner *runner = NULL;
        int r = terminal_look(call, group, args->by, args->actor_id, "no live transcript available",
                              &runner);

        if (!runner)
                return r;
        if (!self)
                return error_origin(-ENOMEM);
        *self = (Tail){.actor_id = args->actor_id,
                       .options = {.n_rows = runner->hosted->rows,
                                   .is_compact = args->compact,
                                   .max_chars = args->max_chars > 0 ? (size_t)MIN(args->max_chars, CHARS_MAX)
                                                                    : CHARS_DEFAULT},
                       .is_raw = !args->strip_ansi};
        self->n_copy = self->is_raw ? transcript_raw_bytes(self->options.max_chars)
                                    : COPY_FIRST + 4 * self->options.max_chars;
        return terminal_look_at(call, group, self, runner->hosted);
}

/* ---- clear ----------------------------------------------------------------------------------- */

int op_cccc_terminal_clear(Call *call, Group *group, const CcccTerminalClearArgs *args) {
        Runner *runner = NULL;
        JsonWriter *w;
        int r = terminal_look(call, group, args->by, args->actor_id, "nothing to clear", &runner);

        if (!runner)
                return r;
        host_clear(runner->hosted);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_field_str(w, "actor_id", args->actor_id);
        jw_field_bool(w, "cleared", true);
        jw_end_object(w);
        return 0;
}

/* ---- size ------------------------------------------------------------------------------------ */

int op_cccc_term_resize(Call *call, Group *group, const CcccTermResizeArgs *args) {
        Runner *runner = runner_find(group->collab, str_from(group->id), args->actor_id);
        JsonWriter *w = call_result(call);

        if (runner && runner->hosted && args->cols > 0 && args->rows > 0 && args->cols <= UINT16_MAX &&
            args->rows <= UINT16_MAX)
                host_say_size(runner->hosted, (unsigned)args->cols, (unsigned)args->rows);
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_field_str(w, "actor_id", args->actor_id);
        jw_field_int(w, "cols", args->cols);
        jw_field_int(w, "rows", args->rows);
        jw_end_object(w);
        return 0;
}

typedef struct TermTarget { /* in the call's arena */
        Carry carry;
        Str group_id, actor_id;
        bool is_viewer;
} TermTarget;

/* The process may have ended since: then there is nothing to show. */
static void term_attach_stream(Call *call) {
        Client *client = call->client;
        const TermTarget *target = container_of(call->target, TermTarget, carry);
        Runner *runner = runner_find(call->daemon->collab, target->group_id, target->actor_id);

        if (runner_is_running(runner) && runner->hosted)
                client->dialect->stream(client, &(StreamTarget){.hosted = runner->hosted,
                                                                .is_read_only = target->is_viewer});
        else
                conn_finish(client->conn, "the terminal has ended");
}

int op_cccc_term_attach(Call *call, const CcccTermAttachArgs *args) {
        Runner *runner;
        TermTarget *target;
        JsonWriter *w;

        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        runner = runner_find(call->daemon->collab, args->group_id, args->actor_id);
        target = arena_alloc(&call->arena, sizeof(*target));
        if (!target || !runner_is_running(runner) || runner->kind != RUNNER_PTY)
                return call_fail(call, CALL_E_ACTOR_NOT_RUNNING, "actor is not running");
        *target = (TermTarget){.group_id = args->group_id,
                               .actor_id = args->actor_id,
                               .is_viewer = str_is(args->mode, "viewer")};
        call->target = &target->carry;
        call_after(call, term_attach_stream);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "group_id", args->group_id);
        jw_field_str(w, "actor_id", args->actor_id);
        jw_end_object(w);
        return 0;
}
