#ifndef NCCLPROF_TESTS_SAME_KINETO_H
#define NCCLPROF_TESTS_SAME_KINETO_H

#include "format/kineto/kineto.h"

/* A difference between the fast reader of an event and the general JSON reader; NULL if they agree. */
const char *difference_of_kineto_readings(struct raw_json text, struct kineto_layouts *layouts);

#endif
