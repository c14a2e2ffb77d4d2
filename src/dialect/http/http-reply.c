/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "core/daemon.h"
#include "dialect/http/http-request.h"

enum { REPLY_HEAD_MAX = 512 /* of the fields that every answer has */ };

/* What every answer says: nothing of it is to be guessed, framed, or sent on to others. */
static const char reply_always[] = "X-Content-Type-Options: nosniff\r\n"
                                   "Referrer-Policy: no-referrer\r\n";

/* What a page of ours may do. Styles may be inline, since xterm writes them; scripts are files of ours. */
static const char reply_policy[] =
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data: blob:; worker-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n";

/* The rest of it stands in the page; this part is not taken from there. */
static const char reply_policy_frames[] = "Content-Security-Policy: frame-ancestors 'none'\r\n";

static const char reply_of_pages[] =
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
                     {202, "Accepted"},
                     {204, "No Content"},
                     {206, "Partial Content"},
                     {304, "Not Modified"},
                     {400, "Bad Request"},
                     {403, "Forbidden"},
                     {404, "Not Found"},
                     {405, "Method Not Allowed"},
                     {406, "Not Acceptable"},
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

/* ---- pieces of a head: every answer has one, and printf() would be a third of its cost --------- */

/* Writes a NUL behind it, too, which the next piece takes the place of. */
static char *http_reply_put(char *at, const char *text) {
        return stpcpy(at, text);
}

static char *http_reply_put_digits(char *at, uint64_t value, unsigned n_digits) {
        for (unsigned i = n_digits; i-- > 0; value /= 10)
                at[i] = (char)('0' + value % 10);
        return at + n_digits;
}

static char *http_reply_put_number(char *at, uint64_t value) {
        unsigned n_digits = 1;

        for (uint64_t rest = value; rest > 9; rest /= 10)
                n_digits++;
        return http_reply_put_digits(at, value, n_digits);
}

/* Sun, 06 Nov 1994 08:49:37 GMT; HTTP_DATE_BYTES */
static void http_reply_write_date(char *at, int64_t us) {
        static const char days[] = "SunMonTueWedThuFriSat",
                          months[] = "JanFebMarAprMayJunJulAugSepOctNovDec",
                          zone[] = {' ', 'G', 'M', 'T'}; /* without a NUL */
        Civil t = time_civil(us);

        memcpy(at, days + (size_t)3 * (time_weekday(us) % 7), 3);
        at[3] = ',';
        at[4] = ' ';
        at = http_reply_put_digits(at + 5, t.day, 2);
        *at++ = ' ';
        memcpy(at, months + (size_t)3 * ((t.month + 11) % 12), 3);
        at[3] = ' ';
        at = http_reply_put_digits(at + 4, t.year, 4);
        *at++ = ' ';
        at = http_reply_put_digits(at, t.hour, 2);
        *at++ = ':';
        at = http_reply_put_digits(at, t.minute, 2);
        *at++ = ':';
        memcpy(http_reply_put_digits(at, t.second, 2), zone, sizeof(zone));
}

static char *http_reply_put_date(char *at, const HttpRequest *request) {
        HttpConn *conn = request->conn;
        int64_t us = loop_wall_us(request->client->daemon->loop), now_s = us / 1000000;

        if (conn->date_s != now_s)
                http_reply_write_date(conn->date, us);
        conn->date_s = now_s;
        memcpy(at, conn->date, HTTP_DATE_BYTES);
        return at + HTTP_DATE_BYTES;
}

static bool http_reply_is_safe(const HttpRequest *request) {
        const Endpoint *endpoint = request->client->endpoint;

        return request->client->is_native || http_endpoint_is_loopback(endpoint) ||
               http_endpoint_is_secure(endpoint);
}

/* What every head has; the status text is the longest of it that varies. */
static int http_reply_begin(const HttpRequest *request, const HttpReply *reply, Buf *out) {
        char text[REPLY_HEAD_MAX], *at = http_reply_put(text, "HTTP/1.1 ");

        at = http_reply_put_number(at, reply->status);
        *at++ = ' ';
        at = http_reply_put(at, http_status_text(reply->status));
        at = http_reply_put(at, "\r\nDate: ");
        at = http_reply_put_date(at, request);
        at = http_reply_put(at, request->closes ? "\r\nConnection: close\r\n"
                                                : "\r\nConnection: keep-alive\r\n");
        at = http_reply_put(at, reply_always);
        if (reply->is_chunked)
                at = http_reply_put(at, "Transfer-Encoding: chunked\r\n");
        else if (reply->status != 304 && reply->status != 204) {
                at = http_reply_put(at, "Content-Length: ");
                at = http_reply_put(http_reply_put_number(at, reply->body.n), "\r\n");
        }
        assert(at < text + sizeof(text));
        return buf_append(out, text, (size_t)(at - text));
}

/* begin: its name, with what stands before the value. */
static int http_reply_field(Buf *out, Str begin, Str value) {
        int r = buf_append_str(out, begin);

        r = r ? r : buf_append_str(out, value);
        return r ? r : buf_append_str(out, STR("\r\n"));
}

int http_put_head(const HttpRequest *request, const HttpReply *reply, Buf *out) {
        int r = http_reply_begin(request, reply, out);

        if (!r && reply->type)
                r = http_reply_field(out, STR("Content-Type: "), str_from(reply->type));
        if (!r && reply->coding)
                r = http_reply_field(out, STR("Content-Encoding: "), str_from(reply->coding));
        if (!r && reply->varies)
                r = buf_append_str(out, STR("Vary: Accept-Encoding\r\n"));
        if (!r && reply->etag.n)
                r = http_reply_field(out, STR("ETag: "), reply->etag);
        if (!r)
                r = http_reply_field(out, STR("Cache-Control: "),
                                     reply->cache ? str_from(reply->cache) : STR("no-store"));
        if (!r && reply->is_page)
                r = buf_printf(out, "%s%s%s", reply->has_policy ? reply_policy_frames : reply_policy,
                               reply_of_pages, http_reply_is_safe(request) ? reply_of_safe_pages : "");
        if (!r && reply->more)
                r = buf_append_str(out, str_from(reply->more));
        return r ? r : buf_append_str(out, STR("\r\n"));
}

void http_answer(HttpRequest *request, const HttpReply *reply) {
        Conn *conn = request->client->conn;

        if (buf_reserve_wiping(conn_out(conn), REPLY_HEAD_MAX + reply->body.n) ||
            http_put_head(request, reply, conn_out(conn)) ||
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
