/*
 * One rank of a fake job: the calls of NCCL's core and of its proxy thread to a plugin while a rank trains.
 * No data is sent; time passes by sleeping or not at all.
 */
#ifndef FAKECORE_PLAY_H
#define FAKECORE_PLAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fakecore_api.h"

enum { FAKE_WORLD, FAKE_TP, FAKE_DP, FAKE_PP, FAKE_COMMUNICATORS };

/* The events that were played, counted immediately: the truth with which a trace is compared. */
struct fake_counts {
    _Atomic uint64_t groups, coll, p2p, proxy_ops, steps, kernels, phases, tags, calls;
};

/* A finished operation, in a shared file that survives the process: which one, and when. */
struct fake_journal_entry {
    uint64_t end_ns; /* CLOCK_MONOTONIC; 0: not yet written */
    uint64_t communicator_hash;
    uint64_t sequence;
    uint64_t function; /* first letters, as bytes */
};

struct fake_journal {
    _Atomic uint64_t count;
    uint64_t capacity;
    struct fake_journal_entry entries[];
};

struct fake_job {
    struct fake_plugin plugin;
    int ranks;
    int steps;
    int layers;
    int channels;
    int net_steps;        /* of each proxy operation; 0: no network */
    int rounds;           /* how often a process makes its communicators, trains and ends them */
    int round;            /* the round that is played, from 0 */
    uint64_t trace_bytes; /* bytes on disk when it began */
    int op_us;            /* how long each operation's kernel runs */
    const char
        *tags; /* none, nccl, call; numbered: calls, each with another text; config: tags of operations */
    bool symmetric;           /* AllGather is a symmetric kernel's */
    bool every_algorithm;     /* collectives use all that NCCL has, one after the other */
    int hang_rank, hang_step; /* in the last round, like a kill */
    bool aborts;              /* hangs in the first round instead, and ends the communicators nevertheless */
    int kill_rank, kill_step;
    int stuck_rank, stuck_step; /* its application stops in the middle of a step, and others wait for it */
    bool repeat_waits;          /* record SendPeerWait repeatedly, as a core that polls does */
    bool foreign_proxy;
    bool silent_kernels; /* the last channel never reports; for some operations no channel does */
    bool double_stops;   /* calls stop twice, as some do from NCCL 2.28 on */
    struct fake_counts counts;
    struct fake_journal *journal;
    void (*call_tag)(const char *tag);
    void (*call_tag_name)(uint64_t number, const char *name);
};

struct fake_communicator {
    void *context;
    uint64_t hash;
    char name[32];
    int rank, ranks;
    uint64_t sequences[4];
};

struct fake_operation;

struct fake_rank {
    struct fake_job *job;
    int rank;
    int mask;
    struct fake_communicator communicators[FAKE_COMMUNICATORS];
    pthread_t proxy;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_operation *first, *last;
    bool busy; /* the proxy thread plays an operation */
    bool closing;
    bool partner_stuck; /* the hung rank takes part in nothing more */
    uint64_t gpu_offset_ns;
    uint64_t user_tag; /* of the operations that are being played */
};

static inline bool fake_last_round(const struct fake_job *job)
{
    return job->round == job->rounds - 1;
}

/* Creates the communicators and the proxy thread of the rank. */
void fake_rank_start(struct fake_rank *rank, struct fake_job *job, int number);
void fake_rank_train(struct fake_rank *rank);
/* Waits for the proxy thread. */
void fake_rank_drain(struct fake_rank *rank);
void fake_rank_finalize(struct fake_rank *rank);

extern nccl_logger fake_logger __attribute__((format(printf, 5, 6)));

#endif
