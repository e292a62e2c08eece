#ifndef NCCLPROF_COMPARE_RULE_H
#define NCCLPROF_COMPARE_RULE_H

#include "compare/measured_run.h"

/*
 * Why two figures are not held against each other, and how far apart they may be by noise. A row of a
 * comparison differs beyond noise where no bar stands before it and its change is greater than every noise.
 * How a rule is added is said in rule.c.
 */
enum compare_rule {
    /* Bars: nothing is judged. */
    COMPARE_ONE_SIDE,
    COMPARE_RANKS,
    COMPARE_PROGRAMME,
    COMPARE_PLACEMENT,
    COMPARE_CALLED,
    COMPARE_FEW_STEPS,
    /* Noises: a difference of so much is none. */
    COMPARE_CHANCE,
    COMPARE_DRIFT,
    COMPARE_SMALLEST,
    COMPARE_SMALLEST_TRANSFER,
    COMPARE_NETWORK,
    COMPARE_WORTH,
    COMPARE_WORTH_RANK,
    COMPARE_SHOWN,
    COMPARE_RESIZED,
    COMPARE_RULES
};

/* Kinds that rules are asked of: those of figures, and findings. */
enum { COMPARED_FINDING = SERIES_KINDS, COMPARED_KINDS };

struct compare_rule_text {
    const char *name; /* stable: in JSON and in the manual */
    int is_bar;
    unsigned kinds; /* bits, by number */
    double limit;
    const char *unit;
    const char *found; /* why this limit: its source, or how it was found */
    const char *says;
};

extern const struct compare_rule_text compare_rules[COMPARE_RULES];

static inline double compare_limit(enum compare_rule rule)
{
    return compare_rules[rule].limit;
}

/* Whether a rule is asked of a kind. */
static inline int compare_asks(enum compare_rule rule, int kind)
{
    return (int)(compare_rules[rule].kinds >> kind & 1);
}

#endif
