#ifndef NCCLPROF_COMPARE_COMPARISON_H
#define NCCLPROF_COMPARE_COMPARISON_H

#include "compare/level.h"
#include "compare/measured_run.h"
#include "compare/rule.h"

/* Two runs, figure by figure. */

enum comparison_verdict { COMPARED_NOT = 0, COMPARED_WITHIN, COMPARED_BEYOND };

struct comparison {
    int kind;                                /* of a figure, or COMPARED_FINDING */
    const char *key;                         /* borrowed of the figures, as the next four */
    const char *tag;                         /* NULL */
    const struct step_series *series[2];     /* of A and B; NULL */
    const struct measured_finding *found[2]; /* of A and B, that are told; NULL */
    struct step_level levels[2];
    double values[2]; /* of A and B; NAN: none */
    double change;    /* B less A; of a rank of its own time, beyond what its peers changed by; NAN */
    double noise;     /* a change of so much is none; NAN where nothing is judged */
    double within;    /* the same without what networks differ by from run to run */
    double whole;     /* change and noise are told in parts of it; NAN */
    enum comparison_verdict verdict;
    enum compare_rule rule; /* the bar, or the noise that is greatest */
    double chance;          /* how often the noise of steps makes such a change; NAN */
};

struct comparisons {
    const struct measured_run *runs[2]; /* A and B; borrowed */
    struct comparison *items; /* owned; what became worse beyond noise first, the worst of all ahead */
    size_t count;
    size_t capacity;
    unsigned barred; /* bits of rules of both runs that bar */
};

/* `network`: by which part of them transfers over the network differ from run to run; the limit of
 * COMPARE_NETWORK, unless the user knows better. -1 when memory is out; to be released whatever it returns.
 */
int comparisons_make(struct comparisons *comparisons, const struct measured_run *a,
                     const struct measured_run *b, double network);
void comparisons_release(struct comparisons *comparisons);

/* Change and noise in per cent; NAN where they have no whole. */
double comparison_change_percent(const struct comparison *comparison);
double comparison_noise_percent(const struct comparison *comparison);

/* Whether it differs beyond noise, and to the worse. */
int comparison_is_worse(const struct comparison *comparison);

/* That of the length of steps. */
const struct comparison *comparisons_steps(const struct comparisons *comparisons);

enum comparison_answer { ANSWER_FINE, ANSWER_SLOWER, ANSWER_UNDECIDED };

/*
 * For scripts: ANSWER_SLOWER where steps, a phase or own time became longer beyond noise by more than so many
 * per cent, or a finding is new or grew that costs more than that of a step, or stops the job. Else
 * ANSWER_UNDECIDED where the length of steps could not be judged, or its noise, but for the network's from
 * run to run, hides changes that are greater than that.
 */
enum comparison_answer comparisons_answer(const struct comparisons *comparisons, double percent);

#endif
