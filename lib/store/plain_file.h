#ifndef NCCLPROF_STORE_PLAIN_FILE_H
#define NCCLPROF_STORE_PLAIN_FILE_H

#include "base/error.h"

#include <stdint.h>

struct plain_file;
struct statement;
struct view;

/*
 * An SQLite file for other tools: tables alone, no functions and no virtual tables of ours. It is written in
 * one go, without a journal: whoever makes one sees to it that nobody takes it for whole before
 * plain_file_close.
 */

/* In an empty file that is open for reading and writing; the descriptor stays the caller's. NULL on error. */
struct plain_file *plain_file_open(int descriptor, struct error *error);

/*
 * A table of the view's name and columns with all rows of `rows` (view_rows), its indexes, and a row for each
 * of its columns in table `description`. *count is how many rows there were.
 */
int plain_file_add(struct plain_file *file, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error);

/* Everything is written; releases it either way. */
int plain_file_close(struct plain_file *file, struct error *error);

/* Releases it, half written as it is. NULL is allowed. */
void plain_file_discard(struct plain_file *file);

#endif
