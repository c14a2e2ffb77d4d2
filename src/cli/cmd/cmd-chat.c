/* SPDX-License-Identifier: MIT */
/*
 * muster chat: each line becomes a task; its output is shown as it comes. Keyboard, signals and the
 * connection are waited for together.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "cli/link/caller-env.h"
#include "cli/term/line-edit.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/term/signals.h"
#include "cli/cmd/task-watch.h"
#include "cli/term/terminal.h"

enum { HISTORY_SHOWN = 10, HISTORY_WIDTH = 80 };
static const char prompt[] = "muster> ";

typedef struct Chat {
        TaskLink link;
        Signals signals;
        const char *priority; /* NULL: the daemon's own */
        const char *project;  /* NULL: the one here */
        Arena arena;          /* of env */
        Json *env;            /* what each of its tasks gets of ours */
        LineEdit line;
        bool has_left;
        int out_errno; /* why stdout took no more */
} Chat;

static void chat_deinit(Chat *chat) {
        task_link_deinit(&chat->link);
        signals_deinit(&chat->signals);
        line_edit_deinit(&chat->line);
        arena_deinit(&chat->arena);
}

/* ---- one answer ------------------------------------------------------------------------------ */

static int chat_send_message(Chat *chat, Str text, char **ret_id) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);
        Reply reply = {0};
        Str id;
        int r;

        jw_begin_object(&w);
        jw_field_str(&w, "message", text);
        if (chat->priority) {
                jw_key(&w, "priority");
                jw_raw(&w, str_from(chat->priority));
        }
        jw_field_value(&w, "env", chat->env);
        jw_field_bool(&w, "needs_agent", true);
        jw_end_object(&w);
        r = task_link_call(&chat->link, "chat", "chat.send", buf_str(&params), &reply);
        if (r)
                return r;
        id = json_str(json_get(reply.result, "taskId"));
        *ret_id = str_dup(id);
        return *ret_id ? CLI_OK : complain(CLI_FAILED, "out of memory");
}

static int chat_call_with_id(Chat *chat, const char *method, const char *id, Reply *ret) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;

        if (task_params(&params, id))
                return complain(CLI_FAILED, "out of memory");
        return task_link_call(&chat->link, "chat", method, buf_str(&params), ret);
}

static void chat_flush(Chat *chat) {
        if (!fflush(stdout) || chat->out_errno)
                return;
        chat->out_errno = errno;
        chat->has_left = true;
}

static void chat_put(Chat *chat, Str text, bool is_stderr) {
        output_put(is_stderr ? stderr : stdout, text);
        chat_flush(chat);
}

/* The next message, or a signal that came first: then *ret is NULL. */
static int next_or_signal(Chat *chat, const Json **ret, int *ret_signal) {
        Link *link = &chat->link.link;

        for (;;) {
                struct pollfd fds[] = {{.fd = link->fd, .events = POLLIN},
                                       {.fd = chat->signals.fd, .events = POLLIN}};
                int r;

                link->deadline_ms = clock_ms(); /* what is here already, without waiting */
                r = task_link_next(&chat->link, ret);
                link->deadline_ms = DEADLINE_NEVER;
                if (r != LINK_E_TIMEOUT)
                        return r;
                *ret = NULL;
                *ret_signal = signals_take(&chat->signals);
                if (*ret_signal)
                        return 0;
                (void)poll(fds, ARRAY_SIZE(fds), -1);
        }
}

static int show_until_end(Chat *chat, const char *id) {
        const Json *message = NULL;
        int number = 0, r = 0;

        while (!chat->out_errno && !(r = next_or_signal(chat, &message, &number))) {
                bool is_stderr;
                Str chunk;

                if (!message) {
                        _cleanup_(buf_deinit) Buf params = BUF_NULL;
                        if (number != SIGINT)
                                die_by_signal(number);
                        if (!task_params(&params,
                                         id)) /* its answer is passed over; the end is told anyway */
                                (void)task_link_send(&chat->link, "task.cancel", buf_str(&params));
                } else if (task_note_is_output(message, str_from(id), &chunk, &is_stderr))
                        chat_put(chat, chunk, is_stderr);
                else if (task_note_is_end(message, str_from(id)))
                        break;
        }
        return r ? task_complain(&chat->link, r, id) : CLI_OK;
}

/* What the answer ended with, when not with success. */
static int conclude(Chat *chat, const char *id, bool is_shown) {
        Str state, error, output;
        Reply reply = {0};
        int r = chat_call_with_id(chat, "task.get", id, &reply);

        if (r)
                return r;
        state = json_str(json_get(reply.result, "state"));
        error = str_trim(json_str(json_get(reply.result, "error")));
        output = json_str(json_get(reply.result, "output"));
        if (!is_shown)
                chat_put(chat, output, false);
        if (output.n && output.data[output.n - 1] != '\n')
                chat_put(chat, STR("\n"), false);
        if (str_is(state, "completed"))
                return CLI_OK;
        if (str_is(state, "failed"))
                advise("[Error: " STR_FMT "]", STR_ARG(error));
        else
                advise("[" STR_FMT "]", STR_ARG(state));
        return CLI_FAILED;
}

static int chat_ask(Chat *chat, Str text) {
        _cleanup_(freep) char *id = NULL;
        bool is_following = false;
        Reply reply = {0};
        int r = chat_send_message(chat, text, &id);

        if (!r)
                r = chat_call_with_id(chat, "task.follow", id, &reply);
        if (r)
                return r;
        (void)json_bool(json_get(reply.result, "following"), &is_following);
        if (is_following) {
                chat_put(chat, json_str(json_get(reply.result, "output")), false);
                r = show_until_end(chat, id);
                if (!r)
                        r = task_link_call(&chat->link, "chat", "task.follow", STR("{\"stop\":true}"),
                                           &reply);
        }
        return r || chat->out_errno ? r : conclude(chat, id, is_following);
}

/* ---- commands -------------------------------------------------------------------------------- */

static int do_tasks(Chat *chat, _unused_ Str words) {
        Reply reply = {0};
        int r = task_link_call(&chat->link, "chat", "task.list", STR_NULL, &reply);

        if (!r)
                task_table_print(reply.result);
        return r;
}

static int do_status(Chat *chat, _unused_ Str words) {
        Reply reply = {0};
        int r = task_link_call(&chat->link, "chat", "task.stats", STR_NULL, &reply);

        return r ? r : json_print(stdout, reply.result, true);
}

static int do_history(Chat *chat, _unused_ Str words) {
        size_t n = chat->line.n_history;

        for (size_t i = n > HISTORY_SHOWN ? n - HISTORY_SHOWN : 0; i < n; i++) {
                Str line = buf_str(&chat->line.history[i]);
                text_put(stdout, (Str){line.data, MIN(line.n, (size_t)HISTORY_WIDTH)});
                fputs("\n", stdout);
        }
        return CLI_OK;
}

static int do_cancel(Chat *chat, Str words) {
        _cleanup_(freep) char *word = str_dup(words), *id = NULL;
        Reply reply = {0};
        int r = word ? task_id_find(&chat->link, "/cancel", word, &id) : CLI_FAILED;

        if (!r)
                r = chat_call_with_id(chat, "task.cancel", id, &reply);
        if (!r)
                print("Task %s cancelled\n", id);
        return r;
}

static int do_run(Chat *chat, Str words) {
        _cleanup_(freep) char *id = NULL;
        int r = chat_send_message(chat, words, &id);

        if (!r)
                print("Task submitted: %s\n", id);
        return r;
}

static int do_quit(Chat *chat, _unused_ Str words) {
        chat->has_left = true;
        return CLI_OK;
}

static int do_help(_unused_ Chat *chat, _unused_ Str words) {
        print("  /run WORDS     submit a task and go on\n"
              "  /tasks         the last tasks\n"
              "  /status        how many there are\n"
              "  /cancel ID     cancel one\n"
              "  /history       the last lines\n"
              "  /quit          leave, as Ctrl+D\n");
        return CLI_OK;
}

static const struct {
        const char *name;
        int (*run)(Chat *chat, Str words);
} commands[] = {
        {"/help", do_help},     {"/status", do_status}, {"/history", do_history}, {"/tasks", do_tasks},
        {"/cancel", do_cancel}, {"/run", do_run},       {"/quit", do_quit},       {"/exit", do_quit},
};

static int chat_obey(Chat *chat, Str text) {
        const char *blank = memchr(text.data, ' ', text.n);
        Str name = {text.data, blank ? (size_t)(blank - text.data) : text.n};

        if (text.data[0] != '/')
                return chat_ask(chat, text);
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (str_is(name, commands[i].name))
                        return commands[i].run(chat, str_trim((Str){text.data + name.n, text.n - name.n}));
        advise("Unknown command: " STR_FMT ". Type /help for available commands.", STR_ARG(name));
        return CLI_USAGE;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A daemon that has gone may be back, and one that was not read for long has closed the connection. */
static int connect_again(Chat *chat) {
        struct pollfd pfd = {.fd = chat->link.link.fd, .events = POLLRDHUP};

        if (pfd.fd >= 0 && poll(&pfd, 1, 0) == 0)
                return CLI_OK;
        task_link_deinit(&chat->link);
        return task_link_open(&chat->link, chat->project, -1);
}

static int take_line(Chat *chat, Str text) {
        int r = connect_again(chat);

        return r ? r : chat_obey(chat, text);
}

/* While nothing is under way signals do what they always do. */
static ssize_t chat_next_line(Chat *chat, char **line, size_t *cap) {
        sigset_t held;
        ssize_t n;
        int number;

        while ((number = signals_take(&chat->signals)))
                if (number != SIGINT) /* that one was for the answer before */
                        die_by_signal(number);
        (void)sigprocmask(SIG_SETMASK, &chat->signals.before, &held);
        n = getline(line, cap, stdin);
        (void)sigprocmask(SIG_SETMASK, &held, NULL);
        return n;
}

static int from_stdin(Chat *chat) {
        _cleanup_(freep) char *line = NULL;
        size_t cap = 0;
        ssize_t n;
        int status = CLI_OK;

        while (!chat->has_left && (n = chat_next_line(chat, &line, &cap)) >= 0) {
                Str text = str_trim((Str){line, (size_t)n});
                int r = text.n ? take_line(chat, text) : CLI_OK;
                status = r ? r : status;
        }
        return status;
}

static void chat_draw(Chat *chat) {
        unsigned cols, rows;

        (void)terminal_size(&cols, &rows);
        line_edit_show(&chat->line, prompt, cols, stdout);
        chat_flush(chat);
}

static bool is_readable(int fd, int timeout_ms) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};

        return poll(&pfd, 1, timeout_ms) > 0;
}

/* The next byte, or what takes its place. */
static LineEvent read_byte(Chat *chat, int fd, int *ret_signal) {
        struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = chat->signals.fd, .events = POLLIN}};
        char byte;
        ssize_t n;

        (void)poll(fds, ARRAY_SIZE(fds), -1);
        *ret_signal = signals_take(&chat->signals);
        if (*ret_signal)
                return *ret_signal == SIGINT ? LINE_INTERRUPT : LINE_END;
        n = read(fd, &byte, 1);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return LINE_MORE;
        return n == 1 ? line_edit_byte(&chat->line, byte) : LINE_END;
}

/* One line from the keyboard; what the daemon tells meanwhile waits. A paste is drawn when it is over. */
static LineEvent chat_read_line(Chat *chat, const Terminal *terminal, int *ret_signal) {
        LineEvent event = LINE_MORE;

        if (terminal->has_out)
                line_edit_mark_pastes(stdout, true);
        chat_draw(chat);
        while (event == LINE_MORE) {
                event = read_byte(chat, terminal->in, ret_signal);
                if (event != LINE_MORE || !is_readable(terminal->in, 0))
                        chat_draw(chat);
        }
        if (terminal->has_out)
                line_edit_mark_pastes(stdout, false);
        fputs("\r\n", stdout);
        (void)fflush(stdout);
        return event;
}

static int from_terminal(Chat *chat) {
        while (!chat->has_left) {
                Terminal terminal = {0};
                LineEvent event = LINE_END;
                int number = 0;
                Str text;

                terminal_open(&terminal);
                if (!terminal_raw(&terminal))
                        event = chat_read_line(chat, &terminal, &number);
                terminal_close(&terminal);
                if (number && number != SIGINT)
                        die_by_signal(number);
                if (event == LINE_END)
                        return CLI_OK;
                text = str_trim(buf_str(&chat->line.text));
                if (event == LINE_DONE && text.n)
                        (void)take_line(chat, text);
                else if (event == LINE_INTERRUPT)
                        chat->line.text.n = 0;
                line_edit_next(&chat->line);
        }
        return CLI_OK;
}

int cmd_chat(const Options *options) {
        static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
        _cleanup_(chat_deinit) Chat chat = {.link = TASK_LINK_NULL,
                                            .signals = SIGNALS_NULL,
                                            .priority = options->priority,
                                            .project = options->project};
        _cleanup_(buf_deinit) Buf words = BUF_NULL;
        int r;

        if (options->priority && !task_is_number(options->priority))
                return complain(CLI_USAGE, "chat: --priority: %s is not a number", options->priority);
        r = output_check(); /* before an agent works for nobody */
        if (r)
                return r;
        chat.env = caller_env(&chat.arena);
        r = chat.env ? caller_env_named(&chat.arena, "chat", &options->env, chat.env)
                     : complain(CLI_FAILED, "out of memory");
        if (!r)
                r = task_link_open_serving(&chat.link, options->project, -1);
        if (r)
                return r;
        if (signals_open(&chat.signals, numbers, ARRAY_SIZE(numbers)) ||
            task_words(&words, options->operands, options->n_operands))
                return complain(CLI_FAILED, "cannot begin: %s", strerror(errno));
        if (options->n_operands)
                r = chat_ask(&chat, buf_str(&words));
        else
                r = isatty(STDIN_FILENO) ? from_terminal(&chat) : from_stdin(&chat);
        if (!chat.out_errno)
                return r;
        __fpurge(stdout);
        clearerr(stdout); /* main() could not say why any more */
        return complain(CLI_FAILED, "cannot write to stdout: %s", strerror(chat.out_errno));
}
