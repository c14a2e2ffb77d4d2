/* SPDX-License-Identifier: MIT */
/* What a mailbox knows of the program at its terminal: which one it is, and when it first printed something.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collab/collab.h"
#include "collab/delivery.h"

Runner *mailbox_runner(const Mailbox *mailbox) {
        const Delivery *delivery = mailbox->delivery;
        Runner *runner = delivery->group ? runner_find(delivery->collab, str_from(delivery->group->id),
                                                       str_from(mailbox->actor))
                                         : NULL;

        return runner && runner_is_running(runner) && runner->kind == RUNNER_PTY && runner->hosted ? runner
                                                                                                   : NULL;
}

size_t runner_session(const Runner *runner, char out[48]) {
        return (size_t)snprintf(out, 48, "%d:%" PRId64, (int)runner->hosted->pid,
                                runner->hosted->started_us);
}

bool mailbox_has_session(const Mailbox *mailbox) {
        Runner *runner = mailbox_runner(mailbox);
        char session[48];

        return runner && *mailbox->session && runner_session(runner, session) &&
               !strcmp(session, mailbox->session);
}

static void mailbox_forget_session(Mailbox *mailbox) {
        viewer_detach(&mailbox->viewer);
        *mailbox->session = 0;
        mailbox->is_introduced = false;
        mailbox->output_ms = mailbox->paste_ms = mailbox->failed_ms = -1;
}

static int64_t mailbox_session_now_ms(const Mailbox *mailbox) {
        return loop_now_ms(mailbox->delivery->collab->daemon->loop);
}

static void mailbox_session_look(Mailbox *mailbox, const Hosted *hosted, int64_t at_ms) {
        if (mailbox->output_ms < 0 && ring_end(&hosted->out))
                mailbox->output_ms = at_ms;
        if (mailbox->paste_ms < 0 && hosted->modes.set & MODE_PASTE)
                mailbox->paste_ms = at_ms;
}

static bool knows_all(const Mailbox *mailbox) {
        return mailbox->output_ms >= 0 && mailbox->paste_ms >= 0;
}

static void mailbox_session_on_output(Viewer *viewer, _unused_ HostOutput *output) {
        Mailbox *mailbox = container_of(viewer, Mailbox, viewer);
        bool was_known = mailbox->output_ms >= 0;

        mailbox_session_look(mailbox, viewer->hosted, mailbox_session_now_ms(mailbox));
        if (knows_all(mailbox) || !was_known)
                mailbox_kick(mailbox);
        if (knows_all(mailbox))
                viewer_detach(viewer);
}

/* One that has run for a while printed whatever it did long ago. */
void mailbox_meet(Mailbox *mailbox) {
        Runner *runner = mailbox_runner(mailbox);
        Loop *loop = mailbox->delivery->collab->daemon->loop;
        int64_t age_ms;

        if (!runner) {
                mailbox_forget_session(mailbox);
                return;
        }
        if (mailbox_has_session(mailbox))
                return;
        mailbox_forget_session(mailbox);
        runner_session(runner, mailbox->session);
        age_ms = MAX((loop_wall_us(loop) - runner->hosted->started_us) / 1000, 0);
        mailbox->started_ms = mailbox_session_now_ms(mailbox) - age_ms;
        mailbox_session_look(mailbox, runner->hosted,
                             age_ms > GATE_SILENT_MS ? MAX(mailbox->started_ms, 0)
                                                     : mailbox_session_now_ms(mailbox));
        if (knows_all(mailbox))
                return;
        mailbox->viewer = (Viewer){.output = mailbox_session_on_output};
        viewer_attach(&mailbox->viewer, runner->hosted);
}
