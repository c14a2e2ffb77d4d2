/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "base/time.h"
#include "core/daemon.h"
#include "dialect/http/http-request.h"

/* What every answer says: nothing of it is to be guessed, framed, or sent on to others. */
static const char reply_always[] = "X-Content-Type-Options: nosniff\r\n"
                                   "Referrer-Policy: no-referrer\r\n";

/* What a page of ours may do. Styles may be inline, since xterm writes them; scripts are files of ours. */
static const char reply_of_pages[] =
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data: blob:; worker-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
        "Permissions-Policy: accelerometer=(), autoplay=(), camera=(), display-capture=(), "
        "encrypted-media=(), geolocation=(), gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), "
        "payment=(), serial=(), usb=(), xr-spatial-tracking=()\r\n"
        "X-Frame-Options: DENY\r\n";

/* Elsewhere browsers do not believe the origin, and complain. */
static const char reply_of_safe_pages[] = "Cross-Origin-Opener-Policy: same-origin\r\n"
                                          "Cross-Origin-Resource-Policy: same-origin\r\n";

const char *http_status_text(unsigned status) {
        static const struct {
                unsigned status;
                const char *text;
        } texts[] = {{200, "OK"},
                     {204, "No Content"},
                     {304, "Not Modified"},
                     {400, "Bad Request"},
                     {403, "Forbidden"},
                     {404, "Not Found"},
                     {405, "Method Not Allowed"},
                     {408, "Request Timeout"},
                     {411, "Length Required"},
                     {413, "Content Too Large"},
                     {415, "Unsupported Media Type"},
                     {416, "Range Not Satisfiable"},
                     {417, "Expectation Failed"},
                     {421, "Misdirected Request"},
                     {426, "Upgrade Required"},
                     {429, "Too Many Requests"},
                     {431, "Request Header Fields Too Large"},
                     {500, "Internal Server Error"},
                     {503, "Service Unavailable"},
                     {505, "HTTP Version Not Supported"}};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (texts[i].status == status)
                        return texts[i].text;
        return "Error";
}

static void http_reply_date(Daemon *daemon, char out[40]) {
        static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        int64_t us = loop_wall_us(daemon->loop);
        Civil t = time_civil(us);

        snprintf(out, 40, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[time_weekday(us) % 7], t.day % 100,
                 months[(t.month + 11) % 12], t.year % 10000, t.hour % 100, t.minute % 100, t.second % 100);
}

static bool http_reply_is_safe(const HttpRequest *request) {
        const Endpoint *endpoint = request->client->endpoint;

        return request->client->is_native || http_endpoint_is_loopback(endpoint) ||
               http_endpoint_is_secure(endpoint);
}

static int http_reply_head(const HttpRequest *request, const HttpReply *reply, Buf *out) {
        char date[40];
        int r;

        http_reply_date(request->client->daemon, date);
        r = buf_printf(out, "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: %s\r\n%s", reply->status,
                       http_status_text(reply->status), date, request->closes ? "close" : "keep-alive",
                       reply_always);
        if (!r && reply->status != 304 && reply->status != 204)
                r = buf_printf(out, "Content-Length: %zu\r\n", reply->body.n);
        if (!r && reply->type)
                r = buf_printf(out, "Content-Type: %s\r\n", reply->type);
        if (!r && reply->coding)
                r = buf_printf(out, "Content-Encoding: %s\r\n", reply->coding);
        if (!r && reply->varies)
                r = buf_append_str(out, STR("Vary: Accept-Encoding\r\n"));
        if (!r && reply->etag.n)
                r = buf_printf(out, "ETag: " STR_FMT "\r\n", STR_ARG(reply->etag));
        if (!r)
                r = buf_printf(out, "Cache-Control: %s\r\n", reply->cache ? reply->cache : "no-store");
        if (!r && reply->is_page)
                r = buf_printf(out, "%s%s", reply_of_pages,
                               http_reply_is_safe(request) ? reply_of_safe_pages : "");
        if (!r && reply->more)
                r = buf_append_str(out, str_from(reply->more));
        return r ? r : buf_append_str(out, STR("\r\n"));
}

void http_answer(HttpRequest *request, const HttpReply *reply) {
        Conn *conn = request->client->conn;

        if (http_reply_head(request, reply, conn_out(conn)) ||
            (!request->is_head && reply->status != 304 && conn_write(conn, reply->body)))
                conn_abort(conn, "out of memory");
        conn_flush_soon(conn);
        http_end(request);
}

void http_answer_status(HttpRequest *request, unsigned status) {
        http_answer(request, &(HttpReply){.status = status});
}

void http_answer_json(HttpRequest *request, unsigned status, Str json) {
        http_answer(request, &(HttpReply){.status = status, .type = "application/json", .body = json});
}

void http_answer_wrong(HttpRequest *request, unsigned status, const char *why) {
        char text[256];
        int n = snprintf(text, sizeof(text), "%s\n", why);

        request->closes = true;
        http_answer(request, &(HttpReply){.status = status,
                                          .type = "text/plain; charset=utf-8",
                                          .body = {text, MIN((size_t)MAX(n, 0), sizeof(text) - 1)}});
}
