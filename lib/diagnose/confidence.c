#include "diagnose/confidence.h"

#include "base/scale.h"
#include "diagnose/significance.h"
#include "job/stages.h"

/* Chance beyond this keeps a suspicion at low confidence; a tenth of it is needed for high. */
static const double CHANCE = 0.05;
static const double SURE = 0.1;

/* Several steps of which some other one alone is beyond the weakest: moments come in rows, too. */
static const double CHANCE_BEHIND = 0.0002;

/*
 * What makes a network slow in one step often does so in the next: two steps are hardly more than one. Of the
 * others, two that are worth less than one alone would have to be are further ahead than moments in a row.
 */
static const double AHEAD_OF_FEW = 3;
static const double LITTLE_TWO = 0.06;
static const double AHEAD_OF_LITTLE = 1.5;

/*
 * Moments in which the network steps wait several times as long, operations take half as long again and steps
 * a fifth are seen on healthy hosts: most last for a step or two. None made one step longer by one and a
 * half, or two in a row by half a step each.
 */
static const double LONGER_ALONE = 0.5;
static const double LONGER_TWO = 0.75;
static const double PAUSE_STEPS = 3;
static const double SLOWER_STEPS = 5;
static const double SLOWER_OPERATIONS = 2;

/* Of those that lasted for three and more, none was as slow, or as far ahead, and made all steps longer. */
static const double LONGER_MANY = 0.1;
static const double SLOWER_MANY = 3;
static const double LONGER_STEPS = 0.25;

/* As long as no healthy network made a step or two, whatever there is of other such. */
static int is_pause(const struct suspect *suspect, double share)
{
    return suspect->kind == FINDING_NETWORK && suspect->counted_steps <= 2 &&
           share * suspect->counted_steps >= PAUSE_STEPS;
}

static int is_ahead_of_few(const struct suspect *suspect, double share)
{
    if (suspect->kind != FINDING_NETWORK)
        return suspect->ahead >= (share < LITTLE_TWO ? AHEAD_OF_LITTLE : 1);
    return suspect->ahead >= AHEAD_OF_FEW || share >= LONGER_TWO;
}

static double most_chance(const struct suspect *suspect, double share)
{
    int is_long = suspect->kind == FINDING_NETWORK && share >= LONGER_TWO;
    return suspect->ahead < 1 && !is_long ? CHANCE_BEHIND : CHANCE;
}

static int is_beyond_chance(const struct suspect *suspect, double share, double part)
{
    if (is_pause(suspect, share * part))
        return 1;
    if (suspect->counted_steps == 2 && !is_ahead_of_few(suspect, share))
        return 0;
    if (suspect->counted_steps > 1)
        return suspect->chance <= most_chance(suspect, share) * part;
    return suspect_stands_alone(suspect, part);
}

/* Recorders lose one here and there: one in so many operations hides nothing that lasts. */
enum { FEW_LOST = 50 };

/* Records missing between others, or lines lost, leave room for another explanation. */
static int has_gaps(const struct job *job)
{
    return job->damaged_lines || job->lost_events ||
           job->missing_sequence - job->left_out_by_all > (int64_t)(job->operation_count / FEW_LOST);
}

/* Whether an operation may be unrecorded that a rank waited in: lost, or left out between stages. */
static int may_hide_operations(const struct job *job)
{
    return has_gaps(job) || job_hides_pairs_of_stages(job);
}

/*
 * GPUs and hosts have no such moments: where all that a rank does is recorded, no healthy host was late for a
 * quarter of a step and so far ahead of any other, and no GPU for a tenth. Where only what finished is
 * recorded, what goes on from the first step may be the warm-up.
 */
static int is_late_enough_alone(const struct suspect *suspect, const struct job *job, double share)
{
    if (suspect->kind == FINDING_NETWORK || suspect->counted_steps != 1)
        return 0;
    if (job->finished_only && (suspect->after_warm_up || may_hide_operations(job)))
        return 0;
    return (share >= LONGER_STEPS && suspect->ahead >= AHEAD_OF_MANY) ||
           (suspect->kind == FINDING_COMPUTE && share >= LONGER_MANY && suspect->ahead >= AHEAD_OF_FEW);
}

/* In every step there is, the warm-up left out: only the comparison with peers speaks for it. */
static int is_steady(const struct suspect *suspect, const struct baseline *baseline)
{
    return suspect->first_step == baseline->first_step && suspect->last_step == baseline->step_count - 1;
}

/* In nearly all steps: three of four at least. */
static int is_nearly_steady(const struct suspect *suspect, const struct baseline *baseline)
{
    return suspect_steps(suspect) * 4 >= (baseline->step_count - baseline->first_step) * 3;
}

/* In more steps than not, so that without peers it may as well have been early in the others. */
static int is_mostly(const struct suspect *suspect, const struct baseline *baseline)
{
    return suspect_steps(suspect) * 2 > baseline->step_count - baseline->first_step;
}

/* A time in each of the steps concerned, as a share of a median step. */
static double share_of(const struct suspect *suspect, const struct baseline *baseline, int64_t time_ns)
{
    if (!baseline->median_step_ns)
        return 0;
    return (double)time_ns / suspect_steps(suspect) / (double)baseline->median_step_ns;
}

double suspect_worth(const struct suspect *suspect, const struct baseline *baseline)
{
    int64_t time_ns = suspect->gain_ns;
    if (suspect->margin_ns > time_ns && !is_steady(suspect, baseline))
        time_ns = suspect->margin_ns;
    return share_of(suspect, baseline, time_ns);
}

/* Whether there is no other rank of its role: with records missing, that may be what makes the role. */
static int is_alone_in_role(const struct suspect *suspect, const struct baseline *baseline)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    return suspect->kind != FINDING_NETWORK && role >= 0 && baseline->roles[role].rank_count < 2;
}

/*
 * A step alone is worth saying from twice the least gain on: healthy jobs have small hiccups. Their networks
 * have greater ones: sends that stand still for a moment.
 */
static double least_share(const struct suspect *suspect, const struct diagnose_options *options)
{
    if (suspect->counted_steps > 1)
        return options->min_gain;
    return suspect->kind == FINDING_NETWORK ? LONGER_ALONE : 2 * options->min_gain;
}

/*
 * Links that share a host or a switch have their slow moments: what makes a finding is slower than they are,
 * or lasts longer and costs more or is far ahead of anything else. Links differ by design, too: one that is
 * slow in every step has to be so much slower than others.
 */
static int is_slow_enough(const struct suspect *suspect, const struct baseline *baseline,
                          const struct slowness *slowness)
{
    double share = suspect_worth(suspect, baseline), slower = SLOWER_STEPS;
    if (!slowness->edges)
        return 1;
    if (suspect->counted_steps > 2 && !is_steady(suspect, baseline)) {
        if (share >= LONGER_STEPS || (suspect->ahead >= AHEAD_OF_MANY && share >= LONGER_MANY))
            return 1;
        if (suspect->ahead >= AHEAD_OF_MANY || (suspect->ahead >= 1 && share >= LONGER_MANY))
            slower = SLOWER_MANY;
    }
    const struct edge_sum *worse = slowness->worse;
    if (worse->steps && (double)worse->wait_ns >= slower * (double)(worse->wait_ns - worse->extra_ns))
        return 1;
    return slowness->operations &&
           (double)slowness->transfer_ns >=
               SLOWER_OPERATIONS * (double)(slowness->transfer_ns - slowness->slow_ns);
}

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
                FAR_AHEAD * (double)suspect->total_ns / suspect_steps(suspect))
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

/*
 * In too many steps for its past to tell it from what ranks and links differ by anyway: in all, or in nearly
 * all where that is a host, which others on its machine may keep busy; in most where that is a network, or
 * where nothing but finished operations is listed.
 */
static int differs_by_design(const struct suspect *suspect, const struct job *job,
                             const struct baseline *baseline)
{
    if (suspect->kind == FINDING_NETWORK || job->finished_only)
        return is_mostly(suspect, baseline);
    return suspect->kind == FINDING_HOST ? is_nearly_steady(suspect, baseline) : is_steady(suspect, baseline);
}

/* Whether its steps were longer, for no other reason that is known, by several times what it amounts to. */
static int is_little(const struct suspect *suspect, const struct lengthening *lengthening)
{
    return (double)lengthening->least_ns > UNEXPLAINED * (double)suspect->total_ns;
}

/*
 * Where files were lost the replay lacks what passed waiting on: of a network, the length of its steps says
 * it. Where none was, no more of that than what it amounts to.
 */
static double share_shown(const struct suspect *suspect, const struct lengthening *lengthening,
                          const struct job *job, const struct baseline *baseline)
{
    double share = lengthening->shows ? suspect_worth(suspect, baseline) : 0;
    int64_t least_ns = lengthening->least_ns;
    if (!job->lacks_files && least_ns > suspect->total_ns)
        least_ns = suspect->total_ns;
    double least = share_of(suspect, baseline, least_ns);
    int counts = suspect->kind == FINDING_NETWORK && share > 0 && !is_little(suspect, lengthening);
    return counts && least > share ? least : share;
}

/* One part in so many of what a finding must be worth is as good as no gain: replays are no more exact. */
enum { NO_GAIN_PART = 10 };

enum confidence confidence_of(const struct suspects *suspects, const struct suspect *suspect,
                              const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct diagnose_options *options)
{
    int must_show = suspect->kind == FINDING_NETWORK;
    double share = share_shown(suspect, &measures->lengthening, job, baseline);
    /* A rank that is late at no cost is believed only where nothing is missing that would show the cost. */
    if (share_of(suspect, baseline, suspect->gain_ns) < options->min_gain / NO_GAIN_PART &&
        !is_shown_by_steps(suspect, &measures->lengthening, job) &&
        (has_gaps(job) || is_in_shadow(suspects, suspect)))
        return CONFIDENCE_LOW;
    if (suspect->beside_late_host && suspect->gain_ns < suspect->margin_ns / 2)
        return CONFIDENCE_LOW;
    if ((has_gaps(job) || job->blind_to_pairs || is_mostly(suspect, baseline)) &&
        is_alone_in_role(suspect, baseline))
        return CONFIDENCE_LOW;
    /* Clocks that are off by as much in all steps make ends that are estimated too early for one rank. */
    if (suspect->on_estimates && is_steady(suspect, baseline))
        return CONFIDENCE_LOW;
    /* Such a recorder does not tell trees from rings: the root of a tree always ends after the others. */
    if (job->finished_only && suspect->kind != FINDING_NETWORK && is_steady(suspect, baseline))
        return CONFIDENCE_LOW;
    if (share < least_share(suspect, options) ||
        (differs_by_design(suspect, job, baseline) && share < LONGER_MANY) ||
        (!is_beyond_chance(suspect, share, 1) && !is_late_enough_alone(suspect, job, share)) ||
        suspect->ambiguous || !baseline_is_regular(baseline) || (must_show && !measures->lengthening.shows) ||
        !is_slow_enough(suspect, baseline, &measures->slowness))
        return CONFIDENCE_LOW;
    /* What made them so may be a rank that left no trace, and this an effect of it. */
    if (is_little(suspect, &measures->lengthening) && job_silent_ranks(job))
        return CONFIDENCE_LOW;
    int sure = !is_steady(suspect, baseline) && share >= 2 * options->min_gain &&
               is_beyond_chance(suspect, share, SURE);
    return sure && !has_gaps(job) && !suspect->on_estimates ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
}

int64_t confidence_least_of_several_ns(const struct baseline *baseline,
                                       const struct diagnose_options *options)
{
    return scale(baseline->median_step_ns, options->min_gain);
}

int64_t confidence_least_of_all_ns(const struct baseline *baseline, const struct diagnose_options *options)
{
    return scale(baseline->median_step_ns, options->min_gain > LONGER_MANY ? options->min_gain : LONGER_MANY);
}

int64_t confidence_least_alone_ns(const struct baseline *baseline, const struct diagnose_options *options,
                                  int64_t greatest_ns)
{
    double least = 2 * options->min_gain > LONGER_MANY ? 2 * options->min_gain : LONGER_MANY;
    int64_t cost_ns = scale(baseline->median_step_ns, least), ahead_ns = scale(greatest_ns, AHEAD_OF_FEW);
    return cost_ns > ahead_ns ? cost_ns : ahead_ns;
}

double confidence_most_chance(void)
{
    return CHANCE_BEHIND;
}
