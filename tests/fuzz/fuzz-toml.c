/* SPDX-License-Identifier: MIT */
/*
 * The TOML reader takes or refuses any text. What it takes can be written as JSON and read back.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/json/json-writer.h"
#include "base/macro.h"
#include "base/json/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        TomlFault fault = {0};
        Json *tree, *back;
        int r = toml_parse_text(&arena, (Str){(const char *)data, n}, &tree, &fault);

        if (r < 0)
                abort();
        if (r > 0) {
                if (!fault.what[0])
                        abort();
                return 0;
        }
        if (json_write(&out, tree) || json_parse(&arena, out.data, out.n, NULL, &back, NULL))
                abort();
        if (!json_equal(tree, back))
                abort();
        return 0;
}
