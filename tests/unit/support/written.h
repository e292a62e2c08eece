#ifndef NCCLPROF_TESTS_SUPPORT_WRITTEN_H
#define NCCLPROF_TESTS_SUPPORT_WRITTEN_H

#include "diagnose/diagnose.h"

/*
 * A list of what is in an array, one for each operation, 4096 at most: who writes there changes the list, and
 * the other way round. Nothing is to be released; the eighth call after it takes its place.
 */
struct excess_list *written_excess(struct excess *excess);

#endif
