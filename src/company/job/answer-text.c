/* SPDX-License-Identifier: MIT */
/* What a worker says, out of the lines that its program prints. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "company/job/answer.h"

enum { ANSWER_PIECE_LONG = 200 }; /* characters: the longest piece is the answer when it has so many */

Str answer_end_of(Str output) {
        if (output.n <= ANSWER_BYTES_MAX)
                return output;
        output.data += output.n - ANSWER_BYTES_MAX;
        output.n = ANSWER_BYTES_MAX;
        while (output.n && utf8_is_tail(output.data[0]))
                output.data++, output.n--;
        return output;
}

/* The pieces of text that were found. */
typedef struct Saying {
        Arena *arena;
        Str longest;
        size_t n;
        Buf all; /* joined */
        int r;
} Saying;

/* The piece lies in a line that goes. */
static void saying_add(Saying *saying, Str piece) {
        if (!str_trim(piece).n)
                return;
        saying->n++;
        saying->r = saying->r ? saying->r : buf_append_str(&saying->all, piece);
        if (piece.n > saying->longest.n)
                saying->longest = arena_str(saying->arena, piece);
        if (!saying->longest.data)
                saying->r = -ENOMEM;
}

static bool saying_has_name(Str name) {
        static const char *const names[] = {"text",    "result", "output_text", "completion",
                                            "content", "delta",  "message"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (str_is(name, names[i]))
                        return true;
        return false;
}

static void saying_collect(Saying *saying, const Json *json, unsigned depth) {
        bool is_object = json_is(json, JSON_OBJECT);

        if (!depth)
                return;
        json_each (child, json) {
                if (is_object && !saying_has_name(json_key(child)))
                        continue;
                if (is_object && json_is(child, JSON_STRING))
                        saying_add(saying, json_str(child));
                else
                        saying_collect(saying, child, depth - 1);
        }
}

static bool saying_contains(Str text, const char *word) {
        return text.data && memmem(text.data, text.n, word, strlen(word));
}

static bool saying_is_final(const Json *line) {
        Str type = json_text_of(line, "type");

        return saying_contains(type, "result") || saying_contains(type, "final") ||
               saying_contains(type, "complete") || saying_contains(type, "message_stop") ||
               json_get(line, "result") || json_get(line, "completion") || json_get(line, "output_text");
}

/* What all lines say, those that look like the end, and the last message of an agent among items of work. */
typedef struct Sayings {
        Saying all, final;
        Buf agent;
} Sayings;

static void sayings_take(Sayings *sayings, const Json *line) {
        const Json *item = json_get(line, "item");

        saying_collect(&sayings->all, line, ANSWER_TEXT_DEPTH);
        if (saying_is_final(line))
                saying_collect(&sayings->final, line, ANSWER_TEXT_DEPTH);
        if (str_is(json_text_of(item, "type"), "agent_message") && json_text_of(item, "text").n) {
                sayings->agent.n = 0;
                sayings->all.r = buf_append_str(&sayings->agent, json_text_of(item, "text"))
                                         ? -ENOMEM
                                         : sayings->all.r;
        }
}

static void sayings_read(Str output, Sayings *ret) {
        JsonLimits limits = {.n_values = ANSWER_VALUES_MAX, .is_lenient = true};
        _cleanup_(arena_deinit) Arena scratch = ARENA_NULL;

        while (output.n) {
                const char *end = memchr(output.data, '\n', output.n);
                size_t n = end ? (size_t)(end - output.data) : output.n;
                Str line = str_trim((Str){output.data, n});
                Json *json = NULL;

                if (line.n && (line.data[0] == '{' || line.data[0] == '[') &&
                    json_parse(&scratch, line.data, line.n, &limits, &json, NULL) == 0)
                        sayings_take(ret, json);
                arena_reset(&scratch);
                output = (Str){output.data + n + (end != NULL), output.n - n - (end != NULL)};
        }
}

/* One piece that is long, or alone; else all of them, as they came. */
static Str saying_whole(Arena *arena, const Saying *saying) {
        return saying->n == 1 || utf8_count(saying->longest) >= ANSWER_PIECE_LONG
                       ? saying->longest
                       : arena_str(arena, buf_str(&saying->all));
}

Str answer_text(Arena *arena, DriverFamily family, Str name, Str output) {
        Sayings sayings = {.all.arena = arena, .final.arena = arena};
        Str text = output.data ? output : STR("");

        if (str_is(name, "last_message.md"))
                return text;
        sayings_read(answer_end_of(output), &sayings);
        if (sayings.all.r || sayings.final.r)
                text = STR_NULL;
        else if (sayings.agent.n)
                text = arena_str(arena, buf_str(&sayings.agent));
        else if (family == DRIVER_CLAUDE && sayings.all.n)
                text = saying_whole(arena, sayings.final.n ? &sayings.final : &sayings.all);
        else if (sayings.all.n)
                text = sayings.all.longest;
        buf_deinit(&sayings.agent);
        buf_deinit(&sayings.all.all);
        buf_deinit(&sayings.final.all);
        return text;
}
