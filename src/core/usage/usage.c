/* SPDX-License-Identifier: MIT */
#include "core/usage/usage.h"

#include <math.h>
#include <strings.h>

#include "base/macro.h"

static const int64_t USAGE_NUMBER_MAX = (int64_t)1 << 53; /* what ECMAScript counts without gaps */

/* ---- counts ---------------------------------------------------------------------------------- */

int64_t usage_number(const Json *object, const char *const *names) {
        double value;

        for (; *names; names++)
                if (json_double(json_get(object, *names), &value) && value >= 0 &&
                    value < (double)USAGE_NUMBER_MAX)
                        return (int64_t)value;
        return USAGE_UNSAID;
}

/* Which names stand for what; each list ends with NULL. */
typedef struct UsageNames {
        const char *input[3], *cached[2], *output[3], *reasoning[2], *total[2];
} UsageNames;

static const UsageNames usage_names = {.input = {"input_tokens", "prompt_tokens"},
                                       .cached = {"cached_input_tokens"},
                                       .output = {"output_tokens", "completion_tokens"},
                                       .reasoning = {"reasoning_output_tokens"},
                                       .total = {"total_tokens"}};
static const UsageNames usage_thread_names = {.input = {"inputTokens"},
                                              .cached = {"cachedInputTokens"},
                                              .output = {"outputTokens"},
                                              .reasoning = {"reasoningOutputTokens"},
                                              .total = {"totalTokens"}};

static bool usage_count_by(const Json *object, const UsageNames *names, UsageCount *ret) {
        *ret = (UsageCount){.n_input = usage_number(object, names->input),
                            .n_cached = usage_number(object, names->cached),
                            .n_output = usage_number(object, names->output),
                            .n_reasoning = usage_number(object, names->reasoning),
                            .n_total = usage_number(object, names->total)};
        if (ret->n_total == USAGE_UNSAID) {
                ret->n_total = MAX(ret->n_input, 0) + MAX(ret->n_cached, 0) + MAX(ret->n_output, 0) +
                               MAX(ret->n_reasoning, 0);
                return ret->n_total > 0;
        }
        return true;
}

bool usage_count_of(const Json *object, UsageCount *ret) {
        return usage_count_by(object, &usage_names, ret);
}

bool usage_count_of_thread(const Json *token_usage, UsageCount *ret) {
        static const char *const parts[] = {"last", "total"};

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                const Json *part = json_get(token_usage, parts[i]);

                if (json_is(part, JSON_OBJECT))
                        return usage_count_by(part, &usage_thread_names, ret);
        }
        return usage_count_by(token_usage, &usage_thread_names, ret);
}

static bool usage_is_one_of(Str name, const char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (str_is(name, names[i]))
                        return true;
        return false;
}

/* Whether an object counts by what it has, wherever it stands. */
static bool usage_looks_so(const Json *object) {
        static const char *const marks[] = {"total_tokens", "input_tokens", "output_tokens", "prompt_tokens",
                                            "completion_tokens"};

        json_each (member, object)
                if (usage_is_one_of(json_key(member), marks, ARRAY_SIZE(marks)))
                        return true;
        return false;
}

static void usage_try_object(const Json *object, Str member, UsageCountFn found, void *user) {
        static const char *const members[] = {"tokenUsage", "last_token_usage", "total_token_usage",
                                              "usage"};
        bool is_named = usage_is_one_of(member, members, ARRAY_SIZE(members));
        UsageCount count;

        if ((!is_named && !usage_looks_so(object)) || !usage_count_of(object, &count))
                return;
        count.from = is_named ? member : json_text_of(object, "type");
        if (count.from.n > USAGE_NAME_MAX)
                count.from = STR_NULL;
        found(user, &count);
}

static void usage_walk_counts(const Json *json, Str member, unsigned depth, UsageCountFn found, void *user) {
        bool is_object = json_is(json, JSON_OBJECT);

        if (is_object)
                usage_try_object(json, member, found, user);
        if (depth < USAGE_DEPTH_MAX)
                json_each (child, json)
                        if (child->type >= JSON_ARRAY)
                                usage_walk_counts(child, is_object ? json_key(child) : STR_NULL, depth + 1,
                                                  found, user);
}

void usage_find_counts(const Json *json, UsageCountFn found, void *user) {
        if (json)
                usage_walk_counts(json, STR_NULL, 0, found, user);
}

/* ---- signs of a compacted context ------------------------------------------------------------ */

typedef struct {
        char path[USAGE_NAME_MAX];
        UsageCycleFn found;
        void *user;
} UsageSearch;

static bool usage_path_has(Str path, const char *word) {
        return memmem(path.data, path.n, word, strlen(word)) != NULL;
}

/* "contextwindow" with any character, or none, in the middle. */
static bool usage_path_has_window(Str path) {
        static const char first[] = "context";
        const char *at;

        while ((at = memmem(path.data, path.n, first, sizeof(first) - 1))) {
                Str rest = {at + sizeof(first) - 1, path.n - (size_t)(at - path.data) - (sizeof(first) - 1)};
                int32_t code;
                size_t n = rest.n ? utf8_next(rest, &code) : 0;

                if (str_starts(rest, STR("window")) ||
                    str_starts((Str){rest.data + n, rest.n - n}, STR("window")))
                        return true;
                path = rest;
        }
        return false;
}

static bool usage_path_is_sign(Str path) {
        return usage_path_has(path, "compact") || usage_path_has(path, "cycle") ||
               usage_path_has_window(path);
}

/* In whatever case. */
static bool usage_text_has(Str text, const char *word) {
        size_t n = strlen(word);

        for (size_t i = 0; i + n <= text.n; i++)
                if (!strncasecmp(text.data + i, word, n))
                        return true;
        return false;
}

/* How often a member says that it happened; 0: it is no sign. */
static int64_t usage_times(const Json *value) {
        Str text = json_str(value);
        double number;

        if (json_double(value, &number))
                return number >= 1 && number < (double)USAGE_NUMBER_MAX ? (int64_t)number : 0;
        if (json_is(value, JSON_STRING))
                return usage_text_has(text, "compact") || usage_text_has(text, "cycled") ||
                       usage_text_has(text, "context window");
        return json_is(value, JSON_BOOL) && value->truth;
}

/* Adds a name to the path of n bytes; 0 when it has no room. */
static size_t usage_path_add(UsageSearch *search, size_t n, Str name) {
        if (n + (n > 0) + name.n > sizeof(search->path))
                return 0;
        if (n)
                search->path[n++] = '.';
        for (size_t i = 0; i < name.n; i++)
                search->path[n++] = (char)(name.data[i] >= 'A' && name.data[i] <= 'Z' ? name.data[i] | 0x20
                                                                                      : name.data[i]);
        return n;
}

/* As deep as the parser lets a tree be. */
static void usage_walk_cycles(UsageSearch *search, const Json *json, size_t n_path) {
        bool is_object = json_is(json, JSON_OBJECT);

        json_each (child, json) {
                size_t n = is_object ? usage_path_add(search, n_path, json_key(child)) : n_path;
                UsageCycle cycle = {.path = {search->path, n}};

                if (!n)
                        continue;
                if (child->type >= JSON_ARRAY)
                        usage_walk_cycles(search, child, n);
                else if (is_object && usage_path_is_sign(cycle.path) && (cycle.n = usage_times(child)))
                        search->found(search->user, &cycle);
        }
}

void usage_find_cycles(const Json *json, UsageCycleFn found, void *user) {
        UsageSearch search = {.found = found, .user = user};

        if (json_is(json, JSON_OBJECT))
                usage_walk_cycles(&search, json, 0);
}

/* ---- estimates ------------------------------------------------------------------------------- */

static size_t usage_skip_ascii(const char *data, size_t n) {
        size_t i = 0;

        for (uint64_t word; n - i >= sizeof(word); i += sizeof(word)) {
                memcpy(&word, data + i, sizeof(word));
                if (word & 0x8080808080808080u)
                        break;
        }
        while (i < n && (unsigned char)data[i] < 0x80)
                i++;
        return i;
}

/* A byte that is not ASCII, or that follows one: the units that are complete with it. */
static int usage_units_byte(Utf8Open *open, char c) {
        int n = 0;

        if (open->n_more) {
                if (utf8_more(open, c))
                        return open->n_more ? 0 : open->n < UTF8_MAX ? 1 : 2; /* a pair of surrogates */
                n = 1; /* U+FFFD for what has no end; the byte begins anew */
                open->n_more = 0;
        }
        if ((unsigned char)c < 0x80 || !utf8_begin(open, c))
                return n + 1;
        return n;
}

void usage_units_add(UsageUnits *units, Str piece) {
        size_t i = 0;

        while (i < piece.n) {
                if (!units->open.n_more) {
                        size_t n = usage_skip_ascii(piece.data + i, piece.n - i);

                        units->n += (int64_t)n;
                        i += n;
                        if (i == piece.n)
                                return;
                }
                units->n += usage_units_byte(&units->open, piece.data[i++]);
        }
}

int64_t usage_units_total(const UsageUnits *units) {
        return units->n + (units->open.n_more > 0);
}

void usage_estimate(int64_t n_input_units, int64_t n_output_units, UsageCount *ret) {
        int64_t n_input = (n_input_units + USAGE_UNITS_TOKEN - 1) / USAGE_UNITS_TOKEN;
        int64_t n_output = (n_output_units + USAGE_UNITS_TOKEN - 1) / USAGE_UNITS_TOKEN;

        *ret = (UsageCount){.n_input = n_input,
                            .n_cached = USAGE_UNSAID,
                            .n_output = n_output,
                            .n_reasoning = USAGE_UNSAID,
                            .n_total = n_input + n_output};
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* False: it is no card. */
static bool usage_rates_of(const Json *cards, Str name, UsageRates *ret) {
        const Json *card = json_get_str(cards, name);

        *ret = (UsageRates){.name = name};
        if (!json_double(json_get(card, "input"), &ret->input) ||
            !json_double(json_get(card, "output"), &ret->output))
                return false;
        if (!json_double(json_get(card, "cached_input"), &ret->cached))
                ret->cached = ret->input;
        if (!json_double(json_get(card, "reasoning_output"), &ret->reasoning))
                ret->reasoning = ret->output;
        return true;
}

bool usage_rates_find(const Json *cards, Str provider, UsageRates *ret) {
        static const char *const others[][2] = {{"codex_app_server", "codex"}, {"claude_code", "claude"}};

        if (usage_rates_of(cards, provider, ret))
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (str_is(provider, others[i][0]) && usage_rates_of(cards, str_from(others[i][1]), ret))
                        return true;
        return usage_rates_of(cards, STR("default"), ret);
}

double usage_round(double usd) {
        return fabs(usd) < 1e6 ? round(usd * 1e9) / 1e9 : usd; /* above, a double has no ninth decimal */
}

static double usage_price(int64_t n_tokens, double rate) {
        return n_tokens > 0 ? (double)n_tokens / 1000 * rate : 0;
}

double usage_cost(const UsageCount *count, const UsageRates *rates) {
        int64_t half = count->n_total / 2;

        if (count->n_input == USAGE_UNSAID && count->n_cached == USAGE_UNSAID &&
            count->n_output == USAGE_UNSAID && count->n_reasoning == USAGE_UNSAID)
                return usage_round(usage_price(half, rates->input) +
                                   usage_price(count->n_total - half, rates->output));
        return usage_round(usage_price(count->n_input, rates->input) +
                           usage_price(count->n_cached, rates->cached) +
                           usage_price(count->n_output, rates->output) +
                           usage_price(count->n_reasoning, rates->reasoning));
}
