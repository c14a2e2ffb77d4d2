/* SPDX-License-Identifier: MIT */
/*
 * muster-tunnel
 *
 * Started by musterd only, one for each tunnel, with the control socket as descriptor 3. See tunnel/tunnel-control.h for what is said on
 * it. Nothing is read from the network before the process is confined.
 */
#include <errno.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "tunnel/confine.h"
#include "tunnel/tunnel.h"

enum { CONFIG_WAIT_MS = 10 * 1000 };

/* Looking for leaks needs what the filter does not allow. Builds with a sanitizer, and only they, do without the filter to look for them. */
#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
        return getenv("MUSTER_TEST_LEAKS") ? "" : "detect_leaks=0";
}

static bool main_is_confined(void) {
        return !getenv("MUSTER_TEST_LEAKS");
}
#else
static bool main_is_confined(void) {
        return true;
}
#endif

static int main_fail(const char *why, int r) {
        char text[TUNNEL_REASON_MAX];

        snprintf(text, sizeof(text), "%s: %s", why, r < 0 ? strerror(-r) : "not understood");
        tunnel_send(TUNNEL_CONTROL_FD, &(TunnelMessage){.type = TUNNEL_FAILED, .reason = str_from(text)},
                    NULL);
        fprintf(stderr, "muster-tunnel: %s\n", text);
        return 1;
}

static int main_receive_config(TunnelReceived *ret) {
        struct pollfd control = {.fd = TUNNEL_CONTROL_FD, .events = POLLIN};
        int r;

        if (poll(&control, 1, CONFIG_WAIT_MS) < 1)
                return -ETIMEDOUT;
        r = tunnel_receive(TUNNEL_CONTROL_FD, ret);
        if (r)
                return r;
        if (ret->message.type != TUNNEL_CONFIG) {
                tunnel_received_deinit(ret);
                return TUNNEL_E_INVALID;
        }
        return 0;
}

/* OpenSSL reads no file of configuration, the C library none of the time zone, and all that is loaded late is loaded now. */
static int main_start_libraries(void) {
        setenv("TZ", "UTC0", 1);
        tzset();
        if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL) != 1)
                return -ENOMEM;
        sctp_start();
        return 0;
}

int main(void) {
        static TunnelReceived config;
        Tunnel *tunnel = NULL;
        uint8_t protections = 0;
        const char *why;
        int r;

        signal(SIGPIPE, SIG_IGN);
        mallopt(M_ARENA_MAX, 1); /* an arena for each thread is 64 MiB of address space */
        r = main_is_confined() ? confine_begin(&protections) : 0;
        if (r)
                return main_fail("confinement", r);
        r = main_start_libraries();
        if (r)
                return main_fail("libraries", r);
        r = main_receive_config(&config);
        if (r)
                return main_fail("configuration", r);
        r = tunnel_new(&tunnel, TUNNEL_CONTROL_FD, &config, &why);
        OPENSSL_cleanse(&config, sizeof(config));
        if (r)
                return main_fail(why, r);
        r = main_is_confined() ? confine_end(&protections) : 0;
        if (r)
                return main_fail("confinement", r);
        r = tunnel_tell_ready(tunnel, protections);
        if (!r)
                r = tunnel_run(tunnel);
        tunnel_free(tunnel);
        sctp_stop();
        return r ? main_fail("loop", r) : 0;
}
