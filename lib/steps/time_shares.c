#include "steps/time_shares.h"

#include "steps/step_summary.h"

#include <stdlib.h>

/* Where one step does not tell, the sum would be of fewer steps than its whole. */
static void add(int64_t *sum_ns, int64_t step_ns)
{
    if (*sum_ns != TIME_UNKNOWN)
        *sum_ns = step_ns == TIME_UNKNOWN ? TIME_UNKNOWN : *sum_ns + step_ns;
}

int time_shares_measure(struct time_shares *shares, const struct job *job, const struct baseline *baseline)
{
    *shares = (struct time_shares){
        .communication_ns = TIME_UNKNOWN, .waiting_ns = TIME_UNKNOWN, .usual_step_ns = TIME_UNKNOWN};
    /* Without times steps are counted in lines. */
    if (!baseline->step_ns || !(job->timed_operations || job->traffic_count))
        return 0;
    struct step_summary *steps = step_summaries_new(job, baseline);
    if (!steps)
        return -1;
    shares->communication_ns = shares->waiting_ns = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count && step < job->step_count; step++) {
        if (steps[step].duration_ns == TIME_UNKNOWN)
            continue;
        shares->steps_ns += steps[step].duration_ns;
        add(&shares->communication_ns, steps[step].communication_ns);
        add(&shares->waiting_ns, steps[step].waiting_ns);
        shares->usual_step_ns = steps[step].usual_ns;
    }
    free(steps);
    if (shares->steps_ns <= 0)
        shares->communication_ns = shares->waiting_ns = TIME_UNKNOWN;
    return 0;
}
