/* SPDX-License-Identifier: MIT */
/*
 * Prompts: short orders that a person gives an agent by name. Each is a text with its arguments put in.
 */
#include <string.h>

#include "dialect/mcp/mcp-request.h"

enum { MCP_PROMPT_ARGS = 2 };

typedef struct McpPromptArg {
        const char *name, *about;
        bool is_required;
} McpPromptArg;

typedef struct McpPrompt {
        const char *name, *about;
        McpPromptArg args[MCP_PROMPT_ARGS];
        const char *text; /* {name} stands for an argument; what is not given stands for the caller's own */
} McpPrompt;

static const McpPrompt mcp_prompts[] = {
        {.name = "bootstrap",
         .about = "Begin a session in a group",
         .args = {{"group_id", "the group; left out: your own", false},
                  {"actor_id", "who you are in it; left out: as known", false}},
         .text = "Call cccc_bootstrap{group_id}{actor_id}. Read the help, the project and the shared "
                 "context that it returns, then "
                 "your unread messages, oldest first. Answer with cccc_message_reply what needs an answer, "
                 "mark as read what you "
                 "have dealt with, and say with cccc_presence_update what you do next."},
        {.name = "handover",
         .about = "Hand your work over to another agent",
         .args = {{"to", "whom", true}},
         .text = "Write down in the shared context what the next one needs: the state of your tasks with "
                 "cccc_task_update, what was "
                 "decided and why with cccc_note_add, files that matter with cccc_reference_add. Then send "
                 "a message with "
                 "cccc_message_send to{to}: what is done, what is not, what to do first, and what you would "
                 "not try again."},
        {.name = "review",
         .about = "Review a task of the group",
         .args = {{"task", "id of the task", true}},
         .text = "Read the task{task} with cccc_task_list. For each of its steps look whether its "
                 "acceptance is met, in the files "
                 "themselves and by running what can be run; a claim is no proof. Tell the assignee with "
                 "cccc_message_send what "
                 "holds, what does not, and how you know."},
        {.name = "standup",
         .about = "A short report of the group",
         .args = {{"group_id", "the group; left out: your own", false}},
         .text = "Read cccc_context_get and cccc_actor_list{group_id}. Say in at most ten lines what was "
                 "reached since the last report, "
                 "what everybody does now, what is stuck and what a person has to decide."},
        {.name = "help",
         .about = "How agents work together here",
         .text = "Call cccc_help and follow what it says."},
};

static void mcp_prompt_put(JsonWriter *w, const McpPrompt *prompt) {
        jw_begin_object(w);
        jw_field_cstr(w, "name", prompt->name);
        jw_field_cstr(w, "description", prompt->about);
        jw_key(w, "arguments");
        jw_begin_array(w);
        for (size_t i = 0; i < MCP_PROMPT_ARGS && prompt->args[i].name; i++) {
                jw_begin_object(w);
                jw_field_cstr(w, "name", prompt->args[i].name);
                jw_field_cstr(w, "description", prompt->args[i].about);
                jw_field_bool(w, "required", prompt->args[i].is_required);
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
}

void mcp_prompts_write(JsonWriter *w) {
        jw_begin_array(w);
        for (size_t i = 0; i < ARRAY_SIZE(mcp_prompts); i++)
                mcp_prompt_put(w, &mcp_prompts[i]);
        jw_end_array(w);
}

/* " NAME=VALUE" for an argument that is given, else nothing. */
static int mcp_prompt_fill(Buf *out, const McpPrompt *prompt, const Json *args) {
        const char *at = prompt->text;
        int r = 0;

        while (!r && *at) {
                size_t n = strcspn(at, "{"), n_name = strcspn(at + n, "}");
                Str name = {at + n + 1, n_name ? n_name - 1 : 0}, value = json_str(json_get_str(args, name));

                r = buf_append(out, at, n);
                if (!r && value.n)
                        r = buf_printf(out, " " STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(value));
                at += n + (at[n] ? n_name + 1 : 0);
        }
        return r;
}

bool mcp_prompt_write(JsonWriter *w, Str name, const Json *args, const char **why) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const McpPrompt *prompt = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(mcp_prompts); i++)
                if (str_is(name, mcp_prompts[i].name))
                        prompt = &mcp_prompts[i];
        for (size_t i = 0; prompt && i < MCP_PROMPT_ARGS && prompt->args[i].name; i++)
                if (prompt->args[i].is_required && !json_text_of(args, prompt->args[i].name).n) {
                        *why = "an argument of the prompt is missing";
                        return false;
                }
        if (!prompt)
                return false;
        w->failed = w->failed || mcp_prompt_fill(&text, prompt, args);
        jw_field_cstr(w, "description", prompt->about);
        jw_key(w, "messages");
        jw_begin_array(w);
        jw_begin_object(w);
        jw_field_cstr(w, "role", "user");
        jw_key(w, "content");
        jw_begin_object(w);
        jw_field_cstr(w, "type", "text");
        jw_field_str(w, "text", buf_str(&text));
        jw_end_object(w);
        jw_end_object(w);
        jw_end_array(w);
        return true;
}
