/* SPDX-License-Identifier: MIT */
#include "base/place.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/macro.h"

/* $name/rest, or NULL when the variable names no folder. */
static char *xdg_path(const char *name, const char *rest) {
        const char *base = getenv(name);

        return base && base[0] == '/' ? path_join(base, rest) : NULL;
}

static bool is_set(const char *name) {
        const char *value = getenv(name);

        return value && *value;
}

char *place_home(void) {
        char *path;

        if (is_set("MUSTER_HOME"))
                return path_expand(getenv("MUSTER_HOME"));
        path = xdg_path("XDG_STATE_HOME", "muster");
        return path ? path : path_expand("~/.local/state/muster");
}

char *place_socket(const char *home) {
        _cleanup_(freep) char *own_home = NULL;
        char *path;

        if (is_set("MUSTER_SOCKET"))
                return path_expand(getenv("MUSTER_SOCKET"));
        path = xdg_path("XDG_RUNTIME_DIR", "muster/muster.sock");
        if (path)
                return path;
        if (!home)
                home = own_home = place_home();
        return home ? path_join(home, "run/muster.sock") : NULL;
}

bool place_socket_is_named(void) {
        return is_set("MUSTER_SOCKET");
}

char *place_address(const char *home) {
        return path_join(home, "musterd.address");
}

char *place_config(void) {
        char *path = xdg_path("XDG_CONFIG_HOME", "muster/muster.toml");

        return path ? path : path_expand("~/.config/muster/muster.toml");
}
