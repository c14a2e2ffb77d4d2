/* SPDX-License-Identifier: MIT */
#include "dialect/http/assets.h"

static int asset_compare(const void *key, const void *row) {
        const Str *path = key;
        const Asset *asset = row;
        size_t n = path->n < asset->path.n ? path->n : asset->path.n;
        int order = n ? memcmp(path->data, asset->path.data, n) : 0;

        return order ? order : (path->n > asset->path.n) - (path->n < asset->path.n);
}

const Asset *asset_find(Str path) {
        return bsearch(&path, assets_table, n_assets_table, sizeof(Asset), asset_compare);
}

const char *assets_kind(void) {
        return assets_table_kind;
}

const char *assets_reason(void) {
        return assets_table_reason;
}
