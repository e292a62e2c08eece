#ifndef NCCLPROF_CMD_OPEN_STORE_H
#define NCCLPROF_CMD_OPEN_STORE_H

struct context;

/*
 * Opens context->store_path as a command needs it (command_needs) into context->store, which stays NULL where
 * it needs none, or may make it and there is none. -1 with an error.
 */
int open_store(struct context *context, int needs);

#endif
