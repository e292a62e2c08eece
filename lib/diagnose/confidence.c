#include "diagnose/confidence.h"

#include "base/scale.h"
#include "diagnose/rules_coverage.h"
#include "diagnose/rules_noise.h"
#include "diagnose/rules_worth.h"
#include "diagnose/worth.h"

enum confidence confidence_of(const struct suspects *suspects, struct suspect *suspect,
                              const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct diagnose_options *options,
                              const struct rule_set *off)
{
    double worth = suspect_worth_shown(suspect, &measures->lengthening, job, baseline);
    suspect_ask_coverage(suspect, job, baseline);
    suspect_ask_steps(suspect, &measures->lengthening);
    suspect_ask_worth(suspect, suspects, worth, &measures->lengthening, job, baseline, options);
    suspect_ask_noise(suspect, worth, &measures->slowness, job, baseline);
    readings_forget(&suspect->readings, off);
    return readings_allow(&suspect->readings);
}

int64_t confidence_least_of_several_ns(const struct baseline *baseline,
                                       const struct diagnose_options *options)
{
    return scale(baseline->median_step_ns, options->min_gain);
}

int64_t confidence_least_of_all_ns(const struct baseline *baseline, const struct diagnose_options *options)
{
    double least = limit_of(LIMIT_BY_DESIGN);
    return scale(baseline->median_step_ns, options->min_gain > least ? options->min_gain : least);
}

int64_t confidence_least_alone_ns(const struct baseline *baseline, const struct diagnose_options *options,
                                  int64_t greatest_ns)
{
    double late = limit_of(LIMIT_LATE_GPU);
    double least = options->min_gain > late ? options->min_gain : late;
    int64_t cost_ns = scale(baseline->median_step_ns, least),
            ahead_ns = scale(greatest_ns, limit_of(LIMIT_AHEAD_GPU));
    return cost_ns > ahead_ns ? cost_ns : ahead_ns;
}

double confidence_most_chance(void)
{
    return limit_of(LIMIT_CHANCE_BEHIND);
}
