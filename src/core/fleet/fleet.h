#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Fleet: one name for everything that is hosted, whatever contract it belongs to, and one lookup for it
 * (docs/names.md).
 *
 *   actor:GROUP/ACTOR   session:NAME   session:NAME.N   task:PROJECT/TASK   run:WORKSPACE/RUN
 *
 * A name outlives the process that it is about. A word is looked up as a whole name, as the id of a process,
 * as a short name, by its number, as the beginning of an id (FLEET_ID_MIN digits and more), in this order; what
 * fits first counts, and several that fit alike are ambiguous. Each domain says how its things are called, and does to
 * them what is asked, by its own rules (FleetOwner): nothing here knows any of them. Not here: what has no
 * process and never will (groups, projects), and who may ask (principal.h). Everything is on the loop.
 */
#include "core/call.h"
#include "core/host/host.h"

enum { FLEET_ID_MIN = 4, FLEET_LISTED_MAX = 16 /* names that an ambiguous word is answered with */ };

typedef struct FleetOwner FleetOwner;

/* Texts are in the arena of whoever looked, and end with a NUL. */
typedef struct FleetThing {
        const FleetOwner *owner;
        Str name; /* whole */
        Str place,
                object; /* as its owner knows it: a session; a group, an actor; a project's folder, a task; … */
        unsigned number; /* … of a session: which terminal */
        Str alias;       /* another short name; empty: none */
        Str folder;      /* that it belongs to; empty: none */
        char id[17];     /* of its process; "": there is none now */
} FleetThing;

typedef struct FleetSearch FleetSearch;
typedef struct FleetLook FleetLook;

/* How well a word fits; the first is the best. */
typedef enum FleetFit {
        FLEET_WHOLE,
        FLEET_ID,
        FLEET_SHORT,
        FLEET_NUMBERED,
        FLEET_BEGINS,
        FLEET_NOT
} FleetFit;

typedef struct FleetMessage {
        Str text, by, priority, key; /* by: who sends; key: empty, none */
        const Json *env;             /* of the caller; NULL: none */
} FleetMessage;

/* What a domain does for the fleet. The verbs get a call of their own, return like a handler and answer what
 * they like; NULL: it does not fit this kind. */
struct FleetOwner {
        const char *owner; /* as in Hosted */
        const char *kind;  /* before the colon */
        /* Fills place, object, number, alias, folder and the name of a process, which may be one that nobody
         * looks after. Negative: out of memory; positive: it cannot be told. */
        int (*describe)(Daemon *daemon, const Hosted *hosted, Arena *arena, FleetThing *ret);
        /* How the word, without its kind, fits as a form that only this kind has. NULL: it has none. */
        FleetFit (*fit)(const FleetThing *thing, Str word, bool is_of_kind);
        /* Offers (fleet_offer()) what has no process now and may be meant; NULL: there is no such. */
        int (*offer)(Daemon *daemon, FleetSearch *search);
        /* Looks where it takes a while, after all else was in vain; fleet_sought() follows. NULL: nowhere. */
        int (*seek)(Call *call, FleetLook *look);

        int (*kill)(Call *call, const FleetThing *thing, Str by, bool is_forced);
        int (*restart)(Call *call, const FleetThing *thing, Str by, const Json *env);
        int (*start)(Call *call, const FleetThing *thing, Str by, const Json *env);
        int (*send)(Call *call, const FleetThing *thing, const FleetMessage *message);
        Right send_right;                                 /* that this needs, of its kind */
        int (*logs)(Call *call, const FleetThing *thing); /* {"output"} of what has no process any more */
        const char *hint; /* for who asks for a verb that does not fit; NULL: none */
};

struct FleetSearch {
        Arena *arena;
        Str word;
        Str rest;                /* without its kind */
        const FleetOwner *owner; /* whose kind it names; NULL: none was named */
        FleetFit fit;            /* of those that were found */
        FleetThing *found;
        size_t n_found, n_max;
};

/* How a process is called; name is empty when nobody can tell. 0 or -ENOMEM. */
int fleet_describe(Daemon *daemon, const Hosted *hosted, Arena *arena, FleetThing *ret);
/* All that is meant, as well as each other; of one name once. 0 or -ENOMEM. */
int fleet_search(Daemon *daemon, Arena *arena, Str word, FleetSearch *ret);
int fleet_offer(FleetSearch *search, const FleetThing *thing); /* copied */
/* Those that were found, as the details of an error and as a text. 0 or -ENOMEM. */
int fleet_write_found(const FleetSearch *search, JsonWriter *w, Buf *ret_text);
/* Of several the one whose folder holds this one most closely; false: it is still not clear. */
bool fleet_prefer(FleetSearch *search, Str folder);
/* Whether the path is the folder, or lies in it. */
bool fleet_is_below(Str path, Str folder);
/* The process that a word means which is no session's: an id, a whole or short name. NULL: none, or several. */
Hosted *fleet_find_hosted(Daemon *daemon, const char *but_owner, Str word);
const FleetOwner *fleet_owner_of_kind(const Daemon *daemon, Str kind); /* NULL: none */

/* Finds what the word means, and runs fn with it: at once, or in a later turn. folder: of the caller, to choose
 * among several; empty: not known. Fails the call with CALL_E_NAME_NOT_FOUND or CALL_E_AMBIGUOUS_NAME, with the
 * names as its details. As a handler returns. */
typedef int (*FleetFn)(Call *call, const FleetThing *thing, const Carry *carry);
int fleet_call(Call *call, Str word, Str folder, FleetFn fn, const Carry *carry);

struct FleetLook { /* in the call's arena */
        Carry carry;
        Str word, rest;
        FleetFn fn;
        const Carry *then;
};
/* The end of FleetOwner.seek(); thing NULL: nothing. Returns what a handler returns. */
int fleet_sought(Call *call, const FleetLook *look, const FleetThing *thing);
