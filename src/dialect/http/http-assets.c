/* SPDX-License-Identifier: MIT */
/*
 * The embedded files of the console (dialect/http/assets.h). They are the same for everybody, so nobody needs a token
 * for them. Who takes no coding gets what was kept plain, or is inflated from gzip.
 */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"
#include "core/daemon.h"
#include "dialect/http/assets.h"
#include "dialect/http/http-request.h"
#include "wire/http-negotiate.h"

/* Into the request's arena. */
static int http_assets_inflate(HttpRequest *request, const Asset *asset, Str *ret) {
        char *out = arena_alloc(&request->arena, asset->n_plain + 1);
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

static int http_assets_choose(HttpRequest *request, const Asset *asset, HttpReply *reply) {
        unsigned codings = http_codings(&request->head);

        if ((codings & HTTP_CODING_BR) && asset->brotli.n) {
                reply->body = asset->brotli;
                reply->coding = "br";
        } else if ((codings & HTTP_CODING_GZIP) && asset->gzip.n) {
                reply->body = asset->gzip;
                reply->coding = "gzip";
        } else if (asset->plain.n || !asset->n_plain)
                reply->body = asset->plain;
        else
                return http_assets_inflate(request, asset, &reply->body);
        return 0;
}

/* The page is the same at /connect, where a link may point (coop's contract). */
static const Asset *http_assets_find(const HttpTarget *target) {
        Str path = target->path;

        if (target->n_segments == 1 && str_is(target->segments[0], "connect") && !target->is_folder)
                path = STR("/");
        return asset_find(path);
}

void http_assets_get(HttpRequest *request, _unused_ Str body) {
        const Asset *asset = http_assets_find(&request->target);
        HttpReply reply = {.status = 200, .is_page = true, .varies = true};

        if (!asset) {
                http_answer_status(request, 404);
                return;
        }
        reply.type = arena_str(&request->arena, asset->type).data;
        reply.etag = asset->etag;
        reply.cache = asset->is_immutable ? "public, max-age=31536000, immutable" : "no-cache";
        if (http_none_match(&request->head, asset->etag)) {
                reply.status = 304;
                reply.type = NULL;
        } else if (!reply.type || http_assets_choose(request, asset, &reply)) {
                http_answer_status(request, 500);
                return;
        }
        http_answer(request, &reply);
}
