/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/group/group-work.h"
#include "collab/group/scope.h"
#include "collab/message/post.h"

/*
 * What a message needs from the disk before it can be kept. Runs on a worker; what it finds is looked at
 * later, in the order of the contract's checks.
 */

/* ---- attachments ----------------------------------------------------------------------------- */

bool post_has_attachments(const Json *attachments) {
        bool truth = true;
        double number = 1;

        json_bool(attachments, &truth);
        json_double(attachments, &number);
        if (json_is(attachments, JSON_NULL) || !truth || number == 0)
                return false;
        if (json_is(attachments, JSON_STRING))
                return json_str(attachments).n > 0;
        return attachments && (attachments->type < JSON_ARRAY || json_count(attachments) > 0);
}

bool post_is_blob_path(Str path) {
        const Str folder = STR("state/blobs/");
        Str rest = path;

        if (!str_starts(path, folder) || path.n == folder.n || memchr(path.data, 0, path.n))
                return false;
        while (rest.n) {
                const char *slash = memchr(rest.data, '/', rest.n);
                size_t n = slash ? (size_t)(slash - rest.data) : rest.n;

                if (str_is((Str){rest.data, n}, ".."))
                        return false;
                n += slash ? 1 : 0;
                rest = (Str){rest.data + n, rest.n - n};
        }
        return true;
}

static Str post_prepare_text_of(const Json *item, const char *key) {
        return str_trim(json_str(json_get(item, key)));
}

/* NULL: all is well. */
static const char *check_file(const Group *group, const Post *post, const Json *item, PostFile *file) {
        _cleanup_(freep) char *path = NULL;
        struct stat st;

        *file = (PostFile){.kind = post_prepare_text_of(item, "kind"),
                           .path = post_prepare_text_of(item, "path"),
                           .title = post_prepare_text_of(item, "title"),
                           .mime_type = post_prepare_text_of(item, "mime_type"),
                           .sha256 = post_prepare_text_of(item, "sha256")};
        if (!file->kind.n)
                file->kind = STR("file");
        if (!json_is(item, JSON_OBJECT))
                return "an attachment must be an object";
        if (!post_is_blob_path(file->path))
                return "invalid attachment path";
        file->path = arena_str(&post->call->arena, file->path);
        path = file->path.data ? path_join(group->dir, file->path.data) : NULL;
        if (!path || lstat(path, &st) || !S_ISREG(st.st_mode))
                return "attachment file not found";
        file->n_bytes = st.st_size;
        return NULL;
}

/* The call is not touched by anybody else meanwhile, so its arena is the worker's. */
static int check_files(const Group *group, Post *post) {
        const Json *list = post->attachments;
        PostPrepared *prepared = &post->prepared;

        if (!post_has_files(list))
                return 0;
        if (!json_is(list, JSON_ARRAY)) {
                prepared->file_fault = "attachments must be a list";
                return 0;
        }
        prepared->files = arena_alloc(&post->call->arena, json_count(list) * sizeof(PostFile));
        if (!prepared->files)
                return error_origin(-ENOMEM);
        json_each (item, list) {
                prepared->file_fault = check_file(group, post, item, &prepared->files[prepared->n_files++]);
                if (prepared->file_fault)
                        return 0;
        }
        return 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int post_prepare_find_scope(Post *post) {
        Scope scope;
        int r = post->path.n ? scope_detect(&post->call->arena, post->path, &scope) : 0;

        if (!r && post->path.n)
                post->prepared.scope_key = scope.key;
        return error_fold(r);
}

static int make_room_for_text(const Group *group, Post *post) {
        char digits[SHA256_HEX_MAX];
        _cleanup_(freep) char *path = NULL;
        int r;

        if (post->text.n <= EVENT_TEXT_MAX)
                return 0;
        path = path_join(group->dir, "state/ledger/blobs");
        r = path ? dir_make(path, 0700) : -ENOMEM;
        if (!r)
                r = sha256_hex(post->text, digits);
        if (r)
                return error_trace(r);
        post->prepared.text_sha256 = arena_str(&post->call->arena, str_from(digits));
        return post->prepared.text_sha256.data ? 0 : error_origin(-ENOMEM);
}

static int post_prepare_run(const Group *group, const Carry *carry) {
        Post *post = container_of(carry, Post, carry);
        int r = post_prepare_find_scope(post);

        if (!r)
                r = check_files(group, post);
        if (!r)
                r = make_room_for_text(group, post);
        if (!r && post->dst_group_id.n)
                r = dir_make(group->collab->crossings_path, 0700);
        post->prepared.is_done = true;
        return error_trace(r);
}

int post_prepare(Call *call, Group *group, Post *post, GroupFn again) {
        post->call = call;
        return group_work(call, group, post_prepare_run, again, &post->carry);
}
