#ifndef NCCLPROF_STORE_VOCABULARY_H
#define NCCLPROF_STORE_VOCABULARY_H

#include "base/error.h"

struct store;

/* Fills table vocabulary with the words of lib/model/vocab.h. */
int vocabulary_write(struct store *store, struct error *error);

#endif
