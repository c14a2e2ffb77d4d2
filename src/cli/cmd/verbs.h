#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Verbs: the second word of `muster group` and `muster actor`. Each is one operation of the contract, its
 * operands, and how the answer is shown.
 */
#include "cli/link/cccc.h"

typedef struct Verb {
        const char *name;
        const char *op;
        const char *usage; /* what stands behind the name */
        int n_min, n_max;  /* operands behind it; n_max -1: any number */
        bool needs_group;
        bool starts_actors;  /* with the caller's environment */
        bool ends;           /* what runs; also of a group that is gone, if its whole id is given */
        bool takes_sandbox;  /* --sandbox and --network */
        bool begins;         /* a daemon is started for it if none runs */
        const char *operand; /* the argument that the first operand is; NULL: none */
        /* Puts the other operands into the arguments; NULL: there are none. Returns an exit status. */
        int (*prepare)(Cccc *cccc, const Options *options, char **operands, int n);
        void (*show)(const Cccc *cccc); /* NULL: no news is good news */
} Verb;

/* The first verb is meant when no operand is given. */
int verbs_run(const char *command, const Options *options, const Verb *verbs, size_t n_verbs);

/* `key=value` words as members of object: JSON where it is some, else text. Returns an exit status. */
int verbs_members(Cccc *cccc, Json *object, char **words, int n);
/* The same as the argument `patch`, with what --sandbox and --network say. */
int verbs_patch(Cccc *cccc, const Options *options, char **words, int n);
/* What they say, as members of object. Returns an exit status. */
int verbs_sandbox(Cccc *cccc, const Options *options, Json *object);
