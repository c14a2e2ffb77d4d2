/* SPDX-License-Identifier: MIT */
/*
 * The output while no daemon reads it: into the rings, which wrap; of a lossless process only as far as
 * nothing is overwritten that no daemon has kept. Then the pipe fills up, and the program waits.
 */
#include <errno.h>

#include "base/macro.h"
#include "shim/shim-internal.h"

static Ring *shim_ring(Shim *shim, int stream) {
        return stream == 0 ? &shim->out : &shim->err;
}

static int *shim_slot(Shim *shim, int stream) {
        return &shim->fds[shim->n_fds == 1 ? 0 : 1 + stream];
}

int shim_output_fd(const Shim *shim, int stream) {
        return shim->n_fds == 1 ? (stream == 0 ? shim->fds[0] : -1) : shim->fds[1 + stream];
}

void shim_note_kept(Shim *shim) {
        for (int stream = 0; stream < 2 && shim->own.is_lossless; stream++) {
                uint64_t kept = atomic_load(&shim->record->n_kept[stream]);

                if (kept > shim->own.n_kept[stream] && kept <= ring_end(shim_ring(shim, stream)))
                        atomic_store(&shim->own.n_kept[stream], kept);
        }
}

bool shim_may_read(Shim *shim, int stream) {
        return !shim->own.is_lossless ||
               ring_has_room(shim_ring(shim, stream), atomic_load(&shim->own.n_kept[stream]));
}

void shim_drain(Shim *shim, int stream) {
        Ring *ring = shim_ring(shim, stream);
        int *fd = shim_slot(shim, stream), r;
        size_t n;

        if (!shim_may_read(shim, stream))
                return;
        r = shim->own.is_lossless ? ring_read_pipe(ring, *fd, &n) : ring_read(ring, *fd, &n);
        if (ring_is_broken(ring))
                shim_mend(shim);
        if (r == -EAGAIN || r == -EINTR || (r == 0 && n > 0))
                return;
        if (r == -EIO && !shim->child_ended) /* nobody has the terminal open; the child may open it again */
                shim->reopen_at_ms = shim_now_ms() + SHIM_REOPEN_MS;
        else
                *fd = close_fd(*fd); /* the other side has ended */
}

bool shim_drain_rest(Shim *shim) {
        bool is_all = true;

        for (int stream = 0; stream < 2; stream++) {
                uint64_t before = UINT64_MAX;

                while (shim_output_fd(shim, stream) >= 0 && ring_end(shim_ring(shim, stream)) != before) {
                        before = ring_end(shim_ring(shim, stream));
                        shim_drain(shim, stream);
                }
                is_all = is_all && (shim_output_fd(shim, stream) < 0 || shim_may_read(shim, stream));
        }
        return is_all;
}
