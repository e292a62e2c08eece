/*
 * Decides the confidence of a suspect: applies the rules about its worth and about noise, and takes the
 * lowest cap of all violated rules. verdict.c calls it with the measures of the suspect.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/suspect.h"
#include "job/job.h"

/*
 * Healthy hosts have slow moments, in which network steps wait several times their baseline, operations take
 * half as long again, and steps a fifth longer; most last one or two steps. In the recorded healthy jobs,
 * none made a single step longer by one and a half steps, or two in a row by half a step each. Of those that
 * lasted three steps or more, none was as slow or as far ahead of others and also made every step longer.
 */

/* Whether its steps were longer than any healthy network made one or two steps, whatever other steps show. */
static int is_pause(const struct suspect *suspect, double worth, double most)
{
    return suspect->counted_steps <= 2 && worth * suspect->counted_steps >= most;
}

/*
 * Rules for several steps: compares them with chance, more strictly if a single step of another rank is
 * beyond the weakest, because slow moments come in rows, too.
 */
static void ask_rows(struct suspect *suspect, double worth)
{
    double pause = limit_of(LIMIT_PAUSE);
    int is_behind = suspect->ahead < 1 && worth < limit_of(LIMIT_LONGER_TWO);
    if (!is_pause(suspect, worth, pause))
        suspect_ask(suspect, is_behind ? RULE_CHANCE_BEHIND : RULE_CHANCE, suspect->chance);
    if (!is_pause(suspect, worth, pause / limit_of(LIMIT_SURE)))
        suspect_ask(suspect, RULE_CHANCE_SURE, suspect->chance);
}

/*
 * The rule for two steps. A network that is slow in one step is often slow in the next, so two steps are
 * hardly more evidence than one.
 */
static void ask_two(struct suspect *suspect, double worth)
{
    if (worth < limit_of(LIMIT_LONGER_TWO) && !is_pause(suspect, worth, limit_of(LIMIT_PAUSE)))
        suspect_ask(suspect, RULE_AHEAD_NETWORK_TWO, suspect->ahead);
}

static void ask_alone(struct suspect *suspect, double worth)
{
    double pause = limit_of(LIMIT_PAUSE), far = limit_of(LIMIT_FAR_AHEAD), sure = limit_of(LIMIT_SURE);
    if (suspect->ahead < far && !is_pause(suspect, worth, pause))
        suspect_ask(suspect, RULE_CHANCE_ALONE, suspect->chance);
    if (suspect->ahead < far / sure && !is_pause(suspect, worth, pause / sure))
        suspect_ask(suspect, RULE_CHANCE_ALONE_SURE, suspect->chance);
}

/*
 * Links that share a host or a switch have slow moments. A finding has to be slower than these, or last
 * longer and either cost more or be far ahead of everything else. Links also differ by design, so a link that
 * is slow in every step has to be slower by that factor in any case.
 */
static void ask_slower(struct suspect *suspect, double worth, const struct slowness *slowness, int is_steady)
{
    int is_far = suspect->ahead >= limit_of(LIMIT_AHEAD_MANY), is_many = 0,
        is_longer = worth >= limit_of(LIMIT_LONGER_MANY);
    if (suspect->counted_steps > 2 && !is_steady) {
        if (worth >= limit_of(LIMIT_LONGER_STEPS) || (is_far && is_longer))
            return;
        is_many = is_far || (suspect->ahead >= 1 && is_longer);
    }
    if (slowness->operations &&
        (double)slowness->transfer_ns >=
            limit_of(LIMIT_SLOWER_OPERATIONS) * (double)(slowness->transfer_ns - slowness->slow_ns))
        return;
    const struct edge_sum *worse = slowness->worse;
    double slower = worse->steps ? ratio_of(worse->wait_ns, worse->wait_ns - worse->extra_ns) : 0;
    suspect_ask(suspect, is_many ? RULE_NOT_SLOWER_MANY : RULE_NOT_SLOWER, slower);
}

/* Applies the rules about noise to a suspect. `worth` is suspect_impact_shown. */
static void suspect_ask_noise(struct suspect *suspect, double worth, const struct slowness *slowness,
                              const struct baseline *baseline)
{
    if (suspect->counted_steps > 1)
        ask_rows(suspect, worth);
    if (suspect->counted_steps == 2)
        ask_two(suspect, worth);
    if (suspect->counted_steps == 1)
        ask_alone(suspect, worth);
    /* Without network steps, nothing shows how slow the links were. */
    if (slowness->edges)
        ask_slower(suspect, suspect_impact(suspect, baseline), slowness,
                   suspect_is_steady(suspect, baseline));
}

/* Applies the rules about the size of a suspect. `worth` is suspect_impact_shown. */
static void suspect_ask_impact(struct suspect *suspect, double worth, const struct lengthening *lengthening,
                               const struct job *job, const struct baseline *baseline,
                               const struct diagnose_options *options)
{
    double gains = worth / options->min_gain;
    suspect_ask(suspect, RULE_WORTH, gains);
    suspect_ask(suspect, RULE_WORTH_MOMENT, suspect->counted_steps < 2 ? worth : NOT_ASKED);
    suspect_ask(suspect, RULE_WORTH_SURE, gains);
    /* Its other steps are too few to show that it is more than a difference by design. */
    suspect_ask(suspect, RULE_BY_DESIGN,
                suspect_extent(suspect, baseline) > limit_of(LIMIT_HALF) ? worth : NOT_ASKED);
    /* The cause of the longer steps may be a rank that left no trace, with this suspect as an effect. */
    suspect_ask(suspect, RULE_SILENT_RANK,
                job_silent_ranks(job) ? suspect_longer(suspect, lengthening) : NOT_ASKED);
}

/*
 * Where files were lost, the replay lacks the operations that passed waiting on, so for a network the
 * duration of its steps counts. Where no file was lost, that counts only up to the suspect's own excess.
 */
static double suspect_impact_shown(const struct suspect *suspect, const struct lengthening *lengthening,
                                   const struct job *job, const struct baseline *baseline)
{
    double worth = suspect_impact(suspect, baseline);
    int64_t least_ns = lengthening->least_ns;
    if (!job->lacks_files && least_ns > suspect->total_ns)
        least_ns = suspect->total_ns;
    double least = suspect_share(suspect, baseline, least_ns);
    int counts = worth > 0 && suspect_longer(suspect, lengthening) <= limit_of(LIMIT_UNEXPLAINED);
    return counts && least > worth ? least : worth;
}

enum confidence confidence_of(struct suspect *suspect, const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct transfer_excess *transfers,
                              const struct diagnose_options *options, const struct rule_set *off)
{
    double worth = suspect_impact_shown(suspect, &measures->lengthening, job, baseline);
    suspect_ask_record(suspect, job, baseline, transfers);
    suspect_ask_steps(suspect, &measures->lengthening);
    suspect_ask_impact(suspect, worth, &measures->lengthening, job, baseline, options);
    suspect_ask_noise(suspect, worth, &measures->slowness, baseline);
    suspect_ask(suspect, RULE_RECEIVERS_DRAIN, measures->drain);
    rule_results_remove(&suspect->rule_results, off);
    return rule_results_confidence(&suspect->rule_results);
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
    int64_t cost_ns = confidence_least_of_all_ns(baseline, options),
            ahead_ns = scale(greatest_ns, limit_of(LIMIT_AHEAD_MANY));
    return cost_ns > ahead_ns ? cost_ns : ahead_ns;
}
