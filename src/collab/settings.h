#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Settings of a group as clients name them, and where they stand in group.yaml. Pure functions over the
 * document; what is in force is in GroupSettings (collab/group-doc.h).
 */
#include "collab/group-doc.h"

enum { _SETTINGS_E_SUCCESS, SETTINGS_E_NUMBER, SETTINGS_E_SEND_TO, SETTINGS_E_SANDBOX };

typedef struct SettingsFault {
        const char *key;
        const Json *value;
        bool is_number;  /* it should have been one */
        const char *why; /* what is wrong, of the sandbox; NULL: of something else */
} SettingsFault;

const char *const *settings_keys(void); /* NULL-terminated */
/* Whether every value can be taken. Conditions as above, the first fault in *reterr; unknown keys are not
 * looked at. */
int settings_check(const Json *patch, SettingsFault *reterr);
/* For an editable document, after settings_check(). 0 or -ENOMEM. */
int settings_apply(GroupDoc *doc, const Json *patch);
/* Everything that is stored, and the defaults of those that are always shown. */
void settings_write(const GroupDoc *doc, JsonWriter *w);
