#ifndef NCCLPROF_TESTS_SUPPORT_JUDGED_H
#define NCCLPROF_TESTS_SUPPORT_JUDGED_H

#include "diagnose/diagnose.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What is said of a suspicion of rank 1. Four ranks of one role, ten steps of 1000 each; nothing else is
 * known of them unless told.
 */
enum { RANKS = 4, STEPS = 10 };

/*
 * Of the suspect's edge, one operation a step: how many times as long as usual it waited, and took. At most
 * an edge waited once for its sender's number and one more.
 */
struct slow {
    double wait;
    double transfer;
};

/* What is known besides. */
struct besides {
    const struct slow *slow;
    int received; /* in the first so many of its steps it receives from rank 3 by its edge; else it sends to 2
                   */
    int others;  /* in its operations other ranks' edges waited long, and its own in one that rank 3 made slow
                  */
    int untimed; /* how long operations took is not known */
    int for_some; /* what its transfers took longer is not in the shortest duration */
    const struct suspect *other;
    size_t not_replayed;       /* of the two, the last so many: the replay was not asked what they cost */
    int64_t suspects_steps_ns; /* how long its steps lasted, all others 1000; 0: no length is known */
    int64_t uneven_ns;     /* of the others, one after the other: as long as 1000, less and more by this */
    int64_t hosts_late_ns; /* the middle one of the other hosts, in every step */
    int finished_only;
    int blind_to_pairs;
    int in_stages;
    int lost_events;
    int damaged_lines;
    int missing_of_100; /* operations */
    double irregular;   /* share of steps that are not whole */
    int alone;          /* in its role */
    int silent;         /* ranks that left no trace */
    int lacks_files;    /* some file was lost */
};

/*
 * What comes of it, the suspicion of the other left out; to be released. It amounts to what the job would
 * gain or its partners waited, whichever is more, unless it says to what.
 */
void judge_suspect(struct suspect suspect, const struct besides *besides, struct findings *findings);

/* The same of what the rules read. */
struct rule_results judged_readings(struct suspect suspect, const struct besides *besides);

#endif
