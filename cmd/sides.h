#ifndef NCCLPROF_CMD_SIDES_H
#define NCCLPROF_CMD_SIDES_H

struct arguments;
struct context;

/*
 * Opens what the two operands of a command mean, into context->sides: a store, a run of a store (STORE:RUN),
 * traces, of which a temporary store is made, or a run of the store of the command line. Returns an
 * exit_status; context->lacks_traces tells whether something could not be read.
 */
int sides_open(struct context *context, const struct arguments *arguments);

/* Closes those that are open. */
void sides_close(struct context *context);

#endif
