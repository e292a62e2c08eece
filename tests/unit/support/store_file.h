#ifndef NCCLPROF_TESTS_STORE_FILE_H
#define NCCLPROF_TESTS_STORE_FILE_H

#include "store/store.h"

#include <stdint.h>

/*
 * A folder of its own for a test and the path of a store in it. cmocka's setup and teardown functions; *state
 * is the path, a heap string. Teardown removes the store, its journal and the folder.
 */
int store_file_setup(void **state);
int store_file_teardown(void **state);

/* Opens it, failing the test when that fails. */
struct store *store_file_open(void **state, enum store_mode mode);

/* The first column of the first row that `sql` answers, as a number; fails the test when there is none. */
int64_t store_file_number(struct store *store, const char *sql);

#endif
