/* SPDX-License-Identifier: MIT */
#include "tunnel/ice.h"

#include <assert.h>

#include "base/macro.h"

void ice_init(Ice *ice, Str ufrag, Str pwd) {
        assert(ufrag.n <= sizeof(ice->ufrag) && pwd.n <= sizeof(ice->pwd));
        *ice = (Ice){.n_ufrag = ufrag.n, .n_pwd = pwd.n};
        memcpy(ice->ufrag, ufrag.data, ufrag.n);
        memcpy(ice->pwd, pwd.data, pwd.n);
}

bool ice_source_eq(const IceSource *a, const IceSource *b) {
        return a->socket == b->socket && tunnel_address_eq(&a->address, &b->address);
}

/* ---- who ------------------------------------------------------------------------------------- */

/* "ours:theirs" of a check; false: not for us. */
static bool ice_remote_of(const Ice *ice, Str username, IceRemote *ret) {
        size_t n = ice->n_ufrag;

        if (username.n <= n + 1 || username.data[n] != ':' || memcmp(username.data, ice->ufrag, n) != 0 ||
            username.n - n - 1 > ICE_REMOTE_MAX)
                return false;
        ret->n = (uint16_t)(username.n - n - 1);
        memcpy(ret->text, username.data + n + 1, ret->n);
        return true;
}

static bool ice_remote_eq(const IceRemote *a, const IceRemote *b) {
        return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

static bool ice_is_spent(const Ice *ice, const IceRemote *remote) {
        for (unsigned i = 0; i < MIN(ice->n_spent, (unsigned)ICE_SPENT_MAX); i++)
                if (ice_remote_eq(&ice->spent[i], remote))
                        return true;
        return false;
}

void ice_end(Ice *ice) {
        if (!ice->has_remote)
                return;
        ice->spent[ice->n_spent++ % ICE_SPENT_MAX] = ice->remote;
        ice->has_remote = false;
        ice->n_sources = 0;
}

/* ---- from where ------------------------------------------------------------------------------ */

bool ice_is_known(const Ice *ice, const IceSource *from) {
        for (unsigned i = 0; i < ice->n_sources; i++)
                if (ice_source_eq(&ice->sources[i].source, from))
                        return true;
        return false;
}

/* The pair in use is never the one that makes room. */
static void ice_note_source(Ice *ice, const IceSource *from, int64_t now_ms) {
        unsigned at = 0;

        for (unsigned i = 0; i < ice->n_sources; i++) {
                if (ice_source_eq(&ice->sources[i].source, from)) {
                        ice->sources[i].checked_ms = now_ms;
                        return;
                }
                if (ice_source_eq(&ice->sources[at].source, &ice->selected) ||
                    (ice->sources[i].checked_ms < ice->sources[at].checked_ms &&
                     !ice_source_eq(&ice->sources[i].source, &ice->selected)))
                        at = i;
        }
        if (ice->n_sources < ICE_SOURCES_MAX)
                at = ice->n_sources++;
        ice->sources[at].source = *from;
        ice->sources[at].checked_ms = now_ms;
}

bool ice_has_consent(const Ice *ice, int64_t now_ms) {
        return now_ms - ice->checked_ms < ICE_CONSENT_MS;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static IceVerdict ice_verdict(Ice *ice, const IceRemote *remote, bool is_chosen, const IceSource *from,
                              int64_t now_ms) {
        if (!ice->has_remote) {
                ice->has_remote = true;
                ice->remote = *remote;
                ice->selected = *from;
                return ICE_NEW;
        }
        if (!ice_remote_eq(&ice->remote, remote))
                return now_ms - MAX(ice->heard_ms, ice->checked_ms) >= ICE_QUIET_MS ? ICE_OTHER
                                                                                    : ICE_NOTHING;
        if (is_chosen && !ice_source_eq(&ice->selected, from)) {
                ice->selected = *from;
                return ICE_MOVED;
        }
        return ICE_SAME;
}

IceVerdict ice_take(Ice *ice, Str datagram, const IceSource *from, int64_t now_ms,
                    uint8_t reply[static STUN_REPLY_MAX], size_t *ret_n) {
        Str pwd = {ice->pwd, ice->n_pwd};
        StunMessage message;
        IceRemote remote;
        IceVerdict verdict;

        *ret_n = 0;
        if (stun_parse(datagram, &message) || message.type != STUN_BINDING_REQUEST || message.has_unknown ||
            !ice_remote_of(ice, message.username, &remote) || !stun_is_proved(datagram, &message, pwd) ||
            ice_is_spent(ice, &remote))
                return ICE_NOTHING;
        verdict = ice_verdict(ice, &remote, message.has_use_candidate, from, now_ms);
        if (verdict == ICE_NOTHING || verdict == ICE_OTHER)
                return verdict;
        ice->checked_ms = now_ms;
        ice_note_source(ice, from, now_ms);
        *ret_n = stun_write_success(reply, message.id, &from->address, pwd);
        return verdict;
}

/* ---- what came too early --------------------------------------------------------------------- */

static void ice_forget_early(Ice *ice, unsigned at) {
        memmove(&ice->early[at], &ice->early[at + 1], (ice->n_early - at - 1) * sizeof(*ice->early));
        ice->n_early--;
}

void ice_keep(Ice *ice, Str datagram, const IceSource *from) {
        IceEarly *early;

        if (datagram.n > ICE_DATAGRAM_MAX)
                return;
        if (ice->n_early == ICE_EARLY_MAX)
                ice_forget_early(ice, 0);
        early = &ice->early[ice->n_early++];
        early->from = *from;
        early->n = datagram.n;
        memcpy(early->bytes, datagram.data, datagram.n);
}

bool ice_take_early(Ice *ice, const IceSource *from, Str *ret) {
        for (unsigned i = 0; i < ice->n_early; i++) {
                IceEarly taken = ice->early[i];

                if (from ? !ice_source_eq(&taken.from, from) : !ice_is_known(ice, &taken.from))
                        continue;
                ice_forget_early(ice, i);
                ice->early[ice->n_early] = taken; /* behind the others, where it is not looked for */
                *ret = (Str){(const char *)ice->early[ice->n_early].bytes, taken.n};
                return true;
        }
        return false;
}
