#ifndef NCCLPROF_REPORT_WATCH_H
#define NCCLPROF_REPORT_WATCH_H

#include "report/report.h"

#include <stdint.h>

/* Both copy the texts. They return -1 when memory is out; the list is then unchanged. */
int finding_snapshot_list_add(struct finding_snapshot_list *list, const struct finding_snapshot *snapshot);
int finding_snapshot_list_append(struct finding_snapshot_list *list,
                                 const struct finding_snapshot_list *others);

/*
 * Whether both are the same finding: kind and unit are equal, phases are equal if both have one, and their
 * steps overlap or are adjacent.
 */
int finding_snapshot_is_same(const struct finding_snapshot *one, const struct finding_snapshot *other);

const char *change_name(enum change change);

/* A finding that has been reported. */
struct reported_finding {
    struct finding_snapshot finding_snapshot; /* as the latest poll found it */
    int is_absent;                            /* the latest poll did not find it */
    int64_t lag;                              /* smallest lag so far (finding_snapshot_lag) */
    int64_t lost_ns;                          /* cost when it was last reported; is_over is also from then */
    int is_over;
};

#endif
