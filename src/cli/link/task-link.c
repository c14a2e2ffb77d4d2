/* SPDX-License-Identifier: MIT */
#include "cli/link/task-link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "cli/link/asking.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

char *task_project_find(void) {
        char *dir = realpath(".", NULL);

        while (dir) {
                char *slash = strrchr(dir, '/');

                if (path_is_found(dir, ".aiwg"))
                        return dir;
                if (slash == dir && !dir[1])
                        break;
                slash[slash == dir] = 0;
        }
        free(dir);
        return NULL;
}

static int complain_absent(const char *dir) {
        complain(CLI_NO_DAEMON, "nobody serves the project %s", dir);
        advise("serve it with: muster project add %s", dir);
        return CLI_NO_DAEMON;
}

/* Which project is meant; malloc'd. */
static int task_link_choose(const char *project, char **ret) {
        *ret = project ? realpath(project, NULL) : task_project_find();
        if (*ret)
                return CLI_OK;
        if (project)
                return complain(CLI_USAGE, "%s: %s", project, strerror(errno));
        complain(CLI_USAGE, "this folder is in no project: there is no .aiwg here or above");
        advise("make it one with: muster project add .");
        return CLI_USAGE;
}

/* Conditions of the Link. */
static int task_link_connect(TaskLink *link, const char *dir, int64_t timeout_ms) {
        if (!link->socket)
                link->socket = path_join(dir, ".aiwg/daemon/daemon.sock");
        if (!link->dir)
                link->dir = strdup(dir);
        if (!link->socket || !link->dir)
                return error_origin(-ENOMEM);
        return link_open(&link->link, link->socket,
                         timeout_ms < 0 ? DEADLINE_NEVER : clock_ms() + timeout_ms);
}

int task_link_open(TaskLink *link, const char *project, int64_t timeout_ms) {
        _cleanup_(freep) char *dir = NULL;
        int r = task_link_choose(project, &dir);

        if (r)
                return r;
        r = task_link_connect(link, dir, timeout_ms);
        if (r == LINK_E_ABSENT)
                return complain_absent(dir);
        return r ? link_complain(r, link->socket) : CLI_OK;
}

/* project.add, which is answered when the project's socket listens. */
static int task_link_serve(const char *dir) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = {0};
        _cleanup_(freep) char *socket = NULL;
        Arguments args = {0};
        Reply reply;
        int r = asking_start(&socket);

        if (r)
                return r;
        arguments_set_str(&args, &arena, "dir", str_from(dir));
        r = asking(&(Asking){socket, "native", "project.add", &link, &arena}, &args, &reply);
        if (r || !reply.is_error)
                return r;
        reply_complain("project.add", &reply, false);
        return CLI_FAILED;
}

/* A folder that was named without being a project is not made one by the way. */
static bool task_link_is_project(const char *dir) {
        _cleanup_(freep) char *path = path_join(dir, ".aiwg");
        struct stat st;

        return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

int task_link_open_serving(TaskLink *link, const char *project, int64_t timeout_ms) {
        _cleanup_(freep) char *dir = NULL;
        int r = task_link_choose(project, &dir);

        if (r)
                return r;
        r = task_link_connect(link, dir, timeout_ms);
        if (r == LINK_E_ABSENT && !task_link_is_project(dir))
                return complain_absent(dir);
        if (r == LINK_E_ABSENT) {
                r = task_link_serve(dir);
                if (r)
                        return r;
                advise("serving %s from now on; muster project rm ends that", dir);
                r = task_link_connect(link, dir, timeout_ms);
        }
        return r ? link_complain(r, link->socket) : CLI_OK;
}

void task_link_deinit(TaskLink *link) {
        link_deinit(&link->link);
        arena_deinit(&link->arena);
        free(link->socket);
        free(link->dir);
        *link = (TaskLink)TASK_LINK_NULL;
}

int task_link_send(TaskLink *link, const char *method, Str params) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        JsonWriter w = JSON_WRITER(&bytes);

        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_field_cstr(&w, "method", method);
        jw_key(&w, "params");
        jw_raw(&w, params.n ? params : STR("{}"));
        jw_field_int(&w, "id", ++link->last_id);
        jw_end_object(&w);
        if (w.failed || buf_append_str(&bytes, STR("\n")))
                return error_origin(-ENOMEM);
        return link_send(&link->link, buf_str(&bytes));
}

int task_link_next(TaskLink *link, const Json **ret) {
        Json *json = NULL;
        Str text;
        int r = link_receive(&link->link, FRAMING_LINE, &text);

        if (r)
                return r;
        arena_reset(&link->arena);
        r = json_parse(&link->arena, text.data, text.n, NULL, &json, NULL);
        if (r)
                return r < 0 ? error_trace(r) : EXCHANGE_E_GARBLED;
        *ret = json;
        return 0;
}

static int task_link_receive_reply(TaskLink *link, Reply *ret) {
        const Json *message = NULL;
        int64_t id = 0;
        int r;

        while (!(r = task_link_next(link, &message))) {
                if (json_get(message, "method")) {
                        if (link->note)
                                link->note(link->user, message);
                } else if (json_int64(json_get(message, "id"), &id) && id == link->last_id)
                        break;
        }
        return r ? r : reply_read(&link->arena, "aiwg", json_raw(message), ret);
}

int task_link_call(TaskLink *link, const char *what, const char *method, Str params, Reply *ret) {
        int r = task_link_send(link, method, params);

        if (!r)
                r = task_link_receive_reply(link, ret);
        if (r)
                return exchange_complain(r, link->socket);
        if (!ret->is_error)
                return CLI_OK;
        if (what)
                reply_complain(what, ret, link->is_json);
        return CLI_FAILED;
}

Str task_id_short(Str id) {
        size_t n = 5;

        if (id.n < 6 || memcmp(id.data, "task-", 5) != 0 || strspn(id.data + 5, "0123456789") < id.n - 5)
                return id;
        while (n + 1 < id.n && id.data[n] == '0')
                n++;
        return (Str){id.data + n, id.n - n};
}

int task_params(Buf *out, const char *id) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "taskId", id);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static bool task_link_is_of(const Json *note, Str id) {
        return str_eq(json_str(json_get(json_get(note, "params"), "taskId")), id);
}

bool task_note_is_end(const Json *note, Str id) {
        Str name = json_str(json_get(note, "method"));

        return task_link_is_of(note, id) &&
               (str_is(name, "event.taskCompleted") || str_is(name, "event.taskFailed") ||
                str_is(name, "event.taskCancelled"));
}

bool task_note_is_output(const Json *note, Str id, Str *ret_chunk, bool *ret_is_stderr) {
        const Json *params = json_get(note, "params");

        if (!task_link_is_of(note, id) || !str_is(json_str(json_get(note, "method")), "event.taskOutput"))
                return false;
        *ret_chunk = json_str(json_get(params, "chunk"));
        *ret_is_stderr = str_is(json_str(json_get(params, "stream")), "stderr");
        return true;
}
