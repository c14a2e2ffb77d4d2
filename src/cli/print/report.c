/* SPDX-License-Identifier: MIT */
#include "cli/print/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/print/wrap.h"

enum { REPORT_COLS_MIN = 20, REPORT_INDENT = 2 };

/* ---- text of others -------------------------------------------------------------------------- */

typedef enum TextUse {
        TEXT_LINES, /* line breaks and tabs do what they do */
        TEXT_CELL,  /* they are blanks: one line is one line */
        TEXT_JSON,  /* what a person cannot see is escaped */
} TextUse;

/* In a JSON text only strings hold such characters, so each can be escaped where it stands. */
static void text_put_hidden(FILE *out, int32_t code, TextUse use) {
        bool is_space = code == '\n' || code == '\t' || code == '\r';

        if (is_space && (use == TEXT_JSON || (use == TEXT_LINES && code != '\r')))
                putc(code, out);
        else if (is_space && use == TEXT_CELL)
                putc(' ', out);
        else if (use != TEXT_JSON)
                putc('?', out);
        else
                fprintf(out, "\\u%04x", code == UTF8_WRONG ? 0xfffdu : (unsigned)code);
}

static void text_put_as(FILE *out, Str text, TextUse use) {
        size_t n_seen = 0, n;

        for (size_t i = 0; i < text.n; i += n) {
                int32_t code;

                n = utf8_next((Str){text.data + i, text.n - i}, &code);
                if (!utf8_is_hidden(code))
                        continue;
                fwrite(text.data + n_seen, 1, i - n_seen, out);
                n_seen = i + n;
                if (use != TEXT_LINES || code != '\r' || n_seen == text.n || text.data[n_seen] != '\n')
                        text_put_hidden(out, code, use);
        }
        if (n_seen < text.n)
                fwrite(text.data + n_seen, 1, text.n - n_seen, out);
}

void text_put(FILE *out, Str text) {
        text_put_as(out, text, TEXT_LINES);
}

void text_put_cell(FILE *out, Str text) {
        text_put_as(out, text, TEXT_CELL);
}

void output_put(FILE *out, Str text) {
        if (isatty(fileno(out)))
                text_put(out, text);
        else if (text.n)
                fwrite(text.data, 1, text.n, out);
}

void json_put_text(FILE *out, Str json) {
        text_put_as(out, json, TEXT_JSON);
        putc('\n', out);
}

/* ---- what a person is told to type ------------------------------------------------------------ */

/* How this program was called, if that was by a path that needs no quotes; under the name `ac` it is muster, too. */
static int report_program(Buf *ret) {
        const char *name = program_invocation_name, *slash = strrchr(name, '/');

        if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+@-")])
                return buf_append_str(ret, STR("muster"));
        if (strcmp(slash, "/ac") != 0)
                return buf_append_str(ret, str_from(name));
        return buf_printf(ret, "%.*s/muster", (int)(slash - name), name);
}

/* Whether a `muster ` in it is a command: with a word behind it, or (has_names) the name of one that is filled in. */
static bool report_is_command(const char *words, const char *at, bool has_names) {
        char before = at > words ? at[-1] : ' ', behind = at[sizeof("muster ") - 1];

        return strchr(" (:;,\n\"", before) &&
               ((behind >= 'a' && behind <= 'z') || behind == '-' || (has_names && behind == '%'));
}

/* NULL: there is nothing to change, or no memory. */
static char *report_hint(const char *words, bool has_names) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        const char *at = words, *found;
        int r = 0;

        if (!strchr(program_invocation_name, '/'))
                return NULL;
        while (!r && (found = strstr(at, "muster "))) {
                r = buf_append(&out, at, (size_t)(found - at));
                if (!r)
                        r = report_is_command(words, found, has_names) ? report_program(&out)
                                                                       : buf_append_str(&out, STR("muster"));
                at = found + sizeof("muster") - 1;
        }
        if (!r && at > words)
                r = buf_append_str(&out, str_from(at));
        return r || at == words ? NULL : str_dup(buf_str(&out));
}

char *hint_new(const char *words) {
        char *hint = report_hint(words, true);

        return hint ? hint : strdup(words);
}

/* ---- what is said ---------------------------------------------------------------------------- */

_printf_(2, 0) static void text_put_format(FILE *out, const char *format, va_list args) {
        _cleanup_(freep) char *text = NULL, *words = report_hint(format, false);
        int n = vasprintf(&text, words ? words : format, args);

        if (n < 0)
                text = NULL; /* undefined after a failure */
        text_put(out, n < 0 ? STR("out of memory") : (Str){text, (size_t)n});
}

/* Columns of the terminal that stderr is; 0: it is none, or so narrow that nothing would help. */
static size_t report_columns(void) {
        struct winsize size;

        if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size))
                return 0;
        return size.ws_col >= REPORT_COLS_MIN ? size.ws_col : 0;
}

/* Begins in the first column whatever a name in it holds: what goes on below is indented, or it would look
 * like another complaint. In a file or a pipe it is one line. */
_printf_(2, 0) static void report_say(const char *head, const char *format, va_list args) {
        _cleanup_(freep) char *text = NULL, *words = report_hint(format, true);
        size_t n_head = strlen(head), n_cols = report_columns();
        int n = vasprintf(&text, words ? words : format, args);

        if (n < 0)
                text = NULL; /* undefined after a failure */
        for (int i = 0; i < n; i++)
                if (text[i] == '\n' || text[i] == '\t' || text[i] == '\r')
                        text[i] = ' ';
        fputs(head, stderr);
        text_wrap(stderr, n < 0 ? STR("out of memory") : (Str){text, (size_t)n},
                  n_head ? n_head : REPORT_INDENT, n_cols);
}

int complain(int status, const char *format, ...) {
        va_list args;

        va_start(args, format);
        report_say("muster: ", format, args);
        va_end(args);
        return status;
}

void advise(const char *format, ...) {
        va_list args;

        va_start(args, format);
        report_say("", format, args);
        va_end(args);
}

void print(const char *format, ...) {
        va_list args;

        va_start(args, format);
        text_put_format(stdout, format, args);
        va_end(args);
}

void fprint(FILE *out, const char *format, ...) {
        va_list args;

        va_start(args, format);
        text_put_format(out, format, args);
        va_end(args);
}

int json_print(FILE *out, const Json *json, bool is_pretty) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = is_pretty ? json_write_pretty(&text, json, 2) : json_write(&text, json);

        if (r)
                return error_trace(r);
        json_put_text(out, buf_str(&text));
        return 0;
}

/* Writes nothing, which files and devices refuse when they would refuse more. A socket might send it. */
int output_check(void) {
        struct stat what;

        if (fstat(STDOUT_FILENO, &what) || !(S_ISREG(what.st_mode) || S_ISCHR(what.st_mode)) ||
            !write(STDOUT_FILENO, "", 0) || errno == EAGAIN || errno == EINTR)
                return 0;
        return complain(CLI_FAILED, "cannot write to stdout: %s", strerror(errno));
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
