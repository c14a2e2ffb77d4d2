/* SPDX-License-Identifier: MIT */
#include "collab/observability.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/group/patch.h"
#include "core/ledger/ledger.h"
#include "gen/cccc-ops.h"

#define COMPONENTS "[\"daemon\",\"web\",\"delivery\",\"im\",\"pty\",\"mcp\"]"

enum { SCROLLBACK_MIN = 1000, SCROLLBACK_MAX = 200000 };

/* ---- rules: each gives the value to take, or NULL to leave the old one ----------------------- */

static bool observability_is_word(Str s, const char *const words[]) {
        for (; *words; words++)
                if (s.n == strlen(*words) && !strncasecmp(s.data, *words, s.n))
                        return true;
        return false;
}

static Json *rule_bool(Arena *arena, const Json *value) {
        static const char *const yes[] = {"true", "yes", "y", "on", "1", NULL};
        static const char *const no[] = {"false", "no", "n", "off", "0", NULL};
        Str s = json_is(value, JSON_NUMBER) ? (Str){value->text, value->n} : str_trim(json_str(value));
        bool truth;

        if (json_bool(value, &truth))
                return json_new_bool(arena, truth);
        if (observability_is_word(s, yes))
                return json_new_bool(arena, true);
        if (observability_is_word(s, no))
                return json_new_bool(arena, false);
        return NULL;
}

static Json *rule_level(Arena *arena, const Json *value) {
        Str s = str_trim(json_str(value));
        Str copy = s.n ? arena_str(arena, s) : STR_NULL;

        for (size_t i = 0; i < copy.n; i++)
                ((char *)copy.data)[i] = (char)toupper((unsigned char)copy.data[i]);
        return copy.n ? json_new_str(arena, copy) : NULL;
}

/* An empty list is the way back to the usual ones. */
static Json *rule_components(Arena *arena, const Json *value) {
        Json *list = json_is(value, JSON_ARRAY) ? json_new(arena, JSON_ARRAY) : NULL, *usual = NULL;

        json_each (item, list ? value : NULL) {
                Str s = str_trim(json_str(item));
                if (s.n && json_push(list, json_new_str(arena, s)))
                        return NULL;
        }
        if (list && !json_count(list) &&
            !json_parse(arena, COMPONENTS, strlen(COMPONENTS), NULL, &usual, NULL))
                return usual;
        return list;
}

static Json *rule_bytes(Arena *arena, const Json *value) {
        int64_t n;

        return patch_int(value, &n) ? json_new_int(arena, MAX(n, 0)) : NULL;
}

static Json *rule_lines(Arena *arena, const Json *value) {
        int64_t n;

        if (!patch_int(value, &n))
                return NULL;
        return json_new_int(arena, n < SCROLLBACK_MIN   ? SCROLLBACK_MIN
                                   : n > SCROLLBACK_MAX ? SCROLLBACK_MAX
                                                        : n);
}

/* ---- the table: where each setting stands, its default (JSON text) and its rule -------------- */

static const struct {
        const char *section; /* NULL: top level */
        const char *key;
        const char *initial;
        Json *(*rule)(Arena *arena, const Json *value);
} settings_table[] = {
        {NULL, "developer_mode", "false", rule_bool},
        {NULL, "log_level", "\"INFO\"", rule_level},
        {NULL, "components", COMPONENTS, rule_components},
        {"terminal_transcript", "enabled", "false", rule_bool},
        {"terminal_transcript", "per_actor_bytes", "10485760", rule_bytes},
        {"terminal_transcript", "persist", "false", rule_bool},
        {"terminal_transcript", "strip_ansi", "true", rule_bool},
        {"terminal_ui", "scrollback_lines", "8000", rule_lines},
};

static Json *section_of(Arena *arena, Json *settings, const char *name) {
        Json *section = name ? json_get(settings, name) : settings;

        if (section)
                return section;
        section = json_new(arena, JSON_OBJECT);
        return json_set(arena, settings, str_from(name), section) ? NULL : section;
}

/* Lays patch (may be NULL) over settings made by observability_read(). 0 or -ENOMEM. */
static int observability_patch(Arena *arena, Json *settings, const Json *patch) {
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                const char *section = settings_table[i].section, *key = settings_table[i].key;
                const Json *given = json_get(section ? json_get(patch, section) : patch, key);
                Json *value = given ? settings_table[i].rule(arena, given) : NULL;
                if (value && json_set(arena, section_of(arena, settings, section), str_from(key), value))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

/* The settings in force: defaults with what section (may be NULL or anything) says. NULL without memory. */
static Json *observability_read(Arena *arena, const Json *section) {
        Json *settings = json_new(arena, JSON_OBJECT);

        for (size_t i = 0; settings && i < ARRAY_SIZE(settings_table); i++) {
                const char *initial = settings_table[i].initial;
                Json *parent = section_of(arena, settings, settings_table[i].section), *value = NULL;
                if (!parent || json_parse(arena, initial, strlen(initial), NULL, &value, NULL) ||
                    json_set(arena, parent, str_from(settings_table[i].key), value))
                        return NULL;
        }
        return settings && !observability_patch(arena, settings, section) ? settings : NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A file that is missing, broken or no mapping reads as an empty one. */
static int observability_open(const char *path, Document **ret) {
        int r = document_read(ret, path, DOCUMENT_YAML);

        if (r <= 0)
                return error_trace(r);
        *ret = document_new();
        return *ret ? 0 : error_origin(-ENOMEM);
}

/* Stores the settings into the file's own section, whose unknown keys stay. */
static int observability_store(Document *document, const char *path, const Json *settings) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *section = document_section(document, document->json, "observability");
        int r = section ? observability_patch(&document->arena, section, settings) : error_origin(-ENOMEM);

        if (!r)
                r = document_write(document, DOCUMENT_YAML, &text);
        if (!r)
                r = file_replace(path, buf_str(&text), 0600, FILE_DURABLE);
        return error_fold(r);
}

int observability_load(Arena *arena, const char *path, const Json *patch, Json **ret) {
        _cleanup_(document_unrefp) Document *document = NULL;
        Json *settings;
        int r = observability_open(path, &document);

        if (r)
                return error_trace(r);
        settings = observability_read(arena, json_get(document->json, "observability"));
        if (!settings)
                return error_origin(-ENOMEM);
        if (json_count(patch)) {
                r = observability_patch(arena, settings, patch);
                if (!r)
                        r = observability_store(document, path, settings);
        }
        *ret = settings;
        return error_trace(r);
}

/* One reading or change of settings.yaml. Changes have their turn in a lane; a reading needs none, since the file is
 * replaced as a whole. */
struct ObservabilityJob { /* in the call's arena */
        Carry carry;
        LaneItem item;
        Call *call;
        Collab *collab;
        const Json *patch; /* lives in the call */
        Arena arena;
        Json *settings;
        int r;
};

static void observability_run(const Carry *carry) {
        ObservabilityJob *job = container_of(carry, ObservabilityJob, carry);

        job->r = observability_load(&job->arena, job->collab->settings_path, job->patch, &job->settings);
}

static int observability_answer(Call *call, const ObservabilityJob *job) {
        JsonWriter *w;

        if (job->r && json_count(job->patch))
                return call_fail(call, CALL_E_OBSERVABILITY_UPDATE_FAILED, "cannot store the settings: %s",
                                 strerror(-job->r));
        if (job->r)
                return job->r;
        collab_apply_level(job->collab, job->settings);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_value(w, "observability", job->settings);
        jw_field_cstr(w, "durability", ledger_policy_name(ledger_policy_of(&call->daemon->config)));
        jw_end_object(w);
        return 0;
}

static int observability_done(Call *call, const Carry *carry) {
        ObservabilityJob *job = container_of(carry, ObservabilityJob, carry);
        int r = observability_answer(call, job);

        arena_deinit(&job->arena);
        return r;
}

static void observability_lane_run(Lane *lane) {
        observability_run(&container_of(lane, Collab, settings)->setting->carry);
}

static void observability_lane_done(Lane *lane) {
        ObservabilityJob *job = container_of(lane, Collab, settings)->setting;
        Call *call = job->call;

        lane_over(lane);
        call_finish(call, observability_done(call, &job->carry));
}

static void observability_begin(Lane *lane) {
        Collab *collab = container_of(lane, Collab, settings);
        ObservabilityJob *job = container_of(lane_take(lane), ObservabilityJob, item);
        int r;

        collab->setting = job;
        r = lane_work(lane, observability_lane_run, observability_lane_done);
        if (!r)
                return;
        lane_over(lane);
        call_finish(job->call, r);
}

const LaneType observability_lane = {.begin = observability_begin, .n_max = LANE_WAITING_MAX};

static int observability_start(Call *call, const Json *patch) {
        ObservabilityJob *job = arena_alloc(&call->arena, sizeof(*job));
        int r;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (ObservabilityJob){.call = call, .collab = call->daemon->collab, .patch = patch};
        if (!json_count(patch))
                return call_work(call, observability_run, observability_done, &job->carry);
        r = lane_add(&job->collab->settings, &job->item);
        return r ? error_trace(r) : CALL_LATER;
}

int op_cccc_observability_get(Call *call, _unused_ const CcccObservabilityGetArgs *args) {
        return observability_start(call, NULL);
}

int op_cccc_observability_update(Call *call, const CcccObservabilityUpdateArgs *args) {
        if (!str_is(args->by, "user"))
                return call_fail(call, CALL_E_PERMISSION_DENIED,
                                 "only user can update global observability settings");
        return observability_start(call, args->patch);
}
