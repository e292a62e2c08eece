#ifndef NCCLPROF_TESTS_STORE_FILE_H
#define NCCLPROF_TESTS_STORE_FILE_H

#include "store/store.h"

#include <stdint.h>

/*
 * A temporary folder for a test, and the path of a store in it. These are cmocka's setup and teardown
 * functions; *state is the path, a heap string. Teardown removes the store, its journal and the folder.
 */
int store_file_setup(void **state);
int store_file_teardown(void **state);

/* Opens it; fails the test if that fails. */
struct store *store_file_open(void **state, enum store_mode mode);

/* The first column of the first row of the result, as a number; fails the test if there is no row. */
int64_t store_file_number(struct store *store, const char *sql);

/* The newest version of the schema, from the list of published migrations. */
int64_t store_file_newest(void);

#endif
