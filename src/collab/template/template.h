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
#include "base/json/json-writer.h"
#include "collab/group/group-change.h"
#include "collab/group/group-doc.h"

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

/*
 * Applying a template to a group: its document and the events that tell of it. Prompt files are somebody
 * else's (template.h), and so are sessions that run.
 */

typedef struct TemplateResult {
        const Template *template;
        Str by;
        Json *removed, *added, *updated; /* ids */
} TemplateResult;

/* Edits the change's document; adds events actor.remove, actor.add, actor.update and group.settings_update.
 * What goes wrong is remembered by the change. NULL: nothing can come of it, abort. */
TemplateResult *template_apply(GroupChange *change, const Template *template, Str by);

/*
 * TemplateJob: what the template ops do on workers: parse the text, look at the project's folder, read,
 * write and put back its prompt files (CCCC_PREAMBLE.md, CCCC_HELP.md, CCCC_STANDUP.md).
 *
 * Lives in the call's arena, which belongs to the worker while one is at it. Knows no loop.
 */

typedef struct TemplateJob {
        Carry carry;
        Arena *arena; /* the call's */
        Str by;
        Str text;          /* of the template; empty: none is wanted */
        Str root;          /* of the scope, NUL-terminated; empty: no scope */
        bool is_folder;    /* root is there */
        bool is_for_apply; /* the template must be fit to be applied, too */

        bool is_invalid; /* why says what is wrong with the text */
        char why[TEMPLATE_WHY_MAX];
        Template template;
        Str prompts[_TEMPLATE_PROMPTS];     /* as the project has them; empty: not there */
        bool is_file[_TEMPLATE_PROMPTS];    /* there is a file, even if it says nothing */
        bool is_written[_TEMPLATE_PROMPTS]; /* this one was replaced or removed by us */
        int r;
} TemplateJob;

/* NULL without memory. doc: the group's, for its active scope; NULL: none. */
TemplateJob *template_job_new(Arena *arena, Str text, Str by, const GroupDoc *doc);

/* On a worker. 0 or negative; an invalid template is none of its failures. */
int template_job_read(TemplateJob *job);
/* Makes the files what the template says. When it fails they are as before. */
int template_job_write(TemplateJob *job);
/* As they were before template_job_write(). */
void template_job_restore(TemplateJob *job);
