#ifndef NCCLPROF_REPORT_PLACES_H
#define NCCLPROF_REPORT_PLACES_H

#include "report/groups.h"
#include "store/roster.h"

/* Where ranks are, for rows by host, GPU, virtual machine or peer, and for --cross-node. */

/* What a rank is at, as keys of report.h: numbers of texts in the report, -1: not known. */
struct report_place {
    int64_t host;
    int64_t gpu_serial;
    int64_t vm;
    int64_t device; /* the number itself */
};

struct report_places {
    const struct roster *roster;
    struct report_place *ranks; /* owned: of each rank of the roster */
};

/* Release it whatever comes back. Wants the roster's members and facts; -1: no memory. */
int report_places_init(struct report_places *places, const struct roster *roster,
                       struct report_groups *report);
void report_places_release(struct report_places *places);

/* The rank (index) that is such a number of a communicator (index); -1. */
int32_t report_places_seat(const struct report_places *places, int32_t communicator, int64_t number);

/* The global rank of such a number of a communicator; -1. */
int64_t report_places_global_rank(const struct report_places *places, int32_t communicator, int64_t number);

/* Whether a communicator, or two of its ranks, are on more than one host: 1, 0; -1: that is not known. */
int report_places_cross(const struct report_places *places, int32_t communicator);
int report_places_pair_crosses(const struct report_places *places, int32_t communicator, int64_t one,
                               int64_t other);

#endif
