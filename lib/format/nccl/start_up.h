#ifndef NCCLPROF_FORMAT_NCCL_START_UP_H
#define NCCLPROF_FORMAT_NCCL_START_UP_H

#include "base/intern.h"
#include "format/nccl/message.h"
#include "format/nccl/timings.h"

/* What a log tells of how a rank came into its communicator: several lines, of which the last may be missing.
 */
struct start {
    int64_t tid;          /* the thread that made it */
    int64_t function;     /* number of its name; -1: not said */
    struct start_up told; /* as far as it is known; its pointer is NULL */
    uint64_t offset;      /* of its first line */
};

#define START_UNKNOWN ((struct start){.function = -1, .told = START_UP_UNKNOWN})

struct speakers;
struct seat;

/* Takes in a line about the making of what the seat is in. `functions` keeps names. -1: no memory. */
int start_take_init(struct start *start, const struct message_init *init, int64_t tid, int64_t at_ns,
                    uint64_t offset, struct intern *functions);

/*
 * Take in lines that do not name their communicator: of the seat that the thread is making, or has made last.
 * Whether there is one; -1: no memory.
 */
int start_take_bootstrap(const struct speakers *speakers, int64_t speaker, int64_t tid, int64_t total_ns);
int start_take_timings(const struct speakers *speakers, int64_t speaker, int64_t tid,
                       const struct timings *timings, struct intern *functions);

/* What came of it. Its text lives as long as `functions`. */
void start_tell(const struct seat *seat, const struct intern *functions, struct start_up *told);

#endif
