/* SPDX-License-Identifier: MIT */
#include "company/view/view.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"

ViewIndex view_index(bool refreshes, bool has_sync, bool syncs) {
        return refreshes ? VIEW_REBUILT : has_sync && !syncs ? VIEW_AS_IT_IS : VIEW_SYNCED;
}

double view_money(double usd) {
        return round(usd * 1e6) / 1e6;
}

int view_begin(View *view, Reading *reading, Str workspace_dir, ViewIndex how) {
        Index *index = reading->workspace->index;
        IndexReport report = {0};
        int r = 0;

        *view = (View){.reading = reading, .w = reading->w, .workspace_dir = workspace_dir};
        time_format_ms(reading->wall_us, view->now);
        if (how == VIEW_AS_IT_IS) {
                r = index_look(index, &view->sql);
                if (r != INDEX_E_MISSING && (r || index_is_ours(index)))
                        return r ? index_fail(reading, workspace_dir, r) : 0;
        }
        r = how == VIEW_SYNCED ? index_sync(index, &report) : index_rebuild(index, &report);
        view->is_rebuilt = !r && report.is_rebuilt;
        view->is_synced = !r && !report.is_rebuilt;
        if (!r || (how == VIEW_SYNCED && (r == -EROFS || r == -EACCES)))
                r = index_look(index,
                               &view->sql); /* where nobody may write it is shown as it is, and said so */
        return r ? index_fail(reading, workspace_dir, r) : 0;
}

int view_result(View *view, int r) {
        switch (r) {
        case 0:
        case SQL_E_DONE: return 0;
        case SQL_E_BUSY: return index_fail(view->reading, view->workspace_dir, INDEX_E_BUSY);
        case SQL_E_MISSING:
        case SQL_E_BROKEN: return index_fail(view->reading, view->workspace_dir, INDEX_E_MISSING);
        default: return error_trace(r);
        }
}

void view_write_head(View *view, bool has_index) {
        jw_field_str(view->w, "workspace_dir", view->workspace_dir);
        jw_field_cstr(view->w, "generated_at", view->now);
        if (!has_index)
                return;
        jw_field_bool(view->w, "index_rebuilt", view->is_rebuilt);
        jw_field_bool(view->w, "index_synced", view->is_synced);
}
