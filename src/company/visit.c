/* SPDX-License-Identifier: MIT */
#include "company/visit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "company/live/live.h"
#include "company/workspace.h"
#include "core/hello.h"

typedef struct Visit {
        Workspace *named[VISIT_WORKSPACES_MAX]; /* references */
        size_t n_named;
        struct Live *live; /* subscriptions; NULL: none */
} Visit;

/* Without a hello a relative path counts from the root, where the daemon is. */
Str visit_path(Call *call, Str path) {
        const Hello *hello = call->client ? call->client->hello : NULL;
        const char *cwd = hello && hello->cwd ? hello->cwd : "";

        while (path.n > 1 && path.data[path.n - 1] == '/')
                path.n--;
        if (path.n && path.data[0] == '/')
                return arena_str(&call->arena, path);
        return arena_printf(&call->arena, "%s/" STR_FMT, cwd, STR_ARG(path));
}

const char *visit_env(const Call *call, const char *name) {
        const Hello *hello = call->client ? call->client->hello : NULL;
        size_t n = strlen(name);

        for (size_t i = 0; hello && i < hello->env.n; i++)
                if (!strncmp(hello->env.items[i], name, n) && hello->env.items[i][n] == '=')
                        return hello->env.items[i] + n + 1;
        return NULL;
}

static void visit_over(Client *client) {
        Visit *visit = client->visit;

        live_end(visit->live);
        for (size_t i = 0; i < visit->n_named; i++) {
                visit->named[i]->n_visits--;
                workspace_unref(visit->named[i]);
        }
        free(visit);
        client->visit = NULL;
}

bool visit_has(const Client *client, const Workspace *workspace) {
        const Visit *visit = client->visit;

        for (size_t i = 0; visit && i < visit->n_named; i++)
                if (visit->named[i] == workspace)
                        return true;
        return false;
}

static Visit *visit_open(Client *client) {
        if (!client->visit) {
                client->visit = calloc(1, sizeof(Visit));
                client->visit_over = client->visit ? visit_over : NULL;
        }
        return client->visit;
}

struct Live *visit_live(const Client *client) {
        const Visit *visit = client->visit;

        return visit ? visit->live : NULL;
}

int visit_set_live(Client *client, struct Live *live) {
        Visit *visit = visit_open(client);

        if (!visit)
                return error_origin(-ENOMEM);
        visit->live = live;
        return 0;
}

int visit_name(Call *call, Workspace *workspace) {
        Client *client = call->client;
        Visit *visit;

        if (!client || visit_has(client, workspace))
                return 0;
        visit = visit_open(client);
        if (!visit)
                return error_origin(-ENOMEM);
        if (visit->n_named == VISIT_WORKSPACES_MAX)
                return call_fail(call, CALL_E_COMPANY, "this connection has named %d workspaces already",
                                 VISIT_WORKSPACES_MAX);
        workspace->n_visits++;
        visit->named[visit->n_named++] = workspace_ref(workspace);
        return 0;
}
