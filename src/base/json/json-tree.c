/* SPDX-License-Identifier: MIT */
/*
 * Walks over whole trees, two at a time. Trees may be deeper than the C stack: the open containers are kept
 * in an array that moves to the heap beyond the depth of ordinary messages.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json-private.h"

enum { N_FEW = 32 };

/* A pair of open containers. */
typedef struct Level {
        const Json *a;
        Json *b;
        JsonKeys *keys; /* of b, once a name was not where it was expected */
} Level;

typedef struct Walk {
        Level *levels;
        size_t n;
        size_t cap;
        Level few[N_FEW];
} Walk;

static void walk_init(Walk *walk) {
        walk->levels = walk->few;
        walk->n = 0;
        walk->cap = N_FEW;
}

static void walk_deinit(Walk *walk) {
        while (walk->n)
                json_keys_free(walk->levels[--walk->n].keys);
        if (walk->levels != walk->few)
                free(walk->levels);
}

static int walk_push(Walk *walk, const Json *a, Json *b) {
        int r;

        if (walk->n == walk->cap) {
                void *levels = walk->levels;
                r = json_stack_grow(&levels, &walk->cap, sizeof(Level), walk->few);
                if (r)
                        return error_trace(r);
                walk->levels = levels;
        }
        walk->levels[walk->n++] = (Level){.a = a, .b = b};
        return 0;
}

static Level *walk_top(Walk *walk) {
        return walk->n ? &walk->levels[walk->n - 1] : NULL;
}

static void walk_pop(Walk *walk) {
        json_keys_free(walk->levels[--walk->n].keys);
}

int json_stack_grow(void **items, size_t *cap, size_t size, const void *few) {
        void *grown = realloc(*items == few ? NULL : *items, *cap * 2 * size);

        if (!grown)
                return error_origin(-ENOMEM);
        if (*items == few)
                memcpy(grown, few, *cap * size);
        *items = grown;
        *cap *= 2;
        return 0;
}

static Json *clone_node(Arena *arena, const Json *json, bool named) {
        Json *copy = json_new(arena, json->type);
        Str text;

        if (!copy)
                return NULL;
        if (json->type == JSON_BOOL)
                copy->truth = json->truth;
        if (json->type == JSON_NUMBER || json->type == JSON_STRING) {
                text = arena_str(arena, (Str){json->text, json->n});
                if (!text.data)
                        return NULL;
                copy->text = text.data;
                copy->n = json->n;
                copy->flags = json->flags & JSON_F_INTEGER;
        }
        if (named) {
                text = arena_str(arena, json_key(json));
                if (!text.data)
                        return NULL;
                json_name(copy, text);
        }
        return copy;
}

static Json *clone(Walk *walk, Arena *arena, const Json *json) {
        Json *root = NULL, *copy;
        Level *level;

        for (;;) {
                level = walk_top(walk);
                copy = clone_node(arena, json, level && level->b->type == JSON_OBJECT);
                if (!copy)
                        return NULL;
                if (level)
                        json_append(level->b, copy);
                else
                        root = copy;
                if (json_first(json)) {
                        if (walk_push(walk, json, copy))
                                return NULL;
                        json = json->first;
                        continue;
                }
                while ((level = walk_top(walk)) && !json->next) {
                        json = level->a;
                        walk_pop(walk);
                }
                if (!level)
                        return root;
                json = json->next;
        }
}

Json *json_clone(Arena *arena, const Json *json) {
        Walk walk;
        Json *copy;

        if (!json)
                return NULL;
        walk_init(&walk);
        copy = clone(&walk, arena, json);
        walk_deinit(&walk);
        return copy;
}

static bool node_equal(const Json *a, const Json *b) {
        if (a->type != b->type)
                return false;
        if (a->type == JSON_BOOL)
                return a->truth == b->truth;
        if (a->type == JSON_NUMBER || a->type == JSON_STRING)
                return str_eq((Str){a->text, a->n}, (Str){b->text, b->n});
        return a->type == JSON_NULL || a->n == b->n;
}

/* The member of level->b that has the name of a; next is the one that has it when both are in the same
 * order. */
static Json *find_partner(Level *level, const Json *a, Json *next) {
        if (level->b->type == JSON_ARRAY || (next && json_has_key(next, json_key(a))))
                return next;
        if (!level->keys && level->b->n > JSON_FEW_KEYS)
                level->keys = json_keys_new(level->b); /* without memory we take the slow way */
        return level->keys ? json_keys_find(level->keys, json_key(a)) : json_get_str(level->b, json_key(a));
}

static bool json_tree_equal(Walk *walk, const Json *a, Json *b) {
        Level *level;

        for (;;) {
                if (!node_equal(a, b))
                        return false;
                if (json_first(a)) {
                        if (walk_push(walk, a, b))
                                return false;
                        a = a->first;
                        b = b->first;
                } else {
                        while ((level = walk_top(walk)) && !a->next) {
                                a = level->a;
                                b = level->b;
                                walk_pop(walk);
                        }
                        if (!level)
                                return true;
                        a = a->next;
                        b = b->next;
                }
                /* As many members on both sides and no name twice: a partner for each of a's is enough. */
                b = find_partner(walk_top(walk), a, b);
                if (!b)
                        return false;
        }
}

bool json_equal(const Json *a, const Json *b) {
        Walk walk;
        bool same;

        if (!a || !b)
                return a == b;
        walk_init(&walk);
        same = json_tree_equal(&walk, a, (Json *)b);
        walk_deinit(&walk);
        return same;
}
