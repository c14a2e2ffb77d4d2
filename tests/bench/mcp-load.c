/* SPDX-License-Identifier: MIT */
/*
 * Load generator for MCP servers on stdin and stdout: one server, several requests under way.
 *
 *   mcp-load UNDER-WAY TOTAL METHOD PARAMS COMMAND…
 *
 * Starts the command, shakes hands, asks the same again and again and ends its stdin. Prints start_ms (from just before the fork to
 * the first answer to METHOD), rss_kb (of all that was started, behind the last answer), rate, p50_us, p99_us and bytes (of the last
 * answer) as name=value words. Answers must begin as muster's and the original's do. One thread, blocking.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-client.h"

enum { LINE_MAX_BYTES = 1 << 20, UNDER_WAY_MAX = 1024 };

typedef struct Server {
        pid_t pid;
        FILE *to, *from;
        char *line;
        size_t n_line;
} Server;

static void start(Server *server, char **command) {
        int in[2], out[2];

        if (pipe(in) || pipe(out))
                die("pipe");
        server->pid = fork();
        if (server->pid < 0)
                die("fork");
        if (!server->pid) {
                dup2(in[0], STDIN_FILENO);
                dup2(out[1], STDOUT_FILENO);
                for (int i = 0; i < 2; i++) {
                        close(in[i]);
                        close(out[i]);
                }
                execvp(command[0], command);
                die(command[0]);
        }
        close(in[0]);
        close(out[1]);
        server->to = fdopen(in[1], "w");
        server->from = fdopen(out[0], "r");
        server->line = malloc(LINE_MAX_BYTES);
        if (!server->to || !server->from || !server->line)
                die("fdopen");
}

static void say(Server *server, const char *text) {
        if (fputs(text, server->to) < 0 || fputc('\n', server->to) < 0)
                die("write");
}

static void ask(Server *server, long id, const char *method, const char *params) {
        if (fprintf(server->to, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":%s}\n", id,
                    method, params) < 0)
                die("write");
}

/* The id of the next answer, which has to be a good one. The original puts a blank behind each colon. */
static long answer(Server *server) {
        const char *id;

        if (fflush(server->to) || !fgets(server->line, LINE_MAX_BYTES, server->from))
                die("the server has ended");
        server->n_line = strlen(server->line);
        id = strstr(server->line, "\"id\":");
        if (!id || !strstr(server->line, "\"result\":") || strstr(server->line, "\"isError\":true") ||
            strstr(server->line, "\"isError\": true")) {
                errno = EPROTO;
                server->line[server->n_line < 200 ? server->n_line : 200] = '\0';
                die(server->line);
        }
        return atol(id + 5);
}

static long resident_kb(pid_t pid) {
        char path[64], line[256];
        long kb = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        file = fopen(path, "re");
        while (file && fgets(line, sizeof(line), file))
                if (sscanf(line, "VmRSS: %ld", &kb) == 1)
                        break;
        if (file)
                fclose(file);
        return kb;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* How long each has taken, in µs; all of them, in ns. */
static uint64_t run(Server *server, long n_under_way, long n_total, const char *method, const char *params,
                    double *us) {
        uint64_t *sent = calloc((size_t)n_total, sizeof(*sent)), since = now_ns();
        long n_sent = 0;

        if (!sent)
                die("calloc");
        for (long n_done = 0; n_done < n_total; n_done++) {
                long id;

                for (; n_sent < n_total && n_sent - n_done < n_under_way; n_sent++) {
                        sent[n_sent] = now_ns();
                        ask(server, n_sent, method, params);
                }
                id = answer(server);
                if (id < 0 || id >= n_sent)
                        die("an answer to nothing");
                us[n_done] = (double)(now_ns() - sent[id]) / 1000;
        }
        free(sent);
        return now_ns() - since;
}

int main(int argc, char **argv) {
        long n_under_way = argc > 5 ? atol(argv[1]) : 0, n_total = argc > 5 ? atol(argv[2]) : 0, rss_kb;
        double *us = calloc((size_t)(n_total > 0 ? n_total : 1), sizeof(*us)), start_ms;
        uint64_t since = now_ns(), spent;
        Server server = {0};

        if (n_under_way < 1 || n_under_way > UNDER_WAY_MAX || n_total < 1 || !us) {
                fprintf(stderr, "usage: mcp-load UNDER-WAY TOTAL METHOD PARAMS COMMAND…\n");
                return 2;
        }
        signal(SIGPIPE, SIG_IGN);
        start(&server, argv + 5);
        ask(&server, 0, "initialize",
            "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\","
            "\"version\":\"1\"}}");
        answer(&server);
        say(&server, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        ask(&server, 0, argv[3], argv[4]);
        answer(&server);
        start_ms = (double)(now_ns() - since) / 1e6;
        spent = run(&server, n_under_way, n_total, argv[3], argv[4], us);
        rss_kb = resident_kb(server.pid);
        fclose(server.to);
        qsort(us, (size_t)n_total, sizeof(*us), compare);
        printf("start_ms=%.3f rss_kb=%ld rate=%.1f p50_us=%.1f p99_us=%.1f bytes=%zu\n", start_ms, rss_kb,
               (double)n_total * 1e9 / (double)spent, us[n_total / 2], us[n_total * 99 / 100],
               server.n_line);
        waitpid(server.pid, NULL, 0);
        free(server.line);
        free(us);
        return 0;
}
