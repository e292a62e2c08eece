#ifndef NCCLPROF_VERDICT_STANDSTILL_TEXT_H
#define NCCLPROF_VERDICT_STANDSTILL_TEXT_H

#include "verdict/finding.h"

/* Of a job that stands still and of which the record cannot say for whom: what is known, why that is too
 * little, and what would tell. Sentences, the last without its stop. -1 when memory is out. */
int standstill_say_reason(const struct standstill *standstill, const struct job *job, struct buffer *text);
int standstill_say_remedy(const struct standstill *standstill, const struct job *job, struct buffer *text);

#endif
