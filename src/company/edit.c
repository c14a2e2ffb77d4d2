/* SPDX-License-Identifier: MIT */
#include "company/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "company/place.h"
#include "company/workspace.h"
#include "core/daemon.h"

typedef struct EditSeen EditSeen;
struct EditSeen {
        EditSeen *next;
        const char *path;
        FileIdentity identity; /* all zero: it was missing */
};

/* A document that has to be there: files of the edit lie in its folder. */
typedef struct EditOwner EditOwner;
struct EditOwner {
        EditOwner *next;
        const char *path, *kind;
        Str id;
        bool is_made; /* by the edit itself */
};

int edit_fail(Edit *edit, int error, const char *format, ...) {
        char text[512];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        return call_fail(edit->call, error, "%s", text);
}

int edit_refuse(Edit *edit, int error, const char *format, ...) {
        char text[512];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        edit->refused = call_fail(edit->call, error, "%s", text);
        return 0;
}

bool edit_try(Edit *edit, int r) {
        if (!edit->r && r)
                edit->r = r < 0 ? r : error_fold(-EINVAL);
        return !edit->r;
}

static const EditSeen *edit_seen(const Edit *edit, const char *path) {
        for (const EditSeen *seen = edit->seen; seen; seen = seen->next)
                if (strcmp(seen->path, path) == 0)
                        return seen;
        return NULL;
}

/* What was seen first counts: what was decided by it is not undone by a second look. */
static int edit_remember(Edit *edit, const char *path, const FileIdentity *identity) {
        EditSeen *seen;
        Str copy;

        if (edit_seen(edit, path))
                return 0;
        seen = arena_alloc(edit->arena, sizeof(*seen));
        copy = arena_str(edit->arena, str_from(path));
        if (!seen || !copy.data)
                return error_origin(-ENOMEM);
        *seen = (EditSeen){.next = edit->seen, .path = copy.data, .identity = *identity};
        edit->seen = seen;
        return 0;
}

static int edit_read_fd(Edit *edit, int fd, size_t n_max, Str *ret) {
        struct stat st;
        size_t n = 0, room;
        char *text;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return error_origin(-EISDIR);
        room = MIN((size_t)st.st_size, n_max) + 1;
        text = arena_alloc(edit->arena, room + 1);
        while (text && n < room) {
                ssize_t got = pread(fd, text + n, room - n, (off_t)n);

                if (got < 0 && errno != EINTR)
                        return error_origin(-errno);
                if (got == 0)
                        break;
                n += got > 0 ? (size_t)got : 0;
        }
        if (!text)
                return error_origin(-ENOMEM);
        if (n > n_max)
                return FILE_E_TOO_LARGE;
        text[n] = 0;
        *ret = (Str){text, n};
        return 0;
}

int edit_read(Edit *edit, const char *path, size_t n_max, Str *ret) {
        _cleanup_(closep) int fd = path_open_beneath(edit->root, path, O_RDONLY | O_NONBLOCK, 0);
        FileIdentity identity = {0};
        int r;

        *ret = STR("");
        if (fd == -ENOENT || fd == -ENOTDIR) {
                r = edit_remember(edit, path, &identity);
                return r ? error_trace(r) : FILE_E_MISSING;
        }
        r = fd < 0 ? fd : file_identify_fd(fd, &identity);
        r = r ? r : edit_remember(edit, path, &identity);
        return r ? error_trace(r) : edit_read_fd(edit, fd, n_max ? n_max : EDIT_READ_MAX, ret);
}

bool edit_exists(Edit *edit, const char *path) {
        int r = place_look(edit->root, path);

        (void)edit_try(edit, r < 0 ? r : 0);
        if (!r)
                edit->found = path;
        return !r;
}

static int edit_added(Edit *edit, int r) {
        (void)edit_try(edit, r);
        return r;
}

static void edit_note_owner(Edit *edit, const char *path) {
        const char *kind;
        Str id;
        const char *owner = place_owner(edit->arena, path, &kind, &id);
        EditOwner *at = edit->owners;

        while (owner && at && strcmp(at->path, owner) != 0)
                at = at->next;
        if (owner && !at && (at = arena_alloc(edit->arena, sizeof(*at)))) {
                *at = (EditOwner){
                        .next = edit->owners, .path = owner, .kind = kind, .id = arena_str(edit->arena, id)};
                edit->owners = at;
        }
        if (owner && at)
                at->is_made |= strcmp(owner, path) == 0;
        (void)edit_try(edit, owner && !at ? -ENOMEM : 0);
}

/* Its last look at it counts: that was in the same decision. */
static bool edit_has_owner(const Edit *edit, const char *path) {
        return (edit->found && strcmp(edit->found, path) == 0) || place_has(edit->root, path);
}

/* An id that is nobody's would make a folder of nobody, and the workspace one that is not valid any more. Of a few methods
   the facts say that they do. */
static int edit_check_owners(Edit *edit) {
        for (const EditOwner *owner = edit->owners; owner && !edit->makes_folders; owner = owner->next)
                if (!owner->is_made && !edit_has_owner(edit, owner->path))
                        return edit_fail(edit, CALL_E_COMPANY, "%s not found: " STR_FMT, owner->kind,
                                         STR_ARG(owner->id));
        return 0;
}

int edit_expect(Edit *edit, const char *path) {
        const EditSeen *seen = edit_seen(edit, path);

        return seen ? edit_added(edit, store_change_expect(&edit->change, path, &seen->identity)) : 0;
}

int edit_create(Edit *edit, const char *path, Str bytes) {
        edit_note_owner(edit, path);
        return edit_added(edit, store_change_create(&edit->change, path, bytes));
}

int edit_replace(Edit *edit, const char *path, Str bytes) {
        const EditSeen *seen = edit_seen(edit, path);

        edit_note_owner(edit, path);
        return edit_added(edit,
                          store_change_replace(&edit->change, path, bytes, seen ? &seen->identity : NULL));
}

int edit_remove(Edit *edit, const char *path) {
        const EditSeen *seen = edit_seen(edit, path);

        return edit_added(edit, store_change_remove(&edit->change, path, seen ? &seen->identity : NULL));
}

int edit_append(Edit *edit, const char *path, Str lines) {
        edit_note_owner(edit, path);
        return edit_added(edit, store_change_append(&edit->change, path, lines));
}

int edit_grow(Edit *edit, const char *path, uint64_t at, Str bytes) {
        edit_note_owner(edit, path);
        return edit_added(edit, store_change_grow(&edit->change, path, at, bytes));
}

int edit_mkdir(Edit *edit, const char *path) {
        edit_note_owner(edit, path);
        return edit_added(edit, store_change_mkdir(&edit->change, path));
}

Str edit_id(Edit *edit, const char *prefix) {
        Workspace *workspace = edit->workspace;
        char ulid[ID_ULID_MAX];
        Str id = STR_NULL;
        int r;

        pthread_mutex_lock(&workspace->id_lock);
        r = id_ulid(&workspace->last_id, edit->wall_us, ulid);
        pthread_mutex_unlock(&workspace->id_lock);
        if (edit_try(edit, r))
                id = arena_printf(edit->arena, "%s_%s", prefix, ulid);
        (void)edit_try(edit, id.data ? 0 : -ENOMEM);
        return id.data ? id : STR("");
}

Str edit_now(Edit *edit) {
        char text[TIME_TEXT_MAX];
        Str now;

        time_format_ms(edit->wall_us, text);
        now = arena_str(edit->arena, str_from(text));
        (void)edit_try(edit, now.data ? 0 : -ENOMEM);
        return now;
}

/* A failure of the machine, in words that a person can do something with. */
static int edit_explain(Edit *edit, int r) {
        Call *call = edit->call;
        pid_t other = store_other(edit->workspace->store);

        if (r == -EWOULDBLOCK)
                return call_fail(call, CALL_E_COMPANY, "Another daemon writes to this workspace (pid %d)",
                                 (int)other);
        if (r == -ETIMEDOUT)
                return call_fail(
                        call, CALL_E_COMPANY,
                        "Timed out waiting for the workspace's lock, .local/locks/workspace.write.lock");
        if (r == -ESTALE)
                return call_fail(call, CALL_E_COMPANY,
                                 "The files of this workspace change all the time; try again");
        if (r == -ELOOP || r == -EXDEV)
                return call_fail(call, CALL_E_COMPANY,
                                 "A link stands in the way: nothing is written through links");
        return call_fail(call, CALL_E_COMPANY, "The workspace could not be written: %s", strerror(-r));
}

static int edit_start(Edit *edit);

static int edit_answer(Edit *edit) {
        if (edit->refused)
                return edit->refused;
        if (edit->then)
                return edit->then(edit->call, edit, edit->carry);
        edit->reply(edit->call, edit, edit->carry);
        return 0;
}

/* What cannot be kept fails the call, unless that goes on without it. */
static int edit_fail_or_go_on(Edit *edit, int r) {
        if (edit->goes_on) {
                edit->call->error = 0;
                return edit_answer(edit);
        }
        return r < 0 ? edit_explain(edit, r) : r;
}

static void edit_on_kept(StoreChange *change, int r) {
        Edit *edit = container_of(change, Edit, change);
        Call *call = edit->call;

        if (r == -ESTALE && edit->n_tries < EDIT_TRIES)
                r = edit_start(edit);
        else
                r = r ? edit_fail_or_go_on(edit, r) : edit_answer(edit);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static void edit_run(const Carry *carry) {
        Edit *edit = container_of(carry, Edit, step);
        int r = edit->decide(edit, edit->carry);

        edit->r = r ? r : edit->r;
        if (!edit->r)
                edit->r = edit_check_owners(edit);
        if (!edit->r)
                store_change_make_ahead(&edit->change);
        buf_deinit(&edit->text);
        /* Others that are about to be ready are committed with it, by one sync. */
        if (atomic_fetch_sub(&edit->workspace->n_deciding, 1) == 1 && !edit->r &&
            !store_change_is_empty(&edit->change))
                edit->is_kept = store_change_commit_here(&edit->change, edit->wall_us);
}

static int edit_decided(Call *call _unused_, const Carry *carry) {
        Edit *edit = container_of(carry, Edit, step);
        int r = edit->r;

        if (edit->is_kept) {
                edit->is_kept = false;
                store_change_settle(&edit->change);
                return CALL_LATER; /* edit_on_kept() has answered, or will */
        }
        if (r == 0 && store_change_is_empty(&edit->change))
                return edit_answer(edit);
        if (r == 0)
                r = store_change_commit(&edit->change);
        if (r == 0)
                return CALL_LATER;
        store_change_deinit(&edit->change);
        return edit_fail_or_go_on(edit, r);
}

static int edit_start(Edit *edit) {
        Daemon *daemon = edit->call->daemon;
        int r;

        edit->n_tries++;
        edit->r = edit->refused = edit->call->error = 0;
        edit->seen = NULL;
        edit->found = NULL;
        edit->owners = NULL;
        edit->wall_us = loop_wall_us(daemon->loop);
        edit->since_ms = loop_now_ms(daemon->loop) - daemon->started_ms;
        store_change_init(&edit->change, edit->workspace->store, edit_on_kept);
        atomic_fetch_add(&edit->workspace->n_deciding, 1);
        r = call_work(edit->call, edit_run, edit_decided, &edit->step);
        if (r != CALL_LATER)
                atomic_fetch_sub(&edit->workspace->n_deciding, 1);
        return r;
}

static int edit_new(Call *call, Workspace *workspace, const Edit *how) {
        Edit *edit = arena_alloc(&call->arena, sizeof(*edit));

        if (!edit)
                return error_origin(-ENOMEM);
        *edit = *how;
        edit->call = call;
        edit->workspace = workspace;
        edit->root = workspace->root;
        edit->arena = &call->arena;
        return edit_start(edit);
}

int company_edit(Call *call, Workspace *workspace, EditDecideFn decide, EditReplyFn reply,
                 const Carry *carry) {
        return edit_new(call, workspace, &(Edit){.decide = decide, .reply = reply, .carry = carry});
}

int company_edit_then(Call *call, Workspace *workspace, EditDecideFn decide, EditThenFn then,
                      const Carry *carry) {
        return edit_new(call, workspace, &(Edit){.decide = decide, .then = then, .carry = carry});
}

int company_edit_and_go_on(Call *call, Workspace *workspace, EditDecideFn decide, EditThenFn then,
                           const Carry *carry) {
        return edit_new(call, workspace,
                        &(Edit){.decide = decide, .then = then, .carry = carry, .goes_on = true});
}
