/* SPDX-License-Identifier: MIT */
#include "core/principal/right.h"

#include "base/macro.h"

#define BIT(right) (1U << RIGHT_##right)

/* What every agent needs for its part of the work. */
#define RIGHTS_OF_AGENTS (BIT(READ) | BIT(LOOK) | BIT(MESSAGE) | BIT(ASK) | BIT(TASK) | BIT(REPORT))

static const char *const right_names[_RIGHTS] = {
        [RIGHT_READ] = "read",   [RIGHT_LOOK] = "look",       [RIGHT_MESSAGE] = "message",
        [RIGHT_ASK] = "ask",     [RIGHT_TASK] = "task",       [RIGHT_REPORT] = "report",
        [RIGHT_TYPE] = "type",   [RIGHT_START] = "start",     [RIGHT_STOP] = "stop",
        [RIGHT_WRITE] = "write", [RIGHT_APPROVE] = "approve", [RIGHT_ADMIN] = "admin",
};

const char *right_name(Right right) {
        return right_names[right];
}

const char *principal_kind_name(PrincipalKind kind) {
        static const char *const names[_PRINCIPAL_KINDS] = {
                [PRINCIPAL_USER] = "user",       [PRINCIPAL_FOREMAN] = "foreman", [PRINCIPAL_PEER] = "peer",
                [PRINCIPAL_SESSION] = "session", [PRINCIPAL_TASK] = "task",       [PRINCIPAL_RUN] = "run",
                [PRINCIPAL_NOBODY] = "nobody",
        };

        return names[kind];
}

static RightSet rights_by_default(PrincipalKind kind) {
        switch (kind) {
        case PRINCIPAL_USER: return RIGHTS_ALL;
        case PRINCIPAL_FOREMAN: return RIGHTS_ALL & ~(BIT(APPROVE) | BIT(ADMIN));
        case PRINCIPAL_SESSION: return RIGHTS_ALL & ~BIT(APPROVE);
        case PRINCIPAL_PEER: return RIGHTS_OF_AGENTS | BIT(STOP);
        case PRINCIPAL_TASK:
        case PRINCIPAL_RUN: return RIGHTS_OF_AGENTS;
        default: return BIT(READ);
        }
}

RightSet rights_of_scope(WebScope scope) {
        switch (scope) {
        case WEB_SCOPE_ADMIN: return RIGHTS_ALL;
        case WEB_SCOPE_CONTROL: return RIGHTS_ALL & ~BIT(ADMIN);
        default: return BIT(READ) | BIT(LOOK);
        }
}

/* The setting of a kind; NULL: it has none. */
static const StrVec *rights_said(const Config *config, PrincipalKind kind) {
        switch (kind) {
        case PRINCIPAL_FOREMAN: return &config->rights_foreman;
        case PRINCIPAL_PEER: return &config->rights_peer;
        case PRINCIPAL_SESSION: return &config->rights_session;
        case PRINCIPAL_TASK: return &config->rights_task;
        case PRINCIPAL_RUN: return &config->rights_run;
        default: return NULL;
        }
}

bool right_read(Str word, RightSet *set) {
        if (str_is(word, "all"))
                *set = RIGHTS_ALL;
        for (int right = 0; right < _RIGHTS; right++)
                if (str_is(word, right_names[right])) {
                        *set |= 1U << right;
                        return true;
                }
        return str_is(word, "all") || str_is(word, "none");
}

RightSet rights_of(const Config *config, PrincipalKind kind) {
        const StrVec *said = rights_said(config, kind);
        RightSet set = 0;

        if (!said || !said->n)
                return rights_by_default(kind);
        for (size_t i = 0; i < said->n; i++)
                (void)right_read(str_from(said->items[i]), &set); /* checked when it was configured */
        return set;
}
