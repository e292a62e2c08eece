#ifndef NCCLPROF_TESTS_STORE_AT_HAND_H
#define NCCLPROF_TESTS_STORE_AT_HAND_H

#include "base/base.h"

#include <stddef.h>

struct event;
struct store;
struct supply;

/* A folder in memory, gone when the process ends. Its name ends with '/'. */
const char *folder_at_hand(void);

/* Reads a trace file into the store and joins it, as ingest does. -1 when it is no trace. */
int ingest_at_hand(struct store *store, const char *path, struct error *error);

/* A file of the store that is made, not read; join_store when all are in. */
struct made_file;

struct made_file *begin_at_hand(struct store *store, const char *path);
void put_at_hand(struct made_file *file, const struct event *event);
void end_at_hand(struct made_file *file, const char *dialect);

/*
 * Runs every analysis and shows what it says in every format; options are chosen by the supply, none when it
 * is used up.
 */
void analyse_at_hand(struct store *store, struct supply *supply);

#endif
