/* SPDX-License-Identifier: MIT */
/* mail: what waits for whom and why, and what became of the last messages. */
#include <stdio.h>
#include <unistd.h>

#include "cli/print/report.h"
#include "cli/link/cccc.h"
#include "cli/print/table.h"
#include "cli/term/terminal.h"

static const TableColumn queue_columns[] = {{.title = "QUEUED FOR"}, {.title = "WHY"},  {.title = "SINCE"},
                                            {.title = "EVENT"},      {.title = "WHAT"}, {.title = "TEXT"}};
static const TableColumn fact_columns[] = {{.title = "EVENT"},  {.title = "FROM"},  {.title = "TO"},
                                           {.title = "STORED"}, {.title = "TYPED"}, {.title = "SEEN"},
                                           {.title = "TEXT"}};

enum { ID_SHOWN = 8 }; /* reply and ack take the beginning of an id */

/* The time of day is enough; --json has it all. */
static Str clock_of(Str ts) {
        return ts.n >= 19 ? (Str){ts.data + 11, 8} : ts;
}

static Str minute_of(Str ts) {
        return ts.n >= 19 ? (Str){ts.data + 11, 5} : ts;
}

static void mail_add_id(Table *table, Str id) {
        table_add(table, (Str){id.data, MIN(id.n, ID_SHOWN)});
}

/* Of a message that is not among the last ones nothing is known here. */
static Str mail_text(const Json *messages, Str id) {
        json_each (message, messages)
                if (str_eq(json_str(json_get(message, "event_id")), id))
                        return json_str(json_get(message, "text"));
        return STR("");
}

static void mail_add_why(Table *table, const Json *mailbox) {
        Str why = json_str(json_get(mailbox, "why")), program = json_str(json_get(mailbox, "program"));

        if (program.n)
                table_addf(table, STR_FMT " " STR_FMT, STR_ARG(why), STR_ARG(program));
        else
                table_add(table, why);
}

static void add_queue(Table *table, const Json *mailbox, const Json *messages) {
        json_each (item, json_get(mailbox, "queued")) {
                table_add(table, json_str(json_get(mailbox, "actor_id")));
                mail_add_why(table, mailbox);
                table_add(table, clock_of(json_str(json_get(item, "since"))));
                mail_add_id(table, json_str(json_get(item, "event_id")));
                table_add(table, json_str(json_get(item, "what")));
                table_add(table, mail_text(messages, json_str(json_get(item, "event_id"))));
        }
}

/* The last fact, or why there is none. */
static void add_typed(Table *table, const Json *recipient) {
        Str fact = json_str(json_get(recipient, "fact")), why = json_str(json_get(recipient, "why"));
        Str ts = minute_of(json_str(json_get_str(recipient, fact)));

        if (fact.n && why.n)
                table_addf(table, STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(fact), STR_ARG(ts),
                           STR_ARG(why));
        else if (fact.n)
                table_addf(table, STR_FMT " " STR_FMT, STR_ARG(fact), STR_ARG(ts));
        else if (why.n)
                table_addf(table, "no: " STR_FMT, STR_ARG(why));
        else
                table_add(table, STR("-"));
}

static void add_seen(Table *table, const Json *recipient) {
        Str replied = json_str(json_get(recipient, "replied")),
            acked = json_str(json_get(recipient, "acknowledged"));
        bool is_read = false;

        json_bool(json_get(recipient, "read"), &is_read);
        if (replied.n)
                table_addf(table, "replied " STR_FMT, STR_ARG(minute_of(replied)));
        else if (acked.n)
                table_addf(table, "acked " STR_FMT, STR_ARG(minute_of(acked)));
        else
                table_add(table, is_read ? STR("read") : STR("-"));
}

static void add_message(Table *table, const Json *message) {
        json_each (recipient, json_get(message, "recipients")) {
                mail_add_id(table, json_str(json_get(message, "event_id")));
                table_add(table, json_str(json_get(message, "by")));
                table_add(table, json_str(json_get(recipient, "actor_id")));
                table_add(table, clock_of(json_str(json_get(message, "stored"))));
                add_typed(table, recipient);
                add_seen(table, recipient);
                table_add(table, json_str(json_get(message, "text")));
        }
}

static void mail_print_no_queue(Str delivery) {
        if (str_is(delivery, "failed"))
                print("Delivery could not be opened: nothing is typed in this group. The daemon's log says "
                      "why: "
                      "muster logs --daemon\n");
        else if (str_is(delivery, "opening"))
                print("Delivery is being opened: what waits is not known yet.\n");
        else
                print("Nothing waits.\n");
}

static int mail_show(const Json *result) {
        _cleanup_(table_deinit) Table queues = TABLE(queue_columns), facts = TABLE(fact_columns);
        const Json *messages = json_get(result, "messages");
        unsigned cols = 0, rows;

        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        json_each (mailbox, json_get(result, "mailboxes"))
                add_queue(&queues, mailbox, messages);
        json_each (message, messages)
                add_message(&facts, message);
        if (queues.n_cells)
                table_print(&queues, stdout, cols, 0, "\n");
        else
                mail_print_no_queue(json_str(json_get(result, "delivery")));
        if (facts.n_cells) {
                print("\n");
                table_print(&facts, stdout, cols, 0, "\n");
        }
        return CLI_OK;
}

int cmd_mail(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        int r = cccc_open(&cccc, "mail", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (r)
                return r;
        cccc_set_str(&cccc, "group", cccc.group);
        if (options->tail >= 0)
                cccc_set_int(&cccc, "limit", options->tail);
        r = cccc_call_native(&cccc, "group.mail");
        if (r || options->json)
                return r ? r : cccc_print(&cccc);
        return mail_show(cccc.reply.result);
}
