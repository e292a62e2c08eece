#include "diagnose/worth.h"

double suspect_share(const struct suspect *suspect, const struct baseline *baseline, int64_t time_ns)
{
    if (!baseline->median_step_ns)
        return 0;
    return (double)time_ns / suspect_steps(suspect) / (double)baseline->median_step_ns;
}

double suspect_extent(const struct suspect *suspect, const struct baseline *baseline)
{
    return ratio_of(suspect_steps(suspect), baseline->step_count - baseline->first_step);
}

int suspect_is_steady(const struct suspect *suspect, const struct baseline *baseline)
{
    return suspect_extent(suspect, baseline) >= limit_of(LIMIT_ALL);
}

double suspect_worth(const struct suspect *suspect, const struct baseline *baseline)
{
    int64_t time_ns = suspect->gain_ns;
    if (suspect->margin_ns > time_ns && !suspect_is_steady(suspect, baseline))
        time_ns = suspect->margin_ns;
    return suspect_share(suspect, baseline, time_ns);
}

double suspect_longer(const struct suspect *suspect, const struct lengthening *lengthening)
{
    return ratio_of(lengthening->least_ns, suspect->total_ns);
}

/*
 * Where files were lost the replay lacks what passed waiting on: of a network, the length of its steps says
 * it. Where none was, no more of that than what it amounts to.
 */
double suspect_worth_shown(const struct suspect *suspect, const struct lengthening *lengthening,
                           const struct job *job, const struct baseline *baseline)
{
    double worth = suspect_worth(suspect, baseline);
    int64_t least_ns = lengthening->least_ns;
    if (!job->lacks_files && least_ns > suspect->total_ns)
        least_ns = suspect->total_ns;
    double least = suspect_share(suspect, baseline, least_ns);
    int counts = suspect->kind == FINDING_NETWORK && worth > 0 &&
                 suspect_longer(suspect, lengthening) <= limit_of(LIMIT_UNEXPLAINED);
    return counts && least > worth ? least : worth;
}
