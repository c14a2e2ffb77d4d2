/* SPDX-License-Identifier: MIT */
#include "core/op.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/shape.h"

/* Bytewise, as the generator sorts. */
static int compare_name(Str name, const char *other) {
        size_t n = strlen(other);
        int order = memcmp(name.n ? name.data : "", other, MIN(name.n, n));

        return order ? order : (name.n > n) - (name.n < n);
}

const Op *op_find(const OpTable *table, Str name) {
        size_t low = 0, high = table->n_ops;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const Op *op = &table->ops[middle];
                int order = compare_name(name, op->name);

                if (order == 0)
                        return op;
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }
        return NULL;
}

/*
 * From JSON to an argument struct. Each type has two takers, one per convention. A taker writes its value
 * only when that fits, and otherwise says what it wants instead; op_decode() then refuses (strict) or falls
 * back (lenient).
 */

enum { _TAKE_E_SUCCESS, TAKE_E_UNFIT };

/* Longest text that is tried as a number; everything that int64_t and double can tell apart is shorter. */
enum { NUMBER_TEXT_MAX = 64 };

/* What is wrong with a value: static text. Of a list: at which element. */
typedef struct OpMisfit {
        IssueCode code;
        const char *what;
        bool has_index;
        size_t index;
} OpMisfit;

/* at: where the value goes. */
typedef int (*TakeFn)(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr);

static int unfit(OpMisfit *reterr, IssueCode code, const char *what) {
        *reterr = (OpMisfit){.code = code, .what = what};
        return TAKE_E_UNFIT;
}

static bool decode_is_empty(const OpField *field, size_t n) {
        return n == 0 && (field->flags & OP_FIELD_NON_EMPTY);
}

static bool is_among(const char *const *words, Str text) {
        for (; *words; words++)
                if (str_is(text, *words))
                        return true;
        return false;
}

static bool decode_is_word(const OpField *field, Str text) {
        return !field->words || is_among(field->words, text);
}

/* What a text, an integer, a number must satisfy in both conventions. */

static int decode_take_text(const OpField *field, Str text, Arena *arena, Str *ret, OpMisfit *reterr) {
        Str copy;

        if (field->flags & OP_FIELD_TRIM)
                text = str_trim(text);
        if (decode_is_empty(field, text.n))
                return unfit(reterr, ISSUE_TOO_SMALL, "must not be empty");
        if (!decode_is_word(field, text))
                return unfit(reterr, ISSUE_INVALID_ENUM, "is not one of the allowed values");
        copy = arena_str(arena, text);
        if (!copy.data)
                return error_origin(-ENOMEM);
        *ret = copy;
        return 0;
}

static int take_int64(const OpField *field, int64_t value, int64_t *ret, OpMisfit *reterr) {
        if (value < field->min || value > field->max)
                return unfit(reterr, value < field->min ? ISSUE_TOO_SMALL : ISSUE_TOO_BIG,
                             "is out of range");
        *ret = value;
        return 0;
}

static int take_double(const OpField *field, double value, double *ret, OpMisfit *reterr) {
        if ((field->min != INT64_MIN && value < (double)field->min) ||
            (field->max != INT64_MAX && value > (double)field->max))
                return unfit(reterr, value < (double)field->min ? ISSUE_TOO_SMALL : ISSUE_TOO_BIG,
                             "is out of range");
        *ret = value;
        return 0;
}

static int take_json(const Json *json, Arena *arena, const Json **ret) {
        const Json *copy = json_clone(arena, json);

        if (!copy)
                return error_origin(-ENOMEM);
        *ret = copy;
        return 0;
}

/* The strings of an array; whatever else it holds is left out. */
static int take_list(const Json *json, Arena *arena, StrList *ret) {
        StrList list = {0};

        if (json_count(json) > 0) {
                list.items = arena_alloc(arena, json_count(json) * sizeof(*list.items));
                if (!list.items)
                        return error_origin(-ENOMEM);
        }
        json_each (item, json) {
                Str copy;

                if (!json_is(item, JSON_STRING))
                        continue;
                copy = arena_str(arena, json_str(item));
                if (!copy.data)
                        return error_origin(-ENOMEM);
                assert(list.items);
                list.items[list.n++] = copy;
        }
        *ret = list;
        return 0;
}

/* Strict. */

static int strict_string(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr) {
        if (!json_is(json, JSON_STRING))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be a string");
        return decode_take_text(field, json_str(json), arena, at, reterr);
}

static int strict_bool(const OpField *field _unused_, const Json *json, Arena *arena _unused_, void *at,
                       OpMisfit *reterr) {
        return json_bool(json, at) ? 0 : unfit(reterr, ISSUE_INVALID_TYPE, "must be true or false");
}

static int strict_int(const OpField *field, const Json *json, Arena *arena _unused_, void *at,
                      OpMisfit *reterr) {
        int64_t value;

        if (!json_is_integer(json))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be an integer");
        if (!json_int64(json, &value))
                return unfit(reterr, ISSUE_TOO_BIG, "is out of range");
        return take_int64(field, value, at, reterr);
}

static int strict_number(const OpField *field, const Json *json, Arena *arena _unused_, void *at,
                         OpMisfit *reterr) {
        double value;

        if (!json_is(json, JSON_NUMBER))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be a number");
        if (!json_double(json, &value))
                return unfit(reterr, ISSUE_INVALID_TYPE, "is out of range");
        return take_double(field, value, at, reterr);
}

static int strict_strings(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr) {
        size_t i = 0;

        if (!json_is(json, JSON_ARRAY))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be a list of strings");
        json_each (item, json) {
                bool is_string = json_is(item, JSON_STRING);

                if (!is_string || (!item->n && (field->flags & OP_FIELD_FILLED))) {
                        *reterr = (OpMisfit){.code = is_string ? ISSUE_TOO_SMALL : ISSUE_INVALID_TYPE,
                                             .what = is_string ? "must not hold an empty string"
                                                               : "must be a list of strings",
                                             .has_index = true,
                                             .index = i};
                        return TAKE_E_UNFIT;
                }
                i++;
        }
        if (decode_is_empty(field, json_count(json)))
                return unfit(reterr, ISSUE_TOO_SMALL, "must not be empty");
        return error_trace(take_list(json, arena, at));
}

static int take_container(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr) {
        bool is_array = field->type == OP_ARRAY;

        if (!json_is(json, is_array ? JSON_ARRAY : JSON_OBJECT))
                return unfit(reterr, ISSUE_INVALID_TYPE,
                             is_array ? "must be an array" : "must be an object");
        if (decode_is_empty(field, json_count(json)))
                return unfit(reterr, ISSUE_TOO_SMALL, "must not be empty");
        return error_trace(take_json(json, arena, at));
}

static int decode_take_any(const OpField *field _unused_, const Json *json, Arena *arena, void *at,
                           OpMisfit *reterr _unused_) {
        return error_trace(take_json(json, arena, at));
}

static const TakeFn strict_takers[] = {
        [OP_STRING] = strict_string, [OP_BOOL] = strict_bool,       [OP_INT] = strict_int,
        [OP_NUMBER] = strict_number, [OP_STRINGS] = strict_strings, [OP_OBJECT] = take_container,
        [OP_ARRAY] = take_container, [OP_ANY] = decode_take_any,
};

/* With issues: strict, but integers are taken by value. */

static int issues_int(const OpField *field, const Json *json, Arena *arena _unused_, void *at,
                      OpMisfit *reterr) {
        int64_t value;

        if (json_int64(json, &value))
                return take_int64(field, value, at, reterr);
        if (!json_is_whole(json))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be an integer");
        return unfit(reterr, json->text[0] == '-' ? ISSUE_TOO_SMALL : ISSUE_TOO_BIG, "is out of range");
}

static const TakeFn issues_takers[] = {
        [OP_STRING] = strict_string, [OP_BOOL] = strict_bool,       [OP_INT] = issues_int,
        [OP_NUMBER] = strict_number, [OP_STRINGS] = strict_strings, [OP_OBJECT] = take_container,
        [OP_ARRAY] = take_container, [OP_ANY] = decode_take_any,
};

/* Lenient. */

static bool is_true(const Json *json) {
        double value;

        switch (json->type) {
        case JSON_BOOL: return json->truth;
        case JSON_NUMBER:
                return !json_double(json, &value) || value != 0; /* too large for a double: not zero */
        case JSON_STRING:
        case JSON_ARRAY:
        case JSON_OBJECT: return json->n > 0;
        default: return false;
        }
}

/* The number that a value is or, for a string, spells; *ret is NULL when there is none. */
static int find_number(const Json *json, Arena *arena, const Json **ret) {
        Str text = str_trim(json_str(json));
        Json *number = NULL;
        int r;

        if (json_is(json, JSON_NUMBER)) {
                *ret = json;
                return 0;
        }
        if (text.n > 0 && text.n <= NUMBER_TEXT_MAX) {
                r = json_parse(arena, text.data, text.n, NULL, &number, NULL);
                if (r < 0)
                        return error_trace(r);
                if (r > 0)
                        number = NULL;
        }
        *ret = json_is(number, JSON_NUMBER) ? number : NULL;
        return 0;
}

static int lenient_string(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr) {
        Str text = {0};

        if (!is_true(json))
                return unfit(reterr, ISSUE_INVALID_TYPE, "is required");
        if (json->type == JSON_STRING || json->type == JSON_NUMBER)
                text = (Str){json->text, json->n};
        else if (json->type == JSON_BOOL)
                text = STR("true");
        else
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be a string");
        if ((field->flags & OP_FIELD_TRIM) && str_trim(text).n == 0)
                return unfit(reterr, ISSUE_INVALID_TYPE, "is required");
        return decode_take_text(field, text, arena, at, reterr);
}

static int lenient_bool(const OpField *field _unused_, const Json *json, Arena *arena _unused_, void *at,
                        OpMisfit *reterr _unused_) {
        *(bool *)at = is_true(json);
        return 0;
}

static int lenient_int(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr) {
        const Json *number;
        int64_t value;
        double real;
        int r;

        r = find_number(json, arena, &number);
        if (r)
                return error_trace(r);
        if (!number || (json_is(json, JSON_STRING) && !json_is_integer(number)))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be an integer");
        if (!json_int64(number, &value)) {
                /* With a fraction, or out of reach; both limits are exact as doubles. */
                if (json_is_integer(number) || !json_double(number, &real) || real < -0x1p63 ||
                    real >= 0x1p63)
                        return unfit(reterr, ISSUE_INVALID_TYPE, "is out of range");
                value = (int64_t)real;
        }
        return take_int64(field, value, at, reterr);
}

static int lenient_number(const OpField *field, const Json *json, Arena *arena, void *at, OpMisfit *reterr) {
        const Json *number;
        int r;

        r = find_number(json, arena, &number);
        if (r)
                return error_trace(r);
        return strict_number(field, number, arena, at, reterr);
}

static int lenient_strings(const OpField *field, const Json *json, Arena *arena, void *at,
                           OpMisfit *reterr) {
        StrList list;
        int r;

        if (!json_is(json, JSON_ARRAY))
                return unfit(reterr, ISSUE_INVALID_TYPE, "must be a list of strings");
        r = take_list(json, arena, &list);
        if (r)
                return error_trace(r);
        if (decode_is_empty(field, list.n))
                return unfit(reterr, ISSUE_TOO_SMALL, "must not be empty");
        *(StrList *)at = list;
        return 0;
}

static const TakeFn lenient_takers[] = {
        [OP_STRING] = lenient_string, [OP_BOOL] = lenient_bool,       [OP_INT] = lenient_int,
        [OP_NUMBER] = lenient_number, [OP_STRINGS] = lenient_strings, [OP_OBJECT] = take_container,
        [OP_ARRAY] = take_container,  [OP_ANY] = decode_take_any,
};

/* The generator has checked the default against its field, so nothing but memory can be missing here. */
static int take_default(const OpField *field, Arena *arena, void *at) {
        OpMisfit misfit;
        Json *json;
        int r;

        if (!field->default_text)
                return 0;
        if (field->type == OP_STRING) {
                *(Str *)at = str_from(field->default_text);
                return 0;
        }
        r = json_parse(arena, field->default_text, strlen(field->default_text), NULL, &json, NULL);
        if (r)
                return error_fold(r);
        return error_fold(strict_takers[field->type](field, json, arena, at, &misfit));
}

/* In a lenient table null means "not given", but for a bool it is a value as good as any. */
static bool decode_is_given(const OpField *field, OpConvention convention, const Json *json) {
        if (!json || json->type != JSON_NULL)
                return json;
        if (field->flags & OP_FIELD_NULLABLE)
                return false;
        return convention != OP_LENIENT || field->type == OP_BOOL;
}

static int decode_field(const OpField *field, OpConvention convention, const Json *json, Arena *arena,
                        char *args, OpMisfit *reterr) {
        static const TakeFn *const takers_of[] = {
                [OP_STRICT] = strict_takers, [OP_LENIENT] = lenient_takers, [OP_ISSUES] = issues_takers};
        const TakeFn *takers = takers_of[convention];
        int r;

        if (decode_is_given(field, convention, json)) {
                r = takers[field->type](field, json, arena, args + field->offset, reterr);
                if (r < 0)
                        return error_trace(r);
                if (r == 0) {
                        if (field->has_offset)
                                *(bool *)(args + field->has_offset) = true;
                        return 0;
                }
                if (convention != OP_LENIENT)
                        return TAKE_E_UNFIT;
        } else {
                *reterr = (OpMisfit){.code = ISSUE_INVALID_TYPE, .what = "is required"};
        }
        if (field->flags & OP_FIELD_REQUIRED)
                return TAKE_E_UNFIT;
        return error_trace(take_default(field, arena, args + field->offset));
}

/* Null, false, zero and what is empty ask for nothing. */
static bool is_refused(const OpRefusal *refusal, const Json *json) {
        if (!json || !is_true(json))
                return false;
        return !refusal->spared || !is_among(refusal->spared, str_trim(json_str(json)));
}

static int check_refusals(const Op *op, const Json *json, OpFault *reterr) {
        for (size_t i = 0; i < op->n_refusals; i++) {
                const OpRefusal *refusal = &op->refusals[i];

                if (!is_refused(refusal, json_get(json, refusal->name)))
                        continue;
                *reterr = (OpFault){.field = refusal->name, .what = refusal->why};
                return OP_E_FIELD;
        }
        return 0;
}

/* An argument whose inside has a shape: it is there as a whole, of each element, or not at all. */
static void check_shape(const OpField *field, const Json *json, Issues *issues) {
        IssueStep at = {.key = str_from(field->name)};
        size_t i = 0;

        if (field->type == OP_OBJECT) {
                (void)shape_check(field->shape, json, &at, issues);
                return;
        }
        json_each (item, json) {
                IssueStep step = {.up = &at, .index = i++};

                (void)shape_check(field->shape, item, &step, issues);
        }
}

static void add_misfit(Issues *issues, const OpField *field, const OpMisfit *misfit) {
        IssueStep at = {.key = str_from(field->name)}, element = {.up = &at, .index = misfit->index};

        issues_add(issues, misfit->code, misfit->has_index ? &element : &at, "%s", misfit->what);
}

static bool decode_has_field(const Op *op, Str name) {
        for (size_t i = 0; i < op->n_fields; i++)
                if (str_is(name, op->fields[i].name))
                        return true;
        return false;
}

static void check_closed(const Op *op, const Json *json, Issues *issues) {
        json_each (one, json)
                if (!decode_has_field(op, json_key(one)))
                        issues_add(issues, ISSUE_UNKNOWN_KEYS, NULL,
                                   "has a member that is not known: " STR_FMT, STR_ARG(json_key(one)));
}

/* All fields are looked at, whatever is wrong with those before. */
static int decode_with_issues(const Op *op, const Json *json, Arena *arena, void *args, OpFault *reterr) {
        Issues *issues = &reterr->issues;

        *reterr = (OpFault){.issues = ISSUES(arena)};
        if (!json && (op->flags & OP_PARAMS))
                issues_add(issues, ISSUE_INVALID_TYPE, NULL, "is required");
        for (size_t i = 0; i < op->n_fields; i++) {
                const OpField *field = &op->fields[i];
                const Json *value = json_get(json, field->name);
                OpMisfit misfit = {0};
                int r;

                r = decode_field(field, OP_ISSUES, value, arena, args, &misfit);
                if (r < 0)
                        return error_trace(r);
                if (r == TAKE_E_UNFIT)
                        add_misfit(issues, field, &misfit);
                else if (field->shape && decode_is_given(field, OP_ISSUES, value))
                        check_shape(field, value, issues);
        }
        if (op->flags & OP_CLOSED)
                check_closed(op, json, issues);
        if (issues->is_failed)
                return error_origin(-ENOMEM);
        return issues->n ? OP_E_FIELD : 0;
}

int op_decode(const Op *op, OpConvention convention, const Json *json, Arena *arena, void *args,
              OpFault *reterr) {
        assert(!json || json_is(json, JSON_OBJECT));

        memset(args, 0, op->args_size);
        if (check_refusals(op, json, reterr))
                return OP_E_FIELD;
        if (convention == OP_ISSUES)
                return error_trace(decode_with_issues(op, json, arena, args, reterr));
        for (size_t i = 0; i < op->n_fields; i++) {
                const OpField *field = &op->fields[i];
                OpMisfit misfit = {0};
                int r;

                r = decode_field(field, convention, json_get(json, field->name), arena, args, &misfit);
                if (r < 0)
                        return error_trace(r);
                if (r == TAKE_E_UNFIT) {
                        *reterr = (OpFault){.field = field->name, .what = misfit.what};
                        return OP_E_FIELD;
                }
        }
        return 0;
}
