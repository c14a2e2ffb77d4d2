/* SPDX-License-Identifier: MIT */
/*
 * Messages between musterd and muster-tunnel: every one there and back, cut short at each byte, with other descriptors than it has.
 */
#include "tunnel/tunnel-control.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

#define PWD "0123456789abcdefghijkl"

static const TunnelAddress address4 = {.family = 4, .bytes = {192, 0, 2, 7}, .port = 40000};
static const TunnelAddress address6 = {.family = 6, .bytes = {0x20, 1, 0xd, 0xb8, [15] = 9}, .port = 1};

static TunnelMessage config_message(void) {
        return (TunnelMessage){.type = TUNNEL_CONFIG,
                               .config = {.ufrag = STR("abcd"),
                                          .pwd = STR(PWD),
                                          .n_sockets = 2,
                                          .waits_for_pin = true,
                                          .key = STR("key"),
                                          .certificate = STR("certificate"),
                                          .stun = address6}};
}

static int decode(const uint8_t *bytes, int n, TunnelMessage *ret) {
        return tunnel_decode((Str){(const char *)bytes, (size_t)n}, ret);
}

/* Encodes, decodes whole and at every shorter and one longer length. */
static TunnelMessage round_trip(const TunnelMessage *message, uint8_t bytes[TUNNEL_MESSAGE_MAX]) {
        TunnelMessage back, unused;
        int n = tunnel_encode(message, bytes);

        assert_true(n > 0);
        for (int i = 0; i < n; i++)
                assert_int_equal(decode(bytes, i, &unused), TUNNEL_E_INVALID);
        assert_int_equal(decode(bytes, n + 1, &unused), TUNNEL_E_INVALID);
        assert_int_equal(decode(bytes, n, &back), 0);
        assert_int_equal(back.type, message->type);
        return back;
}

static void test_config(_unused_ void **state) {
        uint8_t bytes[TUNNEL_MESSAGE_MAX] = {0};
        TunnelMessage m = config_message(), back = round_trip(&m, bytes);

        assert_true(str_eq(back.config.ufrag, m.config.ufrag) && str_eq(back.config.pwd, m.config.pwd));
        assert_true(str_eq(back.config.key, m.config.key));
        assert_true(str_eq(back.config.certificate, m.config.certificate));
        assert_true(back.config.waits_for_pin);
        assert_int_equal(tunnel_n_fds(&back), 2);
        assert_true(tunnel_address_eq(&back.config.stun, &address6));

        bytes[1] = TUNNEL_VERSION + 1;
        assert_int_equal(decode(bytes, tunnel_encode(&m, (uint8_t[TUNNEL_MESSAGE_MAX]){0}), &back),
                         TUNNEL_E_INVALID);
        m.config.n_sockets = TUNNEL_SOCKETS_MAX + 1;
        assert_int_equal(decode(bytes, tunnel_encode(&m, bytes), &back), TUNNEL_E_INVALID);
        m = config_message();
        m.config.pwd = STR("too-short");
        assert_int_equal(decode(bytes, tunnel_encode(&m, bytes), &back), TUNNEL_E_INVALID);
        m.config.pwd = STR(PWD PWD);
        assert_int_equal(tunnel_encode(&m, bytes), -EMSGSIZE);
}

static void test_small_ones(_unused_ void **state) {
        uint8_t bytes[TUNNEL_MESSAGE_MAX] = {0};
        TunnelMessage pin = {.type = TUNNEL_PIN, .fingerprint = {1, 2, 3, [31] = 4}}, back;

        back = round_trip(&pin, bytes);
        assert_memory_equal(back.fingerprint, pin.fingerprint, 32);
        for (int i = 0; i < 3; i++) {
                TunnelType types[] = {TUNNEL_CHANNEL, TUNNEL_REFUSE, TUNNEL_CLOSED};
                TunnelMessage m = {.type = types[i], .channel = 0x01020304};

                assert_int_equal(round_trip(&m, bytes).channel, m.channel);
        }
        assert_int_equal(round_trip(&(TunnelMessage){.type = TUNNEL_DROP, .peer = 7}, bytes).peer, 7);
        round_trip(&(TunnelMessage){.type = TUNNEL_QUIT}, bytes);
        back = round_trip(&(TunnelMessage){.type = TUNNEL_OPEN, .open = {STR("coop-pty-a-0"), STR("")}},
                          bytes);
        assert_true(str_is(back.open.label, "coop-pty-a-0"));
        back = round_trip(&(TunnelMessage){.type = TUNNEL_FAILED, .reason = STR("why")}, bytes);
        assert_true(str_is(back.reason, "why"));
}

static void test_state(_unused_ void **state) {
        uint8_t bytes[TUNNEL_MESSAGE_MAX] = {0};
        TunnelMessage m = {.type = TUNNEL_STATE,
                           .state = {.step = TUNNEL_SECURED,
                                     .peer = 3,
                                     .socket = 1,
                                     .address = address4,
                                     .fingerprint = {9}}};
        TunnelMessage back = round_trip(&m, bytes);

        assert_true(tunnel_address_eq(&back.state.address, &address4));
        assert_int_equal(back.state.fingerprint[0], 9);
        assert_int_equal(back.state.peer, 3);
        m.state.peer = 0; /* secured, but nobody */
        assert_int_equal(decode(bytes, tunnel_encode(&m, bytes), &back), TUNNEL_E_INVALID);
        m.state = (TunnelState){.step = TUNNEL_LOST, .peer = 1};
        assert_int_equal(decode(bytes, tunnel_encode(&m, bytes), &back), TUNNEL_E_INVALID);
        m.state.reason = TUNNEL_LOSS_CONSENT;
        assert_int_equal(round_trip(&m, bytes).state.reason, TUNNEL_LOSS_CONSENT);
        m.state = (TunnelState){.step = TUNNEL_READY, .protections = TUNNEL_PROTECTIONS};
        assert_int_equal(round_trip(&m, bytes).state.protections, TUNNEL_PROTECTIONS);
}

static void test_ask(_unused_ void **state) {
        uint8_t bytes[TUNNEL_MESSAGE_MAX] = {0};
        TunnelMessage m = {.type = TUNNEL_ASK, .ask = {1, 2, 3, STR("coop-control"), STR("p")}};
        TunnelMessage back = round_trip(&m, bytes);
        char label[TUNNEL_LABEL_MAX + 1] = {0};

        assert_true(str_is(back.ask.label, "coop-control") && str_is(back.ask.protocol, "p"));
        assert_int_equal(back.ask.stream, 3);
        m.ask.label = (Str){label, sizeof(label)};
        assert_int_equal(tunnel_encode(&m, bytes), -EMSGSIZE);
}

static void test_descriptors(_unused_ void **state) {
        TunnelReceived received;
        TunnelMessage m = config_message(), quit = {.type = TUNNEL_QUIT};
        int pair[2],
                fds[2] = {open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_RDONLY | O_CLOEXEC)};
        int before, after;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(tunnel_receive(pair[1], &received), -EAGAIN);
        assert_int_equal(tunnel_send(pair[0], &m, fds), 0);
        assert_int_equal(tunnel_receive(pair[1], &received), 0);
        assert_int_equal(received.n_fds, 2);
        assert_true(fcntl(received.fds[1], F_GETFD) & FD_CLOEXEC);
        tunnel_received_deinit(&received);

        /* More than it has: the message is none, and nothing stays open. */
        before = dup(0);
        close_fd(before);
        m = (TunnelMessage){.type = TUNNEL_CHANNEL, .channel = 1};
        assert_int_equal(send(pair[0], (uint8_t[]){TUNNEL_CHANNEL, 0, 0, 0, 1}, 5, 0), 5);
        assert_int_equal(tunnel_receive(pair[1], &received), TUNNEL_E_INVALID);
        assert_int_equal(tunnel_send(pair[0], &quit, NULL), 0);
        assert_int_equal(tunnel_receive(pair[1], &received), 0);
        after = dup(0);
        close_fd(after);
        assert_int_equal(before, after);
        close_fd(pair[0]);
        assert_int_equal(tunnel_receive(pair[1], &received), -EPIPE);
        close_fd(pair[1]);
        close_fd(fds[0]);
        close_fd(fds[1]);
}

static void test_data_header(_unused_ void **state) {
        uint8_t header[TUNNEL_DATA_HEADER];
        bool is_binary;
        size_t n;

        tunnel_data_header(header, true, TUNNEL_DATA_MAX);
        assert_int_equal(tunnel_data_parse(header, &is_binary, &n), 0);
        assert_true(is_binary);
        assert_int_equal(n, TUNNEL_DATA_MAX);
        header[3]++;
        assert_int_equal(tunnel_data_parse(header, &is_binary, &n), TUNNEL_E_INVALID);
        assert_int_equal(tunnel_data_parse((uint8_t[]){2, 0, 0, 0}, &is_binary, &n), TUNNEL_E_INVALID);
        tunnel_data_header(header, false, 0);
        assert_int_equal(tunnel_data_parse(header, &is_binary, &n), 0);
        assert_false(is_binary);
}

static void test_addresses(_unused_ void **state) {
        struct sockaddr_in6 to, mapped = {.sin6_family = AF_INET6, .sin6_port = htons(5)};
        TunnelAddress back;
        socklen_t n;

        tunnel_address_to(&address4, &to, &n);
        assert_int_equal(n, sizeof(struct sockaddr_in));
        assert_true(tunnel_address_from((struct sockaddr *)&to, &back));
        assert_true(tunnel_address_eq(&back, &address4));
        tunnel_address_to(&address6, &to, &n);
        assert_int_equal(n, sizeof(struct sockaddr_in6));
        assert_true(tunnel_address_from((struct sockaddr *)&to, &back));
        assert_true(tunnel_address_eq(&back, &address6));
        memcpy(&mapped.sin6_addr, (uint8_t[16]){[10] = 0xff, 0xff, 10, 0, 0, 1}, 16);
        assert_true(tunnel_address_from((struct sockaddr *)&mapped, &back));
        assert_int_equal(back.family, 4);
        assert_int_equal(back.bytes[0], 10);
        assert_false(tunnel_address_from(&(struct sockaddr){.sa_family = AF_UNIX}, &back));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_config),      cmocka_unit_test(test_small_ones),
                cmocka_unit_test(test_state),       cmocka_unit_test(test_ask),
                cmocka_unit_test(test_descriptors), cmocka_unit_test(test_data_header),
                cmocka_unit_test(test_addresses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
