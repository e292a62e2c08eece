/*
 * A sequence of values, as JSON in one line or as torch's C++ pickler writes them: texts by value; shared
 * maps are written once and then referred to by a number.
 */
#ifndef SIMULATE_VALUES_H
#define SIMULATE_VALUES_H

#include "simulate.h"

struct values;

/* The caller keeps ownership of the output. */
struct values *values_new(struct output *output, bool json);
/* Writes the end; frees. */
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

/*
 * Shared maps are identified by a name and a number. True: this one was written before, and a reference is
 * written.
 */
bool values_repeat(struct values *values, const char *name, int number);
void values_end_shared_map(struct values *values, const char *name, int number);

#endif
