/* SPDX-License-Identifier: MIT */
/*
 * Values of a layer into the members of a Coopfile: scalars, lists of texts, maps. Each either takes the
 * place of what was there or adds to it, as CoopfileKey.adds says; maps add up by name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "sessions/coopfile/coopfile-internal.h"

enum { MS_MAX = 24 * 3600 * 1000, COUNT_MAX = 1000000 };

static void *field_of(const Layer *layer, const CoopfileKey *key) {
        return (char *)layer->file + key->offset;
}

int value_text(const Layer *layer, const CoopfileKey *key, const Json *value, const char **ret) {
        const char *wrong;

        if (!json_is(value, JSON_STRING))
                return layer_refuse(layer, "a string is required");
        if (memchr(value->text, 0, value->n))
                return layer_refuse(layer, "must not contain a zero byte");
        wrong = key->check ? key->check(value->text) : NULL;
        if (wrong)
                return layer_refuse(layer, "%s", wrong);
        *ret = value->text;
        return 0;
}

int value_each(Layer *layer, const CoopfileKey *key, const Json *value, PushItem *push, void *to) {
        if (!json_is(value, JSON_ARRAY))
                return layer_refuse(layer, "a list is required");
        layer->item = 0;
        json_each (item, value) {
                int r = push(layer, key, item, to);
                if (r)
                        return error_trace(r);
                layer->item++;
        }
        layer->item = -1;
        return 0;
}

int apply_text(Layer *layer, const CoopfileKey *key, const Json *value) {
        char **field = field_of(layer, key), *copy;
        const char *text = "";
        int r = value_text(layer, key, value, &text);

        if (r)
                return error_trace(r);
        copy = strdup(text);
        if (!copy)
                return error_origin(-ENOMEM);
        free(*field);
        *field = copy;
        return 0;
}

/* The project's file can be written by the agent itself: it may ask for a sandbox; its `none` says nothing.
 */
int apply_mode(Layer *layer, const CoopfileKey *key, const Json *value) {
        const char *mode = "";
        int r = value_text(layer, key, value, &mode);

        if (!r && layer->is_agents && !strcmp(mode, "none")) {
                layer->file->none_is_ignored = true;
                return 0;
        }
        return error_trace(r ? r : apply_text(layer, key, value));
}

int apply_persist(Layer *layer, const CoopfileKey *key, const Json *value) {
        layer->file->persist_is_said = layer->which != COOPFILE_BUILT_IN;
        return error_trace(apply_list(layer, key, value));
}

/* A person says what is hidden; the project's file can only hide more. */
int apply_hide(Layer *layer, const CoopfileKey *key, const Json *value) {
        CoopfileKey more = *key;

        more.adds = layer->is_agents;
        if (!layer->is_agents)
                layer->file->hide_is_said = true;
        return error_trace(apply_list(layer, &more, value));
}

/* And it can only do without a login. */
int apply_login(Layer *layer, const CoopfileKey *key, const Json *value) {
        bool before = layer->file->login;
        int r = apply_bool(layer, key, value);

        if (!r && layer->is_agents)
                layer->file->login = layer->file->login && before;
        return error_trace(r);
}

int apply_bool(Layer *layer, const CoopfileKey *key, const Json *value) {
        return json_bool(value, field_of(layer, key)) ? 0 : layer_refuse(layer, "true or false is required");
}

/* The tree does not tell 5.0 from 5, so neither does this. */
static int apply_number(Layer *layer, const CoopfileKey *key, const Json *value, int max) {
        int64_t number;

        if (!json_int64(value, &number))
                return layer_refuse(layer, "an integer is required");
        if (number < 0 || number > max)
                return layer_refuse(layer, "must be from 0 to %d", max);
        *(int64_t *)field_of(layer, key) = number;
        return 0;
}

int apply_ms(Layer *layer, const CoopfileKey *key, const Json *value) {
        return error_trace(apply_number(layer, key, value, MS_MAX));
}

int apply_count(Layer *layer, const CoopfileKey *key, const Json *value) {
        return error_trace(apply_number(layer, key, value, COUNT_MAX));
}

static int64_t unit_of(const char *text) {
        static const char units[] = "KMGT";
        const char *unit = *text ? strchr(units, *text) : NULL;

        if (!*text)
                return 1;
        return unit && !text[1] ? (int64_t)1 << 10 * (unit - units + 1) : 0;
}

/* 4096 or "512M"; at least one page. */
int apply_bytes(Layer *layer, const CoopfileKey *key, const Json *value) {
        Str text = json_str(value);
        int64_t number = -1, unit = 1;
        char *end;

        if (text.n && text.data[0] >= '0' && text.data[0] <= '9') {
                number = strtoll(text.data, &end, 10);
                unit = unit_of(end);
        } else if (!json_int64(value, &number))
                number = -1;
        if (number < 0 || !unit || number > INT64_MAX / unit || (number && number * unit < 4096))
                return layer_refuse(
                        layer,
                        "a size is required: 0, or 4096 and more, as a number or a text with K, M, G or T");
        *(int64_t *)field_of(layer, key) = number * unit;
        return 0;
}

static int push_bounded(const Layer *layer, StrVec *vec, const char *text) {
        if (vec->n >= COOPFILE_ITEMS_MAX)
                return layer_refuse(layer, "more than %d items", COOPFILE_ITEMS_MAX);
        return error_trace(strvec_push(vec, text));
}

static int coopfile_values_push_text(Layer *layer, const CoopfileKey *key, const Json *item, void *to) {
        const char *text = "";
        int r = value_text(layer, key, item, &text);

        return r ? error_trace(r) : push_bounded(layer, to, text);
}

int apply_list(Layer *layer, const CoopfileKey *key, const Json *value) {
        StrVec *field = field_of(layer, key);

        if (!key->adds)
                strvec_deinit(field);
        return error_trace(value_each(layer, key, value, coopfile_values_push_text, field));
}

int apply_commands(Layer *layer, const CoopfileKey *key, const Json *value) {
        if (json_is(value, JSON_STRING))
                return error_trace(coopfile_values_push_text(layer, key, value, field_of(layer, key)));
        if (!json_is(value, JSON_ARRAY))
                return layer_refuse(layer, "a string or a list of strings is required");
        return error_trace(apply_list(layer, key, value));
}

/* The entry "name=…", or NULL. */
static char **find_env(const StrVec *env, Str name) {
        for (size_t i = 0; i < env->n; i++)
                if (str_starts(str_from(env->items[i]), name) && env->items[i][name.n] == '=')
                        return &env->items[i];
        return NULL;
}

/* Kept as it is written until all layers are there. No message shows a value. */
int apply_env(Layer *layer, const CoopfileKey *key, const Json *value) {
        _cleanup_(freep) char *entry = NULL;
        StrVec *env = field_of(layer, key);
        Str name = json_key(value);
        const char *text = "";
        char **old;
        int r = value_text(layer, key, value, &text);

        if (r)
                return error_trace(r);
        if (!name.n || memchr(name.data, '=', name.n) || memchr(name.data, 0, name.n))
                return layer_refuse(layer, "not a name for a variable");
        if (asprintf(&entry, STR_FMT "=%s", STR_ARG(name), text) < 0) {
                entry = NULL;
                return error_origin(-ENOMEM);
        }
        old = find_env(env, name);
        if (!old)
                return error_trace(push_bounded(layer, env, entry));
        free(*old);
        *old = steal(&entry);
        return 0;
}

static Packages *find_packages(const Coopfile *file, Str manager) {
        for (size_t i = 0; i < file->n_packages; i++)
                if (str_is(manager, file->packages[i].manager))
                        return &file->packages[i];
        return NULL;
}

static int add_manager(Layer *layer, Str manager, Packages **ret) {
        Coopfile *file = layer->file;
        Packages *list;

        if (!manager.n || memchr(manager.data, 0, manager.n))
                return layer_refuse(layer, "not a name for a package manager");
        if (file->n_packages >= COOPFILE_ITEMS_MAX)
                return layer_refuse(layer, "more than %d package managers", COOPFILE_ITEMS_MAX);
        list = realloc(file->packages, (file->n_packages + 1) * sizeof(*list));
        if (!list)
                return error_origin(-ENOMEM);
        file->packages = list;
        list[file->n_packages] = (Packages){.manager = str_dup(manager)};
        if (!list[file->n_packages].manager)
                return error_origin(-ENOMEM);
        *ret = &list[file->n_packages++];
        return 0;
}

/* By manager: a layer replaces the lists it names. */
int apply_packages(Layer *layer, const CoopfileKey *key, const Json *value) {
        Packages *packages = find_packages(layer->file, json_key(value));
        int r;

        if (!packages) {
                r = add_manager(layer, json_key(value), &packages);
                if (r)
                        return error_trace(r);
        }
        strvec_deinit(&packages->names);
        return error_trace(value_each(layer, key, value, coopfile_values_push_text, &packages->names));
}
