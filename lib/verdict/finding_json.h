#ifndef NCCLPROF_VERDICT_FINDING_JSON_H
#define NCCLPROF_VERDICT_FINDING_JSON_H

#include "base/buffer.h"
#include "job/record.h"
#include "verdict/finding.h"

/*
 * An object in the array that `json` ends with. `record`: where it shows first. `text`: what finding_say
 * says. -1 when memory is out.
 */
int finding_add_json(const struct finding *finding, const struct job *job, const struct job_record *record,
                     const char *text, struct buffer *json);

#endif
