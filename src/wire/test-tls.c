/* SPDX-License-Identifier: MIT */
/* A TLS client on the other end of a connection, in the same thread: each has its turns until both are where they want to be. */
#include "wire/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/test-conn-fixture.h"

static char folder[] = "/tmp/muster-test-tls-XXXXXX";
static char own_path[64];

static int make_folder(void **state) {
        (void)state;
        if (!mkdtemp(folder))
                return -1;
        snprintf(own_path, sizeof(own_path), "%s/tls.pem", folder);
        return 0;
}

static int remove_folder(void **state) {
        (void)state;
        (void)unlink(own_path);
        return rmdir(folder);
}

static TlsServer *own_server(const char *host) {
        char why[TLS_WHY_MAX] = "";
        TlsServer *server = NULL;

        assert_int_equal(tls_server_auto(&server, own_path, host, why), 0);
        return server;
}

/* ---- a client -------------------------------------------------------------------------------- */

typedef struct Peer {
        Link link;
        SSL_CTX *context;
        SSL *ssl;
} Peer;

static void peer_open(Peer *peer, Bench *bench, const Framing *framing, int version) {
        TlsServer *server = own_server(NULL);

        link_open(&peer->link, bench);
        assert_int_equal(tls_begin(server, peer->link.conn), 0);
        tls_server_free(server); /* connections live on without it */
        peer->context = SSL_CTX_new(TLS_client_method());
        assert_non_null(peer->context);
        if (version) {
                SSL_CTX_set_min_proto_version(peer->context, version);
                SSL_CTX_set_max_proto_version(peer->context, version);
        }
        peer->ssl = SSL_new(peer->context);
        SSL_set_fd(peer->ssl, peer->link.peer_in);
        SSL_set_connect_state(peer->ssl);
        SSL_set_mode(peer->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        link_start(&peer->link, framing, &plain);
}

static void peer_close(Peer *peer) {
        SSL_free(peer->ssl);
        SSL_CTX_free(peer->context);
        ERR_clear_error();
        link_end(&peer->link);
}

static void peer_shake_hands(Peer *peer) {
        for (int i = 0; i < 100 && !SSL_is_init_finished(peer->ssl); i++) {
                (void)SSL_do_handshake(peer->ssl);
                turns(peer->link.bench, 1);
        }
        assert_true(SSL_is_init_finished(peer->ssl));
        turns(peer->link.bench, 2);
}

static void peer_sends(Peer *peer, const char *data, size_t n) {
        for (int patience = 100000; n && patience; patience--) {
                size_t k = 0;

                if (SSL_write_ex(peer->ssl, data, n, &k) != 1)
                        turns(peer->link.bench, 1);
                data += k;
                n -= k;
        }
        assert_int_equal(n, 0);
}

/* Everything that comes until there are n bytes; false: the peer has ended in good order before. */
static bool peer_gets(Peer *peer, size_t n) {
        char block[9000];

        for (int patience = 100000; peer->link.heard.n < n && patience; patience--) {
                size_t k = 0;
                int r = SSL_read_ex(peer->ssl, block, sizeof(block), &k);

                if (r == 1)
                        assert_int_equal(buf_append(&peer->link.heard, block, k), 0);
                else if (SSL_get_error(peer->ssl, r) == SSL_ERROR_ZERO_RETURN)
                        return false;
                else
                        turns(peer->link.bench, 1);
        }
        return peer->link.heard.n >= n;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void echo(Link *link, Str frame) {
        assert_int_equal(conn_write(link->conn, frame), 0);
        assert_int_equal(conn_write(link->conn, STR("\n")), 0);
}

static void check_echo(Bench *bench, int version, const char *name) {
        Peer peer = {0};

        peer_open(&peer, bench, &lines, version);
        peer.link.on_frame = echo;
        peer_shake_hands(&peer);
        assert_string_equal(SSL_get_version(peer.ssl), name);
        peer_sends(&peer, "one\ntwo\nth", 10);
        assert_true(peer_gets(&peer, 8));
        assert_string_equal(buf_cstr(&peer.link.heard), "one\ntwo\n");
        peer_sends(&peer, "ree\n", 4);
        assert_true(peer_gets(&peer, 14));
        assert_frames(&peer.link, "one|two|three|");
        assert_sleeps(bench);
        peer_close(&peer);
}

static void test_versions(void **state) {
        check_echo(*state, 0, "TLSv1.3");
        check_echo(*state, TLS1_3_VERSION, "TLSv1.3");
        check_echo(*state, TLS1_2_VERSION, "TLSv1.2");
}

static void test_old_versions(void **state) {
        Peer peer = {0};

        peer_open(&peer, *state, &lines, TLS1_1_VERSION);
        SSL_set_security_level(peer.ssl, 0);
        SSL_set_cipher_list(peer.ssl, "ALL:@SECLEVEL=0");
        for (int i = 0; i < 20; i++) {
                (void)SSL_do_handshake(peer.ssl);
                turns(*state, 1);
        }
        assert_false(SSL_is_init_finished(peer.ssl));
        assert_closed(&peer.link, "read error");
        peer_close(&peer);
}

/* Who speaks plainly, or garbage, is closed and heard by nobody. */
static void test_plain_text(void **state) {
        Peer peer = {0};

        peer_open(&peer, *state, &lines, 0);
        peer_says_text(&peer.link, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        turns(*state, 3);
        assert_int_equal(peer.link.n_frames, 0);
        assert_closed(&peer.link, "read error");
        peer_close(&peer);
}

/* Far more than the kernel's queues and a record hold, both ways at once. */
static void test_large(void **state) {
        enum { N = 3 << 20 };
        _cleanup_(freep) char *block = malloc(N);
        Framing count = {.kind = FRAMING_COUNT, .n_max = N};
        Peer peer = {0};

        assert_non_null(block);
        for (size_t i = 0; i < N; i++)
                block[i] = (char)(i * 31 + (i >> 11));
        peer_open(&peer, *state, &count, 0);
        peer_shake_hands(&peer);
        peer_sends(&peer, block, N);
        for (int i = 0; i < 10000 && !peer.link.n_frames; i++)
                turns(*state, 1);
        assert_int_equal(peer.link.n_frames, 1);
        assert_memory_equal(peer.link.frames.data, block, N);
        for (size_t at = 0; at < N; at += 100000) { /* small and large, copied and shared */
                Str piece = {block + at, MIN((size_t)100000, N - at)};
                Chunk *chunk = chunk_new(piece);

                assert_int_equal(conn_write(peer.link.conn, STR("head")), 0);
                assert_int_equal(conn_write_chunk(peer.link.conn, chunk), 0);
                chunk_unref(chunk);
        }
        assert_true(peer_gets(&peer, N + 4 * ((N + 99999) / 100000)));
        for (size_t at = 0, heard = 0; at < N; at += 100000, heard += 100004) {
                assert_memory_equal(peer.link.heard.data + heard, "head", 4);
                assert_memory_equal(peer.link.heard.data + heard + 4, block + at,
                                    MIN((size_t)100000, N - at));
        }
        assert_sleeps(*state);
        peer_close(&peer);
}

/* What one read leaves of a record lies inside of TLS, where no poll sees it. */
static void test_nothing_stays_inside(void **state) {
        enum { N = 10 + CONN_READ_MAX };
        static char many[CONN_READ_MAX];
        Peer peer = {0};

        memset(many, '\n', sizeof(many));
        peer_open(&peer, *state, &raw, 0);
        peer_shake_hands(&peer);
        for (int i = 0; i < 10; i++)
                peer_sends(&peer, many, 1);
        peer_sends(&peer, many, sizeof(many));
        for (int i = 0; i < 100 && peer.link.frames.n < N + (size_t)peer.link.n_frames; i++)
                turns(*state, 1);
        assert_int_equal(peer.link.frames.n, N + peer.link.n_frames);
        peer_close(&peer);
}

static void test_ends(void **state) {
        Peer peer = {0}, rude = {0}, last = {0};

        peer_open(&peer, *state, &lines, 0);
        peer_shake_hands(&peer);
        peer_sends(&peer, "rest", 4);
        assert_int_equal(SSL_shutdown(peer.ssl), 0);
        turns(*state, 3);
        assert_int_equal(peer.link.n_eof, 1);
        assert_string_equal(buf_cstr(&peer.link.rest), "rest");
        peer_close(&peer);

        peer_open(&rude, *state, &lines, 0);
        peer_shake_hands(&rude);
        peer_sends(&rude, "a\n", 2);
        peer_goes(&rude.link);
        turns(*state, 3);
        assert_frames(&rude.link, "a|");
        assert_int_equal(rude.link.n_eof, 1);
        peer_close(&rude);

        peer_open(&last, *state, &lines, 0); /* our own end is said before the connection is closed */
        peer_shake_hands(&last);
        assert_int_equal(conn_write(last.link.conn, STR("bye")), 0);
        conn_finish(last.link.conn, "finished");
        assert_false(peer_gets(&last, 4));
        assert_string_equal(buf_cstr(&last.link.heard), "bye");
        assert_closed(&last.link, "finished");
        peer_close(&last);
}

/* One that never shakes hands goes when its time is over, and costs no time until then. */
static void test_silent(void **state) {
        static const ConnLimits hasty = {.handshake_ms = 1000};
        Peer peer = {0};

        peer_open(&peer, *state, &lines, 0);
        conn_set_limits(peer.link.conn, &hasty);
        assert_int_equal(conn_write(peer.link.conn, STR("too early")), 0); /* nothing to send it by yet */
        turns(*state, 2);
        assert_sleeps(*state);
        peer_close(&peer);
}

static void test_renegotiation(void **state) {
        Peer peer = {0};

        peer_open(&peer, *state, &lines, TLS1_2_VERSION);
        peer_shake_hands(&peer);
        (void)SSL_renegotiate(peer.ssl);
        for (int i = 0; i < 10; i++) {
                (void)SSL_do_handshake(peer.ssl);
                turns(*state, 1);
        }
        assert_true(SSL_num_renegotiations(peer.ssl) <= 1 && !SSL_is_init_finished(peer.ssl));
        peer_close(&peer);
}

static void test_alpn(void **state) {
        static const unsigned char offered[] = "\x02h2\x08http/1.1";
        const unsigned char *chosen = NULL;
        unsigned n = 0;
        Peer peer = {0}, other = {0};

        peer_open(&peer, *state, &lines, 0);
        assert_int_equal(SSL_set_alpn_protos(peer.ssl, offered, sizeof(offered) - 1), 0);
        peer_shake_hands(&peer);
        SSL_get0_alpn_selected(peer.ssl, &chosen, &n);
        assert_true(str_is((Str){(const char *)chosen, n}, "http/1.1"));
        peer_close(&peer);
        peer_open(&other, *state, &lines, 0);
        assert_int_equal(SSL_set_alpn_protos(other.ssl, offered, 3), 0);
        peer_shake_hands(&other);
        SSL_get0_alpn_selected(other.ssl, &chosen, &n);
        assert_int_equal(n, 0);
        peer_close(&other);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static void fingerprint_for(const char *host, char out[TLS_FINGERPRINT_MAX]) {
        TlsServer *server = own_server(host);

        tls_server_fingerprint(server, out);
        tls_server_free(server);
}

static void test_own_certificate(void **state) {
        char first[TLS_FINGERPRINT_MAX], second[TLS_FINGERPRINT_MAX], third[TLS_FINGERPRINT_MAX];
        struct stat st;

        (void)state;
        (void)unlink(own_path);
        fingerprint_for(NULL, first);
        assert_int_equal(strlen(first), 32 * 3 - 1);
        assert_int_equal(stat(own_path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        fingerprint_for("127.0.0.1", second); /* which it is for already */
        assert_string_equal(first, second);
        fingerprint_for("192.0.2.7", second);
        assert_string_not_equal(first, second);
        fingerprint_for("192.0.2.7", third);
        assert_string_equal(second, third);
        fingerprint_for("a,DNS:evil", third); /* no name: nothing is made of it */
        assert_string_equal(second, third);
}

static void test_unusable(void **state) {
        char why[TLS_WHY_MAX] = "", path[80];
        TlsServer *server = NULL;
        FILE *file;

        (void)state;
        assert_int_equal(tls_server_load(&server, "/nonexistent/c.pem", own_path, why), TLS_E_UNUSABLE);
        assert_non_null(strstr(why, "/nonexistent/c.pem: no certificate"));
        snprintf(path, sizeof(path), "%s/bad.pem", folder);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs("-----BEGIN CERTIFICATE-----\nMIIB\n", file);
        fclose(file);
        assert_int_equal(tls_server_load(&server, path, path, why), TLS_E_UNUSABLE);
        tls_server_free(own_server(NULL));
        assert_int_equal(tls_server_load(&server, own_path, path, why), TLS_E_UNUSABLE);
        assert_non_null(strstr(why, "no key"));
        assert_int_equal(tls_server_auto(&server, path, NULL, why),
                         0); /* one of ours that is spoilt is made anew */
        tls_server_free(server);
        assert_int_equal(tls_server_load(&server, own_path, path, why),
                         TLS_E_UNUSABLE); /* of another certificate */
        unlink(path);
        assert_true(tls_server_auto(&server, "/nonexistent/tls.pem", NULL, why) < 0);
        assert_null(tls_server_free(NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                conn_test(test_versions),
                conn_test(test_old_versions),
                conn_test(test_plain_text),
                conn_test(test_large),
                conn_test(test_nothing_stays_inside),
                conn_test(test_ends),
                conn_test(test_silent),
                conn_test(test_renegotiation),
                conn_test(test_alpn),
                cmocka_unit_test(test_own_certificate),
                cmocka_unit_test(test_unusable),
        };

        signal(SIGPIPE, SIG_IGN); /* as in every program of ours */
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
