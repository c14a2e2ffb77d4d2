/* SPDX-License-Identifier: MIT */
#include "collab/group/settings.h"

#include <errno.h>
#include <stddef.h>
#include <strings.h>

#include "base/error.h"
#include "collab/group/actor-sandbox.h"
#include "collab/group/group-rights.h"
#include "collab/group/patch.h"

enum {
        SECONDS_MAX = INT32_MAX, /* 68 years: nobody sees the end of it, and no sum overflows */
        LINES_MIN = 1,
        LINES_MAX = 80,
};

/* In the order in which results show them. */
static const Setting settings_table[] = {
        {.key = "default_send_to",
         .section = "messaging",
         .member = "default_send_to",
         .type = SETTING_WORD,
         .offset = offsetof(GroupSettings, is_broadcast),
         .place = 1,
         .words = {"foreman", "broadcast"}},
        {.key = "min_interval_seconds",
         .section = "delivery",
         .member = "min_interval_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, min_interval_s),
         .place = 9},
        {.key = "nudge_after_seconds",
         .section = "automation",
         .member = "nudge_after_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, nudge_after_s),
         .initial = 300,
         .place = 2},
        {.key = "actor_idle_timeout_seconds",
         .section = "automation",
         .member = "actor_idle_timeout_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, actor_idle_timeout_s),
         .initial = 600,
         .place = 3},
        {.key = "keepalive_delay_seconds",
         .section = "automation",
         .member = "keepalive_delay_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, keepalive_delay_s),
         .initial = 120,
         .place = 4},
        {.key = "keepalive_max_per_actor",
         .section = "automation",
         .member = "keepalive_max_per_actor",
         .type = SETTING_NUMBER,
         .offset = offsetof(GroupSettings, keepalive_max_per_actor),
         .initial = 3,
         .place = 5},
        {.key = "silence_timeout_seconds",
         .section = "automation",
         .member = "silence_timeout_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, silence_timeout_s),
         .initial = 600,
         .place = 6},
        {.key = "standup_interval_seconds",
         .section = "automation",
         .member = "standup_interval_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, standup_interval_s),
         .initial = 900,
         .place = 10},
        {.key = "help_nudge_interval_seconds",
         .section = "automation",
         .member = "help_nudge_interval_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, help_nudge_interval_s),
         .initial = 600,
         .place = 7},
        {.key = "help_nudge_min_messages",
         .section = "automation",
         .member = "help_nudge_min_messages",
         .type = SETTING_NUMBER,
         .offset = offsetof(GroupSettings, help_nudge_min_messages),
         .initial = 10,
         .place = 8},
        {.key = "terminal_transcript_visibility",
         .section = "terminal_transcript",
         .member = "visibility",
         .type = SETTING_WORD,
         .offset = offsetof(GroupSettings, transcript_visibility),
         .initial = TRANSCRIPT_FOREMAN,
         .place = 11,
         .words = {[TRANSCRIPT_OFF] = "off", [TRANSCRIPT_FOREMAN] = "foreman", [TRANSCRIPT_ALL] = "all"},
         .is_lenient = true},
        {.key = "terminal_transcript_notify_tail",
         .section = "terminal_transcript",
         .member = "notify_tail",
         .type = SETTING_TRUTH,
         .offset = offsetof(GroupSettings, transcript_notify_tail),
         .initial = true,
         .place = 12,
         .is_lenient = true},
        {.key = "terminal_transcript_notify_lines",
         .section = "terminal_transcript",
         .member = "notify_lines",
         .type = SETTING_LINES,
         .offset = offsetof(GroupSettings, transcript_notify_lines),
         .initial = 20,
         .place = 13,
         .is_lenient = true},
        {.key = "sandbox", .type = SETTING_OURS},
        {.key = "sandbox_network", .type = SETTING_OURS},
        {.key = "rights_foreman", .type = SETTING_OURS},
        {.key = "rights_peer", .type = SETTING_OURS},
        {.section = "ledger",
         .member = "max_active_bytes",
         .type = SETTING_NUMBER,
         .offset = offsetof(GroupSettings, ledger_max_active_bytes),
         .initial = 50000000},
        {.section = "ledger",
         .member = "keep_tail_lines",
         .type = SETTING_NUMBER,
         .offset = offsetof(GroupSettings, ledger_keep_tail_lines),
         .initial = 2000},
        {.section = "ledger",
         .member = "min_interval_seconds",
         .type = SETTING_SECONDS,
         .offset = offsetof(GroupSettings, ledger_min_interval_s),
         .initial = 300},
};

/* ---- the table ------------------------------------------------------------------------------- */

const Setting *settings_in_template(size_t i) {
        for (size_t k = 0; k < ARRAY_SIZE(settings_table); k++)
                if (settings_table[k].place == i + 1)
                        return &settings_table[k];
        return NULL;
}

const char *const *settings_keys(const char *keys[SETTINGS_KEYS_MAX]) {
        size_t n = 0;

        _Static_assert(ARRAY_SIZE(settings_table) < SETTINGS_KEYS_MAX, "room for every key");
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++)
                if (settings_table[i].key)
                        keys[n++] = settings_table[i].key;
        keys[n] = NULL;
        return keys;
}

int settings_word_number(const Setting *setting, Str word, bool is_any_case) {
        for (int i = 0; i < (int)ARRAY_SIZE(setting->words) && setting->words[i]; i++)
                if (is_any_case ? word.n && word.n == strlen(setting->words[i]) &&
                                          !strncasecmp(word.data, setting->words[i], word.n)
                                : str_is(word, setting->words[i]))
                        return i;
        return -1;
}

int64_t settings_bounded(const Setting *setting, int64_t n) {
        switch (setting->type) {
        case SETTING_SECONDS: return MIN(MAX(n, 0), SECONDS_MAX);
        case SETTING_LINES: return MIN(MAX(n, LINES_MIN), LINES_MAX);
        default: return n;
        }
}

static int64_t *settings_in_force(GroupSettings *settings, const Setting *setting) {
        return (int64_t *)(void *)((char *)settings + setting->offset);
}

static int64_t settings_now(const GroupDoc *doc, const Setting *setting) {
        GroupSettings settings = doc->settings;

        return *settings_in_force(&settings, setting);
}

/* ---- what is in force ------------------------------------------------------------------------ */

/* Hand-written files spell numbers as they like: fractions are cut, text does not count. */
static int64_t settings_read_number(const Json *value, int64_t initial) {
        int64_t n = initial;
        double real;

        if (!json_int64(value, &n) && json_double(value, &real) && real > -0x1p62 && real < 0x1p62)
                n = (int64_t)real;
        return n;
}

static int64_t settings_read(const Setting *setting, const Json *value) {
        bool truth = setting->initial;
        int number;

        switch (setting->type) {
        case SETTING_WORD:
                number = settings_word_number(setting, json_str(value), false);
                return number < 0 ? setting->initial : number;
        case SETTING_TRUTH: json_bool(value, &truth); return truth;
        default: return settings_bounded(setting, settings_read_number(value, setting->initial));
        }
}

void settings_view(const Json *group, GroupSettings *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                const Setting *setting = &settings_table[i];

                if (setting->type != SETTING_OURS)
                        *settings_in_force(ret, setting) = settings_read(
                                setting, json_get(json_get(group, setting->section), setting->member));
        }
}

const char *settings_visibility_name(const GroupDoc *doc) {
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++)
                if (settings_table[i].offset == offsetof(GroupSettings, transcript_visibility))
                        return settings_table[i].words[doc->settings.transcript_visibility];
        return "";
}

/* ---- patches --------------------------------------------------------------------------------- */

static bool is_setting_number(const Setting *setting) {
        return setting->type == SETTING_NUMBER || setting->type == SETTING_SECONDS ||
               setting->type == SETTING_LINES;
}

int settings_check(const Json *patch, SettingsFault *reterr) {
        const char *why;
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                const Setting *setting = &settings_table[i];
                const Json *value = setting->key ? json_get(patch, setting->key) : NULL;
                int64_t n;

                if (!value || setting->is_lenient)
                        continue;
                if (setting->type == SETTING_WORD &&
                    settings_word_number(setting, str_trim(json_str(value)), false) < 0) {
                        *reterr = (SettingsFault){.key = setting->key, .value = value};
                        return SETTINGS_E_SEND_TO;
                }
                if (!r && is_setting_number(setting) && !patch_int(value, &n)) {
                        *reterr = (SettingsFault){.key = setting->key, .value = value, .is_number = true};
                        r = SETTINGS_E_NUMBER;
                }
        }
        why = actor_sandbox_fault(patch);
        if (!why)
                why = group_rights_fault(patch);
        if (!r && why) {
                *reterr = (SettingsFault){.why = why};
                r = SETTINGS_E_OURS;
        }
        return r;
}

/* What is no value of it leaves what is in force. */
static int settings_store(GroupDoc *doc, Json *section, const Setting *setting, const Json *value) {
        int64_t n = settings_now(doc, setting), given;
        bool truth = n;
        int number;

        switch (setting->type) {
        case SETTING_WORD:
                number = settings_word_number(setting, str_trim(json_str(value)), true);
                return document_set_str(doc->document, section, setting->member,
                                        str_from(setting->words[number < 0 ? n : number]));
        case SETTING_TRUTH:
                (void)patch_switch(value, &truth);
                return document_set_bool(doc->document, section, setting->member, truth);
        default:
                if (patch_int(value, &given))
                        n = given;
                return document_set_int(doc->document, section, setting->member,
                                        setting->is_lenient ? settings_bounded(setting, n) : n);
        }
}

/* Whether the patch says something of the setting, or of one that is always stored with it. */
static bool is_setting_given(const Setting *setting, const Json *patch) {
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                const Setting *other = &settings_table[i];

                if ((other == setting || (other->is_lenient && setting->is_lenient)) && other->key &&
                    json_get(patch, other->key))
                        return other->type != SETTING_OURS;
        }
        return false;
}

int settings_apply(GroupDoc *doc, const Json *patch) {
        int r = actor_sandbox_apply(doc->document, doc->json, patch);

        if (!r)
                r = group_rights_apply(doc->document, doc->json, patch);
        for (size_t i = 0; !r && i < ARRAY_SIZE(settings_table); i++) {
                const Setting *setting = &settings_table[i];
                Json *section;

                if (!is_setting_given(setting, patch))
                        continue;
                section = group_doc_section(doc, setting->section);
                r = section ? settings_store(doc, section, setting, json_get(patch, setting->key))
                            : error_origin(-ENOMEM);
        }
        return error_trace(r);
}

/* ---- results --------------------------------------------------------------------------------- */

static void settings_write_one(const GroupDoc *doc, const Setting *setting, JsonWriter *w) {
        const Json *stored = json_get(json_get(doc->json, setting->section), setting->member);
        int64_t n = settings_now(doc, setting);

        if (setting->type == SETTING_WORD)
                jw_field_cstr(w, setting->key, setting->words[n]);
        else if (setting->type == SETTING_TRUTH)
                jw_field_bool(w, setting->key, n);
        else if (setting->is_lenient)
                jw_field_int(w, setting->key, n);
        else if (stored)
                jw_field_value(w, setting->key, stored);
}

void settings_write(const GroupDoc *doc, JsonWriter *w) {
        jw_begin_object(w);
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++)
                if (settings_table[i].key && settings_table[i].type != SETTING_OURS)
                        settings_write_one(doc, &settings_table[i], w);
        if (doc->sandbox.n)
                jw_field_str(w, "sandbox", doc->sandbox);
        if (doc->sandbox_network.n)
                jw_field_str(w, "sandbox_network", doc->sandbox_network);
        group_rights_write(doc->json, w);
        jw_end_object(w);
}
