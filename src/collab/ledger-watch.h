#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LedgerWatch: tells when the file ledger.jsonl in a folder was written to or replaced, by whomever. Only a
 * hint: one call may stand for many writes, and without inotify there is none (the file is then looked at
 * when an operation needs it). Embedded.
 */
#include "base/loop.h"

typedef struct LedgerWatch LedgerWatch;
struct LedgerWatch {
        void (*changed)(LedgerWatch *watch);
        int fd; /* -1: not open */
        LoopFd *event;
};

int ledger_watch_open(LedgerWatch *watch, Loop *loop, const char *folder,
                      void (*changed)(LedgerWatch *watch));
void ledger_watch_close(LedgerWatch *watch); /* also one that is not open */
