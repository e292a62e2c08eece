#ifndef NCCLPROF_STORE_RUN_NAMES_H
#define NCCLPROF_STORE_RUN_NAMES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * The run that a user means by a name or a number, as `ncclprof info --runs` shows them. -1 where there is
 * none, with an error that says which there are.
 */
int run_find(struct store *store, const char *text, int64_t *run_id, struct error *error);

/*
 * The same for a list with commas between, without doubles; *ids is freed by the caller, and NULL on error.
 * An empty name is no run.
 */
int run_find_all(struct store *store, const char *list, int64_t **ids, size_t *count, struct error *error);

#endif
