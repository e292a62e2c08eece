#ifndef NCCLPROF_JOB_RECORD_H
#define NCCLPROF_JOB_RECORD_H

#include "job/job.h"

/* Where an operation stands in the traces, and when it began by the clocks there. */
struct job_record {
    char *file;          /* owned; NULL: not known */
    int64_t byte_offset; /* in the unpacked file */
    int64_t at_ns;       /* on the clock of its process, as the file has it; TIME_UNKNOWN */
    int64_t wall_ns;     /* since 1970, UTC; TIME_UNKNOWN */
};

/* Looks up an operation of a job that was loaded from a store. Release the record whatever comes back. */
int job_find_record(const struct job *job, size_t operation, struct job_record *record, struct error *error);
/* The same of a warning (struct job_warning), by its id. The clock of a log is no wall clock: it has no zone.
 */
int job_find_warning(const struct job *job, int64_t warning, struct job_record *record, struct error *error);
void job_record_release(struct job_record *record);

#endif
