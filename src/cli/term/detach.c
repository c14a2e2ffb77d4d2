/* SPDX-License-Identifier: MIT */
#include "cli/term/detach.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"

/*
 * A sequence comes in one piece unless a line is slow. A key is pressed again within the time that it takes
 * to begin repeating itself. A sequence that is longer is no key.
 */
enum { OPEN_MS = 25, AGAIN_MS = 400, OPEN_MAX = 64 };
enum { MOD_SHIFT = 1, MOD_CONTROL = 4, MOD_LOCKS = 64 | 128 };
enum { EVENT_PRESS = 1, EVENT_REPEAT, EVENT_RELEASE };
enum { PASTE_BEGIN = 200, OTHER_KEYS = 27 };

/* ---- which keys ------------------------------------------------------------------------------ */

static bool detach_takes_control(char c) {
        return (c >= 'a' && c <= 'z') || c == ']' || c == '\\' || c == '^' || c == '_' || c == '@';
}

/* Escape begins the sequences of all other keys, so it cannot be one. */
static bool detach_read_key(Str word, DetachKey *ret) {
        static const char *const prefixes[] = {"C-", "^", "ctrl-", "ctrl+"};

        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
                size_t n = strlen(prefixes[i]);

                if (word.n == n + 1 && !strncasecmp(word.data, prefixes[i], n)) {
                        *ret = (DetachKey){(char)tolower((unsigned char)word.data[n]), true};
                        return detach_takes_control(ret->character);
                }
        }
        *ret = (DetachKey){word.n ? word.data[0] : 0, false};
        return word.n == 1 && ret->character > ' ' && ret->character < 0x7f;
}

static void detach_describe(DetachKeys *keys) {
        size_t n = 0;

        for (size_t i = 0; i < keys->n; i++) {
                const DetachKey *key = &keys->keys[i];
                char c = key->has_control ? (char)toupper((unsigned char)key->character) : key->character;

                n += (size_t)snprintf(keys->text + n, sizeof(keys->text) - n, "%s%s%c", i ? " " : "",
                                      key->has_control ? "Ctrl+" : "", c);
        }
}

int detach_keys_parse(const char *text, DetachKeys *ret) {
        *ret = (DetachKeys){0};
        if (!strcasecmp(text, "none"))
                return 0;
        for (const char *word = text;; word++) {
                size_t n = strcspn(word, ",");

                if (ret->n == DETACH_KEYS_MAX || !detach_read_key((Str){word, n}, &ret->keys[ret->n++]))
                        return DETACH_E_INVALID;
                word += n;
                if (!*word)
                        break;
        }
        if (!ret->keys[0].has_control)
                return DETACH_E_INVALID; /* it could not be typed any more */
        detach_describe(ret);
        return 0;
}

/* ---- what was pressed ------------------------------------------------------------------------ */

typedef struct Press {
        Str raw;
        unsigned code, shifted, base; /* of the keyboard protocols; 0: not said */
        unsigned modifiers, event;
        bool is_byte; /* code is the byte that came, as of old */
        bool is_key;  /* one that the protocols have a number for */
} Press;

static char detach_byte_of(const DetachKey *key) {
        return key->has_control ? (char)(toupper((unsigned char)key->character) & 0x1f) : key->character;
}

/* Another layout than the Latin one has the key at the same place, which is the base code. */
static bool detach_is_key(const DetachKey *key, const Press *press) {
        unsigned wanted = (unsigned char)key->character, held = press->modifiers & ~(unsigned)MOD_LOCKS;

        if (press->is_byte)
                return (char)press->code == detach_byte_of(key);
        if (!press->is_key || (held & ~(unsigned)MOD_SHIFT) != (key->has_control ? MOD_CONTROL : 0))
                return false;
        return held & MOD_SHIFT ? press->shifted == wanted : press->code == wanted || press->base == wanted;
}

/* Not held down, nor let go. */
static bool detach_is_pressed(const DetachKey *key, const Press *press) {
        return press->event == EVENT_PRESS && detach_is_key(key, press);
}

/* Letting go of a key, and a key that only modifies others, is no answer to anything. */
static bool detach_is_quiet(const Press *press) {
        return press->is_key && (press->event == EVENT_RELEASE || press->code >= VT_PARAM_MAX);
}

/* Number i of the CSI, and its own sub-number. */
static unsigned detach_param(const VtParser *vt, unsigned i, unsigned sub, unsigned missing) {
        unsigned at = 0;

        for (; i; i--)
                do
                        at++;
                while (at < vt->n_params && vt->subs >> at & 1);
        for (; sub; sub--)
                if (++at >= vt->n_params || !(vt->subs >> at & 1))
                        return missing;
        return vt_param(vt, at, missing);
}

static Press detach_press(const VtParser *vt, Str raw) {
        Press press = {.raw = raw, .event = EVENT_PRESS};
        unsigned modifiers;

        if (vt->leader || vt->intermediate)
                return press;
        if (vt->final == 'u') {
                press.is_key = true;
                press.code = detach_param(vt, 0, 0, 0);
                press.shifted = detach_param(vt, 0, 1, 0);
                press.base = detach_param(vt, 0, 2, 0);
                press.event = detach_param(vt, 1, 1, EVENT_PRESS);
        } else if (vt->final == '~' && detach_param(vt, 0, 0, 0) == OTHER_KEYS) {
                press.is_key = true;
                press.code = press.shifted = detach_param(vt, 2, 0, 0);
        }
        modifiers = detach_param(vt, 1, 0, 1);
        press.modifiers = modifiers ? modifiers - 1 : 0;
        return press;
}

/* ---- what it means --------------------------------------------------------------------------- */

static int detach_forget_round(Detach *detach, Buf *out) {
        int r = buf_append_str(out, buf_str(&detach->round));

        detach->round.n = detach->at = 0;
        return error_trace(r);
}

/* The next of the keys. */
static int detach_advance(Detach *detach, const Press *press, Buf *out) {
        size_t n = detach->keys->n;
        int r = buf_append_str(&detach->round, press->raw);

        if (r)
                return error_trace(r);
        if (++detach->at == 2 * n)
                return error_trace(detach_forget_round(detach, out));
        if (detach->at == n) {
                detach->round.n = 0;
                detach->leaves = detach->is_watching;
        }
        return 0;
}

static int detach_other(Detach *detach, const Press *press, Buf *out) {
        int r;

        if (detach->at >= detach->keys->n && detach->at) {
                detach->leaves = true;
                return 0;
        }
        r = detach_forget_round(detach, out);
        if (!r && detach->keys->n && detach_is_pressed(&detach->keys->keys[0], press))
                return error_trace(detach_advance(detach, press, out));
        return error_trace(r ? r : buf_append_str(out, press->raw));
}

static int detach_take(Detach *detach, const Press *press, Buf *out) {
        static const DetachKey interrupt = {'c', true};
        const DetachKeys *keys = detach->keys;
        bool is_next = keys->n && detach_is_pressed(&keys->keys[detach->at % keys->n], press);
        bool is_last =
                keys->n && detach->at && detach_is_key(&keys->keys[(detach->at - 1) % keys->n], press);

        if (detach->at && press->event != EVENT_PRESS && is_last)
                return 0;           /* it is held down, or let go */
        if (detach_is_quiet(press)) /* in its order */
                return error_trace(buf_append_str(detach->at ? &detach->round : out, press->raw));
        if (detach->is_watching && detach_is_pressed(&interrupt, press))
                detach->leaves = true;
        else if (is_next)
                return error_trace(detach_advance(detach, press, out));
        else
                return error_trace(detach_other(detach, press, out));
        return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* No sequence, or one that is given up: it is no key of ours. */
static int detach_close(Detach *detach, Buf *out) {
        const Press press = {.raw = buf_str(&detach->open), .event = EVENT_PRESS};
        int r = detach->vt.state != VT_GROUND ? detach_take(detach, &press, out) : 0;

        detach->open.n = 0;
        detach->vt = VT_NULL;
        return error_trace(r);
}

static int detach_take_csi(Detach *detach, Buf *out) {
        Press press = detach_press(&detach->vt, buf_str(&detach->open));
        int r;

        detach->is_pasting = detach->vt.final == '~' && !detach->vt.leader && !detach->vt.intermediate &&
                             vt_param(&detach->vt, 0, 0) == PASTE_BEGIN;
        detach->n_end = 0;
        r = detach_take(detach, &press, out);
        detach->open.n = 0;
        detach->vt = VT_NULL;
        return error_trace(r);
}

/* Only CSI is of interest: what begins otherwise may be a key with Alt, and that never ends. */
static bool detach_is_open(const VtParser *vt) {
        return vt->state == VT_ESCAPE || (vt->state >= VT_CSI_START && vt->state <= VT_CSI_IGNORE);
}

static int detach_sequence(Detach *detach, char c, Buf *out) {
        int r = buf_append(&detach->open, &c, 1);

        if (r)
                return error_trace(r);
        if (vt_next(&detach->vt, c) == VT_EVENT_CSI)
                return error_trace(detach_take_csi(detach, out));
        if (detach_is_open(&detach->vt) && detach->open.n < OPEN_MAX)
                return 0;
        detach->vt.state = VT_ESCAPE; /* to be closed */
        return error_trace(detach_close(detach, out));
}

static int detach_paste(Detach *detach, char c, Buf *out) {
        static const char end[] = "\x1b[201~";

        detach->n_end = c == end[detach->n_end] ? detach->n_end + 1 : c == end[0];
        detach->is_pasting = detach->n_end < sizeof(end) - 1;
        return error_trace(buf_append(out, &c, 1));
}

static int detach_byte(Detach *detach, char c, Buf *out) {
        const Press press = {
                .raw = {&c, 1}, .code = (unsigned char)c, .is_byte = true, .event = EVENT_PRESS};
        bool is_control = (unsigned char)c < ' ';
        int r = 0;

        if (detach->is_pasting)
                return error_trace(detach_paste(detach, c, out));
        if (is_control)
                r = detach_close(detach, out); /* what was open is not, now */
        if (r || detach->leaves)
                return error_trace(r);
        if (c == '\x1b' || detach->vt.state != VT_GROUND)
                return error_trace(detach_sequence(detach, c, out));
        return error_trace(detach_take(detach, &press, out));
}

int detach_feed(Detach *detach, Str bytes, Buf *out) {
        int r = 0;

        for (size_t i = 0; i < bytes.n && !r && !detach->leaves; i++)
                r = detach_byte(detach, bytes.data[i], out);
        return error_trace(r);
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool detach_is_twice(const Detach *detach) {
        return detach->at && detach->at >= detach->keys->n;
}

int detach_wait_ms(const Detach *detach) {
        if (detach_is_twice(detach))
                return AGAIN_MS;
        return detach->open.n ? OPEN_MS : -1;
}

/* What stood open goes to the program, but is still known: the rest of a late sequence means the same. */
int detach_pause(Detach *detach, Buf *out) {
        int r;

        detach->leaves |= detach_is_twice(detach);
        if (detach->leaves || !detach->open.n)
                return 0;
        r = detach_forget_round(detach, out);
        if (!r)
                r = buf_append_str(out, buf_str(&detach->open));
        detach->open.n = 0;
        return error_trace(r);
}

int detach_end(Detach *detach, Buf *out) {
        int r;

        if (detach_is_twice(detach))
                return 0;
        r = detach_forget_round(detach, out);
        return error_trace(r ? r : detach_pause(detach, out));
}

void detach_deinit(Detach *detach) {
        buf_deinit(&detach->round);
        buf_deinit(&detach->open);
}
