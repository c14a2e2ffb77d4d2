/* SPDX-License-Identifier: MIT */
/*
 * Loading a group: both documents on a worker, then the ledger. It is a turn of the group's lane of loads,
 * which serves all that wait when it begins. A file that another program changes during the load shows as
 * not fresh at the next call.
 */
#define LOG_MODULE "collab/group"

#include <sys/stat.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/parts.h"

enum { RELOADS_MAX = 3 };

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

static void group_load_run(Lane *lane) {
        Group *group = container_of(lane, Group, loads);
        GroupLoad *load = &group->load;

        load->r = group_load_read_doc(group->doc_path, &load->doc);
        if (!load->r)
                load->r = read_cursors(group->cursors_path, &load->cursors);
        if (!load->r && !group->ledger)
                load->r = dir_make(group->state_path, 0700);
        if (!load->r && !group->ledger)
                group_load_close_to_others(group->dir);
}

/* ---- loop ------------------------------------------------------------------------------------ */

/* The turn is over before anybody is told: those who are may ask for the group again. */
static void group_load_finish(Group *group, int r) {
        LaneItems told = STAILQ_HEAD_INITIALIZER(told);
        LaneItem *item;

        group_ref(group);
        STAILQ_CONCAT(&told, &group->load.served);
        group->load.n_again = 0;
        lane_over(&group->loads);
        while ((item = STAILQ_FIRST(&told))) {
                GroupCall *wait = container_of(item, GroupCall, load);

                STAILQ_REMOVE_HEAD(&told, next);
                wait->loaded(wait, r);
        }
        group_unref(group);
}

static void on_given_up(void *user) {
        Group *group = user;

        group_load_finish(group, group->load.r);
}

static void group_load_on_opened(void *user, int r) {
        Group *group = user;

        if (r) {
                log_err(&group->collab->daemon->log, group->id, "cannot open the ledger: %s", strerror(-r));
                group->load.r = r;
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
                .totals = &group->collab->daemon->ledgers,
                .path = group->ledger_path,
                .state_path = group->state_path,

                .classify = collab_classify,
                .committed = group_on_committed,
                .rewritten = group_on_rewritten,
                .user = group,
        };

        ledger_options_apply(&options, &group->collab->daemon->config);
        return error_trace(ledger_open(&group->ledger, &options, group_load_on_opened));
}

/* What was read may be older than what a commit has put here meanwhile. */
static void group_load_take(Group *group) {
        GroupLoad *load = &group->load;

        group_offer_doc(group, steal(&load->doc));
        if (document_is_fresh(group->cursors, group->cursors_path))
                load->cursors = document_unref(load->cursors);
        else {
                document_unref(group->cursors);
                group->cursors = steal(&load->cursors);
        }
}

/* Whoever waits must not get what was torn; but files that never hold still are taken as they were. */
static void group_load_done(Lane *lane) {
        Group *group = container_of(lane, Group, loads);
        GroupLoad *load = &group->load;
        int r = load->r;

        if (!r)
                group_load_take(group);
        else {
                group_doc_unref(steal(&load->doc));
                document_unref(steal(&load->cursors));
        }
        if (!r && !group_is_read(group, NULL) && load->n_again++ < RELOADS_MAX &&
            !lane_work(lane, group_load_run, group_load_done))
                return;
        if (!r && !group->ledger) {
                r = open_ledger(group);
                if (!r)
                        return;
        }
        group_load_finish(group, r);
}

/* Those who came while the last load was under way are often served by it. */
static void group_load_begin(Lane *lane) {
        Group *group = container_of(lane, Group, loads);
        int r = 0;

        lane_take_all(lane, &group->load.served);
        if (group->is_closing)
                return; /* group_reopen() comes back here */
        if (!group->doc || !group->ledger || !group_is_read(group, NULL)) {
                r = lane_work(lane, group_load_run, group_load_done);
                if (!r)
                        return;
        }
        group_load_finish(group, r);
}

const LaneType group_loads = {.begin = group_load_begin, .n_max = LANE_WAITING_MAX};

void group_reopen(Group *group) {
        group->is_closing = false;
        if (group->loads.is_busy)
                group_load_begin(&group->loads);
        else if (lane_is_idle(&group->loads))
                group_forget(group);
}

int group_load(GroupCall *wait) {
        return error_trace(lane_add(&wait->group->loads, &wait->load));
}
