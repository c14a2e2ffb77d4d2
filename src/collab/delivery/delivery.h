#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Delivery: messages on their way into the terminals of a group's actors.
 *
 * What has to be typed is found in the group's ledger, and what became of it is written down in a ledger of
 * our own, state/delivery.jsonl: one line per fact, event and actor.
 *
 *   mark       lines of the group's ledger up to this time were there before us: they are not typed
 *   queued     it waits for this actor
 *   handing    it is about to be typed into this session: written before the first byte leaves
 *   handed     the terminal has taken all of it
 *   accepted   the terminal has taken the key that submits it, too
 *   requeued   it will be typed after all: the session has ended before it was accepted, or took nothing
 *   doubt      a daemon died while handing it to a session that still runs: it is not typed again
 *   dropped    it will not be typed; "why" says so
 *   taken      a hook has it: at the boundary of a turn, so that it was not typed at all, or it tells that what was typed is a prompt
 *   stalled    it was typed, and no hook has told of a prompt since: its key was pressed once more
 *
 * So a queue survives the daemon, and what was handed to a session is never typed into it again. What was
 * read, acknowledged and answered is in the group's ledger. One mailbox per actor is the only one that types
 * into its terminal for messages.
 *
 * Owned by its group (GROUP_SLOT_DELIVERY); closes after it, when its own ledger is closed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collab/actor/runner.h"
#include "collab/group/group-doc.h"
#include "collab/parts.h"
#include "core/ledger/follower.h"

/*
 * The gate of a mailbox: whether something may be typed into a terminal now, and if not, why and until when.
 * Pure: facts in, answer out. All times are those of the loop's clock, in ms.
 */

typedef enum MailWhy {
        MAIL_GO,
        MAIL_EMPTY,     /* nothing is queued */
        MAIL_STOPPED,   /* the actor does not run */
        MAIL_PAUSED,    /* the group is paused */
        MAIL_IDLE,      /* the group is idle, and only notices are queued */
        MAIL_STARTING,  /* the program has just started */
        MAIL_THROTTLED, /* delivery.min_interval_seconds, or a second, in which what is sent goes together */
        MAIL_FAILED,    /* the last attempt failed, or the terminal took nothing */
        MAIL_BEHIND, /* another program is in front of the terminal; not of the gate, which knows no terminals */
        MAIL_BUDGET,  /* a budget is used up: nothing new begins */
        MAIL_LIMITED, /* a limit of its account is reached, or its turn behind it has not come */
        MAIL_TURN, /* its turn runs: handed over at its end; or it waits for a person: what is typed would answer */
        _MAIL_WHYS,
} MailWhy;

enum {
        GATE_OUTPUT_MS = 1000,   /* after the first output */
        GATE_SILENT_MS = 10000,  /* after the start, when nothing is printed or paste is not switched on */
        GATE_EVERY_MS = 1000,    /* between two attempts, and from the first that is queued to its own */
        GATE_FAILED_MS = 5000,   /* after a failed one */
        GATE_SUBMIT_MS = 1500,   /* from the text to the key */
        GATE_PREAMBLE_MS = 2000, /* from the preamble's key to the first message */
        GATE_BLOCKED_MS = 5000,  /* so long a terminal may take nothing */
        GATE_BLOCKED_STEP_MS = 100,
        GATE_TURN_MS = 60000, /* so long the end of a turn is waited for before it is typed after all */
        GATE_CONFIRM_MS =
                8000, /* for a hook to tell of the prompt that was typed, and again behind the second key */
        GATE_OFFER_MS = 2000, /* for a hook to say that it has what it was given */
};

typedef struct GateFacts {
        int64_t now_ms;
        size_t n_chat, n_notices; /* queued */
        int64_t queued_ms;        /* since when there is something */
        GroupState state;
        bool is_running, is_introduced; /* the preamble was sent in this session */
        int64_t started_ms;
        int64_t output_ms, paste_ms; /* first output, paste switched on; < 0: not yet */
        int64_t tried_ms,
                failed_ms; /* the last attempt that went well, and the last that did not; < 0: none */
        int64_t min_interval_ms;
} GateFacts;

/* *ret_due_ms: when to ask again; INT64_MAX: when something has changed. */
MailWhy delivery_gate(const GateFacts *facts, int64_t *ret_due_ms);

/*
 * Why something is not typed, or not at once, that does not wait at the gate. Those up to REASON_MOVED stand as
 * "why" in facts; the others have no fact and are found when somebody asks (delivery_never()).
 */
typedef enum MailReason {
        REASON_NONE,
        /* dropped */
        REASON_FULL,        /* DELIVERY_QUEUE_MAX wait already */
        REASON_MEMORY,      /* there was no memory to queue it */
        REASON_NO_TERMINAL, /* the actor is headless now */
        REASON_REMOVED,     /* the actor is gone */
        REASON_ACTIVE,      /* a notice of automation that waited while the group was not active */
        REASON_GONE,        /* the group's ledger does not have it any more */
        /* requeued */
        REASON_ENDED,   /* the session ended before it was accepted */
        REASON_BLOCKED, /* the terminal took nothing for GATE_BLOCKED_MS, or keys of others wait there */
        REASON_FAILED,  /* the text could not be made, or its facts could not be kept */
        REASON_BEHIND,  /* another program came in front of the terminal */
        REASON_UNTAKEN, /* a hook was given it, and did not say that it has it */
        REASON_MOVED,   /* what was read is not what is there any more: from the beginning */
        /* never queued, and no fact says so */
        REASON_HEADLESS,    /* the actor has no terminal */
        REASON_ADDED_LATER, /* the actor was made after it was sent */
        REASON_NO_ID,       /* the line has none: nothing could be written down of it */
        REASON_LONG_ID,     /* DELIVERY_ID_MAX */
        REASON_REPEATED,    /* an earlier line has the same id */
        REASON_NOT_OPEN,    /* our own ledger is not open */
        REASON_NOT_JUDGED,  /* the judge has not come to it */
        REASON_BEFORE,      /* it was in the ledger before the first delivery of this group */
        REASON_ARCHIVED,    /* it was settled so long ago that its facts were moved away */
        REASON_UNREAD,      /* its facts, if there are any, were not looked up */
        REASON_OTHERS,      /* when it was judged it was not for this actor, or the actor had no terminal */
        _REASONS,
} MailReason;

enum {
        DELIVERY_QUEUE_MAX = 1000, /* per actor; more are dropped (recorded) and stay unread in the inbox */
        DELIVERY_BATCH_MAX = 32,   /* messages typed at once */
        DELIVERY_BATCH_BYTES = 256 << 10, /* … and bytes of their lines */
        DELIVERY_LINES_MAX =
                20000, /* of our own ledger: at the next opening settled ones go to an archive */
        DELIVERY_LINES_KEPT = 2000, /* … but for the newest */
        DELIVERY_ID_MAX = 128,      /* bytes of an event's id; longer ones cannot be delivered */
};

typedef struct Delivery Delivery;
typedef struct Mailbox Mailbox;
typedef struct MailItem MailItem;

typedef enum MailFact {
        FACT_MARK,
        FACT_QUEUED,
        FACT_HANDING,
        FACT_HANDED,
        FACT_ACCEPTED,
        FACT_REQUEUED,
        FACT_DOUBT,
        FACT_DROPPED,
        FACT_TAKEN,
        FACT_STALLED,
        _FACTS,
} MailFact;

struct MailItem {
        MailItem *next;
        char *event_id;
        char *what; /* "chat", or the kind of a notice */
        int64_t queued_us;
        MailFact fact;  /* the last one */
        char *session;  /* replay: that it was handed to */
        bool is_typing; /* part of what is being typed */
};

typedef enum MailPhase {
        MAIL_WAITING,    /* at the gate */
        MAIL_PREPARING,  /* files or lines are being read */
        MAIL_RECORDING,  /* that it will be typed is being written down */
        MAIL_HELD,       /* the preamble, which is written down, while another program is in front */
        MAIL_WRITING,    /* the terminal takes the text */
        MAIL_SUBMITTING, /* a pause before the key */
        MAIL_KEYED,      /* the terminal takes the key */
        MAIL_RESTING,    /* the preamble is in, the messages follow */
        MAIL_OFFERED,    /* a hook was given the text, and has not said that it has it */
        MAIL_CONFIRMING, /* the key is in; a hook is to tell of the prompt */
        _MAIL_PHASES,
} MailPhase;

/* A hook that waits for what there is. offered() ends its call, with an empty text if there is nothing. */
typedef struct MailOffer {
        Call *call; /* NULL: none waits */
        void (*offered)(Call *call, Str text, void *user);
        void *user;
} MailOffer;

struct Mailbox {
        Delivery *delivery;
        Mailbox *next;
        char *actor;
        MailItem *items, **items_end;
        size_t n_items;
        Timer timer;
        MailPhase phase;
        MailWhy why; /* of MAIL_WAITING */
        int64_t due_ms;
        char in_front[PROCESS_NAME_MAX]; /* the program for which it waits; "": none */

        char session[48]; /* "<pid>:<start µs>" of the terminal that the rest is about; "": none */
        bool is_introduced,
                is_preamble; /* the session knows who it is; the text under way is what says so */
        int64_t queued_ms, started_ms, output_ms, paste_ms, tried_ms, failed_ms;
        Viewer viewer; /* for the first output and the paste mode */

        MailOffer offer; /* instead of the terminal */
        bool is_keyed_twice;
        Buf text;         /* being typed */
        size_t n_written; /* bytes of it, as they went to the terminal */
        size_t n_pending; /* bytes that the terminal had not taken right after that */
        int64_t written_ms;
        LedgerRead read;
};

struct Delivery {
        Collab *collab;
        Group *group; /* NULL: it has gone before us */
        unsigned n_refs;
        char *path, *state_path, *sent_path;
        Ledger *ledger;                 /* ours; NULL: not open */
        bool is_ready, is_failed;       /* neither: it is being opened and read */
        int64_t first_mark_us, mark_us; /* of the first mark and the last; < 0: none yet */
        LedgerFollower lines;           /* of the group's ledger: those before its position were judged */
        struct FactRecord *judging;     /* what the lines of this turn have queued; NULL: nothing yet */
        Mailbox *mailboxes;
};

/* An automation notice is typed whatever its priority is. */
void delivery_queue_notice(Group *group, Str actor, Str event_id, Str kind);

/* At the boundary of a turn of this actor. False: nothing can be given now, and the offer's call is left alone. True: offered() follows,
 * perhaps at once. */
bool delivery_offer(Collab *collab, Str group_id, Str actor, const MailOffer *offer);
/* A hook tells that a turn of this actor begins, with this prompt; empty: it does not say which. */
void delivery_heard(Collab *collab, Str group_id, Str actor, Str prompt);
bool delivery_took(Collab *collab, Str group_id,
                   Str actor); /* the hook has it; false: too late, it must not be used */

extern const CollabPart delivery_part;

/* For the parts of delivery*.c and mailbox*.c. */
Delivery *delivery_of(const Group *group); /* NULL: nothing was ever delivered here */
Delivery *delivery_ref(Delivery *delivery);
void delivery_unref(Delivery *delivery);
bool delivery_is_live(const Delivery *delivery); /* the group is there and not being deleted */
/* "open", "opening", "failed", or "none" when nobody in the group has a terminal. */
const char *delivery_state(const Group *group);
/* Why this event, of which no fact is known, is not typed to the actor. position: in the group's ledger. */
MailReason delivery_never(const Group *group, uint64_t position, const Json *event, const ActorView *actor);

/* mail-words.c */
const char *mail_fact_name(MailFact fact);
bool mail_fact_from(Str name, MailFact *ret); /* false: there is none of this name */
const char *mail_why_name(MailWhy why);
const char *mail_phase_name(MailPhase phase);    /* NULL of MAIL_WAITING */
const char *mail_reason_name(MailReason reason); /* NULL of REASON_NONE */

/* delivery-ledger.c: lines of our own ledger. */
/* Facts that go together; done may be NULL. file: one that is replaced with them, or NULL. */
typedef struct FactRecord FactRecord;
struct FactRecord {
        Delivery *delivery;
        Mailbox *mailbox;
        void (*done)(FactRecord *record, int r); /* before the record is freed */
        LedgerChange change;
        int r;
};
FactRecord *fact_record_new(Delivery *delivery, Mailbox *mailbox, void (*done)(FactRecord *record, int r));
void fact_record_add(FactRecord *record, MailFact fact, Str actor, const MailItem *item, MailReason reason);
int fact_record_commit(FactRecord *record); /* takes it; negative: done() does not follow */

int delivery_open(Delivery *delivery); /* then replays it and begins to judge */

/* mailbox.c */
Mailbox *mailbox_get(Delivery *delivery, Str actor); /* made when missing; NULL without memory */
Mailbox *mailbox_find(const Delivery *delivery, Str actor);
void mailbox_free(Mailbox *mailbox);
/* REASON_NONE: *ret is queued; else REASON_FULL, REASON_MEMORY, or what is wrong with the id. */
MailReason mailbox_push(Mailbox *mailbox, Str event_id, Str what, int64_t now_us, MailItem **ret);
MailReason mail_id_fault(Str event_id); /* REASON_NO_ID, REASON_LONG_ID; REASON_NONE: it can be queued */
MailItem *mailbox_item(const Mailbox *mailbox, Str event_id);
void mailbox_remove(Mailbox *mailbox, MailItem *item);
/* Drops those that should go, and writes it down. */
void mailbox_drop(Mailbox *mailbox, bool (*is_dropped)(const MailItem *item), MailReason reason);
void mailbox_kick(Mailbox *mailbox);             /* something has changed: looks again in the next turn */
const char *mailbox_why(const Mailbox *mailbox); /* nothing is typed now; or what is done */
/* Whether what is typed now gets to the agent; if not, in_front says what has its terminal. */
bool mailbox_is_in_front(Mailbox *mailbox);
bool mail_item_is_automation(const MailItem *item);

Runner *mailbox_runner(const Mailbox *mailbox); /* its terminal; NULL: does not run */
bool mailbox_has_session(const Mailbox *mailbox);
size_t runner_session(const Runner *runner, char out[48]);

bool mailbox_has_mail(
        const Mailbox *mailbox);       /* that may be given to the actor in the present state of the group */
void mailbox_settle(Mailbox *mailbox); /* what was under way is with the actor */

/* mailbox-offer.c */
void mailbox_hand_over(Mailbox *mailbox);
void mailbox_end_offer(Mailbox *mailbox, Str text); /* none waits: fine */
bool mailbox_is_confirmed(
        const Mailbox *mailbox); /* by a hook: its program tells of prompts, and waits for one */
bool mailbox_is_in_turn(const Mailbox *mailbox, int64_t queued_ms, int64_t now_ms);

/* mailbox-type.c */
void mailbox_prepare(Mailbox *mailbox);
/* Ends what is under way: it will be typed again, after a failure (REASON_BLOCKED, REASON_FAILED) later. */
void mailbox_requeue(Mailbox *mailbox, MailReason reason);
void mailbox_phase(Mailbox *mailbox, MailPhase phase, int64_t after_ms); /* < 0: no timer */
void mailbox_record_typing(Mailbox *mailbox, MailFact fact, MailReason reason);
void mailbox_type(Mailbox *mailbox); /* the text, now */
