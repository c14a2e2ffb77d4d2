/* SPDX-License-Identifier: MIT */
/* company.artifact.new: the text of a new artifact, as workspace.validate wants to have it. */
#include <errno.h>

#include "base/error.h"
#include "base/id.h"
#include "company/books/validate.h"
#include "company/company.h"
#include "company/draft.h"
#include "core/daemon.h"
#include "core/document.h"
#include "gen/native-ops.h"

static Json *artifact_new_matter(Call *call, const NativeCompanyArtifactNewArgs *args, Str id) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, args->type.data);

        jw_field_str(w, "id", id);
        jw_field_time_ms(w, "created_at", loop_wall_us(call->daemon->loop));
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "visibility", args->visibility);
        jw_field_str(w, "produced_by", args->produced_by);
        jw_field_str(w, "run_id", args->run_id);
        jw_field_str(w, "context_pack_id", args->context_pack_id);
        return draft_end(&draft, &call->arena);
}

static int artifact_new_body(Buf *out, const NativeCompanyArtifactNewArgs *args) {
        const char *const *heading = validate_headings_of(args->type);
        int r = buf_printf(out, "\n# " STR_FMT "\n", STR_ARG(args->title));

        for (; !r && heading && *heading; heading++)
                r = buf_printf(out, "\n## %s\n", *heading);
        return error_trace(r);
}

int op_native_company_artifact_new(Call *call, const NativeCompanyArtifactNewArgs *args) {
        _cleanup_(buf_deinit) Buf body = BUF_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char ulid[ID_ULID_MAX];
        const Json *matter;
        JsonWriter *w;
        Str id;
        int r;

        if (!company_is_served(call))
                return call->error;
        r = id_ulid(&(IdUlid){0}, loop_wall_us(call->daemon->loop), ulid);
        if (r)
                return error_trace(r);
        id = arena_printf(&call->arena, "art_%s", ulid);
        matter = id.data ? artifact_new_matter(call, args, id) : NULL;
        r = matter ? artifact_new_body(&body, args) : error_origin(-ENOMEM);
        if (!r)
                r = document_text(matter, DOCUMENT_MATTER, buf_str(&body), &text);
        if (r)
                return error_trace(r);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "artifact_id", id);
        jw_field_str(w, "text", buf_str(&text));
        jw_end_object(w);
        return 0;
}
