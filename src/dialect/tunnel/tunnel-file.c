/* SPDX-License-Identifier: MIT */
/*
 * muster-file: the embedded files of the console (dialect/http/assets.h), for a page that has nothing but the tunnel. They are the same for everybody. A
 * request is answered by one message of text, and the bytes of the file behind it.
 */
#include <errno.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "dialect/http/assets.h"
#include "dialect/http/ws.h"
#include "dialect/tunnel/tunnel.h"

enum { TUNNEL_FILE_VALUES = 16 };

static const Asset *tunnel_file_find(Str path) {
        const Asset *asset = asset_find(path);

        return !asset && str_is(path, "/connect") ? asset_find(STR("/")) : asset;
}

/* The tag has quotes. */
static Str tunnel_file_digest(const Asset *asset) {
        return asset->etag.n > 2 ? (Str){asset->etag.data + 1, asset->etag.n - 2} : STR_NULL;
}

static void tunnel_file_put_fields(JsonWriter *w, const Asset *asset, size_t n) {
        jw_field_str(w, "path", asset->path);
        jw_field_str(w, "type", asset->type);
        jw_field_uint(w, "bytes", n);
        jw_field_str(w, "sha256", tunnel_file_digest(asset));
}

static void tunnel_file_put_list(JsonWriter *w) {
        jw_begin_object(w);
        jw_key(w, "files");
        jw_begin_array(w);
        for (size_t i = 0; i < n_assets_table; i++) {
                jw_begin_object(w);
                tunnel_file_put_fields(w, &assets_table[i], assets_table[i].n_plain);
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
}

int tunnel_file_console(Buf *list, char digest[SHA256_HEX_MAX]) {
        JsonWriter w = JSON_WRITER(list);

        tunnel_file_put_list(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(sha256_hex(buf_str(list), digest));
}

/* ---- requests -------------------------------------------------------------------------------- */

static void tunnel_file_end(Client *client, const JsonWriter *w, size_t mark) {
        if (w->failed)
                conn_abort(client->conn, "out of memory");
        else
                client_end_message(client, w->out, mark);
}

static void tunnel_file_refuse(Client *client, unsigned status, Str path) {
        JsonWriter w = JSON_WRITER(conn_out(client->conn));
        size_t mark = w.out->n;

        jw_begin_object(&w);
        jw_field_uint(&w, "status", status);
        if (path.n)
                jw_field_str(&w, "path", path);
        jw_field_uint(&w, "bytes", 0);
        jw_end_object(&w);
        tunnel_file_end(client, &w, mark);
}

static void tunnel_file_answer(Client *client, const Asset *asset, Str bytes, bool is_gzip) {
        JsonWriter w = JSON_WRITER(conn_out(client->conn));
        size_t mark = w.out->n;
        Chunk *chunk;

        jw_begin_object(&w);
        jw_field_uint(&w, "status", 200);
        tunnel_file_put_fields(&w, asset, bytes.n);
        if (is_gzip)
                jw_field_cstr(&w, "coding", "gzip");
        jw_end_object(&w);
        tunnel_file_end(client, &w, mark);
        if (!bytes.n)
                return;
        chunk = client->channel->pack(bytes);
        if (!chunk || conn_write_chunk(client->conn, chunk))
                conn_abort(client->conn, "out of memory");
        chunk_unref(chunk);
}

static void tunnel_file_get(Client *client, Str path, bool takes_gzip) {
        const Asset *asset = tunnel_file_find(path);
        bool is_gzip = asset && takes_gzip && asset->gzip.n;
        Str bytes = STR_NULL;

        if (!asset)
                tunnel_file_refuse(client, 404, path);
        else if (is_gzip)
                tunnel_file_answer(client, asset, asset->gzip, true);
        else if (!asset_plain(asset, &client->daemon->envelope, &bytes))
                tunnel_file_answer(client, asset, bytes, false);
        else
                tunnel_file_refuse(client, 500, path);
}

static void tunnel_file_on_message(Client *client, Str message) {
        Json *json = NULL;
        Str path;

        if (json_parse(&client->daemon->envelope, message.data, message.n,
                       &(JsonLimits){.n_values = TUNNEL_FILE_VALUES}, &json, NULL)) {
                tunnel_file_refuse(client, 400, STR_NULL);
                return;
        }
        path = json_text_of(json, "get");
        if (path.n)
                tunnel_file_get(client, path, str_is(json_text_of(json, "coding"), "gzip"));
        else if (json_truth_of(json, "list")) {
                JsonWriter w = JSON_WRITER(conn_out(client->conn));
                size_t mark = w.out->n;

                tunnel_file_put_list(&w);
                tunnel_file_end(client, &w, mark);
        } else
                tunnel_file_refuse(client, 400, STR_NULL);
}

const Dialect tunnel_file_dialect = {
        .name = "native",
        .frame = tunnel_file_on_message,
        .eof = ws_on_eof,
        .oversize = ws_on_oversize,
        .leaving = ws_on_leaving,
};
