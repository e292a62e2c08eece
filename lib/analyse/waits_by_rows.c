#include "analyse/waits_by_rows.h"

#include "analyse/diagnosis.h"
#include "job/excerpts.h"
#include "job/load.h"
#include "job/step_rows.h"

#include <stdlib.h>

static int add_loaded(struct delays *delays, const struct step_rows *rows, size_t row, const struct job *job,
                      const struct diagnose_options *options, struct error *error)
{
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    struct delay_steps steps;
    step_row_steps(rows, row, job, &steps.first, &steps.end);
    int failed = excess_find(job, &baseline, &transfers, options, error) ||
                 delays_add(delays, job, &baseline.excess, transfers, steps, error);
    free(transfers);
    baseline_release(&baseline);
    return failed ? -1 : 0;
}

static int add_row(struct delays *delays, const struct step_rows *rows, size_t row, const struct job *names,
                   const struct diagnose_options *options, struct error *error)
{
    struct job job;
    size_t count;
    struct job_excerpt *excerpts = step_row_excerpts(rows, row, &count);
    if (!excerpts)
        return error_no_memory(error);
    if (job_load_steps(&job, names->store, names->run_id, excerpts, count, error))
        return -1;
    int failed = add_loaded(delays, rows, row, &job, options, error);
    job_release(&job);
    return failed;
}

int waits_by_rows(const struct job *job, const struct diagnose_options *options, struct delay **delays,
                  size_t *rows, struct error *error)
{
    struct step_rows found;
    struct delays *adding = delays_new(job);
    int failed = step_rows_find(&found, job, options->memory_bytes / JOB_OPERATION_BYTES, error);
    if (!failed && !adding)
        failed = error_no_memory(error);
    for (size_t row = 0; !failed && row < found.count; row++)
        failed = add_row(adding, &found, row, job, options, error);
    *rows = found.count;
    step_rows_release(&found);
    *delays = adding ? delays_end(adding) : NULL;
    if (!failed)
        return 0;
    free(*delays);
    *delays = NULL;
    return -1;
}
