#ifndef NCCLPROF_JOIN_LOG_DOUBLES_H
#define NCCLPROF_JOIN_LOG_DOUBLES_H

#include "join/log_blocks.h"

/* Leaves out the operations that an earlier record tells of. */
int logs_leave_out_doubles(struct logs *logs, struct error *error);

#endif
