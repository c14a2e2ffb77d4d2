/* SPDX-License-Identifier: MIT */
#include "core/principal/web-scope.h"

static const char *const web_scope_names[_WEB_SCOPES] = {
        [WEB_SCOPE_VIEW] = "view",
        [WEB_SCOPE_CONTROL] = "control",
        [WEB_SCOPE_ADMIN] = "admin",
};

const char *web_scope_name(WebScope scope) {
        return web_scope_names[scope];
}

bool web_scope_from_name(Str name, WebScope *ret) {
        for (int i = 0; i < _WEB_SCOPES; i++)
                if (str_is(name, web_scope_names[i])) {
                        *ret = (WebScope)i;
                        return true;
                }
        return false;
}
