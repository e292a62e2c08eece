#ifndef NCCLPROF_TESTS_SUPPORT_WRITTEN_H
#define NCCLPROF_TESTS_SUPPORT_WRITTEN_H

#include "diagnose/diagnose.h"

/*
 * A list of the values in an array, one per operation, at most 4096. Changes of the array change the list,
 * and the other way round. Nothing must be released; the eighth call after it reuses its memory.
 */
struct excess_list *written_excess(struct excess *excess);

#endif
