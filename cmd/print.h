#ifndef NCCLPROF_CMD_PRINT_H
#define NCCLPROF_CMD_PRINT_H

#include "base/error.h"

struct context;
struct table;
struct arguments;

/* A line on standard error, "ncclprof: TEXT", hostile characters escaped. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The chain of causes, outermost first, a line each. */
void print_error(const struct error *error);

/* Renders a table to standard output as --format asks. */
int print_table(struct context *context, const struct arguments *arguments, const struct table *table);

/* Warnings of a table that what is shown has no place for, on standard error. */
void print_warnings(const struct table *table);

#endif
