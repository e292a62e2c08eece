#ifndef NCCLPROF_STORE_MEMBERSHIP_H
#define NCCLPROF_STORE_MEMBERSHIP_H

#include <stddef.h>
#include <stdint.h>

/* Who is in a communicator. Ranks are indexes into an array of them; -1 is none. */

struct job_seat {
    int64_t number; /* the rank's in the communicator */
    int32_t rank;
};

/* Its size is what a trace claims, however much: who is in it is held for the ranks that are known. */
struct job_communicator {
    int64_t id;
    int64_t size;
    int64_t hash;       /* 0: not known */
    int64_t node_count; /* 0: not known */
    char *label;        /* owned */
    int32_t run;
    int size_is_known; /* else it has so many at least */
    int64_t *members;  /* owned: their global ranks, in order of its own, as files tell; NULL */
    size_t member_count;
    struct job_seat *seats; /* owned: the rank of each number that recorded something, by number */
    size_t seat_count;
    size_t seat_capacity;
    /* owned: the ranks that its members, as a file lists them, leave for numbers without a seat; by number */
    struct job_seat *told;
    size_t told_count;
    int is_whole;       /* all ranks of the run are in it: the others at their global numbers */
    int32_t silent;     /* the rank of every other place; -1 unknown */
    int is_of_the_rest; /* most ranks are in it, and began it when they were through with those of all */
    int32_t succeeds;   /* 1 + the number of the first of those that it was made anew of; 0: of none */
};

void job_communicator_release(struct job_communicator *communicator);

/* The ranks of a run, in order of their global numbers, those without one last: a part of an array. */
struct run_ranks {
    const int64_t *global_ranks; /* of the array's first; -1: none */
    const int64_t *process_ids;  /* likewise; -1: nothing recorded by it */
    size_t bytes;                /* from one to the next */
    size_t first;
    size_t count;
    int64_t expected; /* ranks that the run has, as far as communicators tell */
};

/* Those of a run that recorded nothing. */
struct silent_ranks {
    size_t count;
    int32_t last; /* one of them; -1 */
};

struct silent_ranks run_silent_ranks(const struct run_ranks *run);

/* Numbers come in ascending order; the last of several wins, and one that the size rules out has no seat. */
int job_seat(struct job_communicator *communicator, int64_t number, int32_t rank);

/* The members that recorded something are seated: adds those that files list beside them, where the list does
 * not contradict the seats. -1: out of memory. */
int job_seat_told(const struct run_ranks *run, struct job_communicator *communicator);

/* All members are seated: says where the ranks are that recorded nothing. */
void job_seat_silent(const struct run_ranks *run, struct silent_ranks silent,
                     struct job_communicator *communicator);

/* The rank that has a global number; -1. */
int32_t run_rank_numbered(const struct run_ranks *run, int64_t global_rank);

/* The rank of a number in a communicator; -1. The second: only of those that recorded something. */
int32_t run_rank_in(const struct run_ranks *run, const struct job_communicator *communicator, int64_t number);
int32_t job_seated(const struct job_communicator *communicator, int64_t number);

#endif
