/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "company/books/transfer.h"
#include "company/place.h"

/* A folder with one review, below a new one whose path is written to `top`. */
static Str make_workspace(Arena *arena, char top[32]) {
        const char *const folders[] = {"", "/company", "/org", "/work", "/inbox", "/inbox/reviews"};
        Str from;

        strcpy(top, "/tmp/test-transfer-XXXXXX");
        assert_non_null(mkdtemp(top));
        from = arena_printf(arena, "%s/from", top);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                assert_int_equal(mkdir(arena_printf(arena, "%s%s", from.data, folders[i]).data, 0755), 0);
        assert_int_equal(file_replace(arena_printf(arena, "%s/" PLACE_REVIEWS "/r.yaml", from.data).data,
                                      STR("a: b\n"), 0644, FILE_RUNTIME),
                         0);
        return from;
}

/* A stop waited until a large workspace was copied or looked through, and was given up before. */
static void test_both_are_called_off(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _Atomic bool is_off = true;
        char top[32];
        Str from = make_workspace(&arena, top);
        Transfer copy = {
                .arena = &arena, .from = from, .to = arena_printf(&arena, "%s/to", top), .is_off = &is_off};
        Validation validation = {.arena = &arena, .is_off = &is_off};

        assert_int_equal(transfer(&copy), -ECANCELED);
        assert_int_equal(access(arena_printf(&arena, "%s/" PLACE_REVIEWS, copy.to.data).data, F_OK), -1);
        validation.root = open(from.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(validate(&validation), -ECANCELED);
        is_off = false;
        validation.r = 0;
        assert_int_equal(validate(&validation), 0);
        close(validation.root);
        assert_int_equal(system(arena_printf(&arena, "rm -r %s", top).data), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_are_called_off)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
