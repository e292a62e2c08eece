#ifndef NCCLPROF_VERDICT_FINDING_NAMES_H
#define NCCLPROF_VERDICT_FINDING_NAMES_H

#include "base/buffer.h"
#include "verdict/finding.h"

/* Who a finding speaks of. -1 when memory is out. */

/* "rank 3", "ranks 8 to 15", "host node1 (ranks 8 to 15)", "rank 3 or rank 5": who is at fault, or may be. */
int finding_name_ranks(const struct finding *finding, const struct job *job, struct buffer *text);

/* Whether what the finding says holds of each of its candidates, and not of one of them. */
int finding_holds_of_all(const struct finding *finding);

/* "ranks 3, 5 and 7": of candidates all, as it holds of each. */
int finding_name_all(const struct finding *finding, const struct job *job, struct buffer *text);

/* The same for short: "host node1". */
int finding_name_unit(const struct finding *finding, const struct job *job, struct buffer *text);

/* Its peers, with commas between them. */
int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names);

#endif
