#include "diagnose/confidence.h"

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
