#ifndef NCCLPROF_TESTS_SUPPORT_JUDGED_H
#define NCCLPROF_TESTS_SUPPORT_JUDGED_H

#include "diagnose/diagnose.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The confidence of a suspicion of rank 1. Four ranks of one role, ten steps of 1000 each; nothing else is
 * known about them unless given.
 */
enum { RANKS = 4, STEPS = 10 };

/*
 * For the suspect's link, with one operation per step: how many times as long as its baseline it waited, and
 * took. A link waited at most as often as the number of its sender plus one.
 */
struct slow {
    double wait;
    double transfer;
};

/* Other known facts. */
struct besides {
    const struct slow *slow;
    int received; /* in this many of its first steps it receives from rank 3 over its link; in the others it
                     sends to 2 */
    int others;   /* in its operations links of other ranks waited long, and its own in one that rank 3 slowed
                     down */
    int untimed;  /* the durations of operations are unknown */
    int for_some; /* the excess of its transfers is not in the shortest duration */
    const struct suspect *other;
    size_t not_replayed;       /* of these two, the last ones: the replay did not compute their cost */
    int64_t suspects_steps_ns; /* the duration of its steps, all others 1000; 0: no duration is known */
    int64_t uneven_ns;         /* the other durations in turn: 1000, and less and more by this */
    int finished_only;
    int blind_to_pairs;
    int in_stages;
    int lost_events;
    int damaged_lines;
    int missing_of_100; /* operations */
    double irregular;   /* share of incomplete steps */
    int alone;          /* in its role */
    int silent;         /* ranks without a trace */
    int lacks_files;    /* some file was lost */
    int same_work;      /* the number of ranks that do the same work */
};

/*
 * The result, without the suspicion of another rank; to be released. Its worth is the gain of the job or the
 * wait of its partners, whichever is more, unless given.
 */
void judge_suspect(struct suspect suspect, const struct besides *besides, struct findings *findings);

/* The same for the values of the rules. */
struct rule_results judged_readings(struct suspect suspect, const struct besides *besides);

#endif
