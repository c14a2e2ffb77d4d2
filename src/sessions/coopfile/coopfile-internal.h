#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the coopfile-*.c files share: one layer while it is laid over the ones below. Lives in
 * coopfile_load().
 */
#include "base/json/json.h"
#include "base/macro.h"
#include "sessions/coopfile/coopfile.h"

/* Items of one list or map, all layers together. A text of 1 MiB could hold enough of them to keep a worker
 * busy. */
enum { COOPFILE_ITEMS_MAX = 4096, COOPFILE_SEQUENCES_BYTES = 32 << 10 };

typedef struct CoopfileKey CoopfileKey;

typedef struct Layer {
        Coopfile *file;
        CoopfileLayer which;
        const char *name; /* in messages: a path, or `coopfile` */
        bool is_agents;   /* the agent could have written it */
        Str text;

        Str table, key; /* being looked at; empty: none */
        ptrdiff_t item; /* of a list, from 0; -1: none */

        char *reterr;
        size_t n_reterr;
} Layer;

/* A setting: where it stands, how its value is taken, and the member of Coopfile it goes to. */
struct CoopfileKey {
        const char *table, *name; /* name NULL: any, the table is a map */
        int (*apply)(Layer *layer, const CoopfileKey *key, const Json *value);
        const char *(*check)(
                const char *text); /* of each text: what is wrong with it, or NULL; may be NULL */
        size_t offset;
        bool adds; /* to what the layers below say; otherwise it takes their place */
};

/* coopfile-merge.c: lays the parsed document over layer->file. Condition: COOPFILE_E_INVALID. */
int layer_merge(Layer *layer, const Json *document);

/* coopfile-checks.c: writes the message, with the place that is being looked at; returns COOPFILE_E_INVALID.
 */
int layer_refuse(const Layer *layer, const char *format, ...) _printf_(2, 3);
/* The same, with a place of the caller's. */
int layer_refuse_at(const Layer *layer, size_t line, const char *what);

/* coopfile-values.c: functions for CoopfileKey.apply. Condition: COOPFILE_E_INVALID. */
int apply_text(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_mode(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_login(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_persist(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_hide(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_bool(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_ms(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_count(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_bytes(Layer *layer, const CoopfileKey *key,
                const Json *value); /* a number, or text with K, M, G */
int apply_list(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_commands(Layer *layer, const CoopfileKey *key, const Json *value); /* a list, or one text */
int apply_env(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_packages(Layer *layer, const CoopfileKey *key, const Json *value);
/* coopfile-items.c: the lists that hold more than texts. */
int apply_mounts(Layer *layer, const CoopfileKey *key, const Json *value);
int apply_sequences(Layer *layer, const CoopfileKey *key, const Json *value);

/* Shared by the two: a text without zero bytes that key->check agrees with; one call of push per item of a
 * list. */
typedef int PushItem(Layer *layer, const CoopfileKey *key, const Json *item, void *to);
int value_text(const Layer *layer, const CoopfileKey *key, const Json *value, const char **ret);
int value_each(Layer *layer, const CoopfileKey *key, const Json *value, PushItem *push, void *to);

/* coopfile-checks.c: functions for CoopfileKey.check. */
const char *check_not_empty(const char *text);
const char *check_network(const char *text);
const char *check_mode(const char *text);
const char *check_size(const char *text);
const char *check_user(const char *text);
const char *check_folder(const char *text); /* on the host */
const char *check_source(const char *text); /* on the host, of a mount, or the name of a volume */
bool is_volume_name(const char *text);
const char *check_hide(const char *text);
const char *check_inside(const char *text);
const char *check_persist(const char *text);

/* coopfile-merge.c: `~`, relative paths and host variables, once all layers are there. */
int coopfile_expand(Coopfile *file, const char *workspace);
