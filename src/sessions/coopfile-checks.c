/* SPDX-License-Identifier: MIT */
/*
 * What a text of a coopfile must look like. Names and folders that end up in a path of ours (user, persist)
 * must not be able to leave it.
 */
#include <ctype.h>

#include "sessions/coopfile-internal.h"

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
