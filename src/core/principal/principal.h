#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Principal: who is calling, and what that caller may do. Found out by the first of these that holds, at the
 * first call of a connection for which it matters:
 *
 *   cgroup     it is in the control group of a hosted process
 *   process    it is below one, or below its shim: what forks away stays there
 *   token      it has said the MUSTER_TOKEN of one (`@token HEX` before anything else), for containers
 *   user       nothing of these: whoever gets through to a socket of ours as the same user
 *   web        over HTTP: who shows a token of core/web/tokens.h is the user, as far as the token reaches
 *              (core/web/access.h)
 *
 * What callers say of themselves, by environment, argument or token, can narrow this (a person acts as an actor)
 * and never widen it: what contradicts it is refused as IDENTITY_MISMATCH, what its rights do not have as
 * FORBIDDEN. Both hold at the native socket, in whatever dialect but AgentCompany's, whose own socket it is; at the
 * sockets of the contracts `by` is what its caller says, unless security.by is "checked".
 *
 * On every socket two kinds of callers may look (RIGHT_READ and RIGHT_LOOK without OP_REVEALS) and do nothing else:
 *
 *   sandboxed  a process in a sandbox that we host, by its PID namespace and its place below a shim; looked
 *              at when it connects, and so it stays
 *   TCP        nobody can tell which process it is; it counts as sandboxed while there is a sandbox, unless
 *              it has said the token of the daemon, which no sandbox shows
 *
 * Not here: users (wire/listener.h), roles of contracts. An honest limit: without a sandbox a process of the same
 * user can get out of its tree (docs/security.md). Owned by its Client.
 */
#include "base/json/json.h"
#include "core/call.h"
#include "core/principal/right.h"
#include "core/principal/web-scope.h"

typedef struct Client Client;
typedef struct Op Op;
typedef struct Token Token;

typedef enum PrincipalProof {
        PROOF_NONE, /* it was not looked at yet */
        PROOF_USER,
        PROOF_TOKEN,
        PROOF_PROCESS,
        PROOF_CGROUP,
        PROOF_WEB,
} PrincipalProof;

typedef struct Principal {
        PrincipalProof proof;
        PrincipalKind kind;
        const char *trouble; /* of PRINCIPAL_NOBODY, or of a token that contradicts: why; NULL: none */
        char *name;          /* "actor:G/A"; NULL: the kind says it */
        Str group, actor;    /* of an actor: parts of the name; else empty */
        RightSet left;       /* what its domain leaves it of the rights of its kind */
        bool is_settled;     /* kind and left are known, or cannot be */
        char id[17];         /* of the hosted process; "": none */
        char *token;         /* that it has said; NULL: none */
        WebScope scope;      /* PROOF_WEB: how far it reaches … */
        char *object; /* … and to what alone, by its name in the fleet; NULL: it has shown no token; "": to all */
} Principal;

/* Looks whether it is in a sandbox, if that can matter: a few reads of /proc, no waiting. */
void principal_establish(Client *client);
/* It says a token. */
int principal_say_token(Client *client, Str token);
/* Over HTTP: it has shown this token (NULL: none yet, and may call nothing). -ENOMEM: then it may call nothing. */
int principal_be_web(Client *client, const Token *token);
void principal_deinit(Principal *principal);
/* Who it is, looked at now if it was not yet. What its domain says of it may change from call to call. */
const Principal *principal_of(Client *client);
const char *principal_name(const Principal *principal);
bool principal_is_person(Str name); /* as it was kept: the user, at a socket or with a device */
const char *principal_proof_name(const Principal *principal);
RightSet principal_rights(const Client *client, const Principal *principal);

/* Whether the call may go on: 0, or what call_fail() has said. At first without arguments, then with them; a `by`
 * that an actor left out is filled in. CALL_LATER: principal_settle() has to find out first. */
int principal_check(Call *call);
bool principal_says_by(const Json *given); /* the arguments as they came */
int principal_check_args(Call *call, bool says_by, void *args);
/* The same for what is known only when the operation has found what is meant, by its whole name: another right than its
 * own. */
int principal_require(Call *call, Right right, Str name);
bool principal_may(Client *client, Right right, Str name); /* the same, for who asks for no operation */
/* Keeps what was refused, here or by a dialect, in the audit ledger. claim: who it said it is; empty: nothing. */
void principal_audit(Client *client, const char *code, const Op *op, Right right, Str claim);
/* Goes on with then() once its domain has told what the caller is there: what that returned, or CALL_LATER. Its client
 * may have gone by then. */
int principal_settle(Call *call, CallThenFn then, const Carry *carry);

/* For core/web/access.c. Fails the call, keeps it in the ledger of refusals; returns error. claim: what it said, or
 * wanted. */
int principal_refuse(Call *call, int error, Right right, const Principal *who, Str claim, const char *why);
/* Of a text among the arguments; NULL: there is none of that name. */
Str *principal_value(const Op *op, void *args, const char *name);
