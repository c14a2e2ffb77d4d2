#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Account: what one peer (a local user, a host by TCP, or who has come by a tunnel) holds of the daemon: connections and queued bytes.
 *
 * Every connection is charged to an account and refused when the account's quota is used up, so that no peer
 * can take all descriptors or memory. Who fills a quota does not shut out the other processes of its user: when it
 * is bytes, the largest connection of the process that holds most goes, and when it is connections, the
 * oldest of the process that has most (wire/conn.c). An account appears with the first connection of a peer and stays (with
 * its counters) until the daemon ends if the peer is a user: there are only as many as users. That of a host, or a tunnel, ends with its last
 * connection. Owned by the Accounts of the Daemon.
 */
#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>

#include "base/macro.h"
#include "wire/address.h"

typedef struct Account Account;
typedef struct Accounts Accounts;
typedef struct Share Share;

enum { ACCOUNT_CHAINS = 64 };

/* What one process of the peer has open. It is there as long as one of its connections is. */
struct Share {
        LIST_ENTRY(Share) link;
        uint32_t peer;  /* pid, or address_number() */
        size_t n_refs;  /* connections, with those that are closed and not freed yet */
        size_t n_conns; /* … without them */
        size_t n_bytes; /* charged to open ones */
};

struct Account {
        Accounts *owner;
        Account *next;
        bool is_remote;
        uid_t uid;               /* of a user … */
        struct in6_addr network; /* … or address_network() of a host … */
        unsigned tunnel;         /* … or the number of a tunnel, whose clients may change their address */
        size_t n_conns;
        size_t n_bytes; /* input buffered, output queued, and what calls that wait hold */
        uint64_t n_requests;
        struct Conn *conns; /* by account_next of each */
        LIST_HEAD(, Share) shares[ACCOUNT_CHAINS];
};

struct Accounts {
        Account *first;
        size_t max_conns; /* per account; 0: no limit */
        size_t max_bytes; /* per account; 0: no limit */
};

enum { _ACCOUNT_E_SUCCESS, ACCOUNT_E_QUOTA };

/* Charges one connection of a user, or of the host that has this address. Condition: ACCOUNT_E_QUOTA, and nothing is charged to *ret. */
int account_open_user(Accounts *accounts, uid_t uid, Account **ret);
int account_open_host(Accounts *accounts, const struct in6_addr *ip, Account **ret);
int account_open_tunnel(Accounts *accounts, unsigned number, Account **ret); /* of a tunnel */
Account *account_close(Account *account);                                    /* gives it back; NULL */
bool account_has_room(const Account *account); /* its queued bytes are within the quota */

/* The share of a process, counted as one more connection; NULL: out of memory. */
Share *share_open(Account *account, uint32_t peer);
Share *share_unref(Share *share); /* of a connection that is closed; NULL */
/* Whose share is the largest, in connections or in bytes. NULL: nobody has anything. */
Share *share_largest(Account *account, bool by_bytes);
void accounts_deinit(Accounts *accounts); /* no connection may be left */
