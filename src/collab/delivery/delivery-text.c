/* SPDX-License-Identifier: MIT */
#include "collab/delivery/delivery-text.h"

#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "collab/delivery/typed-text.h"
#include "collab/group/group-doc.h"

static int delivery_text_put(Buf *out, Str s) {
        return error_trace(buf_append_str(out, s));
}

/* ---- one message ----------------------------------------------------------------------------- */

static int put_recipients(Buf *out, const Json *to) {
        bool is_first = true;
        int r = 0;

        json_each (item, to) {
                if (!r && !is_first)
                        r = delivery_text_put(out, STR(", "));
                if (!r)
                        r = typed_word(json_str(item), out);
                is_first = false;
        }
        return is_first && !r ? delivery_text_put(out, STR("@all")) : r;
}

static int put_quote(Buf *out, Str quote) {
        Str first = utf8_first(quote, DELIVERY_QUOTE_MAX);
        int r = delivery_text_put(out, STR("\n> \""));

        if (!r)
                r = typed_word(first, out);
        if (!r && first.n < quote.n)
                r = delivery_text_put(out, STR("..."));
        return r ? r : delivery_text_put(out, STR("\""));
}

/* Words of ours around a word of somebody else. */
static int delivery_text_put_word(Buf *out, Str before, Str word, Str after) {
        int r = delivery_text_put(out, before);

        if (!r)
                r = typed_word(word, out);
        return r ? r : delivery_text_put(out, after);
}

static int delivery_text_put_head(Buf *out, const Json *event, const Json *data) {
        Str reply_to = json_str(json_get(data, "reply_to")), quote = json_str(json_get(data, "quote_text"));
        int r = delivery_text_put_word(out, STR("[cccc] "), json_str(json_get(event, "by")), STR(" → "));

        if (!r)
                r = put_recipients(out, json_get(data, "to"));
        if (!r && reply_to.n)
                r = delivery_text_put_word(out, STR(" (reply:"), utf8_first(reply_to, 8), STR(")"));
        if (!r && quote.n)
                r = put_quote(out, quote);
        return r;
}

/* The lines of one's own that stand before the text. */
static int put_labels(Buf *out, const Json *event, const Json *data) {
        Str group = json_str(json_get(data, "src_group_id")), id = json_str(json_get(data, "src_event_id"));
        int r = 0;

        if (str_is(json_str(json_get(data, "priority")), "attention"))
                r = delivery_text_put_word(out, STR("[cccc] IMPORTANT (event_id="),
                                           json_str(json_get(event, "id")), STR("):\n"));
        if (r || !group.n || !id.n)
                return r;
        r = delivery_text_put_word(out, STR("[cccc] RELAYED FROM (group_id="), group, STR(", event_id="));
        return r ? r : delivery_text_put_word(out, STR_NULL, id, STR("):\n"));
}

static int delivery_text_put_file(Buf *out, const Json *file) {
        Str path = json_str(json_get(file, "path")), title = json_str(json_get(file, "title"));
        int64_t n_bytes = 0;
        int r = delivery_text_put_word(out, STR("\n- "), title.n ? title : path, STR_NULL);

        json_int64(json_get(file, "bytes"), &n_bytes);
        if (!r)
                r = buf_printf(out, " (%lld bytes)", (long long)n_bytes);
        return r ? r : delivery_text_put_word(out, STR(" ["), path, STR("]"));
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

/* The words that we put in the place of a text that is kept in a file (collab/message/post.c). Nobody else can
 * write them: the id is not known before. */
static bool delivery_text_is_pointer(Str text, Str id) {
        const Str parts[] = {STR("[cccc] (chat text stored at state/ledger/blobs/chat."), id, STR(".txt)")};

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                if (!str_starts(text, parts[i]))
                        return false;
                text = (Str){text.data + parts[i].n, text.n - parts[i].n};
        }
        return id.n && !text.n;
}

static int delivery_text_put_body(Buf *out, const Json *event, const Json *data) {
        Str text = json_str(json_get(data, "text"));
        int r = put_labels(out, event, data);
        size_t n = out->n;

        if (!r)
                r = delivery_text_is_pointer(text, json_str(json_get(event, "id")))
                            ? delivery_text_put(out, text)
                            : typed_body(text, out);
        return r ? r : put_files(out, json_get(data, "attachments"), out->n > n);
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
        Str kind = json_str(json_get(data, "kind"));
        size_t n;
        int r = delivery_text_put_word(out, STR("[cccc] SYSTEM ("), kind.n ? kind : STR("info"), STR("): "));

        if (!r)
                r = typed_body(json_str(json_get(data, "title")), out);
        if (!r)
                r = delivery_text_put(out, STR("\n"));
        n = out->n;
        if (!r)
                r = typed_body(json_str(json_get(data, "message")), out);
        if (!r && out->n == n)
                out->n--; /* there is none */
        return r;
}

static bool delivery_text_is_chat(const Json *event) {
        return str_is(json_str(json_get(event, "kind")), "chat.message");
}

int delivery_event_text(const Json *event, Buf *out) {
        return error_trace(delivery_text_is_chat(event) ? delivery_text_put_message(out, event)
                                                        : delivery_text_put_notice(out, event));
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

/* Without paste a tab is a key: it completes. */
int delivery_payload(Str text, bool is_paste, Buf *out) {
        int r;

        out->n = 0;
        r = is_paste ? delivery_text_put(out, STR("\x1b[200~")) : 0;
        if (!r)
                r = delivery_text_put(out, text);
        for (size_t i = 0; !r && !is_paste && i < out->n; i++)
                if (out->data[i] == '\t')
                        out->data[i] = ' ';
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

/* The same for who has no tools and can run our command. */
static const char rules_without_tools[] =
        "\nrules:\n"
        "- What you print in this terminal reaches nobody. Answer with `muster reply EVENT TEXT` (EVENT is "
        "the "
        "id of a message, or last) and speak with `muster send --to NAME TEXT`. If you have the tools "
        "cccc_message_reply and cccc_message_send, they do the same.\n"
        "- Read your inbox with `muster inbox` (or cccc_inbox_list); `muster inbox --read` marks what it "
        "shows "
        "as read.\n"
        "- Acknowledge messages marked IMPORTANT with `muster ack EVENT`.\n"
        "- Say what you have checked and what you have not.\n";

static const char body[] =
        "\nBegin with cccc_bootstrap to see the group's context, tasks and your unread messages; "
        "cccc_help explains the tools. Then wait for messages, or go on with what is assigned to "
        "you.";

static const char body_without_tools[] = "\nBegin with `muster context` and `muster inbox` (or "
                                         "cccc_bootstrap) to see the group's context, tasks "
                                         "and your unread messages; `muster help` explains the commands. "
                                         "Then wait for messages, or go on with "
                                         "what is assigned to you.";

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
                        r = delivery_text_put_word(out, n_shown++ ? STR(", ") : STR_NULL, doc->actors[i].id,
                                                   STR_NULL);
        if (!r)
                r = buf_printf(out, "%s)\n", n_shown < n_enabled ? ", …" : "");
        if (!r && foreman)
                r = delivery_text_put_word(out, STR("foreman: "), foreman->id, STR("\n"));
        return r;
}

static int put_project(const PreambleFacts *facts, Buf *out) {
        if (facts->project.n)
                return delivery_text_put_word(out, STR("project: "), facts->project,
                                              STR("; read it first\n"));
        if (facts->root.n)
                return delivery_text_put_word(out, STR("project: there is no PROJECT.md in "), facts->root,
                                              STR("\n"));
        return delivery_text_put(out, STR("project: no folder is attached\n"));
}

static int put_scope_line(const GroupDoc *doc, const ScopeView *scope, Buf *out) {
        bool is_active = str_eq(scope->key, doc->active_scope_key);
        int r = delivery_text_put_word(out, is_active ? STR("* ") : STR("- "), scope->label, STR(": "));

        return r ? r : delivery_text_put_word(out, STR_NULL, scope->url, STR("\n"));
}

static int put_scopes(const PreambleFacts *facts, Buf *out) {
        const GroupDoc *doc = facts->doc;
        int r = put_project(facts, out);

        if (!r)
                r = buf_printf(out, "scopes (* = active):\n");

        for (size_t i = 0; !r && i < doc->n_scopes; i++)
                r = put_scope_line(doc, &doc->scopes[i], out);
        return r || doc->n_scopes ? r : buf_printf(out, "- none\n");
}

static int put_self(const PreambleFacts *facts, Buf *out) {
        const ActorView *actor = facts->actor;
        int r = delivery_text_put_word(out, STR("[CCCC] You are "), actor->id, STR(" ("));

        if (!r)
                r = buf_printf(out, "%s) in group '", group_role(facts->doc, actor->id));
        if (!r)
                r = delivery_text_put_word(out, STR_NULL, facts->doc->title, STR("'\ngroup_id: "));
        if (!r)
                r = delivery_text_put_word(out, STR_NULL, facts->group_id, STR("\nruntime: "));
        if (!r)
                r = delivery_text_put_word(out, STR_NULL, actor->runtime, STR(" ("));
        return r ? r : delivery_text_put_word(out, STR_NULL, actor->runner, STR(")\n"));
}

static int put_facts(const PreambleFacts *facts, Buf *out) {
        bool has_topic = str_trim(facts->doc->topic).n > 0;
        int r = put_self(facts, out);

        if (!r && has_topic)
                r = delivery_text_put(out, STR("topic: "));
        if (!r && has_topic)
                r = typed_body(facts->doc->topic, out);
        if (!r && has_topic)
                r = delivery_text_put(out, STR("\n"));
        if (!r)
                r = put_team(facts, out);
        return r ? r : put_scopes(facts, out);
}

int delivery_preamble_text(const PreambleFacts *facts, Buf *out) {
        Str own = str_trim(facts->body);
        int r = put_facts(facts, out);

        if (!r)
                r = buf_append_str(out, str_from(facts->lacks_tools ? rules_without_tools : rules));
        if (!r)
                r = buf_append_str(out, own.n                ? STR("\n")
                                        : facts->lacks_tools ? str_from(body_without_tools)
                                                             : str_from(body));
        return error_trace(!r && own.n ? typed_body(own, out) : r);
}
