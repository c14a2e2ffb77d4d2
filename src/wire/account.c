/* SPDX-License-Identifier: MIT */
#include "wire/account.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static bool account_is_of(const Account *account, const Account *owner) {
        return account->is_remote == owner->is_remote && account->uid == owner->uid &&
               account->tunnel == owner->tunnel && address_eq(&account->network, &owner->network);
}

/* owner has what an account is found by, and nothing else. */
static int account_open(Accounts *accounts, const Account *owner, Account **ret) {
        Account *account = accounts->first;

        while (account && !account_is_of(account, owner))
                account = account->next;
        if (!account) {
                account = calloc(1, sizeof(*account));
                if (!account)
                        return error_origin(-ENOMEM);
                *account = *owner;
                account->owner = accounts;
                account->next = accounts->first;
                accounts->first = account;
        }
        *ret = account;
        if (accounts->max_conns && account->n_conns >= accounts->max_conns)
                return ACCOUNT_E_QUOTA;
        account->n_conns++;
        return 0;
}

int account_open_user(Accounts *accounts, uid_t uid, Account **ret) {
        return error_trace(account_open(accounts, &(Account){.uid = uid}, ret));
}

int account_open_host(Accounts *accounts, const struct in6_addr *ip, Account **ret) {
        Account owner = {.is_remote = true, .network = address_network(ip)};

        return error_trace(account_open(accounts, &owner, ret));
}

int account_open_tunnel(Accounts *accounts, unsigned number, Account **ret) {
        return error_trace(account_open(accounts, &(Account){.is_remote = true, .tunnel = number}, ret));
}

static void account_drop(Account *account) {
        Account **link = &account->owner->first;

        while (*link != account)
                link = &(*link)->next;
        *link = account->next;
        free(account);
}

Account *account_close(Account *account) {
        if (!account)
                return NULL;
        assert(account->n_conns > 0);
        account->n_conns--;
        if (account->is_remote && !account->n_conns) {
                assert(!account->conns && !account->n_bytes);
                account_drop(account);
        }
        return NULL;
}

void accounts_deinit(Accounts *accounts) {
        while (accounts->first) {
                Account *next = accounts->first->next;
                assert(accounts->first->n_conns == 0);
                free(accounts->first);
                accounts->first = next;
        }
}

bool account_has_room(const Account *account) {
        return !account->owner->max_bytes || account->n_bytes <= account->owner->max_bytes;
}

Share *share_open(Account *account, uint32_t peer) {
        size_t chain = peer % ACCOUNT_CHAINS;
        Share *share;

        LIST_FOREACH (share, &account->shares[chain], link)
                if (share->peer == peer)
                        break;
        if (!share) {
                share = calloc(1, sizeof(*share));
                if (!share)
                        return NULL;
                share->peer = peer;
                LIST_INSERT_HEAD(&account->shares[chain], share, link);
        }
        share->n_refs++;
        share->n_conns++;
        return share;
}

Share *share_unref(Share *share) {
        if (--share->n_refs)
                return NULL;
        assert(!share->n_conns && !share->n_bytes);
        LIST_REMOVE(share, link);
        free(share);
        return NULL;
}

Share *share_largest(Account *account, bool by_bytes) {
        Share *found = NULL, *share;
        size_t most = 0;

        for (size_t i = 0; i < ACCOUNT_CHAINS; i++)
                LIST_FOREACH (share, &account->shares[i], link) {
                        size_t n = by_bytes ? share->n_bytes : share->n_conns;
                        if (n <= most)
                                continue;
                        most = n;
                        found = share;
                }
        return found;
}
