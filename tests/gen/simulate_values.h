/* Values one after the other, as JSON in one line or as torch's C++ pickler writes them: texts by value, and
 * maps that are shared, are written once and then named by a number. */
#ifndef SIMULATE_VALUES_H
#define SIMULATE_VALUES_H

#include "simulate.h"

struct values;

/* The output stays the caller's. */
struct values *values_new(struct output *output, bool json);
/* What ends the whole; frees. */
void values_end(struct values *values);

void values_begin_map(struct values *values);
void values_key(struct values *values, const char *key);
void values_end_map(struct values *values);
void values_begin_list(struct values *values);
void values_end_list(struct values *values);
void values_text(struct values *values, const char *text);
void values_integer(struct values *values, int64_t value);
void values_real(struct values *values, double value);
void values_boolean(struct values *values, bool value);
void values_unknown_time(struct values *values); /* None; JSON: 0 */
/* A pair of texts: a tuple; JSON: a list. */
void values_pair(struct values *values, const char *first, const char *second);
/* "[0, 1]", a text. */
void values_ranks(struct values *values, const int *ranks, int count);

/* Maps that are shared are known by a name and a number. True: this one was there before, and is written
 * again. */
bool values_repeat(struct values *values, const char *name, int number);
void values_end_shared_map(struct values *values, const char *name, int number);

#endif
