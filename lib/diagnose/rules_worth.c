#include "diagnose/rules_worth.h"

#include "diagnose/rules_coverage.h"
#include "diagnose/worth.h"

/*
 * Whether another rank was late by far more in all of its steps: they are no longer like the others then, and
 * what costs nothing in them may be what they are like.
 */
static int is_in_shadow(const struct suspects *suspects, const struct suspect *suspect)
{
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *other = &suspects->items[i];
        if (other->rank != suspect->rank && other->first_step <= suspect->first_step &&
            other->last_step >= suspect->last_step &&
            (double)other->gain_ns / suspect_steps(other) >=
                limit_of(LIMIT_SHADOW) * (double)suspect->total_ns / suspect_steps(suspect))
            return 1;
    }
    return 0;
}

/*
 * Whether the length of its steps speaks for what its partners waited for it, where the replay cannot: they
 * were longer by half of that, or more, for no other reason; or may have been, where waiting is passed on by
 * what the recorder leaves out.
 */
static int is_shown_by_steps(const struct suspect *suspect, const struct lengthening *lengthening,
                             const struct job *job)
{
    int64_t longer_ns = job->blind_to_pairs ? most_unshared(lengthening) : lengthening->least_ns;
    return longer_ns > 0 && longer_ns >= suspect->margin_ns / 2;
}

/* A rank that is late at no cost is believed only where nothing is missing that would show the cost. */
static double measure_gain(const struct suspect *suspect, const struct suspects *suspects,
                           const struct lengthening *lengthening, const struct job *job,
                           const struct baseline *baseline, const struct diagnose_options *options)
{
    if (is_shown_by_steps(suspect, lengthening, job) ||
        (!job_has_gaps(job) && !is_in_shadow(suspects, suspect)))
        return NOT_ASKED;
    return suspect_share(suspect, baseline, suspect->gain_ns) / options->min_gain;
}

/*
 * In too many steps for its past to tell it from what ranks and links differ by anyway: in all, or in nearly
 * all where that is a host, which others on its machine may keep busy; in most where that is a network, or
 * where nothing but finished operations is listed.
 */
static int differs_by_design(const struct suspect *suspect, const struct job *job,
                             const struct baseline *baseline)
{
    double extent = suspect_extent(suspect, baseline);
    if (suspect->kind == FINDING_NETWORK || job->finished_only)
        return extent > limit_of(LIMIT_HALF);
    return extent >= limit_of(suspect->kind == FINDING_HOST ? LIMIT_NEARLY_ALL : LIMIT_ALL);
}

void suspect_ask_worth(struct suspect *suspect, const struct suspects *suspects, double worth,
                       const struct lengthening *lengthening, const struct job *job,
                       const struct baseline *baseline, const struct diagnose_options *options)
{
    double gains = worth / options->min_gain;
    suspect_ask(suspect, RULE_WORTH, gains);
    suspect_ask(suspect, RULE_WORTH_MOMENT, suspect->counted_steps < 2 ? worth : NOT_ASKED);
    suspect_ask(suspect, RULE_WORTH_SURE, gains);
    suspect_ask(suspect, RULE_BY_DESIGN, differs_by_design(suspect, job, baseline) ? worth : NOT_ASKED);
    suspect_ask(suspect, RULE_NO_GAIN, measure_gain(suspect, suspects, lengthening, job, baseline, options));
    /* What made its steps longer may be a rank that left no trace, and this an effect of it. */
    suspect_ask(suspect, RULE_SILENT_RANK,
                job_silent_ranks(job) ? suspect_longer(suspect, lengthening) : NOT_ASKED);
}
