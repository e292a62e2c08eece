#ifndef NCCLPROF_COMPARE_COMPARISON_TEXT_H
#define NCCLPROF_COMPARE_COMPARISON_TEXT_H

#include "base/buffer.h"
#include "compare/comparison.h"

/*
 * A comparison in sentences for people, worst first: what differs beyond noise, or that nothing does and what
 * could have been seen. Text of traces is escaped for a terminal. -1 when memory is out.
 */
int comparisons_say(const struct comparisons *comparisons, struct buffer *text);

/* Why something was not judged: a clause for a rule that bars. -1 when memory is out. */
int comparisons_say_bar(const struct comparisons *comparisons, enum compare_rule rule, struct buffer *text);

/* "before the 3rd call of the step (AllReduce, backward)": where a rank's own time changed most; nothing
 * where that is not known. */
int comparison_say_place(const struct comparison *comparison, struct buffer *text);

/* "step", "phase", ..., "finding". */
const char *comparison_name(int kind);

#endif
