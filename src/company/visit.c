/* SPDX-License-Identifier: MIT */
#include "company/visit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "company/live/live.h"
#include "company/pulse/beat.h"
#include "company/workspace.h"
#include "core/hello.h"

typedef struct Visit {
        Workspace *named[VISIT_WORKSPACES_MAX]; /* references */
        size_t n_named;
        struct Live *live; /* subscriptions; NULL: none */
        struct {
                char *session_ref;
                Workspace *workspace;
        } * sessions;      /* a ring of VISIT_SESSIONS_MAX; NULL: none yet */
        size_t n_sessions; /* that there ever were */
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

int visit_environment(Arena *arena, const Client *client, char ***ret) {
        const Hello *hello = client ? client->hello : NULL;
        char **from = hello && hello->has_env ? hello->env.items : environ, **copy;
        size_t n = hello && hello->has_env ? hello->env.n : 0;

        if (from == environ)
                while (environ[n])
                        n++;
        copy = arena_alloc(arena, (n + 1) * sizeof(*copy));
        for (size_t i = 0; copy && i < n; i++) {
                copy[i] = (char *)arena_str(arena, str_from(from[i])).data;
                if (!copy[i])
                        return error_origin(-ENOMEM);
        }
        if (!copy)
                return error_origin(-ENOMEM);
        copy[n] = NULL;
        *ret = copy;
        return 0;
}

/* A connection that only wants an answer says so in its hello, and nothing wakes up for it. */
static bool visit_observes(const Client *client) {
        return !client->hello || client->hello->observe;
}

bool visit_is_observing(const Client *client, const Workspace *workspace) {
        return client && visit_observes(client) && visit_has(client, workspace);
}

static void visit_over(Client *client) {
        Visit *visit = client->visit;

        live_end(visit->live);
        for (size_t i = 0; i < MIN(visit->n_sessions, (size_t)VISIT_SESSIONS_MAX); i++)
                free(visit->sessions[i].session_ref);
        free(visit->sessions);
        for (size_t i = 0; i < visit->n_named; i++) {
                visit->named[i]->n_visits--;
                if (visit_observes(client))
                        beat_leave(visit->named[i], client);
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
        if (visit_observes(client))
                beat_observe(workspace, client);
        return 0;
}

int visit_add_session(Client *client, Workspace *workspace, Str session_ref) {
        Visit *visit = visit_open(client);
        char *copy = str_dup(session_ref);
        size_t at;

        if (visit && !visit->sessions)
                visit->sessions = calloc(VISIT_SESSIONS_MAX, sizeof(*visit->sessions));
        if (!visit || !visit->sessions || !copy) {
                free(copy);
                return error_origin(-ENOMEM);
        }
        for (at = 0; at < MIN(visit->n_sessions, (size_t)VISIT_SESSIONS_MAX); at++)
                if (str_is(session_ref, visit->sessions[at].session_ref))
                        break;
        if (at == MIN(visit->n_sessions, (size_t)VISIT_SESSIONS_MAX))
                at = visit->n_sessions++ % VISIT_SESSIONS_MAX;
        free(visit->sessions[at].session_ref);
        visit->sessions[at].session_ref = copy;
        visit->sessions[at].workspace = workspace;
        return 0;
}

Workspace *visit_find_session(const Call *call, Str session_ref) {
        const Visit *visit = call->client ? call->client->visit : NULL;

        for (size_t i = 0; visit && i < MIN(visit->n_sessions, (size_t)VISIT_SESSIONS_MAX); i++)
                if (str_is(session_ref, visit->sessions[i].session_ref))
                        return visit->sessions[i].workspace;
        return NULL;
}

int visit_sessions(Call *call, VisitSession **ret, size_t *ret_n) {
        const Visit *visit = call->client ? call->client->visit : NULL;
        size_t n = visit ? MIN(visit->n_sessions, (size_t)VISIT_SESSIONS_MAX) : 0;

        *ret = arena_alloc(&call->arena, (n + 1) * sizeof(**ret));
        if (!*ret)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < n; i++) {
                (*ret)[i] = (VisitSession){arena_str(&call->arena, str_from(visit->sessions[i].session_ref)),
                                           visit->sessions[i].workspace};
                if (!(*ret)[i].session_ref.data)
                        return error_origin(-ENOMEM);
        }
        *ret_n = n;
        return 0;
}

uint64_t visit_number(const Call *call) {
        return call->client ? call->client->number : 0;
}
