/* SPDX-License-Identifier: MIT */
#include "base/test-cmocka.h"
#include "dialect/http/assets.h"

static void test_assets_known(void **state) {
        (void)state;
        const Asset *page = asset_find(STR("/"));

        assert_non_null(page);
        assert_true(str_is(page->type, "text/html; charset=utf-8"));
        assert_false(page->is_immutable);
        assert_true(page->etag.n == 66 && page->etag.data[0] == '"' && page->etag.data[65] == '"');
}

static void test_assets_unknown(void **state) {
        (void)state;
        assert_null(asset_find(STR("")));
        assert_null(asset_find(STR("/assets")));
        assert_null(asset_find(STR("/assets/")));
        assert_null(asset_find(STR("/index.html")));
        assert_null(asset_find(STR("/connect.html")));
        assert_null(asset_find(STR("/\377")));
}

static void test_assets_whole(void **state) {
        (void)state;
        for (size_t i = 0; i < n_assets_table; i++) {
                const Asset *asset = &assets_table[i];

                assert_ptr_equal(asset_find(asset->path), asset);
                assert_true(asset->plain.n == asset->n_plain || (asset->plain.n == 0 && asset->gzip.n));
                assert_true(asset->gzip.n < asset->n_plain && asset->brotli.n < asset->n_plain);
                assert_true(asset->gzip.n == 0 || memcmp(asset->gzip.data, "\x1f\x8b", 2) == 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_assets_known),
                cmocka_unit_test(test_assets_unknown),
                cmocka_unit_test(test_assets_whole),
        };

        return cmocka_run_group_tests_name("assets", tests, NULL, NULL);
}
