/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "sessions/coopfile/coopfile-internal.h"

/*
 * Messages about a layer. The tree keeps no lines, so the line of a key is looked for in the text; where the
 * text is written in an unusual way (escapes in names, names inside of inline tables) the message goes
 * without.
 */

/* What a line is about: `[table]`, `[table.key]`, `key =`, `table.key =`. */
typedef struct Line {
        bool is_header;
        Str first, second;
} Line;

static Str coopfile_fault_next_line(Str *text) {
        const char *end = memchr(text->data, '\n', text->n);
        Str line = {text->data, end ? (size_t)(end - text->data) : text->n};

        *text = end ? (Str){end + 1, text->n - line.n - 1} : STR_NULL;
        return line;
}

static bool is_bare(char c) {
        return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* One name of a dotted key, taken off the line together with the blanks around it. */
static Str coopfile_fault_take_name(Str *line) {
        Str name;
        size_t n = 0, n_quote;

        *line = str_trim(*line);
        n_quote = line->n && strchr("\"'", line->data[0]) ? 1 : 0;
        name = (Str){line->data + n_quote, 0};
        for (n = n_quote; n < line->n && (n_quote ? line->data[n] != line->data[0] : is_bare(line->data[n]));
             n++)
                name.n++;
        n = MIN(n + n_quote, line->n);
        *line = str_trim((Str){line->data + n, line->n - n});
        return name;
}

/* False when the line is neither a header nor the beginning of a setting. */
static bool coopfile_fault_read_line(Str text, Line *ret) {
        Line line = {0};

        text = str_trim(text);
        if (!text.n || text.data[0] == '#')
                return false;
        while (text.n && text.data[0] == '[') {
                line.is_header = true;
                text.data++, text.n--;
        }
        line.first = coopfile_fault_take_name(&text);
        if (text.n && text.data[0] == '.') {
                text.data++, text.n--;
                line.second = coopfile_fault_take_name(&text);
        }
        *ret = line;
        return line.first.n && text.n && strchr(line.is_header ? "]." : "=.", text.data[0]);
}

/* From 1; 0: not found. key may be empty: the line of the table itself. */
static size_t coopfile_fault_line_of(Str text, Str table, Str key) {
        Str within = STR_NULL;

        for (size_t number = 1; text.n; number++) {
                Line line;

                if (!coopfile_fault_read_line(coopfile_fault_next_line(&text), &line))
                        continue;
                if (line.is_header || !within.n) { /* a name at the top is a table's */
                        if (str_eq(line.first, table) && (!key.n || str_eq(line.second, key)))
                                return number;
                        if (line.is_header)
                                within = line.second.n ? STR(".") : line.first;
                } else if (key.n && str_eq(within, table) && str_eq(line.first, key)) {
                        return number;
                }
        }
        return 0;
}

/* Whoever shows the message can rely on it: whole characters, nothing that upsets a terminal. */
static void make_clean(char *text) {
        size_t n = utf8_valid_prefix(text, strlen(text));

        text[n] = 0;
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
                        text[i] = '?';
}

static void write_fault(const Layer *layer, size_t line, const char *place, const char *what) {
        char number[32] = "";

        if (!layer->n_reterr)
                return;
        if (line)
                snprintf(number, sizeof(number), ":%zu", line);
        snprintf(layer->reterr, layer->n_reterr, "%s%s: %s%s%s", layer->name, number, place,
                 *place ? ": " : "", what);
        make_clean(layer->reterr);
}

int layer_refuse_at(const Layer *layer, size_t line, const char *what) {
        write_fault(layer, line, "", what);
        return COOPFILE_E_INVALID;
}

int layer_refuse(const Layer *layer, const char *format, ...) {
        char what[256], place[256], item[32] = "";
        va_list args;

        va_start(args, format);
        vsnprintf(what, sizeof(what), format, args);
        va_end(args);
        if (layer->item >= 0)
                snprintf(item, sizeof(item), "[%td]", layer->item);
        snprintf(place, sizeof(place), STR_FMT "%s" STR_FMT "%s", STR_ARG(layer->table),
                 layer->key.n ? "." : "", STR_ARG(layer->key), item);
        write_fault(layer, coopfile_fault_line_of(layer->text, layer->table, layer->key), place, what);
        return COOPFILE_E_INVALID;
}

/*
 * What a text of a coopfile must look like. Names and folders that end up in a path of ours (user, persist)
 * must not be able to leave it.
 */

enum { USER_MAX = 32, VOLUME_NAME_MAX = 64 };

static bool coopfile_checks_is_one_of(const char *text, const char *const *words) {
        for (; *words; words++)
                if (!strcmp(text, *words))
                        return true;
        return false;
}

static bool has_dotdot(const char *path) {
        for (; *path; path += strspn(path, "/")) {
                size_t n = strcspn(path, "/");

                if (n == 2 && !memcmp(path, "..", 2))
                        return true;
                path += n;
        }
        return false;
}

/* `~` or `~/x`. */
static bool is_from_home(const char *path) {
        return path[0] == '~' && (path[1] == '/' || !path[1]);
}

const char *check_not_empty(const char *text) {
        return *text ? NULL : "must not be empty";
}

const char *check_network(const char *text) {
        static const char *const modes[] = {"none", "host", "veth", NULL};

        return coopfile_checks_is_one_of(text, modes) ? NULL : "must be none, host or veth";
}

const char *check_mode(const char *text) {
        static const char *const modes[] = {"none", "bwrap", NULL};

        return coopfile_checks_is_one_of(text, modes) ? NULL : "must be none or bwrap";
}

const char *check_size(const char *text) {
        return !strcmp(text, "last") || !strcmp(text, "smallest") ? NULL : "must be last or smallest";
}

const char *check_user(const char *text) {
        size_t n = 0;

        for (; text[n]; n++)
                if (!isalnum((unsigned char)text[n]) && text[n] != '_' && (!n || !strchr("-.", text[n])))
                        break;
        return n && n <= USER_MAX && !text[n]
                       ? NULL
                       : "must be 1 to 32 letters, digits and _ - . and begin with none of - .";
}

const char *check_folder(const char *text) {
        if (text[0] == '~' && !is_from_home(text))
                return "only ~ and ~/… are known, not the home of another user";
        return check_not_empty(text);
}

const char *check_source(const char *text) {
        if (*text && text[0] != '.' && text[0] != '~' && !strchr(text, '/') && !is_volume_name(text))
                return "a named volume has 1 to 64 letters, digits and _ - . in its name; a path begins "
                       "with "
                       "/, ~/ or ./";
        return check_folder(text);
}

/* Becomes a folder of ours: nothing that could leave it. */
bool is_volume_name(const char *text) {
        size_t n = 0;

        for (; text[n]; n++)
                if (!isalnum((unsigned char)text[n]) && text[n] != '_' && (!n || !strchr("-.", text[n])))
                        return false;
        return n && n <= VOLUME_NAME_MAX;
}

const char *check_hide(const char *text) {
        if (text[0] != '/' && !is_from_home(text))
                return "must begin with / or ~/";
        return has_dotdot(text) ? "must not contain .." : NULL;
}

const char *check_inside(const char *text) {
        if (text[0] != '/' && !is_from_home(text))
                return "the path inside must begin with / or ~/";
        if (!text[strspn(text, "/")])
                return "the path inside must not be /";
        return has_dotdot(text) ? "the path inside must not contain .." : NULL;
}

const char *check_persist(const char *text) {
        if (!*text || text[0] == '/' || text[0] == '~' || has_dotdot(text) || !text[strspn(text, "./")])
                return "must be a folder below the home, such as .claude";
        return NULL;
}

/*
 * What a coopfile asks for and does not get, in words: it was written for a daemon that builds root file
 * systems from images, and nothing of it is passed over in silence.
 */

static int notes_push(StrVec *notes, const char *format, ...) _printf_(2, 3);

static int notes_push(StrVec *notes, const char *format, ...) {
        char line[512];
        va_list args;

        va_start(args, format);
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        return error_trace(strvec_push(notes, line));
}

static int note_packages(const Coopfile *file, StrVec *notes) {
        _cleanup_(buf_deinit) Buf names = BUF_NULL;
        int r = 0;

        for (size_t i = 0; !r && i < file->n_packages; i++)
                r = buf_printf(&names, "%s%s", i ? ", " : "", file->packages[i].manager);
        if (r || !names.n)
                return error_trace(r);
        return error_trace(notes_push(notes, "packages: nothing is installed (%s)", buf_cstr(&names)));
}

/* There is no image: the root is the host's. */
static int note_image(const Coopfile *file, StrVec *notes) {
        int r = 0;

        if (file->image)
                r = notes_push(notes,
                               "image: %s is not used; what is installed on the host is what there is",
                               file->image);
        if (!r)
                r = note_packages(file, notes);
        if (!r && file->setup.n)
                r = notes_push(notes, "setup: %zu command%s not run", file->setup.n,
                               file->setup.n > 1 ? "s are" : " is");
        if (!r && file->user)
                r = notes_push(notes, "user: it runs as yourself, not as %s", file->user);
        return error_trace(r);
}

static int note_workspace(const Coopfile *file, const char *workspace, StrVec *notes) {
        int r = 0;

        if (strcmp(file->workspace_mount, workspace) != 0 && strcmp(file->workspace_mount, "/") != 0) {
                size_t n = strlen(workspace);

                /* "." is the workspace with a slash behind it */
                if (strncmp(file->workspace_mount, workspace, n) != 0 ||
                    file->workspace_mount[n + strspn(file->workspace_mount + n, "/")])
                        r = notes_push(notes, "workspace.mount: the workspace is %s, not %s", workspace,
                                       file->workspace_mount);
        }
        if (!r && file->workspace_path && strcmp(file->workspace_path, workspace) != 0)
                r = notes_push(notes, "workspace.path: the workspace is at its own path inside, not at %s",
                               file->workspace_path);
        return error_trace(r);
}

static int note_env(const Coopfile *file, StrVec *notes) {
        int r = 0;

        for (size_t i = 0; !r && i < file->env_unset.n; i++)
                r = notes_push(notes, "env.%s: the daemon's environment has no such variable: empty",
                               file->env_unset.items[i]);
        return error_trace(r);
}

/* What only a sandbox can do. */
static int note_bare(const Coopfile *file, StrVec *notes) {
        int r = 0;

        if (file->n_mounts)
                r = notes_push(notes, "mounts: nothing is mounted, for there is no sandbox");
        if (!r && file->hide.n)
                r = notes_push(notes, "hide: nothing is hidden, for there is no sandbox");
        if (!r && strcmp(file->network, "host") != 0)
                r = notes_push(notes,
                               "network.mode: it has the host's network and not %s, for there is no sandbox",
                               file->network);
        return error_trace(r);
}

int coopfile_notes(const Coopfile *file, const char *workspace, const char *mode, StrVec *ret) {
        int r = note_image(file, ret);

        if (!r)
                r = note_workspace(file, workspace, ret);
        if (!r)
                r = note_env(file, ret);
        if (!r && !strcmp(mode, "none"))
                r = note_bare(file, ret);
        if (!r && file->none_is_ignored && strcmp(mode, "none") != 0)
                r = notes_push(ret,
                               "sandbox.mode: none is not taken from coop.toml, which the agent can write");
        return error_trace(r);
}
