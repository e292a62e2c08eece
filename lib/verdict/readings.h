#ifndef NCCLPROF_VERDICT_READINGS_H
#define NCCLPROF_VERDICT_READINGS_H

#include "verdict/rule.h"

#include <math.h>
#include <stdint.h>

/*
 * What the rules read of one suspicion or finding; zeroed: none was asked. Where a rule does not apply its
 * measure is NOT_ASKED, and it is not in here.
 */
struct readings {
    double values[RULE_COUNT];
    unsigned char asked[RULE_COUNT];
};

#define NOT_ASKED ((double)NAN)

/* Some of the rules; zeroed: none. */
struct rule_set {
    unsigned char has[RULE_COUNT];
};

/* Notes a reading, unless it is NOT_ASKED or the rule is none of the kind's. */
void readings_note(struct readings *readings, enum finding_kind kind, enum rule_id rule, double reading);

/* Forgets what these rules read. */
void readings_forget(struct readings *readings, const struct rule_set *off);

/* Whether a rule was asked, and speaks. */
int readings_speak(const struct readings *readings, enum rule_id rule);

/* The least that any rule that speaks allows: CONFIDENCE_HIGH where none does. */
enum confidence readings_allow(const struct readings *readings);

/* A time as a share of another one, a count of a count; of nothing, as if that were one. */
static inline double ratio_of(int64_t part, int64_t whole)
{
    return (double)part / (double)(whole > 0 ? whole : 1);
}

#endif
