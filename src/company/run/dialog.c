/* SPDX-License-Identifier: MIT */
/* What is said to an app server and what is understood of its answers. */
#include "company/run/dialog.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/utf8.h"
#include "gen/errors.h"

void dialog_break(Dialog *dialog, const char *format, ...) {
        va_list args;

        if (dialog->state == DIALOG_OVER)
                return;
        va_start(args, format);
        (void)vsnprintf(dialog->reason, sizeof(dialog->reason), format, args);
        va_end(args);
        dialog->reason[utf8_valid_prefix(dialog->reason, strlen(dialog->reason))] =
                0; /* it may have been cut */
        dialog->state = DIALOG_OVER;
        dialog->verdict = DIALOG_BROKEN;
}

/* ---- saying ---------------------------------------------------------------------------------- */

static void dialog_open(Dialog *dialog, JsonWriter *w, const char *method) {
        jw_begin_object(w);
        jw_field_uint(w, "id", ++dialog->n_requests);
        jw_field_cstr(w, "method", method);
        jw_key(w, "params");
        jw_begin_object(w);
}

static int dialog_close(Dialog *dialog, JsonWriter *w) {
        jw_end_object(w);
        jw_end_object(w);
        return w->failed ? error_origin(-ENOMEM) : error_trace(buf_append(&dialog->say, "\n", 1));
}

int dialog_begin(Dialog *dialog) {
        JsonWriter w = JSON_WRITER(&dialog->say);

        dialog->state = DIALOG_GREETING;
        dialog_open(dialog, &w, "initialize");
        jw_key(&w, "clientInfo");
        jw_begin_object(&w);
        jw_field_cstr(&w, "name", "agentcompany");
        jw_field_cstr(&w, "version", "0.0.0");
        jw_end_object(&w);
        jw_field_null(&w, "capabilities");
        return dialog_close(dialog, &w);
}

static int dialog_ask_thread(Dialog *dialog) {
        JsonWriter w = JSON_WRITER(&dialog->say);

        dialog->state = DIALOG_THREAD;
        dialog_open(dialog, &w, "thread/start");
        if (dialog->model.n)
                jw_field_str(&w, "model", dialog->model);
        else
                jw_field_null(&w, "model");
        jw_field_str(&w, "cwd", dialog->folder);
        jw_field_bool(&w, "experimentalRawEvents", true);
        return dialog_close(dialog, &w);
}

static int dialog_ask_turn(Dialog *dialog) {
        JsonWriter w = JSON_WRITER(&dialog->say);

        dialog->state = DIALOG_TURN;
        dialog_open(dialog, &w, "turn/start");
        jw_field_cstr(&w, "threadId", dialog->thread_id);
        jw_key(&w, "input");
        jw_begin_array(&w);
        jw_begin_object(&w);
        jw_field_cstr(&w, "type", "text");
        jw_field_str(&w, "text", dialog->prompt);
        jw_key(&w, "text_elements");
        jw_begin_array(&w);
        jw_end_array(&w);
        jw_end_object(&w);
        jw_end_array(&w);
        if (dialog->model.n)
                jw_field_str(&w, "model", dialog->model);
        return dialog_close(dialog, &w);
}

int dialog_interrupt(Dialog *dialog) {
        JsonWriter w = JSON_WRITER(&dialog->say);

        if (dialog->state != DIALOG_WORKING)
                return 0;
        dialog_open(dialog, &w, "turn/interrupt");
        jw_field_cstr(&w, "threadId", dialog->thread_id);
        jw_field_cstr(&w, "turnId", dialog->turn_id);
        return dialog_close(dialog, &w);
}

/* Halves of surrogate pairs are none. */
static bool dialog_is_text(Str text) {
        return !text.n || utf8_valid_prefix(text.data, text.n) == text.n;
}

static int dialog_refuse(Dialog *dialog, const Json *id) {
        JsonWriter w = JSON_WRITER(&dialog->say);

        if (json_raw(id).n > DIALOG_REQUEST_ID_MAX ||
            !(json_is(id, JSON_NUMBER) || json_is(id, JSON_STRING)) || !dialog_is_text(json_str(id)))
                return 0;
        jw_begin_object(&w);
        jw_field_value(&w, "id", id);
        jw_key(&w, "error");
        jw_begin_object(&w);
        jw_field_int(&w, "code", agentcompany_error_code(CALL_E_UNKNOWN_OP));
        jw_field_cstr(&w, "message", "Method not found");
        return dialog_close(dialog, &w);
}

/* ---- understanding --------------------------------------------------------------------------- */

static bool dialog_take_id(Dialog *dialog, const Json *object, const char *what,
                           char to[DIALOG_ID_MAX + 1]) {
        Str id = json_text_of(object, "id");

        if (!id.n || id.n > DIALOG_ID_MAX || memchr(id.data, 0, id.n) || !dialog_is_text(id)) {
                dialog_break(dialog, "The app server named no %s", what);
                return false;
        }
        memcpy(to, id.data, id.n);
        to[id.n] = 0;
        return true;
}

static int dialog_on_answer(Dialog *dialog, const Json *message, const Json *id) {
        static const char *const asked[] = {[DIALOG_GREETING] = "initialize",
                                            [DIALOG_THREAD] = "thread/start",
                                            [DIALOG_TURN] = "turn/start"};
        const Json *error = json_get(message, "error"), *result = json_get(message, "result");
        uint64_t number = 0;

        if (dialog->state < DIALOG_GREETING || dialog->state > DIALOG_TURN || !json_uint64(id, &number) ||
            number != dialog->n_requests)
                return 0;
        if (error && !json_is(error, JSON_NULL)) {
                Str words = json_text_of(error, "message");

                dialog_break(dialog, "The app server refused %s: " STR_FMT, asked[dialog->state],
                             STR_ARG(words.n ? words : STR("no reason given")));
                return 0;
        }
        if (dialog->state == DIALOG_GREETING)
                return dialog_ask_thread(dialog);
        if (dialog->state == DIALOG_THREAD)
                return dialog_take_id(dialog, json_get(result, "thread"), "thread", dialog->thread_id)
                               ? dialog_ask_turn(dialog)
                               : 0;
        if (dialog_take_id(dialog, json_get(result, "turn"), "turn", dialog->turn_id))
                dialog->state = DIALOG_WORKING;
        return 0;
}

/* That of another turn is none of ours. */
static void dialog_on_completed(Dialog *dialog, const Json *turn) {
        Str id = json_text_of(turn, "id"), status = json_text_of(turn, "status");

        if (dialog->state < DIALOG_TURN || dialog->state == DIALOG_OVER ||
            (id.n && *dialog->turn_id && !str_is(id, dialog->turn_id)))
                return;
        dialog->verdict = str_is(status, "completed")     ? DIALOG_COMPLETED
                          : str_is(status, "interrupted") ? DIALOG_INTERRUPTED
                                                          : DIALOG_FAILED;
        dialog->state = DIALOG_OVER;
}

/* Halves of surrogate pairs are no UTF-8. */
static int dialog_take_text(Dialog *dialog, Str text) {
        return text.n ? error_trace(utf8_append_replaced(&dialog->message, text.data, text.n)) : 0;
}

static int dialog_on_notice(Dialog *dialog, Str method, const Json *message) {
        const Json *params = json_get(message, "params");
        UsageCount count;

        usage_meter_notice(dialog->meter, message, dialog->told);
        if (str_is(method, "item/agentMessage/delta"))
                return dialog_take_text(dialog, json_text_of(params, "delta"));
        if (str_is(method, "turn/completed")) {
                dialog_on_completed(dialog, json_get(params, "turn"));
        } else if (str_is(method, "thread/tokenUsage/updated") &&
                   usage_count_of_thread(json_get(params, "tokenUsage"), &count)) {
                count.from = method;
                usage_meter_count(dialog->meter, &count, dialog->told);
        }
        return 0;
}

static int dialog_on_message(Dialog *dialog, const Json *message) {
        const Json *id = json_get(message, "id");
        Str method = json_text_of(message, "method");

        if (!json_is(message, JSON_OBJECT))
                return 0;
        if (!method.n)
                return dialog_on_answer(dialog, message, id);
        return id ? dialog_refuse(dialog, id) : dialog_on_notice(dialog, method, message);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int dialog_parse(Dialog *dialog, Str line, Json **ret) {
        const JsonLimits limits = {.n_values = DIALOG_VALUES_MAX, .is_lenient = true};
        int r = json_parse(&dialog->scratch, line.data, line.n, &limits, ret, NULL);

        if (r != JSON_E_UTF8)
                return r;
        arena_reset(&dialog->scratch);
        dialog->mended.n = 0;
        r = utf8_append_replaced(&dialog->mended, line.data, line.n);
        return r ? error_trace(r)
                 : json_parse(&dialog->scratch, dialog->mended.data, dialog->mended.n, &limits, ret, NULL);
}

static int dialog_line(Dialog *dialog, Str line) {
        Str text = str_trim(line);
        Json *message = NULL;
        int r;

        if (dialog->state == DIALOG_OVER || !text.n || text.data[0] != '{')
                return 0;
        r = dialog_parse(dialog, text, &message);
        if (r == JSON_E_SIZE)
                dialog_break(dialog, "The app server sent a message with too many values");
        r = r ? MIN(r, 0) : dialog_on_message(dialog, message);
        arena_reset(&dialog->scratch);
        buf_deinit(&dialog->mended);
        return error_trace(r);
}

static int dialog_grow(Dialog *dialog, Str part) {
        if (dialog->rest.n + part.n <= DIALOG_LINE_MAX)
                return error_trace(buf_append_str(&dialog->rest, part));
        dialog_break(dialog, "The app server sent a line of more than %d bytes", DIALOG_LINE_MAX);
        buf_deinit(&dialog->rest);
        return 0;
}

/* What follows the end of the dialog is passed over. */
int dialog_feed(Dialog *dialog, Str piece, const UsageTold *told) {
        int r = 0;

        dialog->told = told;
        while (!r && piece.n && dialog->state != DIALOG_OVER) {
                const char *newline = memchr(piece.data, '\n', piece.n);
                size_t n = newline ? (size_t)(newline - piece.data) : piece.n;

                r = dialog_grow(dialog, (Str){piece.data, n});
                if (!r && newline) {
                        r = dialog_line(dialog, buf_str(&dialog->rest));
                        dialog->rest.n = 0;
                        if (dialog->rest.cap > ARENA_KEEP)
                                buf_deinit(&dialog->rest);
                }
                n += newline != NULL;
                piece = (Str){piece.data + n, piece.n - n};
        }
        dialog->told = NULL;
        return r;
}

int dialog_end(Dialog *dialog, const UsageTold *told) {
        return dialog_feed(dialog, STR("\n"), told);
}

void dialog_deinit(Dialog *dialog) {
        buf_deinit(&dialog->say);
        buf_deinit(&dialog->message);
        buf_deinit(&dialog->rest);
        buf_deinit(&dialog->mended);
        arena_deinit(&dialog->scratch);
        *dialog = (Dialog){0};
}
