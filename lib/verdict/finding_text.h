#ifndef NCCLPROF_VERDICT_FINDING_TEXT_H
#define NCCLPROF_VERDICT_FINDING_TEXT_H

#include "base/buffer.h"
#include "verdict/finding.h"

/* Findings in sentences and in JSON. All but the first return -1 when memory is out. */

/* Surest first, then what cost most. */
void findings_sort(struct findings *findings);

/* What a finding says in one sentence, without a full stop: who, what, where, and at what cost. */
int finding_say(const struct finding *finding, const struct job *job, struct buffer *text);

/* Its peers, with commas between them. */
int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names);

/* An object in the array that `json` ends with. `text`: what finding_say says. */
int finding_add_json(const struct finding *finding, const struct job *job, const char *text,
                     struct buffer *json);

/* For people: the sentence, and below it the evidence. `run_id` 0: there is no other. */
int finding_add_paragraph(const struct finding *finding, int64_t run_id, const char *text,
                          struct buffer *out);

#endif
