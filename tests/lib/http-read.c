/* SPDX-License-Identifier: MIT */
/*
 * Reads HTTP requests the way the daemon does, for a test that holds another parser against it (tests/lib/http_oracle.py).
 *
 * Input: records of 4 bytes length, big endian, and that many bytes of one connection. Output: one line for each:
 *
 *   refused STATUS
 *   partial
 *   taken METHOD TARGET N_BODY BODY [NAME=VALUE]...      everything but the number in hex, - if empty; BODY is ? if not all of it is there
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "wire/framing.h"
#include "wire/http-head.h"

static void print_hex(Str bytes) {
        if (!bytes.n)
                putchar('-');
        for (size_t i = 0; i < bytes.n; i++)
                printf("%02x", (unsigned char)bytes.data[i]);
}

static void print_body(Str rest, uint64_t n_body) {
        Framing count = {.kind = FRAMING_COUNT, .n_max = n_body};
        size_t n_scanned = 0, n;
        Str body = STR_NULL;

        if (n_body && framing_next(&count, rest, &n_scanned, &body, &n))
                putchar('?');
        else
                print_hex(body);
}

static void read_request(Str bytes) {
        Framing framing = {.kind = FRAMING_HEAD, .n_max = HTTP_HEAD_MAX};
        size_t n_scanned = 0, n = 0;
        Str frame = STR_NULL;
        HttpHead head;
        int r = framing_next(&framing, bytes, &n_scanned, &frame, &n);

        if (r == FRAMING_E_PARTIAL) {
                puts("partial");
                return;
        }
        if (r) {
                printf("refused %u\n", r == FRAMING_E_TOO_LARGE ? 431u : 400u);
                return;
        }
        r = http_head_parse(frame, &head);
        if (r) {
                printf("refused %u\n", http_head_status(r));
                return;
        }
        printf("taken ");
        print_hex(head.method);
        putchar(' ');
        print_hex(head.target);
        printf(" %llu ", (unsigned long long)head.n_body);
        print_body((Str){bytes.data + n, bytes.n - n}, head.n_body);
        for (size_t i = 0; i < head.n_fields; i++) {
                putchar(' ');
                print_hex(head.fields[i].name);
                putchar('=');
                print_hex(head.fields[i].value);
        }
        putchar('\n');
}

int main(void) {
        unsigned char prefix[4];

        while (fread(prefix, 1, sizeof(prefix), stdin) == sizeof(prefix)) {
                size_t n = (size_t)prefix[0] << 24 | (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 |
                           prefix[3];
                char *block = malloc(n ? n : 1);

                if (!block || fread(block, 1, n, stdin) != n)
                        return EXIT_FAILURE;
                read_request((Str){block, n});
                free(block);
        }
        return EXIT_SUCCESS;
}
