/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at random instants. A child writes through the ledger with many changes in flight, another one
 * appends under the lock as other programs do; both tell on a pipe what was acknowledged. After the kill, in
 * some rounds, what was not synced is dropped or turned into zeros, as a power loss may do. Then everything
 * acknowledged must be there once and in order, and a file that changes with a line must be what the last
 * such line says. LEDGER_CRASH_ROUNDS says how often.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/ledger/ledger-journal.h"
#include "core/ledger/test-ledger-fixture.h"

enum {
        ROUNDS = 25,
        INSTANT_US = 150 * 1000,
        FLIGHT = 32,
        LINES_MAX = 2 * 1000 * 1000,
        DOC_EVERY = 7,
        LINES_ENOUGH = 50000
};

/* What a child tells: number of the line, and where the file ends that is kept by then. */
typedef struct Ack {
        uint32_t number, who;
        uint64_t end;
} Ack;

static const char *dir;
static unsigned n_put_back; /* rounds that need the journal */
static uint32_t first_number;

static void tell(const Ack *ack) {
        if (write(STDOUT_FILENO, ack, sizeof(*ack)) != sizeof(*ack))
                _exit(1);
}

typedef struct Sender {
        LedgerChange change;
        Ledger *ledger;
        uint32_t number;
} Sender;

static uint32_t next_number;

/* A line with a file; there are none for long stretches, because a commit without one takes another way. */
static bool is_doc(uint32_t number) {
        return number % DOC_EVERY == 0 && number / 64 % 8 == 0;
}

static void send_one(Sender *sender);

static void on_sent(LedgerChange *change, int r) {
        Sender *sender = container_of(change, Sender, change);

        if (r)
                _exit(3);
        tell(&(Ack){.number = sender->number, .who = 'w', .end = ledger_n_bytes(sender->ledger)});
        send_one(sender);
}

static void send_one(Sender *sender) {
        char text[256], doc[128], path[256];

        sender->number = next_number++;
        snprintf(text, sizeof(text),
                 "{\"id\":\"w%u\",\"ts\":%u,\"kind\":\"%s\",\"to\":[\"a\"],\"pad\":\"%0*d\"}",
                 sender->number, sender->number, is_doc(sender->number) ? "doc" : "chat",
                 (int)(sender->number % 50) + 1, 0);
        ledger_change_init(&sender->change, sender->ledger, on_sent);
        if (ledger_change_line(&sender->change, str_from(text)))
                _exit(4);
        snprintf(doc, sizeof(doc), "%u", sender->number);
        snprintf(path, sizeof(path), "%s/doc", dir);
        if (is_doc(sender->number) && ledger_change_file(&sender->change, path, str_from(doc), NULL))
                _exit(4);
        if (ledger_change_commit(&sender->change))
                _exit(5);
}

static Sender senders[FLIGHT];

static void on_opened(void *user, int r) {
        if (r)
                _exit(6);
        for (size_t i = 0; i < FLIGHT; i++) {
                senders[i].ledger = *(Ledger **)user;
                send_one(&senders[i]);
        }
}

static int run_writer(void) {
        static Ledger *ledger;
        char path[256], state[256];
        LedgerOptions options = {
                .path = path, .state_path = state, .classify = test_classify, .user = &ledger};

        next_number = first_number;
        snprintf(path, sizeof(path), "%s/ledger.jsonl", dir);
        snprintf(state, sizeof(state), "%s/state/ledger", dir);
        if (loop_new(&options.loop, NULL) || ledger_open(&ledger, &options, on_opened))
                return 1;
        return loop_run(options.loop);
}

/* As the clients of the original do it. */
static int run_foreign(void) {
        char path[256], lock[256], text[128];

        snprintf(path, sizeof(path), "%s/ledger.jsonl", dir);
        snprintf(lock, sizeof(lock), "%s/state/ledger/ledger.lock", dir);
        for (uint32_t number = first_number;; number++) {
                int lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600), fd;
                int n = snprintf(text, sizeof(text), "{\"id\":\"f%u\",\"ts\":%u,\"kind\":\"chat\"}\n",
                                 number, number);

                if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
                        return 1;
                fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
                if (fd < 0 || write(fd, text, (size_t)n) != n || fdatasync(fd) < 0)
                        return 1;
                tell(&(Ack){.number = number, .who = 'f', .end = (uint64_t)lseek(fd, 0, SEEK_END)});
                close(fd);
                close(lock_fd);
                usleep(300);
        }
}

static pid_t start(const char *what, uint32_t number, int out) {
        char text[16];
        pid_t pid;

        snprintf(text, sizeof(text), "%u", number);
        pid = fork();
        if (pid == 0) {
                dup2(out, STDOUT_FILENO);
                execl("/proc/self/exe", "test-ledger-crash", what, dir, text, (char *)NULL);
                _exit(127);
        }
        assert_true(pid > 0);
        return pid;
}

static void end(pid_t pid) {
        int status;

        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status)); /* it did not fail before */
}

typedef struct Seen {
        uint32_t last_acked[2]; /* of 'w' and 'f' */
        bool has_acked[2];
        uint64_t end, foreign_end;
} Seen;

/* All that the children told before they died. */
static void read_acks(int fd, Seen *seen) {
        Ack ack;
        ssize_t n;

        while ((n = read(fd, &ack, sizeof(ack))) == sizeof(ack)) {
                int who = ack.who == 'f';

                assert_true(!seen->has_acked[who] || ack.number == seen->last_acked[who] + 1); /* in order */
                seen->has_acked[who] = true;
                seen->last_acked[who] = ack.number;
                seen->end = MAX(seen->end, ack.end);
                if (who)
                        seen->foreign_end = ack.end;
        }
}

/* A file is put in place after its line was synced, acknowledged or not: up to there nothing can be lost. */
static uint64_t synced_with_doc(Fixture *f) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char path[128], doc[64], id[96];
        const char *line;

        snprintf(path, sizeof(path), "%s/doc", f->dir);
        if (access(path, F_OK) < 0)
                return 0;
        file_get(path, doc, sizeof(doc));
        snprintf(id, sizeof(id), "\"id\":\"w%s\"", doc);
        assert_int_equal(file_read(f->path, 1 << 30, &text), 0);
        line = strstr(buf_cstr(&text), id);
        assert_non_null(line);
        return (uint64_t)(line - text.data) + strcspn(line, "\n") + 1;
}

/* What a power loss may do to bytes that were not synced. */
static void lose_pages(const char *path, uint64_t n_synced, uint32_t *seed) {
        struct stat st;
        uint64_t keep;

        assert_int_equal(stat(path, &st), 0);
        if ((uint64_t)st.st_size <= n_synced)
                return;
        keep = n_synced + next_random(seed) % ((uint64_t)st.st_size - n_synced);
        assert_int_equal(truncate(path, (off_t)keep), 0);
        if (next_random(seed) % 2)
                assert_int_equal(truncate(path, st.st_size), 0); /* zeros where the pages were */
}

/* A record that is on its way may come to the disk in part. */
static void tear_records(char *bytes, const JournalHead *head, uint64_t end, uint32_t *seed) {
        size_t at = sizeof(*head);
        JournalMark mark;

        for (;; at += sizeof(mark) + journal_padded(mark.n)) {
                if (at + sizeof(mark) > LEDGER_JOURNAL_SIZE)
                        return;
                memcpy(&mark, bytes + at, sizeof(mark));
                if (mark.epoch != head->epoch || mark.n > LEDGER_JOURNAL_COMMIT_MAX)
                        return;
                if (mark.tag >= end && next_random(seed) % 2)
                        bytes[at + sizeof(mark) + next_random(seed) % mark.n] ^= 1;
        }
}

/* How much the file itself keeps: all that was answered, or what the journal does not answer for. */
static uint64_t use_journal(Fixture *f, uint64_t end, uint32_t *seed) {
        static char bytes[LEDGER_JOURNAL_SIZE + 1];
        JournalHead head;
        char path[128];

        snprintf(path, sizeof(path), "%s/journal", f->state);
        if (access(path, F_OK) < 0 || file_get(path, bytes, sizeof(bytes)) != LEDGER_JOURNAL_SIZE)
                return end;
        memcpy(&head, bytes, sizeof(head));
        if (head.epoch == 0 || head.sum != journal_head_sum(&head))
                return end;
        tear_records(bytes, &head, end, seed);
        file_put(path, bytes, LEDGER_JOURNAL_SIZE, false);
        n_put_back += head.words[LEDGER_JOURNAL_BASE] < end;
        return head.words[LEDGER_JOURNAL_BASE];
}

/* A round begins without what the last one left. */
static void remove_journal(Fixture *f) {
        char path[128];

        snprintf(path, sizeof(path), "%s/journal", f->state);
        (void)unlink(path);
}

typedef struct Check {
        uint32_t next[2];
        uint32_t last_doc;
        bool has_doc;
} Check;

static void check_line(Check *check, Str line) {
        unsigned number;
        char who;

        if (sscanf(line.data, "{\"id\":\"%c%u\"", &who, &number) != 2)
                return;
        assert_int_equal(number, check->next[who == 'f']); /* once, and in order */
        check->next[who == 'f']++;
        if (who == 'w' && is_doc(number)) {
                check->last_doc = number;
                check->has_doc = true;
        }
}

/* What the ledger serves, and the file beside it, after it was opened again. */
static void check_all(Fixture *f, Check *check) {
        char path[128], text[64];
        uint64_t n;

        assert_int_equal(fixture_open(f), 0);
        n = ledger_n_committed(f->ledger);
        for (uint64_t i = 0; i < n; i += 1000) {
                uint64_t positions[1000];
                size_t k = 0;
                Look look;

                for (; k < 1000 && i + k < n; k++)
                        positions[k] = i + k;
                look_at(&look, f, positions, k);
                for (size_t j = 0; j < k; j++)
                        check_line(check, ledger_read_line(&look.read, j));
                ledger_read_deinit(&look.read);
        }
        fixture_close(f);
        if (check->has_doc) {
                snprintf(path, sizeof(path), "%s/doc", f->dir);
                file_get(path, text, sizeof(text));
                assert_int_equal(strtoul(text, NULL, 10), check->last_doc);
        }
        assert_int_equal(count_files(f->state, ".stage."), 0); /* no temp file stays behind */
}

/* Both are killed at an instant that is chosen by chance: anything from the start on. */
static void one_round(Fixture *f, uint32_t *seed, Check *before, uint32_t limit_us) {
        int out[2];
        Seen seen = {0};
        Check check = {0};
        pid_t writer, foreign = 0;

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        fcntl(out[1], F_SETPIPE_SZ, 1 << 20);
        writer = start("writer", before->next[0], out[1]);
        if (next_random(seed) % 2)
                foreign = start("foreign", before->next[1], out[1]);
        usleep(2000 + next_random(seed) % limit_us);
        end(writer);
        if (foreign)
                end(foreign);
        close(out[1]);
        read_acks(out[0], &seen);
        close(out[0]);
        if (seen.end && next_random(seed) % 2) {
                uint64_t n_synced = MAX(use_journal(f, seen.end, seed), seen.foreign_end);

                lose_pages(f->path, MAX(n_synced, synced_with_doc(f)), seed);
        }
        check_all(f, &check);
        remove_journal(f);
        for (int who = 0; who < 2; who++)
                assert_true(!seen.has_acked[who] || check.next[who] > seen.last_acked[who]);
        *before = check;
}

/* Every round reads the whole ledger: one that has become long is given up for an empty one. */
static void begin_ledger(Fixture *f, Check *check) {
        char command[256];

        snprintf(command, sizeof(command), "rm -rf %s/* && mkdir -p %s", f->dir, f->state);
        assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
        *check = (Check){0};
}

static void test_kill_at_random_instants(void **state) {
        const char *rounds = getenv("LEDGER_CRASH_ROUNDS");
        unsigned n = rounds ? (unsigned)strtoul(rounds, NULL, 10) : ROUNDS, n_lines = 0;
        Fixture *f = *state;
        Check check;
        uint32_t seed = (uint32_t)time(NULL) ^ (uint32_t)getpid();

        print_message("seed %u\n", seed);
        dir = f->dir;
        begin_ledger(f, &check);
        for (unsigned i = 0; i < n; i++) {
                one_round(f, &seed, &check, INSTANT_US);
                if (check.next[0] < LINES_ENOUGH)
                        continue;
                n_lines += check.next[0];
                begin_ledger(f, &check);
        }
        while (!n_lines && (!check.next[0] || !check.next[1])) /* a machine too busy to let them write */
                one_round(f, &seed, &check, 20 * INSTANT_US);
        print_message("%u lines of ours, %u rounds, %u of them needed the journal\n",
                      n_lines + check.next[0], n, n_put_back);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {ledger_test(test_kill_at_random_instants)};

        if (argc < 4)
                return cmocka_run_group_tests(tests, NULL, NULL);
        dir = argv[2];
        first_number = (uint32_t)strtoul(argv[3], NULL, 10);
        return strcmp(argv[1], "writer") == 0 ? run_writer() : run_foreign();
}
