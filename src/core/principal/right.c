/* SPDX-License-Identifier: MIT */
#include "core/principal/right.h"

#include <string.h>

#include "base/macro.h"

#define BIT(right) (1U << RIGHT_##right)

static const RightSet rights_all = (1U << _RIGHTS) - 1;
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
        case PRINCIPAL_USER: return rights_all;
        case PRINCIPAL_FOREMAN: return rights_all & ~(BIT(APPROVE) | BIT(ADMIN));
        case PRINCIPAL_SESSION: return rights_all & ~BIT(APPROVE);
        case PRINCIPAL_PEER: return RIGHTS_OF_AGENTS | BIT(STOP);
        case PRINCIPAL_TASK:
        case PRINCIPAL_RUN: return RIGHTS_OF_AGENTS;
        default: return BIT(READ);
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

/* The words are checked when the configuration is read. */
static RightSet rights_of_word(const char *word) {
        if (!strcmp(word, "all"))
                return rights_all;
        for (int right = 0; right < _RIGHTS; right++)
                if (!strcmp(word, right_names[right]))
                        return 1U << right;
        return 0;
}

RightSet rights_of(const Config *config, PrincipalKind kind) {
        const StrVec *said = rights_said(config, kind);
        RightSet set = 0;

        if (!said || !said->n)
                return rights_by_default(kind);
        for (size_t i = 0; i < said->n; i++)
                set |= rights_of_word(said->items[i]);
        return set;
}
