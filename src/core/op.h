#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Op: one operation of one dialect, declared in schema/<dialect>/<op>.json and nowhere else.
 *
 * The generator (scripts/gen-ops.py) turns each declaration into an argument struct, a field table for the
 * decoder below and a row of the dialect's OpTable; adding an operation touches no existing C file. All of
 * this is constant data.
 */
#include "core/issues.h"
#include "core/principal/right.h"
#include "core/principal/web-scope.h"

typedef struct Call Call;

/*
 * Carry: what a call carries from one of its steps to the next. A handler that goes on in a later turn (when a
 * group is loaded, a line is read, a process has ended) names the function that goes on and what that is to
 * get: the argument struct, which has a Carry as its first member, or a struct of the handler's own with one.
 * The function finds the whole struct again:
 *
 *   static int ack_check(Call *call, Group *group, const Json *event, const Carry *carry) {
 *           const CcccChatAckArgs *args = container_of(carry, CcccChatAckArgs, carry);
 *
 * It holds nothing, so its const says nothing about the struct around it, which lives as long as the call.
 */
typedef struct Carry {
} Carry;

typedef enum OpType {
        OP_STRING,  /* Str, NUL-terminated copy; data is NULL when absent */
        OP_BOOL,    /* bool */
        OP_INT,     /* int64_t within min..max */
        OP_NUMBER,  /* double within min..max; INT64_MIN, INT64_MAX: no bound */
        OP_STRINGS, /* StrList */
        OP_OBJECT,  /* const Json *, a copy; NULL when absent, as the next two */
        OP_ARRAY,   /* const Json *, a copy */
        OP_ANY,     /* const Json *, a copy */
} OpType;

enum {
        OP_FIELD_REQUIRED = 1 << 0,  /* absent: an error */
        OP_FIELD_NON_EMPTY = 1 << 1, /* an empty string, list or object does not fit */
        OP_FIELD_TRIM = 1 << 2,      /* white space around a string is dropped */
        OP_FIELD_NULLABLE =
                1 << 3, /* null counts as absent (lenient tables: always so, but null is a false bool) */
        OP_FIELD_FILLED = 1 << 4, /* no string of a list is empty */
};

typedef struct StrList {
        Str *items;
        size_t n;
} StrList;

typedef struct OpField {
        const char *name;
        uint8_t type; /* OpType */
        uint8_t flags;
        uint16_t offset;           /* of the value in the argument struct */
        uint16_t has_offset;       /* of its bool has_NAME; 0: none */
        int64_t min, max;          /* OP_INT, OP_NUMBER */
        const char *const *words;  /* OP_STRING: the values allowed, NULL-terminated; NULL: any */
        const char *default_text;  /* OP_STRING: the default itself; else its JSON text; NULL: zero value */
        const struct Shape *shape; /* OP_OBJECT, OP_ARRAY: what it, or each element, fits; NULL: anything */
} OpField;

/* An argument that is refused when it is given: newer clients mean something by it that is not served. */
typedef struct OpRefusal {
        const char *name;
        const char *why;           /* behind its name: "is …" */
        const char *const *spared; /* values that change nothing, NULL-terminated; NULL: none */
} OpRefusal;

enum {
        OP_WRITES = 1 << 0,  /* changes kept state: its reply follows its commit */
        OP_STREAMS = 1 << 1, /* a good reply turns the connection into a stream */
        OP_SLOW = 1 << 2,    /* may answer in a later turn */
        OP_PLANNED = 1 << 3, /* of the contract, but answers that it is not built yet */
        OP_REVEALS = 1 << 4, /* shows what a sandbox hides: terminals of others */
        OP_PARAMS = 1 << 5,  /* its arguments must be given, even if there are none */
        OP_TELLS = 1 << 7,   /* … of messages of the dialect, not of something else */
        OP_CLOSED = 1 << 6,  /* with issues: an argument that it does not have is one */
};

typedef struct Op {
        const char *name;
        const OpField *fields;
        const OpRefusal *refusals;
        uint16_t n_fields;
        uint16_t n_refusals;
        uint16_t args_size;
        Right right;    /* that a caller must have: core/principal/principal.h */
        WebScope scope; /* that a token of the web must have: core/web/access.h */
        const char *
                object; /* the field that names the hosted thing it is about; "": about none; NULL: about several, so
                               not for a token that is for one */
        uint32_t flags;
        int (*run)(Call *call, const void *args);
} Op;

/*
 * How a value that does not fit is taken: strict tables refuse it; lenient ones (CCCC) convert it where they
 * can and else take it as not given, so that the only thing they refuse is the absence of a required field.
 * Tables with issues are strict, but name everything that does not fit, and take integers by value: 1.0 is
 * one.
 */
typedef enum OpConvention { OP_STRICT, OP_LENIENT, OP_ISSUES } OpConvention;

typedef struct OpTable {
        const char *dialect;
        const Op *ops; /* sorted by name, bytewise */
        size_t n_ops;
        OpConvention convention;
} OpTable;

const Op *op_find(const OpTable *table, Str name); /* NULL when there is none */

enum { _OP_E_SUCCESS, OP_E_FIELD };

typedef struct OpFault {
        const char *field; /* the one that does not fit; NULL: the issues say it */
        const char *what;  /* static text: "is required", "must be a string", … */
        Issues issues;     /* OP_ISSUES: all of them, in the arena that op_decode() was given */
} OpFault;

/*
 * Fills args (op->args_size bytes, zeroed here) from a JSON object; json == NULL counts as {}. Unknown
 * members are ignored, unless the op refuses them. Nothing in *args points into json's input afterwards.
 * Condition: OP_E_FIELD, with *reterr set.
 */
int op_decode(const Op *op, OpConvention convention, const Json *json, Arena *arena, void *args,
              OpFault *reterr);
