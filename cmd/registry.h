#ifndef NCCLPROF_CMD_REGISTRY_H
#define NCCLPROF_CMD_REGISTRY_H

#include "cmd/cmd.h"

#include <stddef.h>

/*
 * All commands, those of the analyses included: command number `at` into *command, or 0 past the last one.
 * What it points to lives as long as the program.
 */
int registry_command(size_t at, struct command *command);

/* 0 when there is none of that name. */
int registry_find(const char *name, struct command *command);

/* Turns the analyses into commands. Call once, before the others. */
int registry_init(struct error *error);
void registry_release(void);

#endif
