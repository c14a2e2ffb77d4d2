/* SPDX-License-Identifier: MIT */
/*
 * A template that is taken can be checked, shown and exported, and what is exported is the same template.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"
#include "collab/template/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void write_both(const Template *template, const Template *other, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_array(&w);
        template_write(template, &w);
        template_write_diff(template, other, &w);
        jw_end_array(&w);
        if (w.failed)
                abort();
}

static void check_json(Arena *arena, const Buf *text) {
        Json *json;

        if (json_parse(arena, text->data, text->n, NULL, &json, NULL))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL, yaml = BUF_NULL;
        char why[TEMPLATE_WHY_MAX] = "";
        Template template, back;
        int r;

        r = template_parse(&template, &arena, (Str){(const char *)data, n}, why);
        if (r < 0 || (r > 0 && !why[0]))
                abort();
        if (r)
                return 0;
        (void)template_check(&template, why);
        if (template_export(&template, &arena, &yaml))
                abort();
        if (template_parse(&back, &arena, buf_str(&yaml), why) || back.n_actors != template.n_actors ||
            !json_equal(back.settings, template.settings))
                abort();
        write_both(&template, &back, &out);
        check_json(&arena, &out);
        return 0;
}
