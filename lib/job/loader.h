#ifndef NCCLPROF_JOB_LOADER_H
#define NCCLPROF_JOB_LOADER_H

#include "base/map.h"
#include "job/job.h"

struct statement;

/* What loading a run needs besides the run, for load*.c and waits.c. */
struct loader {
    struct job *job;
    struct map ranks;         /* job_rank id -> index */
    struct map communicators; /* id -> index */
    struct map members;       /* member id -> rank index * 2^32 + communicator index */
    int64_t member_id;        /* the last member that was looked for */
    int64_t member;
    int member_known;
    size_t latest;         /* the instance that was found last */
    int64_t *instance_ids; /* owned: ascending */
    size_t instance_id_capacity;
    int has_traffic;   /* some proxy operation is there: the next three are needed */
    int64_t *ids;      /* owned: of operations as they were read, ascending */
    int32_t *places;   /* owned: where each of those was laid out */
    uint8_t *channels; /* owned: of each of those, how many of its kernel are not known to have received;
                          CHANNELS_MANY: or more */
    size_t id_capacity;
    size_t channel_capacity;
    size_t instance_capacity;
    size_t operation_capacity;
    size_t draft_capacity;
};

/* Ranks, communicators and members of the run, whose names are loaded. Release it whatever comes back. */
int loader_init(struct loader *loader, struct job *job, struct error *error);
void loader_release(struct loader *loader);

/* Rank index * 2^32 + communicator index of a member; -1: it is none of this run. */
int64_t loader_member(struct loader *loader, int64_t id);

/* Communicator index; -1 likewise. */
int64_t loader_communicator(const struct loader *loader, int64_t id);

/* The number of a tag; -1 for NULL. */
int loader_tag(struct loader *loader, const char *text, int32_t *tag, struct error *error);

/* A step as the store has it; -1 where it is none of the run's. */
int32_t loader_step(const struct loader *loader, int64_t step);

enum { CHANNELS_MANY = UINT8_MAX };

typedef int (*row_reader)(struct loader *loader, struct statement *statement, struct error *error);

/* Calls `read` for each row; parameter 1 of `sql` is the run. */
int loader_read(struct loader *loader, const char *sql, row_reader read, struct error *error);

/* load_instances.c: the instances. */
int loader_read_instances(struct loader *loader, struct error *error);

/* load_traffic.c: the network steps. Operations are laid out. */
int loader_read_traffic(struct loader *loader, struct error *error);

/* seats.c: who is in a communicator. */

/* Numbers come in ascending order; the last of several wins, and one that the size rules out has no seat. */
int job_seat(struct job_communicator *communicator, int64_t number, int32_t rank);

/* All members are seated: says where the ranks are that recorded nothing. */
void job_seat_silent_ranks(struct job *job);

/* After that: marks the ranks whose file of some communicator may have been lost. Not 0: out of memory. */
int job_find_lost_files(struct job *job);

/*
 * All operations are laid out: marks the ranks of processes whose ranks are not all told apart. One without
 * operations, as of a communicator that nobody used, hides nobody's. Not 0: out of memory.
 */
int job_find_parts(struct job *job);

/*
 * layout.c: puts operations, read in order of their ids, by rank in order of issue. *places, unless NULL,
 * tells where each went and is the caller's to free. -1 when memory is out.
 */
int job_lay_out(struct job *job, int32_t **places);

/*
 * timeline.c: whether two operations, one after the other in order of issue, are of one group call:
 * point-to-point operations of one call are one kernel. They have their call in common, or the second began
 * before the first was handed over.
 */
int job_same_group(const struct job *job, size_t before, size_t after);

#endif
