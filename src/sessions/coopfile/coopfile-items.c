/* SPDX-License-Identifier: MIT */
/*
 * Lists of a coopfile that hold more than texts: mounts and the byte sequences of the input filter.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "sessions/coopfile/coopfile-internal.h"

static const CoopfileKey mount_source = {.check = check_source}, mount_target = {.check = check_inside};

/* One colon: with two it could not be told which one parts the sides, or whether options were meant. */
static int split_mount(const Layer *layer, const CoopfileKey *key, const Json *item, Arena *arena,
                       Json **ret_host, Json **ret_inside) {
        const char *text, *colon;
        int r = value_text(layer, key, item, &text);

        if (r)
                return error_trace(r);
        colon = strchr(text, ':');
        if (!colon || strchr(colon + 1, ':'))
                return layer_refuse(
                        layer,
                        "\"host:inside\" with one colon is required; {host, container} takes any path");
        *ret_host = json_new_str(arena, (Str){text, (size_t)(colon - text)});
        *ret_inside = json_new_str(arena, str_from(colon + 1));
        return *ret_host && *ret_inside ? 0 : error_origin(-ENOMEM);
}

static int read_mount(const Layer *layer, const Json *item, Json **ret_host, Json **ret_inside) {
        *ret_host = json_get(item, "host");
        *ret_inside = json_get(item, "container");
        if (!*ret_host || !*ret_inside || json_count(item) != 2)
                return layer_refuse(layer, "exactly the keys host and container are required");
        return 0;
}

static int coopfile_items_add_mount(Layer *layer, const char *host, const char *inside) {
        Coopfile *file = layer->file;
        Mount *mount;

        if (file->n_mounts >= COOPFILE_ITEMS_MAX)
                return layer_refuse(layer, "more than %d items", COOPFILE_ITEMS_MAX);
        mount = realloc(file->mounts, (file->n_mounts + 1) * sizeof(*mount));
        if (!mount)
                return error_origin(-ENOMEM);
        file->mounts = mount;
        mount += file->n_mounts++;
        *mount = (Mount){.host = strdup(host),
                         .inside = strdup(inside),
                         .is_volume = is_volume_name(host),
                         .is_project = layer->is_agents};
        return mount->host && mount->inside ? 0 : error_origin(-ENOMEM);
}

static int push_mount(Layer *layer, const CoopfileKey *key, const Json *item, void *to) {
        const char *source = NULL, *target = NULL;
        Json *host = NULL, *inside = NULL;
        int r;

        if (json_is(item, JSON_STRING))
                r = split_mount(layer, key, item, to, &host, &inside);
        else if (json_is(item, JSON_OBJECT))
                r = read_mount(layer, item, &host, &inside);
        else
                r = layer_refuse(layer, "\"host:inside\" or {host, container} is required");
        if (!r)
                r = value_text(layer, &mount_source, host, &source);
        if (!r)
                r = value_text(layer, &mount_target, inside, &target);
        return error_trace(r ? r : coopfile_items_add_mount(layer, source, target));
}

int apply_mounts(Layer *layer, const CoopfileKey *key, const Json *value) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL; /* the sides of "host:inside" */

        return error_trace(value_each(layer, key, value, push_mount, &arena));
}

/* Replaces \xNN in place; false when two digits do not follow. TOML itself has no such escape, so it arrives
 * as written. */
static bool decode_escapes(BlockSequence *bytes) {
        size_t out = 0;

        for (size_t in = 0; in < bytes->n; out++) {
                const char *at = bytes->data + in;
                size_t n_left = bytes->n - in;

                if (n_left < 2 || at[0] != '\\' || at[1] != 'x') {
                        bytes->data[out] = *at;
                        in++;
                        continue;
                }
                if (n_left < 4 || hex_value(at[2]) < 0 || hex_value(at[3]) < 0)
                        return false;
                bytes->data[out] = (char)(hex_value(at[2]) << 4 | hex_value(at[3]));
                in += 4;
        }
        bytes->n = out;
        return true;
}

/* Every web viewer has them as a tree of its own. */
static size_t count_sequences(const Coopfile *file) {
        size_t n = 0;

        for (size_t i = 0; i < file->n_block_sequences; i++)
                n += file->block_sequences[i].n;
        return n;
}

static int push_sequence(Layer *layer, _unused_ const CoopfileKey *key, const Json *item, void *to) {
        Coopfile *file = to;
        BlockSequence *bytes;

        if (!json_is(item, JSON_STRING))
                return layer_refuse(layer, "a string is required");
        if (!item->n)
                return layer_refuse(layer, "must not be empty");
        if (file->n_block_sequences >= COOPFILE_ITEMS_MAX)
                return layer_refuse(layer, "more than %d items", COOPFILE_ITEMS_MAX);
        if (item->n > COOPFILE_SEQUENCES_BYTES || count_sequences(file) > COOPFILE_SEQUENCES_BYTES - item->n)
                return layer_refuse(layer, "more than %d bytes together", COOPFILE_SEQUENCES_BYTES);
        bytes = realloc(file->block_sequences, (file->n_block_sequences + 1) * sizeof(*bytes));
        if (!bytes)
                return error_origin(-ENOMEM);
        file->block_sequences = bytes;
        bytes += file->n_block_sequences;
        *bytes = (BlockSequence){malloc(item->n), item->n};
        if (!bytes->data)
                return error_origin(-ENOMEM);
        file->n_block_sequences++;
        memcpy(bytes->data, item->text, item->n);
        return decode_escapes(bytes) ? 0 : layer_refuse(layer, "two hexadecimal digits must follow \\x");
}

int apply_sequences(Layer *layer, const CoopfileKey *key, const Json *value) {
        return error_trace(value_each(layer, key, value, push_sequence, layer->file));
}
