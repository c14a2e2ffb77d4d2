/* SPDX-License-Identifier: MIT */
#include "dialect/aiwg/aiwg.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "core/daemon.h"
#include "gen/aiwg-ops.h"

enum { PIECE = 4096 }; /* what a pipe that is writable takes without blocking (PIPE_BUF) */

/* Control characters become '?', so that a message stays on its line. Stops at the first piece that would
 * block: debugging never holds the loop. */
static void write_stderr(Str text) {
        while (text.n) {
                struct pollfd pfd = {.fd = STDERR_FILENO, .events = POLLOUT};
                char piece[PIECE];
                size_t n = MIN(text.n, sizeof(piece));

                for (size_t i = 0; i < n; i++)
                        piece[i] = (unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f ? '?'
                                                                                             : text.data[i];
                if (text.n == 1 && text.data[0] == '\n')
                        piece[0] = '\n';
                if (poll(&pfd, 1, 0) != 1 || write(STDERR_FILENO, piece, n) != (ssize_t)n)
                        return;
                text = (Str){text.data + n, text.n - n};
        }
}

/* AIWG_IPC_DEBUG=1: one line per message: time, direction, connection, the JSON text. */
static void aiwg_trace(const Client *client, const char *direction, Str text) {
        char head[96], time[TIME_TEXT_MAX];
        int n;

        if (!client->daemon->config.aiwg_debug)
                return;
        time_format_ms(loop_wall_us(client->daemon->loop), time);
        n = snprintf(head, sizeof(head), "[%s] %s %llu ", time, direction,
                     (unsigned long long)client->number);
        write_stderr((Str){head, (size_t)n});
        write_stderr(text);
        write_stderr(STR("\n"));
}

static void aiwg_error_word(int error, JsonWriter *w) {
        jw_int(w, aiwg_error_code(error));
}

const JsonRpcDialect aiwg_dialect = {
        .dialect = {.name = "aiwg", .ops = &aiwg_ops, .error_word = aiwg_error_word, JSONRPC_FUNCTIONS},
        .error_code = aiwg_error_code,
        .has_batches = true,
        .null_id_is_silent = true,
        .runs_notifications = true,
        .says_missing = true,
        .invalid_keeps_id = true,
        .any_params = true,
        .replaces_utf8 = true,
        .unknown_method = "Method not found: ",
        .trace = aiwg_trace,
};
