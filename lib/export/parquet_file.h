#ifndef NCCLPROF_EXPORT_PARQUET_FILE_H
#define NCCLPROF_EXPORT_PARQUET_FILE_H

#include "base/error.h"

#include <stdint.h>

struct output;
struct statement;
struct view;

struct parquet_options {
    int64_t group_rows; /* of a row group, at least 1: what is held in memory, and what an engine's thread
                           takes */
    int is_compressed;
};

/*
 * A view as an Apache Parquet file: a column for each of its own, INT64, DOUBLE or UTF-8 text, all of which
 * may be null; integers are exact, what of a text is no UTF-8 is U+FFFD. Each row group tells the least and
 * the greatest value of each column and how many are null. Names and meaning of the view and its columns
 * stand in the file as keys and values. *count is how many rows there were. An error where a cell is not what
 * its column is to hold, as in a damaged store.
 */
int parquet_file_write(struct output *output, const struct view *view, struct statement *rows,
                       const struct parquet_options *options, int64_t *count, struct error *error);

#endif
