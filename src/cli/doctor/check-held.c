/* SPDX-License-Identifier: MIT */
/*
 * Who is to be in a sandbox by the word of a person: actors (group.yaml) and the tasks of projects
 * (projects.json), and whether they can be started at all.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/yaml.h"
#include "cli/doctor/doctor.h"

enum { HELD_DOCUMENT_BYTES = 16 << 20 };

typedef struct Held {
        Doctor *doctor;
        size_t n_actors, n_projects; /* that are to be in one */
} Held;

/* Empty: not said, or of the group. True: in a sandbox. */
static bool held_look(Held *held, const char *path, const char *what, Str name, const Json *word) {
        if (!word || json_is(word, JSON_NULL) || str_is(json_str(word), "none"))
                return false;
        if (!str_is(json_str(word), "bwrap")) {
                doctor_find(held->doctor, DOCTOR_ERROR, path,
                            "%s " STR_FMT " is not started: its sandbox is neither none nor bwrap", what,
                            STR_ARG(name));
                return false;
        }
        if (held->doctor->has_no_sandbox)
                doctor_find(held->doctor, DOCTOR_ERROR, path,
                            "%s " STR_FMT " is not started: it is to be in a sandbox, and none can be made",
                            what, STR_ARG(name));
        return true;
}

static void held_look_at_group(Held *held, const char *folder) {
        _cleanup_(freep) char *path = path_join(folder, "group.yaml");
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const Json *wide, *own;
        Json *json = NULL;

        if (!path || file_read(path, HELD_DOCUMENT_BYTES, &text) ||
            yaml_parse(&arena, buf_str(&text), &json, NULL))
                return;
        wide = json_get(json, "sandbox");
        json_each (actor, json_get(json, "actors")) {
                own = json_get(actor, "sandbox");
                held->n_actors += held_look(held, path, "actor", json_str(json_get(actor, "id")),
                                            own && !json_is(own, JSON_NULL) ? own : wide);
        }
}

static void held_look_at_groups(Held *held) {
        _cleanup_(freep) char *groups =
                held->doctor->cccc_home ? path_join(held->doctor->cccc_home, "groups") : NULL;
        struct dirent **entries = NULL;
        int n = groups ? scandir(groups, &entries, NULL, alphasort) : 0;

        for (int i = 0; i < n; i++) {
                _cleanup_(freep) char *folder = path_join(groups, entries[i]->d_name);

                if (folder && !strncmp(entries[i]->d_name, "g_", 2))
                        held_look_at_group(held, folder);
                free(entries[i]);
        }
        free(entries);
}

static void held_look_at_projects(Held *held) {
        _cleanup_(freep) char *path =
                held->doctor->home ? path_join(held->doctor->home, "projects.json") : NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;

        if (!path || file_read(path, HELD_DOCUMENT_BYTES, &text) ||
            json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return; /* that check has said it */
        json_each (project, json_get(json, "sandboxes"))
                held->n_projects += held_look(held, path, "the tasks of", json_key(project),
                                              json_get(project, "sandbox"));
}

void doctor_check_held(Doctor *doctor) {
        Held held = {.doctor = doctor};

        held_look_at_groups(&held);
        held_look_at_projects(&held);
        if (doctor->has_said)
                return;
        if (!held.n_actors && !held.n_projects)
                doctor_pass(doctor, "nobody but sessions: muster actor set ACTOR --sandbox bwrap");
        else
                doctor_pass(doctor, "%zu actor%s, the tasks of %zu project%s", held.n_actors,
                            held.n_actors == 1 ? "" : "s", held.n_projects, held.n_projects == 1 ? "" : "s");
}
