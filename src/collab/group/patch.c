/* SPDX-License-Identifier: MIT */
#include "collab/group/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"

enum { PATCH_UNKNOWN_MAX = 1000 }; /* keys that are named; more are not looked at */

static bool patch_is_known(Str key, const char *const keys[]) {
        for (; *keys; keys++)
                if (str_is(key, *keys))
                        return true;
        return false;
}

static int compare(const void *a, const void *b) {
        const Str *x = a, *y = b;
        int r = memcmp(x->data, y->data, MIN(x->n, y->n));

        return r ? r : (x->n > y->n) - (x->n < y->n);
}

static int refuse_keys(Call *call, Str *unknown, size_t n) {
        JsonWriter *w = call_details(call);

        qsort(unknown, n, sizeof(*unknown), compare);
        jw_begin_object(w);
        jw_key(w, "unknown_keys");
        jw_begin_array(w);
        for (size_t i = 0; i < n; i++)
                jw_str(w, unknown[i]);
        jw_end_array(w);
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_PATCH, "invalid patch keys");
}

int patch_check(Call *call, const Json *patch, const char *const keys[]) {
        size_t n_max = MIN((size_t)json_count(patch), (size_t)PATCH_UNKNOWN_MAX), n = 0;
        Str *unknown = arena_alloc(&call->arena, (n_max + 1) * sizeof(*unknown));

        if (!unknown)
                return error_origin(-ENOMEM);
        json_each (member, patch) {
                if (n == n_max)
                        break;
                if (!patch_is_known(json_key(member), keys))
                        unknown[n++] = json_key(member);
        }
        if (n)
                return refuse_keys(call, unknown, n);
        if (!json_count(patch))
                return call_fail(call, CALL_E_INVALID_PATCH, "empty patch");
        return 0;
}

void patch_write(JsonWriter *w, const char *name, const Json *patch, const char *const keys[],
                 const char *const more[]) {
        jw_key(w, name);
        jw_begin_object(w);
        for (; *keys; keys++) {
                const Json *value = json_get(patch, *keys);
                jw_key(w, *keys);
                if (value)
                        jw_value(w, value);
                else
                        jw_null(w);
        }
        for (; more && *more; more++)
                if (json_get(patch, *more))
                        jw_field_value(w, *more, json_get(patch, *more));
        jw_end_object(w);
}

Str patch_text(Arena *arena, const Json *value) {
        bool truth = false;

        if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER)) {
                Str text = arena_str(arena, str_trim((Str){value->text, value->n}));
                return text.data ? text : STR("");
        }
        return json_bool(value, &truth) && truth ? STR("true") : STR("");
}

static bool text_int(Str text, int64_t *ret) {
        char copy[32], *end;

        text = str_trim(text);
        if (!text.n || text.n >= sizeof(copy))
                return false;
        memcpy(copy, text.data, text.n);
        copy[text.n] = 0;
        errno = 0;
        *ret = strtoll(copy, &end, 10);
        return !errno && !*end;
}

bool patch_int(const Json *value, int64_t *ret) {
        bool truth = false;
        double real;

        if (json_is(value, JSON_STRING))
                return text_int(json_str(value), ret);
        if (json_bool(value, &truth)) {
                *ret = truth;
                return true;
        }
        if (json_int64(value, ret))
                return true;
        if (!json_double(value, &real) || real <= -0x1p63 || real >= 0x1p63)
                return false;
        *ret = (int64_t)real;
        return true;
}

static bool patch_is_word(Str s, const char *const words[]) {
        for (; *words; words++)
                if (s.n == strlen(*words) && !strncasecmp(s.data, *words, s.n))
                        return true;
        return false;
}

bool patch_switch(const Json *value, bool *ret) {
        static const char *const yes[] = {"true", "yes", "y", "on", "1", NULL};
        static const char *const no[] = {"false", "no", "n", "off", "0", NULL};
        Str s = str_trim(json_str(value));

        if (json_bool(value, ret))
                return true;
        if (json_is(value, JSON_NUMBER) || patch_is_word(s, yes) || patch_is_word(s, no)) {
                *ret = json_is(value, JSON_NUMBER) ? patch_truth(value) : patch_is_word(s, yes);
                return true;
        }
        return false;
}

bool patch_truth(const Json *value) {
        bool truth = false;
        double real = 0;

        if (json_bool(value, &truth))
                return truth;
        if (json_is(value, JSON_NUMBER))
                return !json_double(value, &real) || real != 0;
        return value && value->type >= JSON_STRING && value->n > 0;
}
