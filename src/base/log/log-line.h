#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * One line of the log in the making: time, level, module and id, then what there is to say. Private to
 * log*.c.
 */
#include <stdarg.h>
#include <stddef.h>

#include "base/log/log.h"

typedef struct LogLine { /* with its newline once it has ended */
        char text[LOG_LINE_MAX];
        size_t n;
        size_t n_stamp; /* of these the time, and a blank */
} LogLine;

void log_line_begin(LogLine *line, int64_t us, LogLevel level, const char *module, const char *id);
void log_line_vprintf(LogLine *line, const char *format, va_list ap) _printf_(2, 0);
void log_line_printf(LogLine *line, const char *format, ...) _printf_(2, 3);
void log_line_end(LogLine *line);
