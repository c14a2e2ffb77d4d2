/* SPDX-License-Identifier: MIT */
/*
 * What an app server prints, in pieces as the first byte says and at once: the dialog goes the same way, what it says is
 * whole lines of JSON, and what it knows is within its bounds.
 */
#include <string.h>

#include "base/macro.h"
#include "base/utf8.h"
#include "company/run/dialog.h"
#include "fuzz.h"

static void talk(Dialog *dialog, UsageMeter *meter, Str text, size_t n_piece) {
        *dialog = (Dialog){.prompt = STR("p\n\"q"), .folder = STR("/w"), .meter = meter};
        FUZZ_CHECK(!dialog_begin(dialog));
        for (size_t at = 0; at < text.n; at += n_piece)
                FUZZ_CHECK(!dialog_feed(dialog, (Str){text.data + at, MIN(n_piece, text.n - at)}, NULL));
        FUZZ_CHECK(!dialog_end(dialog, NULL));
        FUZZ_CHECK(!dialog_interrupt(dialog));
}

static void check_said(Str said) {
        while (said.n) {
                const char *newline = memchr(said.data, '\n', said.n);
                size_t n = newline ? (size_t)(newline - said.data) : said.n;

                FUZZ_CHECK(newline && json_text_is_object((Str){said.data, n}));
                said = (Str){said.data + n + 1, said.n - n - 1};
        }
}

static void check_dialog(const Dialog *dialog) {
        FUZZ_CHECK((dialog->state == DIALOG_OVER) == (dialog->verdict != DIALOG_UNDECIDED));
        FUZZ_CHECK((dialog->verdict == DIALOG_BROKEN) == (*dialog->reason != 0));
        FUZZ_CHECK(dialog->state != DIALOG_WORKING || (*dialog->thread_id && *dialog->turn_id));
        FUZZ_CHECK(!dialog->message.n ||
                   utf8_valid_prefix(dialog->message.data, dialog->message.n) == dialog->message.n);
        FUZZ_CHECK(utf8_valid_prefix(dialog->reason, strlen(dialog->reason)) == strlen(dialog->reason));
        check_said(buf_str(&dialog->say));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Str text = {(const char *)data + (n > 0), n - (n > 0)};
        UsageMeter meters[2] = {0};
        Dialog whole, pieces;

        talk(&whole, &meters[0], text, text.n + 1);
        talk(&pieces, &meters[1], text, n ? (size_t)data[0] + 1 : 1);
        check_dialog(&whole);
        FUZZ_CHECK(whole.state == pieces.state && whole.verdict == pieces.verdict);
        FUZZ_CHECK(str_eq(buf_str(&whole.say), buf_str(&pieces.say)));
        FUZZ_CHECK(str_eq(buf_str(&whole.message), buf_str(&pieces.message)));
        dialog_deinit(&whole);
        dialog_deinit(&pieces);
        usage_meter_deinit(&meters[0]);
        usage_meter_deinit(&meters[1]);
        return 0;
}
