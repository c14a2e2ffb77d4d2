#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Shape: what an object from outside may look like, as constant data made from schema/shapes/ (gen/shapes.h).
 *
 * Nested arguments and documents are judged by the same tables. A shape says what stands in each member by
 * itself; what members mean together is for those who use them. Nothing here changes the tree.
 */
#include <stdint.h>

#include "core/issues.h"

typedef enum ShapeType {
        SHAPE_ANY,
        SHAPE_STRING,
        SHAPE_TIME, /* a string: ISO date and time, with a zone or without */
        SHAPE_BOOL,
        SHAPE_INT, /* by value: 1.0 is one */
        SHAPE_NUMBER,
        SHAPE_OBJECT, /* that fits shape */
        SHAPE_ARRAY,  /* whose elements fit items */
        SHAPE_MAP,    /* an object with any names, whose values fit items */
} ShapeType;

enum {
        SHAPE_OPTIONAL = 1 << 0,
        SHAPE_NULLABLE = 1 << 1,  /* null is a value, too */
        SHAPE_NON_EMPTY = 1 << 2, /* strings, arrays and maps */
};

typedef struct Shape Shape;
typedef struct ShapeMember {
        const char *name;
        uint8_t type; /* ShapeType */
        uint8_t flags;
        int64_t min, max;         /* of numbers; INT64_MIN, INT64_MAX: no bound */
        const char *const *words; /* strings: those allowed, NULL-terminated; NULL: any */
        const Shape *shape;
        const struct ShapeMember *items;
} ShapeMember;

typedef struct ShapeVariant {
        const char *word;
        const Shape *shape;
} ShapeVariant;

struct Shape {
        const char *name;
        const ShapeMember *members;
        size_t n_members;
        bool is_strict;               /* unknown members do not fit; else they are left alone */
        const char *tag;              /* the member whose word chooses the variant; NULL: there are none */
        const ShapeVariant *variants; /* ended by one without a word */
};

/* Adds what does not fit to issues; at: where json stands (NULL: it is the whole). True: it fits. */
bool shape_check(const Shape *shape, const Json *json, const IssueStep *at, Issues *issues);
/* The same of one value that is no object of its own: an element, a member. */
bool shape_check_value(const ShapeMember *member, const Json *json, const IssueStep *at, Issues *issues);
/* Whether it fits, for those who only pass over what does not. */
bool shape_fits(const Shape *shape, const Json *json);
/* A copy with its members in the order of the shape, unknown ones behind them. NULL without memory. */
Json *shape_ordered(Arena *arena, const Shape *shape, const Json *json);
