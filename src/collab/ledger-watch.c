/* SPDX-License-Identifier: MIT */
#include "collab/ledger-watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/error.h"

enum { EVENTS_MAX = 4096 }; /* bytes per read */

/* The folder is watched, not the file: a replaced ledger is still found. */
static bool is_about_ledger(const struct inotify_event *event) {
        return (event->mask & IN_Q_OVERFLOW) || (event->len && !strcmp(event->name, "ledger.jsonl"));
}

static void ledger_watch_on_readable(void *user, _unused_ unsigned events) {
        LedgerWatch *watch = user;
        char buffer[EVENTS_MAX] __attribute__((aligned(__alignof__(struct inotify_event))));
        bool is_changed = false;
        ssize_t n = read(watch->fd, buffer, sizeof(buffer));

        for (ssize_t at = 0; at < n;) {
                const struct inotify_event *event = (const void *)(buffer + at);

                is_changed |= is_about_ledger(event);
                at += (ssize_t)(sizeof(*event) + event->len);
        }
        if (is_changed)
                watch->changed(watch);
}

int ledger_watch_open(LedgerWatch *watch, Loop *loop, const char *folder,
                      void (*changed)(LedgerWatch *watch)) {
        int r;

        *watch = (LedgerWatch){.changed = changed, .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
        if (watch->fd < 0)
                return error_origin(-errno);
        if (inotify_add_watch(watch->fd, folder, IN_MODIFY | IN_MOVED_TO | IN_CREATE) < 0)
                r = error_origin(-errno);
        else
                r = loop_fd_open(loop, watch->fd, ledger_watch_on_readable, watch, &watch->event);
        if (r)
                ledger_watch_close(watch);
        else
                loop_fd_watch(watch->event, LOOP_READ);
        return r;
}

void ledger_watch_close(LedgerWatch *watch) {
        if (watch->fd < 0)
                return;
        watch->event = loop_fd_close(watch->event);
        watch->fd = close_fd(watch->fd);
}
