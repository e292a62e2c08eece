#ifndef NCCLPROF_CMD_ROWS_H
#define NCCLPROF_CMD_ROWS_H

struct arguments;
struct context;
struct query;

/* Renders a query's rows to standard output as they come. Returns an exit_status. */
int rows_show(struct context *context, const struct arguments *arguments, struct query *query);

#endif
