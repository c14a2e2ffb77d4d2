/* SPDX-License-Identifier: MIT */
#include "cli/print/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "cli/print/report.h"

#define GREEN  "\x1b[32m"
#define YELLOW "\x1b[33m"
#define RED    "\x1b[31m"
#define DIM    "\x1b[2m"

const char colour_end[] = "\x1b[0m";

static const struct {
        const char *word, *sequence;
} states[] = {
        {"running", GREEN}, {"active", GREEN},   {"listening", GREEN}, {"serving", GREEN},
        {"ok", GREEN},      {"working", GREEN},  {"completed", GREEN}, {"waiting", YELLOW},
        {"queued", YELLOW}, {"idle", YELLOW},    {"paused", YELLOW},   {"starting", YELLOW},
        {"ending", YELLOW}, {"closing", YELLOW}, {"warning", YELLOW},  {"failed", RED},
        {"error", RED},     {"damaged", RED},    {"unusable", RED},    {"foreign", RED},
        {"cancelled", DIM}, {"stopped", DIM},    {"ended", DIM},       {"off", DIM},
};

bool colour_is_wanted(FILE *out) {
        const char *wish = getenv("MUSTER_COLOR"), *never = getenv("NO_COLOR"), *term = getenv("TERM");

        if (wish && !strcmp(wish, "always"))
                return true;
        if ((wish && !strcmp(wish, "never")) || (never && *never))
                return false;
        return term && *term && strcmp(term, "dumb") != 0 && isatty(fileno(out));
}

/* `ended (1)`: a status that is not 0 is a failure. */
static bool colour_is_failure(Str state) {
        const char *open = memchr(state.data, '(', state.n);

        return open && open + 1 < state.data + state.n && open[1] != '0';
}

const char *colour_of_state(Str state) {
        const char *blank = state.n ? memchr(state.data, ' ', state.n) : NULL;
        Str word = {state.data, blank ? (size_t)(blank - state.data) : state.n};

        if (!state.n)
                return "";
        if (colour_is_failure(state))
                return RED;
        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                if (str_is(word, states[i].word))
                        return states[i].sequence;
        return "";
}

void colour_put_state(FILE *out, Str state) {
        const char *sequence = colour_is_wanted(out) ? colour_of_state(state) : "";

        fputs(sequence, out);
        text_put(out, state);
        if (*sequence)
                fputs(colour_end, out);
}
