#ifndef NCCLPROF_INPUT_VALUE_JSON_H
#define NCCLPROF_INPUT_VALUE_JSON_H

#include "base/error.h"
#include "input/value.h"

/*
 * A JSON text as a tree of values. Integers of 64 bits stay exact; numbers with a fraction are doubles.
 * `offset` is that of the text in the file.
 * Returns 0; 1 when it is no JSON, or nested too deep (*root is null); -1 when memory is out.
 */
int value_from_json(struct values *values, const char *text, size_t length, uint64_t offset,
                    struct value *root, struct error *error);

#endif
