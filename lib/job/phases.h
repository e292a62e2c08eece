#ifndef NCCLPROF_JOB_PHASES_H
#define NCCLPROF_JOB_PHASES_H

#include <stddef.h>
#include <stdint.h>

/* What a rank's program did between its operations, by the tags that it set (phases.c). Part of job.h, which
 * includes it. */

struct error;
struct job;
struct job_operation;

/* From this time on, on the clock of the rank's process, this tag is the innermost one. */
struct job_mark {
    int64_t at_ns;
    int32_t tag; /* number in job.tags; -1: none */
};

/* The marks of one rank by time. A phase lasts from its mark to the next, the last one for an unknown time.
 */
struct job_marks {
    struct job_mark *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Adds the tags that the ranks of the job set to job.tags, whether or not they have operations. */
int job_load_tags(struct job *job, struct error *error);

/* Reads the marks of a rank in place of those read before. Needs job_load_tags. -1 on error. */
int job_marks_load(struct job_marks *marks, const struct job *job, int32_t rank, struct error *error);
void job_marks_release(struct job_marks *marks);

/*
 * Calls `take` for each part of the time in which the GPU of a rank had to wait for its host to enqueue an
 * operation (job_lateness), with the tag that was set on the host meanwhile.
 */
void job_late_each(const struct job *job, const struct job_marks *marks,
                   const struct job_operation *operation,
                   void (*take)(void *context, int32_t tag, int64_t ns), void *context);

/* When the operations of a step were issued on a rank, on the clock of its process. */
struct job_issues {
    int64_t first_ns; /* TIME_UNKNOWN, like last_ns: it has none */
    int64_t last_ns;
    int after_gap; /* the steps before it are not loaded */
};

/*
 * Calls `take` for each phase with a tag. The time before an operation belongs to its step, so a phase
 * belongs to the first step that has an operation after the phase began, and to the last step if there is
 * none.
 */
void job_marks_each(const struct job_marks *marks, const struct job_issues *issues, int32_t steps,
                    void (*take)(void *context, int32_t step, int32_t tag, int64_t ns), void *context);

#endif
