/* SPDX-License-Identifier: MIT */
/*
 * The embedded files of the console (dialect/http/assets.h). They are the same for everybody, so nobody needs a token
 * for them. Who takes no coding gets what was kept plain, or is inflated from gzip.
 */
#include "core/daemon.h"
#include "dialect/http/assets.h"
#include "dialect/http/http-request.h"
#include "wire/http-negotiate.h"

static int http_assets_choose(HttpRequest *request, const Asset *asset, HttpReply *reply) {
        unsigned codings = http_codings(&request->head);

        if ((codings & HTTP_CODING_BR) && asset->brotli.n) {
                reply->body = asset->brotli;
                reply->coding = "br";
        } else if ((codings & HTTP_CODING_GZIP) && asset->gzip.n) {
                reply->body = asset->gzip;
                reply->coding = "gzip";
        } else
                return asset_plain(asset, &request->arena, &reply->body);
        return 0;
}

static bool http_assets_is_loader(const HttpTarget *target) {
        return target->n_segments == 1 && str_is(target->segments[0], "connect") && !target->is_folder;
}

/* At /connect, where a link may point (coop's contract), is the loader of tunnels; where none was built, the page. */
static const Asset *http_assets_find(const HttpTarget *target, bool *ret_is_loader) {
        const Asset *loader = http_assets_is_loader(target) ? asset_find(STR("/connect")) : NULL;

        *ret_is_loader = loader != NULL;
        return loader ? loader : asset_find(http_assets_is_loader(target) ? STR("/") : target->path);
}

void http_assets_get(HttpRequest *request, _unused_ Str body) {
        HttpReply reply = {.status = 200, .is_page = true, .varies = true};
        const Asset *asset = http_assets_find(&request->target, &reply.has_policy);

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
