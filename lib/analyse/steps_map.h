#ifndef NCCLPROF_ANALYSE_STEPS_MAP_H
#define NCCLPROF_ANALYSE_STEPS_MAP_H

#include "analyse/analysis.h"
#include "steps/rank_steps.h"
#include "verdict/finding.h"

/* steps --map: a row for each rank and step, which is drawn as a picture. */

/* What of a step can be drawn: longer than a usual one, waiting, own lateness. The words of --value, NULL
 * past the last, and what they stand for. */
enum { STEPS_MAP_VALUES = 3 };
const char *steps_map_word(size_t number);
const char *steps_map_title(size_t number);

/* How much of a step that is; of length all of it where `usual_ns` is TIME_UNKNOWN. */
int64_t steps_map_ns(const struct rank_step *of, size_t number, int64_t usual_ns);

/* The table's columns, and what of them is drawn: `list` has words with commas between. -1 with an error
 * where one is none. */
int steps_map_begin(const char *list, struct analysis_result *result, struct error *error);

/* The rows of a job. `usual_ns` is what its steps take that nothing made longer; TIME_UNKNOWN. */
int steps_map_add(const struct job *job, const struct baseline *baseline, const struct findings *findings,
                  int64_t usual_ns, struct table *table, struct error *error);

#endif
