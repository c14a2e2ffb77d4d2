#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Issues: everything that does not fit in a value from outside, each with a code, the place and a text.
 *
 * Arguments of operations and documents are judged with it. It lives in an arena of the caller's. Without
 * memory is_failed is set and the list is not whole; callers look at it once, at the end.
 */
#include "base/json/json-writer.h"

typedef enum IssueCode {
        ISSUE_INVALID_TYPE, /* also: a member is missing */
        ISSUE_INVALID_ENUM, /* none of the words allowed */
        ISSUE_TOO_SMALL,    /* also: empty */
        ISSUE_TOO_BIG,
        ISSUE_UNKNOWN_KEYS, /* a member that a strict object does not have */
        ISSUE_INVALID_TEXT, /* a string that does not have its form */
        ISSUE_CUSTOM,       /* members that do not fit together */
} IssueCode;

enum { ISSUES_MAX = 200 }; /* issues of one value; what is wrong beyond them is not told */

/* One step of the way to a value; a chain of them lies on the stack of whoever walks. */
typedef struct IssueStep {
        const struct IssueStep *up; /* NULL: the value itself */
        Str key;                    /* of a member … */
        size_t index;               /* … or of an element, when key.data is NULL */
} IssueStep;

typedef struct Issue {
        struct Issue *next;
        IssueCode code;
        Str path;    /* a JSON array of names and indexes */
        Str message; /* a sentence about the value at path, without its name: "must be a string" */
} Issue;

typedef struct Issues {
        Arena *arena;
        Issue *first, *last;
        size_t n; /* also those beyond ISSUES_MAX */
        bool is_failed;
} Issues;

#define ISSUES(arena_) ((Issues){.arena = (arena_)})

const char *issue_code_name(IssueCode code); /* as on the wire */
/* at: NULL is the whole value. */
void issues_add(Issues *issues, IssueCode code, const IssueStep *at, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* [{"code","path","message"}] */
void issues_write(const Issues *issues, JsonWriter *w);
/* The first one as a sentence: "target.project_id must be a string". In the arena; "" when there is none. */
Str issues_text(const Issues *issues);
