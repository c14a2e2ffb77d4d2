/* SPDX-License-Identifier: MIT */
#include "tunnel/sdp-answer.h"

#include "base/macro.h"

enum { SCTP_PORT = 5000 };

static Str sdp_next_line(Str *text) {
        const char *end = memchr(text->data, '\n', text->n);
        size_t n = end ? (size_t)(end - text->data) : text->n;
        Str line = {text->data, n};

        text->data += end ? n + 1 : n;
        text->n -= end ? n + 1 : n;
        if (line.n && line.data[line.n - 1] == '\r')
                line.n--;
        return line;
}

static int sdp_hex(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "AB:CD:…", 32 of them. */
static bool sdp_read_fingerprint(Str text, uint8_t ret[static 32]) {
        if (text.n != 32 * 3 - 1)
                return false;
        for (size_t i = 0; i < 32; i++) {
                int high = sdp_hex(text.data[i * 3]), low = sdp_hex(text.data[i * 3 + 1]);

                if (high < 0 || low < 0 || (i < 31 && text.data[i * 3 + 2] != ':'))
                        return false;
                ret[i] = (uint8_t)(high << 4 | low);
        }
        return true;
}

static bool sdp_read_port(Str text, uint16_t *ret) {
        unsigned port = 0;

        if (text.n == 0 || text.n > 5)
                return false;
        for (size_t i = 0; i < text.n; i++) {
                if (text.data[i] < '0' || text.data[i] > '9')
                        return false;
                port = port * 10 + (unsigned)(text.data[i] - '0');
        }
        *ret = (uint16_t)port;
        return port > 0 && port <= UINT16_MAX;
}

static bool sdp_after(Str line, Str prefix, Str *ret) {
        if (!str_starts(line, prefix))
                return false;
        *ret = (Str){line.data + prefix.n, line.n - prefix.n};
        return true;
}

typedef struct SdpSeen {
        unsigned n_sections;
        bool has_fingerprint;
        bool has_setup;
} SdpSeen;

static int sdp_take_fingerprint(Str value, SdpSeen *seen, SdpAnswer *ret) {
        Str hash = {value.data, 7};
        uint8_t bytes[32];

        if (value.n < 8 || value.data[7] != ' ' || !str_eq_nocase(hash, STR("sha-256")))
                return 0; /* of another hash */
        if (!sdp_read_fingerprint((Str){value.data + 8, value.n - 8}, bytes) ||
            (seen->has_fingerprint && memcmp(bytes, ret->fingerprint, sizeof(bytes)) != 0))
                return SDP_E_FINGERPRINT;
        memcpy(ret->fingerprint, bytes, sizeof(bytes));
        seen->has_fingerprint = true;
        return 0;
}

static int sdp_take_line(Str line, SdpSeen *seen, SdpAnswer *ret) {
        Str value;

        if (line.n == 0)
                return 0;
        if (line.n < 2 || line.data[1] != '=' || memchr(line.data, '\0', line.n))
                return SDP_E_INVALID;
        if (sdp_after(line, STR("m="), &value))
                return ++seen->n_sections > 1 || !str_starts(value, STR("application ")) ? SDP_E_INVALID : 0;
        if (sdp_after(line, STR("a=fingerprint:"), &value))
                return sdp_take_fingerprint(value, seen, ret);
        if (sdp_after(line, STR("a=sctp-port:"), &value))
                return sdp_read_port(value, &ret->sctp_port) ? 0 : SDP_E_INVALID;
        if (sdp_after(line, STR("a=setup:"), &value)) {
                seen->has_setup = true;
                return str_is(value, "active") ? 0 : SDP_E_SETUP;
        }
        return 0;
}

int sdp_answer_parse(Str text, SdpAnswer *ret) {
        SdpAnswer answer = {.sctp_port = SCTP_PORT};
        SdpSeen seen = {0};

        if (text.n == 0 || text.n > SDP_ANSWER_MAX || !str_is(sdp_next_line(&text), "v=0"))
                return SDP_E_INVALID;
        while (text.n) {
                int r = sdp_take_line(sdp_next_line(&text), &seen, &answer);

                if (r)
                        return r;
        }
        if (seen.n_sections != 1)
                return SDP_E_INVALID;
        if (!seen.has_fingerprint)
                return SDP_E_FINGERPRINT;
        if (!seen.has_setup)
                return SDP_E_SETUP;
        *ret = answer;
        return 0;
}
