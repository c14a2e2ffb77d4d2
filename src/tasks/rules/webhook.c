/* SPDX-License-Identifier: MIT */
#include "tasks/rules/webhook.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "core/version.h"
#include "tasks/rules/webhook-tls.h"

enum { ANSWER_ENOUGH = 12 }; /* bytes: HTTP/1.1 200 */

struct Webhook {
        Loop *loop;
        WebhookTarget target;
        void (*done)(void *user, const char *error);
        void *user;
        Timer limit;
        Deferred finish;
        int fd;
        LoopFd *ready;
        WebhookTls *tls; /* of https; NULL: not yet, or none */
        char *ca_file;
        Buf request;     /* what is not sent yet */
        char answer[64]; /* its first line */
        size_t n_answer;
        char error[WEBHOOK_WHY_MAX]; /* set before finish is scheduled; empty: sent */
        struct sockaddr_storage address;
        socklen_t n_address;           /* 0: the name has to be resolved */
        char refused[WEBHOOK_WHY_MAX]; /* why it could not be prepared; empty: it is */
        bool is_preparing, is_cancelled, is_over;
};

static void webhook_free(Webhook *webhook) {
        timer_clear(&webhook->limit);
        deferred_cancel(&webhook->finish);
        webhook->ready = loop_fd_close(webhook->ready);
        webhook->tls = webhook_tls_free(webhook->tls);
        webhook->fd = close_fd(webhook->fd);
        free(webhook->ca_file);
        buf_deinit(&webhook->request);
        free(webhook);
}

static void on_finish(Deferred *deferred) {
        Webhook *webhook = container_of(deferred, Webhook, finish);
        bool is_busy = webhook->is_preparing;

        webhook->is_cancelled = true; /* the owner is told once, and cannot cancel any more */
        webhook->done(webhook->user, webhook->error[0] ? webhook->error : NULL);
        if (!is_busy)
                webhook_free(webhook);
}

/* NULL: it was sent. Tells in a moment, not from inside. */
static void webhook_end(Webhook *webhook, const char *error) {
        if (webhook->is_over)
                return;
        webhook->is_over = true;
        timer_clear(&webhook->limit);
        webhook->ready = loop_fd_close(webhook->ready);
        snprintf(webhook->error, sizeof(webhook->error), "%s", error ? error : "");
        deferred_schedule(&webhook->finish);
}

static void end_errno(Webhook *webhook, const char *what, int number) {
        char why[WEBHOOK_WHY_MAX];

        snprintf(why, sizeof(why), "%s: %s", what, strerror(number));
        webhook_end(webhook, why);
}

static void webhook_on_limit(Timer *timer) {
        webhook_end(container_of(timer, Webhook, limit), "it took too long");
}

/* ---- answer ---------------------------------------------------------------------------------- */

/* HTTP/1.1 200 OK */
static void webhook_judge(Webhook *webhook) {
        const char *line = webhook->answer;
        char why[WEBHOOK_WHY_MAX];

        if (strncmp(line, "HTTP/1.", 7) != 0 || webhook->n_answer < ANSWER_ENOUGH || line[8] != ' ') {
                webhook_end(webhook, "the answer is not HTTP");
                return;
        }
        snprintf(why, sizeof(why), "answered %.3s", line + 9);
        webhook_end(webhook, line[9] == '2' ? NULL : why);
}

static ssize_t plain_outcome(ssize_t n, const char *what, char reterr[WEBHOOK_WHY_MAX]) {
        int number = errno;

        if (n >= 0)
                return n;
        if (number == EAGAIN || number == EINTR)
                return -EAGAIN;
        snprintf(reterr, WEBHOOK_WHY_MAX, "%s: %s", what, strerror(number));
        return -number;
}

static ssize_t receive_some(Webhook *webhook, unsigned *events, char reterr[WEBHOOK_WHY_MAX]) {
        char *at = webhook->answer + webhook->n_answer;
        size_t n = sizeof(webhook->answer) - 1 - webhook->n_answer;

        return webhook->tls ? webhook_tls_receive(webhook->tls, at, n, events, reterr)
                            : plain_outcome(recv(webhook->fd, at, n, 0), "answer", reterr);
}

static void webhook_receive(Webhook *webhook) {
        char why[WEBHOOK_WHY_MAX];
        unsigned events = LOOP_READ;
        ssize_t n = 1;

        while (n > 0 && webhook->n_answer < ANSWER_ENOUGH) {
                n = receive_some(webhook, &events, why);
                if (n > 0)
                        webhook->n_answer += (size_t)n;
        }
        webhook->answer[webhook->n_answer] = '\0';
        if (n >= 0)
                webhook_judge(webhook);
        else if (n == -EAGAIN)
                loop_fd_watch(webhook->ready, events);
        else
                webhook_end(webhook, why);
}

/* ---- request --------------------------------------------------------------------------------- */

static ssize_t send_some(Webhook *webhook, unsigned *events, char reterr[WEBHOOK_WHY_MAX]) {
        Str rest = buf_str(&webhook->request);

        return webhook->tls ? webhook_tls_send(webhook->tls, rest, events, reterr)
                            : plain_outcome(send(webhook->fd, rest.data, rest.n, MSG_NOSIGNAL), "request",
                                            reterr);
}

/* Who refuses a request may answer before all of it was sent. */
static void transmit(Webhook *webhook) {
        char why[WEBHOOK_WHY_MAX] = "the other side has closed";
        unsigned events = LOOP_READ | LOOP_WRITE;
        ssize_t n = send_some(webhook, &events, why);

        if (n > 0) {
                buf_consume(&webhook->request, (size_t)n);
                loop_fd_watch(webhook->ready, webhook->request.n ? LOOP_READ | LOOP_WRITE : LOOP_READ);
        } else if (n == -EAGAIN)
                loop_fd_watch(webhook->ready, events);
        else
                webhook_end(webhook, why);
}

/* TLS may have to read before it can write. */
static void webhook_on_ready(void *user, unsigned events) {
        Webhook *webhook = user;
        int number = 0;
        socklen_t n = sizeof(number);

        if (getsockopt(webhook->fd, SOL_SOCKET, SO_ERROR, &number, &n) || number) {
                end_errno(webhook, "connect", number ? number : errno);
                return;
        }
        if (webhook->request.n && (events & LOOP_WRITE || webhook->tls))
                transmit(webhook);
        if (events & LOOP_READ && !webhook->is_over && !(webhook->tls && webhook->request.n))
                webhook_receive(webhook);
}

static void webhook_start(Webhook *webhook) {
        int r;

        webhook->fd = socket(webhook->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (webhook->fd < 0) {
                end_errno(webhook, "socket", errno);
                return;
        }
        if (connect(webhook->fd, (struct sockaddr *)&webhook->address, webhook->n_address) &&
            errno != EINPROGRESS) {
                end_errno(webhook, "connect", errno);
                return;
        }
        r = webhook->tls ? webhook_tls_attach(webhook->tls, webhook->fd) : 0;
        if (!r)
                r = loop_fd_open(webhook->loop, webhook->fd, webhook_on_ready, webhook, &webhook->ready);
        if (r)
                end_errno(webhook, "loop", -r);
        else
                loop_fd_watch(webhook->ready, LOOP_READ | LOOP_WRITE);
}

/* ---- on a worker: names, and whom https trusts ----------------------------------------------- */

static void webhook_resolve(Webhook *webhook) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
        struct addrinfo *list = NULL;
        int r = getaddrinfo(webhook->target.host, webhook->target.port, &hints, &list);

        if (r) {
                snprintf(webhook->refused, sizeof(webhook->refused), "%.80s: %s", webhook->target.host,
                         gai_strerror(r));
                return;
        }
        memcpy(&webhook->address, list->ai_addr, list->ai_addrlen);
        webhook->n_address = list->ai_addrlen;
        freeaddrinfo(list);
}

static void webhook_prepare(void *user) {
        Webhook *webhook = user;
        char why[WEBHOOK_WHY_MAX];

        if (!webhook->n_address)
                webhook_resolve(webhook);
        if (!webhook->refused[0] && webhook->target.is_tls &&
            webhook_tls_new(&webhook->tls, webhook->target.host, webhook->ca_file, why))
                memcpy(webhook->refused, why, sizeof(why));
}

static void on_prepared(void *user) {
        Webhook *webhook = user;

        webhook->is_preparing = false;
        if (webhook->is_cancelled)
                webhook_free(webhook);
        else if (webhook->refused[0])
                webhook_end(webhook, webhook->refused);
        else if (!webhook->is_over)
                webhook_start(webhook);
}

static bool take_numeric(Webhook *webhook, const char *host) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
        struct addrinfo *list = NULL;

        if (getaddrinfo(host, webhook->target.port, &hints, &list))
                return false;
        memcpy(&webhook->address, list->ai_addr, list->ai_addrlen);
        webhook->n_address = list->ai_addrlen;
        freeaddrinfo(list);
        return true;
}

/* Numbers, and localhost, need nobody to be asked. */
static bool is_numeric(Webhook *webhook) {
        return take_numeric(webhook, webhook->target.host) ||
               (webhook->target.is_local && take_numeric(webhook, "127.0.0.1"));
}

/* ---- life ------------------------------------------------------------------------------------ */

static int write_request(Webhook *webhook, Str body) {
        const WebhookTarget *target = &webhook->target;
        bool is_six = strchr(target->host, ':');
        int r = buf_printf(&webhook->request,
                           "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: muster/%s\r\nContent-Type: "
                           "application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                           target->path, is_six ? "[" : "", target->host, is_six ? "]" : "", target->port,
                           MUSTER_VERSION, body.n);

        return r ? r : buf_append_str(&webhook->request, body);
}

static int webhook_begin(Webhook *webhook, const WebhookSpec *spec) {
        int r = write_request(webhook, spec->body);

        if (!r)
                r = timer_set(&webhook->limit, spec->limit_ms ? spec->limit_ms : WEBHOOK_MS);
        if (r)
                return error_trace(r);
        if (is_numeric(webhook) && !webhook->target.is_tls) {
                webhook_start(webhook);
                return 0;
        }
        r = loop_work_slow(webhook->loop, webhook_prepare, on_prepared, webhook);
        webhook->is_preparing = !r;
        return error_trace(r);
}

int webhook_send(Webhook **ret, Loop *loop, const WebhookSpec *spec, char reterr[WEBHOOK_WHY_MAX]) {
        WebhookTarget target;
        Webhook *webhook;
        int r = webhook_target(&target, spec->url, reterr);

        if (r)
                return r;
        if (!webhook_is_allowed(&target, spec->hosts, spec->n_hosts)) {
                snprintf(reterr, WEBHOOK_WHY_MAX, "%.80s is not in webhook.allow_hosts", target.host);
                return WEBHOOK_E_REFUSED;
        }
        webhook = calloc(1, sizeof(*webhook));
        if (!webhook)
                return error_origin(-ENOMEM);
        *webhook =
                (Webhook){.loop = loop, .target = target, .done = spec->done, .user = spec->user, .fd = -1};
        webhook->ca_file = spec->ca_file ? strdup(spec->ca_file) : NULL;
        timer_init(&webhook->limit, loop, webhook_on_limit);
        deferred_init(&webhook->finish, loop, on_finish);
        r = webhook->ca_file || !spec->ca_file ? webhook_begin(webhook, spec) : -ENOMEM;
        if (r) {
                webhook_free(webhook);
                return error_trace(r);
        }
        *ret = webhook;
        return 0;
}

Webhook *webhook_cancel(Webhook *webhook) {
        if (!webhook || webhook->is_cancelled)
                return NULL;
        webhook->is_cancelled = true;
        timer_clear(&webhook->limit);
        deferred_cancel(&webhook->finish);
        if (!webhook->is_preparing)
                webhook_free(webhook);
        return NULL;
}
