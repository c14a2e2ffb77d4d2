#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * McpRequest: a tool that is being called, or a resource that is being read, from its arguments to the answer. For the
 * files of this folder only.
 *
 * It has the arena that the message was parsed into, so all of the message stays until the answer is written. Its client
 * is held meanwhile. Owned by the client (client->state).
 */
#include "core/dialect.h"
#include "core/feed.h"
#include "dialect/mcp/mcp.h"
#include "gen/mcp-tools.h"

typedef struct McpCaller {
        Str hosted_group, hosted_actor; /* of the process tree: cannot be contradicted */
        Str said_group, said_actor;     /* of the environment of the bridge, which can only say less */
        bool is_established;
} McpCaller;

typedef struct McpMessage {
        Str id; /* raw JSON */
        const Json *params, *meta;
} McpMessage;

typedef struct McpRequest {
        Client *client;
        Arena arena;
        struct Request *request; /* that the message is in, if it was long; else it is in the arena */
        Str id;                  /* raw JSON */
        Str uri;                 /* of a resource; empty: a tool was called */
        /* A method that waits until it is known what the caller is; NULL: the tool's result is the answer. */
        void (*then)(Client *client, const McpMessage *message);
        const Json *params; /* of that */
        const McpTool *tool;
        const Json *args; /* object; NULL: none */
        const Json *meta;
        McpCaller caller;

        const McpStep *step; /* under way */
        size_t n_done;
        Buf out;     /* its result */
        Json *whole; /* results of several steps, or what a view made; NULL: out is all of it */
        bool is_stepping, is_replied;
        Turn turn;

        int error; /* CALL_E_*; 0: none */
        Str message, details;
} McpRequest;

/* Remembers why the tool fails; returns the error. */
int mcp_fail(McpRequest *self, int error, const char *format, ...) _printf_(3, 4);

/* mcp.c: a whole message, which is given to the connection. */
void mcp_send(Client *client, Buf *line, bool is_failed);

/* mcp-caller.c: who is calling. The three fail with the codes of CCCC's own bridge; ret->data NULL: not known, and
 * is_optional was said. */
int mcp_caller_group(McpRequest *self, bool is_optional, Str *ret);
int mcp_caller_self(McpRequest *self, bool is_optional, Str *ret);
int mcp_caller_by(McpRequest *self, Str *ret);

/* mcp-bind.c: the arguments of the step's operation. 0, an error that mcp_fail() has, or negative. */
int mcp_bind(McpRequest *self, const McpStep *step, Json **ret);
Str mcp_arg_text(const McpRequest *self, const char *name); /* trimmed; empty: not given, or no string */
bool mcp_arg_is_given(const McpRequest *self, const char *name);

/* mcp-view.c: what is shown of a result. Both may make it fail. 0, an error that mcp_fail() has, or negative. */
int mcp_view_step(McpRequest *self, const McpStep *step, Json **result);
int mcp_view_whole(McpRequest *self);

/* mcp-call.c */
void mcp_call(Client *client,
              const McpRequest *asked); /* takes the envelope that the message was parsed into */
void mcp_call_free(McpRequest *self);
void mcp_call_on_replied(Client *client);
const McpTool *mcp_tool_find(Str name); /* NULL: there is none */
const OpTable *mcp_table(const char *dialect);
/* Whether this client may call it at all. */
bool mcp_tool_is_allowed(Client *client, const McpTool *tool);

/* What changes a resource (mcp-news.c). */
typedef enum McpNews {
        NEWS_OF_FLEET,
        NEWS_OF_GROUPS,
        NEWS_OF_GROUP,
        NEWS_OF_ACTORS,
        NEWS_OF_CONTEXT,
        NEWS_OF_INBOX,
        NEWS_OF_TASK,
        NEWS_OF_STATE,
        NEWS_OF_SCREEN,
} McpNews;

/* mcp-resource.c: lists for the result that w is in; what a URI asks for, as a tool with arguments. */
enum { MCP_RESOURCE_WORDS = 2 };
typedef struct McpFound { /* texts are in the arena */
        const McpTool *tool;
        Json *args;
        McpNews news;
        Str words[MCP_RESOURCE_WORDS]; /* what stands in the address, without its percent signs */
} McpFound;
void mcp_resources_write(JsonWriter *w);
void mcp_templates_write(JsonWriter *w);
/* False: there is no such resource. -ENOMEM is answered as ret->tool NULL. */
bool mcp_resource_find(Arena *arena, Str uri, McpFound *ret);

/* mcp-news.c: whether an item of the feed may have changed a resource. */
typedef struct McpTopic {
        McpNews news;
        Str words[MCP_RESOURCE_WORDS];
        Str owner, object; /* of an agent, as its process has them (core/host/host.h) */
} McpTopic;
bool mcp_news_is_of(const McpTopic *topic, const FeedItem *item);

/* mcp-listen.c: the connection tells of changes from now on. NULL, or why it does not. */
const char *mcp_listen(Client *client, const McpMessage *message);

/* mcp-prompt.c */
void mcp_prompts_write(JsonWriter *w);
/* False: there is none of this name, or an argument is missing: *why says which. */
bool mcp_prompt_write(JsonWriter *w, Str name, const Json *args, const char **why);
