#ifndef NCCLPROF_VERDICT_RULE_H
#define NCCLPROF_VERDICT_RULE_H

#include "verdict/kinds.h"
#include "verdict/limits.h"

#include <stddef.h>

/*
 * The rules of a diagnosis: each one reason not to believe what a rank is accused of. A rule reads one
 * measure and is held against one limit. An accusation is believed as far as the strictest rule that speaks
 * allows, and by no other reckoning (readings.h). How a rule is added is said in rule.c.
 */
enum rule_id {
    /* The trace cannot tell this rank's fault from something that it does not record. */
    RULE_ROUGH_END,
    RULE_GROUP_END,
    RULE_AFTER_WARM_UP,
    RULE_EXCHANGE,
    RULE_LEAF_OF_TREE,
    RULE_BEHIND_ROOT,
    RULE_ROOT_OF_TREE,
    RULE_IN_GROUPS,
    RULE_SHARED_PROCESS,
    RULE_LOST_RECORDS,
    RULE_SILENT_RANK,
    /* It may be an effect of another rank. */
    RULE_WAITED_FOR_OTHER,
    RULE_LATE_RECEIVERS,
    RULE_TWINS,
    RULE_TWIN_OF_HIDDEN_PAIR,
    RULE_COMMON_LATENESS,
    RULE_CROWD,
    RULE_SHARED_NETWORK,
    /* Nothing is there to compare it with. */
    RULE_NO_PEERS,
    RULE_ALONE_IN_ROLE,
    RULE_IRREGULAR,
    RULE_ESTIMATED_STEADY,
    /* It is not worth it. */
    RULE_WORTH,
    RULE_WORTH_MOMENT,
    RULE_BY_DESIGN,
    RULE_ONE_PLACE,
    RULE_LONGER_WAY,
    RULE_BUSIEST,
    RULE_NO_GAIN,
    RULE_NOT_IN_STEPS,
    RULE_WITHIN_SPREAD,
    RULE_NOT_IN_STEPS_OF_LATE,
    /* It may be noise. */
    RULE_CONNECTING,
    RULE_CERTAINTY,
    RULE_CERTAINTY_SENDERS,
    RULE_CHANCE,
    RULE_CHANCE_BEHIND,
    RULE_CHANCE_ALONE,
    RULE_AHEAD_LITTLE_TWO,
    RULE_AHEAD_NETWORK_TWO,
    RULE_NOT_SLOWER,
    RULE_NOT_SLOWER_MANY,
    /* It is believed, and not for sure. */
    RULE_STEADY,
    RULE_CERTAINTY_SURE,
    RULE_WORTH_SURE,
    RULE_CHANCE_SURE,
    RULE_CHANCE_ALONE_SURE,
    RULE_DAMAGED_LINES,
    RULE_LOST_EVENTS,
    RULE_GAPS,
    RULE_ESTIMATED,
    /* What a log tells of start-up and of failed transfers. */
    RULE_START_SCATTER,
    RULE_SILENT_PEER,
    RULE_ENDS,
    /* What ranks report themselves. */
    RULE_SEVERAL_ERRORS,
    RULE_NO_ECHO,
    RULE_MERE_SETTING,
    RULE_STUCK_IN_START,
    RULE_NO_TRACE,
    /* How the file of a rank stops that others wait for. */
    RULE_OUTLIVED,
    /* Of a rank that others wait for no call is recorded. */
    RULE_UNRECORDED,
    RULE_UNSIZED,
    RULE_HALF_ABSENT,
    /* PyTorch's report of how far all ranks came. */
    RULE_REPORTS_DIFFER,
    RULE_COUNT
};

/* On which side of its limit a rule speaks. */
enum rule_side {
    SPEAKS_BELOW, /* reading < limit */
    SPEAKS_FROM,  /* reading >= limit */
    SPEAKS_ABOVE  /* reading > limit */
};

/* Bits of `kinds`. */
enum {
    OF_COMPUTE = 1 << FINDING_COMPUTE,
    OF_HOST = 1 << FINDING_HOST,
    OF_NETWORK = 1 << FINDING_NETWORK,
    OF_MISSING = 1 << FINDING_MISSING,
    OF_ENDED_EARLY = 1 << FINDING_ENDED_EARLY,
    OF_ERROR = 1 << FINDING_ERROR,
    OF_RANK = OF_COMPUTE | OF_HOST,
    OF_ALL = OF_RANK | OF_NETWORK
};

struct rule {
    const char *name;        /* stable: in JSON and in the manual */
    unsigned kinds;          /* that it is asked of */
    enum confidence at_most; /* what is believed of what it speaks of */
    enum rule_side side;
    enum limit_id limit;
    const char *needs;   /* "applies to ...": the traces or faults that it is asked of; NULL: all */
    const char *measure; /* "measures ..." */
    const char *says;    /* the reason for less confidence, a main clause */
};

extern const struct rule rules[RULE_COUNT];

/* Whether a reading is on the side of the limit on which the rule speaks. */
int rule_speaks(enum rule_id rule, double reading);

/* "less than", "at least" or "more than". */
const char *rule_side_name(enum rule_side side);

/* The rule of a name of so many bytes; -1: there is none. */
int rule_find(const char *name, size_t length);

#endif
