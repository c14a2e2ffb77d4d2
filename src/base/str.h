#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Str: a borrowed run of bytes (pointer and length). It owns nothing and need not be NUL-terminated;
 * functions that promise a terminator say so. The empty Str has data == NULL or n == 0, both are fine.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Str {
        const char *data;
        size_t n;
} Str;

#define STR(lit)   ((Str){"" lit, sizeof(lit) - 1})
#define STR_NULL   ((Str){NULL, 0})
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).n, (s).data ? (s).data : ""

static inline Str str_from(const char *s) {
        return (Str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(Str a, Str b) {
        return a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
}

static inline bool str_is(Str a, const char *b) {
        return str_eq(a, str_from(b));
}

/* The same, where upper and lower case of ASCII letters are not told apart. */
static inline bool str_eq_nocase(Str a, Str b) {
        if (a.n != b.n)
                return false;
        for (size_t i = 0; i < a.n; i++) {
                unsigned char x = (unsigned char)a.data[i], y = (unsigned char)b.data[i];

                if (x != y && ((x ^ y) != 0x20 || (x | 0x20) < 'a' || (x | 0x20) > 'z'))
                        return false;
        }
        return true;
}

static inline bool str_starts(Str a, Str prefix) {
        return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.data, prefix.data, prefix.n) == 0);
}

/* Without leading and trailing white space (space, tab, CR, LF, VT, FF). */
static inline Str str_trim(Str s) {
        while (s.n && (s.data[0] == ' ' || (s.data[0] >= '\t' && s.data[0] <= '\r')))
                s.data++, s.n--;
        while (s.n && (s.data[s.n - 1] == ' ' || (s.data[s.n - 1] >= '\t' && s.data[s.n - 1] <= '\r')))
                s.n--;
        return s;
}

/* The last n lines, all of them if n is not positive; a last line without its end counts. */
static inline Str str_last_lines(Str text, int64_t n) {
        size_t at = text.n && text.data[text.n - 1] == '\n' ? text.n - 1 : text.n;

        if (n <= 0)
                return text;
        while (at && !(text.data[at - 1] == '\n' && --n == 0))
                at--;
        return at ? (Str){text.data + at, text.n - at} : text;
}

/* A copy with a terminator, to be freed; NULL when there is no memory. Bytes of value 0 are copied like others, so whoever
   needs a C string has looked for them before. Not strndup(): that looks for a terminator which a run of bytes has not. */
static inline char *str_dup(Str s) {
        char *copy = (char *)malloc(s.n + 1); /* the cast is for the files in C++ */

        if (copy) {
                if (s.n)
                        memcpy(copy, s.data, s.n);
                copy[s.n] = '\0';
        }
        return copy;
}
