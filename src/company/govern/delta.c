/* SPDX-License-Identifier: MIT */
/*
 * Memory deltas: lines that somebody wants to have in a file of the workspace, as an artifact with a patch, and
 * what is done when it is approved.
 */
#include "company/govern/delta.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/place.h"
#include "core/diff.h"
#include "core/document.h"

/* ---- deciding -------------------------------------------------------------------------------- */

/* Lines with a carriage return before their end lose it, as they did when the patch was made. */
static Str delta_without_cr(Edit *edit, Str text) {
        char *out = arena_alloc(edit->arena, text.n + 1);
        size_t n = 0;

        if (!out) {
                (void)edit_try(edit, -ENOMEM);
                return text;
        }
        for (size_t i = 0; i < text.n; i++)
                if (text.data[i] != '\r' || i + 1 == text.n || text.data[i + 1] != '\n')
                        out[n++] = text.data[i];
        out[n] = 0;
        return (Str){out, n};
}

/* What the patch makes of the target. Conditions: those of diff_apply(). */
static int delta_patched(Edit *edit, Str patch, Str before, Str *ret) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        int r = diff_apply(&out, patch, before);

        if (r == DIFF_E_NO_PLACE)
                r = diff_apply(&out, patch, delta_without_cr(edit, before));
        if (r)
                return error_trace(r);
        *ret = arena_str(edit->arena, buf_str(&out));
        return ret->data ? 0 : error_origin(-ENOMEM);
}

/* A path that stands in an artifact: anybody can have written it. 1: it was refused. */
static int delta_read(Edit *edit, Str path, const char *what, Str *ret) {
        int r = govern_is_inside(path) ? edit_read(edit, path.data, GOVERN_TEXT_MAX, ret) : -EXDEV;

        if (r == 0 || (r < 0 && r != -EXDEV && r != -ELOOP))
                return error_trace(r);
        if (r < 0)
                (void)edit_refuse(edit, CALL_E_COMPANY,
                                  "The %s of this delta is not a file inside the workspace", what);
        else if (r == FILE_E_MISSING)
                (void)edit_refuse(edit, CALL_E_COMPANY, "The %s of this delta is not there: " STR_FMT, what,
                                  STR_ARG(path));
        else
                (void)edit_refuse(edit, CALL_E_COMPANY, "The %s of this delta is too large", what);
        return 1;
}

/* Has the patch applied. 1: it was refused. */
static int delta_apply(Edit *edit, Str target_file, Str patch_file) {
        Str patch, before, after = STR_NULL;
        int r = delta_read(edit, patch_file, "patch", &patch);

        if (!r)
                r = delta_read(edit, target_file, "target", &before);
        if (r)
                return error_trace(r);
        r = delta_patched(edit, patch, before, &after);
        if (r > 0) {
                (void)edit_refuse(edit, CALL_E_COMPANY, "The patch does not apply to " STR_FMT,
                                  STR_ARG(target_file));
                return 1;
        }
        return r ? error_trace(r) : error_trace(edit_replace(edit, target_file.data, after));
}

int govern_decide_delta(Edit *edit, Decision *decision, const Artifact *artifact) {
        Str target_file = json_text_of(artifact->matter, "target_file"),
            patch_file = json_text_of(artifact->matter, "patch_file");
        JsonWriter *w;
        int r = 0;

        decision->kind = "memory_delta";
        if (!govern_ask_decision(edit, decision, artifact, STR_NULL).is_allowed)
                return govern_deny(edit, "approval", &decision->verdict);
        if (decision->is_approved)
                r = delta_apply(edit, target_file, patch_file);
        if (r)
                return r > 0 ? 0 : error_trace(r);
        govern_review(edit, decision, target_file, patch_file);
        w = govern_event_begin(edit, decision, artifact);
        if (!w)
                return 0;
        jw_field_str(w, "artifact_id", decision->artifact_id);
        jw_field_str(w, "target_file", target_file);
        jw_field_str(w, "patch_file", patch_file);
        govern_event_end(edit, decision, w);
        return 0;
}

/* ---- proposing ------------------------------------------------------------------------------- */

static Str delta_trim_end(Str line) {
        while (line.n && (line.data[line.n - 1] == ' ' ||
                          (line.data[line.n - 1] >= '\t' && line.data[line.n - 1] <= '\r')))
                line.n--;
        return line;
}

/* The end of the line at an offset: where its newline stands, or the end of the text. */
static size_t delta_line_end(Str text, size_t at) {
        const char *end = memchr(text.data + at, '\n', text.n - at);

        return end ? (size_t)(end - text.data) : text.n;
}

/* Where lines below a heading go: behind it and behind one blank line, if there is one. False: no such heading. */
static bool delta_find_place(Str text, Str heading, size_t *ret) {
        for (size_t at = 0; at <= text.n;) {
                size_t end = delta_line_end(text, at), next = end + 1;

                if (str_eq(delta_trim_end((Str){text.data + at, end - at}), heading)) {
                        size_t blank_end = next <= text.n ? delta_line_end(text, next) : 0;

                        if (next <= text.n && !delta_trim_end((Str){text.data + next, blank_end - next}).n)
                                next = blank_end + 1;
                        *ret = next;
                        return true;
                }
                at = next;
        }
        return false;
}

/* The text with the lines, and a blank line behind them. An end without a newline gets one before. */
static int delta_insert(Buf *out, Str text, size_t at, const StrList *lines) {
        int r = buf_append(out, text.data, MIN(at, text.n));

        for (; !r && out->n < at; r = r ? r : buf_append(out, "\n", 1))
                ;
        for (size_t i = 0; !r && i < lines->n; i++) {
                r = buf_append_str(out, lines->items[i]);
                if (!r)
                        r = buf_append(out, "\n", 1);
        }
        if (!r && at <= text.n)
                r = buf_append(out, "\n", 1);
        if (!r && at < text.n)
                r = buf_append(out, text.data + at, text.n - at);
        return error_trace(r);
}

static void delta_write_matter(JsonWriter *w, Edit *edit, const Delta *delta) {
        jw_begin_object(w);
        jw_field_int(w, "schema_version", 1);
        jw_field_cstr(w, "type", "memory_delta");
        jw_field_str(w, "id", delta->artifact_id);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "title", delta->title);
        jw_field_str(w, "visibility", delta->visibility);
        jw_field_str(w, "produced_by", delta->produced_by);
        jw_field_str(w, "run_id", delta->run_id);
        jw_field_str(w, "context_pack_id", delta->context_pack_id);
        jw_field_str(w, "project_id", delta->project_id);
        jw_field_str(w, "target_file", delta->target_file);
        jw_field_cstr(w, "patch_file", delta->patch_path);
        if (delta->evidence->n) {
                jw_key(w, "evidence");
                jw_begin_array(w);
                for (size_t i = 0; i < delta->evidence->n; i++)
                        jw_str(w, delta->evidence->items[i]);
                jw_end_array(w);
        }
        jw_end_object(w);
}

static int delta_write_body(Buf *out, const Delta *delta) {
        int r = buf_printf(out,
                           "\n# " STR_FMT "\n\n## Summary\n\n## Changes\n\n- target_file: `" STR_FMT
                           "`\n- patch_file: `%s`\n"
                           "- inserted_under: `" STR_FMT "`\n\n```text\n",
                           STR_ARG(delta->title), STR_ARG(delta->target_file), delta->patch_path,
                           STR_ARG(delta->under_heading));

        for (size_t i = 0; !r && i < delta->insert_lines->n; i++)
                r = buf_printf(out, STR_FMT "\n", STR_ARG(delta->insert_lines->items[i]));
        if (!r)
                r = buf_append_str(out, STR("```\n\n## Evidence\n\n"));
        for (size_t i = 0; !r && i < delta->evidence->n; i++)
                r = buf_printf(out, "- " STR_FMT "\n", STR_ARG(delta->evidence->items[i]));
        return error_trace(r);
}

static int delta_write_artifact(Edit *edit, const Delta *delta) {
        _cleanup_(buf_deinit) Buf json = BUF_NULL;
        _cleanup_(buf_deinit) Buf body = BUF_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&json);
        Json *matter = NULL;
        int r;

        delta_write_matter(&w, edit, delta);
        r = w.failed ? error_origin(-ENOMEM)
                     : error_fold(json_parse(edit->arena, json.data, json.n, NULL, &matter, NULL));
        if (!r)
                r = delta_write_body(&body, delta);
        if (!r)
                r = document_text(matter, DOCUMENT_MATTER, buf_str(&body), &text);
        if (r)
                return error_trace(r);
        return error_trace(edit_create(edit, delta->artifact_path, arena_str(edit->arena, buf_str(&text))));
}

static int delta_write_patch(Edit *edit, const Delta *delta, Str before, size_t at) {
        _cleanup_(buf_deinit) Buf after = BUF_NULL;
        _cleanup_(buf_deinit) Buf patch = BUF_NULL;
        int r = delta_insert(&after, before, at, delta->insert_lines);

        if (!r)
                r = diff_make(&patch, delta->target_file, before, buf_str(&after));
        return r ? error_trace(r)
                 : error_trace(
                           edit_create(edit, delta->patch_path, arena_str(edit->arena, buf_str(&patch))));
}

/* The target as it is, for the patch. */
static int delta_read_target(Edit *edit, const Delta *delta, Str *ret) {
        int r;

        if (!govern_is_inside(delta->target_file))
                return edit_fail(edit, CALL_E_COMPANY,
                                 "target_file must be a relative path inside the workspace");
        r = edit_read(edit, delta->target_file.data, GOVERN_TEXT_MAX, ret);
        if (r == -EXDEV || r == -ELOOP)
                return edit_fail(edit, CALL_E_COMPANY, "target_file leads out of the workspace");
        if (r == FILE_E_MISSING)
                return edit_fail(edit, CALL_E_COMPANY, "Target file does not exist: " STR_FMT,
                                 STR_ARG(delta->target_file));
        if (r == FILE_E_TOO_LARGE)
                return edit_fail(edit, CALL_E_COMPANY, "The target file is too large");
        if (r)
                return error_trace(r);
        *ret = delta_without_cr(edit, *ret);
        return 0;
}

int delta_propose(Edit *edit, Delta *delta) {
        Str before = STR_NULL;
        size_t at;
        int r;

        delta->artifact_id = edit_id(edit, "art");
        delta->artifact_path = place_artifact(edit->arena, delta->project_id, delta->artifact_id, ".md");
        delta->patch_path = place_artifact(edit->arena, delta->project_id, delta->artifact_id, ".patch");
        if (!delta->artifact_path || !delta->patch_path)
                return edit_fail(edit, CALL_E_COMPANY, "Project not found: " STR_FMT,
                                 STR_ARG(delta->project_id));
        if (!delta->target_file.n)
                delta->target_file = str_from(place_project(edit->arena, delta->project_id, "memory.md"));
        r = delta_read_target(edit, delta, &before);
        if (r)
                return error_trace(r);
        if (!delta_find_place(before, delta_trim_end(delta->under_heading), &at))
                return edit_fail(edit, CALL_E_COMPANY, "Heading not found in " STR_FMT ": " STR_FMT,
                                 STR_ARG(delta->target_file), STR_ARG(delta->under_heading));
        r = delta_write_patch(edit, delta, before, at);
        return r ? error_trace(r) : error_trace(delta_write_artifact(edit, delta));
}
