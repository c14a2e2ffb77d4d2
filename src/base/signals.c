/* SPDX-License-Identifier: MIT */
#include "base/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

void signals_default(void) {
        /* The kernel's own form of struct sigaction; all zero is SIG_DFL without flags. */
        static const struct {
                void *handler;
                unsigned long flags;
                void *restorer;
                unsigned long mask;
        } plain;

        for (int i = 1; i < NSIG; i++)
                (void)syscall(SYS_rt_sigaction, i, &plain, (void *)0, sizeof(plain.mask));
}
