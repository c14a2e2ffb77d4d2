/* SPDX-License-Identifier: MIT */
/*
 * Whoever shows a terminal: one of a session, at which all may type, or one of another domain (an actor of a
 * group), at which there are seats: the client that came first types, whatever contract it speaks.
 */
#include "sessions/sessions.h"

static void pty_client_on_output(Viewer *viewer, HostOutput *output) {
        PtyClient *client = container_of(viewer, PtyClient, viewer);

        client->ops->output(client, output);
}

static void pty_client_on_room(Viewer *viewer) {
        PtyClient *client = container_of(viewer, PtyClient, viewer);

        client->ops->room(client);
}

/* ---- at a terminal of a session -------------------------------------------------------------- */

static void pty_attach(Pty *pty, PtyClient *client) {
        client->pty = pty;
        client->next = pty->clients;
        client->link = &pty->clients;
        if (client->next)
                client->next->link = &client->next;
        pty->clients = client;
        client->viewer = (Viewer){.output = pty_client_on_output,
                                  .room = pty_client_on_room,
                                  .is_passive = client->is_passive};
        if (pty->hosted)
                viewer_attach(&client->viewer, pty->hosted);
        pty_fit(pty);
}

static void leave_pty(PtyClient *client) {
        *client->link = client->next;
        if (client->next)
                client->next->link = client->link;
        pty_fit(client->pty);
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
}

static void visit(Hosted *hosted, PtyClient *client) {
        client->viewer = (Viewer){.output = pty_client_on_output,
                                  .room = pty_client_on_room,
                                  .ended = pty_client_on_ended,
                                  .is_passive = client->is_passive};
        client->seat = (Seat){.promoted = pty_client_on_promoted};
        viewer_attach(&client->viewer, hosted);
        if (!client->is_passive)
                seat_take(&client->seat, hosted);
}

/* ---- at either ------------------------------------------------------------------------------- */

void pty_client_attach(PtyClient *client, const PtyTarget *target) {
        if (target->pty)
                pty_attach(target->pty, client);
        else
                visit(target->hosted, client);
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

int pty_client_snapshot(const PtyClient *client, Buf *out) {
        Hosted *hosted = pty_client_hosted(client);

        return hosted ? hosted_snapshot(hosted, out) : 0;
}

Str pty_target_scrollback(const PtyTarget *target) {
        const Hosted *hosted = target->pty ? target->pty->hosted : target->hosted;

        if (hosted)
                return hosted_scrollback(hosted, SESSION_SCROLLBACK);
        return target->pty ? buf_str(&target->pty->carried) : STR_NULL;
}
