/* SPDX-License-Identifier: MIT */
#include "tasks/webhook.h"

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

struct Webhook {
        Loop *loop;
        WebhookTarget target;
        void (*done)(void *user, const char *error);
        void *user;
        Timer limit;
        Deferred finish;
        int fd;
        LoopFd *ready;
        Buf request;     /* what is not sent yet */
        char answer[64]; /* its first line */
        size_t n_answer;
        char error[WEBHOOK_WHY_MAX]; /* set before finish is scheduled; empty: sent */
        struct sockaddr_storage address;
        socklen_t n_address;
        int resolved; /* of getaddrinfo */
        bool is_resolving, is_cancelled, is_over;
};

static void webhook_free(Webhook *webhook) {
        timer_clear(&webhook->limit);
        deferred_cancel(&webhook->finish);
        webhook->ready = loop_fd_close(webhook->ready);
        webhook->fd = close_fd(webhook->fd);
        buf_deinit(&webhook->request);
        free(webhook);
}

static void on_finish(Deferred *deferred) {
        Webhook *webhook = container_of(deferred, Webhook, finish);
        bool is_busy = webhook->is_resolving;

        webhook->is_cancelled = true; /* the owner is told once, and cannot cancel any more */
        webhook->done(webhook->user, webhook->error[0] ? webhook->error : NULL);
        if (!is_busy)
                webhook_free(webhook);
}

/* NULL: it was sent. Tells in a moment, not from inside. */
static void end(Webhook *webhook, const char *error) {
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
        end(webhook, why);
}

static void on_limit(Timer *timer) {
        end(container_of(timer, Webhook, limit), "it took too long");
}

/* ---- answer ---------------------------------------------------------------------------------- */

/* HTTP/1.1 200 OK */
static void judge(Webhook *webhook) {
        const char *line = webhook->answer;
        char why[WEBHOOK_WHY_MAX];

        if (strncmp(line, "HTTP/1.", 7) != 0 || webhook->n_answer < 12 || line[8] != ' ') {
                end(webhook, "the answer is not HTTP");
                return;
        }
        snprintf(why, sizeof(why), "answered %.3s", line + 9);
        end(webhook, line[9] == '2' ? NULL : why);
}

static void receive(Webhook *webhook) {
        ssize_t n = recv(webhook->fd, webhook->answer + webhook->n_answer,
                         sizeof(webhook->answer) - 1 - webhook->n_answer, 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) {
                end_errno(webhook, "answer", errno);
                return;
        }
        webhook->n_answer += (size_t)n;
        webhook->answer[webhook->n_answer] = '\0';
        if (!n || webhook->n_answer >= 12)
                judge(webhook);
}

/* ---- request --------------------------------------------------------------------------------- */

static void transmit(Webhook *webhook) {
        ssize_t n = send(webhook->fd, webhook->request.data, webhook->request.n, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) {
                end_errno(webhook, "request", errno);
                return;
        }
        buf_consume(&webhook->request, (size_t)n);
        if (!webhook->request.n)
                loop_fd_watch(webhook->ready, LOOP_READ);
}

static void on_ready(void *user, unsigned events) {
        Webhook *webhook = user;
        int number = 0;
        socklen_t n = sizeof(number);

        if (getsockopt(webhook->fd, SOL_SOCKET, SO_ERROR, &number, &n) || number) {
                end_errno(webhook, "connect", number ? number : errno);
                return;
        }
        if (events & LOOP_WRITE && webhook->request.n)
                transmit(webhook);
        if (events & LOOP_READ && !webhook->is_over)
                receive(webhook);
}

static void start(Webhook *webhook) {
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
        r = loop_fd_open(webhook->loop, webhook->fd, on_ready, webhook, &webhook->ready);
        if (r)
                end_errno(webhook, "loop", -r);
        else
                loop_fd_watch(webhook->ready, LOOP_READ | LOOP_WRITE);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void resolve(void *user) {
        Webhook *webhook = user;
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
        struct addrinfo *list = NULL;

        webhook->resolved = getaddrinfo(webhook->target.host, webhook->target.port, &hints, &list);
        if (webhook->resolved)
                return;
        memcpy(&webhook->address, list->ai_addr, list->ai_addrlen);
        webhook->n_address = list->ai_addrlen;
        freeaddrinfo(list);
}

static void on_resolved(void *user) {
        Webhook *webhook = user;
        char why[WEBHOOK_WHY_MAX];

        webhook->is_resolving = false;
        if (webhook->is_cancelled) {
                webhook_free(webhook);
                return;
        }
        if (webhook->is_over)
                return;
        if (webhook->resolved) {
                snprintf(why, sizeof(why), "%.80s: %s", webhook->target.host,
                         gai_strerror(webhook->resolved));
                end(webhook, why);
                return;
        }
        start(webhook);
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

static int begin(Webhook *webhook, const WebhookSpec *spec) {
        int r = write_request(webhook, spec->body);

        if (!r)
                r = timer_set(&webhook->limit, spec->limit_ms ? spec->limit_ms : WEBHOOK_MS);
        if (r)
                return error_trace(r);
        if (is_numeric(webhook)) {
                start(webhook);
                return 0;
        }
        r = loop_work(webhook->loop, resolve, on_resolved, webhook);
        webhook->is_resolving = !r;
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
        timer_init(&webhook->limit, loop, on_limit);
        deferred_init(&webhook->finish, loop, on_finish);
        r = begin(webhook, spec);
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
        if (!webhook->is_resolving)
                webhook_free(webhook);
        return NULL;
}
