/* SPDX-License-Identifier: MIT */
/*
 * Native methods about attachments: a file of the active folder becomes one, and where one lies.
 *
 * The file is looked for and copied on a worker. Its path is resolved first and then opened below the folder through no link, so
 * that what is swapped meanwhile cannot lead out of it. The copy lies in state/blobs under its SHA-256, as the contract has it.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "collab/collab.h"
#include "collab/group/group-work.h"
#include "collab/message/post.h"
#include "gen/cccc-ops.h"
#include "gen/native-ops.h"

enum { FILE_SENT_MAX = 64 << 20, FILE_NAME_CHARS = 120 };

typedef struct FileSend {
        Carry carry;
        Call *call;
        const NativeGroupSendFileArgs *args;
        Str root;
        int error; /* CALL_E_*: what the worker found wrong; 0: nothing */
        char name[FILE_NAME_CHARS + 1];
        char sha256[SHA256_HEX_MAX];
        Str path; /* of the copy, below the group's folder */
        int64_t n_bytes;
} FileSend;

/* Letters, digits and . _ - only; what would be nothing but those is called file. */
static void file_name_clean(const char *from, char out[FILE_NAME_CHARS + 1]) {
        size_t n = 0;
        bool has_letter = false, is_gap = false;

        for (; *from && n < FILE_NAME_CHARS; from++) {
                unsigned char c = (unsigned char)*from;
                bool is_kept = c < 0x80 && (isalnum(c) || strchr("._-", c));

                if (is_kept || !is_gap)
                        out[n++] = is_kept ? (char)c : '_';
                is_gap = !is_kept;
                has_letter |= is_kept && isalnum(c);
        }
        out[n] = '\0';
        if (!has_letter)
                memcpy(out, "file", sizeof("file"));
}

static const char *file_mime(const char *name) {
        static const char *const types[][2] = {
                {"png", "image/png"},       {"jpg", "image/jpeg"},        {"jpeg", "image/jpeg"},
                {"gif", "image/gif"},       {"webp", "image/webp"},       {"svg", "image/svg+xml"},
                {"txt", "text/plain"},      {"md", "text/markdown"},      {"html", "text/html"},
                {"csv", "text/csv"},        {"json", "application/json"}, {"pdf", "application/pdf"},
                {"zip", "application/zip"}, {"gz", "application/gzip"},   {"py", "text/x-python"}};
        const char *dot = strrchr(name, '.');

        for (size_t i = 0; dot && i < ARRAY_SIZE(types); i++)
                if (!strcasecmp(dot + 1, types[i][0]))
                        return types[i][1];
        return "";
}

static int file_refuse(FileSend *self, int error) {
        self->error = error;
        return 0;
}

/* The copy, unless there is one already: its name says what is in it. */
static int file_keep(const Group *group, FileSend *self, Str bytes) {
        _cleanup_(freep) char *folder = path_join(group->dir, "state/blobs"), *path = NULL;
        struct stat st;
        int r = folder ? dir_make(folder, 0700) : -ENOMEM;

        if (!r)
                r = sha256_hex(bytes, self->sha256);
        if (r)
                return error_trace(r);
        self->n_bytes = (int64_t)bytes.n;
        self->path = arena_printf(&self->call->arena, "state/blobs/%s_%s", self->sha256, self->name);
        path = self->path.data ? path_join(group->dir, self->path.data) : NULL;
        if (!path)
                return error_origin(-ENOMEM);
        if (!lstat(path, &st) && S_ISREG(st.st_mode) && st.st_size == self->n_bytes)
                return 0;
        return error_trace(file_replace(path, bytes, 0600, FILE_DURABLE));
}

static int file_copy(const Group *group, FileSend *self, int root, const char *below) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        int fd = path_open_beneath(root, below, O_RDONLY | O_NONBLOCK, 0), r = 0;
        struct stat st;

        if (fd < 0)
                return file_refuse(self, fd == -ENOENT ? CALL_E_FILE_NOT_FOUND : CALL_E_FILE_NOT_READ);
        if (fstat(fd, &st) || !S_ISREG(st.st_mode))
                r = file_refuse(self, CALL_E_FILE_NOT_FOUND);
        else if (file_read_fd(fd, FILE_SENT_MAX, &bytes))
                r = file_refuse(self, CALL_E_FILE_NOT_READ);
        else
                r = file_keep(group, self, buf_str(&bytes));
        close_fd(fd);
        return r;
}

static int file_send_run(const Group *group, const Carry *carry) {
        FileSend *self = container_of(carry, FileSend, carry);
        _cleanup_(freep) char *root = path_resolve(self->root.data), *asked = NULL, *path = NULL;
        int fd, r;

        if (root)
                asked = self->args->path.data[0] == '/' ? str_dup(self->args->path)
                                                        : path_join(root, self->args->path.data);
        path = asked ? path_resolve(asked) : NULL;
        if (!path)
                return error_origin(-ENOMEM);
        if (!path_is_within(path, root) || !strcmp(path, root))
                return file_refuse(self, CALL_E_INVALID_PATH);
        fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return file_refuse(self, CALL_E_FILE_NOT_FOUND);
        file_name_clean(strrchr(path, '/') + 1, self->name);
        r = file_copy(group, self, fd, path + strlen(root) + (root[1] ? 1 : 0));
        close_fd(fd);
        return r;
}

static Json *file_attachment(Call *call, const FileSend *self) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const char *mime = file_mime(self->name);
        Json *list = NULL;
        Str kept;

        jw_begin_array(&w);
        jw_begin_object(&w);
        jw_field_cstr(&w, "kind", strncmp(mime, "image/", 6) ? "file" : "image");
        jw_field_str(&w, "path", self->path);
        jw_field_cstr(&w, "title", self->name);
        jw_field_cstr(&w, "mime_type", mime);
        jw_field_int(&w, "bytes", self->n_bytes);
        jw_field_cstr(&w, "sha256", self->sha256);
        jw_end_object(&w);
        jw_end_array(&w);
        kept = w.failed ? STR_NULL : arena_str(&call->arena, buf_str(&text));
        return kept.data && !json_parse(&call->arena, kept.data, kept.n, NULL, &list, NULL) ? list : NULL;
}

/* From here on it is a message like any other. */
static int file_post(Call *call, Group *group, const Carry *carry) {
        const FileSend *self = container_of(carry, FileSend, carry);
        const NativeGroupSendFileArgs *args = self->args;
        CcccSendArgs *message = arena_alloc(&call->arena, sizeof(*message));
        Str text = str_trim(args->text);

        if (self->error)
                return call_fail(call, self->error,
                                 self->error == CALL_E_INVALID_PATH
                                         ? "the path must lie below the active folder of the group"
                                 : self->error == CALL_E_FILE_NOT_FOUND
                                         ? "there is no such file"
                                         : "the file cannot be read, or is over 64 MiB");
        if (!message)
                return error_origin(-ENOMEM);
        *message = (CcccSendArgs){
                .group_id = args->group,
                .by = args->by,
                .text = text.n ? text : arena_printf(&call->arena, "[file] %s", self->name),
                .to = args->to,
                .priority = args->priority,
                .client_id = args->key,
                .attachments = file_attachment(call, self),
        };
        return message->attachments && message->text.data ? op_cccc_send(call, group, message)
                                                          : error_origin(-ENOMEM);
}

int op_native_group_send_file(Call *call, Group *group, const NativeGroupSendFileArgs *args) {
        const ScopeView *scope = group_doc_scope(group->doc, group->doc->active_scope_key);
        FileSend *self = arena_alloc(&call->arena, sizeof(*self));
        int r = post_check_priority(call, args->priority);

        if (r)
                return r;
        if (!self)
                return error_origin(-ENOMEM);
        if (!scope || !scope->url.n)
                return call_fail(call, CALL_E_MISSING_SCOPE, "the group has no active folder");
        *self = (FileSend){.call = call, .args = args, .root = arena_str(&call->arena, scope->url)};
        if (!self->root.data)
                return error_origin(-ENOMEM);
        return group_work(call, group, file_send_run, file_post, &self->carry);
}

int op_native_group_blob(Call *call, Group *group, const NativeGroupBlobArgs *args) {
        _cleanup_(freep) char *path = NULL;
        JsonWriter *w;

        if (!post_is_blob_path(args->path))
                return call_fail(call, CALL_E_INVALID_PATH,
                                 "the path of an attachment begins with state/blobs/");
        path = path_join(group->dir, args->path.data);
        if (!path)
                return error_origin(-ENOMEM);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "path", path);
        jw_end_object(w);
        return 0;
}
