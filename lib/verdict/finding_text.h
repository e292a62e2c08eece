#ifndef NCCLPROF_VERDICT_FINDING_TEXT_H
#define NCCLPROF_VERDICT_FINDING_TEXT_H

#include "base/buffer.h"
#include "job/record.h"
#include "verdict/finding.h"

/* Findings in sentences. All but the first return -1 when memory is out. */

/* Surest first, then what cost most. */
void findings_sort(struct findings *findings);

/* "GPU of rank 1 computes longer than its peers, steps 4-8, phase optimizer": who, what and where. */
int finding_say_headline(const struct finding *finding, const struct job *job, struct buffer *text);

/* The same in one sentence with the cost, without a full stop: "...; costs 26.0 ms per step (...), ...". */
int finding_say(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * For people: the headline, and below it the cost, the evidence and what to do next, one line each. `record`:
 * where it shows first. `names_run`: there are several runs. `colours`: the confidence has one.
 */
int finding_add_paragraph(const struct finding *finding, const struct job *job,
                          const struct job_record *record, int names_run, int colours, struct buffer *out);

#endif
