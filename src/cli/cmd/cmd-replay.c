/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/cast.h"
#include "cli/cli.h"
#include "cli/link/connect.h"
#include "cli/cmd/find-recording.h"
#include "cli/term/printer.h"
#include "cli/print/report.h"
#include "cli/term/signals.h"
#include "cli/term/terminal.h"

typedef struct Replay {
        const char *path;
        CastReader cast;
        Printer printer;
        Signals signals;
        double speed;
        double max_idle_s; /* < 0: none */
        double at_s;       /* of the last event, in the recording */
        double due_ms;     /* when the last event was due, on clock_ms() */
} Replay;

static void replay_deinit(Replay *replay) {
        if (replay->cast.in)
                fclose(replay->cast.in);
        cast_deinit(&replay->cast);
        printer_deinit(&replay->printer);
        signals_deinit(&replay->signals);
}

static int complain_file(const Replay *replay, int r) {
        return complain(CLI_FAILED, "replay: %s: %s", replay->path,
                        r == CAST_E_WRONG ? replay->cast.why : strerror(-r));
}

static void check_window(const CastHeader *header) {
        unsigned cols, rows;

        if (terminal_size(&cols, &rows) && (cols < header->cols || rows < header->rows))
                advise("this terminal has %ux%u, the recording %ux%u: it may look wrong", cols, rows,
                       header->cols, header->rows);
}

/* Waits until an event is due. Returns the signal that came instead, or 0. */
static int replay_await(Replay *replay, double seconds) {
        double gap_s = fmax(seconds - replay->at_s, 0), now_ms;
        struct pollfd pfd = {.fd = replay->signals.fd, .events = POLLIN};

        if (replay->max_idle_s >= 0)
                gap_s = fmin(gap_s, replay->max_idle_s);
        replay->at_s = seconds;
        replay->due_ms += gap_s * 1000 / replay->speed;
        while ((now_ms = (double)clock_ms()) < replay->due_ms) {
                if (poll(&pfd, 1, (int)fmin(ceil(replay->due_ms - now_ms), 60000)) > 0)
                        break;
        }
        return signals_take(&replay->signals);
}

static int play(Replay *replay, int *ret_number) {
        CastEvent event;
        int r;

        replay->due_ms = (double)clock_ms();
        while ((r = cast_read_event(&replay->cast, &event)) == 0) {
                *ret_number = replay_await(replay, event.seconds);
                if (*ret_number)
                        return CLI_OK;
                if (event.kind == 'o' && !printer_put(&replay->printer, event.text))
                        return CLI_FAILED; /* main() says why */
        }
        return r == CAST_E_END ? CLI_OK : complain_file(replay, r);
}

static int replay_run(Replay *replay) {
        static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        int r = signals_open(&replay->signals, numbers, ARRAY_SIZE(numbers)), number = 0;

        if (r)
                return complain(CLI_FAILED, "cannot watch for signals: %s", strerror(-r));
        r = play(replay, &number);
        if (number)
                replay->printer.is_inside_line = true; /* the terminal has shown ^C */
        if (!printer_end(&replay->printer))
                return CLI_FAILED;
        if (number && number != SIGINT)
                die_by_signal(number);
        return r;
}

/* A file comes first, unless a terminal is asked for; NULL: take the operand as it is. */
static char *replay_find(const char *operand, int64_t pty) {
        if (strchr(operand, '/') || (pty < 0 && !access(operand, F_OK)))
                return NULL;
        return recording_find(operand, pty);
}

int cmd_replay(const Options *options) {
        _cleanup_(freep) char *found = replay_find(options->operands[0], options->pty);
        _cleanup_(replay_deinit) Replay replay = {.path = found ? found : options->operands[0],
                                                  .signals = SIGNALS_NULL,
                                                  .speed = options->speed > 0 ? options->speed : 1};
        CastHeader header;
        int r;

        printer_init(&replay.printer, stdout, false);
        replay.printer.is_raw = options->raw;
        replay.cast.in = fopen(replay.path, "re");
        if (!replay.cast.in && errno == ENOENT && !strchr(replay.path, '/'))
                return complain(
                        CLI_FAILED,
                        "replay: no file '%s', and no session of that name was recorded (record = true "
                        "in its coopfile)",
                        replay.path);
        if (!replay.cast.in)
                return complain(CLI_FAILED, "replay: %s: %s", replay.path, strerror(errno));
        r = cast_read_header(&replay.cast, &header, &replay.max_idle_s);
        if (r)
                return complain_file(&replay, r);
        if (options->max_idle_ms >= 0)
                replay.max_idle_s = (double)options->max_idle_ms / 1000;
        check_window(&header);
        return replay_run(&replay);
}
