/* SPDX-License-Identifier: MIT */
/*
 * Whose window a terminal follows when several clients show it: that of the last one who said a size, or the
 * smallest of all, side by side, so that everybody sees the whole of it.
 */
#include <string.h>

#include "core/call.h"
#include "sessions/sessions.h"

static unsigned smaller(unsigned so_far, unsigned side) {
        return side && (!so_far || side < so_far) ? side : so_far;
}

void pty_fit(Pty *pty) {
        const char *policy = pty->session->config.size;
        unsigned cols = 0, rows = 0;

        if (!pty->hosted || !policy || strcmp(policy, "smallest") != 0)
                return;
        for (const PtyClient *client = pty->clients; client; client = client->next) {
                cols = smaller(cols, client->cols);
                rows = smaller(rows, client->rows);
        }
        if ((cols && cols != pty->hosted->cols) || (rows && rows != pty->hosted->rows))
                host_resize(pty->hosted, cols, rows);
}

void pty_resize(PtyClient *client, unsigned cols, unsigned rows) {
        Pty *pty = client->pty;
        const char *policy = pty ? pty->session->config.size : NULL;
        Hosted *hosted = pty_client_hosted(client);

        client->cols = cols ? cols : client->cols;
        client->rows = rows ? rows : client->rows;
        if (policy && !strcmp(policy, "smallest"))
                pty_fit(pty);
        else if (hosted && (cols || rows) && pty_client_may_type(client))
                host_resize(hosted, cols, rows);
}

PtyTarget *pty_target(Call *call, Pty *pty, int64_t cols, int64_t rows) {
        PtyTarget *target = arena_alloc(&call->arena, sizeof(*target));

        if (target)
                *target = (PtyTarget){.pty = pty, .cols = (unsigned)cols, .rows = (unsigned)rows};
        return target;
}
