/* SPDX-License-Identifier: MIT */
/*
 * Whose window a terminal follows when several clients show it: that of the last one who said a size (of
 * those who are there), or the smallest of all, side by side, so that everybody sees the whole of it.
 */
#include <string.h>

#include "core/call.h"
#include "sessions/sessions.h"

static unsigned smaller(unsigned so_far, unsigned side) {
        return side && (!so_far || side < so_far) ? side : so_far;
}

static bool pty_is_for_all(const Pty *pty) {
        const char *policy = pty->session->config.size;

        return policy && !strcmp(policy, "smallest");
}

void pty_fit(Pty *pty) {
        unsigned cols = 0, rows = 0;

        if (!pty->hosted || !pty_is_for_all(pty))
                return;
        for (const PtyClient *client = pty->clients; client; client = client->next) {
                cols = smaller(cols, client->cols);
                rows = smaller(rows, client->rows);
        }
        if ((cols && cols != pty->hosted->cols) || (rows && rows != pty->hosted->rows))
                host_resize(pty->hosted, cols, rows);
}

/* Of those who stay, the one who said its size last. */
void pty_give_back(Pty *pty) {
        const PtyClient *last = NULL;

        if (!pty->hosted || pty_is_for_all(pty))
                return;
        for (const PtyClient *client = pty->clients; client; client = client->next)
                if (client->sized && !client->is_passive && (!last || client->sized > last->sized))
                        last = client;
        if (last && (last->cols != pty->hosted->cols || last->rows != pty->hosted->rows))
                host_resize(pty->hosted, last->cols, last->rows);
}

void pty_resize(PtyClient *client, unsigned cols, unsigned rows) {
        Pty *pty = client->pty;
        Hosted *hosted = pty_client_hosted(client);

        client->cols = cols ? cols : client->cols;
        client->rows = rows ? rows : client->rows;
        if (pty && (cols || rows))
                client->sized = ++pty->n_sizes;
        if (pty && pty_is_for_all(pty))
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
