/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/process.h"
#include "base/time.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/delivery/delivery.h"
#include "gen/cccc-ops.h"

enum { ORIGINAL_WORDS_MAX = 1024, ORIGINAL_BELIEVED_MS = 1000 };

/* cccc and ccccd as scripts and programs, cccc.cli as a module. */
static bool original_is_name(const char *word) {
        const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

        return !strcmp(name, "cccc") || !strcmp(name, "ccccd") || !strncmp(word, "cccc.", 5);
}

/* Files of the package, named outright. */
static bool original_is_file(const char *word) {
        static const char *const known[] = {"/cccc/cli.py", "/cccc/cli/__main__.py", "/cccc/__main__.py",
                                            "/cccc/daemon_main.py"};

        for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
                size_t n = strlen(known[i]), n_word = strlen(word);
                if (n_word >= n && !strcmp(word + n_word - n, known[i]))
                        return true;
        }
        return false;
}

/* The program, then what an interpreter was told to run: a script, `-m MODULE` or `-c TEXT`. What is behind
 * that are the script's own arguments. */
static bool original_is_started_by(const char *words, size_t n) {
        const char *end = words + n, *next;
        bool is_text = false, is_module = false;

        if (!n)
                return false;
        if (original_is_name(words))
                return true;
        for (const char *word = words + strlen(words) + 1; word < end; word = next) {
                next = word + strlen(word) + 1;
                if (is_text)
                        return strstr(word, "cccc.") || strstr(word, "import cccc");
                if (!is_module && *word == '-') {
                        is_text = !strcmp(word, "-c");
                        is_module = !strcmp(word, "-m");
                        continue;
                }
                return original_is_name(word) || original_is_file(word);
        }
        return false;
}

static bool original_look(pid_t pid) {
        char words[ORIGINAL_WORDS_MAX];
        ssize_t n = pid > 0 ? process_read(pid, "cmdline", words, sizeof(words)) : 0;

        return n <= 0 || original_is_started_by(words, (size_t)n);
}

static bool original_is_asking(Collab *collab, pid_t pid) {
        Original *last = &collab->original;
        int64_t now = loop_now_ms(collab->daemon->loop);

        if (pid != last->pid || now >= last->until_ms)
                *last = (Original){
                        .pid = pid, .until_ms = now + ORIGINAL_BELIEVED_MS, .is_it = original_look(pid)};
        return last->is_it;
}

static const char *original_version_for(Collab *collab, const Client *client) {
        if (!collab->daemon->config.cccc_version && original_is_asking(collab, client_pid(client)))
                return "";
        return collab_version(collab);
}

static const char *overview_state(const ActorView *actor, const Runner *runner, const RunnerEnd *end) {
        static const char *const names[] = {
                [RUNNER_STARTING] = "starting", [RUNNER_UP] = "running", [RUNNER_ENDING] = "ending"};

        if (runner)
                return names[runner->state];
        return end && actor->is_enabled ? "ended" : "stopped";
}

static void overview_write_mail(const Group *group, Str actor, JsonWriter *w) {
        const Delivery *delivery = delivery_of(group);
        const Mailbox *mailbox = delivery ? mailbox_find(delivery, actor) : NULL;

        jw_field_uint(w, "mail", mailbox ? mailbox->n_items : 0);
        if (!mailbox || !mailbox->items)
                return;
        jw_field_time_ms(w, "mail_since", mailbox->items->queued_us);
        jw_field_cstr(w, "mail_why", mailbox_why(mailbox));
}

static void overview_write_actor(const Group *group, const ActorView *actor, JsonWriter *w) {
        const Runner *runner = runner_find(group->collab, str_from(group->id), actor->id);
        const RunnerEnd *end = runner_find_end(group->collab, str_from(group->id), actor->id);

        jw_begin_object(w);
        jw_field_str(w, "id", actor->id);
        jw_field_str(w, "runtime", actor->runtime);
        jw_field_str(w, "runner", actor->runner);
        jw_field_cstr(w, "state", overview_state(actor, runner, end));
        if (runner && runner->started_us)
                jw_field_time_ms(w, "since", runner->started_us);
        if (!runner && end) {
                jw_field_time_ms(w, "since", end->ended_us);
                jw_field_int(w, "exit_code", end->code);
        }
        overview_write_mail(group, actor->id, w);
        jw_end_object(w);
}

static void overview_write_group(const Group *group, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", group->id);
        jw_field_str(w, "title", group->doc->title);
        jw_field_cstr(w, "state", group_state_name(group->doc->state));
        if (group_doc_has_bridge(group->doc))
                jw_field_bool(w, "im_enabled", true);
        jw_key(w, "actors");
        jw_begin_array(w);
        for (size_t i = 0; i < group->doc->n_actors; i++)
                overview_write_actor(group, &group->doc->actors[i], w);
        jw_end_array(w);
        jw_end_object(w);
}

void collab_write_overview(const Collab *collab, JsonWriter *w) {
        jw_key(w, "groups");
        jw_begin_array(w);
        for (size_t i = 0; collab && i < COLLAB_BUCKETS; i++)
                for (const Group *group = collab->groups[i]; group; group = group->next)
                        if (group->doc && !group->is_deleting)
                                overview_write_group(group, w);
        jw_end_array(w);
}

void collab_write_busy(const Collab *collab, JsonWriter *w) {
        for (size_t i = 0; collab && i < COLLAB_BUCKETS; i++)
                for (const Group *group = collab->groups[i]; group; group = group->next)
                        ledger_write_opening(group->ledger, w, "the ledger of", group->id);
}

int op_cccc_ping(Call *call, _unused_ const CcccPingArgs *args) {
        JsonWriter *w = call_result(call);
        char ts[TIME_TEXT_MAX];

        time_format_us(loop_wall_us(call->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_cstr(w, "version", original_version_for(call->daemon->collab, call->client));
        jw_field_int(w, "pid", getpid());
        jw_field_cstr(w, "ts", ts);
        jw_field_int(w, "ipc_v", 1);
        jw_key(w, "capabilities");
        jw_begin_object(w);
        jw_field_bool(w, "events_stream", op_find(&cccc_ops, STR("events_stream")) != NULL);
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}

/*
 * shutdown, by docs/decisions/0020-shutdown-keeps-cccc-open.md: where we stand in for the original it ends
 * the daemon and its actors. Where the daemon serves more than this contract nothing ends. The published
 * command line says it whenever people press Ctrl+C in it, and starts a daemon of its own when the socket is
 * gone, which would run every actor a second time.
 */
static void shutdown_stand_in(Call *call) {
        runners_end_all(call->daemon->collab);
        daemon_stop_endpoint(call->daemon, call->client->endpoint, client_pid(call->client), NULL);
}

static void shutdown_decline(Call *call) {
        Endpoint *endpoint = call->client->endpoint;

        if (endpoint->state == ENDPOINT_LISTENING)
                endpoint_note(endpoint, client_pid(call->client),
                              "asked for a shutdown: it stays open, and nothing ended");
}

static bool shutdown_is_for_us(const Json *pid) {
        int64_t value;

        return !pid || (json_int64(pid, &value) && value == getpid());
}

int op_cccc_shutdown(Call *call, const CcccShutdownArgs *args) {
        bool is_stand_in = daemon_is_stand_in(call->daemon);
        JsonWriter *w;

        if (!shutdown_is_for_us(args->expected_pid))
                return call_fail(call, CALL_E_DAEMON_OWNER_MISMATCH,
                                 "expected_pid is not %d, which serves here", (int)getpid());
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "message",
                      is_stand_in ? "shutting down"
                                  : "muster serves more than CCCC and goes on: muster down ends it");
        jw_end_object(w);
        call_after(call, is_stand_in ? shutdown_stand_in : shutdown_decline);
        return 0;
}
