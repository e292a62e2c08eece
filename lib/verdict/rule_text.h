#ifndef NCCLPROF_VERDICT_RULE_TEXT_H
#define NCCLPROF_VERDICT_RULE_TEXT_H

#include "base/buffer.h"
#include "verdict/readings.h"

/* What rules read, for people and in JSON. All return -1 when memory is out. */

/* "rules": [...]: each that was asked, in the order of the table. */
int readings_add_json(const struct readings *readings, struct buffer *json);

/* A line for each: those that limit the confidence, the strictest first, then those that passed. */
int readings_explain(const struct readings *readings, struct buffer *out);

#endif
