/* SPDX-License-Identifier: MIT */
/* Conversations and their messages, as they lie in their files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/collate.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "company/place.h"
#include "company/talk/talk.h"
#include "core/document.h"
#include "gen/shapes.h"

/* ---- conversations --------------------------------------------------------------------------- */

/* What belongs to its scope alone; the shape cannot tell. */
static bool talk_is_whole(const Json *json, Str project_id) {
        bool is_project = str_is(json_text_of(json, "scope"), "project");

        return shape_fits(&shape_conversation, json) &&
               is_project == (json_get(json, "project_id") != NULL) && is_project == (project_id.n > 0) &&
               (!str_is(json_text_of(json, "kind"), "dm") || json_get(json, "dm_peer_agent_id"));
}

static int talk_load(int root, Arena *arena, const char *folder, Str project_id, Json **ret) {
        const char *path = folder ? arena_printf(arena, "%s/conversation.yaml", folder).data : NULL;
        Json *json = NULL;
        int r = path ? document_load(arena, root, path, DOCUMENT_YAML, &json, NULL, NULL)
                     : DOCUMENT_E_MISSING;

        *ret = !r && talk_is_whole(json, project_id) ? json : NULL;
        return r < 0 ? error_trace(r) : 0;
}

Json *talk_conversation(int root, Arena *arena, Str project_id, Str conversation_id,
                        const char **ret_folder) {
        Json *json = NULL;

        for (int is_home = project_id.n ? 1 : 0; is_home < 2 && !json; is_home++) {
                *ret_folder = place_conversation(arena, project_id, conversation_id, is_home, "");
                (void)talk_load(root, arena, *ret_folder, project_id, &json);
                if (json && !str_eq(json_text_of(json, "id"), conversation_id))
                        json = NULL;
        }
        return json;
}

static int talk_rank(const Json *conversation) {
        Str slug = json_text_of(conversation, "slug");

        if (str_is(slug, "home"))
                return 0;
        if (str_is(slug, "executive-meeting"))
                return 1;
        return str_is(json_text_of(conversation, "kind"), "dm") ? 3 : 2;
}

static int talk_compare(const void *a, const void *b) {
        const Json *x = *(Json *const *)a, *y = *(Json *const *)b;
        int order = talk_rank(x) - talk_rank(y);

        if (!order)
                order = text_compare(json_text_of(x, "name"), json_text_of(y, "name"));
        return order ? order : text_compare(json_text_of(x, "id"), json_text_of(y, "id"));
}

static int talk_sorted(Arena *arena, Json **items, size_t n, Json **ret) {
        Json *list = json_new(arena, JSON_ARRAY);

        if (n)
                qsort(items, n, sizeof(*items), talk_compare);
        for (size_t i = 0; i < n; i++)
                if (!list || json_push(list, items[i]))
                        return error_origin(-ENOMEM);
        *ret = list;
        return list ? 0 : error_origin(-ENOMEM);
}

int talk_conversations(int root, Arena *arena, Str project_id, Json **ret) {
        const char *folder =
                project_id.n ? place_project(arena, project_id, "conversations") : "inbox/conversations";
        StrList ids = {0};
        Json **items = NULL;
        size_t n = 0;
        int r = place_names(arena, root, folder, NULL, &ids);

        items = r ? NULL : arena_alloc(arena, (ids.n + 1) * sizeof(Json *));
        if (!r && !items)
                r = error_origin(-ENOMEM);
        if (!r && !project_id.n) {
                r = talk_load(root, arena, place_conversation(arena, STR_NULL, STR_NULL, true, ""), STR_NULL,
                              &items[n]);
                n += !r && items[n];
        }
        for (size_t i = 0; !r && i < ids.n; i++) {
                r = talk_load(root, arena, place_conversation(arena, project_id, ids.items[i], false, ""),
                              project_id, &items[n]);
                n += !r && items[n];
        }
        return r ? error_trace(r) : talk_sorted(arena, items, n, ret);
}

/* ---- messages -------------------------------------------------------------------------------- */

enum {
        TALK_TAIL_MIN = 64 * 1024,        /* bytes of the end of messages.jsonl that are read first */
        TALK_TAIL_MAX = 64 * 1024 * 1024, /* and at most: older messages are not listed */
};

/* The messages of whole lines, the last one first, at most limit. */
static int talk_parse_tail(Arena *arena, Str text, size_t limit, Json **items, size_t *ret_n) {
        static const JsonLimits limits = {.is_lenient = true, .n_values = 1 << 18};
        size_t n = 0;

        while (text.n && n < limit) {
                const char *start = memrchr(text.data, '\n', text.n);
                Str line = start ? (Str){start + 1, text.n - (size_t)(start + 1 - text.data)} : text;
                Json *json = NULL;
                int r;

                text.n -= line.n + (start ? 1 : 0);
                if (!str_trim(line).n)
                        continue;
                r = json_parse(arena, line.data, line.n, &limits, &json, NULL);
                if (r < 0)
                        return error_trace(r);
                if (!r && shape_fits(&shape_message, json))
                        items[n++] = json;
        }
        *ret_n = n;
        return 0;
}

static int talk_read_tail(int fd, Arena *arena, off_t from, size_t n, Str *ret) {
        char *bytes = arena_alloc(arena, n);
        size_t n_read = 0;

        while (bytes && n_read < n) {
                ssize_t got = pread(fd, bytes + n_read, n - n_read, from + (off_t)n_read);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_origin(-errno);
                if (!got)
                        break;
                n_read += (size_t)got;
        }
        *ret = (Str){bytes, n_read};
        return bytes ? 0 : error_origin(-ENOMEM);
}

/* From the end backwards, twice as far each time, until there are enough. A line that begins before the part
 * that was read is left out: it is cut. */
static int talk_collect(int fd, Arena *arena, size_t limit, Json **items, size_t *ret_n) {
        struct stat st;
        size_t window = TALK_TAIL_MIN;

        if (fstat(fd, &st))
                return error_origin(-errno);
        for (;; window *= 2) {
                size_t n = MIN(window, (size_t)st.st_size);
                Str text;
                int r = talk_read_tail(fd, arena, st.st_size - (off_t)n, n, &text);

                if (!r && n < (size_t)st.st_size) {
                        const char *first = memchr(text.data, '\n', text.n);
                        size_t n_cut = first ? (size_t)(first + 1 - text.data) : text.n;

                        text = (Str){text.data + n_cut, text.n - n_cut};
                }
                if (!r)
                        r = talk_parse_tail(arena, text, limit, items, ret_n);
                if (r || *ret_n == limit || n == (size_t)st.st_size || window >= TALK_TAIL_MAX)
                        return error_trace(r);
        }
}

int talk_messages(int root, Arena *arena, const char *folder, size_t limit, Json **ret) {
        const char *path = folder ? arena_printf(arena, "%s/messages.jsonl", folder).data : NULL;
        _cleanup_(closep) int fd = path ? path_open_beneath(root, path, O_RDONLY | O_NONBLOCK, 0) : -ENOENT;
        Json **items = arena_alloc(arena, limit * sizeof(Json *)), *list = json_new(arena, JSON_ARRAY);
        size_t n = 0;
        int r = items && list ? 0 : error_origin(-ENOMEM);

        if (!r && fd >= 0)
                r = talk_collect(fd, arena, limit, items, &n);
        else if (!r && fd != -ENOENT && fd != -ENOTDIR)
                r = error_trace(fd);
        while (!r && n > 0)
                r = json_push(list, items[--n]);
        *ret = list;
        return error_trace(r);
}
