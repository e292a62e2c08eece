#ifndef NCCLPROF_TIMELINE_LANES_H
#define NCCLPROF_TIMELINE_LANES_H

#include <stdint.h>

/* What overlaps stands on tracks beside each other, the first that is free. Begins zeroed. */
enum { LANES_MOST = 64 };

struct lanes {
    int64_t end_ns[LANES_MOST]; /* of the last on each */
    int count;
};

/* Where something that lasts until `end_ns` (INT64_MAX: for good) finds room; -1: nowhere. */
int lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns);

#endif
