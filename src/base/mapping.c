/* SPDX-License-Identifier: MIT */
#include "base/mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/macro.h"

enum { MAPPINGS_MAX = 16384, MAPPING_PAGE = 4096 };

struct Mapping {
        _Atomic uintptr_t at; /* 0: free; MAPPING_TAKEN: being filled */
        size_t n;
        atomic_bool is_broken;
};
#define MAPPING_TAKEN ((uintptr_t)1)

/* Zero pages until they are used. */
static Mapping mappings[MAPPINGS_MAX];
static _Atomic size_t n_mappings; /* that were ever used: no need to look further */
static struct sigaction mapping_before;

static Mapping *mapping_find(uintptr_t address) {
        size_t n = atomic_load(&n_mappings);

        for (size_t i = 0; i < n; i++) {
                uintptr_t at = atomic_load(&mappings[i].at);

                if (at > MAPPING_TAKEN && address >= at && address - at < mappings[i].n)
                        return &mappings[i];
        }
        return NULL;
}

/* What follows the page that is gone is gone as well: all of it is covered at once, else a large file would
 * end in as many areas of memory as it has pages. */
static void mapping_on_fault(int number, siginfo_t *info, _unused_ void *context) {
        uintptr_t address = (uintptr_t)info->si_addr & ~(uintptr_t)(MAPPING_PAGE - 1);
        Mapping *mapping = info->si_code > 0 ? mapping_find(address) : NULL;
        int before = errno;

        if (mapping) {
                size_t n = mapping->n - (address - atomic_load(&mapping->at));

                atomic_store(&mapping->is_broken, true);
                if (mmap((void *)address, n, /* NOLINT(performance-no-int-to-ptr) */
                         PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                         0) != MAP_FAILED) {
                        errno = before;
                        return;
                }
        }
        (void)sigaction(number, &mapping_before, NULL); /* the instruction runs again, and faults again */
        if (info->si_code <= 0)
                (void)raise(number); /* somebody has sent it */
        errno = before;
}

void mapping_handle_faults(void) {
        struct sigaction action = {.sa_sigaction = mapping_on_fault, .sa_flags = SA_SIGINFO};

        sigemptyset(&action.sa_mask);
        (void)sigaction(SIGBUS, &action, &mapping_before);
}

Mapping *mapping_add(void *at, size_t n) {
        for (size_t i = 0; i < MAPPINGS_MAX; i++) {
                uintptr_t is_free = 0;
                size_t n_used = atomic_load(&n_mappings);

                if (atomic_load(&mappings[i].at) ||
                    !atomic_compare_exchange_strong(&mappings[i].at, &is_free, MAPPING_TAKEN))
                        continue;
                while (n_used <= i && !atomic_compare_exchange_weak(&n_mappings, &n_used, i + 1))
                        ;
                mappings[i].n = n;
                atomic_store(&mappings[i].is_broken, false);
                atomic_store(&mappings[i].at, (uintptr_t)at);
                return &mappings[i];
        }
        return NULL;
}

Mapping *mapping_remove(Mapping *mapping) {
        if (mapping)
                atomic_store(&mapping->at, (uintptr_t)0);
        return NULL;
}

bool mapping_is_broken(const Mapping *mapping) {
        return mapping && atomic_load_explicit(&mapping->is_broken, memory_order_relaxed);
}

void mapping_break(Mapping *mapping) {
        if (mapping)
                atomic_store(&mapping->is_broken, true);
}

void mapping_mended(Mapping *mapping) {
        if (mapping)
                atomic_store(&mapping->is_broken, false);
}
