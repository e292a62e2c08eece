#ifndef NCCLPROF_DIAGNOSE_EVIDENCE_NETWORK_H
#define NCCLPROF_DIAGNOSE_EVIDENCE_NETWORK_H

#include "diagnose/suspect.h"
#include "network/edges.h"

/* What the network steps of slow edges waited for, summed. */
struct edge_sum {
    int64_t steps;
    int64_t wait_ns;
    int64_t extra_ns;
    int64_t longest_ns;
};

/* How slow the network was that a suspicion speaks of. */
struct slowness {
    size_t edges;                 /* of the job: 0 where no network steps are recorded */
    struct edge_sum sent;         /* of the edges that the suspect sends by */
    struct edge_sum received;     /* of those that it receives by */
    const struct edge_sum *worse; /* the direction that the finding speaks of */
    int is_against_others;        /* what is usual is that of other senders, not of other steps */
    int64_t operations;           /* slow ones whose transfer is known */
    int64_t transfer_ns;
    int64_t slow_ns;
    int64_t slowest_ns; /* what the slowest of them took */
    int64_t slowest_usual_ns;
};

/*
 * Fills in a zeroed slowness, and of the finding whether it is about what the suspect receives, and the other
 * ends of its slow edges in that direction. `edges` may be NULL. -1 when memory is out.
 */
int slowness_measure(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                     const struct transfer_excess *transfers, struct slowness *slowness,
                     struct finding *finding);

/* Says its figures as the finding's evidence; and whether it was a pause. -1 when memory is out. */
int slowness_say(const struct slowness *slowness, struct finding *finding);
int slowness_say_pause(const struct suspect *suspect, const struct slowness *slowness,
                       struct finding *finding);

#endif
