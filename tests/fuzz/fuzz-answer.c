/* SPDX-License-Identifier: MIT */
/*
 * What a worker has printed, by a program of the family that the first byte names: whatever it is, there is either a result that
 * has its shape or a reason why not.
 */
#include "base/macro.h"
#include "company/job/answer.h"
#include "core/shape.h"
#include "fuzz.h"
#include "gen/shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        AnswerOf of = {.job_id = STR("job_1"), .run_id = STR("run_1"), .is_heartbeat = n && data[0] & 4};
        Str output = n ? (Str){(const char *)data + 1, n - 1} : STR_NULL, text;
        Answer answer;

        text = answer_text(&arena, (DriverFamily)(n ? data[0] % 3 : 0), STR("stdout.txt"), output);
        FUZZ_CHECK(text.data);
        FUZZ_CHECK(answer_find(&arena, &of, text, output, &answer) == 0);
        FUZZ_CHECK(answer.value ? !answer.code : answer.code && answer.message.data);
        if (answer.value)
                FUZZ_CHECK(
                        shape_fits(of.is_heartbeat ? &shape_heartbeat_report : &shape_result, answer.value));
        return 0;
}
