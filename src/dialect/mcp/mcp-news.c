/* SPDX-License-Identifier: MIT */
/*
 * Which items of the feed change which resource. To be told too often does no harm, since who is told reads again; so what
 * cannot be made out counts as a change.
 */
#include <string.h>

#include "collab/message/recipients.h"
#include "dialect/mcp/mcp-request.h"

static bool mcp_news_begins(const char *text, const char *beginning) {
        return !strncmp(text, beginning, strlen(beginning));
}

static Json *mcp_news_event(Arena *arena, const FeedItem *item) {
        Json *event = NULL;

        if (!item->payload || json_parse(arena, item->payload->data, item->payload->n, NULL, &event, NULL))
                return NULL;
        return event;
}

/* A message for the actor, or one that it has read. */
static bool mcp_news_of_inbox(const McpTopic *topic, const FeedItem *item) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *event;

        if (!mcp_news_begins(item->place.kind, "chat.") && !mcp_news_begins(item->place.kind, "system."))
                return false;
        event = mcp_news_event(&arena, item);
        return !event || recipients_may_include(event, topic->words[1]) ||
               str_eq(json_text_of(json_get(event, "data"), "actor_id"), topic->words[1]);
}

/* By the whole folder of a project, or the last word of it. */
static bool mcp_news_of_task(const McpTopic *topic, const FeedItem *item) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const char *slash = strrchr(item->place.owner, '/');
        const Json *event;

        if (!str_is(topic->words[0], item->place.owner) && !(slash && str_is(topic->words[0], slash + 1)))
                return false;
        event = mcp_news_event(&arena, item);
        return !event || str_eq(json_text_of(event, "taskId"), topic->words[1]);
}

static bool mcp_news_of_agent(const McpTopic *topic, const FeedItem *item) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *event = mcp_news_event(&arena, item);

        return !event || (str_eq(json_text_of(event, "owner"), topic->owner) &&
                          str_eq(json_text_of(event, "object"), topic->object));
}

static bool mcp_news_of_actors(const McpTopic *topic, const FeedItem *item) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *event = mcp_news_event(&arena, item);

        return !event || str_starts(json_text_of(event, "object"), topic->words[0]);
}

static bool mcp_news_of_group(const McpTopic *topic, const FeedItem *item, const char *kind) {
        return str_is(topic->words[0], item->place.owner) && mcp_news_begins(item->place.kind, kind);
}

bool mcp_news_is_of(const McpTopic *topic, const FeedItem *item) {
        bool is_host = !strcmp(item->place.domain, "host"),
             is_collab = !strcmp(item->place.domain, "collab");

        switch (topic->news) {
        case NEWS_OF_FLEET: return is_host;
        case NEWS_OF_GROUPS: return is_collab && mcp_news_begins(item->place.kind, "group.");
        case NEWS_OF_GROUP: return is_collab && mcp_news_of_group(topic, item, "group.");
        case NEWS_OF_ACTORS:
                return is_collab ? mcp_news_of_group(topic, item, "actor.")
                                 : is_host && mcp_news_of_actors(topic, item);
        case NEWS_OF_CONTEXT: return is_collab && mcp_news_of_group(topic, item, "context.");
        case NEWS_OF_INBOX:
                return is_collab && str_is(topic->words[0], item->place.owner) &&
                       mcp_news_of_inbox(topic, item);
        case NEWS_OF_TASK: return !strcmp(item->place.domain, "tasks") && mcp_news_of_task(topic, item);
        case NEWS_OF_STATE:
        case NEWS_OF_SCREEN: return is_host && mcp_news_of_agent(topic, item);
        default: return false;
        }
}
