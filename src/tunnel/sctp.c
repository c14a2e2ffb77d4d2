/* SPDX-License-Identifier: MIT */
#include "tunnel/sctp.h"

#include <errno.h>
#include <usrsctp.h>

#include "base/macro.h"

enum {
        PORT = 5000,
        PATH_MTU = 1130,          /* of DTLS_MTU, less its record and the header of SCTP */
        CHUNK = 128 * 1024,       /* read at once */
        HEARTBEAT_MS = 10 * 1000, /* tells both sides that the other is there, though checks do as well */
};

struct Sctp {
        struct socket *socket;
        const SctpEvents *events;
        void *data;
        bool is_up;
        bool is_lost;
        unsigned n_streams;
        char chunk[CHUNK];
};

/* ---- the process ----------------------------------------------------------------------------- */

/* The address that usrsctp knows us and the other side by. It is one for the life of the process, and of one association at a time: when
 * an address is added usrsctp asks the kernel about interfaces, with a socket, which a confined process cannot. */
static struct { Sctp *sctp; } sctp_wire;

static int sctp_output(_unused_ void *address, void *packet, size_t n, _unused_ uint8_t tos,
                       _unused_ uint8_t df) {
        Sctp *sctp = sctp_wire.sctp;

        if (sctp)
                sctp->events->output(sctp->data, packet, n);
        return 0;
}

void sctp_start(void) {
        usrsctp_init_nothreads(0, sctp_output, NULL);
        usrsctp_sysctl_set_sctp_blackhole(2);
        usrsctp_sysctl_set_sctp_ecn_enable(0);
        usrsctp_sysctl_set_sctp_sendspace(SCTP_SPACE);
        usrsctp_sysctl_set_sctp_recvspace(SCTP_SPACE);
        /* What data channels do not need is not offered: less that a stranger can reach. */
        usrsctp_sysctl_set_sctp_asconf_enable(0);
        usrsctp_sysctl_set_sctp_auto_asconf(0);
        usrsctp_sysctl_set_sctp_auth_enable(0);
        usrsctp_sysctl_set_sctp_pktdrop_enable(0);
        usrsctp_sysctl_set_sctp_nrsack_enable(0);
        usrsctp_sysctl_set_sctp_pr_enable(0);
        usrsctp_sysctl_set_sctp_max_burst_default(10);
        usrsctp_sysctl_set_sctp_rto_min_default(400);
        usrsctp_sysctl_set_sctp_rto_max_default(5000);
        usrsctp_sysctl_set_sctp_rto_initial_default(1000);
        usrsctp_sysctl_set_sctp_delayed_sack_time_default(20);
        usrsctp_sysctl_set_sctp_initial_cwnd(10);
        usrsctp_register_address(&sctp_wire);
}

void sctp_stop(void) {
        usrsctp_deregister_address(&sctp_wire);
        for (unsigned i = 0; i < 100 && usrsctp_finish(); i++)
                usrsctp_handle_timers(10);
}

void sctp_tick(unsigned elapsed_ms) {
        usrsctp_handle_timers(elapsed_ms);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int sctp_option(Sctp *sctp, int level, int name, const void *value, size_t n) {
        return usrsctp_setsockopt(sctp->socket, level, name, value, (socklen_t)n) ? -errno : 0;
}

static int sctp_set_options(Sctp *sctp) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0}; /* closing it aborts it */
        struct sctp_assoc_value reset = {.assoc_id = SCTP_ALL_ASSOC,
                                         .assoc_value = SCTP_ENABLE_RESET_STREAM_REQ};
        struct sctp_initmsg init = {.sinit_num_ostreams = SCTP_STREAMS, .sinit_max_instreams = SCTP_STREAMS};
        uint16_t wanted[] = {SCTP_ASSOC_CHANGE, SCTP_STREAM_RESET_EVENT};
        int on = 1, r;

        r = sctp_option(sctp, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
        if (!r)
                r = sctp_option(sctp, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on));
        if (!r)
                r = sctp_option(sctp, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof(on));
        if (!r)
                r = sctp_option(sctp, IPPROTO_SCTP, SCTP_ENABLE_STREAM_RESET, &reset, sizeof(reset));
        if (!r)
                r = sctp_option(sctp, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof(init));
        for (size_t i = 0; !r && i < ARRAY_SIZE(wanted); i++) {
                struct sctp_event event = {.se_assoc_id = SCTP_ALL_ASSOC, .se_type = wanted[i], .se_on = 1};

                r = sctp_option(sctp, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof(event));
        }
        return r;
}

/* Both sides connect; the collision is resolved by SCTP. */
static int sctp_connect(Sctp *sctp) {
        struct sockaddr_conn address = {
                .sconn_family = AF_CONN, .sconn_port = htons(PORT), .sconn_addr = &sctp_wire};
        struct sctp_paddrparams path = {.spp_pathmtu = PATH_MTU,
                                        .spp_hbinterval = HEARTBEAT_MS,
                                        .spp_flags = SPP_PMTUD_DISABLE | SPP_HB_ENABLE};

        if (usrsctp_bind(sctp->socket, (struct sockaddr *)&address, sizeof(address)))
                return -errno;
        if (usrsctp_connect(sctp->socket, (struct sockaddr *)&address, sizeof(address)) &&
            errno != EINPROGRESS)
                return -errno;
        memcpy(&path.spp_address, &address, sizeof(address));
        return sctp_option(sctp, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path));
}

int sctp_new(Sctp **ret, const SctpEvents *events, void *data) {
        Sctp *sctp = sctp_wire.sctp ? NULL : calloc(1, sizeof(*sctp));
        int r;

        if (!sctp)
                return sctp_wire.sctp ? -EBUSY : -ENOMEM;
        sctp->events = events;
        sctp->data = data;
        sctp_wire.sctp = sctp;
        sctp->socket = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
        r = sctp->socket ? 0 : -errno;
        if (!r)
                r = usrsctp_set_non_blocking(sctp->socket, 1) ? -errno : 0;
        if (!r)
                r = sctp_set_options(sctp);
        if (!r)
                r = sctp_connect(sctp);
        if (r) {
                sctp_free(sctp);
                return r;
        }
        *ret = sctp;
        return 0;
}

Sctp *sctp_free(Sctp *sctp) {
        if (sctp) {
                if (sctp->socket)
                        usrsctp_close(sctp->socket);
                sctp_wire.sctp = NULL;
                free(sctp);
        }
        return NULL;
}

/* ---- in -------------------------------------------------------------------------------------- */

void sctp_input(_unused_ Sctp *sctp, Str packet) {
        usrsctp_conninput(&sctp_wire, packet.data, packet.n, 0);
}

static void sctp_take_change(Sctp *sctp, const struct sctp_assoc_change *change) {
        if (change->sac_state == SCTP_COMM_UP && !sctp->is_up) {
                sctp->is_up = true;
                sctp->n_streams = MIN(change->sac_outbound_streams, (uint16_t)SCTP_STREAMS);
                sctp->events->up(sctp->data);
        } else if (change->sac_state == SCTP_COMM_LOST || change->sac_state == SCTP_SHUTDOWN_COMP ||
                   change->sac_state == SCTP_CANT_STR_ASSOC) {
                sctp->is_lost = true;
        }
}

static void sctp_take_reset(Sctp *sctp, const struct sctp_stream_reset_event *event, size_t n) {
        size_t n_streams = n < sizeof(*event) ? 0 : (n - sizeof(*event)) / sizeof(uint16_t);

        for (size_t i = 0; i < n_streams; i++) {
                uint16_t stream = event->strreset_stream_list[i];

                if (event->strreset_flags & SCTP_STREAM_RESET_INCOMING_SSN)
                        sctp->events->ended(sctp->data, stream);
                if (event->strreset_flags & SCTP_STREAM_RESET_OUTGOING_SSN)
                        sctp->events->ended_here(sctp->data, stream);
        }
}

static void sctp_take_notification(Sctp *sctp, size_t n) {
        union sctp_notification notification = {0}; /* for its alignment */
        union {
                struct sctp_stream_reset_event event;
                char bytes[sizeof(struct sctp_stream_reset_event) + SCTP_STREAMS * sizeof(uint16_t)];
        } reset;

        memcpy(&notification, sctp->chunk, MIN(n, sizeof(notification)));
        if (n < sizeof(notification.sn_header))
                return;
        if (notification.sn_header.sn_type == SCTP_ASSOC_CHANGE) {
                sctp_take_change(sctp, &notification.sn_assoc_change);
        } else if (notification.sn_header.sn_type == SCTP_STREAM_RESET_EVENT) {
                n = MIN(n, sizeof(reset));
                memcpy(&reset, sctp->chunk, n);
                sctp_take_reset(sctp, &reset.event, n);
        }
}

void sctp_drain(Sctp *sctp, bool (*may_go_on)(void *data)) {
        while (!sctp->is_lost && (!may_go_on || may_go_on(sctp->data))) {
                struct sockaddr_conn from;
                struct sctp_rcvinfo info = {0};
                socklen_t n_from = sizeof(from), n_info = sizeof(info);
                unsigned type = 0;
                int flags = 0;
                ssize_t n = usrsctp_recvv(sctp->socket, sctp->chunk, sizeof(sctp->chunk),
                                          (struct sockaddr *)&from, &n_from, &info, &n_info, &type, &flags);

                if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                        return;
                if (n <= 0)
                        sctp->is_lost = true;
                else if (flags & MSG_NOTIFICATION)
                        sctp_take_notification(sctp, (size_t)n);
                else if (type == SCTP_RECVV_RCVINFO)
                        sctp->events->piece(sctp->data, info.rcv_sid, ntohl(info.rcv_ppid),
                                            (Str){sctp->chunk, (size_t)n}, flags & MSG_EOR);
        }
        if (sctp->is_lost)
                sctp->events->lost(sctp->data);
}

/* ---- out ------------------------------------------------------------------------------------- */

int sctp_send(Sctp *sctp, uint16_t stream, uint32_t ppid, Str message) {
        struct sctp_sendv_spa spa = {
                .sendv_flags = SCTP_SEND_SNDINFO_VALID,
                .sendv_sndinfo = {.snd_sid = stream, .snd_flags = SCTP_EOR, .snd_ppid = htonl(ppid)}};

        if (usrsctp_sendv(sctp->socket, message.data, message.n, NULL, 0, &spa, sizeof(spa), SCTP_SENDV_SPA,
                          0) < 0)
                return errno == EWOULDBLOCK ? -EAGAIN : -errno;
        return 0;
}

int sctp_end(Sctp *sctp, uint16_t stream) {
        union {
                struct sctp_reset_streams reset;
                char bytes[sizeof(struct sctp_reset_streams) + sizeof(uint16_t)];
        } request = {.reset = {.srs_flags = SCTP_STREAM_RESET_OUTGOING, .srs_number_streams = 1}};
        int r;

        request.reset.srs_stream_list[0] = stream;
        r = sctp_option(sctp, IPPROTO_SCTP, SCTP_RESET_STREAMS, &request.reset, sizeof(request));
        return r == -EALREADY || r == -EBUSY ? -EAGAIN : r;
}

unsigned sctp_n_streams(const Sctp *sctp) {
        return sctp->n_streams;
}
