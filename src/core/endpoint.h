#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Endpoint: one place where one contract is served (a CCCC home, a coop socket, one AIWG project, the native
 * socket).
 *
 * The type says how it is opened and closed: files, locks, probing for another daemon. Closing an endpoint
 * ends its connections and removes its files; the process ends when no contract is served any more. Owned by
 * the Daemon.
 */
#include "base/process.h"
#include "core/client.h"
#include "wire/listener.h"

typedef enum EndpointState {
        ENDPOINT_CLOSED, /* not opened yet, or stopped by its contract's own stop */
        ENDPOINT_LISTENING,
        ENDPOINT_SERVED, /* by another live daemon */
        ENDPOINT_FAILED,
} EndpointState;

/* Conditions of EndpointType.open(); endpoint->reason says why in words. */
enum { _ENDPOINT_E_SUCCESS, ENDPOINT_E_SERVED, ENDPOINT_E_REFUSED, ENDPOINT_E_CONFIG };

/* One that fails (no space, no descriptors, a folder that is not there) is tried again, unless somebody else
 * serves it or the configuration is wrong: first after one second, then after twice as long each time. */
enum { ENDPOINT_AGAIN_MS = 1000, ENDPOINT_AGAIN_MAX_MS = 60000 };

typedef struct EndpointType {
        const char *name; /* as in --only */
        const Dialect *dialect;
        ConnLimits limits;
        bool same_uid_only;
        bool is_beside; /* no contract of its own: it neither keeps a daemon whose last contract was stopped, nor
                            lets one end for want of work */
        bool can_reopen; /* to close it and open it again ends nothing, except in a stand-in */
        int served_exit; /* exit status when it alone was asked for and is served elsewhere */
        int (*open)(Endpoint *endpoint);    /* calls endpoint_listen() */
        void (*close)(Endpoint *endpoint);  /* removes its files */
        void (*reload)(Endpoint *endpoint); /* SIGHUP; may be NULL */
        void (*renew)(Endpoint *endpoint);  /* daemon.reopen while it listens; may be NULL */
        /* Whether somebody on another machine may connect; whoever says no has logged it. NULL: nobody may.
         */
        bool (*admit)(Endpoint *endpoint, const ConnPeer *peer);
        /* Which dialect a connection begins with, within which limits; NULL: the one above, with those
         * below. */
        const Dialect *(*greet)(Endpoint *endpoint, const ConnPeer *peer, ConnLimits *limits);
        /* Puts TLS below a connection that is not started yet; may be NULL. 0 or negative: it is closed. */
        int (*secure)(Endpoint *endpoint, Conn *conn);
        void (*free)(Endpoint *endpoint); /* frees context; may be NULL */
} EndpointType;

/* Whose doing it is that an endpoint is as it is. */
typedef struct EndpointParty {
        pid_t pid; /* 0: not known */
        char program[PROCESS_NAME_MAX];
} EndpointParty;

struct Endpoint {
        Daemon *daemon;
        const EndpointType *type;
        Endpoint *next;
        EndpointState state;
        char *where;        /* what was asked for: a home, a path, a project */
        char *address;      /* where it listens, for people */
        char *reason;       /* why it does not, or what else is to be known; "" when there is nothing */
        char *warning;      /* what is dangerous about how it listens; NULL: nothing */
        uint64_t n_refused; /* connections of other machines that were turned away */
        EndpointParty by;   /* whose doing that is: who stopped it, who serves it instead of us */
        int64_t since_us;   /* wall clock: since when it is as it is */
        Timer again;        /* it failed for a reason that may pass: opened again then */
        int64_t again_ms;   /* the wait before the next try; 0: the first one */
        struct {
                char *path;
                uint64_t device, inode; /* only this very socket is ours to remove */
        } bound;
        /* A folder with nothing in it but what is ours and our clients': sandboxes do not show it. The
         * socket in it alone would not do, since the next daemon makes a new one. NULL: there is no such
         * folder. */
        char *folder;
        char *sandbox,
                *network; /* words for its agents, by a person: see core/sandbox/sandbox.h; NULL: not said */
        int lock_fd;      /* held while it is served; dies with the process */
        bool is_kept;     /* somebody added it while we ran: it is served again after a restart */
        bool is_removed;  /* somebody took it away: not listed, not opened by a reload */
        Listener *listener;
        LIST_HEAD(, Client) clients;
        size_t n_clients;
        size_t n_away; /* clients of it that belong to another endpoint while a call of theirs lasts */
        void *context; /* the type's own (an AIWG project, …) */
};

int endpoint_new(Endpoint **ret, Daemon *daemon, const EndpointType *type, const char *where);
Endpoint *endpoint_free(Endpoint *endpoint);
/* Opens it and sets its state; returns the state's exit status (0 when it listens). Nothing is opened any
 * more once the daemon stops. */
int endpoint_open(Endpoint *endpoint);
/* Stops listening, ends its connections after their last bytes, removes its files. */
void endpoint_close(Endpoint *endpoint);

/* Whether those who look for it do not find us any more, and opening it again would help. lstat(2) only. */
bool endpoint_is_cut_off(const Endpoint *endpoint);
/* How it stands, for people; of one that is cut off with who answers in its place. */
typedef struct EndpointView {
        const char *state;
        char reason[512];
        EndpointParty by;
} EndpointView;
void endpoint_look(const Endpoint *endpoint, EndpointView *ret);
/* Says why it is as it is, from now on, and whose doing that is (0: not known). Forgotten when it opens. */
void endpoint_note(Endpoint *endpoint, pid_t by, const char *format, ...) _printf_(3, 4);

/* For the types. */
int endpoint_listen(Endpoint *endpoint, int fd); /* takes fd */
int endpoint_refuse(Endpoint *endpoint, int condition, const char *format, ...)
        _printf_(3, 4); /* returns condition */
/* What people have to be warned of while it listens so; NULL: nothing. Logged when it is new. */
void endpoint_warn(Endpoint *endpoint, const char *format, ...) _printf_(2, 3);
void endpoint_set_address(Endpoint *endpoint, const char *format, ...) _printf_(2, 3);
/* Copies; NULL: not said. -ENOMEM leaves them as they were. */
int endpoint_set_sandbox(Endpoint *endpoint, const char *sandbox, const char *network);

int endpoint_set_folder(Endpoint *endpoint, const char *path); /* copies */
/* Somebody else answers at path: notes who, returns ENDPOINT_E_SERVED. */
int endpoint_served(Endpoint *endpoint, pid_t by, const char *path);
/* Takes the lock that says who serves this place: held by another → SERVED. */
int endpoint_lock(Endpoint *endpoint, const char *path);
/* A listening socket at path, by one rule for all contracts: live → SERVED, alien → REFUSED, stale →
 * replaced. A socket passed by the service manager under the type's name is used instead. Call with the lock
 * held. */
int endpoint_listen_unix(Endpoint *endpoint, const char *path);
void endpoint_unlink(
        Endpoint *endpoint); /* removes the socket that endpoint_listen_unix() made, if it is still there */
bool endpoint_file_is_ours(const char *path); /* a pid file that names us */
const char *endpoint_state_name(EndpointState state);
