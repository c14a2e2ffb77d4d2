/* SPDX-License-Identifier: MIT */
/*
 * process.kill: the way to end what its own contract cannot reach any more, because the group, the project
 * or the record that it belonged to is gone. The domain, where it is served, is told as of any other end.
 */
#include <string.h>

#include "core/host/host.h"
#include "daemon/fleet-owners.h"
#include "gen/native-ops.h"

enum { PROCESS_KILL_MS = 5000 };

static bool process_is_meant(const Hosted *hosted, Str name) {
        return (str_is(name, hosted->id) || str_is(name, hosted->object)) &&
               (hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING ||
                hosted->state == HOSTED_LOST || hosted->state == HOSTED_FOREIGN);
}

/* Of one whose shim is gone or speaks another version, what bears its mark is ended. What no domain looks
 * after is forgotten once it is gone, unless its output is still to be kept. */
void process_end(Hosted *hosted, bool is_forced) {
        bool is_ours = hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING;

        if (is_ours && (hosted->handler || hosted->is_lossless))
                host_stop(hosted, is_forced ? 0 : PROCESS_KILL_MS);
        else if (is_ours)
                host_discard(hosted, is_forced ? 0 : PROCESS_KILL_MS);
        else
                host_sweep(hosted);
        if (!hosted->handler && hosted->state != HOSTED_FOREIGN && !hosted->is_lossless)
                host_forget(hosted);
}

static void process_write(JsonWriter *w, const Hosted *hosted) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", hosted->id);
        jw_field_cstr(w, "owner", hosted->owner);
        jw_field_cstr(w, "object", hosted->object);
        jw_end_object(w);
}

int op_native_process_kill(Call *call, const NativeProcessKillArgs *args) {
        Hosted *first = call->daemon->host ? host_first(call->daemon->host) : NULL;
        JsonWriter *w;
        size_t n = 0;

        for (const Hosted *hosted = first; hosted; hosted = hosted->next)
                n += process_is_meant(hosted, args->process);
        if (!n)
                return call_fail(call, CALL_E_PROCESS_NOT_FOUND, "no process runs as " STR_FMT,
                                 STR_ARG(args->process));
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "ending");
        jw_begin_array(w);
        for (Hosted *hosted = first, *next; hosted; hosted = next) {
                next = hosted->next;
                if (!process_is_meant(hosted, args->process))
                        continue;
                process_write(w, hosted);
                process_end(hosted, args->force);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}
