/* SPDX-License-Identifier: MIT */
/*
 * The reader: libyaml's events, one after the other, into the JSON tree.
 *
 * Containers under construction are on a stack of fixed size, so the input can neither make us recurse nor
 * take more than a few kilobytes besides the tree. A mapping is built as an array, to which json_push() adds
 * in constant time, and becomes an object when it is complete and sorting its names has shown that they
 * differ: json_set() would look through all members for each new one.
 */
#include "base/json/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/error.h"

enum { YAML_DEPTH = 64 };
static const size_t YAML_TEXT_MAX = (size_t)1 << 30;

/* A member and where its name stands. Those of all open mappings follow each other in Parser.members. */
typedef struct Member {
        const Json *value;
        size_t line, column;
} Member;

typedef struct Frame {
        Json *node;
        bool is_mapping;
        Str key;          /* name that waits for its value; data is NULL when a name comes next */
        size_t i_members; /* its first one in Parser.members */
} Frame;

typedef struct Parser {
        yaml_parser_t yaml;
        Str text;
        Arena *arena;
        Json *root;
        Frame stack[YAML_DEPTH];
        unsigned depth;
        Member *members;
        size_t n_members, n_members_room;
        YamlFault *fault; /* may be NULL */
} Parser;

static int yaml_parse_refuse(Parser *p, int condition, size_t line, size_t column, const char *what) {
        if (p->fault) {
                p->fault->line = line;
                p->fault->column = column;
                snprintf(p->fault->what, sizeof(p->fault->what), "%s", what);
        }
        return condition;
}

static int refuse_at(Parser *p, int condition, yaml_mark_t mark, const char *what) {
        return yaml_parse_refuse(p, condition, mark.line + 1, mark.column + 1, what);
}

/* libyaml has no mark for bytes that it could not decode, only their offset. */
static int refuse_bytes(Parser *p) {
        JsonPlace place = json_place(p->text.data, p->text.n, p->yaml.problem_offset);

        return yaml_parse_refuse(p, YAML_E_SYNTAX, place.line, place.column, p->yaml.problem);
}

static int refuse_syntax(Parser *p) {
        switch (p->yaml.error) {
        case YAML_MEMORY_ERROR: return error_origin(-ENOMEM);
        case YAML_READER_ERROR: return refuse_bytes(p);
        default:
                return refuse_at(p, YAML_E_SYNTAX, p->yaml.problem_mark,
                                 p->yaml.problem ? p->yaml.problem : "not YAML");
        }
}

/* Scalars of the core schema */

static bool yaml_parse_is_one_of(Str s, const char *const *words) {
        for (; *words; words++)
                if (str_is(s, *words))
                        return true;
        return false;
}

static Str yaml_parse_take_digits(Str *s) {
        Str digits = {s->data, 0};

        while (s->n && s->data[0] >= '0' && s->data[0] <= '9')
                s->data++, s->n--, digits.n++;
        return digits;
}

static bool yaml_parse_take_char(Str *s, char a, char b) {
        if (!s->n || (s->data[0] != a && s->data[0] != b))
                return false;
        s->data++, s->n--;
        return true;
}

/* 0o17 and 0xff. What does not fit into 64 bits stays a string. */
static bool parse_radix(Str s, uint64_t *ret) {
        unsigned bits = str_starts(s, STR("0o")) ? 3 : str_starts(s, STR("0x")) ? 4 : 0;
        uint64_t value = 0;

        if (!bits || s.n < 3)
                return false;
        for (size_t i = 2; i < s.n; i++) {
                char c = s.data[i];
                unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                        : 16;
                if (digit >> bits || value >> (64 - bits))
                        return false;
                value = value << bits | digit;
        }
        *ret = value;
        return true;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?   in the form that JSON wants. */
static bool parse_decimal(Arena *arena, Str s, Str *ret) {
        bool minus = str_starts(s, STR("-")), point;
        Str whole, fraction = STR_NULL, exponent;

        (void)yaml_parse_take_char(&s, '-', '+');
        whole = yaml_parse_take_digits(&s);
        point = yaml_parse_take_char(&s, '.', '.');
        if (point)
                fraction = yaml_parse_take_digits(&s);
        if (!whole.n && !fraction.n)
                return false;

        exponent = s;
        if (yaml_parse_take_char(&s, 'e', 'E')) {
                (void)yaml_parse_take_char(&s, '-', '+');
                if (!yaml_parse_take_digits(&s).n)
                        return false;
        }
        if (s.n)
                return false;

        while (whole.n > 1 && whole.data[0] == '0')
                whole.data++, whole.n--;
        if (!whole.n)
                whole = STR("0");
        if (point && !fraction.n)
                fraction = STR("0");
        *ret = arena_printf(arena, "%s" STR_FMT "%s" STR_FMT STR_FMT, minus ? "-" : "", STR_ARG(whole),
                            point ? "." : "", STR_ARG(fraction), STR_ARG(exponent));
        return true;
}

/* NULL without memory. */
static Json *new_plain(Arena *arena, Str s) {
        static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
        static const char *const trues[] = {"true", "True", "TRUE", NULL};
        static const char *const falses[] = {"false", "False", "FALSE", NULL};
        uint64_t value;
        Str number;

        if (yaml_parse_is_one_of(s, nulls))
                return json_new(arena, JSON_NULL);
        if (yaml_parse_is_one_of(s, trues))
                return json_new_bool(arena, true);
        if (yaml_parse_is_one_of(s, falses))
                return json_new_bool(arena, false);
        if (!strchr("+-.0123456789", s.data[0]))
                return json_new_str(arena, s);
        if (parse_radix(s, &value)) {
                number = arena_printf(arena, "%llu", (unsigned long long)value);
                return number.data ? json_new_number(arena, number) : NULL;
        }
        if (parse_decimal(arena, s, &number))
                return number.data ? json_new_number(arena, number) : NULL;
        return json_new_str(arena, s);
}

static Json *new_scalar(Arena *arena, const yaml_event_t *event) {
        const char *tag = (const char *)event->data.scalar.tag;
        Str text = {(const char *)event->data.scalar.value, event->data.scalar.length};

        if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || (tag && strcmp(tag, YAML_STR_TAG) == 0))
                return json_new_str(arena, text);
        return new_plain(arena, text);
}

/* Members and their names */

static int member_push(Parser *p, const Json *value, yaml_mark_t mark) {
        if (p->n_members == p->n_members_room) {
                size_t n = p->n_members_room ? p->n_members_room * 2 : 64;
                Member *members = reallocarray(p->members, n, sizeof(*members));

                if (!members)
                        return error_origin(-ENOMEM);
                p->members = members;
                p->n_members_room = n;
        }
        p->members[p->n_members++] = (Member){value, mark.line + 1, mark.column + 1};
        return 0;
}

/* Any order of the names will do, if equal ones come together and in the order of the text. */
static int member_compare(const void *pa, const void *pb) {
        const Member *a = pa, *b = pb;
        int order;

        if (a->value->key_n != b->value->key_n)
                return a->value->key_n < b->value->key_n ? -1 : 1;
        order = memcmp(a->value->key, b->value->key, a->value->key_n);
        if (order)
                return order;
        if (a->line != b->line)
                return a->line < b->line ? -1 : 1;
        return a->column < b->column ? -1 : a->column > b->column;
}

static int refuse_duplicates(Parser *p, const Frame *frame) {
        size_t n = p->n_members - frame->i_members;
        Member *members;

        p->n_members = frame->i_members;
        if (n < 2)
                return 0;
        members = p->members + frame->i_members;
        qsort(members, n, sizeof(*members), member_compare);
        for (size_t i = 1; i < n; i++)
                if (str_eq(json_key(members[i - 1].value), json_key(members[i].value)))
                        return yaml_parse_refuse(p, YAML_E_DUPLICATE, members[i].line, members[i].column,
                                                 "key given twice in one mapping");
        return 0;
}

/* Building */

static Frame *top(Parser *p) {
        return p->depth ? &p->stack[p->depth - 1] : NULL;
}

static bool wants_key(const Frame *frame) {
        return frame && frame->is_mapping && !frame->key.data;
}

static int yaml_parse_attach(Parser *p, Json *value) {
        Frame *frame = top(p);
        int r;

        if (!value)
                return error_origin(-ENOMEM);
        if (!frame) {
                p->root = value;
                return 0;
        }
        r = json_push(frame->node, value);
        if (r)
                return error_trace(r);
        if (frame->is_mapping) {
                value->key = frame->key.data;
                value->key_n = (uint32_t)frame->key.n;
                p->members[p->n_members - 1].value = value;
                frame->key = STR_NULL;
        }
        return 0;
}

static int on_scalar(Parser *p, const yaml_event_t *event) {
        Frame *frame = top(p);

        if (event->data.scalar.anchor)
                return refuse_at(p, YAML_E_ALIAS, event->start_mark, "anchors are not supported");
        if (!wants_key(frame))
                return error_trace(yaml_parse_attach(p, new_scalar(p->arena, event)));

        frame->key = arena_str(p->arena,
                               (Str){(const char *)event->data.scalar.value, event->data.scalar.length});
        if (!frame->key.data)
                return error_origin(-ENOMEM);
        return error_trace(member_push(p, NULL, event->start_mark));
}

static int on_begin(Parser *p, bool is_mapping, const yaml_event_t *event, const yaml_char_t *anchor) {
        Json *node;
        int r;

        if (anchor)
                return refuse_at(p, YAML_E_ALIAS, event->start_mark, "anchors are not supported");
        if (wants_key(top(p)))
                return refuse_at(p, YAML_E_KEY, event->start_mark, "a key must be a scalar");
        if (p->depth == YAML_DEPTH)
                return refuse_at(p, YAML_E_DEPTH, event->start_mark, "nested too deeply");

        node = json_new(p->arena, JSON_ARRAY);
        r = yaml_parse_attach(p, node);
        if (r)
                return error_trace(r);
        p->stack[p->depth++] = (Frame){.node = node, .is_mapping = is_mapping, .i_members = p->n_members};
        return 0;
}

static int on_end(Parser *p) {
        Frame *frame = &p->stack[--p->depth];

        if (!frame->is_mapping)
                return 0;
        frame->node->type = JSON_OBJECT;
        return error_trace(refuse_duplicates(p, frame));
}

static int on_event(Parser *p, const yaml_event_t *event) {
        switch (event->type) {
        case YAML_DOCUMENT_START_EVENT:
                if (p->root)
                        return refuse_at(p, YAML_E_SYNTAX, event->start_mark, "more than one document");
                return 0;
        case YAML_ALIAS_EVENT:
                return refuse_at(p, YAML_E_ALIAS, event->start_mark, "aliases are not supported");
        case YAML_SCALAR_EVENT: return error_trace(on_scalar(p, event));
        case YAML_SEQUENCE_START_EVENT:
                return error_trace(on_begin(p, false, event, event->data.sequence_start.anchor));
        case YAML_MAPPING_START_EVENT:
                return error_trace(on_begin(p, true, event, event->data.mapping_start.anchor));
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT: return error_trace(on_end(p));
        default: return 0;
        }
}

static int yaml_parse_run(Parser *p) {
        for (;;) {
                yaml_event_t event;
                bool last;
                int r;

                if (!yaml_parser_parse(&p->yaml, &event))
                        return refuse_syntax(p);
                last = event.type == YAML_STREAM_END_EVENT || event.type == YAML_NO_EVENT;
                r = on_event(p, &event);
                yaml_event_delete(&event);
                if (r || last)
                        return error_trace(r);
        }
}

int yaml_parse(Arena *arena, Str text, Json **ret, YamlFault *reterr) {
        Parser p = {.text = text, .arena = arena, .fault = reterr};
        int r;

        if (text.n > YAML_TEXT_MAX)
                return yaml_parse_refuse(&p, YAML_E_SYNTAX, 1, 1, "longer than 1 GiB");
        if (!yaml_parser_initialize(&p.yaml))
                return error_origin(-ENOMEM);
        yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&p.yaml, (const unsigned char *)(text.n ? text.data : ""), text.n);

        r = yaml_parse_run(&p);
        yaml_parser_delete(&p.yaml);
        free(p.members);
        if (r)
                return error_trace(r);
        if (!p.root) {
                p.root = json_new(arena, JSON_NULL);
                if (!p.root)
                        return error_origin(-ENOMEM);
        }
        *ret = p.root;
        return 0;
}
