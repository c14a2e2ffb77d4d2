/* SPDX-License-Identifier: MIT */
/* When each check is due. Pure. */
#include <strings.h>

#include "base/macro.h"
#include "collab/automation.h"

static int64_t automation_due_after(int64_t us, int64_t seconds) {
        return us + seconds * 1000000;
}

int64_t automation_nudge_due(const GroupSettings *settings, int64_t resume_us, const NudgeFacts *facts) {
        int64_t limit = settings->nudge_after_s;
        int64_t due = automation_due_after(MAX(facts->event_us, resume_us), limit);

        if (limit <= 0 || !facts->event_us)
                return INT64_MAX;
        return facts->is_same ? MAX(due, automation_due_after(facts->last_us, limit)) : due;
}

int64_t automation_idle_due(const GroupSettings *settings, int64_t resume_us, int64_t own_us,
                            int64_t last_us) {
        int64_t limit = settings->actor_idle_timeout_s;

        return limit <= 0 || !own_us ? INT64_MAX
                                     : automation_due_after(MAX(MAX(own_us, resume_us), last_us), limit);
}

int64_t automation_silence_due(const GroupSettings *settings, int64_t resume_us, int64_t newest_us,
                               int64_t last_us) {
        int64_t limit = settings->silence_timeout_s;

        return limit <= 0 || !newest_us
                       ? INT64_MAX
                       : automation_due_after(MAX(MAX(newest_us, resume_us), last_us), limit);
}

int64_t automation_standup_due(const GroupSettings *settings, int64_t last_us, int64_t now_us) {
        int64_t limit = settings->standup_interval_s;

        if (limit <= 0)
                return INT64_MAX;
        return last_us ? automation_due_after(last_us, limit) : now_us;
}

int64_t automation_keepalive_due(const GroupSettings *settings, int64_t resume_us, const AutoActor *actor) {
        bool is_same = actor->next_line && actor->keepalive_next &&
                       str_is(str_from(actor->next_line), actor->keepalive_next);
        int64_t limit = settings->keepalive_delay_s, since = MAX(actor->next_us, resume_us);

        if (limit <= 0 || settings->keepalive_max_per_actor <= 0 || !actor->next_line ||
            (is_same && actor->keepalive_count >= settings->keepalive_max_per_actor))
                return INT64_MAX;
        return automation_due_after(is_same ? MAX(since, actor->keepalive_us) : since, limit);
}

int64_t automation_help_due(const GroupSettings *settings, const AutoActor *actor) {
        if (settings->help_nudge_interval_s <= 0 || settings->help_nudge_min_messages <= 0 ||
            actor->help_count < settings->help_nudge_min_messages)
                return INT64_MAX;
        return automation_due_after(actor->help_us, settings->help_nudge_interval_s);
}

bool automation_next_line(Str text, Str *ret) {
        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                Str line = {text.data, end ? (size_t)(end - text.data) : text.n};

                text = (Str){line.data + line.n + (end != NULL), text.n - line.n - (end != NULL)};
                line = str_trim(line);
                if (line.n >= 5 && !strncasecmp(line.data, "next:", 5)) {
                        *ret = line;
                        return true;
                }
        }
        return false;
}
