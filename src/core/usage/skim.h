#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Skim: the members of a JSON object, one after the other, each with the bytes of its value, without a tree. For lines of which only a few
 * small members count and the rest is long: what is not asked for is stepped over, not read.
 *
 * Of a text that is JSON it says what json_parse() says. Of one that is not it may say anything that lies within the text: whoever needs a
 * value parses its bytes (json.h), which is strict. Pure; spans point into the text.
 */
#include <stdbool.h>

#include "base/str.h"

typedef struct Skim {
        const char *at, *end; /* private */
        bool is_begun, is_wrong;
} Skim;

static inline Skim skim_of(Str text) {
        const char *at = text.n ? text.data : "";

        return (Skim){.at = at, .end = at + text.n};
}

/* The next member: its name as it is written, without the quotes, and its value with all its bytes. False: there is no more, or it is no
 * object; is_wrong tells. */
bool skim_next(Skim *skim, Str *ret_key, Str *ret_value);
/* The same in two steps: the name; then its value by skim_pass(), or, of an object, by a Skim of its own (skim_within()) that is asked for
 * all its members, and skim_behind() it. So what is long is looked at once. */
bool skim_key(Skim *skim, Str *ret_key);
bool skim_pass(Skim *skim, Str *ret_value);
Skim skim_within(const Skim *skim);
bool skim_behind(Skim *skim, const Skim *inner);
/* Behind skim_key(), instead of skim_pass(): over all that stands before the last member that is written so, as `,"name":{`, in the rest of
 * the text. In JSON that is a member indeed, for a quote behind a comma that is followed by a letter begins a name, but perhaps not one of
 * this object. Who jumps asks for all that is left, of this object and of those around it: if that ends where the text does
 * (skim_is_whole()), then it stands as deep as it should. False: it was not found near the end, and nothing has changed. */
bool skim_jump(Skim *skim, Str member);
bool skim_is_whole(Skim *skim);
/* The same of an array: the next element. Of one Skim either this or skim_next() is asked. */
bool skim_element(Skim *skim, Str *ret_value);
/* The value of this name in the object; empty: there is none. */
Str skim_get(Str object, const char *name);
/* What a string holds that is written without escapes; empty: it is none, or has some. */
Str skim_text(Str value);
