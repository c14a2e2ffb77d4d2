/* SPDX-License-Identifier: MIT */
/*
 * Records what a hosted terminal shows, without disturbing it: as a reader, who neither types nor resizes.
 * The stream does not say how large the terminal is; that is asked of the terminal itself, by way of the
 * process on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "cli/term/cast.h"
#include "cli/cli.h"
#include "cli/term/follow.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "gen/errors.h"

enum { LOOK_MS = 250, COLS_DEFAULT = 120, ROWS_DEFAULT = 40, PTS_MAJOR_FIRST = 136, PTS_MAJOR_LAST = 143 };

typedef struct Recording {
        Coop coop;   /* of the stream */
        Coop asking; /* for questions beside it */
        const char *name, *path;
        int64_t pty, pid, looked_ms;
        unsigned cols, rows;
        FILE *file;
        CastWriter cast;
        Buf lines;    /* for the file */
        bool is_told; /* what the daemon records itself */
        unsigned long long n_bytes;
} Recording;

static void recording_deinit(Recording *rec) {
        if (rec->file && rec->file != stdout)
                fclose(rec->file);
        coop_deinit(&rec->coop);
        coop_deinit(&rec->asking);
        buf_deinit(&rec->lines);
}

static void record_put_lines(Recording *rec) {
        if (rec->lines.n)
                (void)fwrite(rec->lines.data, 1, rec->lines.n, rec->file); /* ferror() tells */
        rec->lines.n = 0;
}

/* ---- size ------------------------------------------------------------------------------------ */

/* Of the terminal that is stdin of the process. It is opened for a moment only: held open, it would seem to
 * live on after its process. */
static bool record_look_at(int64_t pid, unsigned *ret_cols, unsigned *ret_rows) {
        struct winsize size = {0};
        struct stat st;
        char path[64];
        int fd, r;

        snprintf(path, sizeof(path), "/proc/%lld/fd/0", (long long)pid);
        if (stat(path, &st) || !S_ISCHR(st.st_mode) || major(st.st_rdev) < PTS_MAJOR_FIRST ||
            major(st.st_rdev) > PTS_MAJOR_LAST)
                return false;
        fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        r = fd < 0 ? -1 : ioctl(fd, TIOCGWINSZ, &size);
        (void)close_fd(fd);
        *ret_cols = size.ws_col;
        *ret_rows = size.ws_row;
        return !r && size.ws_col && size.ws_row;
}

/* Of what is no session: by its name, which stays. */
static int64_t record_find_other(Recording *rec) {
        const Asking what = {rec->asking.socket, "native", "ps", &rec->asking.link, &rec->asking.arena};
        int64_t pid = 0;

        if (asking(&what, &rec->asking.args, &rec->asking.reply))
                return 0;
        json_each (row, json_get(rec->asking.reply.result, "processes"))
                if (str_eq(json_str(json_get(row, "name")), rec->coop.thing.name) &&
                    str_is(json_str(json_get(row, "state")), "running"))
                        (void)json_int64(json_get(row, "pid"), &pid);
        return pid;
}

/* The process on the terminal, which a restart changes; 0: none, or not known. */
static int64_t find_pid(Recording *rec) {
        int64_t id = -1, pid = 0;

        if (rec->coop.is_other)
                return record_find_other(rec);
        coop_set_session(&rec->asking);
        if (coop_ask(&rec->asking, "sessionls") || rec->asking.reply.is_error)
                return 0;
        json_each (pty, json_get(rec->asking.reply.result, "ptys")) {
                Str own = json_str(json_get(pty, "recording"));

                if (!json_int64(json_get(pty, "id"), &id) || id != rec->pty)
                        continue;
                (void)json_int64(json_get(pty, "pid"), &pid);
                if (own.n && !rec->is_told)
                        advise("musterd records it too, into " STR_FMT, STR_ARG(own));
                rec->is_told = true;
        }
        return pid;
}

/* Looks, at most every LOOK_MS, whether the size has changed. */
static void check_size(Recording *rec, int64_t now_ms) {
        unsigned cols, rows;

        if (now_ms - rec->looked_ms < LOOK_MS)
                return;
        rec->looked_ms = now_ms;
        if (!record_look_at(rec->pid, &cols, &rows) || (cols == rec->cols && rows == rec->rows))
                return;
        rec->cols = cols;
        rec->rows = rows;
        cast_resize(&rec->cast, cols, rows, now_ms);
}

/* ---- recording ------------------------------------------------------------------------------- */

static int record_open_file(Recording *rec) {
        int fd;

        if (!strcmp(rec->path, "-")) {
                rec->file = stdout;
                return CLI_OK;
        }
        fd = open(rec->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        rec->file = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (rec->file)
                return CLI_OK;
        complain(CLI_FAILED, "record: %s: %s", rec->path, strerror(errno));
        (void)close_fd(fd);
        return CLI_FAILED;
}

static void record_begin(Recording *rec) {
        CastHeader header = {.time_s = time(NULL), .title = rec->name};

        rec->pid = find_pid(rec);
        rec->looked_ms = clock_ms();
        if (!record_look_at(rec->pid, &rec->cols, &rec->rows)) {
                rec->cols = COLS_DEFAULT;
                rec->rows = ROWS_DEFAULT;
        }
        header.cols = rec->cols;
        header.rows = rec->rows;
        cast_begin(&rec->cast, &rec->lines, &header, rec->looked_ms);
}

static void record_take_event(Recording *rec, const StreamEvent *event, int64_t now_ms) {
        char text[80];

        if (event->kind == STREAM_EXITED)
                snprintf(text, sizeof(text), "process exited (code %lld)", (long long)event->value);
        else if (event->kind == STREAM_RESTARTING)
                snprintf(text, sizeof(text), "restarting in %lldms", (long long)event->value);
        else
                return;
        cast_marker(&rec->cast, text, now_ms);
        rec->pid = 0;
}

/* Whether it goes on. */
static bool record_take(Recording *rec, const FollowItem *item) {
        int64_t now_ms = clock_ms();
        char text[80];

        check_size(rec, now_ms); /* first: what comes was printed for the size that is there now */
        switch (item->kind) {
        case FOLLOW_OUTPUT:
                cast_output(&rec->cast, item->bytes, now_ms);
                rec->n_bytes += item->bytes.n;
                break;
        case FOLLOW_LOST:
                snprintf(text, sizeof(text), "%llu bytes are missing", (unsigned long long)item->n_lost);
                cast_marker(&rec->cast, text, now_ms);
                break;
        case FOLLOW_EVENT: record_take_event(rec, &item->event, now_ms); break;
        case FOLLOW_IDLE:
                if (!rec->pid)
                        rec->pid = find_pid(rec);
                record_put_lines(rec);
                (void)fflush(rec->file);
                break;
        case FOLLOW_SIGNAL:
        case FOLLOW_FAILED:
        case FOLLOW_END: return false;
        }
        record_put_lines(rec);
        return !ferror(rec->file) && !rec->cast.is_out_of_memory;
}

static int record_finish(Recording *rec) {
        bool is_written;

        cast_end(&rec->cast, clock_ms());
        record_put_lines(rec);
        is_written = !fflush(rec->file) && !ferror(rec->file) && !rec->cast.is_out_of_memory;
        if (!is_written)
                return complain(CLI_FAILED, "record: %s: the recording is not complete: %s", rec->path,
                                strerror(errno));
        advise("%s: %.1f s, %llu bytes; play it with: muster replay %s", rec->path,
               (double)(clock_ms() - rec->cast.began_ms) / 1000, rec->n_bytes, rec->path);
        return CLI_OK;
}

static int record_record(Recording *rec, const Options *options) {
        _cleanup_(follow_deinit) Follow follow = FOLLOW_NULL;
        FollowItem item;
        int r = follow_open(&follow, &rec->coop, options), status;

        if (!r)
                r = record_open_file(rec);
        if (r)
                return r;
        record_begin(rec);
        advise("recording %s into %s; Ctrl+C ends it", rec->name,
               strcmp(rec->path, "-") == 0 ? "standard output" : rec->path);
        follow.idle_ms = LOOK_MS;
        cast_output(&rec->cast, buf_str(&follow.past), clock_ms());
        do
                r = follow_next(&follow, &item);
        while (!r && record_take(rec, &item));
        status = record_finish(rec);
        if (r)
                return link_complain(r, rec->coop.socket);
        if (item.kind == FOLLOW_SIGNAL && item.number != SIGINT)
                die_by_signal(item.number);
        return item.kind == FOLLOW_FAILED && !status ? item.number : status;
}

int cmd_record(const Options *options) {
        const char *session = options->n_operands > 1 ? options->operands[0] : NULL;
        _cleanup_(recording_deinit) Recording rec = {.coop = COOP_NULL, .asking = COOP_NULL};
        int r = coop_open(&rec.coop, "record");

        if (!r)
                r = coop_choose(&rec.coop, session);
        if (!r)
                r = coop_open(&rec.asking, "record");
        if (!r)
                r = coop_choose(&rec.asking, session);
        rec.name = rec.coop.session;
        if (!r && !rec.coop.is_other)
                r = coop_name(&rec.coop, &rec.name);
        rec.path = options->operands[options->n_operands - 1];
        if (r && !session && coop_was_refused(&rec.coop, CALL_E_SESSION_NOT_FOUND))
                advise("%s was taken for the file; of another session: muster record SESSION FILE",
                       rec.path);
        if (r)
                return r;
        rec.pty = options->pty < 0 ? rec.coop.thing.number : options->pty;
        return record_record(&rec, options);
}
