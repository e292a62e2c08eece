#ifndef NCCLPROF_FORMAT_NCCL_SPEAKERS_H
#define NCCLPROF_FORMAT_NCCL_SPEAKERS_H

#include "base/intern.h"
#include "base/map.h"
#include "format/nccl/head.h"
#include "format/nccl/message.h"
#include "format/nccl/start_up.h"

/* Who speaks in a log: processes, and what each calls its communicators. */

struct speaker {
    int64_t host; /* number of its name in `hosts` */
    int64_t pid;
    int64_t latest_ns; /* of its lines that have a time; TIME_UNKNOWN */
    int64_t root;      /* its first seat of a communicator that was not split off another; -1 */
    int64_t newest;    /* its newest seat; -1 */
    int64_t calls;     /* that it made so far */
};

/* A rank of a communicator, by the address that its process has it at. */
struct seat {
    int64_t speaker;
    uint64_t address;
    uint64_t hash; /* of the communicator, the same on all its ranks */
    int64_t rank;
    int64_t ranks;
    int64_t nodes;   /* 0: not said */
    uint64_t parent; /* address; 0: none */
    uint64_t parent_hash;
    int64_t color;
    int64_t children;              /* split off it so far */
    int64_t calls[FUNCTION_COUNT]; /* so far */
    int is_complete;
    int64_t before; /* the seat that its speaker got before it; -1 */
    struct start start;
    int is_watched; /* it has been told that calls on it are listed */
};

struct speakers {
    struct intern hosts;
    struct speaker *items; /* owned */
    size_t count;
    size_t capacity;
    struct seat *seats; /* owned; those of communicators that are no longer there stay */
    size_t seat_count;
    size_t seat_capacity;
    struct map by_process; /* host, pid -> speaker */
    struct map by_pid;     /* pid -> the first speaker that has it */
    struct map by_address; /* speaker, address -> the seat that has it now */
};

void speakers_init(struct speakers *speakers);
void speakers_release(struct speakers *speakers);

/* The number of who speaks, which is new where it was not known; -1: no memory. */
int64_t speakers_put(struct speakers *speakers, struct text host, int64_t pid);

/*
 * Takes away from a name what another line left before it, where so the name of a known process of that
 * number remains. Whether it is the name of a known process.
 */
int speakers_settle(const struct speakers *speakers, struct text *host, int64_t pid);

/* NULL: its making is not in the log. Valid until the next speakers_begin. */
struct seat *speakers_seat(const struct speakers *speakers, int64_t speaker, uint64_t address);

/*
 * The seat that a line about the making of a communicator is of. `*seat` is NULL where it was split off one
 * that the log does not tell of. -1: no memory.
 */
int speakers_begin(struct speakers *speakers, int64_t speaker, const struct message_init *init,
                   struct seat **seat);

/* The seat that a speaker got before another, or its newest for NULL. NULL: there is none. */
struct seat *speakers_seat_before(const struct speakers *speakers, int64_t speaker, const struct seat *seat);

/* A communicator was split in which the speaker has that rank, and it got no part: counted where it matters.
 */
void speakers_pass(struct speakers *speakers, int64_t speaker, int64_t rank);

#endif
