/* SPDX-License-Identifier: MIT */
/* An agent that says ok and ends: what is measured is everything around it. */
#include <unistd.h>

int main(void) {
        return write(1, "ok", 2) == 2 ? 0 : 1;
}
