/* SPDX-License-Identifier: MIT */
#include "dialect/http/assets.h"

#include <errno.h>
#include <zlib.h>

#include "base/error.h"
#include "base/macro.h"

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

static int asset_inflate(const Asset *asset, Arena *arena, Str *ret) {
        char *out = arena_alloc(arena, asset->n_plain + 1);
        z_stream z = {.next_in = (Bytef *)asset->gzip.data, .avail_in = (uInt)asset->gzip.n};
        int r;

        if (!out)
                return error_origin(-ENOMEM);
        if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
                return error_origin(-ENOMEM);
        z.next_out = (Bytef *)out;
        z.avail_out = (uInt)asset->n_plain + 1;
        r = inflate(&z, Z_FINISH);
        (void)inflateEnd(&z);
        if (r != Z_STREAM_END || z.total_out != asset->n_plain)
                return error_origin(-EIO);
        *ret = (Str){out, asset->n_plain};
        return 0;
}

int asset_plain(const Asset *asset, Arena *arena, Str *ret) {
        *ret = asset->plain;
        return asset->plain.n || !asset->n_plain ? 0 : error_trace(asset_inflate(asset, arena, ret));
}
