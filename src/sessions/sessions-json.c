/* SPDX-License-Identifier: MIT */
#include "sessions/sessions-json.h"

void session_write_ptys(const Session *session, JsonWriter *w) {
        jw_begin_array(w);
        for (const Pty *pty = session->ptys; pty; pty = pty->next) {
                if (pty->id != 0 && !pty_is_live(pty))
                        continue;
                jw_begin_object(w);
                jw_field_uint(w, "id", pty->id);
                jw_field_cstr(w, "role", pty->id == 0 ? "agent" : "shell");
                jw_field_cstr(w, "command", pty->command);
                jw_field_int(w, "pid", pty_pid(pty));
                if (pty->hosted && pty->hosted->recording_path)
                        jw_field_cstr(w, "recording", pty->hosted->recording_path);
                jw_end_object(w);
        }
        jw_end_array(w);
}
