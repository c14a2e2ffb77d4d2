/* SPDX-License-Identifier: MIT */
#include "core/usage/skim.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
        SKIM_BLOCK = 64, /* bytes of a string that are looked at together */
        SKIM_TRIES = 16, /* objects from the end on that are looked at for a name */
};

static inline void skim_blank(Skim *skim) {
        while (skim->at < skim->end && (unsigned char)*skim->at <= ' ' &&
               (*skim->at == ' ' || *skim->at == '\t' || *skim->at == '\r' || *skim->at == '\n'))
                skim->at++;
}

#ifdef __SSE2__
/* Bytes of a block that are a quote or a backslash, a bit for each. */
static inline void skim_masks(const char *at, uint64_t *ret_quotes, uint64_t *ret_escapes) {
        const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
        uint64_t quotes = 0, escapes = 0;

        for (unsigned i = 0; i < SKIM_BLOCK; i += sizeof(quote)) {
                __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));

                quotes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quote)) << i;
                escapes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, escape)) << i;
        }
        *ret_quotes = quotes;
        *ret_escapes = escapes;
}

/* Those that are not escaped themselves. */
static uint64_t skim_escapes(uint64_t escapes) {
        uint64_t left = escapes;

        while (left) {
                uint64_t first = left & -left;

                escapes &= ~(first << 1);
                left &= ~(first | first << 1);
        }
        return escapes;
}

/* A block of a string: behind the quote that ends it; NULL: it goes on at *ret_next, which may lie one byte behind the block. */
static const char *skim_block(const char *at, const char **ret_next) {
        uint64_t quotes, escapes;

        skim_masks(at, &quotes, &escapes);
        if (escapes & escapes << 1) /* some escape each other: one after the other */
                escapes = skim_escapes(escapes);
        quotes &= ~(escapes << 1); /* what is escaped says nothing */
        *ret_next = at + SKIM_BLOCK + (escapes >> (SKIM_BLOCK - 1));
        return quotes ? at + __builtin_ctzll(quotes) + 1 : NULL;
}
#endif

static const char *skim_long_string(const char *at, const char *end) {
#ifdef __SSE2__
        while (end - at >= SKIM_BLOCK) {
                const char *found = skim_block(at, &at);

                if (found)
                        return found;
        }
#endif
        for (; at < end; at++)
                if (*at == '\\')
                        at++;
                else if (*at == '"')
                        return at + 1;
        return NULL;
}

/* Behind the quote that ends the string; at: behind the one that begins it. NULL: there is none. Nearly all are names and short words without
 * an escape: those are looked at in small steps. */
static inline const char *skim_string(const char *at, const char *end) {
#ifdef __SSE2__
        const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');

        for (; (size_t)(end - at) >= sizeof(quote); at += sizeof(quote)) {
                __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
                unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quote)),
                         escapes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, escape));

                if (quotes && !(escapes & (quotes ^ (quotes - 1))))
                        return at + __builtin_ctz(quotes) + 1;
                if (escapes)
                        break;
        }
#endif
        return skim_long_string(at, end);
}

typedef struct SkimNest {
        size_t depth;
        uint64_t strings; /* all bits: what comes next is in a string */
        uint64_t escapes; /* 1: its first byte is escaped */
} SkimNest;

#ifdef __SSE2__
/* Bytes of a block that are a bracket of either kind: of both the one that opens, or closes, differs in one bit. */
static inline void skim_brackets(const char *at, uint64_t *ret_opens, uint64_t *ret_closes) {
        const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), bit = _mm_set1_epi8('{' ^ '[');
        uint64_t opens = 0, closes = 0;

        for (unsigned i = 0; i < SKIM_BLOCK; i += sizeof(open)) {
                __m128i bytes = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)(at + i)), bit);

                opens |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, open)) << i;
                closes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, close)) << i;
        }
        *ret_opens = opens;
        *ret_closes = closes;
}

/* The bytes of a block that are in strings, with the quotes that begin them; the nest goes on behind it. */
static inline uint64_t skim_strings(const char *at, SkimNest *nest) {
        uint64_t quotes, escapes, within;

        skim_masks(at, &quotes, &escapes);
        escapes &= ~nest->escapes;
        if (escapes & escapes << 1)
                escapes = skim_escapes(escapes);
        within = quotes & ~(escapes << 1 | nest->escapes);
        for (unsigned i = 1; i < SKIM_BLOCK; i *= 2) /* a bit is set if those up to it are odd */
                within ^= within << i;
        within ^= nest->strings;
        nest->escapes = escapes >> (SKIM_BLOCK - 1);
        nest->strings = -(within >> (SKIM_BLOCK - 1));
        return within;
}

/* Whole blocks, of which *at is behind then. True: behind the bracket that ends it. */
static bool skim_nested_blocks(const char **at, const char *end, SkimNest *nest) {
        for (; end - *at >= SKIM_BLOCK; *at += SKIM_BLOCK) {
                uint64_t opens, closes, outside = ~skim_strings(*at, nest);

                skim_brackets(*at, &opens, &closes);
                for (uint64_t left = (opens | closes) & outside; left; left &= left - 1) {
                        if (left & -left & opens)
                                nest->depth++;
                        else if (!--nest->depth) {
                                *at += __builtin_ctzll(left) + 1;
                                return true;
                        }
                }
        }
        return false;
}
#endif

/* Behind the bracket that ends what begins at `at`; NULL: there is none. */
static const char *skim_nested(const char *at, const char *end) {
        SkimNest nest = {0};
        size_t depth;

#ifdef __SSE2__
        if (skim_nested_blocks(&at, end, &nest))
                return at;
        if (nest.strings)
                at = (size_t)(end - at) >= nest.escapes ? skim_string(at + nest.escapes, end) : NULL;
#endif
        depth = nest.depth;
        while (at && at < end) {
                char c = *at++;

                if (c == '"')
                        at = skim_string(at, end);
                else if (c == '{' || c == '[')
                        depth++;
                else if ((c == '}' || c == ']') && --depth == 0)
                        return at;
        }
        return NULL;
}

static inline const char *skim_value(const char *at, const char *end) {
        const char *begin = at;

        if (at < end && *at == '"')
                return skim_string(at + 1, end);
        if (at < end && (*at == '{' || *at == '['))
                return skim_nested(at, end);
        while (at < end && *at != ',' && *at != '}' && *at != ']' && (unsigned char)*at > ' ')
                at++;
        return at > begin ? at : NULL;
}

/* True: it stands there, and is stepped over. */
static inline bool skim_sign(Skim *skim, char sign) {
        if (skim->at < skim->end && (unsigned char)*skim->at <= ' ')
                skim_blank(skim);
        if (skim->at >= skim->end || *skim->at != sign)
                return false;
        skim->at++;
        return true;
}

/* What stands here, whatever it is. */
static inline bool skim_take(Skim *skim, Str *ret_value) {
        const char *end;

        skim_blank(skim);
        end = skim_value(skim->at, skim->end);
        if (!end)
                return false;
        *ret_value = (Str){skim->at, (size_t)(end - skim->at)};
        skim->at = end;
        return true;
}

static inline bool skim_member(Skim *skim, Str *ret_key, Str *ret_value) {
        const char *begin, *end;

        if (!skim_sign(skim, '"'))
                return false;
        begin = skim->at;
        end = skim_string(begin, skim->end);
        if (!end)
                return false;
        *ret_key = (Str){begin, (size_t)(end - begin) - 1};
        skim->at = end;
        return skim_sign(skim, ':') && (!ret_value || skim_take(skim, ret_value));
}

/* key NULL: an array. */
static bool skim_step(Skim *skim, const char *brackets, Str *key, Str *value) {
        bool is_first = !skim->is_begun;

        skim->is_begun = true;
        if (skim->is_wrong || (is_first && !skim_sign(skim, brackets[0]))) {
                skim->is_wrong = true;
                return false;
        }
        if (is_first ? skim_sign(skim, brackets[1]) : !skim_sign(skim, ',')) {
                skim->is_wrong = !is_first && !skim_sign(skim, brackets[1]);
                return false;
        }
        if ((key ? skim_member(skim, key, value) : value && skim_take(skim, value)))
                return true;
        skim->is_wrong = true;
        return false;
}

bool skim_next(Skim *skim, Str *ret_key, Str *ret_value) {
        return skim_step(skim, "{}", ret_key, ret_value);
}

bool skim_key(Skim *skim, Str *ret_key) {
        return skim_step(skim, "{}", ret_key, NULL);
}

bool skim_pass(Skim *skim, Str *ret_value) {
        skim->is_wrong = !skim_take(skim, ret_value);
        return !skim->is_wrong;
}

Skim skim_within(const Skim *skim) {
        return (Skim){.at = skim->at, .end = skim->end};
}

bool skim_behind(Skim *skim, const Skim *inner) {
        skim->is_wrong = inner->is_wrong;
        skim->at = inner->at;
        return !skim->is_wrong;
}

bool skim_jump(Skim *skim, Str member) {
        const char *from = skim->at, *at = skim->end;

        for (unsigned i = 0; i < SKIM_TRIES; i++) {
                at = memrchr(from, '{', (size_t)(at - from));
                if (!at || (size_t)(at - from) < member.n)
                        return false;
                if (!memcmp(at + 1 - member.n, member.data, member.n)) {
                        skim->at = at + 1 - member.n;
                        return true;
                }
        }
        return false;
}

bool skim_is_whole(Skim *skim) {
        skim_blank(skim);
        return !skim->is_wrong && skim->at == skim->end;
}

bool skim_element(Skim *skim, Str *ret_value) {
        return skim_step(skim, "[]", NULL, ret_value);
}

Str skim_get(Str object, const char *name) {
        Skim skim = skim_of(object);
        Str key, value;

        while (skim_next(&skim, &key, &value))
                if (str_is(key, name))
                        return value;
        return STR_NULL;
}

Str skim_text(Str value) {
        if (value.n < 2 || value.data[0] != '"' || memchr(value.data, '\\', value.n))
                return STR_NULL;
        return (Str){value.data + 1, value.n - 2};
}
