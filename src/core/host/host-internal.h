#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of core/host share: host.c (table, state), host-start.c (folder, spawn), program.c
 * (environment), host-adopt.c (finding them again), host-caller.c (who is in a sandbox), host-control.c
 * (words with the shim), host-io.c (output, viewers), host-keep.c (output that is not to be lost),
 * host-title.c (what it calls its terminal), host-input.c (what it is given), host-size.c (who types at a terminal of several clients; its size, now and
 * before), host-screen.c (what it shows), host-sweep.c (finding what has no shim any more).
 */
#include "core/host/host.h"
#include "core/sandbox/sandbox-internal.h"
#include "core/trust.h"

/* What a later daemon reads back; more is refused at the start. */
enum { HOST_META_MAX = 4 << 20 };

/* Names the folder in the environment of everything that a hosted process starts. */
#define HOST_MARK "MUSTER_HOSTED"
/* Says who it is, where nobody can see it: in a container, over HTTP. New with each start; we keep its hash. */
#define HOST_TOKEN "MUSTER_TOKEN"
enum { HOST_TOKEN_DIGITS = 32 };

enum { HOST_SPARES_MAX = 8 };

typedef struct Drawing Drawing;

struct Host {
        Daemon *daemon;
        char *dir; /* <home>/host */
        HostCgroups cgroups;
        SandboxKnown sandbox; /* what the last look found out */
        Hosted *first;
        bool has_strays;               /* a process of an earlier daemon may run that is not in the table */
        char *spares[HOST_SPARES_MAX]; /* folders for processes to come; when there are as many, others are
                                          removed */
        size_t n_spares;
        const HostWatch *watch; /* NULL: nobody wants to know */
        void *watch_user;
        void (*all_ended)(void *user); /* host_end_all(); NULL: nobody asked */
        void *all_ended_user;
};

int hosted_new(Hosted **ret, Host *host, const char *id);
void hosted_unlink_and_free(
        Hosted *hosted); /* out of the table, descriptors closed, memory freed after this turn */
void hosted_set_state(Hosted *hosted, HostedEvent event);
/* The same state: this cannot happen in it. */
HostedState hosted_state_after(HostedState state, HostedEvent event);
int hosted_open_files(Hosted *hosted); /* record and rings of hosted->dir; condition RING_E_DAMAGED */
Log *host_log(const Host *host);
void host_announce(const Hosted *hosted, const char *kind); /* to the feed */

/* host-folder.c */
typedef struct FolderSpec {
        const char *dir, *spare; /* spare: see host_take_spare() */
        ShimKind kind;
        bool is_lossless;
        size_t n_ring, n_ring_err;
        Str meta;
} FolderSpec;
int host_make_folder(const FolderSpec *spec); /* on a worker; the spare is used up */
void host_remove_folder(const char *path);
void host_retire_folder(Hosted *hosted);          /* of one that is forgotten: spare, or removed */
char *host_take_spare(Host *host, ShimKind kind); /* the caller's; NULL: none */
bool host_is_spare(const char *name);             /* of a folder in host->dir */
void host_remove_spares(Host *host);

/* host-control.c */
int hosted_open_control(Hosted *hosted, int fd); /* takes fd */
void hosted_tell(Hosted *hosted, uint32_t type, int a);
void hosted_end_recording(Hosted *hosted);
void hosted_check_end(Hosted *hosted); /* moves on to ENDED when everything is in */

/* host-sweep.c: finding processes by their environment, on a worker. */
void host_look_for_lost(Host *host); /* says which ones bear a mark of ours without a folder */

/* host-caller.c: what it can write is exposed from now on; the note is to be written before it runs. */
int host_expose(const Hosted *hosted, TrustNote *ret);

/* host-screen.c: keeps the modes over new output, the last that was shown; answers what is asked in it when
 * nobody else does. */
void hosted_follow(Hosted *hosted, Str bytes, bool may_answer);
void hosted_answer(Hosted *hosted); /* what is asked and not answered yet */
void hosted_forget_drawings(
        Hosted *hosted); /* it goes: screens are made of what is there, answers are not */

/* host-size.c */
void hosted_clear_seats(Hosted *hosted);  /* nobody is told */
void hosted_tell_seated(Hosted *hosted);  /* to who watches */
void hosted_tell_viewers(Hosted *hosted); /* that it has ended */

/* host-size.c */
void hosted_note_size(Hosted *hosted); /* what is printed from now on has the present size */
/* The size at which the byte at this place of the output was printed, and up to which place that holds. */
ShimSize hosted_size_at(const Hosted *hosted, uint64_t position, uint64_t *ret_until);

/* host-io.c */
Str hosted_recent(const Hosted *hosted, size_t n_max); /* as hosted_scrollback(), also what was cleared */
/* The shim does not read any more: what it has read is known from now on. */
void hosted_take_rings(Hosted *hosted);
/* Of an adopted one: what the shim still read meanwhile. */
void hosted_show_missed(Hosted *hosted);
/* Takes fds; which: as in ShimMessage. */
int hosted_open_io(Hosted *hosted, const int *fds, int n_fds, unsigned which);
void hosted_close_io(Hosted *hosted);
bool hosted_output_is_over(const Hosted *hosted);
/* What is left after the tree is gone. False: a lossless one has more, for which there is no room or which is
 * too much for one turn. */
bool hosted_read_rest(Hosted *hosted);

/* host-title.c */
void host_title_init(Hosted *hosted);
void host_title_look(Hosted *hosted); /* after output: tells the feed of another title, now or later */
/* Without the signs in front that programs let turn while they work. */
Str host_title_words(Str title);

/* host-input.c */
int hosted_put_input(Hosted *hosted, Str bytes); /* host_write() without noting that somebody typed */
void hosted_watch_io(Hosted *hosted); /* for output for which there is room, and for input that waits */
void hosted_flush_input(Hosted *hosted);
/* If it was closed and all is taken: our end, and the shim's. */
void hosted_end_input(Hosted *hosted);

/* host-keep.c */
bool hosted_has_room(const Hosted *hosted, bool is_stderr); /* to read on */
void hosted_adopt_kept(Hosted *hosted);                     /* what the record says */
