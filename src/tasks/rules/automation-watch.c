/* SPDX-License-Identifier: MIT */
/*
 * The watched folders: what changes in them becomes an event, once it has been quiet for a while.
 */
#define LOG_MODULE "tasks/watch"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "tasks/rules/automation.h"

struct WatchSource {
        WatchSource *next;
        Automation *automation;
        RuleSet *set; /* a reference: a worker may look at `watch` after it was replaced */
        const RuleWatch *watch;
        Watch *folder;
};

/* ---- events ---------------------------------------------------------------------------------- */

/* `./src/` and `a.c` are src/a.c. */
static Str folder_name(Str path) {
        while (str_starts(path, STR("./")))
                path = (Str){path.data + 2, path.n - 2};
        while (path.n > 1 && path.data[path.n - 1] == '/')
                path.n--;
        return str_is(path, ".") ? STR_NULL : path;
}

/* The key is the event's letter and the path. */
static void on_change(void *user, WatchEvent event, Str path, _unused_ bool is_dir) {
        WatchSource *source = user;
        Str folder = folder_name(source->watch->path);
        char key[8192];
        int n;

        if (!rule_watch_wants(source->watch, 1U << event, path))
                return;
        n = snprintf(key, sizeof(key), "%c" STR_FMT "%s" STR_FMT, "cmd"[event], STR_ARG(folder),
                     folder.n && folder.data[folder.n - 1] != '/' ? "/" : "", STR_ARG(path));
        if (n < (int)sizeof(key) && debounce_push(&source->automation->debounce, (Str){key, (size_t)n}))
                log_err(source->automation->log, source->automation->dir, "no memory: a change was lost");
}

static void on_quiet(void *user, Str key) {
        Automation *automation = user;
        _cleanup_(buf_deinit) Buf payload = BUF_NULL;
        JsonWriter w = JSON_WRITER(&payload);
        WatchEvent event = key.data[0] == 'c'   ? WATCH_CREATED
                           : key.data[0] == 'm' ? WATCH_MODIFIED
                                                : WATCH_DELETED;
        char type[32];

        snprintf(type, sizeof(type), "file.%s", watch_event_name(event));
        jw_begin_object(&w);
        jw_field_str(&w, "path", (Str){key.data + 1, key.n - 1});
        jw_field_cstr(&w, "event_type", watch_event_name(event));
        jw_end_object(&w);
        if (w.failed)
                return;
        automation->n_file_events++;
        automation_push(automation, STR("watch"), str_from(type), buf_str(&payload));
}

static bool is_ignored(const void *user, Str path, bool is_dir) {
        const WatchSource *source = user;

        return rule_watch_ignores(source->watch, path, is_dir);
}

static void automation_watch_on_trouble(void *user, const char *what) {
        const WatchSource *source = user;

        log_warning(source->automation->log, source->automation->dir, "watch of " STR_FMT ": %s",
                    STR_ARG(source->watch->path), what);
}

static void on_released(void *user) {
        WatchSource *source = user;

        rule_set_unref(source->set);
        free(source);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int automation_watch_open_source(Automation *automation, const RuleWatch *watch) {
        _cleanup_(freep) char *root = watch->path.data[0] == '/'
                                              ? strdup(watch->path.data)
                                              : path_join(automation->dir, watch->path.data);
        WatchSource *source = calloc(1, sizeof(*source));
        int r = -ENOMEM;

        if (source && root) {
                *source = (WatchSource){.next = automation->watches,
                                        .automation = automation,
                                        .set = rule_set_ref(automation->set),
                                        .watch = watch};
                r = watch_open(&source->folder, automation->hub, automation->loop,
                               &(WatchSpec){.root = root,
                                            .is_ignored = is_ignored,
                                            .changed = on_change,
                                            .troubled = automation_watch_on_trouble,
                                            .released = on_released,
                                            .user = source});
                if (r)
                        rule_set_unref(source->set);
        }
        if (r)
                free(source);
        else
                automation->watches = source;
        return r;
}

/* A folder that is not there is left out until the configuration is read again. */
void automation_watch_open(Automation *automation) {
        const RuleSet *set = automation->set;

        if (!set->is_watching || automation->watches)
                return;
        debounce_init(&automation->debounce, automation->loop, set->debounce_ms, on_quiet, automation);
        for (size_t i = 0; i < set->n_watches; i++) {
                int r = automation_watch_open_source(automation, &set->watches[i]);
                if (!r)
                        continue;
                log_notice(automation->log, automation->dir, "not watched path=" STR_FMT ": %s",
                           STR_ARG(set->watches[i].path), strerror(-r));
                automation_say(automation, "Watch path " STR_FMT ": %s", STR_ARG(set->watches[i].path),
                               strerror(-r));
        }
        automation_say(automation, "File watcher started: %zu paths", set->n_watches);
}

void automation_watch_close(Automation *automation) {
        while (automation->watches) {
                WatchSource *source = automation->watches;
                automation->watches = source->next;
                watch_close(source->folder); /* frees source, now or when its walk is done */
        }
        debounce_deinit(&automation->debounce);
}

bool automation_watch_is_ready(const Automation *automation) {
        for (const WatchSource *source = automation->watches; source; source = source->next)
                if (!watch_is_settled(source->folder))
                        return false;
        return automation->is_running;
}
