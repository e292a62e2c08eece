#include "diagnose/rules_noise.h"

#include "diagnose/rules_coverage.h"
#include "diagnose/worth.h"

/*
 * Moments in which the network steps wait several times as long, operations take half as long again and steps
 * a fifth are seen on healthy hosts: most last for a step or two. None made one step longer by one and a
 * half, or two in a row by half a step each. Of those that lasted for three and more, none was as slow, or as
 * far ahead, and made all steps longer.
 */

/* As long as no healthy network made a step or two, whatever there is of other such. */
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
 * GPUs and hosts have no such moments: where all that a rank does is recorded, no healthy host was late for a
 * quarter of a step and so far ahead of any other, and no GPU for a tenth. Where only what finished is
 * recorded, what goes on from the first step may be the warm-up.
 */
static int is_late_enough_alone(const struct suspect *suspect, const struct job *job, double worth)
{
    if (suspect->kind == FINDING_NETWORK)
        return 0;
    if (job->finished_only && (suspect->after_warm_up || job_may_hide_operations(job)))
        return 0;
    return (worth >= limit_of(LIMIT_LATE_ALONE) && suspect->ahead >= limit_of(LIMIT_AHEAD_MANY)) ||
           (suspect->kind == FINDING_COMPUTE && worth >= limit_of(LIMIT_LATE_GPU) &&
            suspect->ahead >= limit_of(LIMIT_AHEAD_GPU));
}

/*
 * Several steps are held against chance; and more so where some other one alone is beyond the weakest:
 * moments come in rows, too.
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
 * What makes a network slow in one step often does so in the next: two steps are hardly more than one. Of the
 * others, two that are worth less than one alone would have to be are further ahead than moments in a row.
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
 * Links that share a host or a switch have their slow moments: what makes a finding is slower than they are,
 * or lasts longer and costs more or is far ahead of anything else. Links differ by design, too: one that is
 * slow in every step has to be so much slower than others.
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

void suspect_ask_noise(struct suspect *suspect, double worth, const struct slowness *slowness,
                       const struct job *job, const struct baseline *baseline)
{
    if (suspect->counted_steps > 1)
        ask_rows(suspect, worth);
    if (suspect->counted_steps == 2)
        ask_two(suspect, worth);
    if (suspect->counted_steps == 1)
        ask_alone(suspect, worth, job);
    /* Without network steps nothing says how slow links were. */
    if (suspect->kind == FINDING_NETWORK && slowness->edges)
        ask_slower(suspect, suspect_worth(suspect, baseline), slowness, suspect_is_steady(suspect, baseline));
}
