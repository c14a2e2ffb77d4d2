/* SPDX-License-Identifier: MIT */
#include "collab/settings.h"

#include <errno.h>
#include <strings.h>

#include "base/error.h"
#include "collab/actor-sandbox.h"
#include "collab/patch.h"

enum { LINES_MIN = 1, LINES_MAX = 80 };

typedef enum SettingType {
        SETTING_SEND_TO,
        SETTING_NUMBER,
} SettingType;

static const struct {
        const char *key;     /* in patches and results */
        const char *section; /* in group.yaml … */
        const char *member;  /* … and there */
        SettingType type;
} settings[] = {
        {"default_send_to", "messaging", "default_send_to", SETTING_SEND_TO},
        {"min_interval_seconds", "delivery", "min_interval_seconds", SETTING_NUMBER},
        {"nudge_after_seconds", "automation", "nudge_after_seconds", SETTING_NUMBER},
        {"actor_idle_timeout_seconds", "automation", "actor_idle_timeout_seconds", SETTING_NUMBER},
        {"keepalive_delay_seconds", "automation", "keepalive_delay_seconds", SETTING_NUMBER},
        {"keepalive_max_per_actor", "automation", "keepalive_max_per_actor", SETTING_NUMBER},
        {"silence_timeout_seconds", "automation", "silence_timeout_seconds", SETTING_NUMBER},
        {"standup_interval_seconds", "automation", "standup_interval_seconds", SETTING_NUMBER},
        {"help_nudge_interval_seconds", "automation", "help_nudge_interval_seconds", SETTING_NUMBER},
        {"help_nudge_min_messages", "automation", "help_nudge_min_messages", SETTING_NUMBER},
};

static const char *const visibilities[] = {
        [TRANSCRIPT_OFF] = "off", [TRANSCRIPT_FOREMAN] = "foreman", [TRANSCRIPT_ALL] = "all"};

const char *const *settings_keys(void) {
        static const char *const keys[] = {
                "default_send_to",
                "min_interval_seconds",
                "nudge_after_seconds",
                "actor_idle_timeout_seconds",
                "keepalive_delay_seconds",
                "keepalive_max_per_actor",
                "silence_timeout_seconds",
                "standup_interval_seconds",
                "help_nudge_interval_seconds",
                "help_nudge_min_messages",
                "terminal_transcript_visibility",
                "terminal_transcript_notify_tail",
                "terminal_transcript_notify_lines",
                "sandbox", /* ours, as the next one */
                "sandbox_network",
                NULL,
        };

        return keys;
}

static bool is_send_to(Str word) {
        return str_is(word, "foreman") || str_is(word, "broadcast");
}

int settings_check(const Json *patch, SettingsFault *reterr) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                const Json *value = json_get(patch, settings[i].key);
                SettingType type = settings[i].type;
                int64_t n;
                if (!value)
                        continue;
                if (type == SETTING_SEND_TO && !is_send_to(str_trim(json_str(value)))) {
                        *reterr = (SettingsFault){.key = settings[i].key, .value = value};
                        return SETTINGS_E_SEND_TO;
                }
                if (!r && type == SETTING_NUMBER && !patch_int(value, &n)) {
                        *reterr = (SettingsFault){.key = settings[i].key, .value = value, .is_number = true};
                        r = SETTINGS_E_NUMBER;
                }
        }
        if (!r && actor_sandbox_fault(patch)) {
                *reterr = (SettingsFault){.why = actor_sandbox_fault(patch)};
                r = SETTINGS_E_SANDBOX;
        }
        return r;
}

static int settings_store(GroupDoc *doc, Json *section, const char *member, SettingType type,
                          const Json *value) {
        int64_t n = 0;

        if (type == SETTING_SEND_TO)
                return document_set_str(doc->document, section, member, str_trim(json_str(value)));
        (void)patch_int(value, &n);
        return document_set_int(doc->document, section, member, n);
}

static void take_visibility(const Json *value, TranscriptVisibility *ret) {
        Str word = str_trim(json_str(value));

        for (size_t i = 0; i < ARRAY_SIZE(visibilities); i++)
                if (word.n == strlen(visibilities[i]) && !strncasecmp(word.data, visibilities[i], word.n))
                        *ret = (TranscriptVisibility)i;
}

/* What cannot be a value is passed over in silence, as the contract has it. The section is always whole. */
static int apply_transcript(GroupDoc *doc, const Json *patch) {
        const Json *visibility = json_get(patch, "terminal_transcript_visibility"),
                   *tail = json_get(patch, "terminal_transcript_notify_tail"),
                   *lines = json_get(patch, "terminal_transcript_notify_lines");
        TranscriptVisibility who = doc->settings.transcript_visibility;
        bool has_tail = doc->settings.transcript_notify_tail;
        int64_t n = doc->settings.transcript_notify_lines, given;
        Json *section = visibility || tail || lines ? group_doc_section(doc, "terminal_transcript") : NULL;
        int r;

        if (!section)
                return visibility || tail || lines ? error_origin(-ENOMEM) : 0;
        take_visibility(visibility, &who);
        (void)patch_switch(tail, &has_tail);
        if (patch_int(lines, &given))
                n = given;
        r = document_set_str(doc->document, section, "visibility", str_from(visibilities[who]));
        r = r ? r : document_set_bool(doc->document, section, "notify_tail", has_tail);
        n = n < LINES_MIN ? LINES_MIN : n > LINES_MAX ? LINES_MAX : n;
        return error_trace(r ? r : document_set_int(doc->document, section, "notify_lines", n));
}

int settings_apply(GroupDoc *doc, const Json *patch) {
        int of_sandbox = actor_sandbox_apply(doc->document, doc->json, patch);

        if (of_sandbox)
                return error_trace(of_sandbox);
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                const Json *value = json_get(patch, settings[i].key);
                Json *section;
                int r;
                if (!value)
                        continue;
                section = group_doc_section(doc, settings[i].section);
                r = section ? settings_store(doc, section, settings[i].member, settings[i].type, value)
                            : error_origin(-ENOMEM);
                if (r)
                        return error_trace(r);
        }
        return error_trace(apply_transcript(doc, patch));
}

void settings_write(const GroupDoc *doc, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "default_send_to", doc->settings.is_broadcast ? "broadcast" : "foreman");
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                const Json *value = json_get(json_get(doc->json, settings[i].section), settings[i].member);
                if (settings[i].type == SETTING_NUMBER && value)
                        jw_field_value(w, settings[i].key, value);
        }
        jw_field_cstr(w, "terminal_transcript_visibility",
                      visibilities[doc->settings.transcript_visibility]);
        jw_field_bool(w, "terminal_transcript_notify_tail", doc->settings.transcript_notify_tail);
        jw_field_int(w, "terminal_transcript_notify_lines", doc->settings.transcript_notify_lines);
        if (doc->sandbox.n)
                jw_field_str(w, "sandbox", doc->sandbox);
        if (doc->sandbox_network.n)
                jw_field_str(w, "sandbox_network", doc->sandbox_network);
        jw_end_object(w);
}
