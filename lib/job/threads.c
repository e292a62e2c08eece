#include "job/threads.h"

/* With fewer operations for each, starting threads would take longer than what they save. */
enum { OPERATIONS_A_THREAD = 2048 };

size_t job_threads(const struct job *job)
{
    return parallel_threads(job->threads, job->operation_count, OPERATIONS_A_THREAD);
}
