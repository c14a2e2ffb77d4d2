/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/principal"

#include "core/principal/principal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/host/host.h"
#include "core/web/token.h"

/* ---- sandboxes ------------------------------------------------------------------------------- */

/* The number was the peer's all the time, if the process is still there (also as a zombie) afterwards. Where
 * there are no such descriptors the number is believed: between connect() and accept() there is little time
 * for it to become another's. */
static bool principal_is_gone(int pidfd) {
        return pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) && errno == ESRCH;
}

static bool principal_has_no_process(int pidfd) {
        return pidfd == -ESRCH || pidfd == -EINVAL;
}

void principal_establish(Client *client) {
        const struct Host *host = client->daemon->host;
        int pidfd;

        if (!host || conn_peer(client->conn)->is_remote || !host_has_sandboxed(host))
                return;
        pidfd = conn_peer_pidfd(client->conn);
        client->is_sandboxed = principal_has_no_process(pidfd) ||
                               host_is_sandboxed_caller(host, client_pid(client)) ||
                               principal_is_gone(pidfd);
        if (client->is_sandboxed)
                log_notice(&client->daemon->log, client->endpoint->type->name,
                           "client in a sandbox, or gone: it may only look client=%llu pid=%d",
                           (unsigned long long)client->number, (int)client_pid(client));
        if (pidfd >= 0)
                close_fd(pidfd);
}

/* ---- who it is ------------------------------------------------------------------------------- */

void principal_deinit(Principal *principal) {
        free(principal->name);
        free(principal->token);
        free(principal->object);
        *principal = (Principal){0};
}

int principal_say_token(Client *client, Str token) {
        free(client->principal.token);
        client->principal.token = str_dup(token);
        return client->principal.token ? 0 : error_origin(-ENOMEM);
}

static const char principal_web_kind[] = "web:";

/* Malloc'd; without printf(), since every connection over the web needs one. */
static char *principal_web_name(const char *id) {
        size_t n_kind = sizeof(principal_web_kind) - 1, n = strlen(id) + 1;
        char *name = malloc(n_kind + n);

        if (name) {
                memcpy(name, principal_web_kind, n_kind);
                memcpy(name + n_kind, id, n);
        }
        return name;
}

/* It has shown this very token before: its texts can stay. */
static bool principal_is_web_of(const Principal *self, const Token *token) {
        return self->proof == PROOF_WEB && self->object && !self->token &&
               !strcmp(self->name + sizeof(principal_web_kind) - 1, token->id) &&
               !strcmp(self->object, token->object);
}

int principal_be_web(Client *client, const Token *token) {
        Principal *self = &client->principal;

        if (token && client->has_token && principal_is_web_of(self, token)) {
                self->scope = token->scope;
                return 0;
        }
        principal_deinit(self);
        self->proof = PROOF_WEB;
        self->kind = PRINCIPAL_NOBODY;
        self->left = 0;
        client->has_token = false;
        self->name = principal_web_name(token ? token->id : "-");
        if (!self->name)
                return error_origin(-ENOMEM);
        self->object = token ? strdup(token->object) : NULL;
        if (!self->object)
                return token ? error_origin(-ENOMEM) : 0;
        self->kind = PRINCIPAL_USER;
        self->left = RIGHTS_ALL;
        self->is_settled = true;
        self->scope = token->scope;
        client->has_token = true;
        return 0;
}

static PrincipalKind principal_kind_of(const Hosted *hosted, const char **ret_word) {
        static const struct {
                const char *owner, *word;
                PrincipalKind kind;
        } owners[] = {{"collab", "actor", PRINCIPAL_PEER},
                      {"sessions", "session", PRINCIPAL_SESSION},
                      {"tasks", "task", PRINCIPAL_TASK},
                      {"company", "run", PRINCIPAL_RUN}};

        *ret_word = "process";
        for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
                if (!strcmp(owners[i].owner, hosted->owner)) {
                        *ret_word = owners[i].word;
                        return owners[i].kind;
                }
        return PRINCIPAL_TASK; /* of a domain that is not served: as few rights as any agent has */
}

static void principal_be_nobody(Principal *self, const char *why) {
        self->kind = PRINCIPAL_NOBODY;
        self->trouble = why;
}

static void principal_be(Principal *self, const Hosted *hosted) {
        const char *word, *slash;

        self->kind = principal_kind_of(hosted, &word);
        snprintf(self->id, sizeof(self->id), "%s", hosted->id);
        if (asprintf(&self->name, "%s:%s", word, hosted->object) < 0) {
                self->name = NULL;
                principal_be_nobody(self, "out of memory");
                return;
        }
        slash = !strcmp(word, "actor") ? strchr(self->name, '/') : NULL;
        if (!slash)
                return;
        self->group = (Str){self->name + strlen("actor:"), (size_t)(slash - self->name) - strlen("actor:")};
        self->actor = str_from(slash + 1);
}

static void principal_look(Client *client, Principal *self) {
        struct Host *host = client->daemon->host;
        pid_t pid = client_pid(client);
        int pidfd = pid ? conn_peer_pidfd(client->conn) : -ENOPROTOOPT;
        Hosted *hosted = NULL, *told = NULL;
        bool is_cgroup = false, is_lost;

        is_lost = principal_has_no_process(pidfd) ||
                  (pid && host_find_caller(host, pid, &hosted, &is_cgroup)) || principal_is_gone(pidfd);
        if (pidfd >= 0)
                close_fd(pidfd);
        if (self->token)
                told = host_find_token(host, str_from(self->token));
        if (is_lost)
                principal_be_nobody(self, "the caller had ended before it could be looked at");
        else if (hosted || told) {
                self->proof = !hosted ? PROOF_TOKEN : is_cgroup ? PROOF_CGROUP : PROOF_PROCESS;
                principal_be(self, hosted ? hosted : told);
                if (self->token && hosted && told != hosted)
                        self->trouble = told ? "the token is another's" : "the token is nobody's";
        } else if (self->token)
                principal_be_nobody(self, "the token is of nothing that runs");
}

static const Hosted *principal_hosted(const Client *client) {
        const Principal *self = &client->principal;

        return self->actor.n ? host_find(client->daemon->host, str_from(self->id)) : NULL;
}

/* Of one that has ended, what was known last stays. */
static void principal_stand(const Client *client, Principal *self) {
        const Hosted *hosted = principal_hosted(client);
        Standing standing = {.rights = 1U << RIGHT_READ};

        if (!hosted || !hosted->handler || !hosted->handler->standing)
                return;
        self->is_settled |= hosted->handler->standing(hosted, &standing);
        self->kind = standing.leads ? PRINCIPAL_FOREMAN : PRINCIPAL_PEER;
        self->left = standing.rights;
}

const Principal *principal_of(Client *client) {
        Principal *self = &client->principal;
        const struct Host *host = client->daemon->host;

        if (!self->proof) {
                self->proof = PROOF_USER;
                self->kind = PRINCIPAL_USER;
                self->left = RIGHTS_ALL;
                if (host && !conn_peer(client->conn)->is_remote && (self->token || host_has_callers(host)))
                        principal_look(client, self);
                self->is_settled = !self->actor.n;
        }
        if (self->actor.n)
                principal_stand(client, self);
        return self;
}

int principal_settle(Call *call, CallThenFn then, const Carry *carry) {
        const Hosted *hosted = principal_hosted(call->client);
        bool is_settled = call->client->principal.is_settled;

        call->client->principal.is_settled = true; /* it is not asked twice */
        return !is_settled && hosted && hosted->handler && hosted->handler->stand
                       ? hosted->handler->stand(hosted, call, then, carry)
                       : then(call, carry);
}

const char *principal_name(const Principal *principal) {
        return principal->name ? principal->name : principal_kind_name(principal->kind);
}

bool principal_is_person(Str name) {
        return str_is(name, "user") || str_starts(name, STR("web:"));
}

const char *principal_proof_name(const Principal *principal) {
        static const char *const names[] = {
                [PROOF_NONE] = "user",       [PROOF_USER] = "user",     [PROOF_TOKEN] = "token",
                [PROOF_PROCESS] = "process", [PROOF_CGROUP] = "cgroup", [PROOF_WEB] = "web"};

        return names[principal->proof];
}

RightSet principal_rights(const Client *client, const Principal *principal) {
        RightSet set = rights_of(&client->daemon->config, principal->kind) & principal->left;

        if (principal->proof == PROOF_WEB)
                set &= rights_of_scope(principal->scope);
        return client->is_sandboxed ? set & (1U << RIGHT_READ) : set;
}
