/* SPDX-License-Identifier: MIT */
/*
 * The list of groups: the registry's entries with what only the groups themselves know. Documents that are
 * not in memory, or changed, are read by one job and kept for the next time; their ledgers stay closed.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "gen/cccc-ops.h"

typedef struct Entry {
        const Json *json;
        Group *group; /* NULL: the id is no group's */
        int64_t updated_us;
        GroupDoc *read; /* by the job */
        bool is_stale;
        GroupState state;
} Entry;

typedef struct ListJob {
        Call *call;
        Document *registry;
        Entry *entries;
        size_t n;
} ListJob;

static int newest_first(const void *a, const void *b) {
        const Entry *x = a, *y = b;

        return (x->updated_us < y->updated_us) - (x->updated_us > y->updated_us);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void write_entry(JsonWriter *w, const Entry *entry) {
        char ts[TIME_TEXT_MAX];

        time_format_us(entry->updated_us, ts);
        jw_begin_object(w);
        json_each (member, entry->json) {
                Str key = json_key(member);
                if (str_is(key, "running") || str_is(key, "state"))
                        continue;
                jw_key_str(w, key);
                if (str_is(key, "updated_at") && entry->updated_us)
                        jw_cstr(w, ts);
                else
                        jw_value(w, member);
        }
        jw_field_bool(w, "running", entry->group && !entry->is_stale && group_is_running(entry->group));
        jw_field_cstr(w, "state", group_state_name(entry->state));
        jw_end_object(w);
}

static void groups_answer(ListJob *job) {
        JsonWriter *w = call_result(job->call);

        qsort(job->entries, job->n, sizeof(*job->entries), newest_first);
        jw_begin_object(w);
        jw_key(w, "groups");
        jw_begin_array(w);
        for (size_t i = 0; i < job->n; i++)
                write_entry(w, &job->entries[i]);
        jw_end_array(w);
        jw_end_object(w);
        document_unref(job->registry);
        for (size_t i = 0; i < job->n; i++)
                group_unref(job->entries[i].group);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void groups_run(void *user) {
        ListJob *job = user;

        for (size_t i = 0; i < job->n; i++) {
                Entry *entry = &job->entries[i];
                Document *document = NULL;
                if (entry->is_stale && !document_read(&document, entry->group->doc_path, DOCUMENT_YAML))
                        entry->read = group_doc_new(document);
        }
}

static void groups_done(void *user) {
        ListJob *job = user;
        Call *call = job->call;

        for (size_t i = 0; i < job->n; i++) {
                Entry *entry = &job->entries[i];
                if (!entry->read)
                        continue;
                entry->is_stale = false;
                entry->state = entry->read->state;
                if (entry->group->is_loading || entry->group->edits)
                        group_doc_unref(entry->read); /* somebody else is at it */
                else
                        group_offer_doc(entry->group, entry->read);
        }
        groups_answer(job);
        call_finish(call, 0);
}

static int groups_add_entry(Collab *collab, ListJob *job, const Json *json) {
        Entry *entry = &job->entries[job->n];
        int r = 0;

        *entry = (Entry){.json = json};
        if (!json_is(json, JSON_OBJECT))
                return 0;
        if (group_id_is_valid(json_key(json)))
                r = group_get(collab, json_key(json), &entry->group);
        if (r)
                return error_trace(r);
        if (!time_parse(json_str(json_get(json, "updated_at")), &entry->updated_us))
                entry->updated_us = 0;
        if (entry->group) {
                Group *group = group_ref(entry->group);
                entry->updated_us = MAX(entry->updated_us, group->touched_us);
                entry->is_stale =
                        !document_is_fresh(group->doc ? group->doc->document : NULL, group->doc_path);
                if (!entry->is_stale && group->doc)
                        entry->state = group->doc->state;
        }
        job->n++;
        return 0;
}

static int groups_list(Call *call, Registry *registry, _unused_ const void *args) {
        const Json *groups = json_get(registry->document->json, "groups");
        ListJob *job = arena_alloc(&call->arena, sizeof(*job));
        bool is_stale = false;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (ListJob){.call = call, .registry = document_ref(registry->document)};
        job->entries = arena_alloc(&call->arena, (json_count(groups) + 1) * sizeof(*job->entries));
        json_each (item, json_is(groups, JSON_OBJECT) && job->entries ? groups : NULL) {
                if (groups_add_entry(registry->collab, job, item))
                        break; /* without memory: the list is as long as it got */
                is_stale |= job->entries[job->n ? job->n - 1 : 0].is_stale;
        }
        if (is_stale && !loop_work(call->daemon->loop, groups_run, groups_done, job))
                return CALL_LATER;
        groups_answer(job);
        return 0;
}

int op_cccc_groups(Call *call, const CcccGroupsArgs *args) {
        return registry_call(call, groups_list, args);
}
