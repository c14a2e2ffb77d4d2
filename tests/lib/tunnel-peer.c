/* SPDX-License-Identifier: MIT */
/*
 * tunnel-peer HOST PORT UFRAG PWD [--remote UFRAG] [--no-check]
 * tunnel-peer --serve
 *
 * The browser's side of a tunnel for tests and the bench, made of the same parts as muster-tunnel: checks, DTLS as client, SCTP, channels. Commands
 * are lines on stdin, what happens is a line of JSON on stdout each.
 *
 *   open STREAM LABEL    begins a channel        text STREAM WORD    binary STREAM BYTES [COUNT]   sends      close STREAM    ends it
 *   echo STREAM BYTES COUNT   sends and waits for as much, COUNT times; tells the median             sink BYTES    counts what comes, and tells how long it took
 *   pause, resume        does not read SCTP      mute, speak    loses every datagram, both ways     hush, check    sends no checks
 *   move                 goes on from another port
 *
 * With --serve it is the bare other end: no ICE, no process between. Its port is its first line. On a channel "echo" it sends back what comes, on
 * "stream" as many bytes as the first message says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/macro.h"
#include "tunnel/dcep.h"
#include "tunnel/dtls.h"
#include "tunnel/sctp.h"
#include "tunnel/stun.h"

enum {
        CHECK_MS = 50, /* until the first answer */
        CONSENT_MS = 1000,
        STREAMS = 256,
        MESSAGE_MAX = 1024 * 1024,
        SHOWN_MAX = 4096, /* bytes of a text that is told with what it says */
};

typedef struct Stream {
        Buf in;
        bool is_echo, is_stream;
} Stream;

typedef struct Job { /* messages that wait for room in SCTP */
        bool is_used;
        uint16_t stream;
        size_t n, count;
        char *text; /* NULL: so many bytes of the pattern */
} Job;

typedef struct TestPeer {
        bool is_server, is_paused, is_mute, is_hushed, is_checked, is_secured, is_up, is_lost,
                needs_no_check;
        int fd;
        struct sockaddr_storage to;
        socklen_t n_to;
        Str pwd;
        char username[64];
        SSL_CTX *context;
        Dtls *dtls;
        Sctp *sctp;
        int64_t check_due_ms, ticked_ms;
        Stream streams[STREAMS];
        Job jobs[8];
        struct {
                uint16_t stream;
                size_t n, n_left;
                int64_t sent_us;
                int64_t *took_us;
                size_t n_took;
        } echo;
        struct {
                uint64_t n, n_left;
                int64_t began_us;
        } sink;
        Buf line;
} TestPeer;

static char pattern[MESSAGE_MAX];

static int64_t now_us(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t now_ms(void) {
        return now_us() / 1000;
}

static _noreturn_ void peer_die(const char *what) {
        fprintf(stderr, "tunnel-peer: %s: %s\n", what, strerror(errno));
        exit(1);
}

static void peer_say(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void peer_say(const char *event, const char *format, ...) {
        va_list args;

        printf("{\"event\":\"%s\"", event);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        puts("}");
        fflush(stdout);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static SSL_CTX *peer_context(void) {
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *x509 = X509_new();
        unsigned char *key_der = NULL, *x509_der = NULL;
        int n_key, n_x509;
        SSL_CTX *context;

        ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
        X509_gmtime_adj(X509_getm_notBefore(x509), -86400);
        X509_gmtime_adj(X509_getm_notAfter(x509), 86400L * 30);
        X509_set_pubkey(x509, key);
        if (!X509_sign(x509, key, EVP_sha256()))
                peer_die("certificate");
        n_key = i2d_PrivateKey(key, &key_der);
        n_x509 = i2d_X509(x509, &x509_der);
        if (dtls_context_new(&context, (Str){(char *)key_der, (size_t)n_key},
                             (Str){(char *)x509_der, (size_t)n_x509}))
                peer_die("context");
        {
                unsigned char digest[32];
                unsigned n = sizeof(digest);
                char hex[65];

                X509_digest(x509, EVP_sha256(), digest, &n);
                for (unsigned i = 0; i < 32; i++)
                        snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
                peer_say("certificate", ",\"fingerprint\":\"%s\"", hex);
        }
        OPENSSL_free(key_der);
        OPENSSL_free(x509_der);
        X509_free(x509);
        EVP_PKEY_free(key);
        return context;
}

/* ---- out ------------------------------------------------------------------------------------- */

static void peer_send(TestPeer *peer, const void *datagram, size_t n) {
        if (!peer->is_mute && peer->n_to)
                sendto(peer->fd, datagram, n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&peer->to,
                       peer->n_to);
}

static void peer_dtls_output(void *data, const void *datagram, size_t n) {
        peer_send(data, datagram, n);
}

static void peer_check(TestPeer *peer) {
        uint8_t id[STUN_ID], check[STUN_REPLY_MAX * 2];

        RAND_bytes(id, sizeof(id));
        peer_send(peer, check, stun_write_check(check, id, str_from(peer->username), peer->pwd, true));
}

/* ---- channels -------------------------------------------------------------------------------- */

static void peer_queue(TestPeer *peer, unsigned stream, size_t n, size_t count, char *text) {
        for (size_t i = 0; i < ARRAY_SIZE(peer->jobs); i++)
                if (!peer->jobs[i].is_used) {
                        peer->jobs[i] = (Job){true, (uint16_t)stream, MIN(n, sizeof(pattern)), count, text};
                        return;
                }
        peer_die("too many jobs");
}

static void peer_end_job(Job *job) {
        free(job->text);
        *job = (Job){0};
}

static void peer_echo_next(TestPeer *peer) {
        peer->echo.sent_us = now_us();
        sctp_send(peer->sctp, peer->echo.stream, DCEP_PPID_BINARY, (Str){pattern, peer->echo.n});
}

static int peer_compare(const void *a, const void *b) {
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return x < y ? -1 : x > y;
}

static void peer_echo_took(TestPeer *peer) {
        peer->echo.took_us[peer->echo.n_took++] = now_us() - peer->echo.sent_us;
        if (--peer->echo.n_left) {
                peer_echo_next(peer);
                return;
        }
        qsort(peer->echo.took_us, peer->echo.n_took, sizeof(int64_t), peer_compare);
        peer_say("echoed", ",\"median_us\":%lld,\"p99_us\":%lld",
                 (long long)peer->echo.took_us[peer->echo.n_took / 2],
                 (long long)peer->echo.took_us[peer->echo.n_took * 99 / 100]);
        free(steal(&peer->echo.took_us));
}

static void peer_take_sink(TestPeer *peer, size_t n) {
        peer->sink.n_left -= MIN(peer->sink.n_left, (uint64_t)n);
        if (peer->sink.n_left == 0)
                peer_say("sunk", ",\"bytes\":%llu,\"us\":%lld", (unsigned long long)peer->sink.n,
                         (long long)(now_us() - peer->sink.began_us));
}

/* What a short text says, as a member of its own. */
static void peer_show(Str text, char out[2 * SHOWN_MAX + 16]) {
        char *at = out + sprintf(out, ",\"hex\":\"");

        for (size_t i = 0; i < text.n; i++)
                at += sprintf(at, "%02x", (unsigned char)text.data[i]);
        *at++ = '"';
        *at = '\0';
}

static void peer_take_message(TestPeer *peer, uint16_t stream, uint32_t ppid, Str message) {
        Stream *s = &peer->streams[stream];
        bool is_text = ppid == DCEP_PPID_TEXT || ppid == DCEP_PPID_TEXT_EMPTY;

        if (ppid == DCEP_PPID_TEXT_EMPTY || ppid == DCEP_PPID_BINARY_EMPTY)
                message.n = 0;
        if (peer->sink.n_left) {
                peer_take_sink(peer, message.n);
        } else if (peer->echo.n_left && stream == peer->echo.stream) {
                peer_echo_took(peer);
        } else if (s->is_echo) {
                sctp_send(peer->sctp, stream, ppid, message);
        } else if (s->is_stream) {
                char *number = str_dup(message);

                peer_queue(peer, stream, 16384, (size_t)strtoull(number, NULL, 10) / 16384, NULL);
                free(number);
        } else {
                char hex[2 * SHOWN_MAX + 16] = "";

                if (is_text && message.n && message.n <= SHOWN_MAX)
                        peer_show(message, hex);
                peer_say("message", ",\"stream\":%u,\"text\":%s,\"n\":%zu,\"crc\":%lu%s", stream,
                         is_text ? "true" : "false", message.n,
                         crc32(0, (const void *)message.data, (unsigned)message.n), hex);
        }
}

static void peer_take_dcep(TestPeer *peer, uint16_t stream, Str message) {
        DcepOpen open;
        uint8_t ack[DCEP_MAX];
        int r = dcep_parse(message, &open);

        if (r == DCEP_E_ACK) {
                peer_say("opened", ",\"stream\":%u", stream);
        } else if (r == 0) {
                peer_say("open", ",\"stream\":%u,\"label\":\"" STR_FMT "\"", stream, STR_ARG(open.label));
                peer->streams[stream].is_echo = peer->is_server && str_is(open.label, "echo");
                peer->streams[stream].is_stream = peer->is_server && str_is(open.label, "stream");
                sctp_send(peer->sctp, stream, DCEP_PPID, (Str){(char *)ack, dcep_write_ack(ack)});
        }
}

static void peer_piece(void *data, uint16_t stream, uint32_t ppid, Str piece, bool is_last) {
        TestPeer *peer = data;
        Buf *in = &peer->streams[stream % STREAMS].in;

        if (stream >= STREAMS)
                return;
        if (in->n || !is_last)
                buf_append_str(in, piece);
        if (!is_last)
                return;
        if (in->n)
                piece = buf_str(in);
        if (ppid == DCEP_PPID)
                peer_take_dcep(peer, stream, piece);
        else
                peer_take_message(peer, stream, ppid, piece);
        in->n = 0;
}

static void peer_ended(void *data, uint16_t stream) {
        TestPeer *peer = data;

        peer_say("ended", ",\"stream\":%u", stream);
        for (size_t i = 0; i < ARRAY_SIZE(peer->jobs); i++)
                if (peer->jobs[i].is_used && peer->jobs[i].stream == stream)
                        peer_end_job(&peer->jobs[i]);
        sctp_end(peer->sctp, stream);
}

static void peer_ended_here(_unused_ void *data, uint16_t stream) {
        peer_say("ended_here", ",\"stream\":%u", stream);
}

static void peer_up(void *data) {
        TestPeer *peer = data;

        peer->is_up = true;
        peer_say("up", "%s", "");
}

static void peer_lost(void *data) {
        TestPeer *peer = data;

        if (!peer->is_lost)
                peer_say("lost", "%s", "");
        peer->is_lost = true;
}

static void peer_output(void *data, const void *packet, size_t n) {
        TestPeer *peer = data;

        dtls_write(peer->dtls, packet, n);
}

static const SctpEvents peer_events = {
        .output = peer_output,
        .up = peer_up,
        .lost = peer_lost,
        .piece = peer_piece,
        .ended = peer_ended,
        .ended_here = peer_ended_here,
};

/* ---- in -------------------------------------------------------------------------------------- */

static void peer_begin_dtls(TestPeer *peer) {
        if (dtls_new(&peer->dtls, peer->context, peer->is_server, peer_dtls_output, peer))
                peer_die("dtls");
        dtls_shake(peer->dtls);
}

static void peer_take_dtls(TestPeer *peer, Str datagram) {
        static char record[20 * 1024];
        size_t n;
        int r = 0;

        if (!peer->dtls)
                peer_begin_dtls(peer);
        dtls_input(peer->dtls, datagram);
        if (!peer->is_secured) {
                r = dtls_shake(peer->dtls);
                if (r == 0) {
                        peer->is_secured = true;
                        peer_say("secured", "%s", "");
                        if (sctp_new(&peer->sctp, &peer_events, peer))
                                peer_die("sctp");
                        peer->ticked_ms = now_ms();
                }
        }
        while (peer->is_secured && (r = dtls_read(peer->dtls, record, sizeof(record), &n)) == 0)
                sctp_input(peer->sctp, (Str){record, n});
        if (r && r != DTLS_E_AGAIN)
                peer_lost(peer);
}

static void peer_take_datagram(TestPeer *peer, Str datagram) {
        StunMessage message;

        if (dtls_is(datagram)) {
                peer_take_dtls(peer, datagram);
        } else if (stun_is(datagram) && stun_parse(datagram, &message) == 0 &&
                   message.type == STUN_BINDING_SUCCESS && stun_is_proved(datagram, &message, peer->pwd) &&
                   !peer->is_checked) {
                peer->is_checked = true;
                peer_say("checked", "%s", "");
                if (!peer->dtls)
                        peer_begin_dtls(peer);
        }
}

static void peer_receive(TestPeer *peer) {
        char datagram[2048];
        struct sockaddr_storage from;

        for (unsigned i = 0; i < 64; i++) {
                socklen_t n_from = sizeof(from);
                ssize_t n = recvfrom(peer->fd, datagram, sizeof(datagram), MSG_DONTWAIT,
                                     (struct sockaddr *)&from, &n_from);

                if (n < 0)
                        return;
                if (peer->is_mute)
                        continue;
                if (peer->is_server) {
                        peer->to = from;
                        peer->n_to = n_from;
                }
                peer_take_datagram(peer, (Str){datagram, (size_t)n});
        }
}

/* ---- commands -------------------------------------------------------------------------------- */

static int peer_bind(TestPeer *peer) {
        struct sockaddr_storage any = {.ss_family = peer->to.ss_family ? peer->to.ss_family : AF_INET};
        int fd = socket(any.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), space = 1024 * 1024;
        struct sockaddr_in *in = (struct sockaddr_in *)&any;

        if (any.ss_family == AF_INET)
                in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
                ((struct sockaddr_in6 *)&any)->sin6_addr = in6addr_loopback;
        if (fd < 0 || bind(fd, (struct sockaddr *)&any,
                           any.ss_family == AF_INET ? sizeof(*in) : sizeof(struct sockaddr_in6)))
                peer_die("bind");
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &space, sizeof(space));
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &space, sizeof(space));
        return fd;
}

static void peer_pump(TestPeer *peer) {
        for (size_t i = 0; peer->sctp && !peer->is_lost && i < ARRAY_SIZE(peer->jobs); i++) {
                Job *job = &peer->jobs[i];

                while (job->is_used && job->count &&
                       sctp_send(peer->sctp, job->stream, job->text ? DCEP_PPID_TEXT : DCEP_PPID_BINARY,
                                 (Str){job->text ? job->text : pattern, job->n}) == 0)
                        job->count--;
                if (job->is_used && job->count == 0)
                        peer_end_job(job);
        }
}

static void peer_open(TestPeer *peer, unsigned stream, const char *label) {
        uint8_t open[DCEP_MAX];
        size_t n = dcep_write_open(open, &(DcepOpen){.label = str_from(label)});

        sctp_send(peer->sctp, (uint16_t)stream, DCEP_PPID, (Str){(char *)open, n});
}

static void peer_command(TestPeer *peer, const char *line) {
        unsigned stream;
        size_t n, count = 1;
        char word[600];

        if (sscanf(line, "open %u %599s", &stream, word) == 2)
                peer_open(peer, stream, word);
        else if (sscanf(line, "text %u %599s", &stream, word) == 2)
                peer_queue(peer, stream, strlen(word), 1, strdup(word));
        else if (sscanf(line, "binary %u %zu %zu", &stream, &n, &count) >= 2)
                peer_queue(peer, stream, n, count, NULL);
        else if (sscanf(line, "close %u", &stream) == 1)
                sctp_end(peer->sctp, (uint16_t)stream);
        else if (sscanf(line, "echo %u %zu %zu", &stream, &n, &count) == 3) {
                peer->echo.stream = (uint16_t)stream;
                peer->echo.n = n;
                peer->echo.n_left = count;
                peer->echo.n_took = 0;
                peer->echo.took_us = calloc(count, sizeof(int64_t));
                peer_echo_next(peer);
        } else if (sscanf(line, "sink %zu", &n) == 1) {
                peer->sink.n = peer->sink.n_left = n;
                peer->sink.began_us = now_us();
        } else if (strcmp(line, "pause") == 0 || strcmp(line, "resume") == 0)
                peer->is_paused = line[0] == 'p';
        else if (strcmp(line, "mute") == 0 || strcmp(line, "speak") == 0)
                peer->is_mute = line[0] == 'm';
        else if (strcmp(line, "hush") == 0 || strcmp(line, "check") == 0)
                peer->is_hushed = line[0] == 'h';
        else if (strcmp(line, "move") == 0) {
                int old = peer->fd; /* still open, so that the new one gets another port */

                peer->fd = peer_bind(peer);
                close_fd(old);
                peer->check_due_ms = 0;
        } else
                peer_die(line);
}

static bool peer_read_commands(TestPeer *peer) {
        char *end;
        ssize_t n;

        buf_reserve(&peer->line, 4096);
        n = read(0, peer->line.data + peer->line.n, 4096);
        if (n <= 0)
                return false;
        peer->line.n += (size_t)n;
        while ((end = memchr(peer->line.data, '\n', peer->line.n))) {
                *end = '\0';
                peer_command(peer, peer->line.data);
                buf_consume(&peer->line, (size_t)(end + 1 - peer->line.data));
        }
        return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void peer_work(TestPeer *peer) {
        int64_t now = now_ms();

        if (!peer->is_server && !peer->needs_no_check && !peer->is_hushed && now >= peer->check_due_ms) {
                peer_check(peer);
                peer->check_due_ms = now + (peer->is_checked ? CONSENT_MS : CHECK_MS);
        }
        if (peer->dtls && !peer->is_secured && dtls_timeout_ms(peer->dtls) == 0)
                dtls_timeout(peer->dtls);
        if (!peer->sctp)
                return;
        if (!peer->is_paused && !peer->is_lost)
                sctp_drain(peer->sctp, NULL);
        if (now - peer->ticked_ms >= 10) {
                sctp_tick((unsigned)(now - peer->ticked_ms));
                peer->ticked_ms = now;
        }
        peer_pump(peer);
}

static void peer_run(TestPeer *peer) {
        bool has_commands = true;

        if (peer->needs_no_check && !peer->is_server)
                peer_begin_dtls(peer);
        while (has_commands) {
                struct pollfd fds[] = {{.fd = peer->fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}};

                peer_work(peer);
                poll(fds, 2, 10);
                if (fds[0].revents)
                        peer_receive(peer);
                if (fds[1].revents)
                        has_commands = peer_read_commands(peer);
        }
}

static void peer_parse(TestPeer *peer, int argc, char **argv) {
        struct addrinfo *found, hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
        const char *remote = "test";

        if (argc == 2 && strcmp(argv[1], "--serve") == 0) {
                peer->is_server = true;
                return;
        }
        if (argc < 5 || getaddrinfo(argv[1], argv[2], &hints, &found))
                peer_die("arguments");
        memcpy(&peer->to, found->ai_addr, found->ai_addrlen);
        peer->n_to = found->ai_addrlen;
        freeaddrinfo(found);
        peer->pwd = str_from(argv[4]);
        for (int i = 5; i < argc; i++) {
                if (strcmp(argv[i], "--no-check") == 0)
                        peer->needs_no_check = true;
                else if (strcmp(argv[i], "--remote") == 0 && i + 1 < argc)
                        remote = argv[++i];
                else
                        peer_die(argv[i]);
        }
        snprintf(peer->username, sizeof(peer->username), "%s:%s", argv[3], remote);
}

int main(int argc, char **argv) {
        static TestPeer peer;
        struct sockaddr_in own;
        socklen_t n_own = sizeof(own);

        for (size_t i = 0; i < sizeof(pattern); i++)
                pattern[i] = (char)(i % 251);
        peer_parse(&peer, argc, argv);
        sctp_start();
        peer.fd = peer_bind(&peer);
        if (peer.is_server && getsockname(peer.fd, (struct sockaddr *)&own, &n_own) == 0)
                peer_say("port", ",\"port\":%u", ntohs(own.sin_port));
        peer.context = peer_context();
        peer_run(&peer);
        sctp_free(peer.sctp);
        if (peer.dtls)
                dtls_shutdown(peer.dtls);
        dtls_free(peer.dtls);
        SSL_CTX_free(peer.context);
        sctp_stop();
        for (size_t i = 0; i < STREAMS; i++)
                buf_deinit(&peer.streams[i].in);
        buf_deinit(&peer.line);
        return 0;
}
