/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/error.h"
#include "base/utf8-scan.h"

/* First byte that is not ASCII, or end. */
static const char *skip_ascii(const char *p, const char *end) {
        for (; end - p >= 8; p += 8) {
                uint64_t word;
                memcpy(&word, p, sizeof(word));
                if (word & 0x8080808080808080u)
                        break;
        }
        while (p < end && (uint8_t)*p < 0x80)
                p++;
        return p;
}

static const char *valid_end(const char *p, const char *end) {
        for (;;) {
                const char *q = scan_non_ascii(skip_ascii(p, end), end);
                if (q == end || (uint8_t)*q >= 0x80)
                        return q;
                p = q;
        }
}

size_t utf8_valid_prefix(const char *data, size_t n) {
        return n == 0 ? 0 : (size_t)(valid_end(data, data + n) - data);
}

size_t utf8_count(Str text) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++)
                n += !utf8_is_tail(text.data[i]);
        return n;
}

Str utf8_first(Str text, size_t n_chars) {
        size_t at = 0;

        for (size_t n = 0; at < text.n; at++)
                if (!utf8_is_tail(text.data[at]) && n++ == n_chars)
                        break;
        return (Str){text.data, at};
}

Str utf8_fit(Str text, size_t n_bytes) {
        if (n_bytes >= text.n)
                return text;
        while (n_bytes && utf8_is_tail(text.data[n_bytes]))
                n_bytes--;
        return (Str){text.data, n_bytes};
}

size_t utf8_next_wide(Str text, int32_t *ret) {
        static const unsigned char masks[] = {0, 0, 0x1f, 0x0f, 0x07};
        const char *p = text.data, *end = text.data + text.n;
        size_t n = utf8_sequence(p, end);
        int32_t code = (uint8_t)p[0] & masks[n];

        for (size_t i = 1; i < n; i++)
                code = code << 6 | ((uint8_t)p[i] & 0x3f);
        *ret = n ? code : UTF8_WRONG;
        return n ? n : utf8_ill_formed(p, end);
}

bool utf8_is_hidden(int32_t code) {
        return code < 0x20 /* or none at all */ || (code >= 0x7f && code <= 0x9f) || code == 0x061c ||
               code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
               (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb);
}

/* The second byte decides about overlong forms, surrogates and the upper end. */
bool utf8_begin(Utf8Open *open, char lead) {
        unsigned char c = (unsigned char)lead;

        if (c < 0xc2 || c > 0xf4)
                return false;
        *open = (Utf8Open){.n = 1, .low = 0x80, .high = 0xbf, .bytes = {lead}};
        open->n_more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        switch (c) {
        case 0xe0: open->low = 0xa0; break;
        case 0xed: open->high = 0x9f; break;
        case 0xf0: open->low = 0x90; break;
        case 0xf4: open->high = 0x8f; break;
        }
        return true;
}

bool utf8_more(Utf8Open *open, char c) {
        if ((unsigned char)c < open->low || (unsigned char)c > open->high)
                return false;
        open->low = 0x80;
        open->high = 0xbf;
        open->bytes[open->n++] = c;
        open->n_more--;
        return true;
}

/* As many bytes as can begin one character, or all of it; 0: none begins here. */
static size_t utf8_open_at(Utf8Open *open, const char *p, const char *end) {
        size_t n = 1;

        if (!utf8_begin(open, p[0]))
                return 0;
        while (p + n < end && open->n_more && utf8_more(open, p[n]))
                n++;
        return n;
}

size_t utf8_ill_formed(const char *p, const char *end) {
        Utf8Open open;
        size_t n = utf8_open_at(&open, p, end);

        return n ? n : 1;
}

size_t utf8_unfinished(Str text) {
        for (size_t n = 1; n < UTF8_MAX && n <= text.n; n++) {
                const char *end = text.data + text.n;
                Utf8Open open;

                if (!utf8_is_tail(end[-(ptrdiff_t)n]))
                        return utf8_open_at(&open, end - n, end) == n && open.n_more ? n : 0;
        }
        return 0;
}

int utf8_append_replaced(Buf *out, const char *data, size_t n) {
        const char *p = data, *end;
        int r;

        if (n == 0)
                return 0;
        end = data + n;
        for (;;) {
                const char *q = valid_end(p, end);
                r = buf_append(out, p, (size_t)(q - p));
                if (r)
                        return error_trace(r);
                if (q == end)
                        return 0;
                r = buf_append(out, "\xef\xbf\xbd", 3);
                if (r)
                        return error_trace(r);
                p = q + utf8_ill_formed(q, end);
                if (p == end)
                        return 0;
        }
}
