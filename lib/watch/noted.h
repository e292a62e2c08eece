#ifndef NCCLPROF_WATCH_NOTED_H
#define NCCLPROF_WATCH_NOTED_H

#include <stddef.h>
#include <stdint.h>

/* A finding as it is remembered from one look at a job to the next. Texts are hostile. */
struct noted {
    char *run; /* owned, as all texts; NULL where there is none */
    char *kind;
    char *unit; /* "rank 3", "host node1" */
    char *phase;
    char *confidence;
    char *text; /* a sentence without its stop */
    int64_t first_step;
    int64_t last_step; /* -1 with first_step: not known */
    int64_t period;    /* in every so-many-th step; 0: in all of them */
    int64_t run_step;  /* the newest step of its run */
    int64_t lost_ns;
    int stops_job;
};

struct noted_list {
    struct noted *items; /* owned */
    size_t count;
    size_t capacity;
};

void noted_release(struct noted *noted);
void noted_list_release(struct noted_list *list);

/* Both copy texts and return -1 when memory is out; the list is then as it was. */
int noted_list_add(struct noted_list *list, const struct noted *noted);
int noted_list_append(struct noted_list *list, const struct noted_list *others);

/* Whether both speak of the same: kind and unit agree, phases as far as both have one, and steps overlap or
 * go on. */
int noted_is_same(const struct noted *one, const struct noted *other);

/* By how many steps its last one is behind the run's newest: some always are, that not all ranks have
 * written. */
int64_t noted_lag(const struct noted *noted);

/*
 * Whether the run has gone on without it: it is further behind than it was at the least, `least_lag`, by as
 * many steps as show that, three periods of it and a twentieth of all.
 */
int noted_is_over(const struct noted *noted, int64_t least_lag);

#endif
