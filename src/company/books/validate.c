/* SPDX-License-Identifier: MIT */
#include "company/books/validate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "company/books/validate-internal.h"

/* ---- what is wrong --------------------------------------------------------------------------- */

void validate_add(Validation *v, const char *code, const char *path, const char *format, ...) {
        ValidateIssue *issue;
        char text[512];
        va_list ap;

        if (v->n++ >= VALIDATE_ISSUES_MAX)
                return;
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        issue = arena_alloc(v->arena, sizeof(*issue));
        if (issue)
                *issue = (ValidateIssue){.code = code, .message = arena_str(v->arena, str_from(text))};
        if (issue && path)
                issue->path = arena_str(v->arena, str_from(path));
        if (!issue || !issue->message.data || (path && !issue->path.data)) {
                v->r = v->r ? v->r : error_origin(-ENOMEM);
                return;
        }
        if (v->last)
                v->last->next = issue;
        else
                v->first = issue;
        v->last = issue;
}

void validate_write(const Validation *v, JsonWriter *w) {
        jw_begin_array(w);
        for (const ValidateIssue *issue = v->first; issue; issue = issue->next) {
                jw_begin_object(w);
                jw_field_cstr(w, "code", issue->code);
                jw_field_str(w, "message", issue->message);
                if (issue->path.data)
                        jw_field_str(w, "path", issue->path);
                jw_end_object(w);
        }
        jw_end_array(w);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Its issues, one by one, with the place inside the document before the text. */
void validate_shape(Validation *v, const char *code, const char *path, const Shape *shape,
                    const Json *json) {
        Issues issues = ISSUES(v->arena);

        (void)shape_check(shape, json, NULL, &issues);
        for (const Issue *issue = issues.first; issue; issue = issue->next)
                validate_add(v, code, path, "%s: " STR_FMT " " STR_FMT, path, STR_ARG(issue->path),
                             STR_ARG(issue->message));
        if (issues.is_failed)
                v->r = v->r ? v->r : error_origin(-ENOMEM);
}

Json *validate_load(Validation *v, const char *path, DocumentFormat format, Str *body) {
        char what[DOCUMENT_WHAT_MAX] = "";
        Json *json = NULL;
        int r = path ? document_load(v->arena, v->root, path, format, &json, body, what)
                     : DOCUMENT_E_MISSING;

        if (r == DOCUMENT_E_MISSING)
                validate_add(v, "missing_file", path, "Missing file: %s", path ? path : "?");
        else if (r == DOCUMENT_E_BROKEN)
                validate_add(v, format == DOCUMENT_MATTER ? "frontmatter" : "parse_error", path, "%s: %s",
                             path, what);
        else if (r < 0 && r != -ENOMEM)
                validate_add(v, "read_error", path, "%s: %s", path, strerror(-r));
        else if (r)
                v->r = v->r ? v->r : r;
        return r ? NULL : json;
}

void validate_yaml(Validation *v, const char *path, const Shape *shape) {
        const Json *json = validate_load(v, path, DOCUMENT_YAML, NULL);

        if (json)
                validate_shape(v, "schema_invalid", path, shape, json);
}

/* A line that is this heading, whatever its level and case. */
static bool validate_is_heading(Str line, const char *heading) {
        Str wanted = str_from(heading);

        line = str_trim(line);
        if (!line.n || line.data[0] != '#')
                return false;
        while (line.n && line.data[0] == '#')
                line = (Str){line.data + 1, line.n - 1};
        line = str_trim(line);
        return line.n == wanted.n && !strncasecmp(line.data, wanted.data, wanted.n);
}

static bool validate_has_heading(Str body, const char *heading) {
        while (body.n) {
                const char *end = memchr(body.data, '\n', body.n);
                size_t n = end ? (size_t)(end - body.data) : body.n;

                if (validate_is_heading((Str){body.data, n}, heading))
                        return true;
                body = (Str){body.data + n + !!end, body.n - n - !!end};
        }
        return false;
}

void validate_headings(Validation *v, const char *path, Str body, const char *const headings[]) {
        for (; headings && *headings; headings++)
                if (!validate_has_heading(body, *headings))
                        validate_add(v, "missing_heading", path, "%s: Missing heading: ## %s", path,
                                     *headings);
}

/* ---- what must be there ---------------------------------------------------------------------- */

static bool validate_is_there(const Validation *v, const char *path, mode_t type) {
        int fd = v->root < 0 ? -ENOENT : path_open_beneath(v->root, path, O_RDONLY | O_NONBLOCK, 0);
        struct stat st;
        bool is_there;

        if (fd == -EACCES)
                return true; /* reading it will say so */
        if (fd < 0)
                return false;
        is_there = !fstat(fd, &st) && (st.st_mode & S_IFMT) == type;
        close(fd);
        return is_there;
}

static bool validate_is_local(const char *path) {
        return !strncmp(path, ".local", 6);
}

static void validate_tree(Validation *v) {
        for (const char *const *path = place_folders; *path; path++)
                if (!(v->is_portable && validate_is_local(*path)) && !validate_is_there(v, *path, S_IFDIR))
                        validate_add(v, "missing_dir", *path, "Missing directory: %s", *path);
        for (const char *const *path = place_files; *path; path++)
                if (!(v->is_portable && validate_is_local(*path)) && !validate_is_there(v, *path, S_IFREG))
                        validate_add(v, "missing_file", *path, "Missing file: %s", *path);
}

/* One of the three files of the tree, whose absence was told already; of text that does not parse no path is
 * told. */
static void validate_root_file(Validation *v, const char *path, const Shape *shape) {
        char what[DOCUMENT_WHAT_MAX] = "";
        Json *json = NULL;
        int r = document_load(v->arena, v->root, path, DOCUMENT_YAML, &json, NULL, what);

        if (!r)
                validate_shape(v, "schema_invalid", path, shape, json);
        else if (r == DOCUMENT_E_BROKEN)
                validate_add(v, "parse_error", NULL, "%s: %s", path, what);
        else if (r < 0)
                v->r = v->r ? v->r : r;
}

void validate_each(Validation *v, const char *folder, const char *suffix, void (*fn)(Validation *, Str, Str),
                   Str project) {
        StrList names = {0};
        int r = place_names(v->arena, v->root, folder, suffix, &names);

        if (r)
                validate_add(v, "read_error", folder, "%s: %s", folder ? folder : "?", strerror(-r));
        for (size_t i = 0; !r && i < names.n; i++) {
                if (v->is_off && *v->is_off) {
                        v->r = v->r ? v->r : -ECANCELED;
                        return;
                }
                fn(v, project, names.items[i]);
        }
}

static void validate_review(Validation *v, _unused_ Str project, Str id) {
        validate_yaml(v, place_review(v->arena, id), &shape_review);
}

static void validate_help(Validation *v, _unused_ Str project, Str id) {
        static const char *const headings[] = {"Question", "Response", NULL};
        const char *path = place_help_request(v->arena, id);
        Str body = STR_NULL;
        const Json *json = validate_load(v, path, DOCUMENT_MATTER, &body);

        if (!json)
                return;
        validate_shape(v, "frontmatter_schema", path, &shape_help_request, json);
        validate_headings(v, path, body, headings);
}

static void validate_team(Validation *v, _unused_ Str project, Str id) {
        validate_yaml(v, place_team(v->arena, id, "team.yaml"), &shape_team);
}

static void validate_agent(Validation *v, _unused_ Str project, Str id) {
        validate_yaml(v, place_agent(v->arena, id, "agent.yaml"), &shape_agent);
}

int validate(Validation *v) {
        validate_tree(v);
        if (v->root < 0)
                return v->r;
        validate_root_file(v, PLACE_COMPANY, &shape_company);
        validate_root_file(v, PLACE_POLICY, &shape_policy);
        validate_each(v, PLACE_REVIEWS, ".yaml", validate_review, STR_NULL);
        validate_each(v, PLACE_HELP, ".md", validate_help, STR_NULL);
        validate_root_file(v, PLACE_MACHINE, &shape_machine);
        validate_each(v, PLACE_TEAMS, NULL, validate_team, STR_NULL);
        validate_each(v, PLACE_AGENTS, NULL, validate_agent, STR_NULL);
        validate_each(v, PLACE_PROJECTS, NULL, validate_project, STR_NULL);
        return v->r;
}
