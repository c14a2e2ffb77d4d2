/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/error.h"
#include "base/json/json-private.h"

typedef struct JsonKeySlot {
        uint64_t hash;
        Json *member; /* NULL: free */
} JsonKeySlot;

enum { KEYS_CAP_FIRST = 64 };

static inline uint64_t json_keys_rotate(uint64_t x, int n) {
        return x << n | x >> (64 - n);
}

static inline void sip_round(uint64_t v[4]) {
        v[0] += v[1], v[1] = json_keys_rotate(v[1], 13) ^ v[0], v[0] = json_keys_rotate(v[0], 32);
        v[2] += v[3], v[3] = json_keys_rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = json_keys_rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = json_keys_rotate(v[1], 17) ^ v[2], v[2] = json_keys_rotate(v[2], 32);
}

/* SipHash-1-3, words in the order of the machine: the value never leaves the process. */
static uint64_t hash_key(const uint64_t secret[2], Str key) {
        uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du,
                         secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};
        size_t n = key.n;
        const char *p = key.data;
        uint64_t word;

        for (; n >= 8; n -= 8, p += 8) {
                memcpy(&word, p, 8);
                v[3] ^= word;
                sip_round(v);
                v[0] ^= word;
        }
        word = (uint64_t)key.n << 56;
        for (size_t i = 0; i < n; i++)
                word |= (uint64_t)(uint8_t)p[i] << (8 * i);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
        v[2] ^= 0xff;
        sip_round(v);
        sip_round(v);
        sip_round(v);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The slot of that key, or the free one where it belongs. */
static JsonKeySlot *find_slot(const JsonKeys *keys, uint64_t hash, Str key) {
        for (size_t i = hash & (keys->cap - 1);; i = (i + 1) & (keys->cap - 1)) {
                JsonKeySlot *slot = &keys->slots[i];
                if (!slot->member || (slot->hash == hash && json_has_key(slot->member, key)))
                        return slot;
        }
}

static int json_keys_grow(JsonKeys *keys) {
        size_t cap = keys->cap * 2;
        JsonKeySlot *slots = calloc(cap, sizeof(*slots));

        if (!slots)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < keys->cap; i++) {
                const JsonKeySlot *slot = &keys->slots[i];
                size_t to = slot->hash & (cap - 1);
                if (!slot->member)
                        continue;
                while (slots[to].member)
                        to = (to + 1) & (cap - 1);
                slots[to] = *slot;
        }
        free(keys->slots);
        keys->slots = slots;
        keys->cap = cap;
        return 0;
}

int json_keys_add(JsonKeys *keys, Json *member) {
        uint64_t hash = hash_key(keys->secret, json_key(member));
        JsonKeySlot *slot = find_slot(keys, hash, json_key(member));
        int r;

        if (slot->member)
                return JSON_E_DUPLICATE;
        *slot = (JsonKeySlot){hash, member};
        if (++keys->n <= keys->cap / 2)
                return 0;
        r = json_keys_grow(keys);
        return error_trace(r);
}

Json *json_keys_find(const JsonKeys *keys, Str key) {
        return find_slot(keys, hash_key(keys->secret, key), key)->member;
}

JsonKeys *json_keys_new(const Json *object) {
        JsonKeys *keys = calloc(1, sizeof(*keys));
        const void *secret = (const void *)getauxval(AT_RANDOM); /* 16 bytes from the kernel */
        Json *member = object->first;

        if (!keys)
                return NULL;
        keys->object = object;
        keys->cap = KEYS_CAP_FIRST;
        keys->slots = calloc(keys->cap, sizeof(*keys->slots));
        if (!keys->slots)
                return json_keys_free(keys);
        if (secret)
                memcpy(keys->secret, secret, sizeof(keys->secret));
        keys->secret[0] ^= (uintptr_t)object;
        /* By count: the reader has not terminated the list yet. */
        for (uint32_t i = 0; i < object->n; i++, member = member->next)
                if (json_keys_add(keys, member) < 0)
                        return json_keys_free(keys);
        return keys;
}

JsonKeys *json_keys_free(JsonKeys *keys) {
        if (keys)
                free(keys->slots);
        free(keys);
        return NULL;
}
