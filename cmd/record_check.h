#ifndef NCCLPROF_CMD_RECORD_CHECK_H
#define NCCLPROF_CMD_RECORD_CHECK_H

/*
 * What `record --check` tells on standard output, a line each: whether the plugin can be loaded, which NCCL
 * is around and whether it takes profiler plugins, where the traces will go and how much room is there. Reads
 * the environment that the job would get: call when it is set. Nothing of NCCL is loaded. Returns how many
 * things are wrong; what cannot be told is none.
 */
int record_check(void);

#endif
