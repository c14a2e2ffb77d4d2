/* SPDX-License-Identifier: MIT */
/*
 * Clients of several contracts at one terminal: which terminal, and who types.
 */
#include <string.h>

#include "core/host/host-internal.h"

/* ---- which ----------------------------------------------------------------------------------- */

/* Two of the same name: one that a domain of this daemon looks after, rather than one of a home that is not
 * served. */
Hosted *host_find_terminal(Host *host, const char *own, Str object) {
        Hosted *found = NULL;

        for (Hosted *hosted = host->first; hosted; hosted = hosted->next)
                if (hosted->kind == SHIM_PTY && hosted->state == HOSTED_RUNNING &&
                    strcmp(hosted->owner, own) != 0 && str_is(object, hosted->object) &&
                    (!found || (hosted->handler && !found->handler)))
                        found = hosted;
        return found;
}

/* ---- who types ------------------------------------------------------------------------------- */

void seat_take(Seat *seat, Hosted *hosted) {
        Seat **end = &hosted->seats;

        while (*end)
                end = &(*end)->next;
        seat->hosted = hosted;
        seat->next = NULL;
        *end = seat;
}

bool seat_is_writer(const Seat *seat) {
        return seat->hosted && seat->hosted->seats == seat;
}

void seat_leave(Seat *seat) {
        Hosted *hosted = seat->hosted;
        bool was_writer = seat_is_writer(seat);
        Seat **link = hosted ? &hosted->seats : NULL;

        if (!hosted)
                return;
        while (*link != seat)
                link = &(*link)->next;
        *link = seat->next;
        seat->hosted = NULL;
        if (was_writer && hosted->seats)
                hosted->seats->promoted(hosted->seats);
}

void hosted_clear_seats(Hosted *hosted) {
        for (Seat *seat = hosted->seats; seat; seat = seat->next)
                seat->hosted = NULL;
        hosted->seats = NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

void hosted_tell_viewers(Hosted *hosted) {
        hosted_clear_seats(hosted); /* nobody is promoted to write to what has ended */
        for (Viewer *viewer = hosted->viewers, *next; viewer; viewer = next) {
                next = viewer->next;
                if (viewer->ended)
                        viewer->ended(viewer);
        }
}
