/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/call.h"
#include "sessions/sessions.h"

/*
 * Whoever shows a terminal: one of a session, at which all may type, or one of another domain (an actor of a
 * group), at which there are seats: the client that came first types, whatever contract it speaks.
 */

static void pty_client_on_output(Viewer *viewer, HostOutput *output) {
        PtyClient *client = container_of(viewer, PtyClient, viewer);

        client->ops->output(client, output);
}

static void pty_client_on_room(Viewer *viewer) {
        PtyClient *client = container_of(viewer, PtyClient, viewer);

        client->ops->room(client);
}

static void pty_client_on_resized(Viewer *viewer) {
        PtyClient *client = container_of(viewer, PtyClient, viewer);

        if (client->ops->resized)
                client->ops->resized(client);
}

/* ---- at a terminal of a session -------------------------------------------------------------- */

static void pty_fit(Pty *pty);
static bool pty_is_free(const Pty *pty);
static void pty_pass_on(Pty *pty, PtyClient *to);
static void pty_disown(PtyClient *client);

static void pty_attach(Pty *pty, PtyClient *client) {
        client->pty = pty;
        if (client->shares_size && !client->is_passive && pty_is_free(pty)) {
                pty_pass_on(pty, NULL);
                pty->decider = client;
        }
        LIST_INSERT_HEAD(&pty->clients, client, link);
        client->viewer = (Viewer){.output = pty_client_on_output,
                                  .room = pty_client_on_room,
                                  .resized = pty_client_on_resized,
                                  .is_passive = client->is_passive,
                                  .is_web = client->is_web};
        if (pty->hosted)
                viewer_attach(&client->viewer, pty->hosted);
        pty_fit(pty);
}

static void pty_give_back(Pty *pty);

static void leave_pty(PtyClient *client) {
        LIST_REMOVE(client, link);
        pty_disown(client);
        pty_fit(client->pty);
        if (client->sized) /* nobody looks through all that stay for one that never said a size */
                pty_give_back(client->pty);
        client->pty = NULL;
}

/* ---- at one of another domain ---------------------------------------------------------------- */

static void pty_client_on_ended(Viewer *viewer) {
        PtyClient *client = container_of(viewer, PtyClient, viewer);

        client->ops->exited(client, pty_exit_code(viewer->hosted));
        pty_detach(client);
        client->ops->ended(client);
}

static void pty_client_on_promoted(Seat *seat) {
        PtyClient *client = container_of(seat, PtyClient, seat);

        pty_resize(client, client->cols, client->rows);
        client->ops->promoted(client);
        if (client->shares_size && client->ops->owned)
                client->ops->owned(client);
}

static void visit(Hosted *hosted, PtyClient *client) {
        client->viewer = (Viewer){.output = pty_client_on_output,
                                  .room = pty_client_on_room,
                                  .resized = pty_client_on_resized,
                                  .ended = pty_client_on_ended,
                                  .is_passive = client->is_passive,
                                  .is_web = client->is_web};
        client->seat = (Seat){.by = client->by, .promoted = pty_client_on_promoted};
        viewer_attach(&client->viewer, hosted);
        if (!client->is_passive)
                seat_take(&client->seat, hosted);
}

/* ---- at either ------------------------------------------------------------------------------- */

void pty_client_attach(PtyClient *client, const PtyTarget *target) {
        if (target->pty)
                pty_attach(target->pty, client);
        else
                visit(target->stream.hosted, client);
}

void pty_detach(PtyClient *client) {
        viewer_detach(&client->viewer);
        seat_leave(&client->seat);
        if (client->pty)
                leave_pty(client);
}

Hosted *pty_client_hosted(const PtyClient *client) {
        return client->pty ? client->pty->hosted : client->viewer.hosted;
}

bool pty_client_may_type(const PtyClient *client) {
        return !client->is_passive && (client->pty || seat_is_writer(&client->seat));
}

int pty_client_write(const PtyClient *client, Str bytes) {
        Hosted *hosted = pty_client_hosted(client);

        return hosted ? host_write(hosted, bytes) : HOST_E_ENDED;
}

int pty_client_draw(const PtyClient *client, ScreenWait *wait, uint32_t peer) {
        Hosted *hosted = pty_client_hosted(client);

        return hosted ? screen_wait(wait, hosted, peer) : HOST_E_ENDED;
}

Str pty_target_scrollback(const PtyTarget *target) {
        const Hosted *hosted = target->pty ? target->pty->hosted : target->stream.hosted;

        if (hosted)
                return hosted_scrollback(hosted, SESSION_SCROLLBACK);
        return target->pty ? buf_str(&target->pty->carried) : STR_NULL;
}

/*
 * Whose window a terminal follows when several clients show it: that of the last one who said a size (of
 * those who are there), or the smallest of all, side by side, so that everybody sees the whole of it.
 */

static unsigned smaller(unsigned so_far, unsigned side) {
        return side && (!so_far || side < so_far) ? side : so_far;
}

static bool pty_is_for_all(const Pty *pty) {
        const char *policy = pty->session->config.size;

        return policy && !strcmp(policy, "smallest");
}

static void pty_fit(Pty *pty) {
        unsigned cols = 0, rows = 0;

        if (!pty->hosted || !pty_is_for_all(pty))
                return;
        for (const PtyClient *client = LIST_FIRST(&pty->clients); client; client = LIST_NEXT(client, link)) {
                cols = smaller(cols, client->is_hidden ? 0 : client->cols);
                rows = smaller(rows, client->is_hidden ? 0 : client->rows);
        }
        if ((cols && cols != pty->hosted->cols) || (rows && rows != pty->hosted->rows))
                host_resize(pty->hosted, cols, rows);
}

/* Of those who stay, the one who said its size last. */
static void pty_give_back(Pty *pty) {
        const PtyClient *last = NULL;

        if (!pty->hosted || pty_is_for_all(pty))
                return;
        for (const PtyClient *client = LIST_FIRST(&pty->clients); client; client = LIST_NEXT(client, link))
                if (client->sized && !client->is_passive && !client->is_hidden &&
                    (!last || client->sized > last->sized))
                        last = client;
        if (last && (last->cols != pty->hosted->cols || last->rows != pty->hosted->rows))
                host_resize(pty->hosted, last->cols, last->rows);
}

/*
 * Of those who share the size one decides it. Clients that do not (those of the coop socket) say it whenever they
 * like.
 */

/* Whoever comes now decides. */
static bool pty_is_free(const Pty *pty) {
        return !pty->decider || pty->decider->is_hidden;
}

bool pty_owns(const PtyClient *client) {
        return client->pty ? client->pty->decider == client : pty_client_may_type(client);
}

bool pty_will_own(const PtyTarget *target) {
        if (target->stream.is_read_only)
                return false;
        return target->pty ? pty_is_free(target->pty) : TAILQ_EMPTY(&target->stream.hosted->seats);
}

static void pty_pass_on(Pty *pty, PtyClient *to) {
        PtyClient *from = pty->decider;

        pty->decider = to;
        if (from)
                from->ops->owned(from);
        if (!to)
                return;
        if (to->cols || to->rows)
                pty_resize(to, to->cols, to->rows);
        to->ops->owned(to);
}

void pty_own(PtyClient *client) {
        if (client->pty && client->shares_size && !client->is_passive && !pty_owns(client))
                pty_pass_on(client->pty, client);
}

/* The one that came last of those whose window may decide. */
static PtyClient *pty_next_owner(const Pty *pty, bool is_hidden) {
        PtyClient *next = LIST_FIRST(&pty->clients);

        while (next && (!next->shares_size || next->is_passive || next->is_hidden != is_hidden))
                next = LIST_NEXT(next, link);
        return next;
}

/* It has left: who is seen comes before who is hidden. */
static void pty_disown(PtyClient *client) {
        PtyClient *next;

        if (!pty_owns(client))
                return;
        client->pty->decider = NULL;
        next = pty_next_owner(client->pty, false);
        pty_pass_on(client->pty, next ? next : pty_next_owner(client->pty, true));
}

void pty_hide(PtyClient *client, bool is_hidden) {
        PtyClient *next;

        if (client->is_hidden == is_hidden)
                return;
        client->is_hidden = is_hidden;
        if (!client->pty)
                return;
        next = is_hidden && pty_owns(client) ? pty_next_owner(client->pty, false) : NULL;
        if (next)
                pty_pass_on(client->pty, next);
        else if (!is_hidden && pty_is_free(client->pty))
                pty_own(client);
        pty_fit(client->pty);
}

void pty_resize(PtyClient *client, unsigned cols, unsigned rows) {
        Pty *pty = client->pty;
        Hosted *hosted = pty_client_hosted(client);

        client->cols = cols ? cols : client->cols;
        client->rows = rows ? rows : client->rows;
        if (client->shares_size && !pty_owns(client))
                return;
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
                *target =
                        (PtyTarget){.stream = {.cols = (unsigned)cols, .rows = (unsigned)rows}, .pty = pty};
        return target;
}
