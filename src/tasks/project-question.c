/* SPDX-License-Identifier: MIT */
/* What a rule asks a person, in the words of an approval: see project-ask.c. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "tasks/project-ask.h"

enum { ASK_PLACE_DIGITS = 16 };

int rule_ask_place(const Project *project, char out[RULE_ASK_KEY_MAX]) {
        char digest[SHA256_HEX_MAX];
        int r = sha256_hex(str_from(project->dir), digest);

        snprintf(out, RULE_ASK_KEY_MAX, "rule:%.*s:", ASK_PLACE_DIGITS, r ? "" : digest);
        return error_trace(r);
}

static const Json *rule_ask_evidence(Arena *arena, const Project *project, const RuleQuestion *question) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Json *json = NULL;
        Str copy;

        jw_begin_object(&w);
        jw_field_str(&w, "rule", question->rule);
        jw_field_str(&w, "does", question->does);
        jw_field_value(&w, "action", question->action);
        jw_key(&w, "event");
        jw_raw(&w, question->event->text);
        jw_field_cstr(&w, "project", project->dir);
        jw_end_object(&w);
        copy = w.failed ? STR_NULL : arena_str(arena, buf_str(&text));
        return copy.data && !json_parse(arena, copy.data, copy.n, NULL, &json, NULL) ? json : NULL;
}

/* What is allowed always is this rule of this folder with this action, whatever the event is. */
static Str rule_ask_subject(Arena *arena, const Project *project, const RuleQuestion *question) {
        _cleanup_(buf_deinit) Buf action = BUF_NULL;
        char digest[SHA256_HEX_MAX];

        if (json_write_es(&action, question->action) || sha256_hex(buf_str(&action), digest))
                return STR_NULL;
        return arena_printf(arena, STR_FMT " of %s, sha256:%s", STR_ARG(question->rule), project->dir,
                            digest);
}

int rule_ask_fill(Call *call, const Project *project, const RuleQuestion *question, const char *key,
                  ApprovalAsk *what) {
        Str name = project_name(project->daemon, &call->arena, project->dir);

        *what = (ApprovalAsk){.key = str_from(key),
                              .asker = arena_printf(&call->arena, "project:" STR_FMT, STR_ARG(name)),
                              .kind = STR("rule"),
                              .title = arena_printf(&call->arena, "rule " STR_FMT ": " STR_FMT,
                                                    STR_ARG(question->rule),
                                                    STR_ARG(task_short_prompt(question->does))),
                              .evidence = rule_ask_evidence(&call->arena, project, question),
                              .tool = STR("rule"),
                              .subject = rule_ask_subject(&call->arena, project, question),
                              .way = APPROVAL_BY_CORE};
        approval_offer_always(what);
        return name.data && what->asker.data && what->title.data && what->evidence && what->subject.data
                       ? 0
                       : error_origin(-ENOMEM);
}
