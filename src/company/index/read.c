/* SPDX-License-Identifier: MIT */
/* From files to rows: what each document and each line becomes in the tables. It knows nothing of SQLite. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "company/index/index-internal.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

enum { READ_BLOCK = 256 << 10, READ_TAIL = 4096 };

void index_reader_deinit(IndexReader *reader) {
        arena_deinit(&reader->scratch);
        buf_deinit(&reader->block);
        buf_deinit(&reader->line);
}

static const Json *index_read_section(const Json *document, const char *name) {
        const Json *section = json_get(document, name);

        return json_is(section, JSON_OBJECT) ? section : NULL;
}

/* ---- documents ------------------------------------------------------------------------------- */

static void index_read_run(IndexReader *reader, const IndexFile *file, const Json *run) {
        const Json *usage = index_read_section(run, "usage"),
                   *cycles = index_read_section(run, "context_cycles"),
                   *spec = index_read_section(run, "spec");
        IndexRows *rows = reader->rows;
        IndexRow *row = index_row(rows, INDEX_RUNS, 17);

        index_add_str(rows, row, file->project);
        index_add_str(rows, row, file->name);
        index_add_member(rows, row, run, "created_at");
        index_add_member(rows, row, run, "status");
        index_add_member(rows, row, run, "provider");
        index_add_member(rows, row, run, "agent_id");
        index_add_member(rows, row, run, "context_pack_id");
        index_add_member(rows, row, run, "events_relpath");
        index_add_member_number(row, usage, "total_tokens");
        index_add_member_number(row, usage, "cost_usd");
        index_add_member(rows, row, usage, "source");
        index_add_member(rows, row, usage, "confidence");
        index_add_member_number(row, cycles, "count");
        index_add_member(rows, row, cycles, "source");
        index_add_member(rows, row, str_is(json_text_of(spec, "kind"), "codex_app_server") ? spec : NULL,
                         "model");
        index_add_member(rows, row, spec, "task_id");
        index_add_member(rows, row, spec, "milestone_id");
}

static void index_read_artifact(IndexReader *reader, const IndexFile *file, const Json *matter) {
        IndexRows *rows = reader->rows;
        IndexRow *row = index_row(rows, INDEX_ARTIFACTS, 10);
        char name[300];

        index_add_str(rows, row, file->project);
        index_add_member(rows, row, matter, "id");
        index_add_member(rows, row, matter, "type");
        index_add_member(rows, row, matter, "title");
        index_add_member(rows, row, matter, "visibility");
        index_add_member(rows, row, matter, "produced_by");
        index_add_member(rows, row, matter, "run_id");
        index_add_member(rows, row, matter, "context_pack_id");
        index_add_member(rows, row, matter, "created_at");
        snprintf(name, sizeof(name), "artifacts/" STR_FMT ".md", STR_ARG(file->name));
        index_add_str(rows, row, str_from(name));
}

static void index_read_review(IndexReader *reader, const Json *review) {
        const Json *subject = index_read_section(review, "subject");
        IndexRows *rows = reader->rows;
        IndexRow *row = index_row(rows, INDEX_REVIEWS, 9);

        index_add_member(rows, row, review, "id");
        index_add_member(rows, row, review, "created_at");
        index_add_member(rows, row, review, "decision");
        index_add_member(rows, row, review, "actor_id");
        index_add_member(rows, row, review, "actor_role");
        index_add_member(rows, row, subject, "kind");
        index_add_member(rows, row, subject, "artifact_id");
        index_add_member(rows, row, subject, "project_id");
        index_add_member(rows, row, review, "notes");
}

static void index_read_help(IndexReader *reader, const Json *matter) {
        static const char *const names[] = {"id",        "created_at",     "title",      "visibility",
                                            "requester", "target_manager", "project_id", "share_pack_id"};
        IndexRow *row = index_row(reader->rows, INDEX_HELP_REQUESTS, 8);

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                index_add_member(reader->rows, row, matter, names[i]);
}

static void index_read_participants(IndexReader *reader, const Json *conversation, const char *kind,
                                    const char *list) {
        json_each (id, json_get(index_read_section(conversation, "participants"), list)) {
                IndexRow *row = index_row(reader->rows, INDEX_PARTICIPANTS, 3);

                index_add_member(reader->rows, row, conversation, "id");
                index_add_kept(row, str_from(kind));
                index_add_str(reader->rows, row, json_str(id));
        }
}

static void index_read_conversation(IndexReader *reader, const Json *conversation) {
        static const char *const names[] = {"id",   "scope",      "project_id", "kind",      "name",
                                            "slug", "visibility", "created_at", "created_by"};
        IndexRow *row = index_row(reader->rows, INDEX_CONVERSATIONS, 11);

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                index_add_member(reader->rows, row, conversation, names[i]);
        index_add_member_bool(row, conversation, "auto_generated");
        index_add_member(reader->rows, row, conversation, "dm_peer_agent_id");
        index_read_participants(reader, conversation, "agent", "agent_ids");
        index_read_participants(reader, conversation, "team", "team_ids");
}

/* Returns how many of them are done. */
static size_t index_read_milestones(IndexReader *reader, const IndexFile *file, const Json *task) {
        IndexRows *rows = reader->rows;
        int64_t seq = 0;
        size_t n_done = 0;

        json_each (milestone, json_get(task, "milestones")) {
                const Json *evidence = index_read_section(milestone, "evidence");
                IndexRow *row = index_row(rows, INDEX_MILESTONES, 10);

                index_add_str(rows, row, file->project);
                index_add_member(rows, row, task, "id");
                index_add_member(rows, row, milestone, "id");
                index_add_int(row, ++seq);
                index_add_member(rows, row, milestone, "title");
                index_add_member(rows, row, milestone, "kind");
                index_add_member(rows, row, milestone, "status");
                index_add_member_json(rows, row, milestone, "acceptance_criteria");
                index_add_member_bool(row, evidence, "requires_patch");
                index_add_member_bool(row, evidence, "requires_tests");
                n_done += str_is(json_text_of(milestone, "status"), "done");
        }
        return n_done;
}

static void index_read_task(IndexReader *reader, const IndexFile *file, const Json *task) {
        static const char *const names[] = {
                "id", "title", "status", "visibility", "team_id", "assignee_agent_id", "created_at"};
        const Json *schedule = index_read_section(task, "schedule"),
                   *plan = index_read_section(task, "execution_plan");
        const size_t n = json_count(json_get(task, "milestones"));
        IndexRows *rows = reader->rows;
        IndexRow *row = index_row(rows, INDEX_TASKS, 20);
        size_t n_done = index_read_milestones(reader, file, task);
        char name[300];

        index_add_str(rows, row, file->project);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                index_add_member(rows, row, task, names[i]);
        index_add_member(rows, row, schedule, "planned_start");
        index_add_member(rows, row, schedule, "planned_end");
        index_add_member_number(row, schedule, "duration_days");
        index_add_member_json(rows, row, schedule, "depends_on_task_ids");
        index_add_member(rows, row, plan, "preferred_provider");
        index_add_member(rows, row, plan, "preferred_model");
        index_add_member(rows, row, plan, "preferred_agent_id");
        index_add_member_number(row, plan, "token_budget_hint");
        index_add_member(rows, row, plan, "applied_by");
        index_add_member(rows, row, plan, "applied_at");
        index_add_real(row, n ? (double)n_done / (double)n : str_is(json_text_of(task, "status"), "done"));
        snprintf(name, sizeof(name), "tasks/" STR_FMT ".md", STR_ARG(file->name));
        index_add_str(rows, row, str_from(name));
}

static void index_read_agent(IndexReader *reader, const Json *agent) {
        static const char *const names[] = {"id", "name", "role", "provider", "model_hint", "team_id"};
        IndexRow *row = index_row(reader->rows, INDEX_AGENTS, 6);

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                index_add_member(reader->rows, row, agent, names[i]);
}

/* Records with what is asked for as columns, and the whole as JSON. */
static void index_read_whole(IndexRows *rows, IndexRow *row, const Json *json) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_value(&w, json);
        rows->is_failed |= w.failed;
        index_add_str(rows, row, buf_str(&text));
}

static void index_read_session(IndexReader *reader, const IndexFile *file, const Json *session) {
        IndexRows *rows = reader->rows;
        IndexRow *row = index_row(rows, INDEX_SESSIONS, 6);
        int64_t started_ms = 0;

        (void)json_int64(json_get(session, "started_at_ms"), &started_ms);
        index_add_str(rows, row, file->name);
        index_add_member(rows, row, session, "project_id");
        index_add_member(rows, row, session, "run_id");
        index_add_member(rows, row, session, "status");
        index_add_int(row, started_ms);
        index_read_whole(rows, row, session);
}

static void index_read_comment(IndexReader *reader, const IndexFile *file, const Json *comment) {
        static const char *const names[] = {"project_id", "agent_id", "artifact_id", "run_id"};
        const Json *target = index_read_section(comment, "target");
        IndexRow *row = index_row(reader->rows, INDEX_COMMENTS, 6);

        index_add_str(reader->rows, row, file->name);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                index_add_member(reader->rows, row, target, names[i]);
        index_read_whole(reader->rows, row, comment);
}

static void index_read_job(IndexReader *reader, const IndexFile *file, const Json *job) {
        IndexRow *row = index_row(reader->rows, INDEX_JOBS, 3);

        index_add_str(reader->rows, row, file->project);
        index_add_str(reader->rows, row, file->name);
        index_add_member(reader->rows, row, job, "status");
}

/* The rows of a document that has its shape; others have none. Returns the id that it is known by. */
static Str index_read_document_rows(IndexReader *reader, const IndexFile *file, const Json *json) {
        const Str id = json_text_of(json, "id");

        switch (file->kind) {
        case INDEX_KIND_RUN:
                if (!shape_fits(&shape_run, json))
                        return STR_NULL;
                index_read_run(reader, file, json);
                return json_text_of(json, "agent_id");
        case INDEX_KIND_ARTIFACT:
                if (!id.n || !json_text_of(json, "type").n)
                        return STR_NULL;
                index_read_artifact(reader, file, json);
                return id;
        case INDEX_KIND_TASK:
                if (!shape_fits(&shape_task, json))
                        return STR_NULL;
                index_read_task(reader, file, json);
                return id;
        case INDEX_KIND_CONVERSATION:
                if (!shape_fits(&shape_conversation, json))
                        return STR_NULL;
                index_read_conversation(reader, json);
                return id;
        case INDEX_KIND_REVIEW:
                if (!shape_fits(&shape_review, json))
                        return STR_NULL;
                index_read_review(reader, json);
                return id;
        case INDEX_KIND_HELP:
                if (!shape_fits(&shape_help_request, json))
                        return STR_NULL;
                index_read_help(reader, json);
                return id;
        case INDEX_KIND_AGENT:
                if (!shape_fits(&shape_agent, json))
                        return STR_NULL;
                index_read_agent(reader, json);
                return id;
        case INDEX_KIND_SESSION:
                if (!shape_fits(&shape_session_record, json))
                        return STR_NULL;
                index_read_session(reader, file, json);
                return file->name;
        case INDEX_KIND_COMMENT:
                if (!shape_fits(&shape_comment, json))
                        return STR_NULL;
                index_read_comment(reader, file, json);
                return file->name;
        case INDEX_KIND_JOB:
                if (!json_text_of(json, "status").n)
                        return STR_NULL;
                index_read_job(reader, file, json);
                return file->name;
        default: return STR_NULL;
        }
}

/* What is to be remembered of the file: item is how its rows are found again. */
static void index_read_remember(IndexReader *reader, const IndexFile *file, Str item) {
        IndexRow *row = index_row(reader->rows, INDEX_FILES, 9);

        index_add_str(reader->rows, row, file->path);
        index_add_str(reader->rows, row, item);
        index_add_int(row, (int64_t)file->identity.ino);
        index_add_int(row, file->identity.n_bytes);
        index_add_int(row, file->identity.mtime_ns);
        index_add_int(row, file->identity.ctime_ns);
        index_add_int(row, (int64_t)file->n_lines);
        index_add_int(row, (int64_t)file->n_bytes);
        index_add_int(row, (int64_t)file->tail);
}

/* Whether it was written so recently that another write may leave the same times behind. */
static bool index_read_is_unsettled(const IndexFile *file) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec * 1000000000 + now.tv_nsec -
                       MAX(file->identity.mtime_ns, file->identity.ctime_ns) <
               INDEX_SETTLE_MS * 1000000L;
}

static int index_read_document(IndexReader *reader, IndexFile *file) {
        const bool has_matter = file->kind == INDEX_KIND_ARTIFACT || file->kind == INDEX_KIND_TASK ||
                                file->kind == INDEX_KIND_HELP;
        Json *json = NULL;
        Str item = STR_NULL;
        int r;

        arena_reset(&reader->scratch);
        if (index_read_is_unsettled(file))
                file->identity.ctime_ns = 0;
        r = document_load(&reader->scratch, reader->root, file->path.data,
                          has_matter ? DOCUMENT_MATTER : DOCUMENT_YAML, &json, NULL, NULL);
        if (r < 0 && r != -EACCES && r != -EPERM)
                return error_trace(r);
        if (r == DOCUMENT_E_MISSING)
                return 0;
        if (!r)
                item = index_read_document_rows(reader, file, json);
        reader->n_read++;
        reader->n_bytes += (uint64_t)file->identity.n_bytes;
        index_read_remember(reader, file, item);
        return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static Str index_read_kept_member(IndexRows *rows, Str line, const Json *object, const char *name) {
        const Json *value = json_get(object, name);

        if (!json_is(value, JSON_STRING))
                return STR_NULL;
        if (!value->n)
                return STR("");
        if (value->text >= line.data && value->text < line.data + line.n)
                return (Str){value->text, value->n};
        return arena_str(&rows->arena, (Str){value->text, value->n});
}

static void index_read_event(IndexReader *reader, const IndexFile *file, uint64_t seq, Str line,
                             const Json *event) {
        const Json *payload = json_get(event, "payload");
        const Str type = index_read_kept_member(reader->rows, line, event, "type");
        IndexRows *rows = reader->rows;
        IndexRow *row = index_row(rows, INDEX_EVENTS, 11);
        double at;

        index_add_str(rows, row, file->project);
        index_add_str(rows, row, file->name);
        index_add_int(row, (int64_t)seq);
        index_add_kept(row, type.data ? type : STR("unknown"));
        index_add_kept(row, index_read_kept_member(rows, line, event, "ts_wallclock"));
        if (json_double(json_get(event, "ts_monotonic_ms"), &at) && fabs(at) < 9e15)
                index_add_int(row, (int64_t)floor(at));
        else
                index_add_null(row);
        index_add_kept(row, index_read_kept_member(rows, line, event, "actor"));
        index_add_kept(row, index_read_kept_member(rows, line, event, "session_ref"));
        index_add_kept(row, index_read_kept_member(rows, line, event, "visibility"));
        index_add_kept(row, payload && payload->raw_n ? json_raw(payload) : STR("null"));
        index_add_kept(row, line);
}

static void index_read_parse_error(IndexReader *reader, const IndexFile *file, uint64_t seq, Str line,
                                   const char *what) {
        IndexRow *row = index_row(reader->rows, INDEX_PARSE_ERRORS, 5);

        index_add_str(reader->rows, row, file->project);
        index_add_str(reader->rows, row, file->name);
        index_add_int(row, (int64_t)seq);
        index_add_kept(row, str_from(what));
        index_add_kept(row, line);
}

static void index_read_message(IndexReader *reader, uint64_t seq, const Json *message) {
        static const char *const names[] = {"created_at", "author_id",  "author_role",
                                            "kind",       "visibility", "body"};
        IndexRows *rows = reader->rows;
        IndexRow *row;

        if (!shape_fits(&shape_message, message))
                return;
        row = index_row(rows, INDEX_MESSAGES, 11);
        index_add_member(rows, row, message, "id");
        index_add_member(rows, row, message, "conversation_id");
        index_add_member(rows, row, message, "project_id");
        index_add_int(row, (int64_t)seq);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                index_add_member(rows, row, message, names[i]);
        index_add_member_json(rows, row, message, "mentions");
}

/* A line as it is kept: bytes that are no UTF-8 are replaced, as the original's reader does. */
static Str index_read_keep_line(IndexReader *reader, Str line) {
        if (utf8_valid_prefix(line.data, line.n) == line.n)
                return arena_str(&reader->rows->arena, line);
        reader->line.n = 0;
        if (utf8_append_replaced(&reader->line, line.data, line.n))
                return STR_NULL;
        return arena_str(&reader->rows->arena, buf_str(&reader->line));
}

static int index_read_line(IndexReader *reader, const IndexFile *file, uint64_t seq, Str text,
                           bool is_too_long) {
        const JsonLimits limits = {.is_lenient = true};
        Str line = index_read_keep_line(reader, text);
        JsonFault fault = {.what = "longer than a line may be"};
        Json *json = NULL;
        int r = is_too_long;

        if (!line.data)
                return error_origin(-ENOMEM);
        arena_reset(&reader->scratch);
        if (!r)
                r = json_parse(&reader->scratch, line.data, line.n, &limits, &json, &fault);
        if (r < 0)
                return error_trace(r);
        if (file->kind == INDEX_KIND_EVENTS && r)
                index_read_parse_error(reader, file, seq, line, fault.what);
        else if (file->kind == INDEX_KIND_EVENTS)
                index_read_event(reader, file, seq, line, json);
        else if (!r)
                index_read_message(reader, seq, json);
        return reader->rows->arena.n_total > INDEX_BATCH_BYTES ? reader->full(reader->user, &reader->rows)
                                                               : 0;
}

/* Whole lines in the block, from its beginning on; *ret: how many bytes they take. */
static int index_read_block_lines(IndexReader *reader, IndexFile *file, size_t *ret) {
        const char *at = reader->block.data, *end = at + reader->block.n, *newline;

        while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
                const Str text = str_trim((Str){at, (size_t)(newline - at)});
                int r = text.n ? index_read_line(reader, file, ++file->n_lines, text, reader->n_skipped) : 0;

                if (r)
                        return error_trace(r);
                file->n_bytes += reader->n_skipped;
                reader->n_skipped = 0;
                at = newline + 1;
        }
        *ret = (size_t)(at - reader->block.data);
        file->n_bytes += *ret;
        return 0;
}

/* Of a line that is too long the beginning is kept, and the rest is passed over. */
static void index_read_shorten(IndexReader *reader) {
        if (reader->block.n <= INDEX_LINE_MAX)
                return;
        reader->n_skipped += reader->block.n - READ_TAIL;
        reader->block.n = READ_TAIL;
}

/* The bytes behind the last newline: an event that is still being written, or one without its newline. It has
 * a row until it is whole; a message has none before. */
static int index_read_torn_line(IndexReader *reader, const IndexFile *file) {
        const Str text = str_trim(buf_str(&reader->block));

        if (!text.n || file->kind != INDEX_KIND_EVENTS)
                return 0;
        return index_read_line(reader, file, file->n_lines + 1, text, reader->n_skipped);
}

static int index_read_all_lines(IndexReader *reader, IndexFile *file, int fd) {
        uint64_t at = file->n_bytes;

        reader->block.n = 0;
        reader->n_skipped = 0;
        for (;;) {
                ssize_t n;
                size_t n_done = 0;
                int r;

                if (buf_reserve(&reader->block, READ_BLOCK))
                        return error_origin(-ENOMEM);
                n = pread(fd, reader->block.data + reader->block.n, READ_BLOCK, (off_t)at);
                if (n < 0)
                        return error_origin(-errno);
                if (n == 0)
                        return error_trace(index_read_torn_line(reader, file));
                at += (uint64_t)n;
                reader->n_bytes += (uint64_t)n;
                reader->block.n += (size_t)n;
                r = index_read_block_lines(reader, file, &n_done);
                if (r)
                        return error_trace(r);
                buf_consume(&reader->block, n_done);
                index_read_shorten(reader);
        }
}

static int index_read_tail_hash(int fd, uint64_t end, uint64_t *ret) {
        char bytes[READ_TAIL];
        const size_t n = MIN((uint64_t)READ_TAIL, end);

        if (pread(fd, bytes, n, (off_t)(end - n)) != (ssize_t)n)
                return error_origin(-EIO);
        *ret = hash_bytes(HASH_START, bytes, n) >> 1;
        return 0;
}

static int index_read_lines(IndexReader *reader, IndexFile *file) {
        _cleanup_(closep) int fd = path_open_beneath(reader->root, file->path.data, O_RDONLY | O_CLOEXEC, 0);
        int r;

        if (fd < 0)
                return fd == -ENOENT || fd == -ELOOP ? 0 : error_trace(fd);
        reader->n_read++;
        r = index_read_all_lines(reader, file, fd);
        if (!r)
                r = index_read_tail_hash(fd, file->n_bytes, &file->tail);
        if (r)
                return error_trace(r);
        index_read_remember(reader, file, STR_NULL);
        return 0;
}

bool index_is_continued(int root, const IndexFile *file) {
        _cleanup_(closep) int fd = path_open_beneath(root, file->path.data, O_RDONLY | O_CLOEXEC, 0);
        uint64_t tail;

        return fd >= 0 && !index_read_tail_hash(fd, file->n_bytes, &tail) && tail == file->tail;
}

int index_read(IndexReader *reader, IndexFile *file) {
        return index_kind_has_lines(file->kind) ? index_read_lines(reader, file)
                                                : index_read_document(reader, file);
}
