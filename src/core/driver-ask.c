/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/driver.h"
#include "core/exec.h"

/* ---- where it is ----------------------------------------------------------------------------- */

const char *driver_env(const DriverPlace *place, const char *name) {
        size_t n = strlen(name);

        for (char *const *at = place->env; at && *at; at++)
                if (!strncmp(*at, name, n) && (*at)[n] == '=')
                        return *at + n + 1;
        return NULL;
}

static bool driver_can_run(const char *path) {
        struct stat st;

        return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* folder/name, when that can be run; in the arena. */
static const char *driver_find_in(Arena *arena, Str folder, Str name) {
        Str path = arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(name));

        return path.data && driver_can_run(path.data) ? path.data : NULL;
}

const char *driver_find(const DriverPlace *place, Arena *arena, Str program) {
        const char *next = driver_env(place, "PATH");

        if (!program.n || memchr(program.data, 0, program.n))
                return NULL;
        if (program.data[0] == '/')
                return driver_find_in(arena, STR(""), (Str){program.data + 1, program.n - 1});
        if (memchr(program.data, '/', program.n))
                return driver_find_in(arena, str_from(place->folder), program);
        while (next) {
                const char *end = strchrnul(next, ':'), *found = NULL;

                if (*next == '/')
                        found = driver_find_in(arena, (Str){next, (size_t)(end - next)}, program);
                if (found)
                        return found;
                next = *end ? end + 1 : NULL;
        }
        return NULL;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static int driver_exec(const DriverPlace *place, const char *file, const char *const *words, int limit_ms,
                       ExecResult *ret) {
        char *argv[] = {(char *)file, (char *)words[0], (char *)(words[0] ? words[1] : NULL), NULL};

        return exec_run(&(ExecSpec){.argv = argv,
                                    .env = place->env,
                                    .folder = place->folder,
                                    .limit_ms = limit_ms,
                                    .is_off = place->is_off,
                                    .n_max = DRIVER_OUTPUT_MAX},
                        ret);
}

static int driver_ask_version(const DriverPlace *place, const char *file, DriverFacts *facts) {
        static const char *const words[] = {"--version", NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = driver_exec(place, file, words, DRIVER_VERSION_MS, &result);
        Str said = str_trim(result.out.n ? buf_str(&result.out) : buf_str(&result.err));
        const char *end = said.n ? memchr(said.data, '\n', said.n) : NULL;
        Str line = str_trim(end ? (Str){said.data, (size_t)(end - said.data)} : said);

        line = utf8_fit(line, sizeof(facts->version) - 1);
        if (!r && !result.status && line.n && utf8_valid_prefix(line.data, line.n) == line.n)
                (void)snprintf(facts->version, sizeof(facts->version), STR_FMT, STR_ARG(line));
        return r;
}

/* Everything that it prints counts: stdout, a newline, stderr. */
static int driver_ask_help(const DriverPlace *place, const char *file, const char *const *words,
                           int limit_ms, Buf *ret) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = driver_exec(place, file, words, limit_ms, &result);

        if (r)
                return r;
        r = buf_append_str(ret, buf_str(&result.out));
        r = r ? r : buf_append(ret, "\n", 1);
        return r ? r : buf_append_str(ret, buf_str(&result.err));
}

/* 0, or what kept it from answering. */
static int driver_question(const Driver *driver, const DriverPlace *place, const char *file,
                           DriverFacts *facts) {
        static const char *const words[] = {"--help", NULL};
        _cleanup_(buf_deinit) Buf help = BUF_NULL, able = BUF_NULL;
        int r = driver_ask_version(place, file, facts), s;

        s = driver_ask_help(place, file, words, DRIVER_VERSION_MS, &help);
        if (!s && str_trim(buf_str(&help)).n)
                s = sha256_hex(str_trim(buf_str(&help)), facts->help_hash);
        r = r ? r : s;
        if (driver->help[1]) {
                s = driver_ask_help(place, file, driver->help, DRIVER_HELP_MS, &able);
                r = r ? r : s;
        }
        driver_read_help(driver, buf_str(driver->help[1] ? &able : &help), facts);
        return r;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

int driver_cache_new(DriverCache **ret) {
        DriverCache *cache = calloc(1, sizeof(*cache));

        if (!cache)
                return error_origin(-ENOMEM);
        pthread_mutex_init(&cache->lock, NULL);
        *ret = cache;
        return 0;
}

DriverCache *driver_cache_free(DriverCache *cache) {
        if (cache)
                pthread_mutex_destroy(&cache->lock);
        free(cache);
        return NULL;
}

static bool driver_recall(DriverCache *cache, const Driver *driver, const FileIdentity *identity,
                          DriverFacts *ret) {
        bool knows = false;

        pthread_mutex_lock(&cache->lock);
        for (size_t i = 0; i < cache->n && !knows; i++)
                if (cache->items[i].family == driver->family &&
                    file_identity_eq(&cache->items[i].identity, identity)) {
                        *ret = cache->items[i].facts;
                        knows = true;
                }
        pthread_mutex_unlock(&cache->lock);
        return knows;
}

static void driver_keep(DriverCache *cache, const Driver *driver, const FileIdentity *identity,
                        const DriverFacts *facts) {
        pthread_mutex_lock(&cache->lock);
        cache->items[cache->next].identity = *identity;
        cache->items[cache->next].family = driver->family;
        cache->items[cache->next].facts = *facts;
        cache->next = (cache->next + 1) % DRIVER_CACHE_MAX;
        cache->n = MIN(cache->n + 1, (size_t)DRIVER_CACHE_MAX);
        pthread_mutex_unlock(&cache->lock);
}

void driver_ask(DriverCache *cache, const Driver *driver, const DriverPlace *place, const char *file,
                DriverFacts *ret) {
        FileIdentity identity = {0};

        *ret = (DriverFacts){.asks_approval = true};
        if (file_identify(file, &identity) || !identity.ino || driver_recall(cache, driver, &identity, ret))
                return;
        if (!driver_question(driver, place, file, ret))
                driver_keep(cache, driver, &identity, ret);
}
