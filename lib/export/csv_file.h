#ifndef NCCLPROF_EXPORT_CSV_FILE_H
#define NCCLPROF_EXPORT_CSV_FILE_H

#include "base/error.h"

#include <stdint.h>

struct output;
struct statement;
struct view;

/*
 * A view as RFC 4180 has it: a line of names, then one a row, ended by CR LF. Numbers read back as they were,
 * NULL is nothing, an empty text "". Text is as the trace has it, line ends included, but for what is no
 * UTF-8. *count is how many rows there were.
 */
int csv_file_write(struct output *output, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error);

#endif
