/* SPDX-License-Identifier: MIT */
#include "collab/group.h"
#include "core/daemon.h"
#include "gen/cccc-ops.h"

static int group_show_show(Call *call, Group *group, _unused_ const void *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "group");
        group_doc_write_redacted(group->doc, &call->daemon->config, w);
        jw_end_object(w);
        return 0;
}

int op_cccc_group_show(Call *call, const CcccGroupShowArgs *args) {
        return collab_call(call, args->group_id, group_show_show, args);
}
