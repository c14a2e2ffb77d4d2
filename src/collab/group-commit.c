/* SPDX-License-Identifier: MIT */
/*
 * Keeping a change: lines and files through the ledger; then the new documents take the place of the old
 * ones and the next edit may begin; then registry and feed; then the reply. A registry or feed that cannot
 * be written does not fail the call: what counts is kept by then, the registry is tried again, the feed is
 * only a hint.
 */
#define LOG_MODULE "collab/group"

#include "collab/group-commit.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/feed.h"

static int group_commit_failure(GroupChange *change, int r) {
        if (!change->call)
                return r;
        if (change->group->is_deleting)
                return call_fail(change->call, CALL_E_GROUP_NOT_FOUND, "group not found: %s",
                                 change->group->id);
        if (r == -EMSGSIZE)
                return call_fail(change->call, CALL_E_TOO_LARGE, "the event is too large");
        if (!change->error)
                return r;
        return call_fail(change->call, change->error, "cannot keep the change: %s", strerror(-r));
}

static void group_commit_fail(GroupChange *change, int r) {
        Group *group = group_ref(change->group);
        Call *call = change->call;

        if (change->is_edit)
                group_edit_end(
                        group); /* before the call ends, which the edit's place in the line belongs to */
        if (change->failed)
                change->failed(change, r);
        else if (call)
                call_finish(call, group_commit_failure(change, r));
        else
                log_err(&group->collab->daemon->log, group->id, "cannot keep a change: %s", strerror(-r));
        group_change_free(change);
        group_unref(group);
}

/* ---- after the ledger ------------------------------------------------------------------------ */

static void group_commit_finish(GroupChange *change) {
        if (change->reply)
                change->reply(change->call, change);
        if (change->call)
                call_finish(change->call, 0);
        group_change_free(change);
}

static void group_commit_on_feed_done(void *user, _unused_ int r) {
        group_commit_finish(user);
}

static void after_registry(GroupChange *change) {
        Collab *collab = change->group->collab;

        if (!change->feed.n ||
            feed_append(collab, buf_str(&change->feed), group_commit_on_feed_done, change))
                group_commit_finish(change);
}

static void group_commit_on_registry_done(RegistryEdit *edit, _unused_ int r) {
        after_registry(container_of(edit, GroupChange, registry));
}

/* The files are ours now. A program that replaced one since then is noticed at the next look, unless it did
 * so between the rename and this stat. */
static void group_commit_adopt(GroupChange *change) {
        Group *group = change->group;

        if (change->doc)
                group_set_doc(group, steal(&change->doc));
        if (change->cursors) {
                document_unref(group->cursors);
                group->cursors = steal(&change->cursors);
        }
}

void group_commit_done(LedgerChange *ledger, int r) {
        GroupChange *change = container_of(ledger, GroupChange, ledger);
        Group *group = change->group;

        if (r == -ESTALE && change->is_edit) {
                group_change_free(change); /* the edit holds the group */
                group_edit_again(group);
                return;
        }
        if (r) {
                group_commit_fail(change, r);
                return;
        }
        group_commit_adopt(change);
        if (change->is_edit)
                group_edit_end(group);
        if (change->has_registry) {
                change->registry.done = group_commit_on_registry_done;
                registry_commit(&group->collab->registry, &change->registry);
        } else
                after_registry(change);
}

/* ---- before it ------------------------------------------------------------------------------- */

static int add_doc(GroupChange *change) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char now[TIME_TEXT_MAX];
        int r;

        time_format_us(loop_wall_us(change->group->collab->daemon->loop), now);
        r = group_doc_text(change->doc, str_from(now), &text);
        if (!r)
                r = ledger_change_file(&change->ledger, change->group->doc_path, buf_str(&text),
                                       &change->doc->document->identity);
        if (!r)
                ledger_change_file_identity(&change->ledger, &change->doc->document->identity);
        return error_trace(r);
}

static int add_cursors(GroupChange *change) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = document_write(change->cursors, DOCUMENT_JSON, &text);

        if (!r)
                r = ledger_change_file(&change->ledger, change->group->cursors_path, buf_str(&text),
                                       &change->cursors->identity);
        if (!r)
                ledger_change_file_identity(&change->ledger, &change->cursors->identity);
        return error_trace(r);
}

int group_change_commit_or(GroupChange *change, GroupReplyFn reply,
                           void (*failed)(GroupChange *change, int r)) {
        int r;

        if (!change)
                return error_origin(-ENOMEM);
        group_change_end_line(change);
        if (change->group->is_deleting)
                change_try(change, -ENOENT);
        if (!change->r && change->doc)
                change_try(change, add_doc(change));
        if (!change->r && change->cursors)
                change_try(change, add_cursors(change));
        change->reply = reply;
        change->failed = failed;
        if (!change->r)
                change->r = ledger_change_commit(&change->ledger);
        if (!change->r)
                return CALL_LATER;
        r = group_commit_failure(change, change->r);
        (void)group_change_abort(change);
        return r;
}

int group_change_commit(GroupChange *change, GroupReplyFn reply) {
        return group_change_commit_or(change, reply, NULL);
}
