/* SPDX-License-Identifier: MIT */
#include "base/log/log-line.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "base/utf8.h"

/* Printable UTF-8 only, so that neither a newline nor an escape sequence of a client gets into the log. */
static void log_line_sanitize(char *text, size_t n) {
        size_t n_here;

        for (size_t i = 0; i < n; i += n_here) {
                int32_t code;

                n_here = utf8_next((Str){text + i, n - i}, &code);
                if (utf8_is_hidden(code))
                        memset(text + i, '?', n_here);
        }
}

void log_line_begin(LogLine *line, int64_t us, LogLevel level, const char *module, const char *id) {
        char stamp[TIME_TEXT_MAX];
        int n;

        line->n_stamp = time_format_ms(us, stamp) + 1;
        n = snprintf(line->text, sizeof(line->text), id ? "%s %s %s [%s] " : "%s %s %s ", stamp,
                     log_level_name(level), module, id);
        line->n = MIN((size_t)MAX(n, 0), sizeof(line->text) - 1);
}

void log_line_vprintf(LogLine *line, const char *format, va_list ap) {
        size_t room = sizeof(line->text) - line->n;
        int n = vsnprintf(line->text + line->n, room, format, ap);

        if (n > 0)
                line->n += MIN((size_t)n, room - 1);
}

void log_line_printf(LogLine *line, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        log_line_vprintf(line, format, ap);
        va_end(ap);
}

/* The printf functions above leave one byte for the newline; a line that was cut ends in dots. */
void log_line_end(LogLine *line) {
        if (line->n == sizeof(line->text) - 1)
                memset(line->text + line->n - 3, '.', 3);
        log_line_sanitize(line->text, line->n);
        line->text[line->n++] = '\n';
}
