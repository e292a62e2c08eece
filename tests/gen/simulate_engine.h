/*
 * Shared by the two halves of the engine: the host threads (simulate_host.c) and the streams
 * (simulate_engine.c).
 */
#ifndef SIMULATE_ENGINE_H
#define SIMULATE_ENGINE_H

#include "simulate.h"

struct item {
    enum action_kind kind;
    int64_t enqueued;
    int64_t duration;
    int event;
    int step, phase;
    bool started;
    struct record **records;
    int record_count;
};

struct stream {
    struct item *items;
    int count, capacity, head;
    int64_t end; /* of the last item that finished */
};

struct player {
    int step, counter, phase;
    int64_t host;
    bool stopped, slept, warm[64];
    struct stream streams[MAX_STREAMS];
    int64_t **events; /* by step, then by event; NULL: not started, or finished */
    int group;
};

/* Sends or receives of a pair of ranks whose other half has not been called yet. */
struct pair_queue {
    struct record **waiting;
    int first, end, capacity; /* waiting from first to end */
    int matched;              /* number of pairs that moved their data before */
};

struct engine {
    struct job *job;
    struct player *players;
    int **next_index;    /* by communicator: each member's next collective */
    int **next_sequence; /* by communicator: member x function */
    int *queue;          /* ranks to play on */
    bool *queued;
    int first, waiting;
    int *passed; /* by step: number of hosts that have finished it */
    int taken;   /* a stream removed the steps before this one */
};

/* One action of the host's program; false if something must finish first. */
bool host_action(struct engine *engine, int rank, const struct action *action, int index);
/* The stop that the kernel of each group records, for the records of a process from first to end. */
void share_stops(struct process *process, int first, int end);
void instance_free(struct communicator *communicator, struct instance *instance);
/* simulate_stream.c: removes from memory what all ranks have finished; at the end of a run the rest. */
void stream_take(struct engine *engine);
void stream_finish(struct engine *engine);
/* simulate_stuck.c: how far the data got in operations that never finished. */
void stuck_play(struct job *job);

struct item *stream_push(struct player *player, const struct action *action);

#endif
