#ifndef NCCLPROF_POSTMORTEM_RECORDED_H
#define NCCLPROF_POSTMORTEM_RECORDED_H

#include "job/job.h"

/* Whose calls a record would show. */

/* Whether the record of a rank would show that it came: it is there, and has its end. */
int is_recorded(const struct job *job, int32_t rank);

/* How many ranks of a communicator are. */
int32_t count_recorded(const struct job *job, const struct job_communicator *communicator);

/* Whether somebody is absent from an instance whose record would show that it came. */
int lacks_a_recorded(const struct job *job, const struct job_instance *instance);

#endif
