/* SPDX-License-Identifier: MIT */
#include "core/shape.h"

#include "base/time.h"

/* ---- one value ------------------------------------------------------------------------------- */

static bool shape_complain(Issues *issues, IssueCode code, const IssueStep *at, const char *what) {
        issues_add(issues, code, at, "%s", what);
        return false;
}

static bool shape_has_word(const char *const *words, Str text) {
        for (; *words; words++)
                if (str_is(text, *words))
                        return true;
        return false;
}

static bool shape_check_string(const ShapeMember *member, const Json *json, const IssueStep *at,
                               Issues *issues) {
        int64_t us;

        if (!json_is(json, JSON_STRING))
                return shape_complain(issues, ISSUE_INVALID_TYPE, at, "must be a string");
        if (!json->n && (member->flags & SHAPE_NON_EMPTY))
                return shape_complain(issues, ISSUE_TOO_SMALL, at, "must not be empty");
        if (member->words && !shape_has_word(member->words, json_str(json)))
                return shape_complain(issues, ISSUE_INVALID_ENUM, at, "is not one of the allowed values");
        if (member->type == SHAPE_TIME && !time_parse(json_str(json), &us))
                return shape_complain(issues, ISSUE_INVALID_TEXT, at, "must be an ISO date and time");
        return true;
}

/* The words of a bound are those of a whole number, which all bounds are. */
static bool shape_check_number(const ShapeMember *member, const Json *json, const IssueStep *at,
                               Issues *issues) {
        double value;

        if (!json_is(json, JSON_NUMBER) || !json_double(json, &value))
                return shape_complain(issues, ISSUE_INVALID_TYPE, at, "must be a number");
        if (member->type == SHAPE_INT && !json_is_whole(json))
                return shape_complain(issues, ISSUE_INVALID_TYPE, at, "must be an integer");
        if (member->min != INT64_MIN && value < (double)member->min) {
                issues_add(issues, ISSUE_TOO_SMALL, at, "must be at least %lld", (long long)member->min);
                return false;
        }
        if (member->max != INT64_MAX && value > (double)member->max) {
                issues_add(issues, ISSUE_TOO_BIG, at, "must be at most %lld", (long long)member->max);
                return false;
        }
        return true;
}

static bool shape_check_children(const ShapeMember *member, const Json *json, const IssueStep *at,
                                 Issues *issues) {
        bool is_map = member->type == SHAPE_MAP, fits = true;
        size_t i = 0;

        if (!json_is(json, is_map ? JSON_OBJECT : JSON_ARRAY))
                return shape_complain(issues, ISSUE_INVALID_TYPE, at,
                                      is_map ? "must be an object" : "must be a list");
        if (!json_count(json) && (member->flags & SHAPE_NON_EMPTY))
                return shape_complain(issues, ISSUE_TOO_SMALL, at, "must not be empty");
        json_each (child, json) {
                IssueStep step = {.up = at, .key = is_map ? json_key(child) : STR_NULL, .index = i++};

                fits = shape_check_value(member->items, child, &step, issues) && fits;
        }
        return fits;
}

bool shape_check_value(const ShapeMember *member, const Json *json, const IssueStep *at, Issues *issues) {
        bool truth;

        if (json_is(json, JSON_NULL) && (member->flags & SHAPE_NULLABLE))
                return true;
        switch ((ShapeType)member->type) {
        case SHAPE_STRING:
        case SHAPE_TIME: return shape_check_string(member, json, at, issues);
        case SHAPE_BOOL:
                return json_bool(json, &truth) ||
                       shape_complain(issues, ISSUE_INVALID_TYPE, at, "must be true or false");
        case SHAPE_INT:
        case SHAPE_NUMBER: return shape_check_number(member, json, at, issues);
        case SHAPE_OBJECT: return shape_check(member->shape, json, at, issues);
        case SHAPE_ARRAY:
        case SHAPE_MAP: return shape_check_children(member, json, at, issues);
        case SHAPE_ANY: break;
        }
        return true;
}

/* ---- an object ------------------------------------------------------------------------------- */

static const ShapeMember *shape_member(const Shape *shape, Str name) {
        for (size_t i = 0; i < shape->n_members; i++)
                if (str_is(name, shape->members[i].name))
                        return &shape->members[i];
        return NULL;
}

static const Shape *shape_variant(const Shape *shape, const Json *json) {
        Str word = json_str(json_get(json, shape->tag));

        for (const ShapeVariant *variant = shape->variants; variant->word; variant++)
                if (str_is(word, variant->word))
                        return variant->shape;
        return NULL;
}

static bool shape_check_unknown(const Shape *shape, const Json *json, const IssueStep *at, Issues *issues) {
        bool fits = true;

        json_each (member, json)
                if (!shape_member(shape, json_key(member))) {
                        issues_add(issues, ISSUE_UNKNOWN_KEYS, at, "has an unknown member: " STR_FMT,
                                   STR_ARG(json_key(member)));
                        fits = false;
                }
        return fits;
}

bool shape_check(const Shape *shape, const Json *json, const IssueStep *at, Issues *issues) {
        bool fits = true;

        if (!json_is(json, JSON_OBJECT))
                return shape_complain(issues, ISSUE_INVALID_TYPE, at, "must be an object");
        if (shape->tag) {
                const Shape *variant = shape_variant(shape, json);
                IssueStep step = {.up = at, .key = str_from(shape->tag)};

                return variant ? shape_check(variant, json, at, issues)
                               : shape_complain(issues, ISSUE_INVALID_ENUM, &step,
                                                "is not one of the allowed values");
        }
        for (size_t i = 0; i < shape->n_members; i++) {
                const ShapeMember *member = &shape->members[i];
                const Json *value = json_get(json, member->name);
                IssueStep step = {.up = at, .key = str_from(member->name)};

                if (value)
                        fits = shape_check_value(member, value, &step, issues) && fits;
                else if (!(member->flags & SHAPE_OPTIONAL))
                        fits = shape_complain(issues, ISSUE_INVALID_TYPE, &step, "is required");
        }
        if (shape->is_strict)
                fits = shape_check_unknown(shape, json, at, issues) && fits;
        return fits;
}

bool shape_fits(const Shape *shape, const Json *json) {
        Arena arena = ARENA_NULL;
        Issues issues = ISSUES(&arena);
        bool fits = shape_check(shape, json, NULL, &issues);

        arena_deinit(&arena);
        return fits;
}

/* ---- order ----------------------------------------------------------------------------------- */

static Json *shape_ordered_value(Arena *arena, const ShapeMember *member, const Json *json) {
        Json *list;

        if (member && member->shape && json_is(json, JSON_OBJECT))
                return shape_ordered(arena, member->shape, json);
        if (!member || !member->items || !json_is(json, JSON_ARRAY))
                return json_clone(arena, json);
        list = json_new(arena, JSON_ARRAY);
        json_each (child, json)
                if (!list || json_push(list, shape_ordered_value(arena, member->items, child)))
                        return NULL;
        return list;
}

Json *shape_ordered(Arena *arena, const Shape *shape, const Json *json) {
        const Shape *of = shape->tag ? shape_variant(shape, json) : shape;
        Json *ordered = json_new(arena, JSON_OBJECT);

        for (size_t i = 0; of && i < of->n_members; i++) {
                const ShapeMember *member = &of->members[i];
                const Json *value = json_get(json, member->name);

                if (value && (!ordered || json_add(arena, ordered, str_from(member->name),
                                                   shape_ordered_value(arena, member, value))))
                        return NULL;
        }
        json_each (value, json)
                if ((!of || !shape_member(of, json_key(value))) &&
                    (!ordered || json_add(arena, ordered, json_key(value), json_clone(arena, value))))
                        return NULL;
        return ordered;
}
