/* SPDX-License-Identifier: MIT */
#include "tunnel/stun.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <zlib.h>

enum {
        COOKIE = 0x2112A442,
        FINGERPRINT_XOR = 0x5354554e,
        N_SHA1 = 20,

        ATTR_USERNAME = 0x0006,
        ATTR_INTEGRITY = 0x0008,
        ATTR_XOR_MAPPED = 0x0020,
        ATTR_PRIORITY = 0x0024,
        ATTR_USE_CANDIDATE = 0x0025,
        ATTR_OPTIONAL = 0x8000, /* from here on what is not known may be passed over */
        ATTR_FINGERPRINT = 0x8028,
        ATTR_ICE_CONTROLLED = 0x8029,
        ATTR_ICE_CONTROLLING = 0x802a,
};

static uint16_t stun_u16(const uint8_t *at) {
        return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t stun_u32(const uint8_t *at) {
        return (uint32_t)stun_u16(at) << 16 | stun_u16(at + 2);
}

static void stun_put_u16(uint8_t *at, unsigned value) {
        at[0] = (uint8_t)(value >> 8);
        at[1] = (uint8_t)value;
}

static void stun_put_u32(uint8_t *at, uint32_t value) {
        stun_put_u16(at, value >> 16);
        stun_put_u16(at + 2, value & 0xffff);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Cookie and id are what addresses are xored with. */
static bool stun_read_mapped(const uint8_t *message, const uint8_t *value, size_t n, TunnelAddress *ret) {
        size_t n_address = n < 4 ? 0 : value[1] == 1 ? 4 : value[1] == 2 ? 16 : 0;

        if (n_address == 0 || n != 4 + n_address)
                return false;
        *ret = (TunnelAddress){.family = n_address == 4 ? 4 : 6,
                               .port = (uint16_t)(stun_u16(value + 2) ^ COOKIE >> 16)};
        for (size_t i = 0; i < n_address; i++)
                ret->bytes[i] = value[4 + i] ^ message[4 + i];
        return true;
}

static bool stun_take_attribute(const uint8_t *message, unsigned type, const uint8_t *value, size_t n,
                                StunMessage *ret) {
        switch (type) {
        case ATTR_USERNAME:
                ret->username = (Str){(const char *)value, n};
                return n > 0 && n <= STUN_USERNAME_MAX;
        case ATTR_PRIORITY:
                ret->has_priority = n == 4;
                ret->priority = n == 4 ? stun_u32(value) : 0;
                return n == 4;
        case ATTR_USE_CANDIDATE: ret->has_use_candidate = true; return n == 0;
        case ATTR_XOR_MAPPED: return stun_read_mapped(message, value, n, &ret->mapped);
        case ATTR_INTEGRITY: ret->integrity_at = (size_t)(value - 4 - message); return n == N_SHA1;
        default: ret->has_unknown |= type < ATTR_OPTIONAL; return true;
        }
}

static bool stun_is_fingerprint(const uint8_t *message, const uint8_t *value, size_t n, size_t n_message) {
        size_t n_before = (size_t)(value - 4 - message);

        return n == 4 && n_before + 8 == n_message &&
               stun_u32(value) == ((uint32_t)crc32(0, message, (unsigned)n_before) ^ FINGERPRINT_XOR);
}

int stun_parse(Str datagram, StunMessage *ret) {
        const uint8_t *message = (const uint8_t *)datagram.data;
        StunMessage m = {0};

        if (datagram.n < STUN_HEADER || !stun_is(datagram) || stun_u32(message + 4) != COOKIE ||
            datagram.n % 4 || stun_u16(message + 2) != datagram.n - STUN_HEADER)
                return STUN_E_INVALID;
        m.type = stun_u16(message);
        m.id = message + 8;
        for (size_t at = STUN_HEADER; at < datagram.n;) {
                unsigned type = stun_u16(message + at);
                size_t n = stun_u16(message + at + 2), padded = (n + 3) & ~(size_t)3;
                const uint8_t *value = message + at + 4;

                if (padded > datagram.n - at - 4)
                        return STUN_E_INVALID;
                if (type == ATTR_FINGERPRINT && !stun_is_fingerprint(message, value, n, datagram.n))
                        return STUN_E_INVALID;
                if (type != ATTR_FINGERPRINT && m.integrity_at == 0 &&
                    !stun_take_attribute(message, type, value, n, &m))
                        return STUN_E_INVALID;
                at += 4 + padded;
        }
        *ret = m;
        return 0;
}

/* Of the first n bytes, with the length in the header as if the message ended with the attribute behind them. */
static bool stun_hmac(const uint8_t *message, size_t n, Str pwd, uint8_t ret[static N_SHA1]) {
        uint8_t bytes[2048];
        unsigned n_ret = N_SHA1;

        if (n > sizeof(bytes))
                return false;
        memcpy(bytes, message, n);
        stun_put_u16(bytes + 2, (unsigned)(n - STUN_HEADER + 4 + N_SHA1));
        return HMAC(EVP_sha1(), pwd.data, (int)pwd.n, bytes, n, ret, &n_ret) != NULL;
}

bool stun_is_proved(Str datagram, const StunMessage *message, Str pwd) {
        const uint8_t *bytes = (const uint8_t *)datagram.data;
        uint8_t wanted[N_SHA1];

        if (message->integrity_at == 0 || !stun_hmac(bytes, message->integrity_at, pwd, wanted))
                return false;
        return CRYPTO_memcmp(wanted, bytes + message->integrity_at + 4, N_SHA1) == 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t stun_write_header(uint8_t *to, unsigned type, const uint8_t *id) {
        stun_put_u16(to, type);
        stun_put_u16(to + 2, 0);
        stun_put_u32(to + 4, COOKIE);
        memcpy(to + 8, id, STUN_ID);
        return STUN_HEADER;
}

/* Returns where the next one begins. */
static size_t stun_write_attribute(uint8_t *to, size_t at, unsigned type, const void *value, size_t n) {
        size_t padded = (n + 3) & ~(size_t)3;

        stun_put_u16(to + at, type);
        stun_put_u16(to + at + 2, (unsigned)n);
        memset(to + at + 4, 0, padded);
        if (n)
                memcpy(to + at + 4, value, n);
        return at + 4 + padded;
}

static size_t stun_write_end(uint8_t *to, size_t at, Str pwd) {
        uint8_t hmac[N_SHA1] = {0}, crc[4];

        stun_hmac(to, at, pwd, hmac);
        at = stun_write_attribute(to, at, ATTR_INTEGRITY, hmac, sizeof(hmac));
        stun_put_u16(to + 2, (unsigned)(at + 8 - STUN_HEADER));
        stun_put_u32(crc, (uint32_t)crc32(0, to, (unsigned)at) ^ FINGERPRINT_XOR);
        return stun_write_attribute(to, at, ATTR_FINGERPRINT, crc, sizeof(crc));
}

size_t stun_write_success(uint8_t to[static STUN_REPLY_MAX], const uint8_t id[static STUN_ID],
                          const TunnelAddress *from, Str pwd) {
        size_t at = stun_write_header(to, STUN_BINDING_SUCCESS, id), n_address = from->family == 4 ? 4 : 16;
        uint8_t mapped[4 + 16] = {0, from->family == 4 ? 1 : 2};

        stun_put_u16(mapped + 2, from->port ^ COOKIE >> 16);
        for (size_t i = 0; i < n_address; i++)
                mapped[4 + i] = from->bytes[i] ^ to[4 + i];
        at = stun_write_attribute(to, at, ATTR_XOR_MAPPED, mapped, 4 + n_address);
        return stun_write_end(to, at, pwd);
}

size_t stun_write_request(uint8_t to[static STUN_REPLY_MAX], const uint8_t id[static STUN_ID]) {
        return stun_write_header(to, STUN_BINDING_REQUEST, id);
}

size_t stun_write_check(uint8_t to[static STUN_REPLY_MAX * 2], const uint8_t id[static STUN_ID],
                        Str username, Str pwd, bool use_candidate) {
        size_t at = stun_write_header(to, STUN_BINDING_REQUEST, id);

        assert(username.n <= 64);
        at = stun_write_attribute(to, at, ATTR_USERNAME, username.data, username.n);
        at = stun_write_attribute(to, at, ATTR_ICE_CONTROLLING, (uint8_t[8]){1}, 8);
        at = stun_write_attribute(to, at, ATTR_PRIORITY, (uint8_t[4]){0x6e, 0, 1, 0xff}, 4);
        if (use_candidate)
                at = stun_write_attribute(to, at, ATTR_USE_CANDIDATE, NULL, 0);
        return stun_write_end(to, at, pwd);
}
