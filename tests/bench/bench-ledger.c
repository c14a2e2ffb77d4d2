/* SPDX-License-Identifier: MIT */
/*
 * Measures core/ledger beside the disk it stands on. Each command prints one line of numbers for
 * bench_ledger.py:
 *
 *   bench-ledger make FOLDER N           writes a ledger of N chat messages
 *   bench-ledger open FOLDER             opens it: ms, 1 if the index was there, MB/s read, resident MB
 *   bench-ledger raw FOLDER N BATCH      N times: write BATCH lines, fdatasync: µs per sync (median),
 * lines/s bench-ledger append FOLDER N FLIGHT  N lines through the ledger, FLIGHT at a time: µs per line
 * (median), lines/s, batch
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/loop/loop.h"
#include "base/macro.h"
#include "base/time.h"
#include "core/ledger/ledger.h"

static double now_us(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static size_t event_text(char *out, size_t n, unsigned long number) {
        return (size_t)snprintf(
                out, n,
                "{\"v\":1,\"id\":\"%032lx\",\"ts\":\"2026-01-%02luT%02lu:%02lu:%02lu.%06luZ\",\"kind\":"
                "\"chat.message\","
                "\"group_id\":\"g_0123456789ab\",\"scope_key\":\"s_0123456789ab\",\"by\":\"agent-%lu\","
                "\"data\":{\"text\":"
                "\"The build of part %lu is green again; please look at the change before "
                "noon.\",\"format\":\"plain\","
                "\"priority\":\"normal\",\"to\":[\"%s\"],\"reply_to\":null,\"quote_text\":null,\"refs\":[],"
                "\"attachments\":[],\"thread\":\"\",\"client_id\":\"c-%lu\"}}",
                number * 2654435761UL, 1 + number / 86400000 % 28, number / 3600000 % 24,
                number / 60000 % 60, number / 1000 % 60, number % 1000, number % 7, number,
                number % 3 ? "@all" : "agent-1", number);
}

/* As much as the collab domain looks at. */
static bool classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        const Json *data = json_get(line, "data");

        facts->id = json_str(json_get(line, "id"));
        facts->kind = json_str(json_get(line, "kind"));
        (void)time_parse(json_str(json_get(line, "ts")), &facts->ts_us);
        ledger_facts_tag(facts, arena, STR("by:"), json_str(json_get(line, "by")));
        json_each (to, json_get(data, "to")) {
                ledger_facts_tag(facts, arena, STR("to:"), json_str(to));
        }
        ledger_facts_tag(facts, arena, STR("client:"), json_str(json_get(data, "client_id")));
        return facts->id.n;
}

typedef struct Bench {
        Loop *loop;
        Ledger *ledger;
        char path[4096], state[4096];
        bool is_settled;
        unsigned long n_started, n_done, n_wanted;
        double *times;
} Bench;

typedef struct Send {
        LedgerChange change;
        Bench *bench;
        double started;
} Send;

static void on_opened(void *user, int r) {
        ((Bench *)user)->is_settled = true;
        if (r)
                exit(1);
        loop_stop(((Bench *)user)->loop);
}

static void on_closed(void *user) {
        loop_stop(((Bench *)user)->loop);
}

static void bench_open(Bench *bench) {
        LedgerOptions options = {
                .path = bench->path, .state_path = bench->state, .classify = classify, .user = bench};

        if (loop_new(&bench->loop, NULL))
                exit(1);
        options.loop = bench->loop;
        if (ledger_open(&bench->ledger, &options, on_opened))
                exit(1);
        loop_run(bench->loop);
}

static void bench_close(Bench *bench) {
        ledger_close(bench->ledger, on_closed, bench);
        loop_run(bench->loop);
        loop_free(bench->loop);
}

static int make(Bench *bench, unsigned long n) {
        FILE *file = fopen(bench->path, "we");
        char text[1024];

        if (!file)
                return 1;
        for (unsigned long i = 0; i < n; i++) {
                event_text(text, sizeof(text), i);
                fputs(text, file);
                fputc('\n', file);
        }
        return fclose(file) ? 1 : 0;
}

static double resident_mb(const char *key) {
        FILE *file = fopen("/proc/self/status", "re");
        char line[256];
        double kb = 0;

        while (file && fgets(line, sizeof(line), file))
                if (strncmp(line, key, strlen(key)) == 0)
                        kb = strtod(line + strlen(key) + 1, NULL);
        if (file)
                fclose(file);
        return kb / 1024;
}

static int open_it(Bench *bench) {
        double start = now_us(), took;
        LedgerStats stats;

        bench_open(bench);
        took = now_us() - start;
        stats = ledger_stats(bench->ledger);
        printf("%.2f %d %.1f %.1f %.1f %llu\n", took / 1e3, stats.is_index_loaded,
               (double)stats.n_scanned / took * 1e6 / 1048576, resident_mb("VmRSS:"), resident_mb("VmHWM:"),
               (unsigned long long)ledger_n_committed(bench->ledger));
        bench_close(bench);
        return 0;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return x < y ? -1 : x > y;
}

static double median(double *values, size_t n) {
        qsort(values, n, sizeof(*values), compare);
        return n ? values[n / 2] : 0;
}

static int raw(Bench *bench, unsigned long n, unsigned long batch) {
        int fd = open(bench->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        off_t at = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
        double start = now_us();
        char *text = malloc((batch + 1) * 1024);

        for (unsigned long i = 0; fd >= 0 && text && i < n; i++) {
                double began = now_us();
                size_t n_text = 0;

                for (unsigned long k = 0; k < batch; k++) {
                        n_text += event_text(text + n_text, 1024, i * batch + k);
                        text[n_text++] = '\n';
                }
                if (pwrite(fd, text, n_text, at) != (ssize_t)n_text || fdatasync(fd) < 0)
                        return 1;
                at += (off_t)n_text;
                bench->times[i] = now_us() - began;
        }
        printf("%.1f %.0f\n", median(bench->times, n), (double)(n * batch) / (now_us() - start) * 1e6);
        free(text);
        close_fd(fd);
        return 0;
}

static void send_next(Send *send);

static void on_sent(LedgerChange *change, int r) {
        Send *send = container_of(change, Send, change);
        Bench *bench = send->bench;

        if (r)
                exit(1);
        bench->times[bench->n_done++] = now_us() - send->started;
        if (bench->n_started < bench->n_wanted)
                send_next(send);
        else if (bench->n_done == bench->n_wanted)
                loop_stop(bench->loop);
}

static void send_next(Send *send) {
        char text[1024];

        send->started = now_us();
        ledger_change_init(&send->change, send->bench->ledger, on_sent);
        if (ledger_change_line(&send->change,
                               (Str){text, event_text(text, sizeof(text), send->bench->n_started++)}) ||
            ledger_change_commit(&send->change))
                exit(1);
}

static int append(Bench *bench, unsigned long n, unsigned long flight) {
        Send *sends = calloc(flight + 1, sizeof(*sends));
        LedgerStats stats;
        double start, took;

        if (!sends)
                return 1;
        bench->n_wanted = n;
        bench_open(bench);
        start = now_us();
        for (unsigned long i = 0; i < flight; i++) {
                sends[i].bench = bench;
                send_next(&sends[i]);
        }
        loop_run(bench->loop);
        took = now_us() - start;
        stats = ledger_stats(bench->ledger);
        printf("%.1f %.0f %.1f\n", median(bench->times, bench->n_done), (double)n / took * 1e6,
               (double)stats.n_lines / (double)MAX(stats.n_commits, 1));
        bench_close(bench);
        free(sends);
        return 0;
}

int main(int argc, char **argv) {
        Bench bench = {0};
        unsigned long n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0,
                      k = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
        int r = 2;

        if (argc < 3)
                return r;
        snprintf(bench.path, sizeof(bench.path), "%s/ledger.jsonl", argv[2]);
        snprintf(bench.state, sizeof(bench.state), "%s/state/ledger", argv[2]);
        bench.times = calloc(n + k + 1, sizeof(double));
        if (bench.times && strcmp(argv[1], "make") == 0)
                r = make(&bench, n);
        else if (bench.times && strcmp(argv[1], "open") == 0)
                r = open_it(&bench);
        else if (bench.times && strcmp(argv[1], "raw") == 0)
                r = raw(&bench, n, k);
        else if (bench.times && strcmp(argv[1], "append") == 0)
                r = append(&bench, n, k);
        free(bench.times);
        return r;
}
