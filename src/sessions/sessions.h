#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Sessions: named sessions, each bound to one workspace, with an agent and any number of shells on terminals
 * of their own.
 *
 * A session is found by its name or by its workspace. The processes are the host's (core/host) and outlive
 * the daemon; what is needed to find them again stands in their meta. This domain knows no frames: whoever
 * shows a terminal is a PtyClient. Owned by the Daemon.
 */
#include "core/dialect.h"
#include "core/fleet/fleet.h"
#include "core/host/host.h"
#include "core/sandbox/sandbox-job.h"
#include "sessions/coopfile/coopfile.h"

typedef struct Sessions Sessions;
typedef struct Session Session;
typedef struct Pty Pty;
typedef struct PtyClient PtyClient;

enum {
        SESSION_NAME_MAX = 255,
        SESSION_SCROLLBACK = 256 << 10, /* sent to who attaches */
        SESSION_KILL_MS = 5000,         /* between TERM and KILL */
        SESSION_QUICK_MS = 5000,        /* an agent that ends within this time of its start … */
        SESSION_LOOK_MS =
                1, /* between two looks for the program in a sandbox that has just been started … */
        SESSION_LOOKS = 500, /* … so many, then the answer has the number of what holds it */
        SESSION_PATIENT = 2, /* … more often than so many times in a row waits longer each time */
};

struct Sessions {
        Daemon *daemon;
        Session *first;
        struct {
                Timer timer;
                int64_t limit_ms, since_ms; /* limit 0: it stays */
                uint64_t n_clients;         /* that there ever were, when it was looked last */
        } idle;
};

struct Session {
        Sessions *owner;
        Session *next;
        char *name;
        char *workspace;              /* as sent */
        char *resolved;               /* as the file system has it */
        char *override;               /* the coopfile text of create */
        CoopfileTexts accepted;       /* the files as they were at create: what a sandbox is made by */
        StrVec notes;                 /* what the last start of the agent has to tell people */
        StrVec caller_env, named_env; /* of create: below and above what the coopfile says */
        int64_t created_s;
        Coopfile config;
        Pty *ptys;      /* by id */
        bool is_listed; /* create has been answered, kill has not been asked */
        bool is_killed; /* on its way out: its name and workspace are free again */
};

struct Pty {
        Session *session;
        Pty *next;
        uint32_t id; /* 0: the agent */
        char *command;
        char *searched; /* the PATH of its last start; NULL: none yet */
        Hosted *hosted; /* NULL between the end of one process and the start of the next */
        int64_t started_ms;
        unsigned n_quick; /* ends in a row that came too soon */
        bool is_stopped;  /* is not to be started again */
        bool is_looping;  /* ended too soon too often; to be said in its output */
        bool is_restarting;
        bool is_configuring; /* its coopfile is being read */
        Timer restart;
        Timer soon; /* the start below */
        Timer look; /* in a sandbox: whether the program is there, for the answer */
        int n_looks;
        struct PtyStart *starting;
        LIST_HEAD(, PtyClient) clients;
        PtyClient *decider;                                  /* of those who share the size; NULL: nobody */
        uint64_t n_sizes;                                    /* that clients have said */
        Call *waiting;                                       /* the call that started it, until it runs */
        void (*write_answer)(const Pty *pty, JsonWriter *w); /* members of its answer then */
        Buf carried;                                         /* scrollback of the process before */
        unsigned cols, rows;                                 /* its window, for the process after */
};

typedef struct PtyClientOps {
        void (*output)(PtyClient *client, HostOutput *output);
        void (*room)(PtyClient *client);
        void (*exited)(PtyClient *client, int code);
        void (*restarting)(PtyClient *client, int64_t delay_ms);
        void (*ended)(PtyClient *client);    /* the terminal is gone: detached already */
        void (*resized)(PtyClient *client);  /* the terminal has another size; may be NULL */
        void (*owned)(PtyClient *client);    /* pty_owns() says something else now; may be NULL */
        void (*promoted)(PtyClient *client); /* at a terminal with seats: what it types counts now */
} PtyClientOps;

/* Whoever shows a terminal. Embedded in its owner. */
struct PtyClient {
        const PtyClientOps *ops;
        Pty *pty;                   /* NULL: the terminal is of another domain, or it is at none */
        LIST_ENTRY(PtyClient) link; /* at pty->clients */
        Viewer viewer;
        Seat seat;           /* at the terminal of another domain */
        unsigned cols, rows; /* of its window; 0: it has none */
        uint64_t sized;      /* when it said so: a number of pty->n_sizes */
        const char *by;      /* who it is, for people; the owner's */
        bool is_passive;     /* it only looks: nobody answers what the program asks */
        bool is_web;         /* it came over HTTP */
        bool shares_size;    /* of those who do one decides the size: pty_own() */
        bool is_hidden;      /* nobody sees its window: it decides only while all others are hidden, too */
};

/* What a call that becomes a stream leaves for it (call->target), in the call's arena. */
typedef struct PtyTarget {
        Carry carry;
        StreamTarget stream; /* its hosted: pty is NULL, a terminal of another domain */
        Pty *pty;
} PtyTarget;

int sessions_new(Sessions **ret, Daemon *daemon);
Sessions *sessions_free(Sessions *sessions);
void sessions_adopt(Sessions *sessions, Hosted *hosted); /* a process of ours, from an earlier daemon */

void sessions_watch_idle(Sessions *sessions,
                         int64_t limit_ms); /* sessions.c: stops the daemon when it is not needed */

/* sessions.c */
Session *session_find(Sessions *sessions, Str name_or_path); /* listed ones only */
Session *session_of_workspace(Sessions *sessions, const char *workspace, const char *resolved);
Session *session_named(Sessions *sessions, const char *name);
int session_new(Session **ret, Sessions *sessions, const char *name, const char *workspace);
void session_check_gone(Session *session); /* frees it when it is not listed and nothing of it is left */
void session_kill(Session *session, bool is_forced);
void sessions_kill_all(Sessions *sessions, bool is_forced);
size_t session_n_clients(const Session *session, bool is_web); /* that show a terminal of it */

/* op-terminal.c: what a call names, or the call's error that says that it is not there. */
int session_require(Call *call, Str name_or_path, Session **ret);
int pty_require(Call *call, Str name_or_path, int64_t id, Pty **ret);

/* pty.c */
int pty_new(Pty **ret, Session *session, uint32_t id, const char *command);
Pty *pty_find(Session *session, uint64_t id);
void pty_remove(Pty *pty);
bool pty_is_live(const Pty *pty);
pid_t pty_pid(const Pty *pty);           /* of the program, also in a sandbox; 0: there is none */
bool pty_is_over(const Pty *pty);        /* it has ended, and nothing comes after it */
int pty_exit_code(const Hosted *hosted); /* 255 when it was lost */
void pty_kill(Pty *pty, bool is_forced);
void pty_restart(Pty *pty); /* ends what runs and starts it again; pty->waiting is answered then */
/* pty-client.c */
void pty_resize(PtyClient *client, unsigned cols,
                unsigned rows); /* its window has changed; 0: that side has not */
/* Of several who share the size this one decides it from now on: it typed, or took it. The first one does at first.
 * At a terminal with seats it is always the one that types. */
void pty_own(PtyClient *client);
bool pty_owns(const PtyClient *client);
/* Nobody sees its window any more, or again. */
void pty_hide(PtyClient *client, bool is_hidden);
bool pty_will_own(const PtyTarget *target);                              /* one that attaches now */
PtyTarget *pty_target(Call *call, Pty *pty, int64_t cols, int64_t rows); /* NULL without memory */
/* The domain's part in the life of its processes. */
extern const HostedHandler pty_hosted_handler;

/* pty-client.c */
void pty_client_attach(PtyClient *client, const PtyTarget *target);
void pty_detach(PtyClient *client);                       /* detached already: fine */
Hosted *pty_client_hosted(const PtyClient *client);       /* NULL: nothing runs there now */
bool pty_client_may_type(const PtyClient *client);        /* it is its turn */
int pty_client_write(const PtyClient *client, Str bytes); /* conditions as host_write() */
/* As screen_wait(), or HOST_E_ENDED. */
int pty_client_draw(const PtyClient *client, ScreenWait *wait, uint32_t peer);
Str pty_target_scrollback(const PtyTarget *target);

/* configure.c: reads the coopfile; fn follows with 0 (session->config and pty->command are set),
 * COOPFILE_E_INVALID and what is wrong, or a negative number. */
typedef void (*ConfiguredFn)(Pty *pty, int r, const char *wrong);
int pty_configure(Pty *pty, ConfiguredFn fn);
/* The same at once, for a session that an earlier daemon started; held: its agent is in a sandbox. */
int session_configure(Session *session, bool is_held, char *wrong, size_t n_wrong);

/* pty-start.c: starts the process of a terminal, in its sandbox. Negative when that cannot even be tried;
 * else pty_hosted_handler or pty_failed() follow in a later turn. */
int pty_start(Pty *pty, unsigned cols, unsigned rows);
const char *session_sandbox_mode(const Session *session); /* none, bwrap */
/* The member notes of an answer, when there are any. */
void session_write_notes(const Session *session, JsonWriter *w);
int pty_error(int error); /* CALL_E_* for the errno of a start */
int pty_fail(Call *call, int error, const char *command);
/* pty.c: a start did not come to anything: answers pty->waiting, may free the terminal and its session. */
void pty_failed(Pty *pty, int call_error, const char *text);
void pty_failed_errno(Pty *pty, int error); /* by errno; of a program that was looked for: where, too */

/* fleet-session.c: sessions as the fleet knows them (core/fleet/fleet.h). */
extern const FleetOwner fleet_session;
/* The one whose workspace is this folder, or holds it most closely; *ret has no name: there is none. 0 or -ENOMEM. */
int fleet_session_at(Daemon *daemon, Arena *arena, Str folder, FleetThing *ret);
