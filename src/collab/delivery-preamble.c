/* SPDX-License-Identifier: MIT */
/* The introduction: who one is, where, with whom, and how to talk. */
#include "base/error.h"
#include "base/macro.h"
#include "collab/delivery-text.h"
#include "collab/permissions.h"

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
