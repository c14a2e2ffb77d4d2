/* SPDX-License-Identifier: MIT */
/* session.list, session.poll, session.collect and run.replay: sessions and events as they stand on the disk. */
#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "company/place.h"
#include "company/run/sessions.h"
#include "company/trail/replay.h"
#include "company/workspace.h"
#include "gen/agentcompany-ops.h"

static int session_list_decide(Edit *edit, const Carry *carry) {
        const AgentcompanySessionListArgs *args = container_of(carry, AgentcompanySessionListArgs, carry);
        SessionFilter filter = {
                .project_id = args->project_id, .run_id = args->run_id, .status = args->status};
        SessionList *list = NULL;
        int r = sessions_settle(edit, &filter, &list);

        edit->user = list;
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

/* Without a workspace only sessions of this connection are meant: none, since nothing is launched yet. */
int op_agentcompany_session_list(Call *call, const AgentcompanySessionListArgs *args) {
        if (!args->workspace_dir.n)
                return session_list_none(call, &args->carry);
        return workspace_target(call, args->workspace_dir, WORKSPACE_FOLDER, session_list_begin,
                                session_list_none, &args->carry);
}

/* One session, and what it has left. */
typedef struct SessionFound {
        SessionRecord record;
        StrList outputs;
} SessionFound;

static int session_find_record(Edit *edit, Str session_ref, SessionFound **ret) {
        SessionFound *found = arena_alloc(edit->arena, sizeof(*found));

        if (!found)
                return error_origin(-ENOMEM);
        *found = (SessionFound){0};
        edit->user = *ret = found;
        if (!session_read(edit->root, edit->arena, session_ref, &found->record))
                return edit_fail(edit, CALL_E_COMPANY, "Unknown session_ref: " STR_FMT,
                                 STR_ARG(session_ref));
        if (found->record.is_dead)
                session_bury(edit, &found->record);
        return 0;
}

static int session_poll_decide(Edit *edit, const Carry *carry) {
        SessionFound *found;

        return session_find_record(
                edit, container_of(carry, AgentcompanySessionPollArgs, carry)->session_ref, &found);
}

static void session_poll_reply(Call *call, Edit *edit, const Carry *carry _unused_) {
        const SessionFound *found = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        session_write(w, &found->record, false);
        jw_end_object(w);
}

static int session_poll_begin(Call *call, Workspace *workspace, const Carry *carry) {
        return company_edit(call, workspace, session_poll_decide, session_poll_reply, carry);
}

/* Without a workspace a session of this connection is meant, which has none. */
static int session_begin(Call *call, Str workspace_dir, Str session_ref, WorkspaceFn fn,
                         const Carry *carry) {
        if (!workspace_dir.n)
                return call_fail(call, CALL_E_COMPANY,
                                 "Unknown session_ref: " STR_FMT
                                 ". Provide workspace_dir for persisted lookup.",
                                 STR_ARG(session_ref));
        return workspace_target(call, workspace_dir, WORKSPACE_FOLDER, fn, NULL, carry);
}

int op_agentcompany_session_poll(Call *call, const AgentcompanySessionPollArgs *args) {
        return session_begin(call, args->workspace_dir, args->session_ref, session_poll_begin, &args->carry);
}

static int session_collect_decide(Edit *edit, const Carry *carry) {
        SessionFound *found = NULL;
        int r = session_find_record(
                edit, container_of(carry, AgentcompanySessionCollectArgs, carry)->session_ref, &found);

        return r ? r
                 : place_names(edit->arena, edit->root,
                               place_run(edit->arena, json_text_of(found->record.json, "project_id"),
                                         json_text_of(found->record.json, "run_id"), "outputs"),
                               "", &found->outputs);
}

static void session_collect_reply(Call *call, Edit *edit, const Carry *carry _unused_) {
        const SessionFound *found = edit->user;
        Str run_id = json_text_of(found->record.json, "run_id");
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        session_write(w, &found->record, false);
        jw_field_str(w, "events_relpath",
                     arena_printf(&call->arena, "runs/" STR_FMT "/events.jsonl", STR_ARG(run_id)));
        jw_key(w, "output_relpaths");
        jw_begin_array(w);
        for (size_t i = 0; i < found->outputs.n; i++)
                jw_str(w, arena_printf(&call->arena, "runs/" STR_FMT "/outputs/" STR_FMT, STR_ARG(run_id),
                                       STR_ARG(found->outputs.items[i])));
        jw_end_array(w);
        jw_end_object(w);
}

static int session_collect_begin(Call *call, Workspace *workspace, const Carry *carry) {
        return company_edit(call, workspace, session_collect_decide, session_collect_reply, carry);
}

int op_agentcompany_session_collect(Call *call, const AgentcompanySessionCollectArgs *args) {
        return session_begin(call, args->workspace_dir, args->session_ref, session_collect_begin,
                             &args->carry);
}

/* The newest session of the run. */
static int replay_write_live(Reading *reading, const AgentcompanyRunReplayArgs *args) {
        SessionFilter filter = {.project_id = args->project_id, .run_id = args->run_id};
        JsonWriter *w = reading->w;
        SessionList list = {0};
        int r = str_is(args->mode, "live") ? sessions_read(reading->root, reading->arena, &filter, &list)
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
