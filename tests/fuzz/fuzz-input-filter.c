/* SPDX-License-Identifier: MIT */
/*
 * What is typed at a web page: however the messages cut it, the program gets the same bytes, which are those that a plain search leaves; what is flushed in
 * between changes what is found, but makes nothing up and loses nothing but sequences.
 *
 *   byte 0     how many sequences of the coopfile, and the seed of the sizes of the messages
 *   then       each sequence: a byte for its length (1 to 8), its bytes
 *   then       what is typed
 */
#include "base/macro.h"
#include "sessions/input-filter.h"
#include "fuzz.h"

enum { N_OWN = 7, N_BUILT_IN = 8 };

typedef struct Sequences {
        Str all[N_BUILT_IN + N_OWN];
        size_t n;
        BlockSequence own[N_OWN];
        size_t n_own;
} Sequences;

/* ---- a plain search -------------------------------------------------------------------------- */

static bool ends_in(const Buf *text, Str end) {
        return text->n >= end.n && !memcmp(text->data + text->n - end.n, end.data, end.n);
}

/* Appends what is typed byte by byte, and takes away the longest sequence that the text since the last one ends in. What the end might still become is left in. */
static size_t plain_search(const Sequences *sequences, Str typed, Buf *out) {
        Buf since = BUF_NULL;
        size_t n_found = 0;

        for (size_t i = 0; i < typed.n; i++) {
                size_t n = 0;

                FUZZ_CHECK(!buf_append(&since, typed.data + i, 1));
                for (size_t k = 0; k < sequences->n; k++)
                        if (ends_in(&since, sequences->all[k]))
                                n = MAX(n, sequences->all[k].n);
                if (!n)
                        continue;
                FUZZ_CHECK(!buf_append(out, since.data, since.n - n));
                since.n = 0;
                n_found++;
        }
        FUZZ_CHECK(!buf_append_str(out, buf_str(&since)));
        buf_deinit(&since);
        return n_found;
}

/* ---- the filter ------------------------------------------------------------------------------ */

/* flush_of: after about every so many messages, and at the end; 0: at the end only. */
static void type_all(const Sequences *sequences, Str typed, unsigned seed, size_t piece_max,
                     unsigned flush_of, Buf *pass, Buf *say) {
        Coopfile config = {.block_sequences = (BlockSequence *)sequences->own,
                           .n_block_sequences = sequences->n_own};
        InputFilter *filter;

        FUZZ_CHECK(!input_filter_new(&filter, &config));
        while (typed.n) {
                size_t n, before = pass->n + say->n;
                char *block;

                seed = seed * 1103515245u + 12345u;
                n = MIN(typed.n, 1 + (seed >> 16) % piece_max);
                block = malloc(n); /* ends where the bytes end */
                FUZZ_CHECK(block);
                memcpy(block, typed.data, n);
                FUZZ_CHECK(!input_filter_push(filter, 0, (Str){block, n}, pass, say));
                free(block);
                FUZZ_CHECK(n < 9 || pass->n + say->n > before || input_filter_holds(filter));
                if (flush_of && (seed >> 20) % flush_of == 0) {
                        FUZZ_CHECK(!input_filter_flush(filter, pass));
                        FUZZ_CHECK(!input_filter_holds(filter));
                }
                typed = (Str){typed.data + n, typed.n - n};
        }
        FUZZ_CHECK(!input_filter_flush(filter, pass));
        FUZZ_CHECK(!input_filter_holds(filter));
        input_filter_free(filter);
}

/* In the order in which they were typed. */
static bool is_part(Str passed, Str typed) {
        size_t at = 0;

        for (size_t i = 0; i < typed.n && at < passed.n; i++)
                at += passed.data[at] == typed.data[i];
        return at == passed.n;
}

static void check_pieces(const Sequences *sequences, Str typed, unsigned seed, size_t piece_max, Str want,
                         size_t n_found) {
        Buf pass = BUF_NULL, say = BUF_NULL;

        type_all(sequences, typed, seed, piece_max, 0, &pass, &say);
        FUZZ_CHECK(str_eq(buf_str(&pass), want));
        FUZZ_CHECK(!say.n == !n_found);
        pass.n = say.n = 0;
        type_all(sequences, typed, seed, piece_max, 3, &pass, &say);
        FUZZ_CHECK(is_part(buf_str(&pass), typed) && (say.n || pass.n == typed.n));
        buf_deinit(&pass);
        buf_deinit(&say);
}

static Str take_sequences(Sequences *sequences, size_t n, Str input) {
        static const Str built_in[N_BUILT_IN] = {STR("\x04"),   STR("\x1c"),    STR("exit\r"),
                                                 STR("exit\n"), STR("/exit\r"), STR("/exit\n"),
                                                 STR("quit\r"), STR("quit\n")};

        memcpy(sequences->all, built_in, sizeof(built_in));
        sequences->n = N_BUILT_IN;
        while (n-- && input.n) {
                size_t length = 1 + (unsigned char)input.data[0] % 8;

                if (input.n - 1 < length)
                        break;
                sequences->all[sequences->n++] = (Str){input.data + 1, length};
                sequences->own[sequences->n_own++] = (BlockSequence){(char *)input.data + 1, length};
                input = (Str){input.data + 1 + length, input.n - 1 - length};
        }
        return input;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Sequences sequences = {0};
        Buf want = BUF_NULL;
        size_t n_found;
        Str typed;

        if (!n)
                return 0;
        typed = take_sequences(&sequences, data[0] % (N_OWN + 1), (Str){(const char *)data + 1, n - 1});
        n_found = plain_search(&sequences, typed, &want);
        check_pieces(&sequences, typed, data[0], 1, buf_str(&want), n_found);
        check_pieces(&sequences, typed, data[0], 5, buf_str(&want), n_found);
        check_pieces(&sequences, typed, data[0], 100, buf_str(&want), n_found);
        if (typed.n)
                check_pieces(&sequences, typed, 0, typed.n, buf_str(&want), n_found);
        buf_deinit(&want);
        return 0;
}
