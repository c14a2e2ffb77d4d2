/* SPDX-License-Identifier: MIT */
#include "cli/link/native.h"

#include "base/json/json-writer.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "gen/errors.h"

/* What a person can do about an error of the CCCC contract. */
static const char *reply_advice(Str code) {
        static const struct {
                int error;
                const char *advice;
        } rows[] = {
                {CALL_E_GROUP_NOT_FOUND, "see which groups there are with: muster group list"},
                {CALL_E_INVALID_RECIPIENT, "see who is there with: muster actor list"},
                {CALL_E_ACTOR_NOT_FOUND, "see who is there with: muster actor list"},
                {CALL_E_NO_ENABLED_RECIPIENTS,
                 "start somebody with: muster actor start NAME; or name others with --to"},
                {CALL_E_EVENT_NOT_FOUND, "see the ids of messages with: muster tail"},
                {CALL_E_MISSING_PROJECT_ROOT, "attach a folder first: muster group attach FOLDER -g GROUP"},
                {CALL_E_SCOPE_NOT_ATTACHED, "attach the folder first: muster group attach FOLDER -g GROUP"},
                {CALL_E_INVALID_PROJECT_ROOT,
                 "attach a folder that exists: muster group attach FOLDER -g GROUP"},
                {CALL_E_ACTOR_NOT_RUNNING, "start it with: muster actor start NAME"},
                {CALL_E_UNKNOWN_OP, "the daemon may be of another version; see: muster status"},
        };

        for (size_t i = 0; code.n && i < ARRAY_SIZE(rows); i++)
                if (str_is(code, cccc_error_code(rows[i].error)))
                        return rows[i].advice;
        return NULL;
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
                json_put_text(stderr, buf_str(&text));
}

void reply_complain(const char *what, const Reply *reply, bool json) {
        Str code = json_str(reply->code), hint = json_str(json_get(reply->details, "hint"));
        const char *advice = reply_advice(code);
        _cleanup_(freep) char *words = advice ? hint_new(advice) : NULL;

        if (json) {
                complain_json(reply);
                return;
        }
        /* Codes that are words help to look for them; numbers are for programs. */
        complain(CLI_FAILED, "%s: " STR_FMT "%s" STR_FMT, what, STR_ARG(code),
                 code.n && reply->message.n ? ": " : "", STR_ARG(reply->message));
        if (words)
                advise("%s", words);
        else if (hint.n)
                advise(STR_FMT, STR_ARG(hint));
        else if (json_count(reply->details)) {
                fputs("details: ", stderr);
                (void)json_print(stderr, reply->details, false);
        }
}

int exchange_complain(int r, const char *path) {
        if (r == EXCHANGE_E_GARBLED)
                return complain(CLI_FAILED, "what listens at %s does not answer like musterd", path);
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
