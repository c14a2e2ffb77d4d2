#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Template: a group's actors, settings and prompts in a portable form (YAML), without its history, scopes
 * and environment variables.
 *
 * What a group is now is a Template, too (template_of_group()): exporting writes it, previewing compares
 * two. Pure functions over trees in an arena; no file, call or group. Parsing a long text takes its time: on
 * a worker. Everything in a Template lies in its arena or in the tree it was made from.
 */
#include "base/json-writer.h"

enum { _TEMPLATE_E_SUCCESS, TEMPLATE_E_INVALID };

enum {
        TEMPLATE_ACTORS_MAX = 256,
        TEMPLATE_WHY_MAX = 256,           /* room for a complaint */
        TEMPLATE_PREVIEW_MAX = 2000,      /* characters of a prompt that a preview shows */
        TEMPLATE_PROMPT_MAX = 1024 * 1024 /* bytes of a prompt file */
};

typedef enum TemplatePrompt {
        TEMPLATE_PREAMBLE,
        TEMPLATE_HELP,
        TEMPLATE_STANDUP,
        _TEMPLATE_PROMPTS,
} TemplatePrompt;

typedef struct TemplateActor {
        Str id, title, runtime, runner, submit;
        const Json *given; /* the command as it was given: a text or a list */
        Json *command;     /* the same as a list of texts */
        bool is_enabled;
} TemplateActor;

typedef struct Template {
        int64_t v;
        Str title, topic, exported_at, cccc_version;
        TemplateActor *actors;
        size_t n_actors;
        Json *settings;                 /* every key of the table, in its order; as given */
        Str prompts[_TEMPLATE_PROMPTS]; /* without data: the built-in text */
} Template;

/* Condition: TEMPLATE_E_INVALID, and why says what is wrong. */
int template_parse(Template *ret, Arena *arena, Str text, char why[TEMPLATE_WHY_MAX]);
/* The settings as they are stored: nothing negative, and lines within their bounds. 0 or -ENOMEM. */
int template_bound_settings(Template *template, Arena *arena);
/* What must hold besides before it is applied: ids are good and distinct, custom programs have a command. */
int template_check(const Template *template, char why[TEMPLATE_WHY_MAX]);
/* What a group is now, from the tree of its group.yaml. prompts: the repo's texts. 0 or -ENOMEM. */
int template_of_group(Template *ret, Arena *arena, const Json *group, const Str prompts[_TEMPLATE_PROMPTS]);
/* The YAML text. */
int template_export(const Template *template, Arena *arena, Buf *out);
/* cccc-group-template--<title>.yaml; data is NULL without memory. */
Str template_filename(Arena *arena, Str title);

/* For a preview: the template, and what applying it would change in `now`. */
void template_write(const Template *template, JsonWriter *w);
void template_write_diff(const Template *template, const Template *now, JsonWriter *w);

const TemplateActor *template_find(const Template *template, Str id); /* NULL: none */
const char *template_prompt_name(TemplatePrompt prompt);              /* preamble, help, standup */
const char *template_prompt_file(TemplatePrompt prompt);              /* CCCC_PREAMBLE.md … */
/* A list of texts out of a command line; NULL: a quote is left open, or no memory (*r says which). */
Json *template_words(Arena *arena, Str text, int *r);

/* ---- for template-*.c ------------------------------------------------------------------------ */

int template_complain(char why[TEMPLATE_WHY_MAX], const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Settings of a template (given: a mapping, or NULL) with defaults for what is missing. */
int template_read_settings(Json **ret, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]);
/* Settings in force in a group's tree. NULL without memory. */
Json *template_group_settings(Arena *arena, const Json *group);
/* A scalar as text; empty when it is none. */
Str template_text(const Json *value);
/* A whole number, or a text that spells one. */
bool template_int(const Json *value, int64_t *ret);
/* true, false and how YAML 1.1 spells them. False: it is neither. */
bool template_bool(const Json *value, bool *ret);
