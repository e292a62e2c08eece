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
 * Nor that a process was killed behind that: who ends a step so kills what is left of it.
 */
struct launcher_state {
    int64_t rank;      /* that torchrun tells of; COUNT_UNKNOWN */
    int is_step_ended; /* a task ended for itself, or all of them are ended */
};

/* The global rank that a line says has ended; COUNT_UNKNOWN. Of a task (`is_task`) the number is that of its
 * rank only where no task starts several ranks. */
int64_t launcher_ended_rank(struct launcher_state *state, struct text line, int *is_task);

/* Whether a line shows that torchrun, or the like, started the ranks of a host: a task may be several of
 * them. */
int launcher_starts_several(struct text line);

#endif
