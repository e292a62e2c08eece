#ifndef NCCLPROF_JOIN_LOG_ORDER_H
#define NCCLPROF_JOIN_LOG_ORDER_H

#include "join/log_blocks.h"

/* Numbers the files of a process in the order of their records. 1: some have other numbers now. */
int logs_order_files(struct logs *logs, struct error *error);

#endif
