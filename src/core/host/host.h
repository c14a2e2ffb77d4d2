#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Host: the one table of hosted processes, of every domain and contract: starting, feeding, showing and
 * ending them.
 *
 * A hosted process runs under a muster-shim of its own and outlives this daemon; at start the table is
 * filled again from the folders below <home>/host (host_adopt). Who a process belongs to is said by owner (a
 * domain) and object; the domain keeps what it needs to find its own objects again in meta, a JSON text that
 * the host stores and never looks into. Owned by the Daemon. Viewers belong to whoever shows the output.
 */
#include <sys/queue.h>

#include "base/json/json-writer.h"
#include "base/process.h"
#include "base/sha256.h"
#include "core/call.h"
#include "core/daemon.h"
#include "core/host/host-cgroup.h"
#include "core/host/program.h"
#include "core/term/modes.h"
#include "core/host/ring.h"
#include "core/host/shim.h"
#include "core/principal/right.h"

typedef struct Host Host;
typedef struct Hosted Hosted;
typedef struct Viewer Viewer;
typedef struct Seat Seat;

/*
 *            spec          STARTED           EXITED, output drained
 *   (none) ──────► STARTING ──────► RUNNING ──────────────────────► ENDED
 *                     │  error         │  the shim died
 *                     ▼                ▼
 *                  FAILED            LOST
 */
typedef enum HostedState {
        HOSTED_STARTING,
        HOSTED_RUNNING,
        HOSTED_ENDED,
        HOSTED_FAILED,
        HOSTED_LOST,
        HOSTED_FOREIGN, /* left alone: it is another version's; nothing leads here or away */
} HostedState;

typedef enum HostedEvent {
        HOSTED_EVENT_STARTED,
        HOSTED_EVENT_ENDED,
        HOSTED_EVENT_FAILED,
        HOSTED_EVENT_LOST
} HostedEvent;

typedef struct HostedSpec {
        const char *owner;      /* domain: "sessions", "collab", "tasks" */
        const char *object;     /* of the domain, for people: a session, an actor, a task */
        const Program *program; /* copied */
        const char *sandbox;    /* around it, for people: "none" or "bwrap" */
        bool is_recorded;       /* PTY: into an asciicast, see recording.h */
        const char *title;      /* of the recording; NULL: object */
        ShimKind kind;
        unsigned cols, rows; /* PTY: 0 is HOST_COLS and HOST_ROWS */
        size_t n_ring;       /* 0: the default */
        size_t n_ring_err;   /* pipes: of stderr; 0: as n_ring */
        bool has_no_input;   /* pipes: stdin is /dev/null */
        /* pipes: stdin is this file, which the shim opens: a regular one, and no link itself. Nothing is fed, and
         * a daemon that comes later has nothing to feed again. What cannot be opened fails the start:
         * hosted_start_error() has the words. NULL: none. */
        const char *stdin_path;
        bool is_lossless;      /* pipes: see "Lossless" below */
        unsigned long n_files; /* 0: as the daemon's own at its start */
        HostedLimits limits;
} HostedSpec;

/* What a process is among others of its domain. */
typedef struct Standing {
        bool leads;      /* it directs others */
        RightSet rights; /* what is left to it of those that its kind has */
} Standing;

typedef struct HostedHandler {
        /* NULL: all of its kind are alike. False: it is not known, and stand() finds it out. */
        bool (*standing)(const Hosted *hosted, Standing *ret);
        /* Goes on with then() when it was found out, or cannot be: what that returned, or CALL_LATER. */
        int (*stand)(const Hosted *hosted, Call *call, CallThenFn then, const Carry *carry);
        void (*started)(Hosted *hosted,
                        int error);    /* error: positive errno; then it is gone after this call */
        void (*ended)(Hosted *hosted); /* after its last output was shown; state ENDED or LOST */
} HostedHandler;

/* What the program has asked its terminal while none was there, and is not answered yet. */
typedef struct HostedAsked {
        bool is_open;
        uint64_t from, until;    /* in its output */
        Modes modes;             /* in front of that */
        struct Drawing *drawing; /* the answer that is being made; NULL: none */
} HostedAsked;

/* What was told of the title that the program gives its terminal (host-title.c). */
typedef struct HostedTitle {
        Timer later; /* it is told then */
        int64_t told_ms;
        uint8_t n_told;
        char told[MODES_TITLE_MAX];
} HostedTitle;

struct Hosted {
        Host *host;
        Hosted *next;
        char id[17];
        char *dir;
        char *owner, *object, *workspace, *command, *sandbox;
        char *meta;
        char *account,
                *zone; /* who pays for it, its TZ, as it was started; NULL: none, or not known any more */
        HostedLimits limits;
        char *cgroup;               /* its own; NULL: none */
        char token[SHA256_HEX_MAX]; /* SHA-256 of its MUSTER_TOKEN; "": it has none (an earlier version's) */
        bool has_hooks;             /* it was started with hooks that tell what it does */
        char *recording_path;       /* NULL: it is not recorded */
        char *report;        /* JSON: what it says of itself; NULL: nothing yet. It goes with the daemon */
        struct Agent *agent; /* what it does (core/agents/agents.h); NULL: nothing is known */
        ShimKind kind;
        HostedState state;
        int64_t state_since_us;
        pid_t pid;       /* of the shim's child: in a sandbox what holds the program */
        pid_t agent_pid; /* see hosted_agent_pid(); 0: not found yet */
        int64_t started_us, ended_us;
        int64_t output_us; /* when it last printed something, as far as this daemon has seen; 0: not known */
        int64_t input_us;  /* when somebody last typed at it, the same way; what we type does not count */
        int wait_status;   /* ENDED */
        bool is_adopted;
        bool is_lossless;
        bool is_killed;  /* on our word */
        bool is_stopped; /* for good, but not to be thrown away */

        const HostedHandler *handler; /* the domain's; NULL: nobody is told */
        void *user;

        /* private to core/host */
        ShimRecord *record;
        Mapping *record_mapping;
        uint64_t n_cleared; /* output up to here is not shown any more; the record has it for a later daemon
                             */
        Ring out, err;
        int fd_in, fd_out, fd_err; /* PTY: fd_in == fd_out == master */
        int control;
        LoopChild *shim; /* to be reaped, when it is our child */
        bool is_shim_reaped;
        LoopFd *watch_control, *watch_in, *watch_out, *watch_err;
        uint64_t kept_out, kept_err; /* lossless: the domain needs nothing before these positions */
        char *stdin_path;            /* while it starts */
        bool lacks_stdin;            /* it did not start, because of that file */
        bool is_input_closed; /* by host_close_input(), perhaps with input that is still to be taken */
        bool is_shim_lost;    /* its output is still to be read */
        Buf input;            /* for the process: host_n_input() bytes behind … */
        size_t n_input_taken; /* … those that it has taken */
        uint64_t shown_out, shown_err; /* ring positions up to which viewers were told */
        bool has_exited, tree_is_gone, is_forgotten;
        bool awaits_io; /* adopted; its descriptors are on their way */
        Modes modes;    /* of the terminal, kept over all output */
        unsigned cols, rows;
        unsigned said_cols, said_rows; /* by host_say_size(); 0: never */
        LIST_HEAD(, Viewer) viewers;
        TAILQ_HEAD(, Seat) seats; /* in the order in which they were taken: the first one types */
        size_t n_viewers;
        size_t n_terminals;          /* of them: those that answer what a program asks */
        size_t n_web;                /* of them: pages of browsers */
        struct Recording *recording; /* NULL: none, or it is over */
        struct Drawing *drawing;     /* of the screen, waiting for its turn; NULL: none */
        HostedAsked asked;
        Deferred settle; /* finish what a callback started */
        Timer reopen;    /* nobody has the terminal open: look again */
        HostedTitle title;
};

/* What a kind of viewer makes of bytes for its connections; chunk_new() leaves them as they are. Knows
 * nothing else: it may run on a worker. NULL without memory. */
typedef Chunk *(*HostFrame)(Str bytes);

enum { OUTPUT_KINDS = 3 }; /* of viewers that share what is made; others each have their own made */

/* What viewers get: the same bytes for all, framed once per kind. */
typedef struct HostOutput {
        Str bytes;
        bool is_stderr;
        struct {
                HostFrame frame;
                Chunk *chunk;
        } made[OUTPUT_KINDS];
} HostOutput;

/* NULL without memory. The output keeps it, of the kinds that share until the next is made. */
Chunk *output_framed(HostOutput *output, HostFrame frame);
void output_deinit(HostOutput *output);

/* A screen as it was at some time: bytes that bring a fresh terminal of the same size there. */
typedef struct ScreenDrawn {
        char id[17];       /* of the process */
        uint64_t position; /* of its output, up to which it is drawn */
        Buf text;
        HostOutput output; /* the text; empty: there was no memory for it */
} ScreenDrawn;

/* Somebody who waits for one. Embedded in its owner, who leaves before it goes. */
typedef struct ScreenWait ScreenWait;
struct ScreenWait {
        struct Drawing *drawing; /* NULL: it does not wait */
        LIST_ENTRY(ScreenWait) link;
        HostFrame frame; /* made while it is drawn, of the one that waited first */
        void (*drawn)(ScreenWait *wait, ScreenDrawn *drawn);
};

/* One place that shows a process's output. Embedded in its owner. */
struct Viewer {
        Hosted *hosted;
        LIST_ENTRY(Viewer) link;
        bool is_passive; /* no terminal: it only looks */
        bool is_web;     /* a page of a browser */
        void (*output)(Viewer *viewer, HostOutput *output);
        void (*closed)(Viewer *viewer);  /* an output has ended, perhaps before the process; may be NULL */
        void (*resized)(Viewer *viewer); /* the terminal has another size; may be NULL */
        void (*room)(Viewer *viewer);    /* input is taken again after host_write() said FULL; may be NULL */
        void (*ended)(Viewer *viewer);   /* after its last output, before the domain is told; may be NULL */
};

/*
 * A place at a terminal at which one client types at a time, whatever contract it speaks. Who came first
 * types; when it leaves, the one that has waited longest is promoted. Who takes no seat only looks, or
 * belongs to a domain whose terminals all may type at. Embedded in its owner.
 */
struct Seat {
        Hosted *hosted; /* NULL: none is taken, or the process has ended */
        TAILQ_ENTRY(Seat) link;
        const char *by;               /* who sits there, for people; good for as long as the seat is taken */
        void (*promoted)(Seat *seat); /* what it types counts from now on */
};

enum {
        HOST_INPUT_MAX = 1 << 20,   /* bytes of input waiting for a process: above it senders are held */
        HOST_SHORT_READ = 1 << 10,  /* a read of fewer bytes is the last one of its turn */
        HOST_TURN_BYTES = 64 << 10, /* output taken from one process per turn */
        HOST_REST_MAX = 4 << 20,    /* output taken from one that has ended, at once */
        HOST_REOPEN_MS = 50,        /* how often a terminal that nobody has open is looked at */
        HOST_TITLE_MS = 5000,       /* between two items of the feed on the title of one terminal */
};

enum { HOST_COLS = 120, HOST_ROWS = 40 }; /* of a terminal for which nobody said a size */

enum { _HOST_E_SUCCESS, HOST_E_FULL, HOST_E_ENDED, HOST_E_WORKSPACE, HOST_E_META, HOST_E_NO_LIMIT };

int host_new(Host **ret, Daemon *daemon);
Host *host_free(Host *host); /* lets go of everything; the processes run on */
/* Finds the processes of earlier daemons. found() is called for each, alive or ended; it may set handler and
 * user. */
int host_adopt(Host *host, void (*found)(Hosted *hosted, void *user), void *user);
Hosted *host_first(Host *host);
/* Told of every change of a state, after the feed, and before one is forgotten; one of them. */
typedef struct HostWatch {
        void (*changed)(Hosted *hosted, void *user);
        void (*gone)(Hosted *hosted, void *user);
        /* Somebody sits down at its terminal, or types at it; may be NULL. */
        void (*seated)(Hosted *hosted, void *user);
        /* Pipes: it has printed something to its stdout; may be NULL. */
        void (*printed)(Hosted *hosted, void *user);
} HostWatch;
void host_watch(Host *host, const HostWatch *watch, void *user);
Hosted *host_find(Host *host, Str id);
/* host-caller.c: what is in a sandbox, of every domain. A record that nobody can read counts as one. */
bool hosted_is_sandboxed(const Hosted *hosted);
bool host_has_sandboxed(const Host *host); /* now: one that runs, or may run */
/* Whether the process of this number is in one of them. One that is gone, or cannot be told, counts. */
bool host_is_sandboxed_caller(const Host *host, pid_t pid);
/* Which of them the process of this number belongs to, by its control group or by its parents: what forks away
 * stays below its shim. *ret: NULL, none. -ESRCH: it is gone, or nobody can tell. */
int host_find_caller(Host *host, pid_t pid, Hosted **ret, bool *ret_by_cgroup);
bool host_has_callers(const Host *host);             /* there are processes that could call */
Hosted *host_find_token(Host *host, Str token);      /* NULL: of none that runs */
const char *hosted_state_name(const Hosted *hosted); /* "ending": it lives, but was told to go */

/* Starts one; handler->started follows in a later turn. A daemon that hosts nothing has no host (NULL), and
 * this fails. Conditions: HOST_E_WORKSPACE, HOST_E_NO_LIMIT (host_missing_limit() says which), HOST_E_META (too
 * long to be found again). */
int host_start(Host *host, const HostedSpec *spec, const HostedHandler *handler, void *user, Hosted **ret);
/* What stands in the way of these limits, in words; NULL: nothing. */
const char *host_missing_limit(const Host *host, const HostedLimits *limits);
/* Takes all of bytes, in order. Conditions: HOST_E_FULL (taken, but hold your sender until viewer->room()),
 * HOST_E_ENDED. */
int host_write(Hosted *hosted, Str bytes);
/* The same of what the daemon types by itself, such as messages: nobody sits there because of it. */
int host_feed(Hosted *hosted, Str bytes);
/* Bytes that the process has not taken yet. */
static inline size_t host_n_input(const Hosted *hosted) {
        return hosted->input.n - hosted->n_input_taken;
}
/* Pipes: the process reads the end of its input behind what was written so far. Once is enough, more is fine;
 * one without an input has it closed anyway. Condition: HOST_E_ENDED. -ENOTSUP: a terminal, or a shim of an earlier version. Should this
 * daemon be killed before the process has taken what was written, the rest is lost and the input stays open:
 * whoever adopts it says it again. */
int host_close_input(Hosted *hosted);
/* Takes the last n bytes back: true, if exactly these wait and the process has taken none of them. */
bool host_take_back(Hosted *hosted, size_t n);
/* What belongs to the scrollback although this process did not print it: shown to who attaches, not
 * recorded. */
void host_put_past(Hosted *hosted, Str bytes);
bool host_is_full(const Hosted *hosted);                        /* senders are to wait for viewer->room() */
void host_resize(Hosted *hosted, unsigned cols, unsigned rows); /* 0: that side stays */
/* The same, for clients whose size is not said where they are shown: they get it back when they type again.
 */
void host_say_size(Hosted *hosted, unsigned cols, unsigned rows);
/* TERM, then KILL after grace_ms, for the whole tree. */
void host_kill(Hosted *hosted, int grace_ms);
/* The same, and for good: should this daemon die meanwhile, the next one ends it instead of adopting it. */
void host_discard(Hosted *hosted, int grace_ms);
/* TERM and KILL as well; it is kept, and a later daemon finds is_stopped set: it is not to be started again.
 */
void host_stop(Hosted *hosted, int grace_ms);
/* Discards every process that runs; done follows when none is left, perhaps at once. For a stop, once. */
void host_end_all(Host *host, int grace_ms, void (*done)(void *user), void *user);
/* Forgets an ended process and removes its folder; a running one is killed first and forgotten when it is
 * gone. */
void host_forget(Hosted *hosted);
/* For one without a shim that listens: ends all that bear its mark or are in its cgroup. */
void host_sweep(Hosted *hosted);

/* Records it from what is left of its output on, into a file that recording_create() has made; takes fd. A later daemon
 * does not go on with it. hosted NULL, or ended, or recorded by now: HOST_E_ENDED. */
int host_record(Hosted *hosted, const char *path, int fd);
void host_stop_recording(Hosted *hosted); /* what was printed until now is still written; none: fine */

/* It says of itself what it does, as JSON: kept instead of what it said before, and told to the feed. 0 or -ENOMEM. */
int host_report(Hosted *hosted, Str json);

void viewer_attach(Viewer *viewer, Hosted *hosted);
void viewer_detach(Viewer *viewer);
/* host-size.c */
void seat_take(Seat *seat, Hosted *hosted);
void seat_leave(Seat *seat);                     /* left already: fine */
const char *hosted_writer(const Hosted *hosted); /* who types there alone; NULL: nobody does */
bool seat_is_writer(const Seat *seat);
/* What was printed until now is not shown to anybody any more, also not by a later daemon. */
void host_clear(Hosted *hosted);
/* The last n_max bytes of output so far that are shown, contiguous, valid until the next turn. */
Str hosted_scrollback(const Hosted *hosted, size_t n_max);
Str hosted_stderr(const Hosted *hosted); /* pipes: what is left of it, as above */
/* Whether past, the end of its output, does not show on a terminal of the present size what is there: places
 * of the screen are named in it, and it was printed at another size. */
bool hosted_needs_screen(const Hosted *hosted, Str past);
/* Has the screen drawn, in the turn of this peer (wire/turns.h): wait->drawn() follows in a later turn,
 * unless the waiting is left. What is printed meanwhile may be on it or not: `position` says it. */
int screen_wait(ScreenWait *wait, Hosted *hosted, uint32_t peer);
void screen_wait_leave(ScreenWait *wait); /* does not wait: fine */
/* In a sandbox the program itself, as the host numbers it, not what holds it. Until hosted_has_agent() says
 * that it is there: hosted->pid. */
pid_t hosted_agent_pid(Hosted *hosted);
bool hosted_has_agent(Hosted *hosted);
/* Whether what is typed now gets to the program that was started here; true also when nobody can tell. If not,
 * other is the name of the program that is in front of the terminal. host-front.c. */
bool hosted_is_in_front(Hosted *hosted, char other[PROCESS_NAME_MAX]);
/* Since its start; 0 for one that did not start. */
int64_t hosted_age_ms(const Hosted *hosted);
/* 0..255, 128 + signal when one ended it; -1 unless ENDED. */
int hosted_exit_code(const Hosted *hosted);
/* Why it did not start, for the handler's started() with its error: "PATH: No such file or directory" when it
 * was stdin_path, else the words for the errno. The caller's; NULL without memory. */
char *hosted_start_error(const Hosted *hosted, int error);

/*
 * Lossless (HostedSpec.is_lossless; pipes; host-keep.c). Both outputs have positions that count bytes from the
 * start, each its own. A byte stays in the ring until the domain has said that it is kept; when such bytes fill the
 * ring nobody reads on, and the program waits in its write(2). It is so while no daemon runs, too.
 *
 *   viewer->output()        something new is there; or the domain comes by itself, after an adoption at first
 *   hosted_read_from()      from the position up to which it has taken it (of a file: its length)
 *   … stores it …
 *   hosted_keep()           the ring may be used again up to there: reading goes on
 *
 * The end is told (ended(), state ENDED or LOST) when the last byte is in the ring, so not before there was
 * room for it; what is there can be read until host_forget(), by this daemon or a later one, which finds it with
 * its true exit status. Until then the folder stays: also host_discard() and a stop that ends the agents do not
 * throw it away. Who forgets a running one gives up what it prints.
 */
/* The bytes of a stream from *position on, as many as there are: in one piece, the same until they are kept
 * or the process is forgotten; empty: no more yet. Copy what a worker is to have. *position is moved up only if
 * bytes are gone that were never kept: somebody has damaged the file. */
Str hosted_read_from(const Hosted *hosted, bool is_stderr, uint64_t *position);
/* Nothing before this position is needed any more. Less than before, or more than there is: nothing happens. */
void hosted_keep(Hosted *hosted, bool is_stderr, uint64_t position);
/* Up to where it is kept; after an adoption as the last daemon has said it, which may be less than was stored. */
uint64_t hosted_kept(const Hosted *hosted, bool is_stderr);
