#ifndef NCCLPROF_STORE_INSERT_CALLS_H
#define NCCLPROF_STORE_INSERT_CALLS_H

#include "store/binder.h"

/* Values of a description of a call, and of a sample, in the order of their columns in insert.c. */
void insert_bind_call(struct binder *binder, const struct insert_target *target, size_t at);
void insert_bind_sample(struct binder *binder, const struct insert_target *target, size_t at);

#endif
