#ifndef NCCLPROF_CMD_COMPLETION_H
#define NCCLPROF_CMD_COMPLETION_H

struct context;

/*
 * Completion scripts, made from the option tables. A shell is one file with a `completion_SHELL` that writes
 * its script to standard output, and a line in the table of completion.c.
 */
void completion_bash(const struct context *context);
void completion_fish(const struct context *context);
void completion_zsh(const struct context *context);

#endif
