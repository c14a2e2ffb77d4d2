/* SPDX-License-Identifier: MIT */
#include "collab/delivery/delivery-text.h"

#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "collab/group/group-doc.h"

static int delivery_text_put(Buf *out, Str s) {
        return error_trace(buf_append_str(out, s));
}

/* ---- what may be typed ----------------------------------------------------------------------- */

/* C0 but tab and line feed, DEL, and C1 (which UTF-8 writes as C2 80 to C2 9F). */
static size_t n_control(Str s, size_t at) {
        unsigned char c = (unsigned char)s.data[at];

        if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
                return 1;
        return c == 0xc2 && at + 1 < s.n && (unsigned char)s.data[at + 1] < 0xa0 ? 2 : 0;
}

/* Appends text without what may not be typed; CR and CRLF become LF. */
static int delivery_clean(Str text, Buf *out) {
        size_t from = 0;

        for (size_t at = 0; at < text.n;) {
                size_t n = n_control(text, at);

                if (!n) {
                        at++;
                        continue;
                }
                if (buf_append(out, text.data + from, at - from) ||
                    (text.data[at] == '\r' && !(at + 1 < text.n && text.data[at + 1] == '\n') &&
                     buf_append(out, "\n", 1)))
                        return error_origin(-ENOMEM);
                from = at += n;
        }
        return error_trace(buf_append(out, text.data + from, text.n - from));
}

/* ---- one message ----------------------------------------------------------------------------- */

static int put_recipients(Buf *out, const Json *to) {
        bool is_first = true;
        int r = 0;

        json_each (item, to) {
                if (!r && !is_first)
                        r = delivery_text_put(out, STR(", "));
                if (!r)
                        r = delivery_text_put(out, json_str(item));
                is_first = false;
        }
        return is_first && !r ? delivery_text_put(out, STR("@all")) : r;
}

static int put_quote(Buf *out, Str quote) {
        size_t n = utf8_first(quote, DELIVERY_QUOTE_MAX).n, start;
        int r = delivery_text_put(out, STR("\n> \""));

        start = out->n;
        if (!r)
                r = delivery_text_put(out, (Str){quote.data, n});
        for (size_t i = start; !r && i < out->n; i++)
                if (out->data[i] == '\n' || out->data[i] == '\r')
                        out->data[i] = ' ';
        if (!r && n < quote.n)
                r = delivery_text_put(out, STR("..."));
        return r ? r : delivery_text_put(out, STR("\""));
}

static int delivery_text_put_head(Buf *out, const Json *event, const Json *data) {
        Str reply_to = json_str(json_get(data, "reply_to")), quote = json_str(json_get(data, "quote_text"));
        int r = buf_printf(out, "[cccc] " STR_FMT " → ", STR_ARG(json_str(json_get(event, "by"))));

        if (!r)
                r = put_recipients(out, json_get(data, "to"));
        if (!r && reply_to.n)
                r = buf_printf(out, " (reply:" STR_FMT ")", STR_ARG(utf8_first(reply_to, 8)));
        if (!r && quote.n)
                r = put_quote(out, quote);
        return r;
}

/* The lines of one's own that stand before the text. */
static int put_labels(Buf *out, const Json *event, const Json *data) {
        Str group = json_str(json_get(data, "src_group_id")), id = json_str(json_get(data, "src_event_id"));
        int r = 0;

        if (str_is(json_str(json_get(data, "priority")), "attention"))
                r = buf_printf(out, "[cccc] IMPORTANT (event_id=" STR_FMT "):\n",
                               STR_ARG(json_str(json_get(event, "id"))));
        if (!r && group.n && id.n)
                r = buf_printf(out, "[cccc] RELAYED FROM (group_id=" STR_FMT ", event_id=" STR_FMT "):\n",
                               STR_ARG(group), STR_ARG(id));
        return r;
}

static int delivery_text_put_file(Buf *out, const Json *file) {
        Str path = json_str(json_get(file, "path")), title = json_str(json_get(file, "title"));
        int64_t n_bytes = 0;

        json_int64(json_get(file, "bytes"), &n_bytes);
        return buf_printf(out, "\n- " STR_FMT " (%lld bytes) [" STR_FMT "]", STR_ARG(title.n ? title : path),
                          (long long)n_bytes, STR_ARG(path));
}

static int put_files(Buf *out, const Json *files, bool has_text) {
        size_t n = 0;
        int r = json_count(files) ? delivery_text_put(out, has_text ? STR("\n\n[cccc] Attachments:")
                                                                    : STR("[cccc] Attachments:"))
                                  : 0;

        json_each (file, files)
                if (!r && n++ < DELIVERY_FILES_MAX)
                        r = delivery_text_put_file(out, file);
        if (!r && n > DELIVERY_FILES_MAX)
                r = buf_printf(out, "\n- … (%zu more)", n - DELIVERY_FILES_MAX);
        return r;
}

static Str without_end(Str text) {
        while (text.n && (text.data[text.n - 1] == '\n' || text.data[text.n - 1] == '\r'))
                text.n--;
        return text;
}

static int delivery_text_put_body(Buf *out, const Json *event, const Json *data) {
        Str text = without_end(json_str(json_get(data, "text")));
        int r = put_labels(out, event, data);

        if (!r)
                r = delivery_text_put(out, text);
        return r ? r : put_files(out, json_get(data, "attachments"), text.n > 0);
}

static int delivery_text_put_message(Buf *out, const Json *event) {
        const Json *data = json_get(event, "data");
        _cleanup_(buf_deinit) Buf body = BUF_NULL;
        int r = delivery_text_put_head(out, event, data);

        if (!r)
                r = delivery_text_put_body(&body, event, data);
        if (!r)
                r = delivery_text_put(out,
                                      body.n && memchr(body.data, '\n', body.n) ? STR(":\n") : STR(": "));
        return r ? r : delivery_text_put(out, buf_str(&body));
}

static int delivery_text_put_notice(Buf *out, const Json *event) {
        const Json *data = json_get(event, "data");
        Str kind = json_str(json_get(data, "kind")), message = json_str(json_get(data, "message"));
        int r = buf_printf(out, "[cccc] SYSTEM (" STR_FMT "): " STR_FMT,
                           STR_ARG(kind.n ? kind : STR("info")), STR_ARG(json_str(json_get(data, "title"))));

        message = without_end(message);
        if (!r && message.n)
                r = delivery_text_put(out, STR("\n"));
        return r ? r : delivery_text_put(out, message);
}

static bool delivery_text_is_chat(const Json *event) {
        return str_is(json_str(json_get(event, "kind")), "chat.message");
}

int delivery_event_text(const Json *event, Buf *out) {
        _cleanup_(buf_deinit) Buf raw = BUF_NULL;
        int r = delivery_text_is_chat(event) ? delivery_text_put_message(&raw, event)
                                             : delivery_text_put_notice(&raw, event);

        return error_trace(r ? r : delivery_clean(buf_str(&raw), out));
}

/* ---- several --------------------------------------------------------------------------------- */

static int put_reminder(Buf *out) {
        return delivery_text_put(
                out,
                STR("\n\n[cccc] To answer, use the tools cccc_message_send or cccc_message_reply: what you "
                    "print in this terminal is not delivered to anybody. Help: cccc_help."));
}

int delivery_batch_text(const Json *const *events, size_t n, Buf *out) {
        bool has_chat = false;
        int r = n > 1 ? buf_printf(out, "[cccc] %zu new messages:\n\n", n) : 0;

        for (size_t i = 0; !r && i < n; i++) {
                has_chat = has_chat || delivery_text_is_chat(events[i]);
                if (i)
                        r = delivery_text_put(out, STR("\n\n"));
                if (!r)
                        r = delivery_event_text(events[i], out);
        }
        return error_trace(!r && has_chat ? put_reminder(out) : r);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

int delivery_payload(Str text, bool is_paste, Buf *out) {
        int r;

        out->n = 0;
        r = is_paste ? delivery_text_put(out, STR("\x1b[200~")) : 0;
        if (!r)
                r = delivery_text_put(out, text);
        return error_trace(!r && is_paste ? delivery_text_put(out, STR("\x1b[201~")) : r);
}

Str delivery_submit_key(Str submit) {
        if (str_is(submit, "none"))
                return STR_NULL;
        return str_is(submit, "newline") ? STR("\n") : STR("\r");
}

/* The introduction: who one is, where, with whom, and how to talk. */
static const char rules[] =
        "\nrules:\n"
        "- What you print in this terminal reaches nobody. Speak with cccc_message_send and answer with "
        "cccc_message_reply.\n"
        "- Read your inbox with cccc_inbox_list and mark what you have dealt with as read.\n"
        "- Acknowledge messages marked IMPORTANT.\n"
        "- Say what you have checked and what you have not.\n";

static const char body[] =
        "\nBegin with cccc_bootstrap to see the group's context, tasks and your unread messages; "
        "cccc_help explains the tools. Then wait for messages, or go on with what is assigned to "
        "you.\n";

static size_t count_enabled(const GroupDoc *doc) {
        size_t n = 0;

        for (size_t i = 0; i < doc->n_actors; i++)
                n += doc->actors[i].is_enabled;
        return n;
}

/* Who is switched off does not answer, so nobody is told of him. */
static int put_team(const PreambleFacts *facts, Buf *out) {
        const GroupDoc *doc = facts->doc;
        const ActorView *foreman = group_foreman(doc);
        size_t n_enabled = count_enabled(doc), n_shown = 0;
        int r;

        if (n_enabled < 2)
                return buf_printf(out, "team: solo (you are the only actor)\n");
        r = buf_printf(out, "team: %zu actors (", n_enabled);
        for (size_t i = 0; !r && i < doc->n_actors && n_shown < DELIVERY_TEAM_MAX; i++)
                if (doc->actors[i].is_enabled)
                        r = buf_printf(out, "%s" STR_FMT, n_shown++ ? ", " : "", STR_ARG(doc->actors[i].id));
        if (!r)
                r = buf_printf(out, "%s)\n", n_shown < n_enabled ? ", …" : "");
        if (!r && foreman)
                r = buf_printf(out, "foreman: " STR_FMT "\n", STR_ARG(foreman->id));
        return r;
}

static int put_project(const PreambleFacts *facts, Buf *out) {
        if (facts->project.n)
                return buf_printf(out, "project: " STR_FMT "; read it first\n", STR_ARG(facts->project));
        if (facts->root.n)
                return buf_printf(out, "project: there is no PROJECT.md in " STR_FMT "\n",
                                  STR_ARG(facts->root));
        return buf_printf(out, "project: no folder is attached\n");
}

static int put_scopes(const PreambleFacts *facts, Buf *out) {
        const GroupDoc *doc = facts->doc;
        int r = put_project(facts, out);

        if (!r)
                r = buf_printf(out, "scopes (* = active):\n");

        for (size_t i = 0; !r && i < doc->n_scopes; i++)
                r = buf_printf(out, "%s " STR_FMT ": " STR_FMT "\n",
                               str_eq(doc->scopes[i].key, doc->active_scope_key) ? "*" : "-",
                               STR_ARG(doc->scopes[i].label), STR_ARG(doc->scopes[i].url));
        return r || doc->n_scopes ? r : buf_printf(out, "- none\n");
}

static int put_facts(const PreambleFacts *facts, Buf *out) {
        const ActorView *actor = facts->actor;
        int r = buf_printf(out,
                           "[CCCC] You are " STR_FMT " (%s) in group '" STR_FMT "'\n"
                           "group_id: " STR_FMT "\n"
                           "runtime: " STR_FMT " (" STR_FMT ")\n",
                           STR_ARG(actor->id), group_role(facts->doc, actor->id), STR_ARG(facts->doc->title),
                           STR_ARG(facts->group_id), STR_ARG(actor->runtime), STR_ARG(actor->runner));

        if (!r && str_trim(facts->doc->topic).n)
                r = buf_printf(out, "topic: " STR_FMT "\n", STR_ARG(facts->doc->topic));
        if (!r)
                r = put_team(facts, out);
        return r ? r : put_scopes(facts, out);
}

int delivery_preamble_text(const PreambleFacts *facts, Buf *out) {
        _cleanup_(buf_deinit) Buf raw = BUF_NULL;
        Str own = str_trim(facts->body);
        int r = put_facts(facts, &raw);

        if (!r)
                r = buf_append_str(&raw, str_from(rules));
        if (!r)
                r = own.n ? buf_printf(&raw, "\n" STR_FMT, STR_ARG(own))
                          : buf_append_str(&raw, str_from(body));
        return error_trace(r ? r : delivery_clean(str_trim(buf_str(&raw)), out));
}
