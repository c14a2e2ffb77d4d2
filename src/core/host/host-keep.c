/* SPDX-License-Identifier: MIT */
/*
 * Output that is not lost: what the domain has not kept stays in the ring. While a daemon is connected it is
 * the one that reads, so hosted_keep() only has to let it go on; the shim is not woken. The shim reads only
 * while there is no daemon, and then nobody keeps: what it finds in the record when the daemon goes holds
 * until the next one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/host/host-internal.h"

Str hosted_read_from(const Hosted *hosted, bool is_stderr, uint64_t *position) {
        const Ring *ring = is_stderr ? &hosted->err : &hosted->out;
        Str bytes = ring_span(ring, *position);

        if (ring_end(ring) - bytes.n > *position)
                *position = ring_end(ring) - bytes.n;
        return bytes;
}

void hosted_keep(Hosted *hosted, bool is_stderr, uint64_t position) {
        uint64_t *kept = is_stderr ? &hosted->kept_err : &hosted->kept_out;

        if (position > *kept && position <= ring_end(is_stderr ? &hosted->err : &hosted->out))
                *kept = position;
}

uint64_t hosted_kept(const Hosted *hosted, bool is_stderr) {
        return is_stderr ? hosted->kept_err : hosted->kept_out;
}

int host_close_input(Hosted *hosted) {
        (void)hosted;
        return error_origin(-ENOTSUP);
}

char *hosted_start_error(const Hosted *hosted, int error) {
        char *text = NULL;

        if (!hosted->lacks_stdin)
                return strdup(strerror(error));
        return asprintf(&text, "%s: %s", hosted->stdin_path, strerror(error)) < 0 ? NULL : text;
}
