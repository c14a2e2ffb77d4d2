/* SPDX-License-Identifier: MIT */
/*
 * What a program prints, kept: bytes and their events are one change, so the length of outputs/stdout.txt is where a later
 * daemon reads on. Until then they stay in the ring, and the program waits when that is full.
 */
#define LOG_MODULE "company/run"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "company/govern/bill.h"
#include "company/place.h"
#include "company/run/run.h"

/* ---- taking it, on the loop ------------------------------------------------------------------ */

void output_on_gathered(Timer *timer) {
        Run *run = container_of(timer, Run, gather);

        run->is_gathered = true;
        run_next(run);
}

static size_t output_ahead(const Run *run, bool is_stderr) {
        uint64_t position = run->kept[is_stderr];

        return hosted_read_from(run->hosted, is_stderr, &position).n;
}

/*
 * Lines that a program writes one by one are one event and one sync, not one for each: what it prints waits a moment
 * for what follows. A dialog is answered at once, and behind the end nothing follows.
 */
static bool output_gathers(Run *run) {
        size_t n_stdout = output_ahead(run, false), n_stderr = output_ahead(run, true);
        bool is_ripe = run->is_gathered || run->batch.is_open || run->is_program_over ||
                       run_is_app_server(run) || MAX(n_stdout, n_stderr) >= RUN_CHUNK;

        if (!is_ripe && n_stdout + n_stderr && !timer_is_set(&run->gather)) {
                run->batch.is_stderr_first = !n_stdout;
                is_ripe = timer_set(&run->gather, RUN_GATHER_MS) < 0;
        }
        if (is_ripe) {
                timer_clear(&run->gather);
                run->is_gathered = false;
        }
        return timer_is_set(&run->gather);
}

/* A character that is not whole waits for its rest, unless nothing follows. *ret_more: there is more than was taken. */
static int output_take_stream(Run *run, bool is_stderr, bool *ret_more) {
        uint64_t position = run->kept[is_stderr];
        Str span = hosted_read_from(run->hosted, is_stderr, &position);
        Buf *bytes = &run->batch.bytes[is_stderr];
        Str piece = {span.data, MIN(span.n, (size_t)RUN_BATCH)};

        if (position != run->kept[is_stderr])
                log_warning(&run->workspace->company->daemon->log, run->hosted->id,
                            "output was lost: somebody has damaged its file run=" STR_FMT,
                            STR_ARG(run->spec.run_id));
        run->kept[is_stderr] = position;
        if (piece.n < span.n || !run->is_program_over)
                piece.n -= utf8_unfinished(piece);
        *ret_more |= piece.n < span.n;
        bytes->n = 0;
        return piece.n ? buf_append(bytes, piece.data, piece.n) : 0;
}

static int output_take(Run *run) {
        bool has_more = false;
        int r;

        if (run->batch.is_open)
                return 0;
        r = output_take_stream(run, false, &has_more);
        r = r ? r : output_take_stream(run, true, &has_more);
        if (r)
                return error_trace(r);
        run->batch.is_metered = false;
        run->batch.is_last = run->is_program_over && !has_more;
        run->batch.is_open = true;
        run->found.n = 0;
        return 0;
}

/* ---- writing it, on a worker ----------------------------------------------------------------- */

typedef struct OutputFound {
        Run *run;
        int r;
} OutputFound;

/* An event that waits for its place behind the output: type, NUL, payload, NUL. */
static void output_add(OutputFound *found, const char *type, Buf *payload, bool is_failed) {
        Buf *out = &found->run->found;

        if (!found->r)
                found->r = is_failed ? error_origin(-ENOMEM) : buf_append(out, type, strlen(type) + 1);
        if (!found->r)
                found->r = buf_append(out, payload->data, payload->n);
        if (!found->r)
                found->r = buf_append(out, "", 1);
        buf_deinit(payload);
}

static void output_on_cycle(void *user, UsageSource source, const UsageCycle *cycle) {
        Buf payload = BUF_NULL;
        JsonWriter w = JSON_WRITER(&payload);

        bill_write_cycle(&w, source, cycle);
        output_add(user, "context.cycle.detected", &payload, w.failed);
}

static void output_on_count(void *user, const UsageCount *count) {
        OutputFound *found = user;
        Buf payload = BUF_NULL;
        JsonWriter w = JSON_WRITER(&payload);

        bill_write_reported(&w, count, found->run->provider);
        output_add(user, "usage.reported", &payload, w.failed);
}

/* Once for each batch, however often it is written. */
static int output_meter(Run *run) {
        OutputFound found = {.run = run};
        UsageTold told = {.cycle = output_on_cycle, .count = output_on_count, .user = &found};
        RunBatch *batch = &run->batch;
        int r = 0;

        if (batch->is_metered)
                return 0;
        for (int i = 0; !r && i < 2; i++)
                if (!i && run_is_app_server(run))
                        r = app_server_feed(run, buf_str(&batch->bytes[0]), batch->is_last, &told);
                else if (batch->bytes[i].n)
                        r = usage_meter_feed(&run->meter, i ? USAGE_STDERR : USAGE_STDOUT,
                                             buf_str(&batch->bytes[i]), &told);
        if (batch->is_last)
                usage_meter_end(&run->meter, &told);
        batch->is_metered = true; /* also without memory: a line may be missing then, never told twice */
        return error_trace(r ? r : found.r);
}

static void output_write_chunk(Edit *edit, const Run *run, bool is_stderr, Str bytes) {
        _cleanup_(buf_deinit) Buf mended = BUF_NULL;
        EventOf of = run_event_of(run);
        JsonWriter *w;

        of.actor = run->agent_id;
        of.visibility = STR("team");
        if (utf8_valid_prefix(bytes.data, bytes.n) < bytes.n &&
            !edit_try(edit, utf8_append_replaced(&mended, bytes.data, bytes.n)))
                return;
        w = event_begin(edit, &of, "provider.raw");
        jw_begin_object(w);
        jw_field_cstr(w, "stream", is_stderr ? "stderr" : "stdout");
        jw_field_str(w, "chunk", mended.n ? buf_str(&mended) : bytes);
        jw_end_object(w);
        event_end(edit);
}

/* A character that is cut by the end of a chunk goes into the next one. */
static void output_write_raw(Edit *edit, const Run *run, bool is_stderr, Str bytes) {
        while (bytes.n) {
                Str chunk = {bytes.data, MIN(bytes.n, (size_t)RUN_CHUNK)};

                if (chunk.n < bytes.n)
                        chunk.n -= utf8_unfinished(chunk);
                output_write_chunk(edit, run, is_stderr, chunk);
                bytes = (Str){bytes.data + chunk.n, bytes.n - chunk.n};
        }
}

static void output_write_found(Edit *edit, const Run *run) {
        const char *at = run->found.data, *end = at + run->found.n;
        EventOf of = run_event_of(run);

        while (at < end) {
                const char *type = at, *payload = at + strlen(at) + 1;
                JsonWriter *w = event_begin(edit, &of, type);

                jw_raw(w, str_from(payload));
                event_end(edit);
                at = payload + strlen(payload) + 1;
        }
}

/* A run whose document is gone was removed by somebody: nothing is made anew for it. That it cannot be looked at says
   nothing: then its output waits. */
static bool output_has_place(Edit *edit, const Run *run) {
        const char *path = place_run(edit->arena, run->spec.project_id, run->spec.run_id, "run.yaml");
        _cleanup_(closep) int fd = path ? path_open_beneath(edit->root, path, O_PATH, 0) : -ENOENT;

        if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
                (void)edit_try(edit, fd);
        return fd >= 0;
}

void output_write(Edit *edit, Run *run) {
        static const char *const names[] = {"outputs/stdout.txt", "outputs/stderr.txt"};

        if (!run->batch.is_open || !edit_try(edit, output_meter(run)) || !output_has_place(edit, run))
                return;
        /* As it is, and as its events tell it. */
        (void)store_change_reserve(&edit->change,
                                   (run->batch.bytes[0].n + run->batch.bytes[1].n) * 9 / 4 + 4096);
        for (int k = 0; k < 2; k++) {
                int i = k ^ run->batch.is_stderr_first;
                Str bytes = buf_str(&run->batch.bytes[i]);

                if (!bytes.n)
                        continue;
                (void)edit_grow(edit,
                                place_run(edit->arena, run->spec.project_id, run->spec.run_id, names[i]),
                                run->kept[i], bytes);
                output_write_raw(edit, run, i, bytes);
        }
        output_write_found(edit, run);
        app_server_write_message(edit, run);
}

static int output_decide(Edit *edit, const Carry *carry) {
        Run *run = run_of(carry);

        output_write(edit, run);
        app_server_write_names(edit, run);
        return 0;
}

/* ---- and going on ---------------------------------------------------------------------------- */

void output_kept(Run *run) {
        for (int i = 0; i < 2 && run->batch.is_open; i++) {
                run->kept[i] += run->batch.bytes[i].n;
                if (run->hosted)
                        hosted_keep(run->hosted, i, run->kept[i]);
                if (run->batch.bytes[i].cap > RUN_CHUNK)
                        buf_deinit(&run->batch.bytes[i]); /* of a flood; the others keep their room */
        }
        run->batch.is_open = run->batch.is_stderr_first = false;
        run->found.n = 0;
        if (run_is_app_server(run))
                app_server_kept(run);
}

static void output_on_kept(Run *run, Edit *edit _unused_, int error) {
        if (error) {
                log_warning(&run->workspace->company->daemon->log, run->hosted ? run->hosted->id : "-",
                            "its output cannot be kept, it waits run=" STR_FMT " error=" STR_FMT,
                            STR_ARG(run->spec.run_id),
                            STR_ARG(run->call ? run->call->message : STR("memory")));
                run_again(run);
                return;
        }
        output_kept(run);
        run_soon(run);
}

/* What is last is kept with the end. */
bool output_keep(Run *run) {
        if (run_is_app_server(run) && app_server_is_held(run))
                return true;
        if (output_gathers(run))
                return true;
        if (output_take(run)) {
                run_again(run);
                return true;
        }
        if (run->batch.is_last)
                return false;
        if (!run->batch.bytes[0].n && !run->batch.bytes[1].n) {
                run->batch.is_open = false;
                if (run_is_app_server(run))
                        app_server_on_silence(run);
                return run->state == RUN_RUNNING && !run->is_program_over;
        }
        run_step(run, output_decide, output_on_kept);
        return true;
}
