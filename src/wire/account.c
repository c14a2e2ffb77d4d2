/* SPDX-License-Identifier: MIT */
#include "wire/account.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static Account *account_find(Accounts *accounts, bool is_remote, uint32_t key) {
        for (Account *a = accounts->first; a; a = a->next)
                if (a->is_remote == is_remote && a->key == key)
                        return a;
        return NULL;
}

int account_open(Accounts *accounts, bool is_remote, uint32_t key, Account **ret) {
        Account *account = account_find(accounts, is_remote, key);

        if (!account) {
                account = calloc(1, sizeof(*account));
                if (!account)
                        return error_origin(-ENOMEM);
                *account = (Account){
                        .owner = accounts, .is_remote = is_remote, .key = key, .next = accounts->first};
                accounts->first = account;
        }
        *ret = account;
        if (accounts->max_conns && account->n_conns >= accounts->max_conns)
                return ACCOUNT_E_QUOTA;
        account->n_conns++;
        return 0;
}

Account *account_close(Account *account) {
        if (!account)
                return NULL;
        assert(account->n_conns > 0);
        account->n_conns--;
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
