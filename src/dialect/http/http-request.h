#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * HttpRequest: one request from its head to its answer, and HttpConn: what a connection keeps between two of them.
 *
 * A request has the bytes of its head, its target and the arguments made of it in its arena. It is answered exactly
 * once, by http_answer() or one of its kind, and gone then. Owned by its HttpConn, which is the client's state.
 */
#include "core/client.h"
#include "dialect/http/http-auth.h"
#include "wire/http-head.h"
#include "wire/http-target.h"

typedef struct HttpConn HttpConn;
typedef struct HttpRequest HttpRequest;
typedef struct HttpRoute HttpRoute;
typedef struct HttpLogin HttpLogin;
typedef struct HttpFile HttpFile;
typedef struct HttpLite HttpLite;

enum { HTTP_DATE_BYTES = 29 };

/* Who may ask for it. */
typedef enum HttpAccess {
        HTTP_OPEN,  /* everybody: files that are the same for all */
        HTTP_TOKEN, /* who shows a token */
} HttpAccess;

struct HttpRoute {
        const char *method;      /* GET stands for HEAD, too */
        const char *segments[6]; /* "*": any one; NULL: the end */
        HttpAccess access;
        bool is_of_one; /* also for a token that is for one thing: the route looks which */
        bool is_websocket;
        size_t n_body_max; /* 0: no body is read */
        void (*run)(HttpRequest *request, Str body);
};

struct HttpRequest {
        HttpConn *conn;
        Client *client;
        Arena arena;
        const HttpRoute *route;
        Token *token; /* that let the caller in; NULL: none was needed. Good in the turn of the head */
        bool is_head; /* only the head of the answer is wanted */
        bool closes;  /* the connection ends with the answer */
        bool awaits_body;
        bool is_whole; /* its body, if it has one, was read */

        HttpLogin *login;                   /* that waits for the tokens; NULL: none */
        Buf out;                            /* result of the operation that it became, or its error */
        int error;                          /* CALL_E_*; 0: none */
        void (*done)(HttpRequest *request); /* … and what is made of it */

        HttpFile *file; /* that is being sent; in the arena, as the next */
        HttpLite *lite;
        Buf page;                              /* that is being made */
        void (*drained)(HttpRequest *request); /* what was written has nearly left; NULL: nobody asked */

        HttpHead head; /* the last two: most of them is never used, nor cleared */
        HttpTarget target;
};

struct HttpConn {
        Client *client;
        HttpRequest *request; /* under way; NULL: none */
        HttpVisitor visitor;
        Timer deadline;
        int64_t date_s;             /* second that `date` is of; 0: none yet */
        char date[HTTP_DATE_BYTES]; /* as it stands in answers: one a second is written */
};

/* http.c */
void http_request_drop(HttpRequest *request); /* wipes and frees it; NULL: fine */
HttpConn *http_conn_of(Client *client);
/* Runs an operation of coop for the request; done() follows, with out and error. args: an object, or NULL. */
void http_run_op(HttpRequest *request, const OpTable *ops, const char *name, const Json *args,
                 void (*done)(HttpRequest *request));
/* The answer is written: the next request may come, or the connection ends. */
void http_end(HttpRequest *request);
/* The connection leaves HTTP: frees the request and what the connection kept for it. */
void http_leave(HttpRequest *request);

/* http-reply.c */
typedef struct HttpReply {
        unsigned status;
        const char *type;  /* NULL: no content */
        Str body;          /* of the answer to HEAD: what it would be */
        const char *cache; /* Cache-Control; NULL: no-store */
        Str etag;          /* empty: none */
        const char *coding;
        const char *more; /* further fields, each with its CR LF; NULL: none */
        bool is_page;     /* with the rules for what a page may do */
        bool has_policy; /* the page says itself which scripts it may run: a static host can serve it, too */
        bool varies;     /* by Accept-Encoding */
        bool is_chunked; /* the body follows in pieces, each with its length */
} HttpReply;

int http_put_head(const HttpRequest *request, const HttpReply *reply, Buf *out); /* appends */

void http_answer(HttpRequest *request, const HttpReply *reply);
void http_answer_status(HttpRequest *request, unsigned status); /* without a body */
void http_answer_json(HttpRequest *request, unsigned status, Str json);
/* Refuses in a few words for people, and closes: what follows cannot be told from a body. */
void http_answer_wrong(HttpRequest *request, unsigned status, const char *why);
const char *http_status_text(unsigned status);

/* http-route.c; *ret_allowed: methods of the path, when it is there but not this one. */
const HttpRoute *http_route_find(const HttpRequest *request, const char **ret_allowed);

/* What routes run. */
void http_login(HttpRequest *request, Str body);
void http_tunnel_redeem(HttpRequest *request, Str body);
void http_login_leave(HttpLogin *login); /* its request goes; NULL: fine */
void http_mcp_post(HttpRequest *request, Str body);
void http_recording_get(HttpRequest *request, Str body);
void http_lite_get(HttpRequest *request, Str body);
void http_lite_post(HttpRequest *request, Str body);
void http_metrics_get(HttpRequest *request, Str body);
void http_assets_get(HttpRequest *request, Str body);
void http_rest_list(HttpRequest *request, Str body);
void http_rest_create(HttpRequest *request, Str body);
void http_rest_kill(HttpRequest *request, Str body);
void http_rest_shell(HttpRequest *request, Str body);
void http_rest_resize(HttpRequest *request, Str body);
void ws_coop_open(HttpRequest *request, Str body);
void ws_rpc_open(HttpRequest *request, Str body);
void ws_term_open(HttpRequest *request, Str body);
