/* SPDX-License-Identifier: MIT */
/*
 * muster template: a group's actors, settings and prompts as a file that can be given to others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cmd/verbs.h"
#include "cli/print/report.h"

enum { TEMPLATE_MAX = 2000000 };

/* ---- answers --------------------------------------------------------------------------------- */

static void template_show_text(const Cccc *cccc) {
        output_put(stdout, json_text_of(cccc->reply.result, "template"));
}

static void template_put_names(const char *what, const Json *names) {
        const char *gap = " ";

        if (!json_count(names))
                return;
        print("%s", what);
        json_each (name, names) {
                print("%s", gap);
                text_put(stdout, json_str(name));
                gap = ", ";
        }
        putchar('\n');
}

/* The names of the members that change; a prompt is listed also when it stays. */
static void template_put_members(const char *what, const Json *object) {
        const char *gap = what;

        json_each (member, object) {
                bool is_changed = true;

                (void)json_bool(json_get(member, "changed"), &is_changed);
                if (!is_changed)
                        continue;
                print("%s", gap);
                text_put(stdout, json_key(member));
                gap = ", ";
        }
        if (gap != what)
                putchar('\n');
}

static void template_show_preview(const Cccc *cccc) {
        const Json *diff = json_get(cccc->reply.result, "diff");

        fputs("A template for ", stdout);
        text_put(stdout, json_text_of(cccc->reply.result, "scope_root"));
        putchar('\n');
        template_put_names("  actors added:    ", json_get(diff, "actors_add"));
        template_put_names("  actors changed:  ", json_get(diff, "actors_update"));
        template_put_names("  actors removed:  ", json_get(diff, "actors_remove"));
        template_put_members("  settings changed: ", json_get(diff, "settings_changed"));
        template_put_members("  prompts changed:  ", json_get(diff, "prompts_changed"));
}

static void template_show_import(const Cccc *cccc) {
        const Json *result = cccc->reply.result;

        print("%zu added, %zu changed, %zu removed\n", json_count(json_get(result, "added")),
              json_count(json_get(result, "updated")), json_count(json_get(result, "removed")));
}

static void template_show_id(const Cccc *cccc) {
        text_put(stdout, json_text_of(cccc->reply.result, "group_id"));
        putchar('\n');
}

/* ---- operands -------------------------------------------------------------------------------- */

/* A file, or stdin for `-`. */
static int template_put(Cccc *cccc, char *file) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str from_stdin;
        int r;

        if (!strcmp(file, "-")) {
                r = cccc_text(cccc, &file, 1, &from_stdin);
                if (!r)
                        cccc_set_str(cccc, "template", from_stdin);
                return r;
        }
        r = file_read(file, TEMPLATE_MAX, &text);
        if (r)
                return complain(CLI_FAILED, "template: %s: %s", file,
                                r == FILE_E_MISSING     ? strerror(ENOENT)
                                : r == FILE_E_TOO_LARGE ? "it is too long for a template"
                                                        : strerror(-r));
        cccc_set_str(cccc, "template", arena_str(&cccc->arena, buf_str(&text)));
        return CLI_OK;
}

static int template_prepare_preview(Cccc *cccc, _unused_ const Options *options, char **operands,
                                    _unused_ int n) {
        return template_put(cccc, operands[0]);
}

static int template_prepare_import(Cccc *cccc, const Options *options, char **operands, _unused_ int n) {
        if (!options->force) {
                complain(CLI_USAGE,
                         "template: import replaces actors, settings and prompts of the group "
                         "%.*s; its history stays",
                         (int)cccc->group.n, cccc->group.data);
                advise("see what would change with: muster template preview %s", operands[0]);
                advise("do it with --force");
                return CLI_USAGE;
        }
        cccc_set_str(cccc, "confirm", cccc->group);
        return template_put(cccc, operands[0]);
}

static int template_prepare_create(Cccc *cccc, const Options *options, char **operands, int n) {
        _cleanup_(freep) char *folder = path_expand(n > 1 ? operands[1] : ".");

        if (!folder)
                return complain(CLI_FAILED, "template: %s", strerror(errno));
        cccc_set_str(cccc, "path", arena_str(&cccc->arena, str_from(folder)));
        if (options->name)
                cccc_set_str(cccc, "title", str_from(options->name));
        return template_put(cccc, operands[0]);
}

static const Verb verbs[] = {
        {.name = "export",
         .op = "group_template_export",
         .usage = "",
         .needs_group = true,
         .show = template_show_text},
        {.name = "preview",
         .op = "group_template_preview",
         .usage = "FILE",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .prepare = template_prepare_preview,
         .show = template_show_preview},
        {.name = "import",
         .op = "group_template_import_replace",
         .usage = "FILE --force",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .prepare = template_prepare_import,
         .show = template_show_import},
        {.name = "create",
         .op = "group_create_from_template",
         .usage = "FILE [FOLDER]",
         .n_min = 1,
         .n_max = 2,
         .prepare = template_prepare_create,
         .show = template_show_id},
};

int cmd_template(const Options *options) {
        return verbs_run("template", options, verbs, ARRAY_SIZE(verbs));
}
