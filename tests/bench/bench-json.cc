/* SPDX-License-Identifier: MIT */
/*
 * JSON: parse and serialise, ours against simdjson's DOM (parser reused) and minify.
 *
 * Rounds alternate, each side's best round counts. The last lines are for machines; the exit code says
 * whether all ratios stay below their bars. An argument sets the number of rounds.
 */
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
#include "base/json/json.h"
#include "base/json/json-writer.h"
}

namespace {

struct Times {
        double parse = 1e18, serialise = 1e18, sum = 1e18;

        void keep(double p, double s) {
                parse = std::min(parse, p);
                serialise = std::min(serialise, s);
                sum = std::min(sum, p + s);
        }
};

double now_ns() {
        return (double)std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::steady_clock::now().time_since_epoch())
                .count();
}

[[noreturn]] void die(const char *what) {
        fprintf(stderr, "bench-json: %s\n", what);
        exit(2);
}

std::string request(bool spaced) {
        std::string s =
                R"({"jsonrpc":"2.0","id":4711,"method":"message.send","params":{"group":"g-7f3a2c","by":"user",)"
                R"("to":["@all","peer-2"],"text":"Please look at failing test wire.c","priority":2,)"
                R"("reply":true,"ref":null}})";
        if (!spaced)
                return s;
        std::string t;
        bool quoted = false;
        for (char c : s) {
                t += c;
                quoted ^= c == '"';
                if (!quoted && (c == ',' || c == ':'))
                        t += ' ';
        }
        return t;
}

/* A ledger event: a text with escapes and non-ASCII, ids, numbers, nested objects. */
std::string event(int i, size_t n_text) {
        static const char *const words[] = {"the build",  "falls",           "Gr\u00fc\u00dfe",
                                            "over",       "\\n  at main.c:", "\u65e5\u672c\u8a9e",
                                            "with",       "\\\"quoted\\\"",  "caf\u00e9",
                                            "path\\\\to", "\U0001f680",      "and more plain words of text"};
        std::string n = std::to_string(100000 + i * 37), text;
        unsigned seed = (unsigned)i * 2654435761u + 1;

        while (text.size() < n_text) {
                seed = seed * 1664525u + 1013904223u;
                text += words[seed >> 16 & 7 ? (seed >> 20) % 12 : 11];
                text += ' ';
        }
        return R"({"v":1,"id":"01HZX)" + n + R"(KQ3","ts":"2024-05-17T09:)" + std::to_string(10 + i % 50) +
               R"(:03.)" + n +
               R"(Z","kind":"chat.message","group_id":"g_5b8d1f0c","scope_key":"s_main","by":"agent-)" +
               std::to_string(i % 5) + R"(","seq":)" + n + R"(,"data":{"text":")" + text +
               R"(","format":"markdown","to":["user","@foreman"],"reply_to":null,"priority":"normal",)"
               R"("attention":false,"cost":0.00)" +
               std::to_string(1 + i % 9) + R"(5,"refs":[{"kind":"file","path":"src/a)" + std::to_string(i) +
               R"(.c","line":)" + std::to_string(i * 13) + R"(}]}})";
}

std::string result_16k() {
        std::string s = R"({"jsonrpc":"2.0","id":9,"result":{"ok":true,"events":[)";
        for (int i = 0; i < 28; i++)
                s += (i ? "," : "") + event(i, 231);
        return s + R"(],"cursor":103999,"has_more":false}})";
}

struct Ours {
        Arena arena = {};
        Buf out = {};
        Json *tree = nullptr;

        void parse(const std::string &s) {
                arena_reset(&arena);
                if (json_parse(&arena, s.data(), s.size(), nullptr, &tree, nullptr))
                        die("our parser refuses the message");
        }
        size_t serialise() {
                out.n = 0;
                if (json_write(&out, tree))
                        die("our writer fails");
                return out.n;
        }
        ~Ours() {
                arena_deinit(&arena);
                buf_deinit(&out);
        }
};

struct Theirs {
        simdjson::dom::parser parser;
        simdjson::dom::element tree;

        void parse(const simdjson::padded_string &s) {
                if (parser.parse(s).get(tree))
                        die("simdjson refuses the message");
        }
        size_t serialise() {
                return simdjson::minify(tree).size();
        }
};

template <typename Side, typename Message>
void measure(Side &side, const Message &message, int n, Times *times) {
        volatile size_t sink = 0;
        double t0 = now_ns();
        for (int i = 0; i < n; i++)
                side.parse(message);
        double t1 = now_ns();
        for (int i = 0; i < n; i++)
                sink = sink + side.serialise();
        double t2 = now_ns();
        times->keep((t1 - t0) / n, (t2 - t1) / n);
}

double compare(const char *name, const std::string &s, int n_rounds) {
        simdjson::padded_string padded(s);
        Ours ours;
        Theirs theirs;
        Times a, b;
        int n = std::max(20, (int)(2000000 / s.size()));

        ours.parse(s);
        theirs.parse(padded);
        if (simdjson::minify(theirs.tree).size() != ours.serialise())
                printf("# %s: the outputs differ in length\n", name);
        for (int i = 0; i < n_rounds; i++) {
                measure(ours, s, n, &a);
                measure(theirs, padded, n, &b);
        }
        printf("%-12s %6zu B  ours %8.0f + %8.0f = %8.0f ns   simdjson %8.0f + %8.0f = %8.0f ns   %.2f\n",
               name, s.size(), a.parse, a.serialise, a.sum, b.parse, b.serialise, b.sum, a.sum / b.sum);
        return a.sum / b.sum;
}

} // namespace

int main(int argc, char **argv) {
        int n_rounds = argc > 1 ? atoi(argv[1]) : 15;

        printf("%-12s %8s  best of %d rounds, parse + serialise = sum; ratio of the sums (%s)\n", "message",
               "size", n_rounds, simdjson::get_active_implementation()->name().c_str());
        double small = compare("request", request(false), n_rounds);
        compare("spaced", request(true), n_rounds);
        compare("event", event(3, 580), n_rounds);
        double large = compare("result", result_16k(), n_rounds);
        printf("json-197 ratio %.2f bar 0.70\n", small);
        printf("json-16k ratio %.2f bar 1.20\n", large);
        return small <= 0.70 && large <= 1.20 ? 0 : 1;
}
