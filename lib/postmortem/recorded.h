#ifndef NCCLPROF_POSTMORTEM_RECORDED_H
#define NCCLPROF_POSTMORTEM_RECORDED_H

#include "job/job.h"

/* Whose calls a record would show. */

/* Whether the record of a rank would show that it came: it is there, and has its end. */
int is_recorded(const struct job *job, int32_t rank);

/* How many ranks of a communicator are. */
int32_t count_recorded(const struct job *job, const struct job_communicator *communicator);

/* By instance, whether somebody is absent from it whose record would show that it came. Freed by the caller;
 * NULL: no memory. */
unsigned char *list_lacking(const struct job *job);

#endif
