/* SPDX-License-Identifier: MIT */
#include "tunnel/dcep.h"

#include <assert.h>

enum { TYPE_ACK = 2, TYPE_OPEN = 3 };

/* Type, channel type, priority (2), reliability (4), length of label (2) and protocol (2). */
int dcep_parse(Str message, DcepOpen *ret) {
        const uint8_t *at = (const uint8_t *)message.data;
        size_t n_label, n_protocol;

        if (message.n >= 1 && at[0] == TYPE_ACK)
                return DCEP_E_ACK;
        if (message.n < DCEP_HEADER || at[0] != TYPE_OPEN)
                return DCEP_E_INVALID;
        n_label = (size_t)(at[8] << 8 | at[9]);
        n_protocol = (size_t)(at[10] << 8 | at[11]);
        if (n_label > TUNNEL_LABEL_MAX || n_protocol > TUNNEL_LABEL_MAX ||
            message.n != DCEP_HEADER + n_label + n_protocol)
                return DCEP_E_INVALID;
        *ret = (DcepOpen){.channel_type = at[1],
                          .label = {message.data + DCEP_HEADER, n_label},
                          .protocol = {message.data + DCEP_HEADER + n_label, n_protocol}};
        return 0;
}

size_t dcep_write_open(uint8_t to[static DCEP_MAX], const DcepOpen *open) {
        size_t n_label = open->label.n, n_protocol = open->protocol.n;

        assert(n_label <= TUNNEL_LABEL_MAX && n_protocol <= TUNNEL_LABEL_MAX);
        memset(to, 0, DCEP_HEADER);
        to[0] = TYPE_OPEN;
        to[1] = open->channel_type;
        to[8] = (uint8_t)(n_label >> 8);
        to[9] = (uint8_t)n_label;
        to[10] = (uint8_t)(n_protocol >> 8);
        to[11] = (uint8_t)n_protocol;
        if (n_label)
                memcpy(to + DCEP_HEADER, open->label.data, n_label);
        if (n_protocol)
                memcpy(to + DCEP_HEADER + n_label, open->protocol.data, n_protocol);
        return DCEP_HEADER + n_label + n_protocol;
}

size_t dcep_write_ack(uint8_t to[static DCEP_MAX]) {
        to[0] = TYPE_ACK;
        return 1;
}
