#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The settings of a group: one table says of each how clients and templates call it, where it stands in
 * group.yaml, what it may be and what it is by default. A new setting is a row of it, and a member of
 * GroupSettings (collab/group/group-doc.h), where what is in force stands. Pure functions over documents.
 */
#include "collab/group/group-doc.h"

typedef enum SettingType {
        SETTING_NUMBER,
        SETTING_SECONDS, /* what is below zero means the same as zero */
        SETTING_LINES,
        SETTING_TRUTH,
        SETTING_WORD,
        SETTING_OURS, /* collab/group/actor-sandbox.h, group-rights.h have the rest */
} SettingType;

typedef struct Setting {
        const char *key;              /* in patches, results and templates; NULL: only group.yaml has it */
        const char *section, *member; /* in group.yaml */
        SettingType type;
        size_t offset;        /* of its int64_t in GroupSettings */
        int64_t initial;      /* when nothing is stored; of a word, its number */
        const char *words[4]; /* of a word, by number */
        unsigned place;       /* in templates, from 1; 0: they do not have it */
        /* As the contract has it of the terminal's transcript: what cannot be a value is passed over in silence,
         * what is stored is within its bounds, and with one of them all are stored. */
        bool is_lenient;
} Setting;

const Setting *settings_in_template(size_t i); /* in the order of templates; NULL: that was all */
/* The number of a word of the setting; -1: it is none. */
int settings_word_number(const Setting *setting, Str word, bool is_any_case);
int64_t settings_bounded(const Setting *setting, int64_t n); /* a number as it is in force */

enum { _SETTINGS_E_SUCCESS, SETTINGS_E_NUMBER, SETTINGS_E_SEND_TO, SETTINGS_E_OURS };

typedef struct SettingsFault {
        const char *key;
        const Json *value;
        bool is_number;  /* it should have been one */
        const char *why; /* what is wrong, of those that are ours; NULL: of something else */
} SettingsFault;

enum { SETTINGS_KEYS_MAX = 32 };
/* Fills and returns the list, which ends with NULL. */
const char *const *settings_keys(const char *keys[SETTINGS_KEYS_MAX]);
/* Whether every value can be taken. Conditions as above, the first fault in *reterr; unknown keys are not
 * looked at. */
int settings_check(const Json *patch, SettingsFault *reterr);
/* For an editable document, after settings_check(). 0 or -ENOMEM. */
int settings_apply(GroupDoc *doc, const Json *patch);
/* Everything that is stored, and the defaults of those that are always shown. */
void settings_write(const GroupDoc *doc, JsonWriter *w);
void settings_view(const Json *group, GroupSettings *ret); /* what is in force */
const char *settings_visibility_name(const GroupDoc *doc); /* "off", "foreman", "all" */
