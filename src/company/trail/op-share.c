/* SPDX-License-Identifier: MIT */
/*
 * company.sharepack.create: what managers and everybody may see of a project, copied into a pack for others: artifacts, and
 * the events of its runs. What looks like a secret is masked, so the chains of the copies do not verify.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/trail/mask.h"
#include "core/document.h"
#include "gen/native-ops.h"

enum { SHARE_BYTES_MAX = 64 << 20 }; /* of a pack; a project with more is refused */

typedef struct Share {
        Edit *edit;
        Str project_id, id;
        size_t n_bytes;
        Buf artifacts, runs; /* entries of the manifest, as JSON */
        JsonWriter of_artifacts, of_runs;
} Share;

static bool share_is_public(Str visibility) {
        return str_is(visibility, "managers") || str_is(visibility, "org");
}

/* Where a copy lies; NULL without memory. */
static const char *share_place(Share *share, const char *folder, Str name, const char *suffix) {
        Str path =
                arena_printf(share->edit->arena, "bundle/%s/" STR_FMT "%s", folder, STR_ARG(name), suffix);

        return path.data ? place_share_pack(share->edit->arena, share->project_id, share->id, path.data)
                         : NULL;
}

/* Masked, into the pack. As decide() returns. */
static int share_copy(Share *share, const char *to, Str text) {
        _cleanup_(buf_deinit) Buf masked = BUF_NULL;
        Str copy;
        int r = mask_append(&masked, text);

        share->n_bytes += masked.n;
        if (share->n_bytes > SHARE_BYTES_MAX)
                return edit_fail(share->edit, CALL_E_COMPANY, "The project has more than %d MiB to share",
                                 SHARE_BYTES_MAX >> 20);
        copy = r ? STR_NULL : arena_str(share->edit->arena, buf_str(&masked));
        return copy.data && to ? error_trace(edit_create(share->edit, to, copy)) : error_origin(-ENOMEM);
}

static int share_artifact(Share *share, Str name) {
        Edit *edit = share->edit;
        const char *from = place_artifact(edit->arena, share->project_id, name, ".md"),
                   *to = share_place(share, "artifacts", name, ".md");
        JsonWriter *w = &share->of_artifacts;
        Json *matter = NULL;
        Str text;
        int r = from ? edit_read(edit, from, 0, &text) : FILE_E_MISSING;

        if (r < 0)
                return error_trace(r);
        if (r || document_parse(edit->arena, text, DOCUMENT_MATTER, &matter, NULL, NULL) ||
            !share_is_public(json_text_of(matter, "visibility")) || !json_text_of(matter, "type").n)
                return 0;
        jw_begin_object(w);
        jw_field_str(w, "artifact_id", name);
        jw_field_str(w, "type", json_text_of(matter, "type"));
        jw_field_str(w, "visibility", json_text_of(matter, "visibility"));
        jw_field_cstr(w, "source_relpath", from);
        jw_field_cstr(w, "bundle_relpath", to);
        jw_end_object(w);
        return share_copy(share, to, text);
}

/* Lines of events that may be seen; those that are no events stay behind. */
static int share_pick(Str text, Buf *out, int64_t *n) {
        _cleanup_(arena_deinit) Arena own = ARENA_NULL;
        int r = 0;

        while (!r && text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                Str line = {text.data, end ? (size_t)(end - text.data) : text.n};
                Json *event = NULL;

                arena_reset(&own);
                text = (Str){text.data + line.n + (end != NULL), text.n - line.n - (end != NULL)};
                if (json_parse(&own, line.data, line.n, NULL, &event, NULL) ||
                    !share_is_public(json_text_of(event, "visibility")))
                        continue;
                r = buf_append_str(out, line);
                if (!r)
                        r = buf_append(out, "\n", 1);
                (*n)++;
        }
        return error_trace(r);
}

static int share_run(Share *share, Str run_id) {
        _cleanup_(buf_deinit) Buf lines = BUF_NULL;
        Edit *edit = share->edit;
        const char *from = place_run(edit->arena, share->project_id, run_id, "events.jsonl"),
                   *to = share_place(share, "run_events", run_id, ".events.jsonl");
        JsonWriter *w = &share->of_runs;
        int64_t n = 0;
        Str text;
        int r = from ? edit_read(edit, from, SHARE_BYTES_MAX, &text) : FILE_E_MISSING;

        if (r == FILE_E_TOO_LARGE)
                return edit_fail(edit, CALL_E_COMPANY, "Run " STR_FMT " has too many events to share",
                                 STR_ARG(run_id));
        if (r)
                return r < 0 ? error_trace(r) : 0;
        r = share_pick(text, &lines, &n);
        if (r || !n)
                return error_trace(r);
        jw_begin_object(w);
        jw_field_str(w, "run_id", run_id);
        jw_field_cstr(w, "source_relpath", from);
        jw_field_cstr(w, "bundle_relpath", to);
        jw_field_int(w, "included_event_count", n);
        jw_end_object(w);
        return share_copy(share, to, buf_str(&lines));
}

static int share_each(Share *share, const char *folder, const char *suffix,
                      int (*fn)(Share *share, Str name)) {
        const char *path = place_project(share->edit->arena, share->project_id, folder);
        StrList names = {0};
        int r = path ? place_names(share->edit->arena, share->edit->root, path, suffix, &names) : 0;

        for (size_t i = 0; !r && i < names.n; i++)
                r = fn(share, names.items[i]);
        return r;
}

static void share_manifest(Share *share, Str created_by) {
        Edit *edit = share->edit;
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "share_pack");

        jw_field_str(w, "id", share->id);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "project_id", share->project_id);
        jw_field_str(w, "created_by", created_by);
        jw_field_cstr(w, "visibility", "managers");
        jw_key(w, "included_artifacts");
        jw_raw(w, buf_str(&share->artifacts));
        jw_key(w, "included_runs");
        jw_raw(w, buf_str(&share->runs));
        draft_create(edit, place_share_pack(edit->arena, share->project_id, share->id, "manifest.yaml"),
                     draft_end(&draft, edit->arena));
}

static int share_decide(Edit *edit, const Carry *carry) {
        const NativeCompanySharepackCreateArgs *args =
                container_of(carry, NativeCompanySharepackCreateArgs, carry);
        Share share = {.edit = edit, .project_id = args->project_id, .id = draft_id(edit, "share")};
        int r;

        share.of_artifacts = JSON_WRITER(&share.artifacts);
        share.of_runs = JSON_WRITER(&share.runs);
        jw_begin_array(&share.of_artifacts);
        jw_begin_array(&share.of_runs);
        r = share_each(&share, "artifacts", ".md", share_artifact);
        if (!r)
                r = share_each(&share, "runs", NULL, share_run);
        jw_end_array(&share.of_artifacts);
        jw_end_array(&share.of_runs);
        if (!r)
                r = share.of_artifacts.failed || share.of_runs.failed ? error_origin(-ENOMEM) : 0;
        if (!r)
                share_manifest(&share, args->created_by);
        buf_deinit(&share.artifacts);
        buf_deinit(&share.runs);
        return r;
}

static void share_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "share_pack_id");
}

int op_native_company_sharepack_create(Call *call, Workspace *workspace,
                                       const NativeCompanySharepackCreateArgs *args) {
        return company_edit(call, workspace, share_decide, share_reply, &args->carry);
}
