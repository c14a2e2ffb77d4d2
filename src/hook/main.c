/* SPDX-License-Identifier: MIT */
/*
 * muster-hook: what an agent program runs at each moment of a turn (docs/agents.md).
 *
 *   muster-hook SOCKET RUNTIME [EVENT] < payload
 *
 * Passes the JSON object on stdin to the daemon at SOCKET, as the operation agent.fact, and prints what the daemon answers for the
 * agent program, if anything. It fails open: without a daemon, without an answer in time, with a payload that is none or too long
 * it prints nothing and ends with 0, so that no agent ever waits for us or stumbles over us. It runs no shell, writes no file and
 * links nothing but the C library: it is started for every tool that an agent uses.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "hook/hook.h"

enum {
        HOOK_INPUT_MAX = 1 << 20,  /* of a payload; of a longer one only the event is told */
        HOOK_INPUT_MS = 1000,      /* for the agent program to write */
        HOOK_TAKE_MS = 1000,       /* to hear that what it gave counts as given */
        HOOK_ANSWER_MS = 200,      /* for the daemon to take it and to answer … */
        HOOK_ASKED_MS = 5000,      /* … and to keep a question for a person */
        HOOK_PATIENCE_MAX = 60000, /* that MUSTER_HOOK_MS may say instead of each, if it is longer */
        HOOK_WORDS_MAX = 4 << 10,  /* what stands around the payload */
};

long hook_now_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

long hook_until_ms(long patience_ms) {
        const char *said = getenv("MUSTER_HOOK_MS");
        long ms = said ? strtol(said, NULL, 10) : 0;

        return hook_now_ms() + (ms > patience_ms && ms <= HOOK_PATIENCE_MAX ? ms : patience_ms);
}

/* Whether something can be done with the descriptor before the time has come. */
static bool hook_wait(int fd, short events, long until_ms) {
        struct pollfd pfd = {.fd = fd, .events = events};
        long left_ms = until_ms - hook_now_ms();
        int r;

        do
                r = poll(&pfd, 1, left_ms > 0 ? (int)left_ms : 0);
        while (r < 0 && errno == EINTR);
        return r > 0;
}

static bool hook_room(HookText *text, size_t n) {
        size_t n_room = text->n_room ? text->n_room : HOOK_CHUNK;
        char *more;

        while (n_room < text->n + n)
                n_room *= 2;
        if (n_room == text->n_room)
                return true;
        more = realloc(text->data, n_room);
        if (!more)
                return false;
        text->data = more;
        text->n_room = n_room;
        return true;
}

bool hook_put(HookText *text, const char *bytes, size_t n) {
        if (!hook_room(text, n))
                return false;
        memcpy(text->data + text->n, bytes, n);
        text->n += n;
        return true;
}

/* All of it, also what is too long to be passed on: whoever writes must not find the pipe closed. */
static void hook_read_input(HookText *input) {
        long until_ms = hook_until_ms(HOOK_INPUT_MS);

        for (;;) {
                ssize_t n;

                if (input->n > HOOK_INPUT_MAX)
                        input->n = HOOK_INPUT_MAX + 1;
                if (!hook_room(input, HOOK_CHUNK) || !hook_wait(STDIN_FILENO, POLLIN, until_ms))
                        return;
                n = read(STDIN_FILENO, input->data + input->n, HOOK_CHUNK);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return;
                input->n += (size_t)n;
        }
}

/* Where the JSON value that begins with a brace ends; NULL: it does not. Only its braces and texts are looked at. */
static const char *hook_object_end(const char *at, const char *end) {
        size_t n_deep = 0;
        bool is_text = false;

        for (; at < end; at++) {
                if (is_text && *at == '\\')
                        at++;
                else if (*at == '"')
                        is_text = !is_text;
                else if (!is_text && (*at == '{' || *at == '['))
                        n_deep++;
                else if (!is_text && (*at == '}' || *at == ']') && (n_deep == 0 || --n_deep == 0))
                        return at + 1;
        }
        return NULL;
}

/* One object, in one line. False: it is none, or too long. */
static bool hook_is_object(HookText *input) {
        char *at = input->data, *end = at ? at + input->n : at;

        if (!input->n || input->n > HOOK_INPUT_MAX)
                return false;
        for (char *p = at; p < end; p++)
                if (*p == '\n' || *p == '\r')
                        *p = ' ';
                else if (*p == '\0')
                        return false;
        while (at < end && (*at == ' ' || *at == '\t'))
                at++;
        while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        return at < end && *at == '{' && hook_object_end(at, end) == end;
}

/* A word of the command line; what would need an escape is left out. */
static bool hook_put_word(HookText *out, const char *key, const char *word) {
        bool is_put = hook_put(out, "\"", 1) && hook_put(out, key, strlen(key)) && hook_put(out, "\":\"", 3);

        for (; is_put && *word; word++)
                if ((unsigned char)*word > ' ' && (unsigned char)*word < 0x7f && *word != '"' &&
                    *word != '\\')
                        is_put = hook_put(out, word, 1);
        return is_put && hook_put(out, "\"", 1);
}

static bool hook_put_request(HookText *out, char **argv, const HookText *payload) {
        static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent.fact\",\"params\":{";
        bool is_put = hook_put(out, head, sizeof(head) - 1) && hook_put_word(out, "runtime", argv[2]);

        if (argv[3])
                is_put = is_put && hook_put(out, ",", 1) && hook_put_word(out, "event", argv[3]);
        if (hook_may_wait())
                is_put = is_put && hook_put(out, ",", 1) && hook_put_word(out, "hook", hook_run_id());
        if (payload)
                is_put = is_put && hook_put(out, ",\"payload\":", 11) &&
                         hook_put(out, payload->data, payload->n);
        return is_put && hook_put(out, "}}\n", 3);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

int hook_connect(const char *path) {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        int fd;

        if (strlen(path) >= sizeof(to.sun_path))
                return -1;
        memcpy(to.sun_path, path, strlen(path) + 1);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)))
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

bool hook_send(int fd, const HookText *request, long until_ms) {
        size_t at = 0;

        while (at < request->n) {
                ssize_t n = send(fd, request->data + at, request->n - at, MSG_NOSIGNAL);

                if (n > 0)
                        at += (size_t)n;
                else if (n < 0 && errno == EINTR)
                        continue;
                else if (n == 0 || errno != EAGAIN || !hook_wait(fd, POLLOUT, until_ms))
                        return false;
        }
        return true;
}

/* Up to the end of its line. */
bool hook_receive(int fd, HookText *reply, long until_ms) {
        while (reply->n <= HOOK_REPLY_MAX && hook_room(reply, HOOK_CHUNK)) {
                ssize_t n = recv(fd, reply->data + reply->n, HOOK_CHUNK, 0);

                if (n > 0) {
                        reply->n += (size_t)n;
                        if (reply->data[reply->n - 1] == '\n')
                                return true;
                } else if (n < 0 && errno == EINTR)
                        continue;
                else if (n == 0 || errno != EAGAIN || !hook_wait(fd, POLLIN, until_ms))
                        return false;
        }
        return false;
}

const char *hook_look_for(const HookText *text, const char *word) {
        return memmem(text->data, text->n, word, strlen(word));
}

/* Whether the daemon counts on us: what it gave must be passed on then, and only then. */
static bool hook_take(int fd) {
        static const char words[] =
                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"agent.took\",\"params\":{}}\n";
        HookText request = {.data = (char *)words, .n = sizeof(words) - 1}, answer = {0};
        long until_ms = hook_until_ms(HOOK_TAKE_MS);
        bool is_taken = hook_send(fd, &request, until_ms) && hook_receive(fd, &answer, until_ms) &&
                        hook_look_for(&answer, "\"took\":true");

        free(answer.data);
        return is_taken;
}

static long hook_patience_ms(char **argv) {
        return argv[3] && !strcmp(argv[3], "PermissionRequest") ? HOOK_ASKED_MS : HOOK_ANSWER_MS;
}

/* A daemon that was asked about a permission and went: what it has kept is not known. */
static bool hook_is_lost(char **argv, long until_ms) {
        return hook_may_wait() && hook_patience_ms(argv) == HOOK_ASKED_MS && hook_now_ms() < until_ms;
}

static HookEnd hook_exchange(char **argv, const HookText *payload, HookText *reply) {
        long until_ms = hook_until_ms(hook_patience_ms(argv));
        HookText request = {0};
        int fd = hook_connect(argv[1]);
        HookEnd end = HOOK_FAILED;

        reply->n = 0;
        if (fd >= 0 && hook_put_request(&request, argv, payload)) {
                if (hook_send(fd, &request, until_ms) && hook_receive(fd, reply, until_ms))
                        end = HOOK_DONE;
                else if (hook_is_lost(argv, until_ms))
                        end = HOOK_LOST;
        }
        if (end == HOOK_DONE && hook_look_for(reply, HOOK_HELD))
                end = hook_hold(fd, reply);
        else if (end == HOOK_DONE && hook_look_for(reply, HOOK_ANSWER) && !hook_take(fd))
                end = HOOK_FAILED;
        if (fd >= 0)
                close(fd);
        free(request.data);
        return end;
}

/* A daemon that goes while a person thinks is waited for; the next one knows the question. */
static HookEnd hook_insist(char **argv, const HookText *payload, HookText *reply) {
        HookEnd end = hook_exchange(argv, payload, reply);
        bool is_open = end == HOOK_LOST;
        long until_ms = hook_now_ms() + HOOK_AWAY_MS;

        while (is_open && (end == HOOK_LOST || reply->n == 0) && hook_now_ms() < until_ms) {
                poll(NULL, 0, HOOK_AGAIN_MS);
                end = hook_exchange(argv, payload, reply);
                if (end == HOOK_LOST)
                        until_ms = hook_now_ms() + HOOK_AWAY_MS;
        }
        return end;
}

/* The daemon has written it, with its own members before it and no text of anybody else's. */
static void hook_print_answer(const HookText *reply) {
        const char *at = hook_look_for(reply, HOOK_ANSWER), *end;

        if (!at)
                return;
        at += sizeof(HOOK_ANSWER) - 2;
        end = hook_object_end(at, reply->data + reply->n);
        while (end && at < end) {
                ssize_t n = write(STDOUT_FILENO, at, (size_t)(end - at));

                if (n <= 0)
                        return;
                at += n;
        }
}

static void hook_run(char **argv, HookText *input) {
        HookText reply = {0};
        bool is_object = hook_is_object(input);
        HookEnd end = hook_insist(argv, is_object ? input : NULL, &reply);

        /* What the daemon could not read is told again without it: which event it was is in the command line. */
        if (end == HOOK_DONE && is_object && hook_look_for(&reply, "\"error\":{"))
                end = hook_exchange(argv, NULL, &reply);
        if (end == HOOK_DONE)
                hook_print_answer(&reply);
        free(reply.data);
}

int main(int argc, char **argv) {
        HookText input = {0};

        hook_read_input(&input);
        if (argc >= 3)
                hook_run(argv, &input);
        free(input.data);
        return 0;
}
