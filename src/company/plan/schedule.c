/* SPDX-License-Identifier: MIT */
#include "company/plan/schedule.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/time.h"

enum { DAYS_MAX = 1000000 }; /* of one task; more counts as that */
static const int64_t day_us = INT64_C(86400) * 1000000;

/* ---- the graph ------------------------------------------------------------------------------- */

typedef struct Node {
        PlanBar *bar;      /* in the order of the list */
        size_t *waits_for; /* numbers of nodes */
        size_t n_waits_for;
        size_t n_open; /* of those: not in the order yet */
        bool is_timed;
} Node;

typedef struct Graph {
        Arena *arena;
        Node *nodes;   /* in the order of the list */
        size_t *by_id; /* numbers of nodes, by their ids */
        size_t *ranks; /* of each node in by_id */
        size_t *order; /* in which they are timed */
        size_t n;
} Graph;

static int graph_order(Str a, Str b) {
        size_t n = MIN(a.n, b.n);
        int order = n ? memcmp(a.data, b.data, n) : 0;

        return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int graph_compare(const void *a, const void *b, void *user) {
        const Graph *graph = user;

        return graph_order(graph->nodes[*(const size_t *)a].bar->task->task_id,
                           graph->nodes[*(const size_t *)b].bar->task->task_id);
}

/* SIZE_MAX: there is no such task. */
static size_t graph_find(const Graph *graph, Str id) {
        size_t low = 0, high = graph->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = graph_order(id, graph->nodes[graph->by_id[middle]].bar->task->task_id);

                if (!order)
                        return graph->by_id[middle];
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }
        return SIZE_MAX;
}

static const Json *graph_dependencies(const Node *node) {
        return json_get(json_get(node->bar->task->matter, "schedule"), "depends_on_task_ids");
}

static int graph_link(Graph *graph, size_t number) {
        Node *node = &graph->nodes[number];
        const Json *ids = graph_dependencies(node);

        node->waits_for = arena_alloc(graph->arena, json_count(ids) * sizeof(size_t));
        if (!node->waits_for)
                return error_origin(-ENOMEM);
        json_each (id, ids) {
                size_t other = json_str(id).n ? graph_find(graph, json_str(id)) : SIZE_MAX;

                if (other != SIZE_MAX && other != number)
                        node->waits_for[node->n_waits_for++] = other;
        }
        node->n_open = node->n_waits_for;
        return 0;
}

static int graph_build(Graph *graph, Arena *arena, PlanBar *bars, size_t n) {
        int r = 0;

        *graph = (Graph){.arena = arena,
                         .nodes = arena_alloc(arena, n * sizeof(Node)),
                         .by_id = arena_alloc(arena, n * sizeof(size_t)),
                         .ranks = arena_alloc(arena, n * sizeof(size_t)),
                         .order = arena_alloc(arena, n * sizeof(size_t)),
                         .n = n};
        if (!graph->nodes || !graph->by_id || !graph->ranks || !graph->order)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < n; i++) {
                graph->nodes[i] = (Node){.bar = &bars[i]};
                graph->by_id[i] = i;
        }
        if (n)
                qsort_r(graph->by_id, n, sizeof(size_t), graph_compare, graph);
        for (size_t i = 0; i < n; i++)
                graph->ranks[graph->by_id[i]] = i;
        for (size_t i = 0; !r && i < n; i++)
                r = graph_link(graph, i);
        return error_trace(r);
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Who waits for whom, turned around: for each node those that wait for it, one behind the other. */
typedef struct Followers {
        size_t *first; /* n + 1 places in of */
        size_t *of;
} Followers;

static int followers_build(const Graph *graph, Followers *ret) {
        size_t n_edges = 0;

        for (size_t i = 0; i < graph->n; i++)
                n_edges += graph->nodes[i].n_waits_for;
        ret->first = arena_alloc(graph->arena, (graph->n + 2) * sizeof(size_t));
        ret->of = arena_alloc(graph->arena, n_edges * sizeof(size_t));
        if (!ret->first || !ret->of)
                return error_origin(-ENOMEM);
        memset(ret->first, 0, (graph->n + 2) * sizeof(size_t));
        for (size_t i = 0; i < graph->n; i++)
                for (size_t j = 0; j < graph->nodes[i].n_waits_for; j++)
                        ret->first[graph->nodes[i].waits_for[j] + 2]++;
        for (size_t i = 2; i < graph->n + 2; i++)
                ret->first[i] += ret->first[i - 1];
        for (size_t i = 0; i < graph->n; i++)
                for (size_t j = 0; j < graph->nodes[i].n_waits_for; j++)
                        ret->of[ret->first[graph->nodes[i].waits_for[j] + 1]++] = i;
        return 0;
}

/* A heap of ranks, the smallest on top. */
static void heap_push(size_t *heap, size_t *n, size_t rank) {
        size_t at = (*n)++;

        while (at && heap[(at - 1) / 2] > rank) {
                heap[at] = heap[(at - 1) / 2];
                at = (at - 1) / 2;
        }
        heap[at] = rank;
}

static size_t heap_pop(size_t *heap, size_t *n) {
        size_t top = heap[0], last = heap[--*n], at = 0;

        for (size_t child = 1; child < *n; child = 2 * at + 1) {
                if (child + 1 < *n && heap[child + 1] < heap[child])
                        child++;
                if (heap[child] >= last)
                        break;
                heap[at] = heap[child];
                at = child;
        }
        heap[at] = last;
        return top;
}

/* What waits for nothing first, of several the one whose id is smallest. False: tasks wait for each other. */
static int graph_sort(Graph *graph, const Followers *followers, bool *is_whole) {
        size_t *heap = arena_alloc(graph->arena, graph->n * sizeof(size_t)), n_heap = 0, n = 0;

        if (!heap)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < graph->n; i++)
                if (!graph->nodes[i].n_open)
                        heap_push(heap, &n_heap, graph->ranks[i]);
        while (n_heap) {
                size_t number = graph->by_id[heap_pop(heap, &n_heap)];

                graph->order[n++] = number;
                for (size_t i = followers->first[number]; i < followers->first[number + 1]; i++)
                        if (!--graph->nodes[followers->of[i]].n_open)
                                heap_push(heap, &n_heap, graph->ranks[followers->of[i]]);
        }
        *is_whole = n == graph->n;
        for (size_t i = 0; !*is_whole && i < graph->n; i++)
                graph->order[i] = i;
        return 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

static void chart_forward(PlanChart *chart, Graph *graph) {
        for (size_t i = 0; i < graph->n; i++) {
                Node *node = &graph->nodes[graph->order[i]];

                for (size_t j = 0; j < node->n_waits_for; j++) {
                        const Node *other = &graph->nodes[node->waits_for[j]];

                        if (other->is_timed)
                                node->bar->start_day = MAX(node->bar->start_day, other->bar->finish_day);
                }
                node->bar->finish_day = node->bar->start_day + (double)node->bar->duration_days;
                node->is_timed = true;
                chart->span_days = MAX(chart->span_days, node->bar->finish_day);
        }
}

/* In a cycle one that follows may not have been timed yet: it counts as the end of the project. */
static void chart_backward(const PlanChart *chart, Graph *graph, const Followers *followers) {
        for (size_t i = 0; i < graph->n; i++)
                graph->nodes[i].bar->latest_start_day = chart->span_days;
        for (size_t i = graph->n; i-- > 0;) {
                size_t number = graph->order[i];
                PlanBar *bar = graph->nodes[number].bar;

                bar->latest_finish_day = chart->span_days;
                for (size_t j = followers->first[number]; j < followers->first[number + 1]; j++)
                        bar->latest_finish_day = MIN(bar->latest_finish_day,
                                                     graph->nodes[followers->of[j]].bar->latest_start_day);
                bar->latest_start_day = bar->latest_finish_day - (double)bar->duration_days;
        }
}

static bool bar_planned(const PlanBar *bar, const char *key, int64_t *ret_us) {
        return time_parse(json_text_of(json_get(bar->task->matter, "schedule"), key), ret_us);
}

static int64_t bar_duration(const PlanBar *bar) {
        int64_t days = 0, start_us, end_us;

        if (json_int64(json_get(json_get(bar->task->matter, "schedule"), "duration_days"), &days))
                return MIN(days, DAYS_MAX);
        if (bar_planned(bar, "planned_start", &start_us) && bar_planned(bar, "planned_end", &end_us) &&
            end_us > start_us)
                days = MIN((end_us - start_us + day_us - 1) / day_us, DAYS_MAX);
        return MAX(days, 1);
}

static int64_t chart_base(const PlanChart *chart, int64_t now_us) {
        int64_t base_us = INT64_MAX, us;

        for (size_t i = 0; i < chart->n; i++)
                if (bar_planned(&chart->bars[i], "planned_start", &us))
                        base_us = MIN(base_us, us);
        return base_us == INT64_MAX ? now_us : base_us;
}

static void bar_place(PlanBar *bar, int64_t base_us) {
        bool has_start = bar_planned(bar, "planned_start", &bar->start_us);
        double end_day = MAX(bar->finish_day, bar->start_day + 1);

        if (!has_start)
                bar->start_us = base_us + (int64_t)(bar->start_day * (double)day_us);
        if (!bar_planned(bar, "planned_end", &bar->end_us) || (has_start && bar->end_us < bar->start_us))
                bar->end_us = base_us + (int64_t)(end_day * (double)day_us);
}

/* Of equal ones the order of the list stays: tasks of one array are compared by their places. */
static int bar_compare(const void *a, const void *b) {
        const PlanBar *x = a, *y = b;

        if (x->start_us != y->start_us)
                return x->start_us < y->start_us ? -1 : 1;
        return x->task < y->task ? -1 : x->task > y->task;
}

int plan_chart(Arena *arena, const PlanTasks *tasks, int64_t now_us, PlanChart *ret) {
        Followers followers;
        bool is_whole = true;
        int64_t base_us;
        Graph graph;
        int r;

        *ret = (PlanChart){.bars = arena_alloc(arena, tasks->n * sizeof(PlanBar)), .n = tasks->n};
        if (!ret->bars)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < tasks->n; i++) {
                ret->bars[i] = (PlanBar){.task = &tasks->items[i]};
                ret->bars[i].duration_days = bar_duration(&ret->bars[i]);
        }
        r = graph_build(&graph, arena, ret->bars, tasks->n);
        if (!r)
                r = followers_build(&graph, &followers);
        if (!r)
                r = graph_sort(&graph, &followers, &is_whole);
        if (r)
                return error_trace(r);
        ret->has_cycle = !is_whole;
        chart_forward(ret, &graph);
        chart_backward(ret, &graph, &followers);
        base_us = chart_base(ret, now_us);
        for (size_t i = 0; i < ret->n; i++)
                bar_place(&ret->bars[i], base_us);
        if (ret->n)
                qsort(ret->bars, ret->n, sizeof(PlanBar), bar_compare);
        return 0;
}

/* ---- as the contract shows it ---------------------------------------------------------------- */

static void bar_write_text(JsonWriter *w, const PlanBar *bar, const char *key) {
        const Json *value = json_get(bar->task->matter, key);

        if (value)
                jw_field_value(w, key, value);
}

static void bar_write_number(JsonWriter *w, const char *key, double value) {
        jw_key(w, key);
        jw_double(w, value);
}

static void bar_write(JsonWriter *w, const PlanBar *bar) {
        const Json *ids = json_get(json_get(bar->task->matter, "schedule"), "depends_on_task_ids");
        double slack = bar->latest_start_day - bar->start_day;

        jw_begin_object(w);
        jw_field_str(w, "task_id", bar->task->task_id);
        bar_write_text(w, bar, "title");
        bar_write_text(w, bar, "status");
        bar_write_text(w, bar, "team_id");
        bar_write_text(w, bar, "assignee_agent_id");
        bar_write_number(w, "progress_pct", plan_percent(bar->task->progress));
        jw_field_time_ms(w, "start_at", bar->start_us);
        jw_field_time_ms(w, "end_at", bar->end_us);
        jw_field_int(w, "duration_days", bar->duration_days);
        bar_write_number(w, "slack_days", MAX(slack, 0));
        jw_field_bool(w, "critical", slack < 0.0001 && slack > -0.0001);
        jw_key(w, "depends_on_task_ids");
        if (ids)
                jw_value(w, ids);
        else
                jw_raw(w, STR("[]"));
        jw_end_object(w);
}

void plan_chart_write(const PlanChart *chart, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "cpm_status", chart->has_cycle ? "dependency_cycle" : "ok");
        bar_write_number(w, "project_span_days", chart->span_days);
        jw_key(w, "tasks");
        jw_begin_array(w);
        for (size_t i = 0; i < chart->n; i++)
                bar_write(w, &chart->bars[i]);
        jw_end_array(w);
        jw_end_object(w);
}

PlanSummary plan_summary(const PlanTasks *tasks) {
        PlanSummary summary = {.n_tasks = tasks->n};
        double sum = 0;

        for (size_t i = 0; i < tasks->n; i++) {
                Str status = json_text_of(tasks->items[i].matter, "status");

                sum += tasks->items[i].progress;
                summary.n_done += str_is(status, "done");
                summary.n_blocked += str_is(status, "blocked");
                summary.n_in_progress += str_is(status, "in_progress");
        }
        summary.percent = tasks->n ? plan_percent(sum / (double)tasks->n) : 0;
        return summary;
}

int plan_write_project(JsonWriter *w, Arena *arena, Str project_id, const PlanTasks *tasks, int64_t now_us) {
        PlanSummary summary = plan_summary(tasks);
        PlanChart chart;
        int r = plan_chart(arena, tasks, now_us, &chart);

        if (r)
                return error_trace(r);
        jw_begin_object(w);
        jw_field_str(w, "project_id", project_id);
        jw_key(w, "summary");
        jw_begin_object(w);
        jw_field_uint(w, "task_count", summary.n_tasks);
        jw_field_uint(w, "done_tasks", summary.n_done);
        jw_field_uint(w, "blocked_tasks", summary.n_blocked);
        jw_field_uint(w, "in_progress_tasks", summary.n_in_progress);
        bar_write_number(w, "progress_pct", summary.percent);
        jw_end_object(w);
        jw_key(w, "gantt");
        plan_chart_write(&chart, w);
        jw_end_object(w);
        return 0;
}
