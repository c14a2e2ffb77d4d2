/* SPDX-License-Identifier: MIT */
/*
 * From JSON to an argument struct. Each type has two takers, one per convention. A taker writes its value
 * only when that fits, and otherwise says what it wants instead; op_decode() then refuses (strict) or falls
 * back (lenient).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/op.h"

enum { _TAKE_E_SUCCESS, TAKE_E_UNFIT };

/* Longest text that is tried as a number; everything that int64_t and double can tell apart is shorter. */
enum { NUMBER_TEXT_MAX = 64 };

/* at: where the value goes; *reterr_what: static text. */
typedef int (*TakeFn)(const OpField *field, const Json *json, Arena *arena, void *at,
                      const char **reterr_what);

static int unfit(const char **reterr_what, const char *what) {
        *reterr_what = what;
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

static int decode_take_text(const OpField *field, Str text, Arena *arena, Str *ret,
                            const char **reterr_what) {
        Str copy;

        if (field->flags & OP_FIELD_TRIM)
                text = str_trim(text);
        if (decode_is_empty(field, text.n))
                return unfit(reterr_what, "must not be empty");
        if (!decode_is_word(field, text))
                return unfit(reterr_what, "is not one of the allowed values");
        copy = arena_str(arena, text);
        if (!copy.data)
                return error_origin(-ENOMEM);
        *ret = copy;
        return 0;
}

static int take_int64(const OpField *field, int64_t value, int64_t *ret, const char **reterr_what) {
        if (value < field->min || value > field->max)
                return unfit(reterr_what, "is out of range");
        *ret = value;
        return 0;
}

static int take_double(const OpField *field, double value, double *ret, const char **reterr_what) {
        if ((field->min != INT64_MIN && value < (double)field->min) ||
            (field->max != INT64_MAX && value > (double)field->max))
                return unfit(reterr_what, "is out of range");
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

static int strict_string(const OpField *field, const Json *json, Arena *arena, void *at,
                         const char **reterr_what) {
        if (!json_is(json, JSON_STRING))
                return unfit(reterr_what, "must be a string");
        return decode_take_text(field, json_str(json), arena, at, reterr_what);
}

static int strict_bool(const OpField *field _unused_, const Json *json, Arena *arena _unused_, void *at,
                       const char **reterr_what) {
        return json_bool(json, at) ? 0 : unfit(reterr_what, "must be true or false");
}

static int strict_int(const OpField *field, const Json *json, Arena *arena _unused_, void *at,
                      const char **reterr_what) {
        int64_t value;

        if (!json_is_integer(json))
                return unfit(reterr_what, "must be an integer");
        if (!json_int64(json, &value))
                return unfit(reterr_what, "is out of range");
        return take_int64(field, value, at, reterr_what);
}

static int strict_number(const OpField *field, const Json *json, Arena *arena _unused_, void *at,
                         const char **reterr_what) {
        double value;

        if (!json_is(json, JSON_NUMBER))
                return unfit(reterr_what, "must be a number");
        if (!json_double(json, &value))
                return unfit(reterr_what, "is out of range");
        return take_double(field, value, at, reterr_what);
}

static int strict_strings(const OpField *field, const Json *json, Arena *arena, void *at,
                          const char **reterr_what) {
        if (!json_is(json, JSON_ARRAY))
                return unfit(reterr_what, "must be a list of strings");
        json_each (item, json)
                if (!json_is(item, JSON_STRING))
                        return unfit(reterr_what, "must be a list of strings");
        if (decode_is_empty(field, json_count(json)))
                return unfit(reterr_what, "must not be empty");
        return error_trace(take_list(json, arena, at));
}

static int take_container(const OpField *field, const Json *json, Arena *arena, void *at,
                          const char **reterr_what) {
        bool is_array = field->type == OP_ARRAY;

        if (!json_is(json, is_array ? JSON_ARRAY : JSON_OBJECT))
                return unfit(reterr_what, is_array ? "must be an array" : "must be an object");
        if (decode_is_empty(field, json_count(json)))
                return unfit(reterr_what, "must not be empty");
        return error_trace(take_json(json, arena, at));
}

static int decode_take_any(const OpField *field _unused_, const Json *json, Arena *arena, void *at,
                           const char **reterr_what _unused_) {
        return error_trace(take_json(json, arena, at));
}

static const TakeFn strict_takers[] = {
        [OP_STRING] = strict_string, [OP_BOOL] = strict_bool,       [OP_INT] = strict_int,
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

static int lenient_string(const OpField *field, const Json *json, Arena *arena, void *at,
                          const char **reterr_what) {
        Str text = {0};

        if (!is_true(json))
                return unfit(reterr_what, "is required");
        if (json->type == JSON_STRING || json->type == JSON_NUMBER)
                text = (Str){json->text, json->n};
        else if (json->type == JSON_BOOL)
                text = STR("true");
        else
                return unfit(reterr_what, "must be a string");
        if ((field->flags & OP_FIELD_TRIM) && str_trim(text).n == 0)
                return unfit(reterr_what, "is required");
        return decode_take_text(field, text, arena, at, reterr_what);
}

static int lenient_bool(const OpField *field _unused_, const Json *json, Arena *arena _unused_, void *at,
                        const char **reterr_what _unused_) {
        *(bool *)at = is_true(json);
        return 0;
}

static int lenient_int(const OpField *field, const Json *json, Arena *arena, void *at,
                       const char **reterr_what) {
        const Json *number;
        int64_t value;
        double real;
        int r;

        r = find_number(json, arena, &number);
        if (r)
                return error_trace(r);
        if (!number || (json_is(json, JSON_STRING) && !json_is_integer(number)))
                return unfit(reterr_what, "must be an integer");
        if (!json_int64(number, &value)) {
                /* With a fraction, or out of reach; both limits are exact as doubles. */
                if (json_is_integer(number) || !json_double(number, &real) || real < -0x1p63 ||
                    real >= 0x1p63)
                        return unfit(reterr_what, "is out of range");
                value = (int64_t)real;
        }
        return take_int64(field, value, at, reterr_what);
}

static int lenient_number(const OpField *field, const Json *json, Arena *arena, void *at,
                          const char **reterr_what) {
        const Json *number;
        int r;

        r = find_number(json, arena, &number);
        if (r)
                return error_trace(r);
        return strict_number(field, number, arena, at, reterr_what);
}

static int lenient_strings(const OpField *field, const Json *json, Arena *arena, void *at,
                           const char **reterr_what) {
        StrList list;
        int r;

        if (!json_is(json, JSON_ARRAY))
                return unfit(reterr_what, "must be a list of strings");
        r = take_list(json, arena, &list);
        if (r)
                return error_trace(r);
        if (decode_is_empty(field, list.n))
                return unfit(reterr_what, "must not be empty");
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
        const char *what;
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
        return error_fold(strict_takers[field->type](field, json, arena, at, &what));
}

/* In a lenient table null means "not given", but for a bool it is a value as good as any. */
static bool decode_is_given(const OpField *field, OpConvention convention, const Json *json) {
        if (!json || json->type != JSON_NULL)
                return json;
        if (field->flags & OP_FIELD_NULLABLE)
                return false;
        return convention == OP_STRICT || field->type == OP_BOOL;
}

static int decode_field(const OpField *field, OpConvention convention, const Json *json, Arena *arena,
                        char *args, const char **reterr_what) {
        const TakeFn *takers = convention == OP_LENIENT ? lenient_takers : strict_takers;
        int r;

        if (decode_is_given(field, convention, json)) {
                r = takers[field->type](field, json, arena, args + field->offset, reterr_what);
                if (r < 0)
                        return error_trace(r);
                if (r == 0) {
                        if (field->has_offset)
                                *(bool *)(args + field->has_offset) = true;
                        return 0;
                }
                if (convention == OP_STRICT)
                        return TAKE_E_UNFIT;
        } else {
                *reterr_what = "is required";
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

int op_decode(const Op *op, OpConvention convention, const Json *json, Arena *arena, void *args,
              OpFault *reterr) {
        assert(!json || json_is(json, JSON_OBJECT));

        memset(args, 0, op->args_size);
        if (check_refusals(op, json, reterr))
                return OP_E_FIELD;
        for (size_t i = 0; i < op->n_fields; i++) {
                const OpField *field = &op->fields[i];
                const char *what = NULL;
                int r;

                r = decode_field(field, convention, json_get(json, field->name), arena, args, &what);
                if (r < 0)
                        return error_trace(r);
                if (r == TAKE_E_UNFIT) {
                        *reterr = (OpFault){.field = field->name, .what = what};
                        return OP_E_FIELD;
                }
        }
        return 0;
}
