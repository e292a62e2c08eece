#ifndef NCCLPROF_SCORE_SLOW_SENDERS_H
#define NCCLPROF_SCORE_SLOW_SENDERS_H

#include "score/senders.h"
#include "score/units.h"

/* Senders of one host that were slow in the same steps: they may share a network interface. */
struct slow_senders {
    unsigned char *has; /* owned: [rank] */
    size_t count;
    int32_t rank; /* the first of them */
    struct step_set steps;
    int is_steady;    /* through all steps: against other senders, not against their past */
    double certainty; /* log of odds, penalties paid: what their scores add up to */
};

/* From where on senders are named. */
struct sender_belief {
    double certainty;
    double times; /* as long as others they wait, of those through all steps */
};

struct sender_search {
    const struct job *job;
    const struct edges *edges;
    struct sender_belief belief;
    struct senders senders;
    struct partitions partitions; /* made where one sender is certain */
    unsigned char *told;          /* owned: [rank] */
};

/* -1 when memory is out: release it all the same. */
int sender_search_init(struct sender_search *search, const struct job *job, const struct baseline *baseline,
                       const struct edges *edges, struct sender_belief belief);
void sender_search_release(struct sender_search *search);

/*
 * The most certain ones that are left, each rank once. `found->has` has room for all ranks. Returns 1 if
 * there are any, 0, or -1 when memory is out.
 */
int slow_senders_next(struct sender_search *search, struct slow_senders *found);

/*
 * How many others of their host, which are as quick as those of other hosts, send to a host that they send
 * to: where there are none, all of it may have the longer way. 0 of one alone: where a GPU is plugged in
 * decides about its way. -1 when memory is out.
 */
int slow_senders_on_way(const struct sender_search *search, const struct slow_senders *found);

/* Whether they were slow in that step. */
int slow_senders_have_step(const struct slow_senders *found, int32_t step);

/* How much longer than usual, or than those of others, a rank's network steps waited in a step: the logarithm
 * of the ratio; 0 where they did not, or that is not known. */
double slow_senders_excess(const struct sender_search *search, const struct slow_senders *found, int32_t rank,
                           int32_t step);

#endif
