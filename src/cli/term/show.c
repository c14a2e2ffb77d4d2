/* SPDX-License-Identifier: MIT */
#include "cli/term/show.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/link/again.h"
#include "cli/link/settings.h"
#include "cli/term/relay.h"
#include "cli/print/report.h"

enum { BREAK_MS = 500, NAME_MAX_SHOWN = 64 };

void show_set_size(Coop *coop) {
        unsigned cols, rows;

        (void)terminal_size(&cols, &rows); /* 0 leaves the size as it is */
        coop_set_int(coop, "cols", cols);
        coop_set_int(coop, "rows", rows);
}

static int show_use_keys(Show *show, const char *where, const char *text) {
        if (!detach_keys_parse(text, &show->keys))
                return CLI_OK;
        complain(CLI_USAGE, "%s: %s names no keys that leave", where, text);
        advise("it is none, or a key with Ctrl and up to three more, as in: C-]  or: C-a,d");
        return CLI_USAGE;
}

/* A fault of the file does not keep anybody from a session; that of the command line does. */
int show_choose_keys(Show *show, const Options *options) {
        _cleanup_(freep) char *set = NULL;

        show->is_alone = options->no_reconnect;
        if (options->detach_keys)
                return show_use_keys(show, "--detach-keys", options->detach_keys);
        set = settings_text("cli", "detach_keys");
        if (!set || show_use_keys(show, "cli.detach_keys in muster.toml", set))
                (void)detach_keys_parse(DETACH_KEYS_DEFAULT, &show->keys);
        return CLI_OK;
}

static void show_greet(const Show *show) {
        const char *keys = show->keys.n ? show->keys.text : "no key";

        if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
                return;
        if (show->is_waiting)
                advise("[watching %s until the one who types there leaves; %s leaves]", show->name, keys);
        else if (show->is_read_only)
                advise("[watching %s; %s leaves]", show->name, show->keys.n ? keys : "Ctrl+C");
        else
                advise("[attached to %s; %s leaves, it runs on]", show->name, keys);
}

static void advise_return(const Show *show) {
        if (!isatty(STDERR_FILENO))
                return;
        if (show->pty)
                advise("come back with: muster attach %s --pty %lld", show->name, (long long)show->pty);
        else
                advise("come back with: muster attach %s", show->name);
}

/* A session whose agent has ended is there until somebody ends it, with what was printed. */
static void advise_end(const Show *show) {
        Coop *coop = show->coop;

        if (show->pty || coop->is_other || !isatty(STDERR_FILENO))
                return;
        coop_set_session(coop);
        if (!coop_ask(coop, "sessionls") && !coop->reply.is_error)
                advise("the session stays; muster restart %s starts it again, muster kill %s ends it",
                       show->name, show->name);
}

static int show_tell(const Show *show, RelayOutcome outcome) {
        switch (outcome.end) {
        case RELAY_DETACHED:
                advise("[detached]");
                advise_return(show);
                return CLI_OK;
        case RELAY_ABANDONED:
                advise("[detached]");
                advise("the daemon did not confirm it: what was typed last may not have arrived");
                return CLI_OK;
        case RELAY_DISMISSED:
                advise("[detached]");
                complain(CLI_NO_DAEMON,
                         "the daemon stops; what runs in %s runs on and is there again with the next one",
                         show->name);
                return CLI_NO_DAEMON;
        case RELAY_EXITED: advise_end(show); return outcome.value;
        case RELAY_LOST:
                complain(CLI_NO_DAEMON, "the connection to the daemon is lost; what runs in %s runs on",
                         show->name);
                advise_return(show);
                return CLI_NO_DAEMON;
        case RELAY_SIGNAL: die_by_signal(outcome.value);
        case RELAY_FAILED: break;
        }
        return complain(CLI_FAILED, "%s", strerror(outcome.value));
}

/* What we say next stands on a line of its own. Waits only a little: the terminal may be stalled. */
static void break_line(const Terminal *terminal, RelayOutcome outcome) {
        struct pollfd room = {.fd = terminal->out, .events = POLLOUT};

        if (!terminal->has_out || terminal->out == STDOUT_FILENO || outcome.end == RELAY_EXITED)
                return;
        if (poll(&room, 1, BREAK_MS) == 1)
                (void)!write(terminal->out, "\r\n", 2);
}

/* Empty: too long, or not fit to be printed. */
static void show_printable(const char *name, char ret[NAME_MAX_SHOWN]) {
        bool is_fine = strlen(name) < NAME_MAX_SHOWN;

        for (const char *c = name; *c; c++)
                is_fine &= (unsigned char)*c > ' ' && (unsigned char)*c < 0x7f;
        snprintf(ret, NAME_MAX_SHOWN, "%s", is_fine ? name : "");
}

static RelayOutcome show_run(const Show *show, Terminal *terminal, Signals *signals) {
        char name[NAME_MAX_SHOWN] = "";
        RelaySpec spec = {.terminal = terminal,
                          .signals = signals,
                          .socket = show->coop->link.fd,
                          .arrived = link_rest(&show->coop->link),
                          .keys = &show->keys,
                          .is_read_only = show->is_read_only,
                          .is_raw = show->is_raw,
                          .n_past = show->has_past ? show->n_past : 0};
        RelayOutcome outcome;
        int r = terminal_raw(terminal);

        show_printable(show->name, name);
        if (name[0] && !show->pty && !show->coop->is_other)
                spec.name = name;
        if (r)
                return (RelayOutcome){RELAY_FAILED, -r};
        outcome = relay(&spec);
        terminal_restore(terminal);
        break_line(terminal, outcome);
        return outcome;
}

static RelayOutcome show_run_alone(const Show *show) {
        static const int numbers[] = RELAY_SIGNALS;
        _cleanup_(signals_deinit) Signals signals = SIGNALS_NULL; /* last: what waits ends us */
        _cleanup_(terminal_close) Terminal terminal;
        int r;

        terminal_open(&terminal);
        r = signals_open(&signals, numbers, ARRAY_SIZE(numbers));
        return r ? (RelayOutcome){RELAY_FAILED, -r} : show_run(show, &terminal, &signals);
}

int show_ask(Show *show) {
        Coop *coop = show->coop;
        int r;

        coop_set_session(coop);
        coop_set_int(coop, "pty", show->pty);
        if (show->is_read_only)
                coop_set_bool(coop, "follow", true);
        else {
                show_set_size(coop);
                coop_set_bool(coop, "position", true);
        }
        r = coop_call(coop, show->is_read_only ? "logs" : "attach");
        show->is_waiting = !r && coop_is_out_of_turn(coop);
        show->n_past = -1;
        if (!r)
                (void)json_int64(json_get(coop->reply.result, "past"), &show->n_past);
        return r;
}

/* What was typed while nobody took it was not meant for the program as it is then. */
static void show_drop_typed(void) {
        int n_typed = 0;

        if (!isatty(STDIN_FILENO))
                return;
        if (!ioctl(STDIN_FILENO, FIONREAD, &n_typed) && n_typed)
                advise("[what was typed meanwhile is not sent]");
        (void)tcflush(STDIN_FILENO, TCIFLUSH);
}

/* What the program shows is drawn anew on a clean screen. */
static int show_come_back(Show *show, Again *again) {
        int r;

        (void)again_wait(again, -1);
        r = show_ask(show);
        if (r)
                return r;
        show->has_past = true;
        if (isatty(STDOUT_FILENO)) {
                fputs("\x1b[H\x1b[2J", stdout);
                (void)fflush(stdout);
        }
        show_drop_typed();
        return CLI_OK;
}

/* Everything is as before when it is told how it ended: a terminal that takes no words does not hold us. */
int show_terminal(Show *show) {
        RelayOutcome outcome;
        Again again;
        int r = CLI_OK;

        again_init(&again, show->coop->socket, &show->coop->link, show->is_alone);
        (void)fflush(stdout);
        (void)signal(SIGPIPE, SIG_IGN);
        for (;;) {
                show_greet(show);
                outcome = show_run_alone(show);
                if (show->is_alone || (outcome.end != RELAY_LOST && outcome.end != RELAY_DISMISSED))
                        return show_tell(show, outcome);
                r = show_come_back(show, &again);
                if (r)
                        return r;
        }
}
