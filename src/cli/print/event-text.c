/* SPDX-License-Identifier: MIT */
#include "cli/print/event-text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "base/time.h"
#include "cli/print/report.h"

static void put_time(FILE *out, Str ts) {
        char text[32];
        struct tm local;
        int64_t us;
        time_t seconds;

        if (!time_parse(ts, &us))
                return;
        seconds = (time_t)(us / 1000000);
        if (localtime_r(&seconds, &local) && strftime(text, sizeof(text), "%m-%d %H:%M:%S", &local))
                fputs(text, out);
}

static void put_list(FILE *out, const Json *list) {
        bool is_first = true;

        json_each (item, list) {
                if (!is_first)
                        fputs(", ", out);
                is_first = false;
                text_put(out, json_str(item));
        }
        if (is_first)
                fputs("@all", out);
}

/* Each line of it, indented. */
static void put_body(FILE *out, Str text) {
        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) : text.n, n_taken = end ? n + 1 : n;

                fputs("    ", out);
                text_put(out, (Str){text.data, n});
                putc('\n', out);
                text = (Str){text.data + n_taken, text.n - n_taken};
        }
}

static void put_message(FILE *out, const Json *data) {
        Str reply_to = json_text_of(data, "reply_to");

        fputs(" → ", out);
        put_list(out, json_get(data, "to"));
        if (str_is(json_text_of(data, "priority"), "attention"))
                fputs("  [attention]", out);
        if (reply_to.n) {
                fputs("  re ", out);
                text_put(out, (Str){reply_to.data, MIN(reply_to.n, (size_t)8)});
        }
        putc('\n', out);
        put_body(out, json_text_of(data, "text"));
        json_each (item, json_get(data, "attachments")) {
                fputs("    + ", out);
                text_put(out, json_text_of(item, "title").n ? json_text_of(item, "title")
                                                            : json_text_of(item, "path"));
                putc('\n', out);
        }
}

static void put_notice(FILE *out, const Json *data) {
        Str target = json_text_of(data, "target_actor_id");

        fputs(" → ", out);
        text_put(out, target.n ? target : STR("@all"));
        fputs("  [", out);
        text_put(out, json_text_of(data, "kind"));
        fputs("] ", out);
        text_put(out, json_text_of(data, "title"));
        putc('\n', out);
        put_body(out, json_text_of(data, "message"));
}

static void put_other(FILE *out, Str kind, const Json *data) {
        Str event = json_text_of(data, "event_id");

        fputs("  ", out);
        text_put(out, kind);
        if (json_text_of(data, "actor_id").n) {
                putc(' ', out);
                text_put(out, json_text_of(data, "actor_id"));
        }
        if (!event.n)
                event = json_text_of(data, "notify_event_id");
        if (event.n) {
                putc(' ', out);
                text_put(out, event);
        }
        putc('\n', out);
}

void event_print(FILE *out, const Json *event) {
        const Json *data = json_get(event, "data");
        Str kind = json_text_of(event, "kind");

        text_put(out, json_text_of(event, "id"));
        fputs("  ", out);
        put_time(out, json_text_of(event, "ts"));
        fputs("  ", out);
        text_put(out, json_text_of(event, "by"));
        if (str_is(kind, "chat.message"))
                put_message(out, data);
        else if (str_is(kind, "system.notify"))
                put_notice(out, data);
        else
                put_other(out, kind, data);
}
