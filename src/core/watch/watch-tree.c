/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/id.h"
#include "core/watch/watch-internal.h"

enum { BUCKETS_FIRST = 256 };

static size_t slot_of_path(const WatchTree *tree, Str path) {
        return (size_t)siphash(tree->key, path) & (tree->n_buckets - 1);
}

static size_t slot_of_wd(const WatchTree *tree, int wd) {
        return (size_t)wd & (tree->n_buckets - 1);
}

WatchNode *watch_tree_find(const WatchTree *tree, Str path) {
        WatchNode *node = tree->n_buckets ? tree->by_path[slot_of_path(tree, path)] : NULL;

        while (node && !str_eq((Str){node->path, node->n}, path))
                node = node->next_by_path;
        return node;
}

WatchNode *watch_tree_by_wd(const WatchTree *tree, int wd) {
        WatchNode *node = tree->n_buckets && wd >= 0 ? tree->by_wd[slot_of_wd(tree, wd)] : NULL;

        while (node && node->wd != wd)
                node = node->next_by_wd;
        return node;
}

static void link_path(WatchTree *tree, WatchNode *node) {
        WatchNode **slot = &tree->by_path[slot_of_path(tree, (Str){node->path, node->n})];

        node->next_by_path = *slot;
        *slot = node;
}

static void link_wd(WatchTree *tree, WatchNode *node) {
        WatchNode **slot = &tree->by_wd[slot_of_wd(tree, node->wd)];

        node->next_by_wd = *slot;
        *slot = node;
}

static void unlink_wd(WatchTree *tree, WatchNode *node) {
        WatchNode **link;

        if (node->wd < 0)
                return;
        for (link = &tree->by_wd[slot_of_wd(tree, node->wd)]; *link != node;)
                link = &(*link)->next_by_wd;
        *link = node->next_by_wd;
}

static bool watch_tree_grow(WatchTree *tree) {
        WatchTree next = {.n_buckets = tree->n_buckets ? tree->n_buckets * 2 : BUCKETS_FIRST,
                          .n = tree->n,
                          .key = tree->key};

        if (!tree->n_buckets && random_bytes(&next.key, sizeof(next.key)))
                return false;
        next.by_path = calloc(next.n_buckets, sizeof(*next.by_path));
        next.by_wd = calloc(next.n_buckets, sizeof(*next.by_wd));
        if (!next.by_path || !next.by_wd) {
                free(next.by_path);
                free(next.by_wd);
                return tree->n_buckets > 0; /* longer chains will do */
        }
        for (size_t i = 0; i < tree->n_buckets; i++)
                for (WatchNode *node = tree->by_path[i], *following; node; node = following) {
                        following = node->next_by_path;
                        link_path(&next, node);
                        if (node->wd >= 0)
                                link_wd(&next, node);
                }
        free(tree->by_path);
        free(tree->by_wd);
        *tree = next;
        return true;
}

WatchNode *watch_tree_add(WatchTree *tree, Str path, bool is_dir) {
        WatchNode *node;

        if (tree->n >= tree->n_buckets && !watch_tree_grow(tree))
                return NULL;
        node = malloc(sizeof(*node) + path.n + 1);
        if (!node)
                return NULL;
        *node = (WatchNode){.wd = -1, .is_dir = is_dir, .n = path.n};
        if (path.n)
                memcpy(node->path, path.data, path.n);
        node->path[path.n] = '\0';
        link_path(tree, node);
        tree->n++;
        return node;
}

void watch_tree_set_wd(WatchTree *tree, WatchNode *node, int wd) {
        if (node->wd == wd)
                return;
        unlink_wd(tree, node);
        node->wd = wd;
        if (wd >= 0)
                link_wd(tree, node);
}

static bool is_within(const WatchNode *node, Str top) {
        if (!top.n)
                return true;
        return str_starts((Str){node->path, node->n}, top) && (node->n == top.n || node->path[top.n] == '/');
}

WatchNode *watch_tree_sweep(WatchTree *tree, Str top, unsigned mark) {
        WatchNode *taken = NULL;

        for (size_t i = 0; i < tree->n_buckets; i++)
                for (WatchNode **link = &tree->by_path[i], *node; (node = *link);) {
                        if (node->mark == mark || !is_within(node, top)) {
                                link = &node->next_by_path;
                                continue;
                        }
                        *link = node->next_by_path;
                        unlink_wd(tree, node);
                        tree->n--;
                        node->next_by_path = taken;
                        taken = node;
                }
        return taken;
}

void watch_tree_deinit(WatchTree *tree) {
        for (size_t i = 0; i < tree->n_buckets; i++)
                for (WatchNode *node = tree->by_path[i], *next; node; node = next) {
                        next = node->next_by_path;
                        free(node);
                }
        free(tree->by_path);
        free(tree->by_wd);
        *tree = (WatchTree){0};
}
