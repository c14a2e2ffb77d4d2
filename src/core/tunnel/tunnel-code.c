/* SPDX-License-Identifier: MIT */
#include "core/tunnel/tunnel-code.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/id.h"

enum {
        CODE_FLAG_VIEW = 1,
        CODE_HOST4 = 1,
        CODE_HOST6 = 2,
        CODE_REFLEXIVE4 = 3,
        CODE_REFLEXIVE6 = 4,
};
#define CODE_PRIORITY_HOST      2130706431u
#define CODE_PRIORITY_REFLEXIVE 1694498815u

int tunnel_code_make_secrets(TunnelCode *code) {
        int r = random_bytes(code->ufrag, sizeof(code->ufrag));

        if (!r)
                r = random_bytes(code->pwd, sizeof(code->pwd));
        return r ? error_trace(r) : error_trace(random_bytes(code->token, sizeof(code->token)));
}

/* ---- as bytes -------------------------------------------------------------------------------- */

_Static_assert(2 + TUNNEL_CODE_UFRAG + TUNNEL_CODE_PWD + TUNNEL_CODE_TOKEN + 32 == TUNNEL_CODE_HEAD,
               "the front of a code");

static uint8_t *code_put(uint8_t *at, const void *bytes, size_t n) {
        memcpy(at, bytes, n);
        return at + n;
}

static uint8_t *code_put_candidate(uint8_t *at, const TunnelCandidate *candidate) {
        bool is_6 = candidate->address.family == 6;

        *at++ = (uint8_t)((candidate->is_reflexive ? CODE_REFLEXIVE4 : CODE_HOST4) + is_6);
        at = code_put(at, candidate->address.bytes, is_6 ? 16 : 4);
        *at++ = (uint8_t)(candidate->address.port >> 8);
        *at++ = (uint8_t)candidate->address.port;
        return at;
}

int tunnel_code_encode(const TunnelCode *code, Buf *out) {
        uint8_t bytes[TUNNEL_CODE_MAX], *at = bytes;
        char text[BASE64URL_MAX(TUNNEL_CODE_MAX)];
        int r;

        *at++ = TUNNEL_CODE_VERSION;
        *at++ = code->is_view ? CODE_FLAG_VIEW : 0;
        at = code_put(at, code->ufrag, sizeof(code->ufrag));
        at = code_put(at, code->pwd, sizeof(code->pwd));
        at = code_put(at, code->token, sizeof(code->token));
        at = code_put(at, code->fingerprint, sizeof(code->fingerprint));
        for (size_t i = 0; i < code->n_candidates; i++)
                at = code_put_candidate(at, &code->candidates[i]);
        base64url_put((Str){(const char *)bytes, (size_t)(at - bytes)}, text);
        r = buf_append_str(out, str_from(text));
        explicit_bzero(bytes, sizeof(bytes));
        explicit_bzero(text, sizeof(text));
        return error_trace(r);
}

static const uint8_t *code_take(const uint8_t *at, void *to, size_t n) {
        memcpy(to, at, n);
        return at + n;
}

/* NULL: it is none. */
static const uint8_t *code_take_candidate(const uint8_t *at, const uint8_t *end, TunnelCandidate *ret) {
        uint8_t kind = *at;
        bool is_6 = kind == CODE_HOST6 || kind == CODE_REFLEXIVE6;
        size_t n = is_6 ? 16 : 4;

        if (kind < CODE_HOST4 || kind > CODE_REFLEXIVE6 || (size_t)(end - at) < 1 + n + 2)
                return NULL;
        *ret = (TunnelCandidate){.is_reflexive = kind >= CODE_REFLEXIVE4,
                                 .address = {.family = is_6 ? 6 : 4}};
        at = code_take(at + 1, ret->address.bytes, n);
        ret->address.port = (uint16_t)(at[0] << 8 | at[1]);
        return ret->address.port ? at + 2 : NULL;
}

static int code_read(const uint8_t *at, size_t n, TunnelCode *ret) {
        const uint8_t *end = at + n;

        if (n <= TUNNEL_CODE_HEAD || at[0] != TUNNEL_CODE_VERSION)
                return TUNNEL_CODE_E_WRONG;
        *ret = (TunnelCode){.is_view = at[1] & CODE_FLAG_VIEW};
        at = code_take(at + 2, ret->ufrag, sizeof(ret->ufrag));
        at = code_take(at, ret->pwd, sizeof(ret->pwd));
        at = code_take(at, ret->token, sizeof(ret->token));
        at = code_take(at, ret->fingerprint, sizeof(ret->fingerprint));
        while (at < end) {
                if (ret->n_candidates == TUNNEL_CODE_CANDIDATES)
                        return TUNNEL_CODE_E_WRONG;
                at = code_take_candidate(at, end, &ret->candidates[ret->n_candidates++]);
                if (!at)
                        return TUNNEL_CODE_E_WRONG;
        }
        return 0;
}

int tunnel_code_decode(Str text, TunnelCode *ret) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        int r = text.n < BASE64URL_MAX(TUNNEL_CODE_MAX) ? base64url_decode(&bytes, text) : BASE64_E_WRONG;

        if (r < 0)
                return error_trace(r);
        return r ? TUNNEL_CODE_E_WRONG : code_read((const uint8_t *)bytes.data, bytes.n, ret);
}

/* ---- as an offer ----------------------------------------------------------------------------- */

/* n bytes are a multiple of three: no padding, which is no ice-char. */
static void code_text(const uint8_t *bytes, size_t n, char *out) {
        base64url_put((Str){(const char *)bytes, n}, out);
        for (; *out; out++)
                *out = *out == '-' ? '+' : *out == '_' ? '/' : *out;
}

void tunnel_code_ice(const TunnelCode *code, char ufrag[TUNNEL_UFRAG_TEXT + 1],
                     char pwd[TUNNEL_PWD_TEXT + 1]) {
        code_text(code->ufrag, sizeof(code->ufrag), ufrag);
        code_text(code->pwd, sizeof(code->pwd), pwd);
}

static int code_offer_candidate(Buf *out, const TunnelCandidate *candidate, size_t i) {
        bool is_6 = candidate->address.family == 6;
        unsigned base = candidate->is_reflexive ? CODE_PRIORITY_REFLEXIVE : CODE_PRIORITY_HOST;
        char ip[INET6_ADDRSTRLEN];

        if (!inet_ntop(is_6 ? AF_INET6 : AF_INET, candidate->address.bytes, ip, sizeof(ip)))
                return error_origin(-errno);
        return buf_printf(out, "a=candidate:%zu 1 udp %u %s %u typ %s\r\n", i + 1, base - 256u * (unsigned)i,
                          ip, candidate->address.port,
                          !candidate->is_reflexive ? "host"
                          : is_6                   ? "srflx raddr :: rport 0"
                                                   : "srflx raddr 0.0.0.0 rport 0");
}

static void code_fingerprint(const TunnelCode *code, char out[32 * 3]) {
        for (size_t i = 0; i < 32; i++)
                snprintf(out + i * 3, 4, "%02X%s", code->fingerprint[i], i < 31 ? ":" : "");
}

int tunnel_code_offer(const TunnelCode *code, Buf *out) {
        char ufrag[TUNNEL_UFRAG_TEXT + 1], pwd[TUNNEL_PWD_TEXT + 1], fingerprint[32 * 3];
        int r;

        tunnel_code_ice(code, ufrag, pwd);
        code_fingerprint(code, fingerprint);
        r = buf_printf(out,
                       "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\na=ice-lite\r\n"
                       "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n"
                       "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\na=fingerprint:sha-256 %s\r\na=setup:actpass\r\n"
                       "a=sctp-port:5000\r\na=max-message-size:%d\r\n",
                       ufrag, pwd, fingerprint, TUNNEL_DATA_MAX);
        for (size_t i = 0; !r && i < code->n_candidates; i++)
                r = code_offer_candidate(out, &code->candidates[i], i);
        return r ? error_trace(r) : error_trace(buf_append_str(out, STR("a=end-of-candidates\r\n")));
}

/* ---- the short code -------------------------------------------------------------------------- */

static const char short_code_alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; /* Crockford's */

int short_code_make(char out[SHORT_CODE_DIGITS + 1]) {
        uint8_t bytes[SHORT_CODE_DIGITS];
        int r = random_bytes(bytes, sizeof(bytes));

        if (r)
                return error_trace(r);
        for (size_t i = 0; i < SHORT_CODE_DIGITS; i++)
                out[i] = short_code_alphabet[bytes[i] & 31];
        out[SHORT_CODE_DIGITS] = '\0';
        return 0;
}

static char short_code_digit(char c) {
        if (c >= 'a' && c <= 'z')
                c = (char)(c - 'a' + 'A');
        c = c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
        return c && strchr(short_code_alphabet, c) ? c : '\0';
}

bool short_code_read(Str typed, char out[SHORT_CODE_DIGITS + 1]) {
        size_t n = 0;

        for (size_t i = 0; i < typed.n; i++) {
                if (typed.data[i] == ' ' || typed.data[i] == '-')
                        continue;
                if (n == SHORT_CODE_DIGITS || !short_code_digit(typed.data[i]))
                        return false;
                out[n++] = short_code_digit(typed.data[i]);
        }
        out[n] = '\0';
        return n == SHORT_CODE_DIGITS;
}
