#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Plan: projects and their tasks, as files. Worker; everything lies in the arena. Tasks that do not have their
 * shape are passed over.
 */
#include "company/edit.h"

typedef struct PlanTask {
        Str task_id;
        const char *path;   /* in the workspace */
        const Json *matter; /* in the order of the shape */
        size_t n_milestones, n_done, n_in_progress, n_blocked, n_ready, n_draft; /* of its milestones */
        double progress;                                                         /* 0 to 1 */
} PlanTask;

typedef struct PlanTasks {
        PlanTask *items; /* newest first, then by id */
        size_t n;
} PlanTasks;

int plan_tasks(int root, Arena *arena, Str project_id, PlanTasks *ret);
/* An array of the project documents that there are, newest first. */
int plan_projects(int root, Arena *arena, Json **ret);
typedef struct Reading Reading;
/* The array of pm.recommend_allocations, as the reading's next value; has_reason: the rationale also stands under
 * that name. 0 or negative. */
int plan_recommend(Reading *reading, Str project_id, bool has_reason);
double plan_percent(double ratio); /* with one decimal */

/* Adds the documents and folders of a new project to the edit. */
void plan_make_project(Edit *edit, Str id, Str name);

/* A task as an edit changes it. */
typedef struct PlanEdit {
        const char *path;
        Str task_id, body;
        Json *matter;
} PlanEdit;

/* 0; a condition of decide() when the task is missing or not what it should be. */
int plan_edit_read(Edit *edit, Str project_id, Str task_id, PlanEdit *ret);
/* Members of plan over those that the task has. */
int plan_edit_merge(Edit *edit, PlanEdit *task, const Json *plan);
int plan_edit_write(Edit *edit, PlanEdit *task);
