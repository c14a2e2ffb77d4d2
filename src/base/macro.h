#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The few macros of the house: cleanup on scope exit, handing over a pointer, container-of, array size, the
 * smaller and the larger of two.
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

/* The smaller and the larger of two, in their common type. Each is looked at once; the counter keeps those
 * inside of others apart. */
#define MIN(a, b)            _CHOOSE(<, a, b, __COUNTER__)
#define MAX(a, b)            _CHOOSE(>, a, b, __COUNTER__)
#define _CHOOSE(is, a, b, n) _CHOOSE_NAMED(is, a, b, _JOINED(_a_, n), _JOINED(_b_, n))
#define _JOINED(x, y)        x##y
#define _CHOOSE_NAMED(is, a, b, x, y)                                                                       \
        ({                                                                                                  \
                __typeof__(1 ? (a) : (b)) x = (a), y = (b);                                                 \
                x is y ? x : y;                                                                             \
        })

/* The object that `member` is embedded in. A pointer to something else than such a member does not compile. */
#define container_of(ptr, type, member)                                                                     \
        ((type *)((char *)(0 ? (__typeof__(&((type *)0)->member))0 : (ptr)) - offsetof(type, member)))

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
