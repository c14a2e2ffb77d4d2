/* SPDX-License-Identifier: MIT */
/* company.help.new: a request for help, with room for the question and the response. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "core/document.h"
#include "gen/native-ops.h"

static Json *help_matter(Edit *edit, const NativeCompanyHelpNewArgs *args, Str id) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "help_request");

        jw_field_str(w, "id", id);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "visibility", args->visibility);
        jw_field_str(w, "requester", args->requester);
        jw_field_str(w, "target_manager", args->target_manager);
        draft_optional(w, "project_id", args->project_id);
        draft_optional(w, "share_pack_id", args->share_pack_id);
        return draft_end(&draft, edit->arena);
}

static int help_new_decide(Edit *edit, const Carry *carry) {
        const NativeCompanyHelpNewArgs *args = container_of(carry, NativeCompanyHelpNewArgs, carry);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str id = draft_id(edit, "help"),
            body = arena_printf(edit->arena, "\n# " STR_FMT "\n\n## Question\n\n## Response\n",
                                STR_ARG(args->title));
        Json *matter = help_matter(edit, args, id);
        int r = matter && body.data ? document_text(matter, DOCUMENT_MATTER, body, &text)
                                    : error_origin(-ENOMEM);

        if (r)
                return error_trace(r);
        draft_create_text(edit, place_help_request(edit->arena, id), arena_str(edit->arena, buf_str(&text)));
        return 0;
}

static void help_new_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "help_request_id");
}

int op_native_company_help_new(Call *call, Workspace *workspace, const NativeCompanyHelpNewArgs *args) {
        return company_edit(call, workspace, help_new_decide, help_new_reply, &args->carry);
}
