/* SPDX-License-Identifier: MIT */
#include "core/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int strvec_push(StrVec *vec, const char *item) {
        char **items = realloc(vec->items, (vec->n + 1) * sizeof(*items));

        if (!items)
                return error_origin(-ENOMEM);
        vec->items = items;
        items[vec->n] = strdup(item);
        if (!items[vec->n])
                return error_origin(-ENOMEM);
        vec->n++;
        return 0;
}

void strvec_deinit(StrVec *vec) {
        for (size_t i = 0; i < vec->n; i++)
                free(vec->items[i]);
        free(vec->items);
        *vec = (StrVec){0};
}

void config_deinit(Config *config) {
        char *strings[] = {config->muster_home, config->config_file,  config->log_level,
                           config->cccc_home,   config->cccc_version, config->cccc_transport,
                           config->cccc_host,   config->cccc_port,    config->cccc_allow_remote,
                           config->coop_socket, config->sandbox,      config->cgroup,
                           config->record,      config->durability};

        for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
                free(strings[i]);
        strvec_deinit(&config->only);
        strvec_deinit(&config->aiwg_projects);
        strvec_deinit(&config->secret_names);
        *config = (Config){0};
}

char **strvec_list(const StrVec *vec) {
        char **list = calloc(vec->n + 1, sizeof(*list));

        if (list && vec->n)
                memcpy(list, vec->items, vec->n * sizeof(*list));
        return list;
}
