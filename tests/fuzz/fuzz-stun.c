/* SPDX-License-Identifier: MIT */
/*
 * A datagram of a stranger, as STUN: nothing is read beyond it, what it is made of lies inside of it, and only what was made with the password is
 * answered. The first byte says whether the message is sealed with the password here, so that the fuzzer gets behind it.
 */
#include <openssl/hmac.h>

#include "base/macro.h"
#include "tunnel/ice.h"
#include "fuzz.h"

#define PWD STR("0123456789abcdefghijkl")

/* Puts the proof of an own making at the end. */
static size_t seal(uint8_t *bytes, size_t n) {
        unsigned n_hmac = 20;

        bytes[2] = (uint8_t)((n + 24 - STUN_HEADER) >> 8);
        bytes[3] = (uint8_t)(n + 24 - STUN_HEADER);
        memcpy(bytes + 4, (uint8_t[]){0x21, 0x12, 0xa4, 0x42}, 4);
        memcpy(bytes + n, (uint8_t[]){0, 8, 0, 20}, 4);
        FUZZ_CHECK(HMAC(EVP_sha1(), PWD.data, (int)PWD.n, bytes, n, bytes + n + 4, &n_hmac));
        return n + 24;
}

static void check_inside(Str datagram, const StunMessage *message) {
        FUZZ_CHECK((const char *)message->id == datagram.data + 8);
        FUZZ_CHECK(message->username.n == 0 ||
                   (message->username.data >= datagram.data + STUN_HEADER &&
                    message->username.data + message->username.n <= datagram.data + datagram.n));
        FUZZ_CHECK(message->integrity_at == 0 || message->integrity_at + 24 <= datagram.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static Ice ice;
        uint8_t reply[STUN_REPLY_MAX];
        IceSource from = {.address = {.family = 4, .port = 1}};
        StunMessage message;
        bool is_sealed = n > 0 && data[0] & 1;
        _cleanup_(freep) uint8_t *bytes = malloc(n + 32);
        size_t n_bytes = n ? n - 1 : 0, n_reply;
        IceVerdict verdict;
        Str datagram;

        FUZZ_CHECK(bytes);
        memcpy(bytes, data + (n > 0), n_bytes);
        if (is_sealed && n_bytes >= STUN_HEADER && n_bytes % 4 == 0 && n_bytes < 2000)
                n_bytes = seal(bytes, n_bytes);
        datagram = (Str){(const char *)bytes, n_bytes};
        if (stun_parse(datagram, &message) == 0)
                check_inside(datagram, &message);
        ice_init(&ice, STR("ours"), PWD);
        verdict = ice_take(&ice, datagram, &from, 0, reply, &n_reply);
        FUZZ_CHECK(verdict == ICE_NOTHING || (verdict == ICE_NEW && is_sealed));
        FUZZ_CHECK((n_reply > 0) == (verdict == ICE_NEW) && n_reply <= STUN_REPLY_MAX);
        FUZZ_CHECK(verdict == ICE_NOTHING || str_starts(message.username, STR("ours:")));
        if (n_reply) {
                StunMessage answer;
                Str text = {(const char *)reply, n_reply};

                FUZZ_CHECK(stun_parse(text, &answer) == 0 && stun_is_proved(text, &answer, PWD));
                FUZZ_CHECK(tunnel_address_eq(&answer.mapped, &from.address));
        }
        return 0;
}
