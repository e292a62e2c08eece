#ifndef NCCLPROF_TESTS_SAME_KINETO_H
#define NCCLPROF_TESTS_SAME_KINETO_H

#include "input/input.h"

/* What the quick reading of an event and that of any JSON differ in; NULL when they are the same. */
const char *difference_of_kineto_readings(struct raw_json text);

#endif
