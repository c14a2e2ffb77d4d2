/* SPDX-License-Identifier: MIT */
#include "cli/complete/names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/place.h"
#include "cli/link/asking.h"
#include "cli/link/task-link.h"

enum { PATIENCE_MS = 700 }; /* for all questions of one key press */

typedef struct Question {
        Link link;
        Arena arena;
        Arguments args;
        int64_t deadline_ms;
} Question;

static Question question_new(void) {
        return (Question){.link = LINK_NULL, .deadline_ms = clock_ms() + PATIENCE_MS};
}

static void question_deinit(Question *question) {
        link_deinit(&question->link);
        arena_deinit(&question->arena);
}

/* The result, or NULL: there is no daemon, no time, or it is an error. Uses the arguments up. */
static const Json *question_ask(Question *question, const char *dialect, const char *op,
                                const char *project) {
        const Request request = {dialect, op, question->args.object, project};
        _cleanup_(freep) char *socket = place_socket(NULL);
        Reply reply;

        question->args.object = NULL;
        if (!socket || question->args.is_out_of_memory)
                return NULL;
        link_deinit(&question->link);
        question->link = LINK_NULL;
        if (link_open(&question->link, socket, question->deadline_ms) ||
            exchange(&question->link, &request, &question->arena, &reply) || reply.is_error)
                return NULL;
        return reply.result;
}

static void names_put_all(const Names *names, const Json *list, const char *name, const char *summary) {
        json_each (item, list) {
                Str text = json_str(json_get(item, name));

                if (text.n)
                        names->put(names->user, text, json_str(json_get(item, summary)));
        }
}

void names_of_sessions(const Names *names) {
        _cleanup_(question_deinit) Question question = question_new();

        names_put_all(names, json_get(question_ask(&question, "coop", "ls", NULL), "sessions"), "name",
                      "workspace");
        json_each (process, json_get(question_ask(&question, "native", "ps", NULL), "processes")) {
                Str object = json_str(json_get(process, "object")),
                    name = json_str(json_get(process, "name"));

                if (object.n && memchr(object.data, '/', object.n))
                        names->put(names->user, object, json_str(json_get(process, "workspace")));
                if (name.n)
                        names->put(names->user, name, json_str(json_get(process, "workspace")));
        }
}

void names_of_groups(const Names *names) {
        _cleanup_(question_deinit) Question question = question_new();

        names_put_all(names, json_get(question_ask(&question, "cccc", "groups", NULL), "groups"), "group_id",
                      "title");
}

/* As the commands choose it: named, of the environment, of this folder. */
static void names_set_group(const Names *names, Question *question) {
        const char *own = getenv("CCCC_GROUP_ID"), *named = names->group ? names->group : own;
        _cleanup_(freep) char *folder = getcwd(NULL, 0);

        if (named && *named)
                arguments_set_str(&question->args, &question->arena, "group", str_from(named));
        else if (folder)
                arguments_set_str(&question->args, &question->arena, "path",
                                  arena_str(&question->arena, str_from(folder)));
}

void names_of_actors(const Names *names) {
        _cleanup_(question_deinit) Question question = question_new();
        Str id;

        names_set_group(names, &question);
        id = json_str(json_get(question_ask(&question, "native", "group.find", NULL), "group_id"));
        id = arena_str(&question.arena, id);
        if (!id.n)
                return;
        arguments_set_str(&question.args, &question.arena, "group_id", id);
        arguments_set_str(&question.args, &question.arena, "by", STR("user"));
        names_put_all(names, json_get(question_ask(&question, "cccc", "actor_list", NULL), "actors"), "id",
                      "title");
}

static const Json *names_ask_project(const Names *names, Question *question, const char *op) {
        _cleanup_(freep) char *folder =
                names->project ? realpath(names->project, NULL) : task_project_find();

        return folder ? question_ask(question, "aiwg", op, folder) : NULL;
}

void names_of_tasks(const Names *names) {
        _cleanup_(question_deinit) Question question = question_new();

        names_put_all(names, names_ask_project(names, &question, "task.list"), "id", "prompt");
}

void names_of_rules(const Names *names) {
        _cleanup_(question_deinit) Question question = question_new();

        names_put_all(names, json_get(names_ask_project(names, &question, "automation.status"), "rules"),
                      "id", "summary");
}
