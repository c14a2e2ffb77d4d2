/* SPDX-License-Identifier: MIT */
/* All that one screen shows: runs, what waits, what was used, and who is there. */
#include <errno.h>
#include <stdlib.h>

#include "base/collate.h"
#include "base/error.h"
#include "company/people/people.h"
#include "company/pulse/pulse.h"
#include "company/talk/talk.h"
#include "company/view/view.h"

enum { UI_COMMENTS = 300 };

typedef struct UiColleague {
        const Json *agent;
        Str team_name, seen_at;
        int64_t n_active, n_runs, n_pending, n_decisions;
} UiColleague;

/* ---- colleagues ------------------------------------------------------------------------------ */

static Str ui_later(Str a, Str b) {
        const int order = memcmp(a.n ? a.data : "", b.n ? b.data : "", MIN(a.n, b.n));

        return order > 0 || (!order && a.n > b.n) ? a : b;
}

static void ui_count_runs(UiColleague *one, Str id, const Json *monitor) {
        json_each (row, json_get(monitor, "rows")) {
                if (!str_eq(json_text_of(row, "agent_id"), id))
                        continue;
                one->n_runs++;
                one->n_active += str_is(json_text_of(row, "run_status"), "running") ||
                                 str_is(json_text_of(row, "live_status"), "running");
                one->seen_at = ui_later(one->seen_at, json_text_of(row, "created_at"));
                one->seen_at =
                        ui_later(one->seen_at, json_text_of(json_get(row, "last_event"), "ts_wallclock"));
        }
}

static void ui_count(UiColleague *one, const Json *monitor, const Json *inbox) {
        const Str id = json_text_of(one->agent, "id");

        ui_count_runs(one, id, monitor);
        json_each (row, json_get(inbox, "pending"))
                one->n_pending += str_eq(json_text_of(row, "produced_by"), id);
        json_each (row, json_get(inbox, "recent_decisions"))
                if (str_eq(json_text_of(row, "actor_id"), id)) {
                        one->n_decisions++;
                        one->seen_at = ui_later(one->seen_at, json_text_of(row, "created_at"));
                }
}

static int ui_rank(const Json *agent) {
        static const char *const roles[] = {"ceo", "director", "manager", "worker"};
        int rank = 0;

        while (rank < (int)ARRAY_SIZE(roles) && !str_is(json_text_of(agent, "role"), roles[rank]))
                rank++;
        return rank;
}

static int ui_compare(const void *a, const void *b) {
        const UiColleague *x = a, *y = b;

        if (x->n_active != y->n_active)
                return x->n_active < y->n_active ? 1 : -1;
        if (x->n_pending != y->n_pending)
                return x->n_pending < y->n_pending ? 1 : -1;
        if (!str_eq(x->seen_at, y->seen_at))
                return str_eq(ui_later(x->seen_at, y->seen_at), x->seen_at) ? -1 : 1;
        if (ui_rank(x->agent) != ui_rank(y->agent))
                return ui_rank(x->agent) - ui_rank(y->agent);
        return text_compare(json_text_of(x->agent, "name"), json_text_of(y->agent, "name"));
}

static void ui_write_colleague(JsonWriter *w, const UiColleague *one) {
        const Str team_id = json_text_of(one->agent, "team_id");

        jw_begin_object(w);
        jw_field_str(w, "agent_id", json_text_of(one->agent, "id"));
        jw_field_str(w, "name", json_text_of(one->agent, "name"));
        jw_field_str(w, "role", json_text_of(one->agent, "role"));
        jw_field_str(w, "provider", json_text_of(one->agent, "provider"));
        if (team_id.n)
                jw_field_str(w, "team_id", team_id);
        if (one->team_name.n)
                jw_field_str(w, "team_name", one->team_name);
        jw_field_int(w, "active_runs", one->n_active);
        jw_field_int(w, "total_runs", one->n_runs);
        jw_field_int(w, "pending_reviews", one->n_pending);
        jw_field_int(w, "recent_decisions", one->n_decisions);
        if (one->seen_at.n)
                jw_field_str(w, "last_seen_at", one->seen_at);
        jw_field_cstr(w, "status", one->n_active ? "active" : one->n_pending ? "needs_review" : "idle");
        jw_end_object(w);
}

static int ui_write_colleagues(View *view, const Json *monitor, const Json *inbox) {
        Arena *arena = view->reading->arena;
        Json *agents = NULL, *teams = NULL;
        UiColleague *all;
        size_t n = 0;
        int r = people_agents(view->reading->root, arena, &agents);

        if (!r)
                r = people_teams(view->reading->root, arena, &teams);
        all = r ? NULL : arena_alloc(arena, (json_count(agents) + 1) * sizeof(*all));
        if (!all)
                return r ? error_trace(r) : error_origin(-ENOMEM);
        json_each (agent, agents) {
                all[n] = (UiColleague){.agent = agent};
                json_each (team, teams)
                        if (str_eq(json_text_of(team, "id"), json_text_of(agent, "team_id")))
                                all[n].team_name = json_text_of(team, "name");
                ui_count(&all[n++], monitor, inbox);
        }
        qsort(all, n, sizeof(*all), ui_compare);
        jw_key(view->w, "colleagues");
        jw_begin_array(view->w);
        for (size_t i = 0; i < n; i++)
                ui_write_colleague(view->w, &all[i]);
        jw_end_array(view->w);
        return 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int ui_write_heartbeat(View *view) {
        static const char *const of_config[] = {"tick_interval_minutes", "top_k_workers", "min_wake_score"};
        static const char *const of_state[] = {"last_tick_at", "next_tick_at", "stats"};
        JsonWriter *w = view->w;
        Json *config = NULL, *state = NULL;
        int r = pulse_read(view->reading->root, view->reading->arena, &config, &state);

        if (r)
                return error_trace(r);
        jw_key(w, "heartbeat");
        jw_begin_object(w);
        jw_field_bool(w, "enabled", json_truth_of(config, "enabled"));
        jw_field_bool(w, "running", json_truth_of(state, "running"));
        for (size_t i = 0; i < ARRAY_SIZE(of_config); i++)
                jw_field_value(w, of_config[i], json_get(config, of_config[i]));
        for (size_t i = 0; i < ARRAY_SIZE(of_state); i++)
                if (json_get(state, of_state[i]))
                        jw_field_value(w, of_state[i], json_get(state, of_state[i]));
        jw_end_object(w);
        return 0;
}

static int ui_write_comments(View *view, Str project_id) {
        jw_key(view->w, "comments");
        if (project_id.n)
                return talk_write_comments(view->reading, view->w, &(TalkTarget){.project_id = project_id},
                                           UI_COMMENTS);
        jw_raw(view->w, STR("[]"));
        return 0;
}

/* A part under its name; what it says is read again, for what is counted over it. */
static int ui_write_part(View *view, const char *key, Buf *text, int r, Json **ret) {
        if (r)
                return r;
        jw_key(view->w, key);
        jw_raw(view->w, buf_str(text));
        r = json_parse(view->reading->arena, text->data, text->n, NULL, ret, NULL);
        return r < 0 ? error_trace(r) : 0;
}

static int ui_write_parts(View *view, const ViewUi *ui, Buf texts[2]) {
        JsonWriter *w = view->w, of_monitor = JSON_WRITER(&texts[0]), of_inbox = JSON_WRITER(&texts[1]);
        const ViewScope scope = {.project_id = ui->project_id, .limit = ui->monitor_limit};
        Json *monitor = NULL, *inbox = NULL;
        int r;

        view->w = &of_monitor;
        r = view_monitor(view, &scope);
        view->w = w;
        r = ui_write_part(view, "monitor", &texts[0], r, &monitor);
        if (r)
                return r;
        view->w = &of_inbox;
        r = view_inbox(view, &(ViewInbox){.project_id = ui->project_id,
                                          .pending_limit = ui->pending_limit,
                                          .decisions_limit = ui->decisions_limit});
        view->w = w;
        r = ui_write_part(view, "review_inbox", &texts[1], r, &inbox);
        if (r)
                return r;
        w->failed |= of_monitor.failed || of_inbox.failed;
        jw_key(w, "usage_analytics");
        r = view_usage(view, &scope);
        if (!r)
                r = ui_write_colleagues(view, monitor, inbox);
        ui->counts->n_rows = (int64_t)json_count(json_get(monitor, "rows"));
        ui->counts->n_pending = (int64_t)json_count(json_get(inbox, "pending"));
        ui->counts->n_decisions = (int64_t)json_count(json_get(inbox, "recent_decisions"));
        return r;
}

int view_ui(View *view, const ViewUi *ui) {
        Buf texts[2] = {BUF_NULL, BUF_NULL};
        int r;

        jw_begin_object(view->w);
        view_write_head(view, false);
        jw_key(view->w, "index_sync_worker");
        jw_raw(view->w, ui->worker);
        r = ui_write_heartbeat(view);
        if (!r)
                r = ui_write_parts(view, ui, texts);
        if (!r)
                r = ui_write_comments(view, ui->project_id);
        jw_end_object(view->w);
        buf_deinit(&texts[0]);
        buf_deinit(&texts[1]);
        return r;
}
