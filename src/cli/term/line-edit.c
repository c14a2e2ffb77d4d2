/* SPDX-License-Identifier: MIT */
#include "cli/term/line-edit.h"

#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "cli/print/columns.h"

enum { KEY_ESC = 0x1b, KEY_BACKSPACE = 0x7f };
#define CTRL(letter) ((letter) - '@')

void line_edit_deinit(LineEdit *line) {
        buf_deinit(&line->text);
        buf_deinit(&line->draft);
        for (size_t i = 0; i < line->n_history; i++)
                buf_deinit(&line->history[i]);
        *line = (LineEdit){0};
}

/* ---- places in the line ---------------------------------------------------------------------- */

static bool is_inside(const LineEdit *line, size_t at) {
        return at > 0 && at < line->text.n && utf8_is_tail(line->text.data[at]);
}

static size_t before(const LineEdit *line, size_t at) {
        if (at > 0)
                at--;
        while (is_inside(line, at))
                at--;
        return at;
}

static size_t line_edit_after(const LineEdit *line, size_t at) {
        if (at < line->text.n)
                at++;
        while (is_inside(line, at))
                at++;
        return at;
}

static size_t word_before(const LineEdit *line, size_t at) {
        while (at > 0 && line->text.data[at - 1] == ' ')
                at--;
        while (at > 0 && line->text.data[at - 1] != ' ')
                at--;
        return at;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void line_edit_cut(LineEdit *line, size_t from, size_t to) {
        memmove(line->text.data + from, line->text.data + to, line->text.n - to);
        line->text.n -= to - from;
        line->at = from;
}

static void insert(LineEdit *line, char byte) {
        if (buf_append(&line->text, &byte, 1))
                return;
        memmove(line->text.data + line->at + 1, line->text.data + line->at, line->text.n - 1 - line->at);
        line->text.data[line->at++] = byte;
}

static void line_edit_set(LineEdit *line, const Buf *text) {
        line->text.n = 0;
        (void)buf_append_str(&line->text, buf_str(text));
        line->at = line->text.n;
}

/* To an older line, or back to a newer one; the new one is kept meanwhile. */
static void line_edit_choose(LineEdit *line, size_t chosen) {
        if (chosen > line->n_history)
                return;
        if (line->chosen == line->n_history) {
                line->draft.n = 0;
                (void)buf_append_str(&line->draft, buf_str(&line->text));
        }
        line->chosen = chosen;
        line_edit_set(line, chosen == line->n_history ? &line->draft : &line->history[chosen]);
}

void line_edit_next(LineEdit *line) {
        if (line->text.n && line->n_history == LINE_HISTORY) {
                buf_deinit(&line->history[0]);
                memmove(line->history, line->history + 1, (LINE_HISTORY - 1) * sizeof(line->history[0]));
                line->n_history--;
        }
        if (line->text.n)
                line->history[line->n_history++] = line->text;
        else
                buf_deinit(&line->text);
        line->text = BUF_NULL;
        line->at = 0;
        line->chosen = line->n_history;
        line->n_keys = 0;
        line->is_pasting = false;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void line_edit_move(LineEdit *line, char key) {
        switch (key) {
        case 'A': line_edit_choose(line, line->chosen ? line->chosen - 1 : 0); break;
        case 'B': line_edit_choose(line, line->chosen + 1); break;
        case 'C': line->at = line_edit_after(line, line->at); break;
        case 'D': line->at = before(line, line->at); break;
        case 'H': line->at = 0; break;
        case 'F': line->at = line->text.n; break;
        default: break;
        }
}

/* ESC [ … ~ */
static void line_edit_function_key(LineEdit *line) {
        Str number = {line->keys + 2, line->n_keys - 3};

        if (str_is(number, "200") || str_is(number, "201"))
                line->is_pasting = str_is(number, "200");
        else if (!line->is_pasting && str_is(number, "3"))
                line_edit_cut(line, line->at, line_edit_after(line, line->at));
}

/* ESC [ … letter, ESC O letter; ESC [ 3 ~ is Delete, 200 and 201 stand around a paste. Others are taken and
 * do nothing; so do all in a paste. */
static void sequence(LineEdit *line, char byte) {
        bool is_begun = line->n_keys == 1 && (byte == '[' || byte == 'O');

        if (line->n_keys < sizeof(line->keys))
                line->keys[line->n_keys++] = byte;
        if (is_begun || (byte < '@' && line->n_keys > 2))
                return;
        if (line->n_keys > 3 && byte == '~')
                line_edit_function_key(line);
        else if (line->n_keys == 3 && !line->is_pasting)
                line_edit_move(line, byte);
        line->n_keys = 0;
}

static LineEvent line_edit_control(LineEdit *line, char byte) {
        switch (byte) {
        case '\r':
        case '\n': return LINE_DONE;
        case CTRL('C'): return LINE_INTERRUPT;
        case CTRL('D'):
                if (!line->text.n)
                        return LINE_END;
                line_edit_cut(line, line->at, line_edit_after(line, line->at));
                break;
        case CTRL('A'): line->at = 0; break;
        case CTRL('E'): line->at = line->text.n; break;
        case CTRL('B'): line->at = before(line, line->at); break;
        case CTRL('F'): line->at = line_edit_after(line, line->at); break;
        case CTRL('P'): line_edit_move(line, 'A'); break;
        case CTRL('N'): line_edit_move(line, 'B'); break;
        case CTRL('U'): line_edit_cut(line, 0, line->at); break;
        case CTRL('K'): line->text.n = line->at; break;
        case CTRL('W'): line_edit_cut(line, word_before(line, line->at), line->at); break;
        case CTRL('H'):
        case KEY_BACKSPACE: line_edit_cut(line, before(line, line->at), line->at); break;
        case KEY_ESC:
                line->keys[0] = byte;
                line->n_keys = 1;
                break;
        case '\t': insert(line, ' '); break;
        default: break;
        }
        return LINE_MORE;
}

/* Ends of lines and tabs are text in a paste, other controls are nothing. */
static void line_edit_paste(LineEdit *line, char byte) {
        bool is_same_end = byte == '\n' && line->has_return;

        line->has_return = byte == '\r';
        if (byte == KEY_ESC) {
                line->keys[0] = byte;
                line->n_keys = 1;
        } else if ((byte == '\r' || byte == '\n') && !is_same_end)
                insert(line, '\n');
        else if (((unsigned char)byte >= ' ' && byte != KEY_BACKSPACE) || byte == '\t')
                insert(line, byte);
}

LineEvent line_edit_byte(LineEdit *line, char byte) {
        if (line->n_keys || line->is_pasting) {
                if (line->n_keys)
                        sequence(line, byte);
                else
                        line_edit_paste(line, byte);
                return LINE_MORE;
        }
        if ((unsigned char)byte < ' ' || byte == KEY_BACKSPACE)
                return line_edit_control(line, byte);
        insert(line, byte);
        return LINE_MORE;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static Str character(const LineEdit *line, size_t at) {
        return (Str){line->text.data + at, line_edit_after(line, at) - at};
}

/* What was pasted may drive a terminal as well as what was sent. */
static bool line_is_shown(Str one) {
        int32_t code;

        return utf8_next(one, &code) == one.n && !utf8_is_hidden(code);
}

static size_t line_columns(Str one) {
        return line_is_shown(one) ? columns_of(one) : 1;
}

static size_t columns_between(const LineEdit *line, size_t from, size_t to) {
        size_t n = 0;

        for (; from < to; from = line_edit_after(line, from))
                n += line_columns(character(line, from));
        return n;
}

static Str line_shown(Str one) {
        if (str_is(one, "\n"))
                return STR("\u23ce");
        if (str_is(one, "\t"))
                return STR(" ");
        return line_is_shown(one) ? one : STR("?");
}

/* Characters from there on, as far as there is room; one that is no UTF-8 (yet), or a control, as `?`. */
static int draw_text(const LineEdit *line, size_t from, size_t n_room, size_t *ret_end, Buf *out) {
        size_t n = 0;
        int r = 0;

        for (; from < line->text.n && !r; from = line_edit_after(line, from)) {
                Str one = character(line, from);

                n += line_columns(one);
                if (n > n_room)
                        break;
                r = buf_append_str(out, line_shown(one));
        }
        *ret_end = from;
        return error_trace(r);
}

int line_edit_draw(const LineEdit *line, const char *prompt, size_t n_columns, Buf *out) {
        size_t n_prompt = strlen(prompt), n_room = SIZE_MAX, from = 0, end, n_behind;
        int r;

        if (n_columns && n_columns < n_prompt + 4) { /* too narrow for both */
                prompt = "";
                n_prompt = 0;
        }
        if (n_columns)
                n_room = MAX(n_columns - n_prompt, (size_t)2) - 1; /* the last one makes terminals wrap */
        for (size_t n = columns_between(line, 0, line->at); n > n_room; from = line_edit_after(line, from))
                n -= line_columns(character(line, from));
        r = buf_printf(out, "\r%s", prompt);
        if (!r)
                r = draw_text(line, from, n_room, &end, out);
        if (!r)
                r = buf_append_str(out, STR("\x1b[K"));
        n_behind = r ? 0 : columns_between(line, line->at, end);
        if (!r && n_behind)
                r = buf_printf(out, "\x1b[%zuD", n_behind);
        return error_trace(r);
}

void line_edit_show(const LineEdit *line, const char *prompt, size_t n_columns, FILE *file) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        if (!line_edit_draw(line, prompt, n_columns, &out))
                fwrite(out.data, 1, out.n, file);
}

void line_edit_mark_pastes(FILE *file, bool on) {
        fputs(on ? "\x1b[?2004h" : "\x1b[?2004l", file);
}
