#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Doctor: what is wrong with this machine, this home, this daemon, for `muster doctor`.
 *
 * A check is one row of the table in doctor.c and one function: it looks at one thing, changes nothing, and
 * says what it found with doctor_find(), or with doctor_pass() what is fine. A check that says nothing has
 * passed. Which daemon runs is asked once, before the first check; none is started. Owned by the command.
 */
#include "base/macro.h"
#include "cli/link/exchange.h"

typedef enum DoctorLevel {
        DOCTOR_OK,
        DOCTOR_NOTE,
        DOCTOR_WARNING,
        DOCTOR_ERROR,
        _DOCTOR_LEVELS
} DoctorLevel;

typedef struct Doctor {
        char *home, *socket, *cccc_home; /* NULL: cannot be told, since there is no HOME */
        const Json *info;                /* what daemon.info answered; NULL: no daemon answers */
        int unreachable; /* why there is no info: an outcome of exchange(); 0: none listens */
        Link link;
        Arena arena;
        bool is_json;
        unsigned n_cols;     /* of the terminal; 0: lines are not broken */
        const char *check;   /* the name of the check that runs */
        bool has_said;       /* it has said something */
        bool has_no_sandbox; /* none can be made */
        size_t n_checks, n_found[_DOCTOR_LEVELS];
} Doctor;

typedef struct DoctorCheck {
        const char *name;
        void (*look)(Doctor *doctor);
} DoctorCheck;

/* Something about a path (NULL: about none). An error makes the exit status 1. */
void doctor_find(Doctor *doctor, DoctorLevel level, const char *path, const char *format, ...)
        _printf_(4, 5);
/* What is fine, in a few words. */
void doctor_pass(Doctor *doctor, const char *format, ...) _printf_(2, 3);

/* One socket, one folder of ours, one file that has to be JSON or YAML; used by several checks. False: the
 * folder is not there, or is none. */
bool doctor_look_at_folder(Doctor *doctor, const char *path);
void doctor_look_at_socket(Doctor *doctor, const char *path);
void doctor_look_at_document(Doctor *doctor, const char *folder, const char *name, bool is_needed);

/* check-disk.c */
void doctor_check_home(Doctor *doctor);
void doctor_check_socket(Doctor *doctor);
void doctor_check_cccc(Doctor *doctor);
void doctor_check_groups(Doctor *doctor);
void doctor_check_audit(Doctor *doctor); /* what the daemon has refused */
/* check-daemon.c */
void doctor_check_daemon(Doctor *doctor);
void doctor_check_endpoints(Doctor *doctor);
void doctor_check_projects(Doctor *doctor);
void doctor_check_log(Doctor *doctor);
/* check-others.c */
void doctor_check_servers(Doctor *doctor);
void doctor_check_workspaces(Doctor *doctor);
void doctor_check_bridges(Doctor *doctor);
/* check-machine.c */
void doctor_check_programs(Doctor *doctor);
void doctor_check_bwrap(Doctor *doctor);
void doctor_check_namespaces(Doctor *doctor);
/* check-held.c; after the one before it */
void doctor_check_held(Doctor *doctor);
void doctor_check_linger(Doctor *doctor);
void doctor_check_space(Doctor *doctor);
