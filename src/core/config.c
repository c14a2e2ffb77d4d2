/* SPDX-License-Identifier: MIT */
#include "core/config.h"

#include <stdlib.h>

#include "base/macro.h"

static void config_swap(StrVec *one, StrVec *other) {
        StrVec was = *one;

        *one = *other;
        *other = was;
}

void config_take_rights(Config *config, Config *fresh) {
        config_swap(&config->rights_foreman, &fresh->rights_foreman);
        config_swap(&config->rights_peer, &fresh->rights_peer);
        config_swap(&config->rights_session, &fresh->rights_session);
        config_swap(&config->rights_task, &fresh->rights_task);
        config_swap(&config->rights_run, &fresh->rights_run);
}

void config_deinit(Config *config) {
        char *strings[] = {config->muster_home,   config->config_file,    config->log_level,
                           config->cccc_home,     config->cccc_version,   config->cccc_transport,
                           config->cccc_host,     config->cccc_port,      config->cccc_allow_remote,
                           config->coop_socket,   config->sandbox,        config->cgroup,
                           config->record,        config->durability,     config->company_heartbeat,
                           config->security_by,   config->tunnel_page,    config->tunnel_stun,
                           config->tunnel_ports,  config->tunnel_program, config->limits_watch,
                           config->limits_resume, config->limits_quiet};

        for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
                free(strings[i]);
        strvec_deinit(&config->only);
        strvec_deinit(&config->aiwg_projects);
        strvec_deinit(&config->secret_names);
        strvec_deinit(&config->tunnel_addresses);
        strvec_deinit(&config->web_hosts);
        strvec_deinit(&config->rights_foreman);
        strvec_deinit(&config->rights_peer);
        strvec_deinit(&config->rights_session);
        strvec_deinit(&config->rights_task);
        strvec_deinit(&config->rights_run);
        *config = (Config){0};
}
