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
