/* SPDX-License-Identifier: MIT */
#include "cli/link/greeting.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "core/hello.h"

static bool greeting_is_text(Str s) {
        return utf8_valid_prefix(s.data, s.n) == s.n;
}

/* Of two lines with one name programs see the first. */
static bool greeting_is_first(char *const *line, size_t n_name) {
        for (char **other = environ; other != line; other++)
                if (!strncmp(*other, *line, n_name + 1))
                        return false;
        return true;
}

/* What is no UTF-8 cannot be said in JSON, and is left out. Returns the number of names. */
static size_t greeting_write_env(JsonWriter *w) {
        size_t n = 0;

        jw_key(w, "env");
        jw_begin_object(w);
        for (char **line = environ; *line; line++) {
                Str name = {*line, strcspn(*line, "=")};

                if (!name.n || !(*line)[name.n] || !greeting_is_text(str_from(*line)) ||
                    !greeting_is_first(line, name.n))
                        continue;
                jw_key_str(w, name);
                jw_cstr(w, *line + name.n + 1);
                n++;
        }
        jw_end_object(w);
        return n;
}

int greeting_write(Buf *out, bool observe) {
        JsonWriter w = JSON_WRITER(out);
        char cwd[PATH_MAX];
        size_t n_names;

        if (buf_append_str(out, STR("@agentcompany ")))
                return complain(CLI_FAILED, "out of memory");
        jw_begin_object(&w);
        if (getcwd(cwd, sizeof(cwd)) && cwd[0] == '/' && greeting_is_text(str_from(cwd)))
                jw_field_cstr(&w, "cwd", cwd);
        n_names = greeting_write_env(&w);
        jw_field_bool(&w, "observe", observe);
        jw_end_object(&w);
        if (w.failed || buf_append_str(out, STR("\n")))
                return complain(CLI_FAILED, "out of memory");
        if (n_names > HELLO_NAMES_MAX || out->n - 1 > HELLO_BYTES_MAX)
                return complain(CLI_FAILED,
                                "the environment has %zu names and %zu bytes; at most %d and %d go to the "
                                "daemon",
                                n_names, out->n, HELLO_NAMES_MAX, HELLO_BYTES_MAX);
        return CLI_OK;
}
