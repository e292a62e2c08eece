#ifndef NCCLPROF_REPORT_COMPARE_H
#define NCCLPROF_REPORT_COMPARE_H

#include "report/groups.h"

/*
 * Which algorithm and protocol moved the same data fastest: groups that differ in these alone, are of one
 * size, function and communicator each, and have REPORT_COMPARED_LEAST times or more, held against the one
 * with the shortest median transfer.
 */

/* The median of fewer has no confidence interval of 95 %, by order statistics. */
enum { REPORT_COMPARED_LEAST = 6 };

struct report_comparison {
    int is_compared;
    size_t fastest;     /* which group */
    double slower;      /* by how much the median is longer than that one's, in parts of it; 0: it is that */
    int is_significant; /* the intervals of both medians do not meet; of the fastest: of its and the next
                           one's */
};

/* Whether groups are told apart by what can be compared: by size, and by algorithm or protocol. */
int report_is_compared(const struct report_groups *report);

/*
 * One for each group, in their order; owned by the caller. *mixed counts groups that are of several functions
 * or communicators, with others to compare. NULL when memory is out.
 */
struct report_comparison *report_compare(struct report_groups *report, size_t *mixed);

#endif
