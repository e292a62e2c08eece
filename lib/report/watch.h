#ifndef NCCLPROF_REPORT_WATCH_H
#define NCCLPROF_REPORT_WATCH_H

#include "report/report.h"

#include <stdint.h>

/* Both copy texts and return -1 when memory is out; the list is then as it was. */
int noted_list_add(struct noted_list *list, const struct finding_snapshot *finding_snapshot);
int noted_list_append(struct noted_list *list, const struct noted_list *others);

/* Whether both speak of the same: kind and unit agree, phases as far as both have one, and steps overlap or
 * go on. */
int noted_is_same(const struct finding_snapshot *one, const struct finding_snapshot *other);

const char *change_name(enum change change);

/* A finding of which somebody was told. */
struct told_noted {
    struct finding_snapshot finding_snapshot; /* as the latest look found it */
    int is_absent;                            /* the latest look did not find it */
    int64_t lag;                              /* the least so far (noted_lag) */
    int64_t lost_ns;                          /* as it was when it was told of, as is what follows */
    int is_over;
};

#endif
