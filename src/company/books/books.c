/* SPDX-License-Identifier: MIT */
#include "company/books/books.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/macro.h"
#include "base/time.h"
#include "company/place.h"
#include "core/document.h"

enum { BOOKS_FOLDER_MODE = 0755, BOOKS_FILE_MODE = 0644 };

/* ---- default documents ----------------------------------------------------------------------- */

static const char books_machine_text[] =
        "{\"schema_version\":1,\"type\":\"machine\",\"repo_roots\":{},\"provider_bins\":{},"
        "\"provider_execution_policy\":{"
        "\"codex\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true,"
        "\"proof_strategy\":\"codex_cli\",\"allowed_bin_patterns\":[\"codex\"]},"
        "\"codex_app_server\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true,"
        "\"proof_strategy\":\"codex_cli\",\"allowed_bin_patterns\":[\"codex\"]},"
        "\"claude\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true,"
        "\"proof_strategy\":\"claude_cli\",\"allowed_bin_patterns\":[\"claude\"]},"
        "\"claude_code\":{\"channel\":\"subscription_cli\",\"require_subscription_proof\":true,"
        "\"proof_strategy\":\"claude_cli\",\"allowed_bin_patterns\":[\"claude\"]},"
        "\"gemini\":{\"channel\":\"api\",\"require_subscription_proof\":false,\"allowed_bin_patterns\":["
        "\"gemini\"]},"
        "\"manager\":{\"channel\":\"api\",\"require_subscription_proof\":false,\"allowed_bin_patterns\":[]}}"
        ","
        "\"provider_pricing_usd_per_1k_tokens\":{}}";

static const char books_policy_text[] =
        "{\"schema_version\":1,\"type\":\"policy\",\"id\":\"\",\"visibility_defaults\":{"
        "\"worker_journal\":\"private_agent\",\"worker_milestone_artifact\":\"team\","
        "\"manager_proposal\":\"managers\",\"director_workplan\":\"org\"}}";

static Json *books_parse(Arena *arena, const char *text) {
        Json *json = NULL;

        return json_parse(arena, text, strlen(text), NULL, &json, NULL) ? NULL : json;
}

Json *books_machine(Arena *arena) {
        return books_parse(arena, books_machine_text);
}

static Json *books_id(Arena *arena, const char *prefix, int64_t wall_us) {
        char text[ID_ULID_MAX];
        IdUlid maker = {0};

        if (id_ulid(&maker, wall_us, text))
                return NULL;
        return json_new_str(arena, arena_printf(arena, "%s_%s", prefix, text));
}

static Json *books_policy(const BooksInit *init) {
        Json *json = books_parse(init->arena, books_policy_text);

        if (!json || json_set(init->arena, json, STR("id"), books_id(init->arena, "art", init->wall_us)))
                return NULL;
        return json;
}

static Json *books_company(const BooksInit *init) {
        Json *json = books_parse(init->arena, "{\"schema_version\":1,\"type\":\"company\"}");
        char text[TIME_TEXT_MAX];
        Str now = {text, time_format_ms(init->wall_us, text)};

        if (!json || json_set(init->arena, json, STR("id"), books_id(init->arena, "cmp", init->wall_us)) ||
            json_set(init->arena, json, STR("name"), json_new_str(init->arena, init->company_name)) ||
            json_set(init->arena, json, STR("created_at"), json_new_str(init->arena, now)))
                return NULL;
        return json;
}

/* ---- a new workspace ------------------------------------------------------------------------- */

static int books_refuse(BooksInit *init, const char *format, const char *what) {
        init->why = arena_printf(init->arena, "%s: %s", what, format);
        return init->why.data ? BOOKS_E_REFUSED : error_origin(-ENOMEM);
}

/* Whether anything lies in it. */
static int books_is_empty(int root, bool *ret) {
        int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!dir)
                return error_origin(-errno);
        *ret = true;
        while ((entry = readdir(dir)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        *ret = false;
        closedir(dir);
        return 0;
}

/* The list has parents before what lies in them, so none of them is a link when it is used. */
static int books_make_tree(BooksInit *init, int root) {
        for (const char *const *path = place_folders; *path; path++) {
                int fd;

                if (mkdirat(root, *path, BOOKS_FOLDER_MODE) && errno != EEXIST)
                        return error_origin(-errno);
                fd = path_open_beneath(root, *path, O_RDONLY | O_DIRECTORY, 0);
                if (fd == -ENOTDIR || fd == -ELOOP || fd == -EXDEV)
                        return books_refuse(init, "is no folder of the workspace", *path);
                if (fd < 0)
                        return error_trace(fd);
                if (fsync(fd)) {
                        int r = error_origin(-errno);

                        close(fd);
                        return r;
                }
                close(fd);
        }
        return 0;
}

static int books_put(const BooksInit *init, const char *path, const Json *json) {
        _cleanup_(freep) char *full = path_join(init->path.data, path);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = full && json ? document_text(json, DOCUMENT_YAML, STR_NULL, &text) : error_origin(-ENOMEM);

        return r ? error_trace(r)
                 : error_trace(file_replace(full, buf_str(&text), BOOKS_FILE_MODE, FILE_DURABLE));
}

int books_init(BooksInit *init) {
        _cleanup_(closep) int root = -1;
        bool is_empty = false;
        int r = dir_make(init->path.data, BOOKS_FOLDER_MODE);

        if (r == -ENOTDIR || r == -EEXIST)
                return books_refuse(init, "is no folder", init->path.data);
        if (r)
                return error_trace(r);
        root = open(init->path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0 && errno == ENOTDIR)
                return books_refuse(init, "is no folder", init->path.data);
        r = root < 0 ? error_origin(-errno) : books_is_empty(root, &is_empty);
        if (!r && !is_empty && !init->is_forced)
                return books_refuse(init,
                                    "the folder is not empty; force makes a workspace of it all the same",
                                    init->path.data);
        if (!r)
                r = books_make_tree(init, root);
        if (!r)
                r = books_put(init, PLACE_MACHINE, books_machine(init->arena));
        if (!r)
                r = books_put(init, PLACE_POLICY, books_policy(init));
        if (!r)
                r = books_put(init, PLACE_COMPANY, books_company(init));
        return error_trace(r);
}
