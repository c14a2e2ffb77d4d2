#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Schedule: when the tasks of a project can be done, by their lengths and what they wait for: the critical path.
 * A pure function of tasks and time; everything lies in the arena.
 */
#include "company/plan/plan.h"

typedef struct PlanBar {
        const PlanTask *task;
        int64_t duration_days;
        double start_day, finish_day;               /* earliest, from day 0 of the project */
        double latest_start_day, latest_finish_day; /* without moving its end */
        int64_t start_us, end_us;                   /* as it is shown: what is planned counts more */
} PlanBar;

typedef struct PlanChart {
        PlanBar *bars; /* by start_us */
        size_t n;
        double span_days;
        bool has_cycle; /* tasks wait for each other: the order of the list is taken instead */
} PlanChart;

int plan_chart(Arena *arena, const PlanTasks *tasks, int64_t now_us, PlanChart *ret); /* 0 or -ENOMEM */
void plan_chart_write(const PlanChart *chart,
                      JsonWriter *w); /* {"cpm_status","project_span_days","tasks"} */

typedef struct PlanSummary {
        size_t n_tasks, n_done, n_blocked, n_in_progress; /* tasks by their status */
        double percent; /* mean of all tasks, with one decimal; 0 without any */
} PlanSummary;
PlanSummary plan_summary(const PlanTasks *tasks);
/* {"project_id","summary","gantt"} of one project. */
int plan_write_project(JsonWriter *w, Arena *arena, Str project_id, const PlanTasks *tasks, int64_t now_us);
