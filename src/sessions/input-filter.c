/* SPDX-License-Identifier: MIT */
/*
 * The sequences are the paths of a tree (Aho and Corasick). Where the filter stands in it is the longest end of the input that begins a
 * sequence: these bytes are held, and they need not be kept, as they are the beginning of that sequence. Each byte of input moves it once, however
 * many sequences there are.
 */
#include "sessions/input-filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"

#define WARNING(text) "\r\n\x1b[1;33m\xe2\x9a\xa0 " text "\x1b[0m\r\n"

enum { ROOT = 0, CTRL_C = 0x03 };

typedef struct FilterNode {
        uint32_t child, sibling; /* 0: none, as nothing leads to the root */
        uint32_t fail;           /* the longest other end of this path that begins a sequence */
        uint32_t depth;
        uint32_t n_match;    /* length of the longest sequence that ends here; 0: none */
        const char *path;    /* its bytes, `depth` of them */
        unsigned char label; /* the last of them */
} FilterNode;

struct InputFilter {
        int64_t debounce_ms, ctrl_c_ms; /* ctrl_c_ms: when the last one passed … */
        bool had_ctrl_c;                /* … if there was one */
        uint32_t at;
        size_t n_nodes;
        FilterNode *nodes;
        char *text; /* the sequences one after the other */
};

static const Str built_in[] = {
        STR("\x04"),    STR("\x1c"),    STR("exit\r"), STR("exit\n"),
        STR("/exit\r"), STR("/exit\n"), STR("quit\r"), STR("quit\n"),
};

/* ---- building -------------------------------------------------------------------------------- */

static uint32_t filter_child(const InputFilter *filter, uint32_t node, unsigned char byte) {
        uint32_t child = filter->nodes[node].child;

        while (child && filter->nodes[child].label != byte)
                child = filter->nodes[child].sibling;
        return child;
}

static void filter_add(InputFilter *filter, Str sequence) {
        uint32_t at = ROOT;

        for (size_t i = 0; i < sequence.n; i++) {
                unsigned char byte = (unsigned char)sequence.data[i];
                uint32_t child = filter_child(filter, at, byte);

                if (!child) {
                        child = (uint32_t)filter->n_nodes++;
                        filter->nodes[child] = (FilterNode){.sibling = filter->nodes[at].child,
                                                            .depth = (uint32_t)i + 1,
                                                            .path = sequence.data,
                                                            .label = byte};
                        filter->nodes[at].child = child;
                }
                at = child;
        }
        filter->nodes[at].n_match = (uint32_t)sequence.n;
}

/* Where a byte leads from a node; the root takes all that nothing begins with. */
static uint32_t filter_step(const InputFilter *filter, uint32_t at, unsigned char byte) {
        for (;;) {
                uint32_t child = filter_child(filter, at, byte);

                if (child || at == ROOT)
                        return child;
                at = filter->nodes[at].fail;
        }
}

/* By depth: what a node falls back to is less deep, and is ready by then. `order` has room for all nodes. */
static void filter_link(InputFilter *filter, uint32_t *order) {
        size_t n = 1;

        order[0] = ROOT;
        for (size_t i = 0; i < n; i++) {
                const FilterNode *parent = &filter->nodes[order[i]];

                for (uint32_t child = parent->child; child; child = filter->nodes[child].sibling) {
                        FilterNode *node = &filter->nodes[child];

                        if (order[i] != ROOT)
                                node->fail = filter_step(filter, parent->fail, node->label);
                        node->n_match = MAX(node->n_match, filter->nodes[node->fail].n_match);
                        order[n++] = child;
                }
        }
}

static Str filter_sequence(const Coopfile *config, size_t i) {
        const BlockSequence *own;

        if (i < ARRAY_SIZE(built_in))
                return built_in[i];
        own = &config->block_sequences[i - ARRAY_SIZE(built_in)];
        return (Str){own->data, own->n};
}

int input_filter_new(InputFilter **ret, const Coopfile *config) {
        _cleanup_(input_filter_freep) InputFilter *filter = calloc(1, sizeof(*filter));
        _cleanup_(freep) uint32_t *order = NULL;
        size_t n_sequences = ARRAY_SIZE(built_in) + config->n_block_sequences, n = 0, at = 0;

        for (size_t i = 0; i < n_sequences; i++)
                n += filter_sequence(config, i).n;
        if (!filter || n >= UINT32_MAX)
                return error_origin(-ENOMEM);
        filter->debounce_ms = config->ctrl_c_debounce_ms;
        filter->text = malloc(n + 1);
        filter->nodes = calloc(n + 1, sizeof(*filter->nodes));
        order = calloc(n + 1, sizeof(*order));
        if (!filter->text || !filter->nodes || !order)
                return error_origin(-ENOMEM);
        filter->n_nodes = 1;
        for (size_t i = 0; i < n_sequences; i++) {
                Str sequence = filter_sequence(config, i);

                memcpy(filter->text + at, sequence.data, sequence.n);
                filter_add(filter, (Str){filter->text + at, sequence.n});
                at += sequence.n;
        }
        filter_link(filter, order);
        *ret = steal(&filter);
        return 0;
}

InputFilter *input_filter_free(InputFilter *filter) {
        if (!filter)
                return NULL;
        free(filter->nodes);
        free(filter->text);
        free(filter);
        return NULL;
}

void input_filter_freep(InputFilter **filter) {
        *filter = input_filter_free(*filter);
}

/* ---- filtering ------------------------------------------------------------------------------- */

/* The first n bytes of what is held go on; there is room for them. */
static void filter_pass(Buf *pass, const FilterNode *held, size_t n) {
        if (n)
                memcpy(pass->data + pass->n, held->path, n);
        pass->n += n;
}

/* One byte; true: a sequence has ended with it. */
static bool filter_take(InputFilter *filter, char byte, Buf *pass) {
        const FilterNode *held = &filter->nodes[filter->at], *now;
        size_t n_innocent;

        filter->at = filter_step(filter, filter->at, (unsigned char)byte);
        now = &filter->nodes[filter->at];
        /* Of what was held, and this byte. A match is the end of the path here, or all of it. */
        n_innocent = held->depth + 1 - (now->n_match ? now->n_match : now->depth);
        filter_pass(pass, held, MIN(n_innocent, (size_t)held->depth));
        if (n_innocent > held->depth)
                pass->data[pass->n++] = byte;
        if (!now->n_match)
                return false;
        filter->at = ROOT;
        return true;
}

/* Whether this is one Ctrl+C too many. */
static bool filter_is_bounce(InputFilter *filter, int64_t now_ms, Str message) {
        if (message.n != 1 || message.data[0] != CTRL_C)
                return false;
        if (filter->had_ctrl_c && now_ms - filter->ctrl_c_ms < filter->debounce_ms)
                return true;
        filter->had_ctrl_c = true;
        filter->ctrl_c_ms = now_ms;
        return false;
}

int input_filter_push(InputFilter *filter, int64_t now_ms, Str message, Buf *pass, Buf *say) {
        bool is_blocked = false;
        int r;

        if (filter_is_bounce(filter, now_ms, message))
                return error_trace(buf_append_str(say, STR(WARNING("Ctrl+C debounced."))));
        r = buf_reserve(pass, filter->nodes[filter->at].depth + message.n);
        if (r)
                return error_trace(r);
        for (size_t i = 0; i < message.n; i++)
                is_blocked |= filter_take(filter, message.data[i], pass);
        if (!is_blocked)
                return 0;
        return error_trace(
                buf_append_str(say, STR(WARNING("Blocked from web. Use local terminal to exit."))));
}

bool input_filter_holds(const InputFilter *filter) {
        return filter->at != ROOT;
}

int input_filter_flush(InputFilter *filter, Buf *pass) {
        const FilterNode *held = &filter->nodes[filter->at];
        int r = buf_reserve(pass, held->depth);

        if (r)
                return error_trace(r);
        filter_pass(pass, held, held->depth);
        filter->at = ROOT;
        return 0;
}
