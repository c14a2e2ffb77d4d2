/* SPDX-License-Identifier: MIT */
/*
 * Loading a group: both documents on a worker, then the ledger. Whoever needs the group meanwhile waits in
 * one list; only one load of a group is under way. A file that another program changes during the load shows
 * as not fresh at the next call.
 */
#define LOG_MODULE "collab/group"

#include <sys/stat.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/events.h"
#include "collab/parts.h"

enum { RELOADS_MAX = 3 };

typedef struct LoadJob {
        Group *group;
        GroupDoc *doc;
        Document *cursors;
        int r; /* as of group_load() */
} LoadJob;

/* ---- worker ---------------------------------------------------------------------------------- */

/* Cursors that cannot be read count as none; what stood there is lost with the next mark, as in every reader
 * of this file. */
static int read_cursors(const char *path, Document **ret) {
        int r = document_read(ret, path, DOCUMENT_JSON);

        if (r <= 0)
                return error_trace(r);
        *ret = document_new();
        return *ret ? error_trace(file_identify(path, &(*ret)->identity)) : error_origin(-ENOMEM);
}

static int group_load_read_doc(const char *path, GroupDoc **ret) {
        Document *document = NULL;
        int r = document_read(&document, path, DOCUMENT_YAML);

        if (r > 0)
                return GROUP_E_NOT_FOUND;
        if (r)
                return error_trace(r);
        *ret = group_doc_new(document);
        return *ret ? 0 : error_origin(-ENOMEM);
}

/* Folders of the original, and ours of old, let others look at what the group says. */
static void group_load_close_to_others(const char *dir) {
        struct stat st;

        if (!stat(dir, &st) && st.st_mode & 077)
                (void)chmod(dir, st.st_mode & 0700); /* not ours to change: then it stays */
}

static void group_load_run(void *user) {
        LoadJob *job = user;

        job->r = group_load_read_doc(job->group->doc_path, &job->doc);
        if (!job->r)
                job->r = read_cursors(job->group->cursors_path, &job->cursors);
        if (!job->r && !job->group->ledger)
                job->r = dir_make(job->group->state_path, 0700);
        if (!job->r && !job->group->ledger)
                group_load_close_to_others(job->group->dir);
}

/* ---- loop ------------------------------------------------------------------------------------ */

static void group_load_finish(Group *group, int r) {
        GroupCall *wait = group->waiting;

        group->is_loading = false;
        group->waiting = NULL;
        group->waiting_end = &group->waiting;
        while (wait) {
                GroupCall *next = wait->next;
                wait->next = NULL;
                wait->loaded(wait, r);
                wait = next;
        }
        group_unref(group);
}

static void group_load_on_committed(void *user, uint64_t first, uint64_t n) {
        Group *group = user;

        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->committed)
                        (*part)->committed(group, first, n);
}

static void group_load_on_rewritten(void *user) {
        Group *group = user;

        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->rewritten)
                        (*part)->rewritten(group);
}

static void on_given_up(void *user) {
        group_load_finish(user, -EIO);
}

static void group_load_on_opened(void *user, int r) {
        Group *group = user;

        if (r) {
                log_err(&group->collab->daemon->log, group->id, "cannot open the ledger: %s", strerror(-r));
                ledger_close(steal(&group->ledger), on_given_up, group);
                return;
        }
        for (const CollabPart *const *part = collab_parts; !r && *part; part++)
                if ((*part)->group_opened)
                        r = (*part)->group_opened(group);
        group_load_finish(group, r);
}

static int open_ledger(Group *group) {
        LedgerOptions options = {
                .loop = group->collab->daemon->loop,
                .path = group->ledger_path,
                .state_path = group->state_path,

                .classify = collab_classify,
                .committed = group_load_on_committed,
                .rewritten = group_load_on_rewritten,
                .user = group,
        };

        ledger_options_apply(&options, &group->collab->daemon->config);
        return error_trace(ledger_open(&group->ledger, &options, group_load_on_opened));
}

/* What was read may be older than what a commit has put here meanwhile. */
static void group_load_take(Group *group, LoadJob *job) {
        group_offer_doc(group, job->doc);
        if (document_is_fresh(group->cursors, group->cursors_path))
                document_unref(job->cursors);
        else {
                document_unref(group->cursors);
                group->cursors = job->cursors;
        }
}

static bool is_old(const Group *group) {
        return !document_is_fresh(group->doc->document, group->doc_path) ||
               !document_is_fresh(group->cursors, group->cursors_path);
}

static int group_load_start(Group *group);

/* Whoever waits must not get what was true before he asked; but files that never hold still are taken as
 * they were. */
static void group_load_done(void *user) {
        LoadJob *job = user;
        Group *group = job->group;
        int r = job->r;

        if (!r)
                group_load_take(group, job);
        else {
                group_doc_unref(job->doc);
                document_unref(job->cursors);
        }
        free(job);
        if (!r && is_old(group) && group->n_reloads++ < RELOADS_MAX && !group_load_start(group)) {
                group_unref(group); /* the new job has its own reference */
                return;
        }
        group->n_reloads = 0;
        if (!r && !group->ledger) {
                r = open_ledger(group);
                if (!r)
                        return;
        }
        group_load_finish(group, r);
}

static int group_load_start(Group *group) {
        LoadJob *job = calloc(1, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        job->group = group_ref(group);
        if (!loop_work(group->collab->daemon->loop, group_load_run, group_load_done, job)) {
                group->is_loading = true;
                return 0;
        }
        group_unref(group);
        free(job);
        return error_origin(-ENOMEM);
}

void group_reopen(Group *group) {
        int r = 0;

        group->is_loading = false;
        if (!group->waiting) {
                group_forget(group);
                return;
        }
        r = group_load_start(group);
        if (r) {
                group_ref(group);
                group_load_finish(group, r);
        }
}

int group_load(GroupCall *wait) {
        Group *group = wait->group;
        int r = group->is_loading ? 0 : group_load_start(group);

        if (r)
                return error_trace(r);
        wait->next = NULL;
        *group->waiting_end = wait;
        group->waiting_end = &wait->next;
        return 0;
}
