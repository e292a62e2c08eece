#ifndef NCCLPROF_TESTS_SAME_JSON_H
#define NCCLPROF_TESTS_SAME_JSON_H

#include <stddef.h>

/*
 * A difference between our JSON reader and cJSON for a text; NULL if they agree. Words that are no JSON,
 * which cJSON reads as numbers, must be refused; cJSON reads no number of more than 63 bytes.
 */
const char *difference_from_cjson(const char *text, size_t length);

#endif
