/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/crossing"

#include "collab/message/crossing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/message/recipients.h"
#include "gen/cccc-ops.h"

enum {
        NOTE_MAX = 16 * 1024 * 1024, /* bytes; a longer one is none of ours */
        NOTES_MAX = 10000,           /* per start; the others wait for the next */
};

/* The notes that were there at a start. Owned by the Collab. */
typedef struct Crossings {
        Carry carry;
        Collab *collab;
        StrVec names; /* of files */
        size_t at;
        bool is_stopping;
        Call *call; /* the one under way */
        Buf text;   /* its note */
        int r;      /* of the worker */
        Json *note;
        Post post;
        Deferred next;
} Crossings;

static Str note_str(const Crossings *c, const char *key) {
        return json_str(json_get(c->note, key));
}

static Log *log_of(const Collab *collab) {
        return &collab->daemon->log;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static char *crossing_note_path(const Collab *collab, Str event_id) {
        char name[64];

        snprintf(name, sizeof(name), STR_FMT ".json", STR_ARG(event_id));
        return path_join(collab->crossings_path, name);
}

static void crossing_write_note(JsonWriter *w, const GroupChange *change, const Post *source,
                                const Post *destination) {
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "run", feed_epoch(change->group->collab->daemon->feed));
        jw_field_str(w, "group_id", source->group_id);
        jw_field_cstr(w, "event_id", group_change_last(change)->id);
        jw_field_str(w, "dst_group_id", destination->group_id);
        jw_field_str(w, "by", destination->by);
        jw_field_str(w, "text", destination->text);
        jw_field_bool(w, "attention", destination->is_attention);
        jw_key(w, "to");
        jw_begin_array(w);
        for (size_t i = 0; i < destination->to.n; i++)
                jw_str(w, destination->to.items[i]);
        jw_end_array(w);
        jw_end_object(w);
}

/* Adds the note to the change whose last event is the record. */
static void crossing_note(GroupChange *change, const Post *source, const Post *destination) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(freep) char *path =
                crossing_note_path(change->group->collab, str_from(group_change_last(change)->id));
        JsonWriter w = JSON_WRITER(&text);

        crossing_write_note(&w, change, source, destination);
        change_try(change, path && !w.failed
                                   ? ledger_change_file(&change->ledger, path, buf_str(&text), NULL)
                                   : error_origin(-ENOMEM));
}

static void run_unlink(void *user) {
        (void)unlink(user);
}

/* A note that stays is looked at by the next daemon, which finds the message in its place. */
static void remove_note(Collab *collab, char *path) {
        if (path && loop_work(collab->daemon->loop, run_unlink, free, path))
                free(path);
}

static void crossing_forget(Collab *collab, Str event_id) {
        remove_note(collab, crossing_note_path(collab, event_id));
}

/* ---- finishing one --------------------------------------------------------------------------- */

static int crossing_put_message(Call *call, Group *group, const Carry *carry) {
        Crossings *c = container_of(carry, Crossings, carry);
        Str word = event_tag(&call->arena, "src:", c->post.src_event_id);

        if (!word.data)
                return error_origin(-ENOMEM);
        if (!ledger_tag_is_none(ledger_tag(group->ledger, word)))
                return 0;
        log_notice(log_of(c->collab), group->id,
                   "finishing a message from another group src_event_id=" STR_FMT,
                   STR_ARG(c->post.src_event_id));
        return post_run(call, group, &c->post);
}

static int check_record(Call *call, Group *group, const Carry *carry) {
        const Crossings *c = container_of(carry, Crossings, carry);
        uint64_t position;

        if (ledger_find_id(group->ledger, c->post.src_event_id, &position))
                return call_fail(call, CALL_E_EVENT_NOT_FOUND, "its record is not there");
        return collab_read(call, c->post.group_id, crossing_put_message, &c->carry);
}

static int read_recipients(Crossings *c) {
        const Json *to = json_get(c->note, "to");
        StrList *list = &c->post.to;

        list->items = arena_alloc(&c->call->arena, (json_count(to) + 1) * sizeof(Str));
        if (!list->items)
                return error_origin(-ENOMEM);
        json_each (item, to)
                list->items[list->n++] = json_str(item);
        return 0;
}

/* Of this run: its own call will see to it. */
static bool crossing_is_ours(const Crossings *c) {
        return str_is(note_str(c, "run"), feed_epoch(c->collab->daemon->feed));
}

static int finish_crossing(Crossings *c) {
        int r = c->r ? c->r : json_parse(&c->call->arena, c->text.data, c->text.n, NULL, &c->note, NULL);

        if (r < 0)
                return r;
        if (r || crossing_is_ours(c))
                return call_fail(c->call, CALL_E_INTERNAL, "the note is no note");
        c->post = (Post){.group_id = note_str(c, "dst_group_id"),
                         .by = note_str(c, "by"),
                         .text = note_str(c, "text"),
                         .src_group_id = note_str(c, "group_id"),
                         .src_event_id = note_str(c, "event_id")};
        json_bool(json_get(c->note, "attention"), &c->post.is_attention);
        r = read_recipients(c);
        return r ? r : collab_read(c->call, c->post.src_group_id, check_record, &c->carry);
}

/* ---- one after the other --------------------------------------------------------------------- */

static char *path_of_current(const Crossings *c) {
        return path_join(c->collab->crossings_path, c->names.items[c->at]);
}

/* Internal errors are the machine's: the note stays. */
static void crossing_over(Call *call) {
        Crossings *c = container_of(call->target, Crossings, carry);

        if (call->error && !crossing_is_ours(c))
                log_warning(log_of(c->collab), c->names.items[c->at],
                            "a message to another group is %s: " STR_FMT,
                            call->error == CALL_E_INTERNAL ? "not finished" : "given up",
                            STR_ARG(call->message));
        if (call->error != CALL_E_INTERNAL)
                remove_note(c->collab, path_of_current(c));
        c->call = NULL;
        c->note = NULL;
        c->at++;
        deferred_schedule(&c->next);
}

static void crossing_run_read(void *user) {
        Crossings *c = user;
        _cleanup_(freep) char *path = path_of_current(c);

        c->text.n = 0;
        c->r = path ? file_read(path, NOTE_MAX, &c->text) : -ENOMEM;
}

static void crossing_on_read(void *user) {
        Crossings *c = user;
        int r;

        c->call = call_of_ours(c->collab->daemon, crossing_over);
        if (!c->call) {
                c->at = c->names.n; /* at the next start */
                deferred_schedule(&c->next);
                return;
        }
        c->call->target = &c->carry;
        r = finish_crossing(c);
        if (r != CALL_LATER)
                call_finish(c->call, r);
}

static void free_crossings(Crossings *c) {
        deferred_cancel(&c->next);
        c->collab->crossings = NULL;
        strvec_deinit(&c->names);
        buf_deinit(&c->text);
        free(c);
}

static void on_next(Deferred *deferred) {
        Crossings *c = container_of(deferred, Crossings, next);

        if (c->is_stopping || c->at >= c->names.n ||
            loop_work(c->collab->daemon->loop, crossing_run_read, crossing_on_read, c))
                free_crossings(c);
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool is_note(const char *name) {
        return strspn(name, "0123456789abcdef") == EVENT_ID_DIGITS &&
               !strcmp(name + EVENT_ID_DIGITS, ".json");
}

static void crossing_run_list(void *user) {
        Crossings *c = user;
        DIR *dir = opendir(c->collab->crossings_path);
        const struct dirent *entry;

        while (dir && c->names.n < NOTES_MAX && (entry = readdir(dir)))
                if (is_note(entry->d_name))
                        (void)strvec_push(&c->names, entry->d_name);
        if (dir)
                (void)closedir(dir);
}

static void on_listed(void *user) {
        Crossings *c = user;

        deferred_schedule(&c->next);
}

static int crossing_on_started(Collab *collab) {
        Crossings *c = collab->crossings ? NULL : calloc(1, sizeof(*c));

        if (collab->crossings)
                return 0;
        if (!c)
                return error_origin(-ENOMEM);
        c->collab = collab;
        deferred_init(&c->next, collab->daemon->loop, on_next);
        collab->crossings = c;
        if (!loop_work(collab->daemon->loop, crossing_run_list, on_listed, c))
                return 0;
        free_crossings(c);
        return error_origin(-ENOMEM);
}

static void crossing_on_stopping(Collab *collab) {
        if (collab->crossings)
                collab->crossings->is_stopping = true;
}

static bool crossing_is_busy(const Collab *collab) {
        return collab->crossings;
}

const CollabPart crossing_part = {
        .name = "crossing",
        .started = crossing_on_started,
        .stopping = crossing_on_stopping,
        .is_busy = crossing_is_busy,
};

/*
 * A message to another group: the destination is asked first whether it would take it, then the source gets
 * its record, then the destination the message. With the record a note is kept of what is still to be done;
 * it goes when the call is answered. A daemon that finds one finishes the crossing
 * (collab/message/crossing.h).
 */
typedef struct Crossing {
        Carry carry;
        const CcccSendCrossGroupArgs *args;
        Str to_user[1];
        StrList dst_to; /* as named, resolved in the destination */
        Post source, destination;
        Str source_line;
        Str event_id; /* of the record; empty: it is not kept */
} Crossing;

/* ---- the destination's copy ------------------------------------------------------------------ */

static void send_cross_group_reply(Call *call, GroupChange *change) {
        const Crossing *crossing = container_of(change->carry, Crossing, destination.carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "src_event");
        jw_raw(w, crossing->source_line);
        group_change_write_event(change, w, "dst_event", 0);
        jw_end_object(w);
}

static int send_cross_group_put_message(Call *call, Group *group, const Carry *carry) {
        Crossing *crossing = container_of(carry, Crossing, carry);

        return post_run(call, group, &crossing->destination);
}

/* ---- the source's record --------------------------------------------------------------------- */

static void send_cross_group_on_recorded(Call *call, GroupChange *change) {
        Crossing *crossing = container_of(change->carry, Crossing, source.carry);
        Str id = arena_str(&call->arena, str_from(change->events[0].id));
        int r = -ENOMEM;

        crossing->source_line = arena_str(&call->arena, change->events[0].line);
        crossing->destination.src_group_id = crossing->args->group_id;
        crossing->destination.src_event_id = crossing->event_id = id;
        if (id.data && crossing->source_line.data)
                r = collab_call(call, crossing->args->dst_group_id, send_cross_group_put_message,
                                &crossing->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static void add_note(GroupChange *change, const Post *post) {
        const Crossing *crossing = container_of(post, Crossing, source);

        crossing_note(change, &crossing->source, &crossing->destination);
}

/* Answered, be it with an error: nothing is left to be done. */
static void send_cross_group_over(Call *call) {
        const Crossing *crossing = container_of(call->target, Crossing, carry);

        if (crossing->event_id.n)
                crossing_forget(call->daemon->collab, crossing->event_id);
}

static int put_record(Call *call, Group *group, const Carry *carry) {
        Crossing *crossing = container_of(carry, Crossing, carry);

        return post_run(call, group, &crossing->source);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int send_cross_group_choose(Call *call, const Group *group, Crossing *crossing) {
        Post *post = &crossing->destination;
        int r = post_resolve(call, group, &crossing->args->to, &crossing->dst_to);

        post->to = crossing->dst_to;
        if (!r && !post->to.n)
                r = recipients_mentioned(&call->arena, group->doc, post->text, &post->to);
        if (!r && !post->to.n)
                r = recipients_default(&call->arena, group->doc, &post->to);
        return r;
}

static int check_destination(Call *call, Group *group, const Carry *carry) {
        Crossing *crossing = container_of(carry, Crossing, carry);
        int r = send_cross_group_choose(call, group, crossing);

        if (!r)
                r = post_require_reader(call, group, &crossing->destination);
        return r ? r : collab_call(call, crossing->args->group_id, put_record, &crossing->carry);
}

int op_cccc_send_cross_group_first(Call *call, const CcccSendCrossGroupArgs *args) {
        int r;

        if (post_has_attachments(args->attachments))
                return call_fail(call, CALL_E_ATTACHMENTS_NOT_SUPPORTED,
                                 "attachments are not supported for cross-group messages");
        r = post_check_priority(call, args->priority);
        if (r)
                return r;
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->dst_group_id.n)
                return call_fail(call, CALL_E_MISSING_DST_GROUP_ID, "missing dst_group_id");
        if (str_eq(args->group_id, args->dst_group_id))
                return call_fail(call, CALL_E_INVALID_DST_GROUP_ID,
                                 "dst_group_id must be different from group_id");
        return 0;
}

/* The source is there; what it records is put down when the destination takes it. */
int op_cccc_send_cross_group(Call *call, _unused_ Group *group, const CcccSendCrossGroupArgs *args) {
        Crossing *crossing = arena_alloc(&call->arena, sizeof(*crossing));
        Post post = {
                .by = args->by, .text = args->text, .is_attention = str_is(args->priority, "attention")};

        if (!crossing)
                return error_origin(-ENOMEM);
        *crossing = (Crossing){.args = args, .to_user = {STR("user")}, .source = post, .destination = post};
        crossing->source.group_id = args->group_id;
        crossing->source.to = (StrList){crossing->to_user, 1};
        crossing->source.dst_group_id = args->dst_group_id;
        crossing->source.dst_to = &crossing->dst_to;
        crossing->source.kept = send_cross_group_on_recorded;
        crossing->source.more = add_note;
        crossing->destination.group_id = args->dst_group_id;
        crossing->destination.reply = send_cross_group_reply;
        call->target = &crossing->carry;
        call->over = send_cross_group_over;
        return collab_call(call, args->dst_group_id, check_destination, &crossing->carry);
}
