#ifndef NCCLPROF_VERDICT_OPTIONS_H
#define NCCLPROF_VERDICT_OPTIONS_H

#include "verdict/readings.h"

#include <stdint.h>

/* What the user asks of diagnose. */
struct diagnose_options {
    double min_gain;      /* of a median step, 0.03 for 3 %: what a finding must be worth per step */
    double sigmas;        /* see baseline.h */
    struct rule_set off;  /* rules that are not asked */
    int64_t memory_bytes; /* that operations may take (job/load.h); 0: as much as all take */
    int64_t pieces;       /* for find_absence, see job_count_pieces; 0: no other runs are known */
};

#endif
