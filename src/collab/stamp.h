#pragma once
/* SPDX-License-Identifier: MIT */
/* The time as it stands in names of files: YYYYMMDDTHHMMSSZ. */
#include <stdint.h>

enum { STAMP_MAX = 20 };

void stamp_format(int64_t us, char out[STAMP_MAX]);
