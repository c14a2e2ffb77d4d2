/* SPDX-License-Identifier: MIT */
#include "collab/delivery/typed-text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"

/* ---- characters ------------------------------------------------------------------------------ */

static bool typed_is_joiner(int32_t code) {
        return code == 0x200c || code == 0x200d;
}

static bool typed_is_line_end(int32_t code) {
        return code == '\n' || code == '\r' || code == 0x2028 || code == 0x2029;
}

/* Beside what is hidden from people everywhere (utf8_is_hidden()): what has no width and is no letter, and the
 * tags, which spell whole sentences that nobody sees. Bytes that are no character are left alone. */
static bool typed_is_dropped(int32_t code) {
        return (utf8_is_hidden(code) && code != UTF8_WRONG && code != '\t') || code == 0x00ad ||
               code == 0x180e || code == 0x200b || (code >= 0xe0000 && code <= 0xe007f);
}

static bool typed_may_be_joined(int32_t code) {
        return code >= 0x80 && !typed_is_joiner(code) && !typed_is_dropped(code);
}

/* Whether the joiner, behind which rest stands, joins something. */
static bool typed_joins(int32_t before, Str rest) {
        int32_t after = 0;

        if (rest.n)
                (void)utf8_next(rest, &after);
        return typed_may_be_joined(before) && typed_may_be_joined(after);
}

static int typed_clean(Str text, char line_end, Buf *out) {
        size_t from = 0, at = 0;
        int32_t before = 0;

        if (!text.n)
                return 0;
        while (at < text.n) {
                int32_t code;
                size_t n = utf8_next((Str){text.data + at, text.n - at}, &code);
                Str rest = {text.data + at + n, text.n - at - n};
                bool is_end = typed_is_line_end(code);

                if (!is_end && !typed_is_dropped(code) &&
                    (!typed_is_joiner(code) || typed_joins(before, rest))) {
                        before = code;
                        at += n;
                        continue;
                }
                if (code == '\r' && line_end == '\n' && rest.n && rest.data[0] == '\n')
                        is_end = false; /* the LF behind it is the end */
                if (buf_append(out, text.data + from, at - from) ||
                    (is_end && buf_append(out, &line_end, 1)))
                        return error_origin(-ENOMEM);
                if (is_end)
                        before = 0;
                from = at += n;
        }
        return error_trace(buf_append(out, text.data + from, text.n - from));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool typed_is_blank(int32_t code) {
        return code == ' ' || code == '\t' || code == 0x00a0 || code == 0x1680 ||
               (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code == 0x205f || code == 0x3000;
}

/* Whether an agent could take the line for one of ours. */
static bool typed_is_head(Str line) {
        static const char *const heads[] = {"[cccc]", "[muster]"};
        int32_t code;

        while (line.n) {
                size_t n = utf8_next(line, &code);

                if (!typed_is_blank(code))
                        break;
                line = (Str){line.data + n, line.n - n};
        }
        for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
                if (line.n >= strlen(heads[i]) && !strncasecmp(line.data, heads[i], strlen(heads[i])))
                        return true;
        return false;
}

static int typed_put_lines(Str text, Buf *out) {
        int r = 0;

        while (!r && text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) + 1 : text.n;

                if (typed_is_head((Str){text.data, n}))
                        r = buf_append(out, "> ", 2);
                if (!r)
                        r = buf_append(out, text.data, n);
                text = (Str){text.data + n, text.n - n};
        }
        return error_trace(r);
}

int typed_body(Str text, Buf *out) {
        _cleanup_(buf_deinit) Buf clean = BUF_NULL;
        int r = typed_clean(text, '\n', &clean);
        Str lines = buf_str(&clean);

        while (lines.n && lines.data[lines.n - 1] == '\n')
                lines.n--;
        return r ? r : typed_put_lines(lines, out);
}

int typed_word(Str text, Buf *out) {
        return error_trace(typed_clean(text, ' ', out));
}
