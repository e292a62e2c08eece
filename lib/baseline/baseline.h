#ifndef NCCLPROF_BASELINE_BASELINE_H
#define NCCLPROF_BASELINE_BASELINE_H

#include "baseline/excess_list.h"
#include "job/job.h"

/*
 * What is usual, and what stands out from it.
 *
 * Every rank repeats a sequence of operations each step: its canonical sequence is the one seen in most
 * steps. Ranks with the same canonical sequence (function, size, communicator size at each position) play the
 * same role and are compared with each other. An operation's place is (role, position); it has a position
 * only where its step follows the canonical sequence, gaps in the trace allowed. A job that changes what its
 * steps are has several sequences (programmes.h); the positions of the others come after those of the first,
 * and are compared with their like.
 *
 * At a place, own time x of rank r in step s is held against the others' median in that step and r's own
 * least tenth over all steps (the lower quartile where r is alone); the greater is its usual value, x minus
 * that the excess. sigma = 1.4826 x MAD of what remains over all ranks and steps of the place (Rousseeuw and
 * Croux, 1993). An excess stands out beyond `sigmas` of it. Step 0 (warm-up) is left out, and what is
 * warm-up later on (warm_up.h). What stands out is
 * bounded by the longest that any other member of the operation waited there: an excess that made nobody wait
 * cost nothing.
 */
struct role {
    int32_t *ranks; /* owned: job ranks that play it */
    size_t rank_count;
    int32_t length;  /* positions, of all programmes */
    int32_t *begins; /* owned: the first position of each programme, ascending; NULL: of one */
    int32_t programmes;
    struct place_limits *limits; /* owned; of each position */
};

/* Positions from `begin` to before `end`. */
struct programme_span {
    int32_t begin;
    int32_t end;
};

/* By how much a rank's own time at a place has to be beyond its usual to stand out. TIME_UNKNOWN: it never
 * does. */
struct place_limits {
    int64_t in_a_step_ns;
    int64_t in_all_steps_ns; /* beyond its peers' */
};

/* Lateness whose origin is hidden: of an operation whose own time is unknown. */
struct hidden_lateness {
    int64_t hidden_ns; /* what others waited for it beyond the usual at its place; 0 where it is no more */
    int stands_out;    /* beyond the spread of its place by itself */
};

struct baseline {
    int32_t *positions;             /* owned: of each operation of the job, by its number, in the canonical
                                       sequence of its step; -1 */
    struct excess_list excess;      /* owned, likewise */
    struct hidden_lateness *hidden; /* owned, likewise; NULL once it is forgotten */
    int64_t *explained_ns; /* owned, likewise: of its own time, what received data explain beyond the usual;
                              NULL: nobody receives what may differ */
    struct role *roles;
    size_t role_count;
    size_t rank_count;
    int32_t *role_of_rank; /* -1: none */
    int32_t *rank_in_role; /* its place in role.ranks */
    int32_t *
        *predecessors;  /* per rank: the position before each on its stream; not less: of the step before */
    int32_t first_step; /* 1: step 0 is warm-up; 0 where there is nothing after it; else as in struct job */
    int32_t step_count;
    int32_t
        *stretch_of_step; /* owned: number of the regular stretch that each step is of, by what the rank with
                             most operations does and under which load. What is usual holds within one */
    int32_t *warm_up;     /* owned: later steps in which something is used for the first time (warm_up.h) */
    size_t warm_up_count;
    size_t warm_up_capacity;
    int steps_are_called; /* steps last from call to call, as nothing tells when operations ended: hosts run
                             ahead and catch up, so that one step says little */
    int32_t started_step; /* the first after the long steps that the job begins with; first_step: it begins
                             with none */
    /* Operation at (role, position, rank in role, step): index, -1 where none. */
    int32_t **cells;  /* per role: [(position * rank_count + rank) * step_count + step] */
    int64_t *step_ns; /* how long each step lasted, median over ranks; TIME_UNKNOWN */
    int64_t
        *late_ns; /* [rank * step_count + step]: how much later its host was than usual, summed over places */
    int64_t median_step_ns;
    /* Share of (rank, step) pairs that hold their role's whole sequence; where records are missing between
     * others, of the operations of such sequences. */
    double regular;
};

struct baseline_options {
    double sigmas; /* an excess stands out beyond so many */
};

int baseline_init(struct baseline *baseline, const struct job *job, const struct baseline_options *options,
                  struct error *error);
void baseline_release(struct baseline *baseline);

/* Whose it is has been found out (suspect_own, suspect_network): it is not needed any more. */
void baseline_forget_hidden(struct baseline *baseline);

/* The positions of the programme that one is of. */
struct programme_span role_programme(const struct role *role, int32_t position);

/* The first of its programme's in a role, at a later step again: how far a position is from there. */
static inline int32_t position_in_step(const struct role *role, int32_t position)
{
    return position - role_programme(role, position).begin;
}

/* An operation of the job's. */
static inline struct excess excess_of(const struct baseline *baseline, const struct job *job,
                                      const struct job_operation *operation)
{
    return excess_listed(&baseline->excess, (size_t)(operation - job->operations));
}

/* Whether half of all steps are whole, or more: else nothing can be held against its own place. */
int baseline_is_regular(const struct baseline *baseline);

#endif
