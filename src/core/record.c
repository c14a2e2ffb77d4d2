/* SPDX-License-Identifier: MIT */
#include "core/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "core/dialect.h"

struct Recorder {
        int fd;
        Buf line;
};

int recorder_new(Recorder **ret, const char *path) {
        Recorder *recorder = calloc(1, sizeof(*recorder));
        int r;

        if (!recorder)
                return error_origin(-ENOMEM);
        recorder->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (recorder->fd < 0) {
                r = -errno;
                free(recorder);
                return error_origin(r);
        }
        *ret = recorder;
        return 0;
}

Recorder *recorder_free(Recorder *recorder) {
        if (!recorder)
                return NULL;
        close_fd(recorder->fd);
        buf_deinit(&recorder->line);
        free(recorder);
        return NULL;
}

void record_call(Recorder *recorder, const Call *call) {
        const Dialect *dialect = call->client->dialect;
        const char *tool = dialect->tool ? dialect->tool(call->client) : NULL;
        JsonWriter w = JSON_WRITER(&recorder->line);
        bool is_foreign = call->ops && call->ops != dialect->ops;

        if (is_foreign && call->error)
                return; /* its word is not that of the operation's dialect */
        recorder->line.n = 0;
        jw_begin_object(&w);
        jw_field_cstr(&w, "dialect", is_foreign ? call->ops->dialect : dialect->name);
        if (tool)
                jw_field_cstr(&w, "tool", tool);
        jw_field_cstr(&w, "op", call->op ? call->op->name : "");
        jw_field_bool(&w, "ok", !call->error);
        if (call->error) {
                jw_key(&w, "error");
                dialect->error_word(call->error, &w);
                jw_field_str(&w, "message", call->message);
        } else {
                jw_key(&w, "result");
                jw_raw(&w, (Str){call->out->data + call->result_mark, call->out->n - call->result_mark});
        }
        jw_field_str(&w, "request", call->request);
        jw_end_object(&w);
        if (w.failed || buf_append(&recorder->line, "\n", 1))
                return;
        if (write(recorder->fd, recorder->line.data, recorder->line.n) < 0)
                return; /* the test that reads the file notices */
}
