#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Right: one of the words that say what a caller may do. Every operation is declared with the one that it needs
 * (schema/README.md); which kinds of callers have which is the table in right.c, or [rights] of muster.toml. Who
 * a caller is: core/principal/principal.h. What the roles of a contract allow is asked besides, by the contract.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/config.h"
#include "core/principal/web-scope.h"

/* In the order of RIGHTS in scripts/genops/model.py, which has what each is for. */
typedef enum Right {
        RIGHT_READ,
        RIGHT_LOOK,
        RIGHT_MESSAGE,
        RIGHT_ASK,
        RIGHT_TASK,
        RIGHT_REPORT,
        RIGHT_TYPE,
        RIGHT_START,
        RIGHT_STOP,
        RIGHT_WRITE,
        RIGHT_APPROVE,
        RIGHT_ADMIN,
        _RIGHTS,
} Right;

typedef uint32_t RightSet; /* bit n: Right n */
#define RIGHTS_ALL ((RightSet)((1U << _RIGHTS) - 1))

typedef enum PrincipalKind {
        PRINCIPAL_USER,
        PRINCIPAL_FOREMAN, /* an actor that directs its group */
        PRINCIPAL_PEER,    /* another actor */
        PRINCIPAL_SESSION, /* a session of coop, without a sandbox: a terminal of the user */
        PRINCIPAL_TASK,    /* the agent of a task */
        PRINCIPAL_RUN,     /* what a run of AgentCompany started */
        PRINCIPAL_NOBODY,  /* one that has gone before it could be looked at, or whose token is nobody's */
        _PRINCIPAL_KINDS,
} PrincipalKind;

static inline bool right_is_in(RightSet set, Right right) {
        return set & (1U << right);
}

const char *right_name(Right right);
/* Adds what a word says: a right, "all", "none". False: it is none of these. */
bool right_read(Str word, RightSet *set);
const char *principal_kind_name(PrincipalKind kind);
RightSet rights_of_scope(WebScope scope); /* of the user, as far as it reaches */
RightSet rights_of(const Config *config, PrincipalKind kind);
