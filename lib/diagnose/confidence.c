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
    return suspect->kind == FINDING_NETWORK && suspect->counted_steps <= 2 &&
           worth * suspect->counted_steps >= most;
}

static int is_long_network(const struct suspect *suspect, double worth)
{
    return suspect->kind == FINDING_NETWORK && worth >= limit_of(LIMIT_LONGER_TWO);
}

/*
 * GPUs and hosts have no such moments. Where everything that a rank does is recorded, no healthy host was
 * late for a quarter of a step and that far ahead of all others, and no GPU for a tenth. Where only finished
 * operations are recorded, lateness that continues from the first step may be the warm-up.
 */
static int is_late_enough_alone(const struct suspect *suspect, const struct job *job, double worth)
{
    if (suspect->kind == FINDING_NETWORK)
        return 0;
    if (job->finished_only && (suspect->after_warm_up || job_may_lack_operations(job)))
        return 0;
    return (worth >= limit_of(LIMIT_LATE_ALONE) && suspect->ahead >= limit_of(LIMIT_AHEAD_MANY)) ||
           (suspect->kind == FINDING_COMPUTE && worth >= limit_of(LIMIT_LATE_GPU) &&
            suspect->ahead >= limit_of(LIMIT_AHEAD_GPU));
}

/*
 * Rules for several steps: compares them with chance, more strictly if a single step of another rank is
 * beyond the weakest, because slow moments come in rows, too.
 */
static void ask_rows(struct suspect *suspect, double worth)
{
    double pause = limit_of(LIMIT_PAUSE);
    int is_behind = suspect->ahead < 1 && !is_long_network(suspect, worth);
    if (!is_pause(suspect, worth, pause))
        suspect_ask(suspect, is_behind ? RULE_CHANCE_BEHIND : RULE_CHANCE, suspect->chance);
    if (!is_pause(suspect, worth, pause / limit_of(LIMIT_SURE)))
        suspect_ask(suspect, RULE_CHANCE_SURE, suspect->chance);
}

/*
 * Rules for two steps. A network that is slow in one step is often slow in the next, so two steps are hardly
 * more evidence than one. Others whose two steps are worth less than a single step would need must be further
 * ahead than a slow moment in a row.
 */
static void ask_two(struct suspect *suspect, double worth)
{
    suspect_ask(suspect, RULE_AHEAD_LITTLE_TWO,
                worth < limit_of(LIMIT_LITTLE_TWO) ? suspect->ahead : NOT_ASKED);
    if (!is_long_network(suspect, worth) && !is_pause(suspect, worth, limit_of(LIMIT_PAUSE)))
        suspect_ask(suspect, RULE_AHEAD_NETWORK_TWO, suspect->ahead);
}

static void ask_alone(struct suspect *suspect, double worth, const struct job *job)
{
    double pause = limit_of(LIMIT_PAUSE), far = limit_of(LIMIT_FAR_AHEAD), sure = limit_of(LIMIT_SURE);
    if (suspect->ahead < far && !is_pause(suspect, worth, pause) &&
        !is_late_enough_alone(suspect, job, worth))
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

/*
 * Applies the rules about noise to a suspect. `worth` is suspect_impact_shown; `slowness` is that of a
 * network suspect.
 */
static void suspect_ask_noise(struct suspect *suspect, double worth, const struct slowness *slowness,
                              const struct job *job, const struct baseline *baseline)
{
    if (suspect->counted_steps > 1)
        ask_rows(suspect, worth);
    if (suspect->counted_steps == 2)
        ask_two(suspect, worth);
    if (suspect->counted_steps == 1)
        ask_alone(suspect, worth, job);
    /* Without network steps, nothing shows how slow the links were. */
    if (suspect->kind == FINDING_NETWORK && slowness->edges)
        ask_slower(suspect, suspect_impact(suspect, baseline), slowness,
                   suspect_is_steady(suspect, baseline));
}

/*
 * Whether another rank was late by far more in all of its steps. These steps then differ from the others in
 * any case, and lateness without a cost may be just that difference.
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
 * Whether the duration of its steps supports the time that its partners waited, where the replay cannot: the
 * steps were longer by at least half of that for no other reason, or may have been, where waiting is passed
 * on by operations that the recorder leaves out.
 */
static int is_shown_by_steps(const struct suspect *suspect, const struct lengthening *lengthening,
                             const struct job *job)
{
    int64_t longer_ns = job->blind_to_pairs ? max_unshared_step_excess(lengthening) : lengthening->least_ns;
    return longer_ns > 0 && longer_ns >= suspect->margin_ns / 2;
}

/*
 * The gain, for rules that doubt lateness without a cost; only where a record may be missing that would show
 * the cost.
 */
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
 * Whether the suspect has so many steps that its other steps cannot show that it is more than a difference by
 * design: all steps, nearly all for a host (other work on its machine may keep it busy), more than half for a
 * network or where only finished operations are recorded.
 */
static int differs_by_design(const struct suspect *suspect, const struct job *job,
                             const struct baseline *baseline)
{
    double extent = suspect_extent(suspect, baseline);
    if (suspect->kind == FINDING_NETWORK || job->finished_only)
        return extent > limit_of(LIMIT_HALF);
    return extent >= limit_of(suspect->kind == FINDING_HOST ? LIMIT_NEARLY_ALL : LIMIT_ALL);
}

/* Whether another rank of its role was late by half as much in more than half of its steps. */
static int is_one_of_several(const struct suspects *suspects, const struct suspect *suspect,
                             const struct baseline *baseline)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *other = &suspects->items[i];
        if (other->kind != FINDING_NETWORK && other->rank != suspect->rank &&
            baseline->role_of_rank[other->rank] == role &&
            suspects_shared_steps(suspect, other) * 2 > suspect_steps(suspect) &&
            other->total_ns / suspect_steps(other) >= suspect->total_ns / suspect_steps(suspect) / 2)
            return 1;
    }
    return 0;
}

/*
 * Whether the rank alone is late among several ranks that do the same work. A design makes a role heavier,
 * not one of its ranks, unless the amounts of data that they receive differ.
 */
static int differs_from_its_peers(const struct suspects *suspects, const struct suspect *suspect,
                                  const struct baseline *baseline)
{
    return suspect->kind != FINDING_NETWORK && !baseline->explained_ns &&
           baseline->same_work[suspect->rank] > limit_of(LIMIT_RANKS_OF_ROLE) &&
           !is_one_of_several(suspects, suspect, baseline);
}

/* Applies the rules about the size of a suspect. `worth` is suspect_impact_shown. */
static void suspect_ask_impact(struct suspect *suspect, const struct suspects *suspects, double worth,
                               const struct lengthening *lengthening, const struct job *job,
                               const struct baseline *baseline, const struct diagnose_options *options)
{
    double gains = worth / options->min_gain;
    suspect_ask(suspect, RULE_WORTH, gains);
    suspect_ask(suspect, RULE_WORTH_MOMENT, suspect->counted_steps < 2 ? worth : NOT_ASKED);
    suspect_ask(suspect, RULE_WORTH_SURE, gains);
    int may_be_design =
        differs_by_design(suspect, job, baseline) && !differs_from_its_peers(suspects, suspect, baseline);
    suspect_ask(suspect, RULE_BY_DESIGN, may_be_design ? worth : NOT_ASKED);
    suspect_ask(suspect, RULE_NO_GAIN, measure_gain(suspect, suspects, lengthening, job, baseline, options));
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
    int counts = suspect->kind == FINDING_NETWORK && worth > 0 &&
                 suspect_longer(suspect, lengthening) <= limit_of(LIMIT_UNEXPLAINED);
    return counts && least > worth ? least : worth;
}

enum confidence confidence_of(const struct suspects *suspects, struct suspect *suspect,
                              const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct diagnose_options *options,
                              const struct rule_set *off)
{
    double worth = suspect_impact_shown(suspect, &measures->lengthening, job, baseline);
    suspect_ask_coverage(suspect, job, baseline);
    suspect_ask_steps(suspect, &measures->lengthening);
    suspect_ask_impact(suspect, suspects, worth, &measures->lengthening, job, baseline, options);
    suspect_ask_noise(suspect, worth, &measures->slowness, job, baseline);
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
