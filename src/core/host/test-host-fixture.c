/* SPDX-License-Identifier: MIT */
#include "core/host/test-host-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z) {
        z = (z + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
}

void keep_bytes(int stream, uint64_t position, char *ret, size_t n) {
        for (size_t i = 0; i < n;) {
                uint64_t at = position + i, word = mix(at / 8 * 2 + (uint64_t)stream);
                size_t k = MIN(n - i, (size_t)(8 - at % 8));

                memcpy(ret + i, (char *)&word + at % 8, k);
                i += k;
        }
}

void keep_print(int stream, uint64_t n) {
        char block[40000];

        for (uint64_t at = 0; at < n;) {
                size_t k = (size_t)MIN(n - at, 1 + mix(at) % sizeof(block)), done = 0;
                keep_bytes(stream, at, block, k);
                while (done < k) {
                        ssize_t r = write(1 + stream, block + done, k - done);
                        if (r < 0)
                                _exit(99);
                        done += (size_t)r;
                }
                at += k;
        }
}

/* ---- a daemon -------------------------------------------------------------------------------- */

typedef struct KeepDaemon {
        Daemon daemon;
        const KeepPlan *plan;
        KeepBook *book;
        Hosted *hosted;
        Viewer viewer;
        Timer tick;
        int files[2];
        uint64_t stored[2];
        bool is_free;
        size_t n_left; /* of what may be stored in this millisecond */
} KeepDaemon;

static void keep_store_stream(KeepDaemon *k, int stream) {
        uint64_t at = k->stored[stream];
        Str bytes = hosted_read_from(k->hosted, stream, &at);
        size_t n = k->plan->n_piece && !k->is_free ? MIN(bytes.n, k->n_left) : bytes.n;

        if (at != k->stored[stream])
                _exit(71); /* a gap */
        if (stream == 0 && bytes.n > k->book->n_most)
                k->book->n_most = bytes.n;
        if (!n || (k->plan->keeps_not[stream] && !k->is_free))
                return;
        if (write(k->files[stream], bytes.data, n) != (ssize_t)n)
                _exit(72);
        k->n_left -= MIN(n, k->n_left);
        k->stored[stream] += n;
        hosted_keep(k->hosted, stream, k->stored[stream]);
}

static void keep_store(KeepDaemon *k) {
        if (!k->hosted)
                return;
        keep_store_stream(k, 0);
        keep_store_stream(k, 1);
}

static void keep_on_output(Viewer *viewer, _unused_ HostOutput *output) {
        KeepDaemon *k = container_of(viewer, KeepDaemon, viewer);

        if (!k->plan->n_piece)
                keep_store(k);
}

static void keep_attach(KeepDaemon *k) {
        char *input = k->plan->n_input ? malloc(k->plan->n_input) : NULL;

        k->viewer = (Viewer){.is_passive = true, .output = keep_on_output};
        viewer_attach(&k->viewer, k->hosted);
        if (!input)
                return;
        keep_bytes(0, 0, input, k->plan->n_input);
        if (host_write(k->hosted, (Str){input, k->plan->n_input}) < 0)
                _exit(73);
        free(input);
}

static void keep_on_started(Hosted *hosted, int error) {
        KeepDaemon *k = hosted->user;
        char *text = error ? hosted_start_error(hosted, error) : NULL;

        if (text)
                snprintf(k->book->text, sizeof(k->book->text), "%s", text);
        free(text);
        k->book->error = error;
        if (!error && !hosted->is_adopted)
                keep_attach(k);
        if (error)
                k->hosted = NULL;
        k->book->state = error ? HOSTED_FAILED : HOSTED_RUNNING;
}

/* The rest is stored before it is told. */
static void keep_tell_end(KeepDaemon *k) {
        for (uint64_t n = UINT64_MAX; n != k->stored[0] + k->stored[1];) {
                n = k->stored[0] + k->stored[1];
                k->n_left = SIZE_MAX;
                keep_store(k);
        }
        k->book->exit_code = hosted_exit_code(k->hosted);
        k->book->state = k->hosted->state;
}

static void keep_on_ended(Hosted *hosted) {
        keep_tell_end(hosted->user);
}

static const HostedHandler keep_handler = {.started = keep_on_started, .ended = keep_on_ended};

static void keep_found(Hosted *hosted, void *user) {
        KeepDaemon *k = user;

        k->hosted = hosted;
        hosted->handler = &keep_handler;
        hosted->user = k;
        keep_attach(k);
        if (hosted->state == HOSTED_RUNNING)
                k->book->state = HOSTED_RUNNING;
        else
                keep_tell_end(k);
}

static int keep_obey(KeepDaemon *k, int ask) {
        switch (ask) {
        case KEEP_ASK_CLOSE_INPUT: return host_close_input(k->hosted);
        case KEEP_ASK_DISCARD: host_discard(k->hosted, 0); return 0;
        case KEEP_ASK_FORGET:
                host_forget(k->hosted);
                k->hosted = NULL;
                return 0;
        case KEEP_ASK_FREE: k->is_free = true; return 0;
        default: loop_stop(k->daemon.loop); return 0;
        }
}

static void keep_on_tick(Timer *timer) {
        KeepDaemon *k = container_of(timer, KeepDaemon, tick);
        int ask = k->book->ask;

        if (ask) {
                k->book->answer = keep_obey(k, ask);
                k->book->ask = KEEP_ASK_NOTHING;
        }
        k->n_left = k->plan->n_piece;
        keep_store(k);
        if (timer_set(timer, 1))
                _exit(74);
}

static int keep_launch(KeepDaemon *k) {
        const KeepPlan *plan = k->plan;
        _cleanup_(program_deinit) Program program = {0};
        HostedSpec spec = {.owner = "test",
                           .object = "one",
                           .program = &program,
                           .sandbox = "none",
                           .kind = SHIM_PIPES,
                           .n_ring = KEEP_RING,
                           .has_no_input = !plan->has_input && !plan->stdin_path,
                           .stdin_path = plan->stdin_path,
                           .is_lossless = true};
        int r = program_set_place(&program, k->daemon.home, "test");

        for (size_t i = 0; !r && plan->argv[i]; i++)
                r = strvec_push(&program.argv, plan->argv[i]);
        if (!r)
                r = program_env_base(&program.env);
        return r ? r : host_start(k->daemon.host, &spec, &keep_handler, k, &k->hosted);
}

static int keep_open_files(KeepDaemon *k) {
        for (int i = 0; i < 2; i++) {
                char path[80];
                snprintf(path, sizeof(path), "%s/%d", k->daemon.home, i);
                k->files[i] = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
                if (k->files[i] < 0)
                        return -errno;
                k->stored[i] = (uint64_t)lseek(k->files[i], 0, SEEK_END);
        }
        return 0;
}

static void keep_shim_path(KeepDaemon *k, const char *self) {
        const char *slash = strrchr(self, '/');

        if (asprintf(&k->daemon.shim_path, "%.*s/muster-shim", (int)(slash - self), self) < 0)
                _exit(75);
}

static _noreturn_ void keep_daemon(const KeepWorld *w, const KeepPlan *plan) {
        KeepDaemon k = {.daemon = {.lock_fd = -1}, .plan = plan, .book = w->book};
        int r;

        for (int i = 1; i < NSIG; i++)
                (void)signal(i, SIG_DFL); /* cmocka would go on with the next test, in here */
        (void)signal(SIGPIPE, SIG_IGN);
        mapping_handle_faults();
        log_init(&k.daemon.log);
        r = daemon_init(&k.daemon);
        k.daemon.home = strdup(w->home);
        keep_shim_path(&k, w->self);
        if (!r)
                r = host_new(&k.daemon.host, &k.daemon);
        if (!r)
                r = keep_open_files(&k);
        if (!r)
                r = plan->argv[0] ? keep_launch(&k) : host_adopt(k.daemon.host, keep_found, &k);
        timer_init(&k.tick, k.daemon.loop, keep_on_tick);
        if (r || timer_set(&k.tick, 0))
                _exit(76);
        (void)loop_run(k.daemon.loop);
        timer_clear(&k.tick);
        k.daemon.host = host_free(k.daemon.host);
        free(k.daemon.shim_path);
        daemon_deinit(&k.daemon);
        log_deinit(&k.daemon.log);
        exit(0);
}

/* ---- the test's side ------------------------------------------------------------------------- */

int64_t keep_now_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void keep_nap(void) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

int keep_setup(void **state) {
        KeepWorld *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        snprintf(w->home, sizeof(w->home), "/tmp/test-host-XXXXXX");
        assert_non_null(mkdtemp(w->home));
        assert_true(readlink("/proc/self/exe", w->self, sizeof(w->self) - 1) > 0);
        w->book = mmap(NULL, sizeof(*w->book), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(w->book != MAP_FAILED);
        *state = w;
        return 0;
}

static int keep_remove_entry(const char *path, _unused_ const struct stat *st, _unused_ int type,
                             _unused_ struct FTW *ftw) {
        return remove(path);
}

static bool keep_has_record(const KeepWorld *w, ShimRecord *ret);

int keep_teardown(void **state) {
        KeepWorld *w = *state;
        ShimRecord record;

        keep_kill(w);
        /* The daemon may have been killed while it removed the folder: then there is nothing to end. */
        if (keep_has_record(w, &record) && record.shim_pid > 1 &&
            shim_start_time(record.shim_pid) == record.shim_start)
                (void)kill(record.shim_pid, SIGKILL); /* its child goes with it */
        (void)nftw(w->home, keep_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        (void)munmap(w->book, sizeof(*w->book));
        free(w);
        return 0;
}

/* A daemon that ended by itself has found something wrong. */
static bool keep_is_told(KeepWorld *w) {
        int status;

        if (waitpid(w->daemon, &status, WNOHANG) == w->daemon) {
                w->daemon = 0;
                fail_msg("the daemon ended with %d", WIFEXITED(status) ? WEXITSTATUS(status) : -status);
        }
        return w->book->state >= 0;
}

void keep_start(KeepWorld *w, const KeepPlan *plan) {
        w->book->state = w->book->exit_code = -1;
        w->book->ask = KEEP_ASK_NOTHING;
        w->daemon = fork();
        assert_true(w->daemon >= 0);
        if (!w->daemon)
                keep_daemon(w, plan);
        KEEP_EVENTUALLY(keep_is_told(w));
}

void keep_kill(KeepWorld *w) {
        if (w->daemon > 0) {
                (void)kill(w->daemon, SIGKILL);
                (void)waitpid(w->daemon, NULL, 0);
        }
        w->daemon = 0;
}

void keep_stop(KeepWorld *w) {
        int status = -1;

        w->book->ask = KEEP_ASK_STOP;
        KEEP_EVENTUALLY(waitpid(w->daemon, &status, WNOHANG) == w->daemon);
        w->daemon = 0;
        assert_int_equal(status, 0);
}

int keep_ask(KeepWorld *w, KeepAsk ask) {
        w->book->ask = (int)ask;
        KEEP_EVENTUALLY(keep_is_told(w) && w->book->ask == KEEP_ASK_NOTHING);
        return w->book->answer;
}

void keep_wait_state(KeepWorld *w, HostedState state) {
        KEEP_EVENTUALLY(keep_is_told(w) && w->book->state == (int)state);
}

static void keep_path(const KeepWorld *w, int stream, char ret[80]) {
        snprintf(ret, 80, "%s/%d", w->home, stream);
}

size_t keep_length(const KeepWorld *w, int stream) {
        char path[80];
        struct stat st;

        keep_path(w, stream, path);
        return stat(path, &st) ? 0 : (size_t)st.st_size;
}

size_t keep_check(const KeepWorld *w, int stream) {
        static char block[1 << 16], want[1 << 16];
        uint64_t at = 0;
        char path[80];
        ssize_t n;
        int fd;

        keep_path(w, stream, path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        while ((n = read(fd, block, sizeof(block))) > 0) {
                keep_bytes(stream, at, want, (size_t)n);
                if (memcmp(block, want, (size_t)n) != 0)
                        fail_msg("stream %d is wrong within 64 KiB from %llu on", stream,
                                 (unsigned long long)at);
                at += (uint64_t)n;
        }
        close_fd(fd);
        return (size_t)at;
}

bool keep_folder(const KeepWorld *w, char *ret, size_t n) {
        struct dirent *entry;
        char path[80];
        bool is_there = false;
        DIR *dir;

        snprintf(path, sizeof(path), "%s/host", w->home);
        dir = opendir(path);
        while (dir && (entry = readdir(dir)))
                if (strlen(entry->d_name) == 16) {
                        is_there = true;
                        snprintf(ret, n, "%s/%s", path, entry->d_name);
                }
        if (dir)
                closedir(dir);
        return is_there;
}

static bool keep_has_record(const KeepWorld *w, ShimRecord *ret) {
        char folder[200], path[220];
        bool is_whole;
        int fd;

        if (!keep_folder(w, folder, sizeof(folder)))
                return false;
        snprintf(path, sizeof(path), "%s/" SHIM_RECORD, folder);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        is_whole = pread(fd, ret, sizeof(*ret), 0) == sizeof(*ret);
        close_fd(fd);
        return is_whole;
}

ShimRecord keep_record(const KeepWorld *w) {
        ShimRecord record = {0};

        assert_true(keep_has_record(w, &record));
        return record;
}

uint64_t keep_ring_end(const KeepWorld *w, int stream) {
        char folder[200], path[220];
        uint64_t end;
        Ring ring;

        assert_true(keep_folder(w, folder, sizeof(folder)));
        snprintf(path, sizeof(path), "%s/%s", folder, stream ? SHIM_ERR : SHIM_OUT);
        assert_int_equal(ring_open(&ring, path), 0);
        end = ring_end(&ring);
        ring_close(&ring);
        return end;
}
