/* SPDX-License-Identifier: MIT */
#include "cli/link/group-name.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "cli/cli.h"
#include "cli/print/report.h"

enum { GROUP_NAME_REGISTRY_MAX = 16 << 20 };

static bool group_name_begins(const char *id, const char *word) {
        size_t n = strlen(word);

        return n && (!strncmp(id, word, n) || (!strncmp(id, "g_", 2) && !strncmp(id + 2, word, n)));
}

/* The first one is kept; a second one makes it ambiguous. */
static int group_name_take(const char *id, const char *word, char **ret) {
        if (*ret) {
                complain(CLI_USAGE, "several groups are meant by %s: %s, %s, …", word, *ret, id);
                return GROUP_NAME_E_AMBIGUOUS;
        }
        *ret = strdup(id);
        return *ret ? 0 : error_origin(-ENOMEM);
}

static int group_name_by_title(const char *home, const char *word, char **ret) {
        _cleanup_(freep) char *path = path_join(home, "registry.json");
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int r = 0;

        if (!path || file_read(path, GROUP_NAME_REGISTRY_MAX, &text) ||
            json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return path ? 0 : error_origin(-ENOMEM);
        json_each (group, json_get(json, "groups")) {
                Str id = arena_str(&arena, json_key(group)),
                    title = arena_str(&arena, json_str(json_get(group, "title"))); /* with a NUL */

                if (!r && id.n && title.n && !strcasecmp(title.data, word))
                        r = group_name_take(id.data, word, ret);
        }
        return r;
}

static int group_name_by_id(const char *home, const char *word, bool is_whole, char **ret) {
        _cleanup_(freep) char *groups = path_join(home, "groups");
        DIR *dir = groups ? opendir(groups) : NULL;
        struct dirent *entry;
        int r = 0;

        if (!dir)
                return groups ? 0 : error_origin(-ENOMEM);
        while (!r && (entry = readdir(dir)))
                if (entry->d_name[0] != '.' &&
                    (is_whole ? !strcmp(entry->d_name, word) : group_name_begins(entry->d_name, word)))
                        r = group_name_take(entry->d_name, word, ret);
        closedir(dir);
        return r;
}

int group_name_find(const char *home, const char *word, char **ret) {
        int r = group_name_by_id(home, word, true, ret);

        if (!r && !*ret)
                r = group_name_by_title(home, word, ret);
        if (!r && !*ret)
                r = group_name_by_id(home, word, false, ret);
        return r;
}
