/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/ioctl.h>

#include "core/host/host-internal.h"
#include "core/recording/recording.h"

/*
 * Clients of several contracts at one terminal: who types.
 */

/* ---- who types ------------------------------------------------------------------------------- */

void hosted_tell_seated(Hosted *hosted) {
        const HostWatch *watch = hosted->host->watch;

        if (watch && watch->seated)
                watch->seated(hosted, hosted->host->watch_user);
}

void seat_take(Seat *seat, Hosted *hosted) {
        seat->hosted = hosted;
        TAILQ_INSERT_TAIL(&hosted->seats, seat, link);
        hosted_tell_seated(hosted);
}

bool seat_is_writer(const Seat *seat) {
        return seat->hosted && TAILQ_FIRST(&seat->hosted->seats) == seat;
}

const char *hosted_writer(const Hosted *hosted) {
        const Seat *first = TAILQ_FIRST(&hosted->seats);

        return first ? first->by : NULL;
}

void seat_leave(Seat *seat) {
        Hosted *hosted = seat->hosted;
        bool was_writer = seat_is_writer(seat);
        Seat *first;

        if (!hosted)
                return;
        TAILQ_REMOVE(&hosted->seats, seat, link);
        seat->hosted = NULL;
        first = TAILQ_FIRST(&hosted->seats);
        if (was_writer && first)
                first->promoted(first);
}

void hosted_clear_seats(Hosted *hosted) {
        Seat *seat;

        TAILQ_FOREACH (seat, &hosted->seats, link)
                seat->hosted = NULL;
        TAILQ_INIT(&hosted->seats);
}

/* ---- the end --------------------------------------------------------------------------------- */

void hosted_tell_viewers(Hosted *hosted) {
        hosted_clear_seats(hosted); /* nobody is promoted to write to what has ended */
        for (Viewer *viewer = LIST_FIRST(&hosted->viewers), *next; viewer; viewer = next) {
                next = LIST_NEXT(viewer, link);
                if (viewer->ended)
                        viewer->ended(viewer);
        }
}

/*
 * The size of a terminal, and which output was printed at which size. That is kept in the record, so that
 * also a later daemon can tell what the screen looks like.
 */

/* ---- what was when --------------------------------------------------------------------------- */

static ShimSize *slot(const Hosted *hosted, uint32_t number) {
        return &hosted->record->sizes[number % SHIM_SIZES];
}

void hosted_note_size(Hosted *hosted) {
        ShimSize size = {hosted->shown_out, hosted->cols, hosted->rows};
        uint32_t n = hosted->record ? atomic_load(&hosted->record->n_sizes) : 0;
        const ShimSize *last = n ? slot(hosted, n - 1) : NULL;

        if (!hosted->record || hosted->kind != SHIM_PTY ||
            (last && last->cols == size.cols && last->rows == size.rows))
                return;
        if (last && last->position == size.position)
                n--; /* nothing was printed at that size */
        *slot(hosted, n) = size;
        atomic_store(&hosted->record->n_sizes, n + 1);
}

ShimSize hosted_size_at(const Hosted *hosted, uint64_t position, uint64_t *ret_until) {
        uint32_t n = hosted->record ? atomic_load(&hosted->record->n_sizes) : 0;
        uint32_t first = n > SHIM_SIZES ? n - SHIM_SIZES : 0;
        ShimSize found = {position, hosted->cols, hosted->rows};

        *ret_until = UINT64_MAX;
        for (uint32_t i = n; i > first; i--) { /* before the first that is known it counts as that one */
                found = *slot(hosted, i - 1);
                if (found.position <= position)
                        break;
                *ret_until = i - 1 > first ? found.position : *ret_until;
        }
        return found;
}

/* Whether a sequence in it says a place of the screen: CSI … H, f or d. */
static bool has_places(Str bytes) {
        const char *end = bytes.data + bytes.n, *at = bytes.data;

        while (at < end && (at = memchr(at, '\x1b', (size_t)(end - at)))) {
                if (++at >= end || *at != '[')
                        continue;
                for (at++; at < end && ((*at >= '0' && *at <= '9') || *at == ';');)
                        at++;
                if (at < end && (*at == 'H' || *at == 'f' || *at == 'd'))
                        return true;
        }
        return false;
}

bool hosted_needs_screen(const Hosted *hosted, Str past) {
        uint64_t begin = hosted->shown_out - past.n, until;

        for (uint64_t at = begin; at < hosted->shown_out; at = until) {
                ShimSize size = hosted_size_at(hosted, at, &until);

                until = MIN(until, hosted->shown_out);
                if ((size.cols != hosted->cols || size.rows != hosted->rows) &&
                    (hosted->modes.set & MODE_ALTERNATE ||
                     has_places((Str){past.data + (at - begin), (size_t)(until - at)})))
                        return true;
        }
        return false;
}

/* ---- changing -------------------------------------------------------------------------------- */

void host_say_size(Hosted *hosted, unsigned cols, unsigned rows) {
        hosted->said_cols = cols;
        hosted->said_rows = rows;
        host_resize(hosted, cols, rows);
}

static void host_size_tell(Hosted *hosted) {
        for (Viewer *viewer = LIST_FIRST(&hosted->viewers), *next; viewer; viewer = next) {
                next = LIST_NEXT(viewer, link);
                if (viewer->resized)
                        viewer->resized(viewer);
        }
}

void host_resize(Hosted *hosted, unsigned cols, unsigned rows) {
        struct winsize size = {0};
        bool is_new;

        if (hosted->awaits_io) { /* hosted_open_io() sets it */
                hosted->cols = cols ? cols : hosted->cols;
                hosted->rows = rows ? rows : hosted->rows;
                return;
        }
        if (hosted->kind != SHIM_PTY || hosted->fd_out < 0 || ioctl(hosted->fd_out, TIOCGWINSZ, &size))
                return;
        if (cols)
                size.ws_col = (unsigned short)cols;
        if (rows)
                size.ws_row = (unsigned short)rows;
        if (ioctl(hosted->fd_out, TIOCSWINSZ, &size))
                return;
        is_new = hosted->cols != size.ws_col || hosted->rows != size.ws_row;
        hosted->cols = size.ws_col;
        hosted->rows = size.ws_row;
        hosted_note_size(hosted);
        modes_resized(&hosted->modes);
        if (hosted->recording)
                recording_resized(hosted->recording);
        if (is_new)
                host_size_tell(hosted);
}
