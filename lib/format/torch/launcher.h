#ifndef NCCLPROF_FORMAT_TORCH_LAUNCHER_H
#define NCCLPROF_FORMAT_TORCH_LAUNCHER_H

#include "format/text.h"

/*
 * What launchers print of a process that a signal ended, or that the system killed:
 *
 *     srun: error: node017: task 5: Killed
 *     mpirun noticed that process rank 5 with PID 4711 on node node017 exited on signal 9 (Killed).
 *
 * and torchrun, in several lines, of which the number of the rank comes before the signal:
 *
 *       rank      : 5 (local_rank: 1)
 *       exitcode  : -9 (pid: 4711)
 *
 * Not that a process aborted, exited by itself or was terminated: ranks do that for the fault of another one.
 */
struct launcher_state {
    int64_t rank; /* that torchrun tells of; COUNT_UNKNOWN */
};

/* The global rank that a line says has ended; COUNT_UNKNOWN. */
int64_t launcher_ended_rank(struct launcher_state *state, struct text line);

#endif
