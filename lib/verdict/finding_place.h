#ifndef NCCLPROF_VERDICT_FINDING_PLACE_H
#define NCCLPROF_VERDICT_FINDING_PLACE_H

#include "base/buffer.h"
#include "verdict/finding.h"

/* Where a finding's ranks run, and in which line of the program, as far as files tell. */

/* The host that all ranks it accuses are on; NULL: several, or not known. */
const char *finding_host(const struct finding *finding, const struct job *job);

/* The host of which it accuses all ranks of the job, several, as one; NULL. */
const char *finding_whole_host(const struct finding *finding, const struct job *job);

/* On how many hosts a job's ranks are; 0 where that is not known of one that left a trace. -1 when memory is
 * out.
 */
int job_count_hosts(const struct job *job, size_t *count);

/* What is known of the only rank that it accuses; NULL: of several, or candidates. */
const struct roster_facts *finding_facts(const struct finding *finding, const struct job *job);

/* The line of the program that called, or should have called, what the finding is about, else what it shows
 * in first; NULL: not recorded. */
const char *finding_source(const struct finding *finding, const struct job *job);

#endif
