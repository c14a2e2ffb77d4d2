/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "core/store/store-internal.h"

void store_change_init(StoreChange *change, Store *store, void (*done)(StoreChange *change, int r)) {
        *change = (StoreChange){.store = store, .done = done};
}

void store_change_deinit(StoreChange *change) {
        store_ahead_drop(change);
        buf_deinit(&change->steps);
}

bool store_change_is_empty(const StoreChange *change) {
        return change->steps.n == 0;
}

static size_t step_padded(size_t n) {
        return (n + 7) & ~(size_t)7;
}

static int step_add_both(Buf *out, const StepHead *head, const char *path, Str first, Str second) {
        size_t n = head->n_path + first.n + second.n;
        int r = buf_reserve(out, sizeof(*head) + step_padded(n));

        if (r)
                return error_trace(r);
        (void)buf_append(out, head, sizeof(*head));
        (void)buf_append(out, path, head->n_path);
        (void)buf_append_str(out, first);
        (void)buf_append_str(out, second);
        return error_trace(buf_append(out, "\0\0\0\0\0\0\0", step_padded(n) - n));
}

int step_add(Buf *out, const StepHead *head, const char *path, Str bytes) {
        return error_trace(step_add_both(out, head, path, bytes, STR_NULL));
}

/* Relative, and every part of it a name. */
static int step_check_path(const char *path) {
        if (strlen(path) >= STORE_PATH_MAX)
                return error_origin(-ENAMETOOLONG);
        for (;; path++) {
                size_t n = strcspn(path, "/");

                if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
                        return error_origin(-EINVAL);
                path += n;
                if (!*path)
                        return 0;
        }
}

bool step_next(Str steps, size_t *at, Step *ret) {
        StepHead *head = &ret->head;
        size_t n_left = steps.n - MIN(*at, steps.n);

        if (n_left < sizeof(*head))
                return false;
        memcpy(head, steps.data + *at, sizeof(*head));
        n_left -= sizeof(*head);
        if (head->kind < STEP_MKDIR || head->kind > STEP_GROW || !head->n_path || head->n_path > n_left ||
            head->n_bytes > n_left - head->n_path || head->n_kind > head->n_bytes)
                return false;
        ret->path = steps.data + *at + sizeof(*head);
        ret->bytes = (Str){ret->path + head->n_path, (size_t)head->n_bytes};
        ret->offset = *at;
        *at += MIN(sizeof(*head) + step_padded(head->n_path + (size_t)head->n_bytes), steps.n - *at);
        return ret->path[head->n_path - 1] == 0 && strlen(ret->path) == head->n_path - 1 &&
               step_check_path(ret->path) == 0;
}

static int store_change_add(StoreChange *change, StepKind kind, const char *path, Str bytes,
                            const FileIdentity *expect) {
        StepHead head = {.kind = kind, .n_path = (uint32_t)strlen(path) + 1, .n_bytes = bytes.n};
        int r = step_check_path(path);

        if (r)
                return error_trace(r);
        if (expect)
                head.expect = *expect;
        head.has_expect = expect != NULL;
        change->needs_lock |= kind != STEP_APPEND && kind != STEP_EVENT && kind != STEP_MKDIR;
        return error_trace(step_add(&change->steps, &head, path, bytes));
}

int store_change_reserve(StoreChange *change, size_t n) {
        return error_trace(buf_reserve(&change->steps, n));
}

int store_change_mkdir(StoreChange *change, const char *path) {
        return store_change_add(change, STEP_MKDIR, path, STR_NULL, NULL);
}

int store_change_create(StoreChange *change, const char *path, Str bytes) {
        return store_change_add(change, STEP_CREATE, path, bytes, &(FileIdentity){0});
}

int store_change_replace(StoreChange *change, const char *path, Str bytes, const FileIdentity *expect) {
        return store_change_add(change, STEP_REPLACE, path, bytes, expect);
}

int store_change_remove(StoreChange *change, const char *path, const FileIdentity *expect) {
        return store_change_add(change, STEP_REMOVE, path, STR_NULL, expect);
}

int store_change_expect(StoreChange *change, const char *path, const FileIdentity *expect) {
        return store_change_add(change, STEP_EXPECT, path, STR_NULL, expect);
}

int store_change_append(StoreChange *change, const char *path, Str lines) {
        if (!lines.n || lines.data[lines.n - 1] != '\n')
                return error_origin(-EINVAL);
        if (lines.n > TRAIL_LINE_MAX)
                return error_origin(-EMSGSIZE);
        return store_change_add(change, STEP_APPEND, path, lines, NULL);
}

int store_change_grow(StoreChange *change, const char *path, uint64_t at, Str bytes) {
        StepHead head = {
                .kind = STEP_GROW, .n_path = (uint32_t)strlen(path) + 1, .n_bytes = bytes.n, .at = at};
        int r = step_check_path(path);

        if (bytes.n > TRAIL_LINE_MAX)
                return error_origin(-EMSGSIZE);
        return error_trace(r ? r : step_add(&change->steps, &head, path, bytes));
}

int store_change_event(StoreChange *change, const char *path, Str kind, Str body) {
        StepHead head = {.kind = STEP_EVENT,
                         .n_path = (uint32_t)strlen(path) + 1,
                         .n_kind = (uint32_t)kind.n,
                         .n_bytes = kind.n + body.n};
        int r = step_check_path(path);

        if (body.n < 2 || body.data[0] != '{' || body.data[body.n - 1] != '}' ||
            memchr(body.data, '\n', body.n))
                return error_origin(-EINVAL);
        if (body.n + TRAIL_SEAL_MAX > TRAIL_LINE_MAX)
                return error_origin(-EMSGSIZE);
        return error_trace(r ? r : step_add_both(&change->steps, &head, path, kind, body));
}
