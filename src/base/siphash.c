/* SPDX-License-Identifier: MIT */
#include "base/siphash.h"

typedef struct State {
        uint64_t v0, v1, v2, v3;
} State;

static inline uint64_t siphash_turn(uint64_t x, unsigned n) {
        return x << n | x >> (64 - n);
}

static inline void round_of(State *s) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = siphash_turn(s->v1, 13) ^ s->v0;
        s->v3 = siphash_turn(s->v3, 16) ^ s->v2;
        s->v0 = siphash_turn(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = siphash_turn(s->v1, 17) ^ s->v2;
        s->v3 = siphash_turn(s->v3, 21) ^ s->v0;
        s->v2 = siphash_turn(s->v2, 32);
}

static inline void absorb(State *s, uint64_t word) {
        s->v3 ^= word;
        round_of(s);
        s->v0 ^= word;
}

uint64_t siphash(SipKey key, Str text) {
        State s = {key.k0 ^ 0x736f6d6570736575, key.k1 ^ 0x646f72616e646f6d, key.k0 ^ 0x6c7967656e657261,
                   key.k1 ^ 0x7465646279746573};
        uint64_t last = (uint64_t)text.n << 56, word;
        size_t i;

        for (i = 0; i + 8 <= text.n; i += 8) {
                memcpy(&word, text.data + i, 8);
                absorb(&s, word);
        }
        for (size_t k = 0; i + k < text.n; k++)
                last |= (uint64_t)(unsigned char)text.data[i + k] << 8 * k;
        absorb(&s, last);
        s.v2 ^= 0xff;
        for (int k = 0; k < 3; k++)
                round_of(&s);
        return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
