/* SPDX-License-Identifier: MIT */
/* session.list, session.poll, session.collect, session.stop and run.replay: sessions and events as they stand. */
#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "company/place.h"
#include "company/run/launch.h"
#include "company/run/runs.h"
#include "company/run/sessions.h"
#include "company/trail/replay.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "gen/agentcompany-ops.h"

/* ---- list ------------------------------------------------------------------------------------ */

typedef struct SessionsCall { /* in the call's arena */
        Carry carry;
        SessionFilter filter;
        uint64_t visit;
        VisitSession *own; /* those of the connection */
        size_t n_own;
        SessionList list;
} SessionsCall;

static SessionsCall *session_list_of(Call *call, const AgentcompanySessionListArgs *args) {
        SessionsCall *sessions = arena_alloc(&call->arena, sizeof(*sessions));

        if (sessions)
                *sessions = (SessionsCall){.filter = {.project_id = args->project_id,
                                                      .run_id = args->run_id,
                                                      .status = args->status},
                                           .visit = visit_number(call)};
        return sessions;
}

static int session_list_decide(Edit *edit, const Carry *carry) {
        const SessionsCall *sessions = container_of(carry, SessionsCall, carry);
        SessionList *list = NULL;
        int r = sessions_settle(edit, &sessions->filter, &list);

        edit->user = list;
        for (size_t i = 0; !r && i < list->n; i++)
                session_judge(&list->records[i], sessions->visit);
        return error_trace(r);
}

static void session_list_reply(Call *call, Edit *edit, const Carry *carry _unused_) {
        sessions_write(call_result(call), edit->user);
}

static int session_list_begin(Call *call, Workspace *workspace, const Carry *carry) {
        return company_edit(call, workspace, session_list_decide, session_list_reply, carry);
}

static int session_list_none(Call *call, const Carry *carry _unused_) {
        JsonWriter *w = call_result(call);

        jw_begin_array(w);
        jw_end_array(w);
        return 0;
}

/* Those of the connection stand in files as well: it knows where. */
static int session_list_own_read(Reading *reading, const Carry *carry) {
        SessionsCall *sessions = (SessionsCall *)container_of(carry, SessionsCall, carry);
        SessionList *list = &sessions->list;

        list->records = arena_alloc(reading->arena, (sessions->n_own + 1) * sizeof(*list->records));
        if (!list->records)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < sessions->n_own; i++) {
                const VisitSession *own = &sessions->own[i];

                list->n += session_read(own->workspace, reading->arena, own->session_ref,
                                        &list->records[list->n]) &&
                           session_fits(&list->records[list->n], &sessions->filter);
        }
        sessions_sort(list);
        sessions_write(reading->w, list);
        return 0;
}

/* What the connection has named stays open until the call is answered, also when it goes. */
static int session_list_own(Call *call, SessionsCall *sessions) {
        int r = visit_sessions(call, &sessions->own, &sessions->n_own);

        for (size_t i = 0; !r && i < sessions->n_own; i++)
                r = call_hold(call, workspace_ref(sessions->own[i].workspace), workspace_unref);
        return r ? error_trace(r) : workspace_read(call, NULL, session_list_own_read, &sessions->carry);
}

int op_agentcompany_session_list(Call *call, const AgentcompanySessionListArgs *args) {
        SessionsCall *sessions = session_list_of(call, args);

        if (!sessions)
                return error_origin(-ENOMEM);
        if (!args->workspace_dir.n)
                return session_list_own(call, sessions);
        return workspace_target(call, args->workspace_dir, WORKSPACE_FOLDER, session_list_begin,
                                session_list_none, &sessions->carry);
}

/* ---- one session: poll, collect, stop -------------------------------------------------------- */

typedef struct SessionCall { /* in the call's arena */
        Carry carry;
        RunWatch watch;
        Call *call;
        Workspace *workspace;
        Str session_ref;
        uint64_t visit;
        bool has_outputs; /* it is collected */
        bool is_stop;
        SessionRecord record;
        StrList outputs;
        pid_t pid; /* of a foreign program that is to end; 0: none */
} SessionCall;

static int session_read_outputs(Edit *edit, SessionCall *session) {
        const Json *json = session->record.json;
        const char *folder = place_run(edit->arena, json_text_of(json, "project_id"),
                                       json_text_of(json, "run_id"), "outputs");

        return session->has_outputs && folder
                       ? place_names(edit->arena, edit->root, folder, "", &session->outputs)
                       : 0;
}

/* One that another program has started, or a daemon that lost it: its pid is all that is known. */
static void session_stop_foreign(Edit *edit, SessionCall *session) {
        SessionRecord *record = &session->record;
        const char *marker = place_run(edit->arena, json_text_of(record->json, "project_id"),
                                       json_text_of(record->json, "run_id"), "outputs/stop_requested.flag");

        session->pid = 0;
        if (!record->pid)
                return;
        if (edit->wall_us / 1000 - record->claimed_ms > SESSION_CLAIM_MS) {
                record->error =
                        STR("Not stopped: its pid was claimed too long ago, and may be another process's.");
                return;
        }
        if (marker)
                (void)edit_replace(edit, marker,
                                   arena_printf(edit->arena, STR_FMT "\n", STR_ARG(edit_now(edit))));
        session->pid = record->pid;
        record->error = STR("Stop signal sent to detached session process.");
}

static int session_decide(Edit *edit, const Carry *carry) {
        SessionCall *session = (SessionCall *)container_of(carry, SessionCall, carry);
        SessionRecord *record = &session->record;

        if (!session_read(edit->workspace, edit->arena, session->session_ref, record))
                return edit_fail(edit, CALL_E_COMPANY, "Unknown session_ref: " STR_FMT,
                                 STR_ARG(session->session_ref));
        if (record->is_dead)
                session_bury(edit, record);
        session_judge(record, session->visit);
        if (session->is_stop && record->is_live && record->visit != session->visit)
                record->error = STR("Stop signal sent to detached session process.");
        if (session->is_stop && !record->is_live)
                session_stop_foreign(edit, session);
        return session_read_outputs(edit, session);
}

static void session_write_outputs(Call *call, JsonWriter *w, const SessionCall *session) {
        Str run_id = json_text_of(session->record.json, "run_id"),
            outputs = place_run_of_project(&call->arena, run_id, "outputs");

        jw_field_str(w, "events_relpath", place_run_of_project(&call->arena, run_id, "events.jsonl"));
        jw_key(w, "output_relpaths");
        jw_begin_array(w);
        for (size_t i = 0; i < session->outputs.n; i++)
                jw_str(w, arena_printf(&call->arena, STR_FMT "/" STR_FMT, STR_ARG(outputs),
                                       STR_ARG(session->outputs.items[i])));
        jw_end_array(w);
}

static void session_reply(Call *call, Edit *edit, const Carry *carry) {
        const SessionCall *session = container_of(carry, SessionCall, carry);
        JsonWriter *w = call_result(call);

        if (session->pid)
                runs_end_foreign(edit->workspace, session->pid);
        jw_begin_object(w);
        session_write(w, &session->record, false);
        if (session->has_outputs)
                session_write_outputs(call, w, session);
        jw_end_object(w);
}

static int session_tell(SessionCall *session) {
        return company_edit(session->call, session->workspace, session_decide, session_reply,
                            &session->carry);
}

static void session_tell_later(SessionCall *session) {
        int r = session_tell(session);

        if (r != CALL_LATER)
                call_finish(session->call, r);
}

static void session_on_ended(RunWatch *watch, const RunEnd *end _unused_) {
        session_tell_later(container_of(watch, SessionCall, watch));
}

/* What stands on the disk is the answer, if it can still be read. */
static void session_on_gone(RunWatch *watch) {
        SessionCall *session = container_of(watch, SessionCall, watch);
        Call *call = session->call;

        if (call->daemon->is_stopping)
                call_finish(call, call_fail(call, CALL_E_COMPANY, "The daemon is stopping"));
        else
                session_tell_later(session);
}

static void session_on_marked(RunWatch *watch) {
        run_unwatch(watch);
        session_tell_later(container_of(watch, SessionCall, watch));
}

/* A stop is answered when it is kept; who collects a session of its own waits for the end. */
static int session_enter(Call *call _unused_, Workspace *workspace, const Carry *carry) {
        SessionCall *session = (SessionCall *)container_of(carry, SessionCall, carry);
        Run *run = run_find(workspace, session->session_ref);

        session->workspace = workspace;
        if (!run || (!session->is_stop && !(session->has_outputs && run_visit(run) == session->visit)))
                return session_tell(session);
        session->watch = session->is_stop ? (RunWatch){.marked = session_on_marked, .gone = session_on_gone}
                                          : (RunWatch){.ended = session_on_ended, .gone = session_on_gone};
        run_watch(run, &session->watch);
        if (session->is_stop)
                run_stop(run);
        return CALL_LATER;
}

/* Without a workspace a session of this connection is meant. */
static int session_begin(Call *call, Str workspace_dir, const SessionCall *how) {
        SessionCall *session = arena_alloc(&call->arena, sizeof(*session));
        Workspace *workspace = visit_find_session(call, how->session_ref);
        int r;

        if (!session)
                return error_origin(-ENOMEM);
        *session = *how;
        session->call = call;
        session->visit = visit_number(call);
        if (workspace_dir.n)
                return workspace_target(call, workspace_dir, WORKSPACE_FOLDER, session_enter, NULL,
                                        &session->carry);
        if (!workspace)
                return call_fail(call, CALL_E_COMPANY,
                                 "Unknown session_ref: " STR_FMT
                                 ". Provide workspace_dir for persisted lookup.",
                                 STR_ARG(how->session_ref));
        r = call_hold(call, workspace_ref(workspace), workspace_unref);
        return r ? error_trace(r) : session_enter(call, workspace, &session->carry);
}

int op_agentcompany_session_poll(Call *call, const AgentcompanySessionPollArgs *args) {
        return session_begin(call, args->workspace_dir, &(SessionCall){.session_ref = args->session_ref});
}

int op_agentcompany_session_collect(Call *call, const AgentcompanySessionCollectArgs *args) {
        return session_begin(call, args->workspace_dir,
                             &(SessionCall){.session_ref = args->session_ref, .has_outputs = true});
}

int op_agentcompany_session_stop(Call *call, const AgentcompanySessionStopArgs *args) {
        return session_begin(call, args->workspace_dir,
                             &(SessionCall){.session_ref = args->session_ref, .is_stop = true});
}

/* ---- replay ---------------------------------------------------------------------------------- */

/* The newest session of the run. */
static int replay_write_live(Reading *reading, const AgentcompanyRunReplayArgs *args) {
        SessionFilter filter = {.project_id = args->project_id, .run_id = args->run_id};
        JsonWriter *w = reading->w;
        SessionList list = {0};
        int r = str_is(args->mode, "live")
                        ? sessions_read(reading->workspace, reading->arena, &filter, &list)
                        : 0;

        jw_key(w, "live");
        jw_begin_object(w);
        jw_field_bool(w, "available", list.n > 0);
        if (list.n) {
                jw_field_str(w, "session_ref", json_text_of(list.records[0].json, "session_ref"));
                jw_field_str(w, "status", list.records[0].status);
        }
        if (list.n && list.records[0].error.n)
                jw_field_str(w, "error", list.records[0].error);
        jw_end_object(w);
        return error_trace(r);
}

static int run_replay_read(Reading *reading, const Carry *carry) {
        const AgentcompanyRunReplayArgs *args = container_of(carry, AgentcompanyRunReplayArgs, carry);
        const char *path = place_run(reading->arena, args->project_id, args->run_id, "events.jsonl");
        _cleanup_(closep) int fd =
                path ? path_open_beneath(reading->root, path, O_RDONLY | O_NONBLOCK, 0) : -ENOENT;
        JsonWriter *w = reading->w;
        int r;

        if (fd < 0)
                return reading_fail(reading, CALL_E_COMPANY, "%s, open '%s'",
                                    fd == -ENOENT ? "ENOENT: no such file or directory" : strerror(-fd),
                                    path ? path : "events.jsonl");
        jw_begin_object(w);
        jw_field_str(w, "run_id", args->run_id);
        jw_field_str(w, "project_id", args->project_id);
        jw_field_str(w, "mode", args->mode);
        r = replay_write(&reading->spool, fd, !str_is(args->mode, "raw"),
                         args->has_tail ? (uint64_t)args->tail : 0);
        r = r ? r : replay_write_live(reading, args);
        jw_end_object(w);
        return error_trace(r);
}

int op_agentcompany_run_replay(Call *call, Workspace *workspace, const AgentcompanyRunReplayArgs *args) {
        return workspace_read(call, workspace, run_replay_read, &args->carry);
}
