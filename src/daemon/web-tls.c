/* SPDX-License-Identifier: MIT */
#include "daemon/web-tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "core/web/servers.h"

bool web_tls_is_word(Str said) {
        const char *colon = said.n ? memchr(said.data, ':', said.n) : NULL;

        if (str_is(said, "auto"))
                return true;
        return colon && said.n <= SERVER_TLS_MAX && said.data[0] == '/' && colon + 1 < said.data + said.n &&
               colon[1] == '/' && !memchr(said.data, '\0', said.n);
}

static int web_tls_load_own(TlsServer **ret, const char *home, const char *host, char why[TLS_WHY_MAX]) {
        _cleanup_(freep) char *folder = path_join(home, "web");
        _cleanup_(freep) char *path = folder ? path_join(folder, "tls.pem") : NULL;
        bool is_any = !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
        int r = path ? dir_make(folder, 0700) : error_origin(-ENOMEM);

        return error_trace(r ? r : tls_server_auto(ret, path, is_any ? NULL : host, why));
}

int web_tls_load(TlsServer **ret, const char *home, const char *said, const char *host,
                 char why[TLS_WHY_MAX]) {
        _cleanup_(freep) char *cert = NULL;
        char *key;

        if (!strcmp(said, "auto"))
                return error_trace(web_tls_load_own(ret, home, host, why));
        cert = strdup(said);
        if (!cert)
                return error_origin(-ENOMEM);
        key = strchr(cert, ':');
        if (!key)
                return error_origin(-EINVAL);
        *key++ = '\0';
        return error_trace(tls_server_load(ret, cert, key, why));
}
