/* SPDX-License-Identifier: MIT */
#include "cli/print/event-text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cli/print/columns.h"
#include "cli/print/report.h"

enum { BODY_INDENT = 4, BODY_WIDTH_MIN = 16, STORED_MAX = 4 << 20 };

void event_put_time(FILE *out, Str ts) {
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

/* ---- text ------------------------------------------------------------------------------------ */

static size_t body_width(FILE *out) {
        struct winsize size;

        if (ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_col < BODY_WIDTH_MIN + BODY_INDENT)
                return SIZE_MAX; /* no terminal: lines as they are */
        return size.ws_col - BODY_INDENT;
}

static size_t body_character(Str text) {
        int32_t code;

        return utf8_next(text, &code);
}

/* How many bytes of it fit into a row: up to the last blank, or in the middle of a word that is too long. */
static size_t body_row(Str line, size_t n_width) {
        size_t n_blank = 0, n_columns = 0;

        for (size_t i = 0; i < line.n;) {
                size_t n = body_character((Str){line.data + i, line.n - i});

                n_columns += columns_of((Str){line.data + i, n});
                if (n_columns > n_width)
                        return n_blank ? n_blank : MAX(i, (size_t)1);
                i += n;
                if (line.data[i - 1] == ' ')
                        n_blank = i;
        }
        return line.n;
}

static void event_text_put_line(FILE *out, Str line, size_t n_width) {
        do {
                size_t n = n_width == SIZE_MAX ? line.n : body_row(line, n_width);

                fprintf(out, "%*s", BODY_INDENT, "");
                text_put(out, (Str){line.data, n});
                putc('\n', out);
                line = (Str){line.data + n, line.n - n};
        } while (line.n);
}

/* Each line of it, indented. */
static void event_text_put_body(FILE *out, Str text) {
        size_t n_width = body_width(out);

        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) : text.n, n_taken = end ? n + 1 : n;

                event_text_put_line(out, (Str){text.data, n}, n_width);
                text = (Str){text.data + n_taken, text.n - n_taken};
        }
}

/* The attachment that holds a text which was too long for its event; NULL: there is none. Its path comes
 * from the ledger, so it is looked at before a file is opened. */
static const Json *stored_text(const Json *data) {
        const Str place = STR("state/ledger/blobs/chat.");

        json_each (item, json_get(data, "attachments")) {
                Str path = json_text_of(item, "path");

                if (str_is(json_text_of(item, "kind"), "text") && str_starts(path, place) &&
                    !memchr(path.data + place.n, '/', path.n - place.n) && !memchr(path.data, 0, path.n))
                        return item;
        }
        return NULL;
}

static bool read_stored(const Json *item, Str folder, Buf *out) {
        Str name = json_text_of(item, "path");
        _cleanup_(freep) char *path = NULL;

        if (!item || !folder.n)
                return false;
        if (asprintf(&path, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(name)) < 0) {
                path = NULL;
                return false;
        }
        return !file_read(path, STORED_MAX, out);
}

static void put_attachments(FILE *out, const Json *data, const Json *shown) {
        json_each (item, json_get(data, "attachments")) {
                if (item == shown)
                        continue;
                fputs("    + ", out);
                text_put(out, json_text_of(item, "title").n ? json_text_of(item, "title")
                                                            : json_text_of(item, "path"));
                putc('\n', out);
        }
}

static void event_text_put_message(FILE *out, const Json *data, Str folder) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const Json *stored = stored_text(data);
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
        if (read_stored(stored, folder, &text)) {
                event_text_put_body(out, buf_str(&text));
                put_attachments(out, data, stored);
                return;
        }
        event_text_put_body(out, json_text_of(data, "text"));
        put_attachments(out, data, NULL);
}

static void event_text_put_notice(FILE *out, const Json *data) {
        Str target = json_text_of(data, "target_actor_id");

        fputs(" → ", out);
        text_put(out, target.n ? target : STR("@all"));
        fputs("  [", out);
        text_put(out, json_text_of(data, "kind"));
        fputs("] ", out);
        text_put(out, json_text_of(data, "title"));
        putc('\n', out);
        event_text_put_body(out, json_text_of(data, "message"));
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

void event_print(FILE *out, const Json *event, Str folder) {
        const Json *data = json_get(event, "data");
        Str kind = json_text_of(event, "kind");

        text_put(out, json_text_of(event, "id"));
        fputs("  ", out);
        event_put_time(out, json_text_of(event, "ts"));
        fputs("  ", out);
        text_put(out, json_text_of(event, "by"));
        if (str_is(kind, "chat.message"))
                event_text_put_message(out, data, folder);
        else if (str_is(kind, "system.notify"))
                event_text_put_notice(out, data);
        else
                put_other(out, kind, data);
}
