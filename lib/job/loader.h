#ifndef NCCLPROF_JOB_LOADER_H
#define NCCLPROF_JOB_LOADER_H

#include "base/map.h"
#include "job/job.h"

struct statement;

/* What loading a run needs besides the run, for load_*.c and late_arrivals.c. */
struct loader {
    struct job *job;
    int64_t member_id; /* the last member that was looked for */
    int64_t member;
    int member_known;
    struct id_runs instance_ids; /* owned: by instance */
    int has_traffic;             /* some proxy operation is there: `channels` is needed */
    int32_t *places;             /* owned: where each operation, as they were read, was laid out; NULL before
                                    loader_list_places */
    uint8_t *channels; /* owned: of each, as they were read, how many of its kernel are not known to have
                          received; CHANNELS_MANY: or more */
    size_t channel_capacity;
    size_t instance_capacity;
    size_t operation_capacity;
    size_t issued_capacity;
    size_t sync_capacity;
    size_t busy_capacity;
    size_t source_capacity;
    size_t duration_capacity;
    size_t noticed_capacity;
    size_t stream_capacity;
    size_t stream_id_capacity;
    struct map stream_numbers; /* stream -> index of its id */
    int32_t latest_stream;     /* the one that was looked for last */
    size_t call_capacity;
    int tells_states; /* all that is recorded tells how far calls came: job->calls is filled */
};

/* Ranks, communicators and members of the run, whose names are loaded. Release it whatever comes back. */
int loader_init(struct loader *loader, struct job *job, struct error *error);
void loader_release(struct loader *loader);

/* Rank index * 2^32 + communicator index of a member; -1: it is none of this run. */
int64_t loader_member(struct loader *loader, int64_t id);

/* Rank and communicator index; -1 likewise. */
int64_t loader_rank(const struct loader *loader, int64_t id);
int64_t loader_communicator(const struct loader *loader, int64_t id);

/* The number of a tag; -1 for NULL. */
int loader_tag(struct loader *loader, const char *text, int32_t *tag, struct error *error);

/* A step as the store has it, as the job numbers it; -1 where it is none of the run's, or not loaded. */
int32_t loader_step(const struct loader *loader, int64_t step);

/* Whether the run has that step, and it is not loaded. */
int loader_leaves_out(const struct loader *loader, int64_t step);

enum { CHANNELS_MANY = UINT8_MAX };

typedef int (*row_reader)(struct loader *loader, struct statement *statement, struct error *error);

/* Calls `read` for each row; parameter 1 of `sql` is the run. */
int loader_read(struct loader *loader, const char *sql, row_reader read, struct error *error);

/* What the one row of a query says, likewise; 0 where there is none. */
int loader_read_number(struct loader *loader, const char *sql, int64_t *number, struct error *error);

/* The operations, in order of their ids. Instances are there. */
int loader_read_operations(struct loader *loader, struct error *error);

/* Operations are laid out: when their streams were free is not known yet. -1 when memory is out. */
int loader_draft_ends(struct job *job);

/* Operations are laid out: fills `places`, unless it is. -1 when memory is out. */
int loader_list_places(struct loader *loader);

/* Operations are laid out: which of them are of each instance. -1 when memory is out. */
int loader_list_members(struct job *job);

#endif
