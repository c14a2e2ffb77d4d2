/* SPDX-License-Identifier: MIT */
/*
 * What clients are told without asking, and the answer to task.submit, which comes with it. Every connected client of the project gets every event but the
 * output of agents, which goes to those who follow it.
 *
 * A client that does not read is closed at the hard limit of its connection. Output is dropped long before
 * that, from FOLLOW_PENDING_MAX on, and the next chunk says how much.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/dialect.h"
#include "tasks/project.h"

enum { FOLLOW_PENDING_MAX = 1 << 20, FOLLOWERS_MAX = 4096 };

struct TaskFollower {
        TaskFollower *next;
        Project *project;
        ClientWatch watch; /* it may be at another endpoint: over the web it only visits the project */
        uint64_t n_dropped;
        char *task; /* NULL: all */
};

void task_tell(Project *project, const char *name, Str params) {
        const Dialect *dialect = project->endpoint->type->dialect;
        Client *client = LIST_FIRST(&project->endpoint->clients), *next;
        Chunk *chunk = client ? dialect->notification(name, params) : NULL;

        for (; chunk && client; client = next) {
                next = LIST_NEXT(client, link);
                client->dialect->push(client, chunk);
        }
        chunk_unref(chunk);
}

/* Without what it printed, which may be long: who wants it asks for the task. */
void task_announce(const Task *task, const char *kind) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        jw_begin_object(&w);
        jw_field_cstr(&w, "taskId", task->id);
        jw_field_str(&w, "prompt", task_short_prompt(task->prompt));
        if (task->agent)
                jw_field_cstr(&w, "agent", task->agent);
        jw_end_object(&w);
        feed_place(&place, "tasks", str_from(task->project->endpoint->where), str_from(kind), FEED_NOWHERE);
        (void)feed_push(task->project->daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
}

/* ---- that it was taken, or has started -------------------------------------------------------- */

static void task_answer(Task *task) {
        Call *call = steal(&task->submit);
        JsonWriter *w;

        if (!call)
                return;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "taskId", task->id);
        if (task->says_state)
                jw_field_cstr(w, "state", task_state_name(task->state));
        jw_end_object(w);
        call_finish(call, 0);
}

void task_tell_now(Task *task) {
        TaskNews *news = steal(&task->news);

        task_answer(task);
        if (!news)
                return;
        news->task = NULL;
        news->tell(task);
}

static void task_on_written(TaskStoreWait *wait) {
        TaskNews *news = container_of(wait, TaskNews, wait);

        if (news->task)
                task_tell_now(news->task);
        free(news);
}

void task_tell_later(Task *task, void (*tell)(const Task *task)) {
        TaskNews *news = malloc(sizeof(*news));

        if (task->news)
                task_tell_now(task); /* that it was queued comes first */
        if (!news) {
                task_answer(task);
                tell(task);
                return;
        }
        *news = (TaskNews){.wait = {.done = task_on_written}, .task = task, .tell = tell};
        task->news = news;
        task_store_changed(&task->project->store, &news->wait);
}

/* ---- followers ------------------------------------------------------------------------------- */

static TaskFollower *follower_free(TaskFollower *follower) {
        TaskFollower *next = follower->next;

        client_unwatch(&follower->watch);
        free(follower->task);
        free(follower);
        return next;
}

void task_followers_free(Project *project) {
        while (project->supervisor.followers)
                project->supervisor.followers = follower_free(project->supervisor.followers);
}

static void follower_on_gone(ClientWatch *watch) {
        const TaskFollower *gone = container_of(watch, TaskFollower, watch);
        TaskFollower **at = &gone->project->supervisor.followers;

        while (*at != gone)
                at = &(*at)->next;
        *at = follower_free(*at);
}

static size_t follower_count(const Project *project) {
        size_t n = 0;

        for (const TaskFollower *f = project->supervisor.followers; f; f = f->next)
                n++;
        return n;
}

void task_unfollow(Project *project, Client *client) {
        TaskFollower **at = &project->supervisor.followers;

        while (*at)
                if ((*at)->watch.client == client)
                        *at = follower_free(*at);
                else
                        at = &(*at)->next;
}

int task_follow(Project *project, Client *client, Str id) {
        TaskFollower *follower =
                follower_count(project) < FOLLOWERS_MAX ? calloc(1, sizeof(*follower)) : NULL;

        if (!follower)
                return error_origin(-ENOMEM);
        follower->project = project;
        follower->task = id.n ? str_dup(id) : NULL;
        if (id.n && !follower->task) {
                free(follower);
                return error_origin(-ENOMEM);
        }
        client_watch(client, &follower->watch, follower_on_gone);
        follower->next = project->supervisor.followers;
        project->supervisor.followers = follower;
        return 0;
}

static Chunk *output_chunk(const Task *task, Str text, bool is_stderr, uint64_t n_dropped) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);

        jw_begin_object(&w);
        jw_field_cstr(&w, "taskId", task->id);
        jw_field_str(&w, "chunk", text);
        jw_field_cstr(&w, "stream", is_stderr ? "stderr" : "stdout");
        if (n_dropped)
                jw_field_uint(&w, "dropped", n_dropped);
        jw_end_object(&w);
        return w.failed ? NULL
                        : task->project->endpoint->type->dialect->notification("event.taskOutput",
                                                                               buf_str(&params));
}

static void show_to(const Task *task, TaskFollower *follower, Str text, bool is_stderr, Chunk *shared) {
        Client *client = follower->watch.client;
        Chunk *chunk = follower->n_dropped ? output_chunk(task, text, is_stderr, follower->n_dropped)
                                           : chunk_ref(shared);

        if (!chunk || conn_pending(client->conn) > FOLLOW_PENDING_MAX)
                follower->n_dropped += text.n;
        else {
                follower->n_dropped = 0;
                client->dialect->push(client, chunk);
        }
        chunk_unref(chunk);
}

static void task_events_show(Task *task, Str text, bool is_stderr) {
        Chunk *shared = NULL;

        for (TaskFollower *f = task->project->supervisor.followers; f && text.n; f = f->next) {
                if (f->task && strcmp(f->task, task->id) != 0)
                        continue;
                if (!shared)
                        shared = output_chunk(task, text, is_stderr, 0);
                if (shared)
                        show_to(task, f, text, is_stderr, shared);
        }
        chunk_unref(shared);
}

/* ---- whole characters ------------------------------------------------------------------------ */

void task_tell_output(Task *task, HostOutput *output) {
        TaskTail *tail = &task->tails[output->is_stderr];
        _cleanup_(buf_deinit) Buf joined = BUF_NULL;
        Str text = output->bytes;
        size_t cut;

        if (!task->project->supervisor.followers) {
                tail->n = 0;
                return;
        }
        if (tail->n) {
                if (buf_append(&joined, tail->bytes, tail->n) || buf_append_str(&joined, text))
                        return;
                text = buf_str(&joined);
        }
        cut = utf8_unfinished(text);
        task_events_show(task, (Str){text.data, text.n - cut}, output->is_stderr);
        tail->n = cut;
        memcpy(tail->bytes, text.data + text.n - cut, cut);
}

void task_tell_rest(Task *task) {
        for (int stream = 0; stream < 2; stream++) {
                TaskTail *tail = &task->tails[stream];
                task_events_show(task, (Str){tail->bytes, tail->n}, stream == 1);
                tail->n = 0;
        }
}
