/* SPDX-License-Identifier: MIT */
#include "collab/group/group-rights.h"

#include <string.h>

#include "base/error.h"
#include "base/macro.h"

static const char *const group_rights_keys[] = {"rights_peer", "rights_foreman"};

/* Words of a text, with commas between. False: one of them is none. */
static bool group_rights_text(Str text, RightSet *ret) {
        bool is_fine = true;

        while (text.n) {
                const char *comma = memchr(text.data, ',', text.n);
                size_t n = comma ? (size_t)(comma - text.data) : text.n;

                is_fine &= right_read(str_trim((Str){text.data, n}), ret);
                n += comma ? 1 : 0;
                text = (Str){text.data + n, text.n - n};
        }
        return is_fine;
}

static bool group_rights_value(const Json *value, RightSet *ret) {
        bool is_fine = json_is(value, JSON_ARRAY) || json_is(value, JSON_STRING);

        *ret = 0;
        if (json_is(value, JSON_STRING))
                return group_rights_text(json_str(value), ret);
        json_each (word, json_is(value, JSON_ARRAY) ? value : NULL)
                is_fine &= right_read(json_str(word), ret);
        return is_fine;
}

RightSet group_rights_of(const Json *group, bool is_foreman) {
        const Json *value = json_get(group, group_rights_keys[is_foreman]);
        RightSet rights;

        if (!value || json_is(value, JSON_NULL))
                return RIGHTS_ALL;
        (void)group_rights_value(value, &rights);
        return rights | 1U << RIGHT_READ;
}

void group_rights_write(const Json *group, JsonWriter *w) {
        for (size_t i = 0; i < ARRAY_SIZE(group_rights_keys); i++) {
                const Json *value = json_get(group, group_rights_keys[i]);

                if (value && !json_is(value, JSON_NULL))
                        jw_field_value(w, group_rights_keys[i], value);
        }
}

bool group_rights_is_key(Str key) {
        for (size_t i = 0; i < ARRAY_SIZE(group_rights_keys); i++)
                if (str_is(key, group_rights_keys[i]))
                        return true;
        return false;
}

const char *group_rights_fault(const Json *patch) {
        for (size_t i = 0; i < ARRAY_SIZE(group_rights_keys); i++) {
                const Json *value = json_get(patch, group_rights_keys[i]);
                RightSet rights;

                if (value && !json_is(value, JSON_NULL) && !group_rights_value(value, &rights))
                        return "rights_foreman and rights_peer are lists of read, look, message, ask, task, "
                               "report, type, start, stop, write, approve, admin; or all, or none";
        }
        return NULL;
}

int group_rights_apply(Document *document, Json *to, const Json *patch) {
        for (size_t i = 0; i < ARRAY_SIZE(group_rights_keys); i++) {
                const Json *value = json_get(patch, group_rights_keys[i]);
                int r = 0;

                if (json_is(value, JSON_NULL))
                        (void)json_remove(to, str_from(group_rights_keys[i]));
                else if (value)
                        r = document_set(document, to, group_rights_keys[i], value);
                if (r)
                        return error_trace(r);
        }
        return 0;
}
