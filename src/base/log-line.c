/* SPDX-License-Identifier: MIT */
#include "base/log-line.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "base/utf8.h"

/* Printable UTF-8 only, so that neither a newline nor an escape sequence of a client gets into the log. */
static void log_line_sanitize(char *text, size_t n) {
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i];

                if (c < ' ' || c == 0x7f)
                        text[i] = '?';
                else if (c == 0xc2 && i + 1 < n && (unsigned char)text[i + 1] < 0xa0) /* U+0080 to U+009F */
                        text[i] = text[i + 1] = '?';
        }
        for (size_t i = utf8_valid_prefix(text, n); i < n; i += utf8_valid_prefix(text + i, n - i))
                text[i] = '?';
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
