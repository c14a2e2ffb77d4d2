/* SPDX-License-Identifier: MIT */
/*
 * /lite: the fleet and the last lines of each terminal as one page of plain HTML, for text browsers and for the day on which
 * the console's script does not run. The token comes by a form and stays in the next page's form, nowhere else: not in an
 * address, not in a cookie. What it shows is what ps and fleet.screen answer to that token.
 *
 * Everything that is not of this file is escaped, and what would drive a terminal or turn text around is not shown. Bounds:
 * LITE_…, below; what is beyond them is left out, and the page says so.
 */
#include <stdlib.h>

#include "base/time.h"
#include "base/utf8.h"
#include "core/daemon.h"
#include "core/version.h"
#include "dialect/http/http-request.h"
#include "gen/native-ops.h"

enum {
        LITE_ROWS_MAX = 200,    /* of the table */
        LITE_SCREENS_MAX = 50,  /* terminals */
        LITE_LINES_MAX = 12,    /* of each, the last that are not empty */
        LITE_COLUMNS_MAX = 200, /* characters of a line */
        LITE_WORD_MAX = 120,    /* characters of any other text */
};

struct HttpLite {
        Str token;           /* for the form; empty: none was needed */
        const Json *process; /* whose terminal is next, or is being drawn */
        size_t n_screens;
};

/* ---- text ------------------------------------------------------------------------------------ */

static int lite_put_character(Buf *out, Str bytes, int32_t code) {
        switch (code) {
        case '&': return buf_append_str(out, STR("&amp;"));
        case '<': return buf_append_str(out, STR("&lt;"));
        case '>': return buf_append_str(out, STR("&gt;"));
        case '"': return buf_append_str(out, STR("&quot;"));
        case '\'': return buf_append_str(out, STR("&#39;"));
        default: return buf_append_str(out, utf8_is_hidden(code) ? STR("\xef\xbf\xbd") : bytes);
        }
}

/* At most n_max characters of it. */
static int lite_put_text(Buf *out, Str text, size_t n_max) {
        for (size_t i = 0; text.n; i++) {
                int32_t code;
                size_t n = utf8_next(text, &code);
                int r = i < n_max ? lite_put_character(out, (Str){text.data, n}, code)
                                  : buf_append_str(out, STR("\xe2\x80\xa6"));

                if (r || i == n_max)
                        return r;
                text = (Str){text.data + n, text.n - n};
        }
        return 0;
}

static int lite_put_age(Buf *out, const Json *seconds) {
        int64_t s = 0;

        if (!json_int64(seconds, &s))
                return buf_append_str(out, STR("\xe2\x80\x93"));
        if (s < 120)
                return buf_printf(out, "%lld s", (long long)s);
        if (s < 7200)
                return buf_printf(out, "%lld min", (long long)s / 60);
        return s < 172800 ? buf_printf(out, "%lld h", (long long)s / 3600)
                          : buf_printf(out, "%lld d", (long long)s / 86400);
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char lite_style[] =
        "body{font-family:sans-serif;max-width:60em;margin:1em auto;padding:0 1em;color-scheme:light dark}"
        "table{border-collapse:collapse}td,th{text-align:left;padding:.1em .7em .1em 0;vertical-align:top}"
        "tbody th,td:last-child{overflow-wrap:anywhere}"
        "pre{white-space:pre-wrap;overflow-wrap:anywhere;border-left:.2em solid;padding-left:.6em}";

/* Without a referrer a browser does not say either what page a form is of (Origin: null), and the form would be refused. */
static int lite_begin(Buf *page) {
        return buf_printf(
                page,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>muster: "
                "fleet</title><meta name=\"referrer\" content=\"same-origin\"><meta "
                "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>%s</style>"
                "</head>\n<body><main><h1>muster</h1>\n",
                lite_style);
}

static int lite_put_form(Buf *page, Str token) {
        int r = buf_append_str(page, STR("<form method=\"post\" action=\"/lite\">"));

        if (!r && !token.data)
                r = buf_append_str(page,
                                   STR("<p><label for=\"token\">Token (from <code>muster serve</code> or "
                                       "<code>muster token create</code>)</label><br><input id=\"token\" "
                                       "name=\"token\" type=\"password\" autocomplete=\"off\"> <button "
                                       "type=\"submit\">Show the fleet</button></p></form>\n"));
        else if (!r)
                r = buf_append_str(page, STR("<p><input type=\"hidden\" name=\"token\" value=\"")) ||
                                    lite_put_text(page, token, SIZE_MAX) ||
                                    buf_append_str(page, STR("\"><button type=\"submit\">Look "
                                                             "again</button></p></form>\n"))
                            ? -1
                            : 0;
        return r;
}

static void lite_answer(HttpRequest *request, int r) {
        if (!r)
                r = buf_append_str(&request->page,
                                   STR("<p>muster " MUSTER_VERSION
                                       ". The console, with terminals to type at: <a href=\"/\">/</a></p>"
                                       "</main></body></html>\n"));
        if (r) {
                http_answer_status(request, 500);
                return;
        }
        http_answer(request, &(HttpReply){.status = 200,
                                          .type = "text/html; charset=utf-8",
                                          .body = buf_str(&request->page),
                                          .is_page = true});
}

/* ---- terminals ------------------------------------------------------------------------------- */

static void lite_next(HttpRequest *request);

/* The last lines that are not empty, in their order. */
static int lite_put_lines(Buf *page, Str text) {
        size_t n_lines = 0, from = text.n;
        int r = 0;

        while (from && n_lines < LITE_LINES_MAX) {
                size_t end = from;

                while (from && text.data[from - 1] != '\n')
                        from--;
                n_lines += end > from;
                from -= from && n_lines < LITE_LINES_MAX;
        }
        while (!r && from < text.n) {
                size_t end = from;

                while (end < text.n && text.data[end] != '\n')
                        end++;
                if (end > from)
                        r = lite_put_text(page, (Str){text.data + from, end - from}, LITE_COLUMNS_MAX) ||
                                            buf_append_str(page, STR("\n"))
                                    ? -1
                                    : 0;
                from = end + 1;
        }
        return r;
}

static int lite_put_screen(HttpRequest *request, const Json *process) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Buf *page = &request->page;
        Json *screen = NULL;
        Str text = STR_NULL;

        if (!request->error && !json_parse(&arena, request->out.data, request->out.n, NULL, &screen, NULL))
                text = json_text_of(screen, "text");
        if (buf_append_str(page, STR("<h2>")) ||
            lite_put_text(page, json_text_of(process, "name"), LITE_WORD_MAX) ||
            buf_append_str(page, STR("</h2>\n")))
                return -1;
        if (!str_trim(text).n)
                return buf_append_str(page, STR("<p>Nothing on its screen.</p>\n"));
        return buf_append_str(page, STR("<pre>")) || lite_put_lines(page, text) ||
                               buf_append_str(page, STR("</pre>\n"))
                       ? -1
                       : 0;
}

static void lite_drawn(HttpRequest *request) {
        HttpLite *lite = request->lite;

        if (lite_put_screen(request, lite->process)) {
                lite_answer(request, -1);
                return;
        }
        lite->process = lite->process->next;
        lite->n_screens++;
        lite_next(request);
}

static bool lite_has_screen(const Json *process) {
        return json_text_of(process, "name").n && str_is(json_text_of(process, "kind"), "pty") &&
               str_is(json_text_of(process, "state"), "running");
}

static void lite_next(HttpRequest *request) {
        HttpLite *lite = request->lite;
        Json *args = json_new(&request->arena, JSON_OBJECT);

        while (lite->process && !lite_has_screen(lite->process))
                lite->process = lite->process->next;
        if (!lite->process)
                lite_answer(request, 0);
        else if (lite->n_screens >= LITE_SCREENS_MAX)
                lite_answer(request, buf_append_str(&request->page,
                                                    STR("<p>Further terminals are not shown here.</p>\n")));
        else if (!args || json_set(&request->arena, args, STR("name"),
                                   json_new_str(&request->arena, json_text_of(lite->process, "name"))))
                lite_answer(request, -1);
        else {
                request->out.n = 0;
                http_run_op(request, &native_ops, "fleet.screen", args, lite_drawn);
        }
}

/* ---- the table ------------------------------------------------------------------------------- */

static int lite_put_cell(Buf *page, Str text) {
        return buf_append_str(page, STR("<td>")) || lite_put_text(page, text, LITE_WORD_MAX) ||
                               buf_append_str(page, STR("</td>"))
                       ? -1
                       : 0;
}

static int lite_put_row(Buf *page, const Json *process) {
        Str name = json_text_of(process, "name");
        int r = buf_append_str(page, STR("<tr><th scope=\"row\">")) ||
                                lite_put_text(page, name.n ? name : json_text_of(process, "id"),
                                              LITE_WORD_MAX) ||
                                buf_append_str(page, STR("</th>")) ||
                                lite_put_cell(page, json_text_of(process, "state")) ||
                                buf_append_str(page, STR("<td>")) ||
                                lite_put_age(page, json_get(process, "age_seconds")) ||
                                buf_append_str(page, STR("</td><td>")) ||
                                lite_put_age(page, json_get(process, "output_age_seconds")) ||
                                buf_append_str(page, STR("</td>")) ||
                                lite_put_cell(page, json_text_of(process, "workspace")) ||
                                buf_append_str(page, STR("</tr>\n"))
                        ? -1
                        : 0;

        return r;
}

static int lite_put_table(HttpRequest *request, const Json *processes) {
        Buf *page = &request->page;
        char now[TIME_TEXT_MAX];
        size_t n = 0, n_all = json_count(processes);

        time_format_s(loop_wall_us(request->client->daemon->loop), now);
        if (buf_printf(page, "<p>%zu hosted, as of %s.</p>\n", n_all, now))
                return -1;
        if (!n_all)
                return 0;
        if (buf_append_str(page, STR("<table><caption>Fleet</caption><thead><tr><th scope=\"col\">Name</th>"
                                     "<th scope=\"col\">State</th><th scope=\"col\">Since</th><th "
                                     "scope=\"col\">Last output</th><th scope=\"col\">Folder</th></tr>"
                                     "</thead><tbody>\n")))
                return -1;
        json_each (process, processes)
                if (n++ < LITE_ROWS_MAX && lite_put_row(page, process))
                        return -1;
        if (buf_append_str(page, STR("</tbody></table>\n")))
                return -1;
        return n_all > LITE_ROWS_MAX ? buf_append_str(page, STR("<p>Further ones are not shown here.</p>\n"))
                                     : 0;
}

static void lite_listed(HttpRequest *request) {
        Str text = request->error ? STR_NULL : arena_str(&request->arena, buf_str(&request->out));
        Json *json = NULL;

        if (request->error) {
                http_answer_status(request, request->error == CALL_E_FORBIDDEN ? 403 : 500);
                return;
        }
        if (!text.data || json_parse(&request->arena, text.data, text.n, NULL, &json, NULL) ||
            lite_begin(&request->page) ||
            lite_put_form(&request->page, request->lite->token.n ? request->lite->token : STR("")) ||
            lite_put_table(request, json_get(json, "processes"))) {
                lite_answer(request, -1);
                return;
        }
        request->lite->process = json_first(json_get(json, "processes"));
        lite_next(request);
}

static void lite_show(HttpRequest *request, Str token) {
        request->lite = arena_alloc(&request->arena, sizeof(*request->lite));
        if (!request->lite) {
                http_answer_status(request, 500);
                return;
        }
        *request->lite = (HttpLite){.token = token};
        http_run_op(request, &native_ops, "ps", NULL, lite_listed);
}

/* ---- routes ---------------------------------------------------------------------------------- */

void http_lite_get(HttpRequest *request, _unused_ Str body) {
        if (request->client->is_native) {
                lite_show(request, STR_NULL); /* who it is, is known */
                return;
        }
        lite_answer(request, lite_begin(&request->page) || lite_put_form(&request->page, STR_NULL) ? -1 : 0);
}

/* A form is written as the query of an address is. */
void http_lite_post(HttpRequest *request, Str body) {
        Str form = arena_printf(&request->arena, "/?" STR_FMT, STR_ARG(body)), token = STR_NULL;
        HttpTarget target;
        int r = form.data ? http_target_parse(&request->arena, form, &target) : -1;

        if (r < 0)
                http_answer_status(request, 500);
        else if (r)
                http_answer_wrong(request, 400, http_target_reason(r));
        else if (request->client->is_native)
                lite_show(request, STR_NULL);
        else if (http_target_find(&target, STR("token"), &token) && http_auth_show(request, token))
                lite_show(request, token);
        else
                http_auth_refuse(request);
}
