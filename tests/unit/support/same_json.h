#ifndef NCCLPROF_TESTS_SAME_JSON_H
#define NCCLPROF_TESTS_SAME_JSON_H

#include <stddef.h>

/*
 * What the reader of JSON makes of a text and cJSON does not, or the other way round; NULL when they agree.
 * Words that are no JSON, which cJSON takes for numbers, have to be refused; it reads no number of more than
 * 63 bytes.
 */
const char *difference_from_cjson(const char *text, size_t length);

#endif
