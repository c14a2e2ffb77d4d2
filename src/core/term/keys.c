/* SPDX-License-Identifier: MIT */
#include "core/term/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"

/* Modifiers as xterm counts them: the parameter is one more than their sum. */
enum { SHIFT = 1, META = 2, CONTROL = 4 };

typedef struct Key {
        const char *name;
        const char *bytes; /* without modifiers */
        char letter;       /* CSI 1;M letter with them; 0: none */
        int number;        /* CSI number;M ~ with them; 0: none */
} Key;

static const Key keys[] = {
        {"Enter", "\r", 0, 0},         {"Tab", "\t", 0, 0},        {"BTab", "\x1b[Z", 0, 0},
        {"Escape", "\x1b", 0, 0},      {"Space", " ", 0, 0},       {"BSpace", "\x7f", 0, 0},
        {"Up", "\x1b[A", 'A', 0},      {"Down", "\x1b[B", 'B', 0}, {"Right", "\x1b[C", 'C', 0},
        {"Left", "\x1b[D", 'D', 0},    {"Home", "\x1b[H", 'H', 0}, {"End", "\x1b[F", 'F', 0},
        {"PageUp", "\x1b[5~", 0, 5},   {"PgUp", "\x1b[5~", 0, 5},  {"PPage", "\x1b[5~", 0, 5},
        {"PageDown", "\x1b[6~", 0, 6}, {"PgDn", "\x1b[6~", 0, 6},  {"NPage", "\x1b[6~", 0, 6},
        {"Insert", "\x1b[2~", 0, 2},   {"IC", "\x1b[2~", 0, 2},    {"Delete", "\x1b[3~", 0, 3},
        {"DC", "\x1b[3~", 0, 3},       {"F1", "\x1bOP", 'P', 0},   {"F2", "\x1bOQ", 'Q', 0},
        {"F3", "\x1bOR", 'R', 0},      {"F4", "\x1bOS", 'S', 0},   {"F5", "\x1b[15~", 0, 15},
        {"F6", "\x1b[17~", 0, 17},     {"F7", "\x1b[18~", 0, 18},  {"F8", "\x1b[19~", 0, 19},
        {"F9", "\x1b[20~", 0, 20},     {"F10", "\x1b[21~", 0, 21}, {"F11", "\x1b[23~", 0, 23},
        {"F12", "\x1b[24~", 0, 24},
};

static int take_modifiers(const char **name) {
        int modifiers = 0;

        for (; (*name)[0] && (*name)[1] == '-' && (*name)[2]; *name += 2) {
                if ((*name)[0] == 'C')
                        modifiers |= CONTROL;
                else if ((*name)[0] == 'M')
                        modifiers |= META;
                else if ((*name)[0] == 'S')
                        modifiers |= SHIFT;
                else
                        break;
        }
        if ((*name)[0] == '^' && (*name)[1] && !(*name)[2]) {
                modifiers |= CONTROL;
                (*name)++;
        }
        return modifiers;
}

static const Key *keys_find_key(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (!strcasecmp(keys[i].name, name))
                        return &keys[i];
        return NULL;
}

/* Control and a character: -1 when there is no such thing. */
static int control_of(unsigned char c) {
        c = (unsigned char)toupper(c);
        if (c == '?')
                return 0x7f;
        if (c == ' ')
                return 0;
        return c >= '@' && c <= '_' ? c & 0x1f : -1;
}

static int append_plain(Buf *out, Str bytes, int modifiers) {
        int r = modifiers & META ? buf_append_str(out, STR("\x1b")) : 0;

        return error_trace(r ? r : buf_append_str(out, bytes));
}

static int append_key(Buf *out, const Key *key, int modifiers) {
        if (modifiers && key->letter)
                return error_trace(buf_printf(out, "\x1b[1;%d%c", modifiers + 1, key->letter));
        if (modifiers && key->number)
                return error_trace(buf_printf(out, "\x1b[%d;%d~", key->number, modifiers + 1));
        if (modifiers & SHIFT && !strcmp(key->name, "Tab"))
                return error_trace(append_plain(out, STR("\x1b[Z"), modifiers));
        if (modifiers & CONTROL && !strcmp(key->name, "Space"))
                return error_trace(append_plain(out, STR("\0"), modifiers));
        return error_trace(append_plain(out, str_from(key->bytes), modifiers));
}

int keys_append(Buf *out, const char *name) {
        int modifiers = take_modifiers(&name), code;
        const Key *key = keys_find_key(name);
        char c;

        if (key)
                return error_trace(append_key(out, key, modifiers));
        if (!modifiers || !name[0] || name[1])
                return KEYS_E_UNKNOWN;
        code = modifiers & CONTROL ? control_of((unsigned char)name[0]) : name[0];
        if (code < 0)
                return KEYS_E_UNKNOWN;
        c = (char)code;
        return error_trace(append_plain(out, (Str){&c, 1}, modifiers));
}
