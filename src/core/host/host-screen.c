/* SPDX-License-Identifier: MIT */
/*
 * What a viewer who has lost track needs: the screen as it is now, made from the recent output when somebody
 * asks.
 */
#include "base/error.h"
#include "core/host/host.h"
#include "core/host/screen.h"

enum { SNAPSHOT_TAIL = 128 << 10 }; /* bytes of output that the screen is made from: a few milliseconds */

int hosted_snapshot(const Hosted *hosted, Buf *out) {
        unsigned cols = hosted->cols ? hosted->cols : 80, rows = hosted->rows ? hosted->rows : 24;
        Screen *screen;
        int r = screen_new(&screen, cols, rows, NULL);

        if (r)
                return error_trace(r);
        screen_feed(screen, hosted_scrollback(hosted, SNAPSHOT_TAIL));
        screen_set_modes(screen, &hosted->modes); /* switched on before the part that was fed */
        r = screen_snapshot(screen, out);
        screen_free(screen);
        return error_trace(r);
}
