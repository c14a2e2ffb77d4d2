/* SPDX-License-Identifier: MIT */
/* muster approvals, muster answer: what agents ask a person, and the answer. Texts of agents are escaped by print() and tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json/json-writer.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/link/asking.h"
#include "cli/link/native.h"
#include "cli/print/human.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

enum { APPROVALS_ID_SHOWN = 8 };

/* One request after the other; the trees live in the arena. */
typedef struct ApprovalsLink {
        const char *command;
        char *socket;
        Link link;
        Arena arena;
} ApprovalsLink;

static void approvals_link_deinit(ApprovalsLink *self) {
        link_deinit(&self->link);
        arena_deinit(&self->arena);
        free(self->socket);
}

/* CLI_OK: *ret is the result. Else it has been said why. */
static int approvals_request(ApprovalsLink *self, const Options *options, const char *op,
                             Arguments *arguments, const Json **ret) {
        Asking what = {.dialect = "native", .op = op, .link = &self->link, .arena = &self->arena};
        Reply reply = {0};
        int r = self->socket ? CLI_OK : asking_find(&self->socket);

        if (r)
                return r;
        link_deinit(&self->link);
        self->link = (Link)LINK_NULL;
        what.socket = self->socket;
        r = asking(&what, arguments, &reply);
        if (r)
                return r;
        if (reply.is_error) {
                if (!options->json) /* its details are the question once more */
                        return complain(CLI_FAILED, "%s: " STR_FMT, self->command, STR_ARG(reply.message));
                reply_complain(self->command, &reply, true);
                return CLI_FAILED;
        }
        *ret = reply.result;
        return CLI_OK;
}

static int approvals_print_json(const Json *result) {
        return json_print(stdout, result, false) ? complain(CLI_FAILED, "out of memory") : CLI_OK;
}

static const char *approvals_age(const Json *approval, const char *member, char out[HUMAN_MAX]) {
        return human_ago(json_text_of(approval, member), out);
}

/* ---- one ------------------------------------------------------------------------------------- */

static void approvals_print_value(const char *indent, const Json *value) {
        json_each (member, value) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;

                if (json_is(member, JSON_OBJECT)) {
                        print("%s" STR_FMT ":\n", indent, STR_ARG(json_key(member)));
                        approvals_print_value("      ", member);
                } else if (json_is(member, JSON_STRING))
                        print("%s" STR_FMT ": " STR_FMT "\n", indent, STR_ARG(json_key(member)),
                              STR_ARG(json_str(member)));
                else if (!json_write(&text, member))
                        print("%s" STR_FMT ": " STR_FMT "\n", indent, STR_ARG(json_key(member)),
                              STR_ARG(buf_str(&text)));
        }
}

static void approvals_print_answer(const Json *approval) {
        const Json *said = json_get(approval, "answer");

        if (!said)
                return;
        print("  answered " STR_FMT " by " STR_FMT " via " STR_FMT "%s" STR_FMT "\n",
              STR_ARG(json_text_of(said, "option")), STR_ARG(json_text_of(said, "by")),
              STR_ARG(json_text_of(said, "via")), json_text_of(said, "note").n ? ": " : "",
              STR_ARG(json_text_of(said, "note")));
}

static void approvals_print_one(const Json *approval) {
        char age[HUMAN_MAX];

        print(STR_FMT "\n", STR_ARG(json_text_of(approval, "title")));
        print("  " STR_FMT ", " STR_FMT " of " STR_FMT ", asked %s ago\n",
              STR_ARG(json_text_of(approval, "state")), STR_ARG(json_text_of(approval, "kind")),
              STR_ARG(json_text_of(approval, "asker")), approvals_age(approval, "asked_at", age));
        if (json_text_of(approval, "body").n)
                print("  " STR_FMT "\n", STR_ARG(json_text_of(approval, "body")));
        approvals_print_value("    ", json_get(approval, "evidence"));
        approvals_print_answer(approval);
        if (json_text_of(approval, "why").n)
                print("  " STR_FMT "\n", STR_ARG(json_text_of(approval, "why")));
}

static void approvals_print_options(const Json *approval) {
        json_each (option, json_get(approval, "options"))
                print("  muster answer " STR_FMT " " STR_FMT "    # " STR_FMT "\n",
                      STR_ARG(json_text_of(approval, "id")), STR_ARG(json_text_of(option, "id")),
                      STR_ARG(json_text_of(option, "label")));
}

static int approvals_get(ApprovalsLink *self, const Options *options, const char *id, const Json **ret) {
        Arguments arguments = {0};
        int r;

        arguments_set_str(&arguments, &self->arena, "id", str_from(id));
        r = approvals_request(self, options, "approval.get", &arguments, ret);
        return r;
}

int cmd_answer(const Options *options) {
        _cleanup_(approvals_link_deinit)
                ApprovalsLink self = {.command = "answer", .link = LINK_NULL, .arena = ARENA_NULL};
        const Json *result = NULL, *approval;
        Arguments arguments = {0};
        int r = approvals_get(&self, options, options->operands[0], &result);

        if (r)
                return r;
        approval = json_get(result, "approval");
        if (!options->json)
                approvals_print_one(approval);
        if (options->n_operands < 2) {
                if (options->json)
                        return approvals_print_json(result);
                if (str_is(json_text_of(approval, "state"), "open"))
                        approvals_print_options(approval);
                return CLI_OK;
        }
        arguments_set_str(&arguments, &self.arena, "id", json_text_of(approval, "id"));
        arguments_set_str(&arguments, &self.arena, "option", str_from(options->operands[1]));
        arguments_set_str(&arguments, &self.arena, "digest", json_text_of(approval, "digest"));
        if (options->note)
                arguments_set_str(&arguments, &self.arena, "note", str_from(options->note));
        r = approvals_request(&self, options, "approval.answer", &arguments, &result);
        if (r)
                return r;
        if (options->json)
                return approvals_print_json(result);
        approvals_print_answer(json_get(result, "approval"));
        return CLI_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void approvals_print_list(const Json *result) {
        static const TableColumn columns[] = {{"ID", 0, false},    {"AGE", 0, true},   {"STATE", 0, false},
                                              {"ASKER", 0, false}, {"KIND", 0, false}, {"TITLE", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);

        json_each (approval, json_get(result, "approvals")) {
                Str id = json_text_of(approval, "id");
                char age[HUMAN_MAX];

                table_add(&table, (Str){id.data, MIN(id.n, APPROVALS_ID_SHOWN)});
                table_add(&table, str_from(approvals_age(approval, "asked_at", age)));
                table_add(&table, json_text_of(approval, "state"));
                table_add(&table, json_text_of(approval, "asker"));
                table_add(&table, json_text_of(approval, "kind"));
                table_add(&table, json_text_of(approval, "title"));
        }
        if (!table.n_cells)
                print("nothing waits for an answer\n");
        else
                table_print(&table, stdout, 0, 0, "\n");
}

static void approvals_print_policies(const Json *result) {
        static const TableColumn columns[] = {{"ID", 0, false},   {"EFFECT", 0, false}, {"WHO", 0, false},
                                              {"TOOL", 0, false}, {"WHAT", 0, false},   {"BY", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);

        json_each (policy, json_get(result, "policies")) {
                Str subject = json_text_of(policy, "subject"), pattern = json_text_of(policy, "pattern");

                table_add(&table, json_text_of(policy, "id"));
                table_add(&table, json_text_of(policy, "effect"));
                table_add(&table, json_text_of(policy, "principal"));
                table_add(&table, json_text_of(policy, "tool"));
                if (subject.n)
                        table_addf(&table, "= " STR_FMT, STR_ARG(subject));
                else
                        table_add(&table, pattern.n ? pattern : STR("*"));
                table_add(&table, json_text_of(policy, "by"));
        }
        if (!table.n_cells)
                print("there are no policies\n");
        else
                table_print(&table, stdout, 0, 0, "\n");
}

static int approvals_forget_policy(ApprovalsLink *self, const Options *options) {
        Arguments arguments = {0};
        const Json *result = NULL;
        int r;

        if (options->n_operands < 2)
                return complain(CLI_USAGE,
                                "approvals forget: which policy? muster approvals policies lists them");
        arguments_set_str(&arguments, &self->arena, "id", str_from(options->operands[1]));
        r = approvals_request(self, options, "policy.rm", &arguments, &result);
        return r || !options->json ? r : approvals_print_json(result);
}

static int approvals_list(ApprovalsLink *self, const Options *options, const char *op,
                          void (*show)(const Json *result)) {
        Arguments arguments = {0};
        const Json *result = NULL;
        int r;

        if (options->all && !strcmp(op, "approval.ls"))
                arguments_set_str(&arguments, &self->arena, "state", STR("all"));
        r = approvals_request(self, options, op, &arguments, &result);
        if (r)
                return r;
        if (options->json)
                return approvals_print_json(result);
        show(result);
        return CLI_OK;
}

int cmd_approvals(const Options *options) {
        _cleanup_(approvals_link_deinit)
                ApprovalsLink self = {.command = "approvals", .link = LINK_NULL, .arena = ARENA_NULL};
        const char *verb = options->n_operands ? options->operands[0] : "list";

        if (!strcmp(verb, "list"))
                return approvals_list(&self, options, "approval.ls", approvals_print_list);
        if (!strcmp(verb, "policies"))
                return approvals_list(&self, options, "policy.ls", approvals_print_policies);
        if (!strcmp(verb, "forget"))
                return approvals_forget_policy(&self, options);
        return complain(CLI_USAGE, "approvals: unknown verb \"%s\"; there are list, policies and forget",
                        verb);
}
