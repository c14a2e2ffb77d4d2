#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The few macros of the house: cleanup on scope exit, handing over a pointer, container-of, array size.
 * Anything beyond these needs a page in docs/decisions.
 */
#include <stddef.h>
#include <stdint.h>

#define _cleanup_(f)   __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _unused_       __attribute__((unused))
#define _noreturn_     __attribute__((noreturn))
#define likely(x)      __builtin_expect(!!(x), 1)
#define unlikely(x)    __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)      ((a) < (b) ? (a) : (b))
#define MAX(a, b)      ((a) > (b) ? (a) : (b))

/* The object that `member` is embedded in. */
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Hands a pointer over: yields its value and leaves NULL behind. */
#define steal(pp)                                                                                           \
        ({                                                                                                  \
                __typeof__(*(pp)) _stolen = *(pp);                                                          \
                *(pp) = NULL;                                                                               \
                _stolen;                                                                                    \
        })

void freep(void *pp); /* _cleanup_(freep): free(*pp) */
void closep(int *fd); /* _cleanup_(closep): close(*fd) when >= 0, errno kept */
int close_fd(int fd); /* close when >= 0, errno kept; always returns -1 */
