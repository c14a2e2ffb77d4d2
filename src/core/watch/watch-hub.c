/* SPDX-License-Identifier: MIT */
/*
 * The one instance of inotify behind all watches. Every event is shown to every watch: one that does not
 * know its folder passes it over, one that walks keeps it until its walk is merged.
 *
 * A folder is given back to the kernel when no tree has its number any more, but not while a walk is under
 * way: its worker may just have been given that very number for a tree of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "core/watch/watch-internal.h"

enum { READ_MAX = 64 * 1024 };

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_used(const WatchHub *hub, int wd) {
        for (const Watch *watch = hub->watches; watch; watch = watch->next)
                if (watch_tree_by_wd(&watch->tree, wd))
                        return true;
        return false;
}

void watch_hub_give_back(WatchHub *hub, int wd) {
        if (is_used(hub, wd))
                return;
        if (!hub->n_walks || buf_append(&hub->unused, &wd, sizeof(wd)))
                (void)inotify_rm_watch(hub->fd, wd);
}

void watch_hub_begin_walk(WatchHub *hub) {
        hub->n_walks++;
}

void watch_hub_end_walk(WatchHub *hub) {
        const int *wds = (const int *)(const void *)hub->unused.data;

        if (--hub->n_walks)
                return;
        for (size_t i = 0; i < hub->unused.n / sizeof(*wds); i++)
                watch_hub_give_back(hub, wds[i]);
        buf_deinit(&hub->unused);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The root's walk covers whatever did not fit. */
static void watch_hub_keep(Watch *watch, const struct inotify_event *event) {
        size_t n = sizeof(*event) + event->len;

        if (watch->backlog.n + n <= WATCH_BACKLOG_MAX && !buf_append(&watch->backlog, event, n))
                return;
        watch->backlog.n = 0;
        watch_want_walk(watch, STR_NULL);
}

static void watch_hub_show(Watch *watch, const struct inotify_event *event) {
        if (watch->is_closed)
                return;
        if (watch->is_walking)
                watch_hub_keep(watch, event);
        else
                watch_event(watch, event);
}

static void watch_hub_dispatch(WatchHub *hub, const char *data, ssize_t n) {
        for (ssize_t at = 0; at < n;) {
                const struct inotify_event *event = (const void *)(data + at);
                for (Watch *watch = hub->watches; watch; watch = watch->next)
                        watch_hub_show(watch, event);
                at += (ssize_t)(sizeof(*event) + event->len);
        }
}

/* The hub goes with the last watch. */
static void watch_hub_settle(WatchHub *hub) {
        Watch *next;

        for (Watch *watch = hub->watches; watch; watch = next) {
                bool is_last = !hub->watches->next;

                next = watch->next;
                if (!watch->is_closed && watch->starts.n)
                        watch_walk_soon(watch);
                if (watch->is_closed && !watch->is_walking)
                        watch_free(watch);
                if (is_last)
                        return;
        }
}

static void watch_hub_on_readable(void *user, _unused_ unsigned events) {
        _Alignas(struct inotify_event) char data[READ_MAX];
        WatchHub *hub = user;

        hub->is_dispatching = true;
        watch_hub_dispatch(hub, data, read(hub->fd, data, sizeof(data)));
        hub->is_dispatching = false;
        watch_hub_settle(hub);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int hub_new(WatchHub **slot, Loop *loop) {
        WatchHub *hub = calloc(1, sizeof(*hub));
        int r;

        if (!hub)
                return error_origin(-ENOMEM);
        *hub = (WatchHub){.slot = slot, .loop = loop, .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
        r = hub->fd < 0 ? -errno : loop_fd_open(loop, hub->fd, watch_hub_on_readable, hub, &hub->readable);
        if (r) {
                close_fd(hub->fd);
                free(hub);
                return error_origin(r);
        }
        loop_fd_watch(hub->readable, LOOP_READ);
        *slot = hub;
        return 0;
}

int watch_hub_join(WatchHub **slot, Watch *watch) {
        int r = *slot ? 0 : hub_new(slot, watch->loop);

        if (r)
                return error_trace(r);
        watch->hub = *slot;
        watch->next = watch->hub->watches;
        watch->hub->watches = watch;
        return 0;
}

void watch_hub_leave(Watch *watch) {
        WatchHub *hub = watch->hub;
        Watch **link = &hub->watches;

        while (*link != watch)
                link = &(*link)->next;
        *link = watch->next;
        if (hub->watches)
                return;
        loop_fd_close(hub->readable);
        close_fd(hub->fd);
        buf_deinit(&hub->unused);
        *hub->slot = NULL;
        free(hub);
}
