/* SPDX-License-Identifier: MIT */
/*
 * The SHA-256 chain (state/ledger/chain): one record per line of the ledger, "end hash\n" with the offset
 * behind the line in 16 hex digits and the hash of the previous hash (64 hex digits; zeros before the first)
 * and the line with its newline. It is extended after the lines are kept and is not synced: after a crash it
 * is behind and catches up. On workers, under the lock.
 */
#include "core/ledger/ledger-chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { FLUSH = 1024 * 1024 };

typedef struct Chain {
        int fd;
        uint64_t n; /* records in the file */
        uint64_t end;
        char hash[SHA256_HEX_MAX];
        Buf line, out;
} Chain;

static bool parse_record(const char *record, uint64_t *ret_end, char hash[SHA256_HEX_MAX]) {
        char text[CHAIN_RECORD + 1], *end;

        memcpy(text, record, CHAIN_RECORD);
        text[CHAIN_RECORD] = 0;
        *ret_end = strtoull(text, &end, 16);
        if (end != text + 16 || *end != ' ' || text[CHAIN_RECORD - 1] != '\n')
                return false;
        memcpy(hash, text + 17, SHA256_HEX_MAX - 1);
        hash[SHA256_HEX_MAX - 1] = 0;
        return strspn(hash, "0123456789abcdef") == SHA256_HEX_MAX - 1;
}

static void start_over(Chain *chain) {
        chain->n = chain->end = 0;
        memset(chain->hash, '0', SHA256_HEX_MAX - 1);
        chain->hash[SHA256_HEX_MAX - 1] = 0;
}

static int chain_open(Chain *chain, const char *path, int flags) {
        char record[CHAIN_RECORD];
        struct stat st;

        chain->fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (chain->fd < 0)
                return error_origin(-errno);
        if (fstat(chain->fd, &st) < 0)
                return error_origin(-errno);
        start_over(chain);
        chain->n = (uint64_t)st.st_size / CHAIN_RECORD;
        if (chain->n == 0)
                return 0;
        if (pread(chain->fd, record, CHAIN_RECORD, (off_t)((chain->n - 1) * CHAIN_RECORD)) != CHAIN_RECORD)
                return error_origin(-EIO);
        if (!parse_record(record, &chain->end, chain->hash))
                start_over(chain);
        return 0;
}

static void chain_deinit(Chain *chain) {
        chain->fd = close_fd(chain->fd);
        buf_deinit(&chain->line);
        buf_deinit(&chain->out);
}

static int ledger_chain_flush(Chain *chain) {
        uint64_t at = chain->n * CHAIN_RECORD;
        int r = file_write_at(chain->fd, buf_str(&chain->out), at);

        if (r)
                return error_trace(r);
        at += chain->out.n;
        chain->n += chain->out.n / CHAIN_RECORD;
        chain->out.n = 0;
        return ftruncate(chain->fd, (off_t)at) < 0 ? error_origin(-errno)
                                                   : 0; /* half a record of a crash, an older chain */
}

static int hash_line(Chain *chain, Str piece, bool is_end) {
        int r = 0;

        if (chain->line.n == 0)
                r = buf_append(&chain->line, chain->hash, SHA256_HEX_MAX - 1);
        r = r ? r : buf_append_str(&chain->line, piece);
        if (r || !is_end)
                return error_trace(r);
        r = sha256_hex(buf_str(&chain->line), chain->hash);
        chain->end += chain->line.n - (SHA256_HEX_MAX - 1);
        chain->line.n = 0;
        return error_trace(r);
}

static int extend_line(void *user, Str piece, uint64_t offset _unused_, bool is_end) {
        Chain *chain = user;
        int r = hash_line(chain, piece, is_end);

        if (r == 0 && is_end)
                r = buf_printf(&chain->out, "%016llx %s\n", (unsigned long long)chain->end, chain->hash);
        return error_trace(r == 0 && chain->out.n > FLUSH ? ledger_chain_flush(chain) : r);
}

int chain_extend(const char *path, int ledger_fd, uint64_t end, bool is_new) {
        _cleanup_(chain_deinit) Chain chain = {.fd = -1};
        _cleanup_(scan_deinit) Scan scan = {
                .fd = ledger_fd, .end = end, .line = extend_line, .wants_holes = true, .user = &chain};
        int r = chain_open(&chain, path, O_RDWR | O_CREAT);

        if (r)
                return error_trace(r);
        if (is_new || chain.end > end)
                start_over(&chain);
        scan.at = chain.end;
        r = scan_run(&scan);
        return error_trace(r ? r : ledger_chain_flush(&chain));
}

/* Verification: the records as they come, against the lines as they come. */
typedef struct Check {
        Chain chain;
        FILE *records;
        ChainReport *report;
} Check;

static int check_line(void *user, Str piece, uint64_t offset _unused_, bool is_end) {
        Check *check = user;
        char record[CHAIN_RECORD], hash[SHA256_HEX_MAX];
        uint64_t end, start = check->chain.end;
        int r = hash_line(&check->chain, piece, is_end);

        if (r || !is_end || check->report->is_broken)
                return error_trace(r);
        if (fread(record, CHAIN_RECORD, 1, check->records) != 1) {
                check->report->n_behind++;
                return 0;
        }
        check->report->n_records++;
        if (!parse_record(record, &end, hash) || end != check->chain.end ||
            strcmp(hash, check->chain.hash) != 0) {
                check->report->is_broken = true;
                check->report->broken_at = start;
        }
        return 0;
}

int chain_verify(const char *path, int ledger_fd, uint64_t end, ChainReport *report) {
        Check check = {.chain.fd = -1, .report = report};
        _cleanup_(scan_deinit) Scan scan = {
                .fd = ledger_fd, .end = end, .line = check_line, .wants_holes = true, .user = &check};
        int r;

        *report = (ChainReport){0};
        check.records = fopen(path, "re");
        if (!check.records)
                return errno == ENOENT ? 0 : error_origin(-errno);
        report->is_present = true;
        start_over(&check.chain);
        r = scan_run(&scan);
        if (r == 0 && !report->is_broken && fgetc(check.records) != EOF) {
                report->is_broken = true; /* more records than lines */
                report->broken_at = scan.at;
        }
        fclose(check.records);
        chain_deinit(&check.chain);
        return error_trace(r);
}
