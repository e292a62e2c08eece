/*
 * Kinds of findings, figures, and the rules and limits that decide the confidence of a finding.
 *
 * Times are in nanoseconds. Functions that return int return -1 when memory runs out, and 0 otherwise, unless
 * they answer a yes-or-no question.
 */
#ifndef NCCLPROF_DIAGNOSE_RULE_H
#define NCCLPROF_DIAGNOSE_RULE_H

#include "base/base.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* -------------------- finding_names.c -------------------- */

/*
 * The figures of a finding's evidence with their names, for programs that read the JSON. They repeat the
 * figures in the sentences of the evidence and add none.
 */

enum { FIGURES_MOST = 12 };

struct figure {
    const char *name; /* a constant; a time's name ends in its unit (`_us`), a count's name has none */
    double value;
};

struct figures {
    struct figure items[FIGURES_MOST];
    size_t count;
};

/* Adds one figure. A figure after the first FIGURES_MOST is dropped, as is a time that is TIME_UNKNOWN. */
void figures_add(struct figures *figures, const char *name, double value);
void figures_add_time(struct figures *figures, const char *name_us, int64_t time_ns);

/* -------------------- finding.c -------------------- */

/* What a finding blames a rank for. The head of advice.c describes how to add a kind. */
enum finding_kind {
    FINDING_COMPUTE = 0, /* its GPU took longer before its operations than those of its peers */
    FINDING_HOST,        /* it enqueued operations late */
    FINDING_LATE,        /* its GPU or its host was late, and no trace shows which */
    FINDING_NETWORK,     /* its sends (or one link, or its receives) were slow */
    FINDING_MISSING,     /* it never started an operation that other ranks wait in */
    FINDING_MISMATCH,    /* it called a different operation than the others */
    FINDING_ENDED_EARLY, /* its trace ends long before those of its peers */
    FINDING_ERROR        /* it reports an error of its own that ends a job */
};

enum { FINDING_KINDS = FINDING_ERROR + 1 };

#define FINDING_KIND_WORDS "compute, host, late, network, missing, mismatch, ended_early or error"

enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

/* -------------------- rule.c -------------------- */

/*
 * The limits of the rules (rule.c), each with its unit and the reason for its value. First come the limits
 * that a rule's measure is compared with, then those that decide where a rule applies. The head of rule.c
 * describes how to add one.
 */
enum limit_id {
    LIMIT_NONE,
    LIMIT_ONE,
    LIMIT_HALF,
    LIMIT_PAUSE,
    LIMIT_WORTH,
    LIMIT_WORTH_SURE,
    LIMIT_REGULAR,
    LIMIT_SHOWN,
    LIMIT_ERRORS,
    LIMIT_SLOWER_MANY,
    LIMIT_GAPS,
    LIMIT_CERTAINTY,
    LIMIT_CERTAINTY_SURE,
    LIMIT_START_APART,
    LIMIT_LATE_NOTICES,
    /* These decide where a rule applies. */
    LIMIT_AHEAD_MANY,
    LIMIT_LONGER_MANY,
    LIMIT_LONGER_STEPS,
    LIMIT_SLOWER_OPERATIONS,
    LIMIT_RANKS_OF_ROLE,
    LIMIT_HIDDEN_PAIR,
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
    const char *name; /* stable: the manual names it */
    double value;
    const char *unit;
    const char *found; /* why the limit has this value: its source, or how it was determined */
};

extern const struct limit limits[LIMIT_COUNT];

static inline double limit_of(enum limit_id limit)
{
    return limits[limit].value;
}

/* Whether a value is ahead-many times the greatest of what it is compared with; not if that is NAN. */
static inline int is_far_ahead(double value, double greatest)
{
    return value >= limit_of(LIMIT_AHEAD_MANY) * greatest;
}

/* -------------------- rule.c -------------------- */

/*
 * The rules of diagnose. Each rule is one reason to doubt a finding: it compares one measure with one limit,
 * and where the limit is violated it caps the confidence. The confidence of a finding is the lowest cap of
 * all violated rules; nothing else enters (rule.c). The head of rule.c describes how to add one.
 */
enum rule_id {
    /* The trace cannot tell a fault of this rank from something that it does not record. */
    RULE_HIDDEN_WAIT,
    RULE_EARLY_ENDS,
    RULE_SHARED_PROCESS,
    RULE_LOST_RECORDS,
    /* The finding may be an effect of another rank. */
    RULE_LATE_RECEIVERS,
    /* There is nothing to compare the rank with. */
    RULE_IRREGULAR,
    /* The cost is too small to report, or part of the design of the job. */
    RULE_WORTH,
    RULE_BY_DESIGN,
    RULE_NOT_IN_STEPS,
    /* It may be noise. */
    RULE_CERTAINTY,
    RULE_NOTICES,
    RULE_SILENCE,
    RULE_NOT_SLOWER_MANY,
    /* The finding is plausible but not certain. */
    RULE_ONE_OF_SEVERAL,
    RULE_ESTIMATED,
    RULE_CERTAINTY_SURE,
    RULE_WORTH_SURE,
    RULE_GAPS,
    /* Start-up and failed transfers, as a log reports them. */
    RULE_START_SCATTER,
    RULE_SEVERAL,
    RULE_NO_TRACE,
    /* Errors that ranks report of themselves. */
    RULE_NO_ECHO,
    RULE_MERE_SETTING,
    /* The trace of a rank that others wait for ends before theirs. */
    RULE_OUTLIVED,
    /* No call is recorded of a rank that others wait for. */
    RULE_UNRECORDED,
    /* PyTorch's report of how far each rank got. */
    RULE_REPORTS_DIFFER,
    RULE_COUNT
};

/* On which side of its limit a measure violates the rule. */
enum rule_side {
    SPEAKS_BELOW, /* measure < limit */
    SPEAKS_FROM,  /* measure >= limit */
    SPEAKS_ABOVE  /* measure > limit */
};

struct rule {
    const char *name;        /* stable: in JSON and in the manual */
    unsigned kinds;          /* bits of the finding kinds that the rule applies to */
    enum confidence at_most; /* the confidence of a finding that violates the rule */
    enum rule_side side;
    enum limit_id limit;
    const char *needs;   /* "applies to ...": the traces or faults that the rule applies to; NULL: all */
    const char *measure; /* "measures ..." */
    const char *says;    /* the reason for less confidence, as a main clause */
};

extern const struct rule rules[RULE_COUNT];

/* Whether a measure violates the rule. */
int rule_is_violated(enum rule_id rule, double reading);

/* "less than", "at least" or "more than". */
const char *rule_side_name(enum rule_side side);

/* The rule with the name `name` of `length` bytes; -1: none has it. */
int rule_find(const char *name, size_t length);

/*
 * The measures of the rules for one finding. A zeroed struct holds none. A rule that does not
 * apply, whose measure is NOT_ASKED, is not in here.
 */
struct rule_results {
    double values[RULE_COUNT];
    unsigned char asked[RULE_COUNT];
};

#define NOT_ASKED ((double)NAN)

/* A set of rules; zeroed: empty. */
struct rule_set {
    unsigned char has[RULE_COUNT];
};

/* Records a measure, unless it is NOT_ASKED or the rule does not apply to this kind. */
void rule_results_add(struct rule_results *results, enum finding_kind kind, enum rule_id rule,
                      double reading);

/* Whether the rule applied and is violated. */
int rule_results_fail(const struct rule_results *results, enum rule_id rule);

/* A part as a share of the whole, both times or both counts. A whole of 0 counts as 1. */
static inline double ratio_of(int64_t part, int64_t whole)
{
    return (double)part / (double)(whole > 0 ? whole : 1);
}

#endif
