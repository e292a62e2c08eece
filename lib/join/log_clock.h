#ifndef NCCLPROF_JOIN_LOG_CLOCK_H
#define NCCLPROF_JOIN_LOG_CLOCK_H

#include "join/log_blocks.h"

/* Finds the steps of the process's clock, and counts times on behind them. */
int logs_mend_clock(struct logs *logs, struct error *error);

#endif
