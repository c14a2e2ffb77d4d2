/* SPDX-License-Identifier: MIT */
#include "collab/group/actor-sandbox.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static const struct {
        const char *key;
        int (*from_name)(const char *name);
        const char *fault;
} words[] = {
        {"sandbox", sandbox_mode_from_name, "sandbox must be none or bwrap"},
        {"sandbox_network", sandbox_network_from_name, "sandbox_network must be host, none or veth"},
};

/* As from_name() has it; nothing behind a NUL is overlooked. */
static int actor_sandbox_read(size_t i, Str word) {
        return memchr(word.data, 0, word.n) ? -EINVAL : words[i].from_name(word.data);
}

static Str actor_sandbox_word(Str own, Str of_group) {
        return own.n ? own : of_group;
}

int actor_sandbox_wish(const GroupDoc *doc, const ActorView *actor, SandboxWish *ret) {
        Str mode = actor_sandbox_word(actor->sandbox, doc->sandbox),
            network = actor_sandbox_word(actor->sandbox_network, doc->sandbox_network);
        int m = mode.n ? actor_sandbox_read(0, mode) : SANDBOX_NONE,
            n = network.n ? actor_sandbox_read(1, network) : SANDBOX_NETWORK_HOST;

        *ret = (SandboxWish){m < 0 ? SANDBOX_BWRAP : (SandboxMode)m,
                             n < 0 ? SANDBOX_NETWORK_NONE : (SandboxNetwork)n};
        return m < 0 || (n < 0 && ret->mode != SANDBOX_NONE) ? ACTOR_SANDBOX_E_WORD : 0;
}

void actor_sandbox_write(const GroupDoc *doc, const ActorView *actor, JsonWriter *w) {
        Str mode = actor_sandbox_word(actor->sandbox, doc->sandbox),
            network = actor_sandbox_word(actor->sandbox_network, doc->sandbox_network);

        if (mode.n)
                jw_field_str(w, "sandbox", mode);
        if (network.n)
                jw_field_str(w, "sandbox_network", network);
}

bool actor_sandbox_is_key(Str key) {
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (str_is(key, words[i].key))
                        return true;
        return false;
}

const char *actor_sandbox_fault(const Json *object) {
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                const Json *value = json_get(object, words[i].key);

                if (value && !json_is(value, JSON_NULL) &&
                    (!json_is(value, JSON_STRING) || actor_sandbox_read(i, json_str(value)) < 0))
                        return words[i].fault;
        }
        return NULL;
}

bool actor_sandbox_is_same(const Json *object, const GroupDoc *doc, const ActorView *actor) {
        const Json *mode = json_get(object, "sandbox"), *network = json_get(object, "sandbox_network");
        SandboxWish wish;

        (void)actor_sandbox_wish(doc, actor, &wish);
        return (!mode || str_is(json_str(mode), sandbox_mode_name(wish.mode))) &&
               (!network || str_is(json_str(network), sandbox_network_name(wish.network)));
}

int actor_sandbox_apply(Document *document, Json *to, const Json *patch) {
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                const Json *value = json_get(patch, words[i].key);
                int r = 0;

                if (json_is(value, JSON_NULL))
                        (void)json_remove(to, str_from(words[i].key));
                else if (value)
                        r = document_set(document, to, words[i].key, value);
                if (r)
                        return error_trace(r);
        }
        return 0;
}
