/* SPDX-License-Identifier: MIT */
#include "collab/stamp.h"

#include "base/time.h"

/* The RFC 3339 form without its marks. */
void stamp_format(int64_t us, char out[STAMP_MAX]) {
        char text[TIME_TEXT_MAX], *to = out;

        time_format_s(us, text);
        for (const char *at = text; *at && to < out + STAMP_MAX - 1; at++)
                if (*at != '-' && *at != ':')
                        *to++ = *at;
        *to = 0;
}
