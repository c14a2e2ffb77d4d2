/* SPDX-License-Identifier: MIT */
#include "cli/print/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json-writer.h"

void text_put(FILE *out, Str text) {
        for (size_t i = 0; i < text.n; i++) {
                unsigned char c = (unsigned char)text.data[i];

                putc((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : c, out);
        }
}

static void say(const char *head, const char *format, va_list args) {
        _cleanup_(freep) char *text = NULL;
        int n = vasprintf(&text, format, args);

        fputs(head, stderr);
        if (n < 0)
                text = NULL; /* undefined after a failure */
        text_put(stderr, n < 0 ? STR("out of memory") : (Str){text, (size_t)n});
        putc('\n', stderr);
}

int complain(int status, const char *format, ...) {
        va_list args;

        va_start(args, format);
        say("muster: ", format, args);
        va_end(args);
        return status;
}

void advise(const char *format, ...) {
        va_list args;

        va_start(args, format);
        say("", format, args);
        va_end(args);
}

int json_print(FILE *out, const Json *json, bool is_pretty) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = is_pretty ? json_write_pretty(&text, json, 2) : json_write(&text, json);

        if (r)
                return error_trace(r);
        fwrite(text.data, 1, text.n, out);
        putc('\n', out);
        return 0;
}

bool is_for_people(bool json_option) {
        return !json_option && isatty(STDOUT_FILENO);
}

void tasks_print(FILE *out, const Json *tasks) {
        int64_t n_running = 0, n_waiting = 0;
        bool are_ended = false;

        (void)json_int64(json_get(tasks, "running"), &n_running);
        (void)json_int64(json_get(tasks, "queued"), &n_waiting);
        (void)json_bool(json_get(tasks, "ended"), &are_ended);
        if (n_running > 0 || n_waiting > 0)
                fprintf(out, "tasks %s: %lld running, %lld waiting\n",
                        are_ended ? "ended" : "left for the next daemon", (long long)n_running,
                        (long long)n_waiting);
}
