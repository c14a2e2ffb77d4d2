#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The ICE-lite side of a tunnel (RFC 8445): it answers checks of a browser that knows our password, remembers from where it did, and which
 * pair it chose. One browser at a time, told apart by its part of the user name. No sockets: datagrams come in, replies go out by the
 * caller. Embedded in the tunnel.
 */
#include "tunnel/stun.h"

enum {
        ICE_REMOTE_MAX = 256,
        ICE_SOURCES_MAX = 16, /* the one that was silent longest makes room */
        ICE_SPENT_MAX = 32,   /* browsers that were here and are not listened to any more */
        ICE_EARLY_MAX = 4,
        ICE_DATAGRAM_MAX = 2048,
        ICE_QUIET_MS = 8 * 1000,    /* after this much silence another browser may come */
        ICE_CONSENT_MS = 30 * 1000, /* after this much it is gone */
};

/* Where a datagram came from, and to which of our sockets. */
typedef struct IceSource {
        TunnelAddress address;
        uint8_t socket;
} IceSource;

typedef struct IceRemote {
        uint16_t n;
        char text[ICE_REMOTE_MAX];
} IceRemote;

typedef struct IceEarly {
        IceSource from;
        size_t n; /* 0: nothing is kept here */
        uint8_t bytes[ICE_DATAGRAM_MAX];
} IceEarly;

typedef struct Ice {
        char ufrag[TUNNEL_SECRET_MAX], pwd[TUNNEL_SECRET_MAX];
        size_t n_ufrag, n_pwd;
        bool has_remote;
        IceRemote remote;
        int64_t heard_ms; /* the last valid check, or what the caller took as good as one */
        int64_t checked_ms;
        unsigned n_sources;
        struct {
                IceSource source;
                int64_t checked_ms;
        } sources[ICE_SOURCES_MAX];
        IceSource selected;
        unsigned n_spent; /* in all; the ring holds the last of them */
        IceRemote spent[ICE_SPENT_MAX];
        unsigned n_early;
        IceEarly early[ICE_EARLY_MAX]; /* oldest first */
} Ice;

void ice_init(Ice *ice, Str ufrag, Str pwd);

typedef enum IceVerdict {
        ICE_NOTHING, /* not a check, not for us, not proved, or of somebody who has to wait: no reply */
        ICE_NEW,     /* the first check of a browser: it is the one from now on */
        ICE_SAME,
        ICE_MOVED, /* it chose another pair */
        ICE_OTHER, /* another browser, while the first is silent: ice_end(), then hand it in again */
} IceVerdict;

/* *ret_n bytes of reply, to be sent where it came from; 0: none. */
IceVerdict ice_take(Ice *ice, Str datagram, const IceSource *from, int64_t now_ms,
                    uint8_t reply[static STUN_REPLY_MAX], size_t *ret_n);
/* Whether the browser has proved itself from there. */
bool ice_is_known(const Ice *ice, const IceSource *from);
bool ice_has_consent(const Ice *ice, int64_t now_ms);
/* This browser is gone for good. */
void ice_end(Ice *ice);

/* Keeps a datagram that came before its time; the oldest of four makes room. */
void ice_keep(Ice *ice, Str datagram, const IceSource *from);
/* Takes the oldest that came from there (NULL: from a source that is known now); it is valid until the next is kept. */
bool ice_take_early(Ice *ice, const IceSource *from, Str *ret);

bool ice_source_eq(const IceSource *a, const IceSource *b);
