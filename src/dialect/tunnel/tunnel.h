#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Tunnel: one way in over WebRTC that somebody asked for (`tunnel` of coop): its code, its process, the client that has come. docs/tunnel-wire.md
 * has what is said on it. The process (muster-tunnel) has the packets; who may come in, for how long and to what is decided here.
 *
 *   tunnel-open.c      sockets, certificate and secrets are made on a worker; then it is
 *   tunnel.c           its life: phases, deadlines, attempts, its end
 *   tunnel-process.c   the program muster-tunnel, and what it says
 *   tunnel-channel.c   data channels: each is a Conn with a Channel (core/client.h)
 *   tunnel-proof.c     the first message on coop-control
 *   tunnel-file.c      muster-file: the embedded files
 *
 *   STARTING ─► WAITING ─► CHECKED ─► SECURED ─► UP ─► CONNECTED ─► AWAY ─► CHECKED …   any ─► OVER
 *                  ▲          └──────────┴─────── 20 times ┴──► back to WAITING or AWAY
 *
 * Its clients belong to its Endpoint, whose context it is; they are charged to an account of the tunnel. Nothing of it is on disk: a daemon that
 * was killed has none left, and its process ends with the control socket. Bounds: TUNNEL_… below. Loop thread; owned by its Endpoint.
 */
#include "core/endpoint.h"
#include "core/tunnel/tunnel-code.h"
#include "core/tunnel/tunnel-net.h"
#include "core/web/tokens.h"
#include "wire/certificate.h"

enum {
        TUNNELS_MAX = 16,            /* at a time; one more is refused */
        TUNNEL_START_MS = 10000,     /* until its process is ready */
        TUNNEL_REFLEXIVE_MS = 3000,  /* until the STUN server has answered; then it is left out */
        TUNNEL_WAIT_MS = 5 * 60000,  /* until somebody comes, also after one who failed */
        TUNNEL_DTLS_MS = 10000,      /* from the first check */
        TUNNEL_SCTP_MS = 10000,      /* from there */
        TUNNEL_PROOF_MS = 5000,      /* from there to the token */
        TUNNEL_AWAY_MS = 10 * 60000, /* from a loss until somebody is there again */
        TUNNEL_ATTEMPTS_MAX = 20,    /* that fail; then it ends */
        TUNNEL_SHORT_MS = 5 * 60000, /* that a short code is good */
        TUNNEL_SHORT_TRIES = 5,      /* wrong ones; then all are spent */
        TUNNEL_REFUSED_MS = 500,     /* for a wrong one to hear that it is */
        TUNNEL_PROOF_MAX = 256,      /* bytes of the first message */
        TUNNEL_PART_MAX = 1 << 20,   /* bytes of a message that came in parts */
        TUNNEL_PIECE = 64 << 10,     /* bytes of output in one message */
        TUNNEL_QUIT_MS = 1000,       /* for its clients to get their last bytes */
        TUNNEL_KILL_MS = 3000,       /* for its process to end; then it is killed */
        TUNNEL_CERTIFICATE_DAYS = 30,
        TUNNEL_NAME_MAX = 24,
        TUNNEL_WHY_MAX = 200,
};

typedef enum TunnelPhase {
        TUNNEL_STARTING,
        TUNNEL_WAITING,
        TUNNEL_TRYING,    /* somebody has passed a check: attempt says how far it is */
        TUNNEL_CONNECTED, /* … and has proved itself */
        TUNNEL_AWAY,      /* it was lost, and may come back */
        TUNNEL_OVER,
} TunnelPhase;

typedef struct Tunnel Tunnel;
/* It is ready, or will never be: then why says it, and it is about to go. */
typedef void (*TunnelReady)(Tunnel *tunnel, void *user, const char *why);

struct Tunnel {
        Endpoint *endpoint;
        Daemon *daemon;
        unsigned number;            /* counts up from 1 over the daemon's life */
        char name[TUNNEL_NAME_MAX]; /* "tunnel 1" */
        char *session;              /* where the page opens */
        WebScope scope;
        TunnelPhase phase;
        int64_t since_us;
        char why[TUNNEL_WHY_MAX]; /* of what is OVER, or of the last loss */

        TunnelCode code;
        bool is_spent;                          /* somebody has come in by the code */
        char resume[SHA256_HEX_MAX];            /* digest of what lets in then */
        int64_t resume_until_ms;                /* … while nobody is there */
        char short_code[SHORT_CODE_DIGITS + 1]; /* "": spent */
        int64_t short_until_ms;
        unsigned n_short_tries;
        bool has_pin;
        uint8_t pin[32];

        CertificatePair pair; /* until its process has it … */
        TunnelNet net;        /* … as these */
        TunnelAddress stun;
        size_t n_reflexive_due;
        TunnelReady ready;
        void *ready_user;
        ClientWatch holder; /* it ends with this connection; of one that is over: who has not heard so */

        int fd; /* of control */
        LoopFd *watch;
        LoopChild *child;
        pid_t pid;
        uint8_t protections;
        bool is_quitting; /* its process was told so */

        uint32_t peer;      /* of the attempt under way, or who is there; 0: nobody */
        TunnelStep step;    /* how far it is */
        TunnelAddress from; /* where it comes from */
        bool is_refused;    /* it has shown a wrong token: it is dropped once it has heard so */
        unsigned n_failed;  /* attempts */
        Client *control;    /* its coop-control; NULL: not open */
        size_t n_channels;
        Token *token; /* stands for who has proved itself; as long as the tunnel */
        Timer deadline;

        uint64_t n_changes; /* that people are told of */
        LIST_HEAD(, TunnelWait) waits;
};

/* Whoever wants to know of the next one, once. Embedded in its owner. */
typedef struct TunnelWait TunnelWait;
struct TunnelWait {
        LIST_ENTRY(TunnelWait) link;
        bool is_set;
        void (*changed)(TunnelWait *wait, Tunnel *tunnel);
};

typedef struct TunnelSpec {
        Str session;
        WebScope scope;
        const char *stun;      /* HOST:PORT; NULL: none */
        bool waits_for_answer; /* DTLS does not begin before tunnel_pin() */
        Client *holder;        /* NULL: none */
} TunnelSpec;

/* tunnel-open.c. 0: ready() follows, in a later turn. Conditions. */
enum { _TUNNEL_OPEN_E_SUCCESS, TUNNEL_OPEN_E_FULL };
int tunnel_open(Tunnel **ret, Daemon *daemon, const TunnelSpec *spec, TunnelReady ready, void *user);

void tunnel_wait(Tunnel *tunnel, TunnelWait *wait, void (*changed)(TunnelWait *wait, Tunnel *tunnel));
void tunnel_wait_leave(TunnelWait *wait); /* fine for one that waits for none */

/* tunnel.c */
Tunnel *tunnel_of(const Endpoint *endpoint); /* NULL: it is none, or removed */
const char *tunnel_phase_name(TunnelPhase phase);
Tunnel *tunnel_find(Daemon *daemon, unsigned number);
/* Also one that is over, for its holder, until that has heard why. */
Tunnel *tunnel_find_of(const Client *client, unsigned number);
void tunnel_end(Tunnel *tunnel,
                const char *why); /* everything of it; freed when its process and clients are gone */
void tunnels_end_all(Daemon *daemon, const char *why);
/* Frees what is over and whose end was heard, or everything that is over; not from inside one. */
void tunnels_tidy(Daemon *daemon, bool with_unheard);
/* The code for what somebody typed; NULL: it is nobody's any more. It is spent. */
Tunnel *tunnels_redeem(Daemon *daemon, Str typed);
Tunnel *tunnels_find_short(Daemon *daemon, Str typed); /* without that; NULL: none */
/* Only a client with this certificate gets in. 0, or -EPIPE: its process is gone. */
int tunnel_pin(Tunnel *tunnel, const uint8_t fingerprint[32]);
void tunnel_free(Tunnel *tunnel);
extern const EndpointType tunnel_endpoint;

/* Among the parts. tunnel.c: */
Tunnel *tunnel_new(Daemon *daemon,
                   const TunnelSpec *spec); /* with its endpoint, in the list; NULL without memory */
void tunnel_set_phase(Tunnel *tunnel, TunnelPhase phase); /* and its deadline */
void tunnel_is_ready(Tunnel *tunnel);
void tunnel_on_state(Tunnel *tunnel, const TunnelState *state);
void tunnel_prove(Tunnel *tunnel, Client *control, char resume[TOKEN_TEXT_MAX]); /* somebody has */
void tunnel_drop_peer(Tunnel *tunnel, const char *why);
void tunnel_control_gone(Tunnel *tunnel); /* coop-control was closed, by either side */
void tunnel_client_gone(Tunnel *tunnel);  /* a channel was closed */
void tunnel_address_text(const TunnelAddress *address, char out[ADDRESS_TEXT_MAX + 8]);
/* tunnel-process.c. */
int tunnel_process_start(Tunnel *tunnel, bool waits_for_pin); /* 0 or negative */
void tunnel_say(Tunnel *tunnel, const TunnelMessage *message, const int *fds);
void tunnel_process_quit(Tunnel *tunnel);
void tunnel_process_drop(Tunnel *tunnel); /* at once */
/* tunnel-channel.c */
void tunnel_on_ask(Tunnel *tunnel, const TunnelAsk *ask);
Tunnel *tunnel_channel_tunnel(const Client *client);
void tunnel_channel_prove(Client *client); /* it ends with the token from now on */
/* tunnel-proof.c, tunnel-file.c: what is spoken first. */
extern const Dialect tunnel_proof_dialect, tunnel_term_dialect, tunnel_file_dialect;
int tunnel_file_console(Buf *list, char digest[SHA256_HEX_MAX]); /* what is listed, and its digest */
