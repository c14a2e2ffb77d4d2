/* SPDX-License-Identifier: MIT */
#include "cli/link/native.h"

#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/print/report.h"

static Str code_text(const Json *code) {
        return json_is(code, JSON_NUMBER) ? (Str){code->text, code->n} : json_str(code);
}

static void complain_json(const Reply *reply) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_key(&w, "code");
        if (reply->code)
                jw_value(&w, reply->code);
        else
                jw_null(&w);
        jw_field_str(&w, "message", reply->message);
        if (reply->details)
                jw_field_value(&w, "details", reply->details);
        jw_end_object(&w);
        if (!w.failed)
                fprintf(stderr, STR_FMT "\n", STR_ARG(buf_str(&text)));
}

void reply_complain(const char *what, const Reply *reply, bool json) {
        Str code = code_text(reply->code);

        if (json) {
                complain_json(reply);
                return;
        }
        complain(CLI_FAILED, "%s: " STR_FMT "%s" STR_FMT, what, STR_ARG(code),
                 code.n && reply->message.n ? ": " : "", STR_ARG(reply->message));
        if (reply->details) {
                fputs("details: ", stderr);
                (void)json_print(stderr, reply->details, false);
        }
}

int exchange_complain(int r, const char *path) {
        if (r == EXCHANGE_E_GARBLED)
                return complain(CLI_FAILED, "what listens at %s does not answer like a muster daemon", path);
        return link_complain(r, path);
}

int native_call(Link *link, const char *path, const char *method, Arena *arena, const Json **ret) {
        return native_call_with(link, path, method, NULL, arena, ret);
}

int native_call_with(Link *link, const char *path, const char *method, const Json *args, Arena *arena,
                     const Json **ret) {
        const Request request = {.dialect = "native", .op = method, .args = args};
        Reply reply = {0};
        int r = exchange(link, &request, arena, &reply);

        *ret = reply.result;
        if (r && r != LINK_E_CLOSED)
                return exchange_complain(r, path);
        if (!reply.is_error)
                return CLI_OK;
        reply_complain(method, &reply, false);
        return CLI_FAILED;
}
