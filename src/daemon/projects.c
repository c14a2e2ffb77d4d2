/* SPDX-License-Identifier: MIT */
#include "daemon/projects.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "dialect/aiwg/aiwg.h"

enum { PROJECTS_MAX = 1 << 20 };

int projects_load(const char *home, StrVec *ret) {
        _cleanup_(freep) char *path = path_join(home, "projects.json");
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int r = path ? 0 : -ENOMEM;

        if (r || file_read(path, PROJECTS_MAX, &text) ||
            json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return error_trace(r);
        json_each (dir, json_get(json, "projects")) {
                Str name = arena_str(&arena, json_str(dir)); /* with a NUL */
                if (!r && name.n && name.data[0] == '/')
                        r = strvec_push(ret, name.data);
        }
        return error_trace(r);
}

int projects_endpoint(Daemon *daemon, const char *dir, Endpoint **ret) {
        Endpoint **at = &daemon->endpoints;
        int r;

        for (; *at; at = &(*at)->next)
                if ((*at)->type == &aiwg_endpoint && !strcmp((*at)->where, dir)) {
                        *ret = *at;
                        return 0;
                }
        r = endpoint_new(at, daemon, &aiwg_endpoint, dir);
        *ret = *at;
        return error_trace(r);
}
