#ifndef NCCLPROF_JOB_START_UPS_H
#define NCCLPROF_JOB_START_UPS_H

#include "job/job.h"

/*
 * How the ranks of a job came into its communicators, as NCCL's log tells.
 *
 * Nobody gets out of the making of a communicator before all its ranks have come: in the bootstrap each waits
 * for the last one. So who was there last waited the shortest, and who waited long is held up: the rule of
 * arrival.h. Clocks of hosts are not compared.
 */
struct job_start {
    int64_t order; /* of those of one rank the least is the first */
    int32_t rank;
    int32_t communicator;
    int32_t parent;       /* communicator that it was split off; -1 none, or not known */
    int32_t function;     /* that the program called: a number in job.tags; -1 */
    struct start_up told; /* its pointer is NULL */
    int64_t waited_ns;    /* for others; TIME_UNKNOWN */
    int64_t late_ns;      /* how much later than the first of them it came; TIME_UNKNOWN: not known of all */
    unsigned
        is_told : 1; /* who came last can be told: waits of all ranks differ by more than they are told to */
    unsigned is_last : 1; /* then: nobody came later by more than that */
};

/* What a wait is taken from. */
enum start_measure {
    START_NOTHING = 0,
    START_BY_PARTS,
    START_BY_LINES,  /* of lines, which have decimals of a second */
    START_BY_SECONDS /* of lines, which have whole ones */
};

/*
 * What a rank waited for the others while a communicator was made, TIME_UNKNOWN: in the bootstrap; of one
 * that is split off another also in what is left, where all ranks of that one tell each other of the split.
 * Where the log has no parts (NCCL up to 2.21), all that it took from its first line to its last.
 */
int64_t start_waited_ns(const struct start_up *told, enum start_measure *measure);

/* What came nearer together than this came at once: parts have two decimals of a second. */
int64_t start_told_ns(enum start_measure measure);

/* Of all ranks of a communicator, whose waits are known to `told_ns`: who came last. */
void starts_compare(struct job_start *starts, size_t count, int64_t told_ns);

/* Puts them in order of communicators and their ranks, and says who came last. */
void job_judge_starts(struct job *job);

/* Reads them. Those of a job that is made by hand are NULL. */
struct loader;
int loader_read_start_ups(struct loader *loader, struct error *error);

#endif
