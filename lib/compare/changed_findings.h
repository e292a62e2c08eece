#ifndef NCCLPROF_COMPARE_CHANGED_FINDINGS_H
#define NCCLPROF_COMPARE_CHANGED_FINDINGS_H

#include "compare/comparison.h"

/*
 * What diagnose tells of one run or of both: a comparison for each, beyond noise where it is new, gone, or
 * costs much more or less (resized). -1 when memory is out.
 */
int compare_findings(struct comparisons *comparisons);

/* Of one that differs: whether it is new, or costs more. */
int changed_finding_is_worse(const struct comparison *comparison);

#endif
