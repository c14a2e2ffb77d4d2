/* SPDX-License-Identifier: MIT */
#include "core/store/test-store-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* In memory where there is room: what a disk loses is taken away by hand, and a sync costs nothing there. */
static const char *store_top(void) {
        struct statvfs of;

        return access("/dev/shm", W_OK) || statvfs("/dev/shm", &of) || of.f_bavail * of.f_frsize < 64L << 20
                       ? "/tmp"
                       : "/dev/shm";
}

int store_setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        if (!f || make_loop((void **)&f->loop))
                return -1;
        snprintf(f->dir, sizeof(f->dir), "%s/store-test-XXXXXX", store_top());
        if (!mkdtemp(f->dir))
                return -1;
        f->root = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *state = f;
        return f->root < 0;
}

int store_teardown(void **state) {
        Fixture *f = *state;
        char command[192];

        if (f->store)
                fixture_close(f);
        close(f->root);
        free_loop((void **)&f->loop);
        snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", f->dir, f->dir);
        if (system(command) != 0) // NOLINT(cert-env33-c)
                return -1;
        buf_deinit(&f->told);
        free(f);
        return 0;
}

void fixture_wait(Fixture *f, const bool *flag) {
        while (!*flag)
                loop_turn_wait(f->loop);
}

static void on_opened(void *user, int r) {
        Fixture *f = user;

        f->opened_r = r;
        f->is_settled = true;
}

static void on_closed(void *user) {
        ((Fixture *)user)->is_settled = true;
}

static void on_told(void *user, const StoreTold *told) {
        Fixture *f = user;

        assert_true(told->line.n > 2 && told->line.data[0] == '{' &&
                    told->line.data[told->line.n - 1] == '}');
        (void)buf_printf(&f->told, STR_FMT " %llu;", STR_ARG(told->kind), (unsigned long long)told->seq);
}

int fixture_open(Fixture *f) {
        StoreOptions options = {.loop = f->loop,
                                .root = f->root,
                                .path = f->dir,
                                .told = on_told,
                                .user = f,
                                .step = f->step};

        f->is_settled = false;
        assert_int_equal(store_open(&f->store, &options, on_opened), 0);
        fixture_wait(f, &f->is_settled);
        return f->opened_r;
}

void fixture_close(Fixture *f) {
        f->is_settled = false;
        store_close(f->store, on_closed, f);
        fixture_wait(f, &f->is_settled);
        f->store = NULL;
}

static void on_tried(StoreChange *change, int r) {
        Try *try = container_of(change, Try, change);

        try->r = r;
        try->is_done = true;
}

void try_init(Try *try, Fixture *f) {
        *try = (Try){0};
        store_change_init(&try->change, f->store, on_tried);
}

void try_start(Try *try) {
        assert_int_equal(store_change_commit(&try->change), 0);
}

int try_commit(Try *try, Fixture *f) {
        try_start(try);
        fixture_wait(f, &try->is_done);
        return try->r;
}

Str body_of(char room[512], const char *run, unsigned number) {
        int n = snprintf(
                room, 512,
                "{\"schema_version\":1,\"ts_wallclock\":\"2026-01-02T03:04:05.006Z\",\"run_id\":\"%s\","
                "\"session_ref\":\"local_%s\",\"actor\":\"system\",\"visibility\":\"org\",\"type\":\"x\","
                "\"payload\":{\"n\":%u},\"event_id\":\"evt_%u\",\"correlation_id\":\"local_%s\","
                "\"causation_id\":null,\"ts_monotonic_ms\":%u}",
                run, run, number, number, run, number);

        return (Str){room, (size_t)n};
}

void put(Fixture *f, const char *path, Str bytes) {
        char full[512], *slash;

        snprintf(full, sizeof(full), "%s/%s", f->dir, path);
        slash = strrchr(full, '/');
        *slash = 0;
        assert_int_equal(dir_make(full, 0700), 0);
        *slash = '/';
        assert_int_equal(file_replace(full, bytes, 0600, FILE_RUNTIME), 0);
}

void get(Fixture *f, const char *path, Buf *ret) {
        char full[512];
        int r;

        snprintf(full, sizeof(full), "%s/%s", f->dir, path);
        ret->n = 0;
        r = file_read(full, 64L * 1024 * 1024, ret);
        if (r == FILE_E_MISSING)
                r = buf_append_str(ret, STR("(none)"));
        assert_int_equal(r, 0);
}

void assert_file(Fixture *f, const char *path, const char *want) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        get(f, path, &text);
        assert_string_equal(buf_cstr(&text), want);
}

bool has_file(Fixture *f, const char *path) {
        return faccessat(f->root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

TrailReport trail_report(Fixture *f, const char *path) {
        _cleanup_(closep) int fd = openat(f->root, path, O_RDONLY | O_CLOEXEC);
        TrailReport report = {0};
        struct stat st;

        if (fd < 0)
                return report;
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(trail_verify(fd, (uint64_t)st.st_size, &report), 0);
        return report;
}

static unsigned n_temps;

static int see_file(const char *path, const struct stat *st, int type, struct FTW *place) {
        (void)st;
        (void)type;
        (void)place;
        n_temps += strstr(path, ".tmp-") != NULL || strstr(path, "/stage.") != NULL;
        return 0;
}

unsigned count_temps(Fixture *f) {
        n_temps = 0;
        assert_int_equal(nftw(f->dir, see_file, 16, FTW_PHYS), 0);
        return n_temps;
}
