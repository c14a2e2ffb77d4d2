/* SPDX-License-Identifier: MIT */
/*
 * The head of a request and its target. What is taken obeys the words of http-head.h, which are asked here again
 * byte by byte; what is decoded comes back the same when it is encoded and decoded once more; what is read out of
 * fields lies inside of them.
 *
 *   all bytes    the head; they are also tried as a target, as a Host, and as an Origin
 */
#include "base/buf.h"
#include "base/macro.h"
#include "wire/framing.h"
#include "wire/http-host.h"
#include "wire/http-negotiate.h"
#include "wire/http-target.h"
#include "fuzz.h"

/* ---- the head -------------------------------------------------------------------------------- */

static bool lies_in(Str part, Str whole) {
        return !part.n || (part.data >= whole.data && part.data + part.n <= whole.data + whole.n);
}

static size_t count_byte(Str bytes, char c) {
        size_t n = 0;

        for (size_t i = 0; i < bytes.n; i++)
                n += bytes.data[i] == c;
        return n;
}

static void check_token(Str token) {
        FUZZ_CHECK(token.n);
        for (size_t i = 0; i < token.n; i++)
                FUZZ_CHECK(token.data[i] > ' ' && token.data[i] < 0x7f &&
                           !memchr("\"(),/:;<=>?@[\\]{}", token.data[i], 17));
}

/* How many lines begin with this name, in any case, and a colon. */
static size_t count_named(Str head, const char *name) {
        size_t n = 0, n_name = strlen(name);

        for (size_t i = 0; i + n_name + 2 < head.n; i++)
                n += head.data[i] == '\n' && head.data[i + 1 + n_name] == ':' &&
                     !strncasecmp(head.data + i + 1, name, n_name);
        return n;
}

/* The words of http-head.h about one that was taken. */
static void check_taken(Str bytes, const HttpHead *head) {
        size_t n_lines = count_byte(bytes, '\n');

        FUZZ_CHECK(n_lines == head->n_fields + 2 && count_byte(bytes, '\r') == n_lines);
        for (size_t i = 0; i < bytes.n; i++) {
                unsigned char c = (unsigned char)bytes.data[i];

                FUZZ_CHECK(c >= ' ' || c == '\t' || c == '\r' || c == '\n');
                FUZZ_CHECK(c != 0x7f && (c != '\n' || bytes.data[i - 1] == '\r'));
                FUZZ_CHECK(c != '\n' || i + 1 == bytes.n ||
                           (bytes.data[i + 1] != ' ' && bytes.data[i + 1] != '\t'));
        }
        check_token(head->method);
        FUZZ_CHECK(head->target.data[0] == '/' || str_is(head->target, "*"));
        FUZZ_CHECK(!memcmp(head->target.data + head->target.n, " HTTP/1.1\r\n", 11));
        FUZZ_CHECK(count_named(bytes, "host") == 1 && count_named(bytes, "content-length") <= 1);
        FUZZ_CHECK(count_named(bytes, "transfer-encoding") == 0 && count_named(bytes, "authorization") <= 1);
        FUZZ_CHECK(head->n_body <= 999999999999999999 &&
                   (head->n_body == 0 || count_named(bytes, "content-length") == 1));
        for (size_t i = 0; i < head->n_fields; i++) {
                const HttpField *field = &head->fields[i];

                check_token(field->name);
                FUZZ_CHECK(lies_in(field->name, bytes) && lies_in(field->value, bytes));
                FUZZ_CHECK(field->name.data[-1] == '\n' && field->name.data[field->name.n] == ':');
        }
}

static void check_fields(Str bytes, const HttpHead *head) {
        HttpItems items;
        uint64_t first, n;
        size_t n_items = 0;
        Str text;

        for (size_t i = 0; i < head->n_fields; i++) {
                items = http_items(head, head->fields[i].name);
                while (http_items_next(&items, &text)) {
                        FUZZ_CHECK(lies_in(text, bytes) && text.n && !memchr(text.data, ',', text.n));
                        FUZZ_CHECK(++n_items <= head->n_fields * bytes.n);
                }
                FUZZ_CHECK(http_head_find(head, head->fields[i].name, &text));
        }
        if (http_bearer(head, &text))
                FUZZ_CHECK(text.n && lies_in(text, bytes) && !memchr(text.data, ' ', text.n));
        FUZZ_CHECK(http_codings(head) <= (HTTP_CODING_GZIP | HTTP_CODING_BR));
        (void)http_none_match(head, STR("\"abc\""));
        if (!http_range(head, bytes.n, &first, &n))
                FUZZ_CHECK(n && first < bytes.n && n <= bytes.n - first);
        (void)http_origin_is_host(http_head_get(head, STR("Origin")), head->host, false);
}

/* Written anew from what was read, it is read as the same. */
static void check_again(const HttpHead *head) {
        Buf text = BUF_NULL;
        HttpHead again;

        FUZZ_CHECK(!buf_append_str(&text, head->method) && !buf_append_str(&text, STR(" ")) &&
                   !buf_append_str(&text, head->target) && !buf_append_str(&text, STR(" HTTP/1.1\r\n")));
        for (size_t i = 0; i < head->n_fields; i++)
                FUZZ_CHECK(!buf_append_str(&text, head->fields[i].name) &&
                           !buf_append_str(&text, STR(":")) &&
                           !buf_append_str(&text, head->fields[i].value) &&
                           !buf_append_str(&text, STR("\r\n")));
        FUZZ_CHECK(!buf_append_str(&text, STR("\r\n")));
        FUZZ_CHECK(!http_head_parse(buf_str(&text), &again));
        FUZZ_CHECK(str_eq(again.method, head->method) && str_eq(again.target, head->target) &&
                   str_eq(again.host, head->host) && again.n_body == head->n_body &&
                   again.closes == head->closes && again.wants_websocket == head->wants_websocket &&
                   again.wants_continue == head->wants_continue && again.n_fields == head->n_fields);
        for (size_t i = 0; i < head->n_fields; i++)
                FUZZ_CHECK(str_eq(again.fields[i].name, head->fields[i].name) &&
                           str_eq(again.fields[i].value, head->fields[i].value));
        buf_deinit(&text);
}

/* ---- the target ------------------------------------------------------------------------------ */

static void append_encoded(Buf *out, Str text) {
        for (size_t i = 0; i < text.n; i++)
                FUZZ_CHECK(!buf_printf(out, "%%%02x", (unsigned char)text.data[i]));
}

static void check_segment(Str segment) {
        FUZZ_CHECK(segment.n && segment.data[segment.n] == '\0' && strlen(segment.data) == segment.n);
        FUZZ_CHECK(!strchr(segment.data, '/') && !str_is(segment, ".") && !str_is(segment, ".."));
        for (size_t i = 0; i < segment.n; i++)
                FUZZ_CHECK((unsigned char)segment.data[i] >= ' ' && segment.data[i] != 0x7f);
}

static void check_target(Str bytes) {
        Arena arena = ARENA_NULL, arena_again = ARENA_NULL;
        Buf text = BUF_NULL;
        HttpTarget target, again;
        int r = http_target_parse(&arena, bytes, &target);

        if (r) {
                FUZZ_CHECK(r > 0 && http_target_reason(r)[0]);
                arena_deinit(&arena);
                return;
        }
        for (size_t i = 0; i < target.n_segments; i++) {
                check_segment(target.segments[i]);
                FUZZ_CHECK(!buf_append_str(&text, STR("/")));
                append_encoded(&text, target.segments[i]);
        }
        if (target.is_folder || !target.n_segments)
                FUZZ_CHECK(!buf_append_str(&text, STR("/")));
        for (size_t i = 0; i < target.n_members; i++) {
                FUZZ_CHECK(!buf_append_str(&text, i ? STR("&") : STR("?")));
                append_encoded(&text, target.members[i].name);
                FUZZ_CHECK(!buf_append_str(&text, STR("=")));
                append_encoded(&text, target.members[i].value);
        }
        FUZZ_CHECK(!http_target_parse(&arena_again, buf_str(&text), &again));
        FUZZ_CHECK(again.n_segments == target.n_segments && again.n_members == target.n_members &&
                   again.is_folder == target.is_folder);
        for (size_t i = 0; i < target.n_segments; i++)
                FUZZ_CHECK(str_eq(again.segments[i], target.segments[i]));
        for (size_t i = 0; i < target.n_members; i++)
                FUZZ_CHECK(str_eq(again.members[i].name, target.members[i].name) &&
                           str_eq(again.members[i].value, target.members[i].value));
        buf_deinit(&text);
        arena_deinit(&arena);
        arena_deinit(&arena_again);
}

static void check_host(Str bytes) {
        HttpHost host;
        bool is_tls;

        if (http_host_split(bytes, &host))
                FUZZ_CHECK(host.name.n && lies_in(host.name, bytes) && host.port <= 65535 &&
                           http_host_name_is(&host, host.name));
        if (http_origin_split(bytes, &is_tls, &host))
                FUZZ_CHECK(host.name.n && lies_in(host.name, bytes));
        if (bytes.n)
                FUZZ_CHECK(!http_origin_is_host(STR("null"), bytes, false));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Framing framing = {.kind = FRAMING_HEAD, .n_max = HTTP_HEAD_MAX};
        char *block = malloc(n ? n : 1); /* ends where the bytes end */
        Str bytes = {block, n}, frame;
        size_t n_scanned = 0, n_used;
        HttpHead head;
        int r;

        FUZZ_CHECK(block);
        memcpy(block, data, n);
        r = http_head_parse(bytes, &head);
        if (!r) {
                FUZZ_CHECK(n > HTTP_HEAD_MAX ||
                           (!framing_next(&framing, bytes, &n_scanned, &frame, &n_used) && n_used == n &&
                            str_eq(frame, bytes)));
                check_taken(bytes, &head);
                check_fields(bytes, &head);
                check_again(&head);
                check_target(head.target);
        } else {
                FUZZ_CHECK(r > 0 && http_head_status(r) >= 400 && http_head_status(r) < 600);
        }
        check_target(bytes);
        check_host(bytes);
        free(block);
        return 0;
}
