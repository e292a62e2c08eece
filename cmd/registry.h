#ifndef NCCLPROF_CMD_REGISTRY_H
#define NCCLPROF_CMD_REGISTRY_H

#include "cmd/cmd.h"

#include <stddef.h>

/* All commands in the order of help, those of the analyses included; borrowed until registry_release. */
const struct command *registry_commands(size_t *count);

/* NULL when there is none of that name. */
const struct command *registry_find(const char *name);

/* Turns the analyses into commands. Call once, before the others; release it whatever comes back. */
int registry_init(struct error *error);
void registry_release(void);

/* How many threads a command was asked to work with, which analyses can be; the number of processors. */
int registry_jobs(const struct command *command, const struct arguments *arguments);

#endif
