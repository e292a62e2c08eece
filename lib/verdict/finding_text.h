#ifndef NCCLPROF_VERDICT_FINDING_TEXT_H
#define NCCLPROF_VERDICT_FINDING_TEXT_H

#include "base/buffer.h"
#include "job/record.h"
#include "verdict/finding.h"

/* Findings in sentences. All but the first return -1 when memory is out. */

/* Surest first, then what cost most. */
void findings_sort(struct findings *findings);

/* What a finding says in one sentence, without a full stop: who, what, where, and at what cost. */
int finding_say(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * For people: the sentence, and below it the evidence and what to do. `record`: where it shows first.
 * `names_run`: there are several runs. `colours`: the confidence has one.
 */
int finding_add_paragraph(const struct finding *finding, const struct job *job,
                          const struct job_record *record, int names_run, int colours, const char *text,
                          struct buffer *out);

#endif
