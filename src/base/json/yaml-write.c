/* SPDX-License-Identifier: MIT */
/*
 * The writer: block style, by hand.
 *
 * libyaml's emitter is not used. It knows no schema, so the hard part (which scalars a YAML 1.1 reader would
 * take for something else) would be ours anyway, and what it adds, block indentation and two ways of
 * quoting, is less code than feeding it events; besides, it copies each scalar twice. Here a line of the
 * output is a few lines of code.
 *
 * Rules: plain where no reader of YAML 1.1 or 1.2 sees anything but a string, single quotes otherwise, a
 * literal block for several lines, double quotes for what needs an escape. Numbers are written as they are;
 * those that 1.1 does not know (1e3) carry the tag !!float. Lists in mappings are not indented, as PyYAML
 * has it, because other programs rewrite the same files with PyYAML.
 */
#include "base/json/yaml.h"

#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"

enum {
        YAML_DEPTH = 64, /* what the reader takes */
        SIMPLE_KEY_MAX =
                240, /* readers want a simple key within 1024 characters; an escape takes up to 4 a byte */
        INDENT = 2,
};

/* A container that is being written. */
typedef struct Frame {
        const Json *next; /* child */
        bool is_object;
        bool is_inline; /* its first line has been begun: it stands behind the dash of the list around it */
        unsigned indent;
} Frame;

typedef struct Writer {
        Buf *out;
        bool failed; /* without memory */
        Frame stack[YAML_DEPTH];
        unsigned depth;
} Writer;

typedef enum Style { STYLE_PLAIN, STYLE_SINGLE, STYLE_DOUBLE, STYLE_LITERAL } Style;

static void yaml_write_put(Writer *w, const char *data, size_t n) {
        if (!w->failed && buf_append(w->out, data, n))
                w->failed = true;
}

static void put_str(Writer *w, Str s) {
        yaml_write_put(w, s.data, s.n);
}

static void put_indent(Writer *w, unsigned n) {
        static const char blanks[] = "                                ";

        for (; n > sizeof(blanks) - 1; n -= sizeof(blanks) - 1)
                yaml_write_put(w, blanks, sizeof(blanks) - 1);
        yaml_write_put(w, blanks, n);
}

/* Whether a reader takes the character as it is; tab and newline are looked at elsewhere. U+0085, U+2028 and
 * U+2029 are line breaks of YAML 1.1, U+FEFF is a byte order mark. */
static bool is_printable(int32_t c) {
        if (c < 0xa0)
                return c >= ' ' && c < 0x7f;
        return c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

static bool yaml_write_is_blank(char c) {
        return c == ' ' || c == '\t';
}

/* y, yes, on, true, null and so on, in any mixture of cases: more than any reader takes. */
static bool is_reserved_word(Str s) {
        static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
        char lower[8];

        if (s.n >= sizeof(lower))
                return false;
        for (size_t i = 0; i < s.n; i++)
                lower[i] = s.data[i] >= 'A' && s.data[i] <= 'Z' ? (char)(s.data[i] + 32) : s.data[i];
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (str_eq((Str){lower, s.n}, str_from(words[i])))
                        return true;
        return false;
}

/* s is printable and stands in one line. The first byte alone rules out all numbers and dates of either
 * version, "=",
 * "<<", "~", document marks and indicators, and some harmless strings besides. */
static bool yaml_write_is_plain(Str s) {
        if (strchr("0123456789+-.=<~?:,[]{}#&*!|>'\"%@` ", s.data[0]) || is_reserved_word(s))
                return false;
        for (size_t i = 1; i < s.n; i++) {
                if (s.data[i] == ':' && (i + 1 == s.n || s.data[i + 1] == ' '))
                        return false;
                if (s.data[i] == '#' && s.data[i - 1] == ' ')
                        return false;
        }
        return s.data[s.n - 1] != ' ';
}

/* Blanks at the start would need an indentation indicator; blanks at the end are easily lost by editors. */
static bool is_literal(Str s) {
        return !yaml_write_is_blank(s.data[0]) && s.data[0] != '\n' && !yaml_write_is_blank(s.data[s.n - 1]);
}

static Style choose_style(Str s, bool is_key) {
        bool tab = false, newline = false;
        int32_t c;
        size_t n;

        if (!s.n)
                return STYLE_SINGLE;
        for (size_t i = 0; i < s.n; i += n) {
                n = utf8_next((Str){s.data + i, s.n - i}, &c);
                if (c == '\t')
                        tab = true;
                else if (c == '\n')
                        newline = true;
                else if (!is_printable(c))
                        return STYLE_DOUBLE;
        }
        if (newline)
                return !is_key && is_literal(s) ? STYLE_LITERAL : STYLE_DOUBLE;
        if (tab)
                return STYLE_DOUBLE;
        return yaml_write_is_plain(s) ? STYLE_PLAIN : STYLE_SINGLE;
}

static void put_single(Writer *w, Str s) {
        yaml_write_put(w, "'", 1);
        for (size_t i = 0, from = 0; i <= s.n; i++)
                if (i == s.n || s.data[i] == '\'') {
                        yaml_write_put(w, s.data + from, i - from);
                        yaml_write_put(w, "''", i == s.n ? 1 : 2);
                        from = i + 1;
                }
}

static void yaml_write_put_escape(Writer *w, int32_t c) {
        static const char short_from[] = "\\\"\n\t\r", short_to[] = "\\\"ntr";
        const char *found = c && c < 0x80 ? strchr(short_from, c) : NULL;
        int r;

        if (found)
                r = buf_printf(w->out, "\\%c", short_to[found - short_from]);
        else if (c <= 0xff)
                r = buf_printf(w->out, "\\x%02X", (unsigned)c);
        else
                r = buf_printf(w->out, "\\u%04X", (unsigned)c); /* nothing above U+FFFF needs one */
        if (r)
                w->failed = true;
}

static void put_double(Writer *w, Str s) {
        int32_t c;
        size_t n;

        yaml_write_put(w, "\"", 1);
        for (size_t i = 0; i < s.n && !w->failed; i += n) {
                n = utf8_next((Str){s.data + i, s.n - i}, &c);
                if (is_printable(c) && c != '"' && c != '\\')
                        yaml_write_put(w, s.data + i, n);
                else
                        yaml_write_put_escape(w, c);
        }
        yaml_write_put(w, "\"", 1);
}

/* The header says what becomes of the newlines at the end: none, one, or all of them are content. */
static void put_literal(Writer *w, Str s, unsigned indent) {
        bool newline = s.data[s.n - 1] == '\n';
        bool newlines = newline && s.data[s.n - 2] == '\n';

        put_str(w, newlines ? STR("|+") : newline ? STR("|") : STR("|-"));
        while (s.n) {
                const char *end = memchr(s.data, '\n', s.n);
                size_t n = end ? (size_t)(end - s.data) : s.n;

                yaml_write_put(w, "\n", 1);
                if (n)
                        put_indent(w, indent);
                yaml_write_put(w, s.data, n);
                n += end != NULL;
                s.data += n, s.n -= n;
        }
}

static void put_valid(Writer *w, Str s, bool is_key, unsigned indent) {
        switch (choose_style(s, is_key)) {
        case STYLE_PLAIN: put_str(w, s); break;
        case STYLE_SINGLE: put_single(w, s); break;
        case STYLE_DOUBLE: put_double(w, s); break;
        case STYLE_LITERAL: put_literal(w, s, indent); break;
        }
}

/* A literal block is indented by indent blanks. */
static void put_string(Writer *w, Str s, bool is_key, unsigned indent) {
        _cleanup_(buf_deinit) Buf fixed = BUF_NULL;

        if (utf8_valid_prefix(s.data, s.n) != s.n) {
                if (utf8_append_replaced(&fixed, s.data, s.n))
                        w->failed = true;
                else
                        put_valid(w, buf_str(&fixed), is_key, indent);
                return;
        }
        put_valid(w, s, is_key, indent);
}

static size_t count_digits(Str s, size_t at) {
        size_t n = 0;

        while (at + n < s.n && s.data[at + n] >= '0' && s.data[at + n] <= '9')
                n++;
        return n;
}

/* A JSON number that YAML 1.1 takes for one: an exponent needs a point before it and a sign. */
static bool is_number_11(Str s) {
        size_t at = s.n && s.data[0] == '-';

        at += count_digits(s, at);
        if (at == s.n)
                return true;
        if (s.data[at] != '.')
                return false;
        at++;
        at += count_digits(s, at);
        return at == s.n || (at + 1 < s.n && (s.data[at + 1] == '-' || s.data[at + 1] == '+'));
}

static void put_scalar(Writer *w, const Json *json, unsigned indent) {
        switch (json->type) {
        case JSON_NULL: put_str(w, STR("null")); break;
        case JSON_BOOL: put_str(w, json->truth ? STR("true") : STR("false")); break;
        case JSON_NUMBER:
                if (!is_number_11((Str){json->text, json->n}))
                        put_str(w, STR("!!float "));
                yaml_write_put(w, json->text, json->n);
                break;
        case JSON_STRING: put_string(w, json_str(json), false, indent); break;
        case JSON_ARRAY: put_str(w, STR("[]")); break;
        case JSON_OBJECT: put_str(w, STR("{}")); break;
        }
}

static int yaml_write_push(Writer *w, const Json *json, unsigned indent, bool is_inline) {
        if (w->depth == YAML_DEPTH)
                return YAML_E_DEPTH;
        w->stack[w->depth++] = (Frame){
                .next = json_first(json),
                .is_object = json->type == JSON_OBJECT,
                .is_inline = is_inline,
                .indent = indent,
        };
        return 0;
}

/* `key:`, or `? key` and a line that begins with `:` */
static void put_key(Writer *w, Str key, unsigned indent) {
        bool is_simple = key.n <= SIMPLE_KEY_MAX;

        if (!is_simple)
                put_str(w, STR("? "));
        put_string(w, key, true, 0);
        if (!is_simple) {
                yaml_write_put(w, "\n", 1);
                put_indent(w, indent);
        }
        yaml_write_put(w, ":", 1);
}

/* Writes the next child, or begins it if it is a container. */
static int step(Writer *w) {
        Frame *frame = &w->stack[w->depth - 1];
        const Json *child = frame->next;
        unsigned indent = frame->indent;

        if (!child) {
                w->depth--;
                return 0;
        }
        frame->next = child->next;
        if (!frame->is_inline)
                put_indent(w, indent);
        frame->is_inline = false;

        if (frame->is_object)
                put_key(w, json_key(child), indent);
        else
                yaml_write_put(w, "-", 1);

        if (!json_count(child)) {
                yaml_write_put(w, " ", 1);
                put_scalar(w, child, indent + INDENT);
                yaml_write_put(w, "\n", 1);
                return 0;
        }
        yaml_write_put(w, frame->is_object ? "\n" : " ", 1);
        if (frame->is_object && child->type == JSON_ARRAY)
                return yaml_write_push(w, child, indent, false);
        return yaml_write_push(w, child, indent + INDENT, !frame->is_object);
}

int yaml_write(Buf *out, const Json *json) {
        Writer w = {.out = out};
        const size_t start = out->n;
        int r = 0;

        if (json_count(json)) {
                r = yaml_write_push(&w, json, 0, false);
                while (r == 0 && w.depth && !w.failed)
                        r = step(&w);
        } else {
                put_scalar(&w, json, INDENT);
                yaml_write_put(&w, "\n", 1);
        }
        if (w.failed)
                r = error_origin(-ENOMEM);
        if (r)
                out->n = start;
        return error_trace(r);
}
