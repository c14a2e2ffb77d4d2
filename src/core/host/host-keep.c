/* SPDX-License-Identifier: MIT */
/*
 * Output that is not lost: what the domain has not kept stays in the ring. While a daemon is connected it is
 * the one that reads, so hosted_keep() only has to let it go on; the shim is not woken. The shim reads only
 * while there is no daemon, and then nobody keeps: what it finds in the record when the daemon goes holds
 * until the next one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/host-internal.h"

Str hosted_read_from(const Hosted *hosted, bool is_stderr, uint64_t *position) {
        const Ring *ring = is_stderr ? &hosted->err : &hosted->out;
        Str bytes = ring_span(ring, *position);

        if (ring_end(ring) - bytes.n > *position)
                *position = ring_end(ring) - bytes.n;
        return bytes;
}

bool hosted_has_room(const Hosted *hosted, bool is_stderr) {
        if (!hosted->is_lossless || hosted->is_forgotten)
                return true;
        return ring_has_room(is_stderr ? &hosted->err : &hosted->out, hosted_kept(hosted, is_stderr));
}

/* The record has it for the shim, and for a later daemon. */
void hosted_keep(Hosted *hosted, bool is_stderr, uint64_t position) {
        uint64_t *kept = is_stderr ? &hosted->kept_err : &hosted->kept_out;

        if (!hosted->is_lossless || position <= *kept ||
            position > ring_end(is_stderr ? &hosted->err : &hosted->out))
                return;
        *kept = position;
        atomic_store(&hosted->record->n_kept[is_stderr], position);
        hosted_watch_io(hosted);
        if (hosted->has_exited)
                deferred_schedule(&hosted->settle);
}

/* Nonsense counts as nothing: then nobody reads before the domain has spoken. */
void hosted_adopt_kept(Hosted *hosted) {
        uint64_t out = atomic_load(&hosted->record->n_kept[0]),
                 err = atomic_load(&hosted->record->n_kept[1]);

        if (!hosted->is_lossless)
                return;
        hosted->kept_out = out <= ring_end(&hosted->out) ? out : 0;
        hosted->kept_err = err <= ring_end(&hosted->err) ? err : 0;
}

uint64_t hosted_kept(const Hosted *hosted, bool is_stderr) {
        return is_stderr ? hosted->kept_err : hosted->kept_out;
}

char *hosted_start_error(const Hosted *hosted, int error) {
        char *text = NULL;

        if (!hosted->lacks_stdin)
                return strdup(strerror(error));
        return asprintf(&text, "%s: %s", hosted->stdin_path, strerror(error)) < 0 ? NULL : text;
}
