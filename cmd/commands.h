#ifndef NCCLPROF_CMD_COMMANDS_H
#define NCCLPROF_CMD_COMMANDS_H

#include "cmd/cmd.h"

/* What each command's file exports to registry.c. */
extern const struct command command_record;
extern const struct command command_ingest;
extern const struct command command_merge;
extern const struct command command_info;
extern const struct command command_watch;
extern const struct command command_query;
extern const struct command command_completion;

/* Runs context->command->analysis (analysis.c). */
int command_run_analysis(struct context *context, const struct arguments *arguments);

#endif
