#ifndef NCCLPROF_TESTS_STORE_AT_HAND_H
#define NCCLPROF_TESTS_STORE_AT_HAND_H

#include "base/base.h"

#include <stddef.h>

struct event;
struct store;
struct supply;

/* A folder in memory that is removed when the process ends. Its name ends with '/'. */
const char *folder_at_hand(void);

/* Reads a trace file into the store and joins it, as ingest does. Returns -1 if it is no trace. */
int ingest_at_hand(struct store *store, const char *path, struct error *error);

/* Adds a file that was made here, not read. Call join_store when all files are added. */
struct made_file;

struct made_file *begin_at_hand(struct store *store, const char *path);
void put_at_hand(struct made_file *file, const struct event *event);
void end_at_hand(struct made_file *file, const char *dialect);

/*
 * Runs every analysis and prints its result in every format. Options are chosen from the supply; none once it
 * is used up.
 */
void analyse_at_hand(struct store *store, struct supply *supply);

#endif
