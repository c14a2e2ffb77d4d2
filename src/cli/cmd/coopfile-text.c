/* SPDX-License-Identifier: MIT */
#include "cli/cmd/coopfile-text.h"

#include "base/error.h"
#include "base/utf8.h"

/* A basic string of TOML: quotes, backslashes and control characters are escaped, the rest is as it is. */
static int put_quoted(Buf *out, Str text) {
        int r = buf_append_str(out, STR("\""));

        for (size_t i = 0; !r && i < text.n; i++) {
                unsigned char c = (unsigned char)text.data[i];

                if (c == '"' || c == '\\')
                        r = buf_printf(out, "\\%c", c);
                else if (c < 0x20 || c == 0x7f)
                        r = buf_printf(out, "\\u%04X", c);
                else
                        r = buf_append(out, &text.data[i], 1);
        }
        return error_trace(r ? r : buf_append_str(out, STR("\"")));
}

static int put_value(Buf *out, const char *text) {
        Str s = str_from(text);

        if (utf8_valid_prefix(s.data, s.n) != s.n)
                return COOPFILE_TEXT_E_NOT_UTF8;
        return error_trace(put_quoted(out, s));
}

static int put_command(const CoopfileText *text, Buf *out) {
        int r = buf_append_str(out, STR("[agent]\ncommand = "));

        if (!r)
                r = put_value(out, text->command[0]);
        if (!r)
                r = buf_append_str(out, STR("\nargs = ["));
        for (int i = 1; !r && i < text->n_command; i++) {
                r = i > 1 ? buf_append_str(out, STR(", ")) : 0;
                r = r ? r : put_value(out, text->command[i]);
        }
        return error_trace(r ? r : buf_append_str(out, STR("]\n")));
}

int coopfile_text(const CoopfileText *text, Buf *out) {
        int r = text->n_command ? put_command(text, out) : 0;

        if (!r && text->sandbox) {
                r = buf_append_str(out, STR("[sandbox]\nmode = "));
                r = r ? r : put_value(out, text->sandbox);
                r = r ? r : buf_append_str(out, STR("\n"));
        }
        if (!r && text->is_once)
                r = buf_append_str(out, STR("[session]\nauto_restart = false\n"));
        else if (!r && text->n_command)
                r = buf_append_str(out, STR("[session]\nend_on_success = true\n"));
        return error_trace(r);
}
