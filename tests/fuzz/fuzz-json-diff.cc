/* SPDX-License-Identifier: MIT */
/*
 * Our reader against simdjson's DOM: the same verdict and the same tree. Known differences, all on purpose:
 *   - we refuse a member name that is there already, simdjson keeps both;
 *   - we keep any number as text, simdjson refuses what fits neither 64 bits nor a finite double;
 *   - we stop at 128 levels, simdjson at 1024.
 */
#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
#include "base/json/json.h"
}

using simdjson::dom::element;
using simdjson::dom::element_type;

#define CHECK(x)                                                                                            \
        do {                                                                                                \
                if (!(x))                                                                                   \
                        abort();                                                                            \
        } while (0)

namespace {

void check_number(const Json *ours, element theirs) {
        int64_t i;
        uint64_t u;
        double d;

        CHECK(ours->type == JSON_NUMBER);
        switch (theirs.type()) {
        case element_type::INT64: CHECK(json_int64(ours, &i) && i == int64_t(theirs)); break;
        case element_type::UINT64: CHECK(json_uint64(ours, &u) && u == uint64_t(theirs)); break;
        default:
                CHECK(json_double(ours, &d) && d == double(theirs) &&
                      std::signbit(d) == std::signbit(double(theirs)));
        }
}

/* Recursion is fine here: our reader has bounded the depth. */
void check_same(const Json *ours, element theirs) {
        switch (theirs.type()) {
        case element_type::NULL_VALUE: CHECK(ours->type == JSON_NULL); break;
        case element_type::BOOL: CHECK(ours->type == JSON_BOOL && ours->truth == bool(theirs)); break;
        case element_type::STRING: {
                std::string_view s = theirs;
                CHECK(ours->type == JSON_STRING && std::string_view(ours->text, ours->n) == s);
                break;
        }
        case element_type::ARRAY: {
                const Json *item = json_first(ours);
                size_t n = 0;
                CHECK(ours->type == JSON_ARRAY);
                for (element e : simdjson::dom::array(theirs)) {
                        CHECK(item);
                        check_same(item, e);
                        item = item->next;
                        n++;
                }
                CHECK(!item && n == json_count(ours));
                break;
        }
        case element_type::OBJECT: {
                const Json *item = json_first(ours);
                size_t n = 0;
                CHECK(ours->type == JSON_OBJECT);
                for (auto field : simdjson::dom::object(theirs)) {
                        CHECK(item && std::string_view(item->key, item->key_n) == field.key);
                        check_same(item, field.value);
                        item = item->next;
                        n++;
                }
                CHECK(!item && n == json_count(ours));
                break;
        }
        default: check_number(ours, theirs);
        }
}

/* One that simdjson has no type for: an integer beyond 64 bits, or a double beyond the largest. */
bool has_number_out_of_range(const Json *json) {
        int64_t i;
        uint64_t u;
        double d;

        if (json->type == JSON_NUMBER) {
                if (std::string_view(json->text, json->n).find_first_of(".eE") == std::string_view::npos)
                        return !json_int64(json, &i) && !json_uint64(json, &u);
                return !json_double(json, &d);
        }
        json_each (item, json) {
                if (has_number_out_of_range(item))
                        return true;
        }
        return false;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static simdjson::dom::parser parser;
        simdjson::padded_string padded(reinterpret_cast<const char *>(data), n);
        element theirs;
        simdjson::error_code error = parser.parse(padded).get(theirs);
        Arena arena = {};
        Json *ours = nullptr;
        int r = json_parse(&arena, reinterpret_cast<const char *>(data), n, nullptr, &ours, nullptr);

        CHECK(r >= 0);
        if (r == 0 && !error)
                check_same(ours, theirs);
        else if (r == 0)
                CHECK(error == simdjson::NUMBER_ERROR && has_number_out_of_range(ours));
        else if (!error)
                CHECK(r == JSON_E_DUPLICATE || r == JSON_E_DEPTH);
        arena_deinit(&arena);
        return 0;
}
