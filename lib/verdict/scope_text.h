#ifndef NCCLPROF_VERDICT_SCOPE_TEXT_H
#define NCCLPROF_VERDICT_SCOPE_TEXT_H

#include "base/buffer.h"
#include "verdict/scope.h"

/* What was judged of a job, in words and in JSON. All return -1 when memory is out. */

/* The two verdicts without a finding. */
#define NO_PROBLEM_FOUND "no problem found"
#define NOT_ENOUGH_DATA "not enough data"

/* Why nothing could be judged, and what to do about it. */
int scope_say_blindness(const struct scope *scope, struct buffer *text);

/* "840 of 864 operations, 8 of 8 ranks, steps 1-11". */
int scope_say_judged(const struct scope *scope, struct buffer *text);

/* "24 lost by the recorder; 3 outside any detected step"; nothing where nothing is left out. */
int scope_name_gaps(const struct scope *scope, struct buffer *text);

/* "24 lost by the recorder (REMEDY); ..."; nothing where nothing is left out. */
int scope_say_gaps(const struct scope *scope, struct buffer *text);

/* "name": count, for each gap: an object's inside. */
int scope_add_gaps(const struct scope *scope, struct buffer *json);

#endif
