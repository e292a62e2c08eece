#ifndef NCCLPROF_VERDICT_LIMITS_H
#define NCCLPROF_VERDICT_LIMITS_H

/*
 * The limits of the rules (rule.h), each with its unit and the reason for its value. What rules are held
 * against comes first, then what decides where a rule is asked. How one is added is said in limits.c.
 */
enum limit_id {
    LIMIT_NONE,
    LIMIT_ONE,
    LIMIT_HALF,
    LIMIT_ALL,
    LIMIT_TWINS,
    LIMIT_ROLE,
    LIMIT_STEP,
    LIMIT_PAUSE,
    LIMIT_WORTH,
    LIMIT_WORTH_MOMENT,
    LIMIT_WORTH_SURE,
    LIMIT_BY_DESIGN,
    LIMIT_NO_GAIN,
    LIMIT_CHANCE,
    LIMIT_CHANCE_BEHIND,
    LIMIT_CHANCE_ALONE,
    LIMIT_CHANCE_SURE,
    LIMIT_CHANCE_ALONE_SURE,
    LIMIT_AHEAD_LITTLE_TWO,
    LIMIT_AHEAD_NETWORK_TWO,
    LIMIT_REGULAR,
    LIMIT_SHOWN,
    LIMIT_ERRORS,
    LIMIT_SHOWN_OF_LATE,
    LIMIT_SLOWER,
    LIMIT_SLOWER_MANY,
    LIMIT_UNEXPLAINED,
    LIMIT_GAPS,
    LIMIT_CERTAINTY,
    LIMIT_CERTAINTY_SURE,
    LIMIT_ONE_PLACE,
    LIMIT_BUSIER,
    LIMIT_SHARED,
    LIMIT_START_APART,
    LIMIT_ENDS,
    /* Where rules are asked. */
    LIMIT_SURE,
    LIMIT_FAR_AHEAD,
    LIMIT_AHEAD_MANY,
    LIMIT_AHEAD_GPU,
    LIMIT_LITTLE_TWO,
    LIMIT_LONGER_TWO,
    LIMIT_LATE_ALONE,
    LIMIT_LATE_GPU,
    LIMIT_LONGER_MANY,
    LIMIT_LONGER_STEPS,
    LIMIT_SLOWER_OPERATIONS,
    LIMIT_NEARLY_ALL,
    LIMIT_SHADOW,
    LIMIT_REST,
    LIMIT_HIDDEN_PAIR,
    LIMIT_ALIKE,
    LIMIT_WAITED,
    LIMIT_RANKS_OF_ROLE,
    LIMIT_CROWD,
    LIMIT_SHARED_STEPS,
    LIMIT_OUTSTANDING,
    LIMIT_STEPS_TOLD,
    LIMIT_START_LATE,
    LIMIT_CALLS_AHEAD,
    LIMIT_OUTLIVED,
    LIMIT_RECORDS,
    LIMIT_RECORDS_UNSIZED,
    LIMIT_FIRST_CALLS,
    LIMIT_ERRORS_APART,
    LIMIT_COUNT
};

struct limit {
    const char *name; /* stable: in the manual */
    double value;
    const char *unit;
    const char *found; /* why this value: its source, or how it was found */
};

extern const struct limit limits[LIMIT_COUNT];

static inline double limit_of(enum limit_id limit)
{
    return limits[limit].value;
}

#endif
