/* SPDX-License-Identifier: MIT */
/*
 * Another title of a terminal is told to the feed: its words, once in HOST_TITLE_MS. Programs let signs turn in their
 * title while they work, which is no news.
 */
#include <string.h>

#include "base/utf8.h"
#include "core/host/host-internal.h"

/* Punctuation, arrows, frames, braille and the like: no letters are there. */
static bool host_title_is_sign(int32_t code) {
        return code <= 0x2f || code == 0xb7 || (code >= 0x2000 && code <= 0x2bff) ||
               (code >= 0x1f300 && code <= 0x1faff);
}

Str host_title_words(Str title) {
        Str rest = title;

        while (rest.n) {
                int32_t code;
                size_t n = utf8_next(rest, &code);

                if (code != UTF8_WRONG && !host_title_is_sign(code))
                        return rest;
                rest = (Str){rest.data + n, rest.n - n};
        }
        return rest;
}

static bool host_title_is_news(const Hosted *hosted) {
        Str now = host_title_words((Str){hosted->modes.title, hosted->modes.n_title});
        Str told = host_title_words((Str){hosted->title.told, hosted->title.n_told});

        return !str_eq(now, told);
}

static void host_title_tell(Hosted *hosted) {
        HostedTitle *title = &hosted->title;

        title->told_ms = loop_now_ms(hosted->host->daemon->loop);
        title->n_told = hosted->modes.n_title;
        memcpy(title->told, hosted->modes.title, title->n_told);
        host_announce(hosted, "title");
}

static void host_title_on_later(Timer *timer) {
        Hosted *hosted = container_of(timer, Hosted, title.later);

        if (host_title_is_news(hosted))
                host_title_tell(hosted);
}

void host_title_init(Hosted *hosted) {
        hosted->title.told_ms = -HOST_TITLE_MS;
        timer_init(&hosted->title.later, hosted->host->daemon->loop, host_title_on_later);
}

void host_title_look(Hosted *hosted) {
        HostedTitle *title = &hosted->title;
        int64_t left_ms = title->told_ms + HOST_TITLE_MS - loop_now_ms(hosted->host->daemon->loop);

        if ((!hosted->modes.n_title && !title->n_told) || timer_is_set(&title->later) ||
            !host_title_is_news(hosted))
                return;
        if (left_ms <= 0)
                host_title_tell(hosted);
        else
                (void)timer_set(&title->later, left_ms);
}
