/* SPDX-License-Identifier: MIT */
/*
 * What the YAML reader takes, the writer writes so that the reader gives the same tree again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/json/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        YamlFault fault = {0};
        Json *tree, *back;
        int r = yaml_parse(&arena, (Str){(const char *)data, n}, &tree, &fault);

        if (r < 0)
                abort();
        if (r > 0) {
                if (!fault.line || !fault.column || !fault.what[0])
                        abort();
                return 0;
        }
        if (yaml_write(&out, tree))
                abort();
        r = yaml_parse(&arena, buf_str(&out), &back, &fault);
        if (r || !json_equal(tree, back)) {
                fprintf(stderr, "%d %zu:%zu %s\n" STR_FMT "\n", r, fault.line, fault.column, fault.what,
                        STR_ARG(buf_str(&out)));
                abort();
        }
        return 0;
}
