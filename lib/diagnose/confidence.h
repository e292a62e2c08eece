#ifndef NCCLPROF_DIAGNOSE_CONFIDENCE_H
#define NCCLPROF_DIAGNOSE_CONFIDENCE_H

#include "diagnose/evidence_network.h"
#include "diagnose/lengthening.h"

/* What a suspicion is judged by, beside its chance and its gain. */
struct measures {
    struct slowness slowness; /* of a network */
    struct lengthening lengthening;
};

/*
 * What a suspicion is believed, and why: asks all rules that are left to be asked, and forgets those that are
 * `off`.
 */
enum confidence confidence_of(const struct suspects *suspects, struct suspect *suspect,
                              const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct diagnose_options *options,
                              const struct rule_set *off);

/*
 * What a GPU's lateness has to be worth for medium confidence, in each step concerned, where all is recorded:
 * in one step, beside others late by `greatest_ns` at most; in several; in all.
 */
int64_t confidence_least_alone_ns(const struct baseline *baseline, const struct diagnose_options *options,
                                  int64_t greatest_ns);
int64_t confidence_least_of_several_ns(const struct baseline *baseline,
                                       const struct diagnose_options *options);
int64_t confidence_least_of_all_ns(const struct baseline *baseline, const struct diagnose_options *options);

/* The greatest expected number of such rows by chance, where single steps of others come near. */
double confidence_most_chance(void);

#endif
