/*
 * The account of a run: how much time was lost, which part of it each finding explains, and why the rest has
 * no culprit (finding.h). Runs at the end of the search for longer steps.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/longer_steps.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* Fewer steps without a finding than this do not show how long a step takes without one. */
enum { STEPS_WITHOUT_FINDING = 3 };

/* Findings explain less together than the sum of their costs from this share of the sum on. */
static const double LEAST_SIMULTANEOUS = 0.1;

/* What findings claim of each step, and what its duration shows. All arrays are owned, and by step. */
struct claims {
    int64_t *sum_ns;     /* the costs of all findings */
    int64_t *most_ns;    /* the greatest of these */
    int64_t *doubted_ns; /* the costs of findings of low confidence */
    int64_t *joint_ns;   /* what the findings explain together */
    int64_t *over_ns;    /* duration above that of a step without a finding; TIME_UNKNOWN */
    int64_t *middle_ns;  /* the same for the median of the steps without a finding; TIME_UNKNOWN: too few */
    int64_t *noise_ns;   /* of steps without a finding, as in struct usual_steps */
    int64_t *least_ns;   /* how much longer a step must be to count */
    int64_t *rest_ns;    /* time lost that the findings do not explain */
    int64_t *inside_ns;  /* time in transfers of operations, mean over the ranks; TIME_UNKNOWN */
    int64_t *list;       /* room for all steps */
};

static int claims_init(struct claims *claims, size_t steps)
{
    int64_t **const arrays[] = {&claims->sum_ns,  &claims->most_ns,   &claims->doubted_ns, &claims->joint_ns,
                                &claims->over_ns, &claims->middle_ns, &claims->noise_ns,   &claims->least_ns,
                                &claims->rest_ns, &claims->inside_ns, &claims->list};
    int failed = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = array_new(steps + 1, sizeof **arrays[i]);
        failed |= !*arrays[i];
    }
    return failed ? -1 : 0;
}

static void claims_release(struct claims *claims)
{
    free(claims->sum_ns);
    free(claims->most_ns);
    free(claims->doubted_ns);
    free(claims->joint_ns);
    free(claims->over_ns);
    free(claims->middle_ns);
    free(claims->noise_ns);
    free(claims->least_ns);
    free(claims->rest_ns);
    free(claims->inside_ns);
    free(claims->list);
}

static int is_counted(const struct finding *finding)
{
    return finding->confidence > CONFIDENCE_LOW;
}

/* Whether the cost of a finding belongs to certain steps of the job. */
static int has_steps(const struct finding *finding, int32_t step_count)
{
    return finding_is_of_steps(finding) && finding->last_step < step_count;
}

/* The step after the last may show a part of the cost; the arrays have room for it. */
static void add_claim(struct claims *claims, const struct finding *finding)
{
    for (int32_t step = finding->first_step; step <= finding->last_step + 1; step++) {
        int64_t cost_ns = finding_cost_in_step(finding, step);
        if (!is_counted(finding)) {
            claims->doubted_ns[step] += cost_ns;
            continue;
        }
        claims->sum_ns[step] += cost_ns;
        if (cost_ns > claims->most_ns[step])
            claims->most_ns[step] = cost_ns;
    }
}

/* The durations of the steps of a load. `free_only`: only of those without a finding; else less its cost. */
static size_t list_steps(const struct claims *claims, const struct longer_steps *longer,
                         const struct baseline *baseline, int32_t load, int free_only)
{
    size_t count = 0;
    for (int32_t step = longer->started_step; step < baseline->step_count; step++)
        if (longer->usual.load[step] == load && baseline->step_ns[step] != TIME_UNKNOWN &&
            (!free_only || !claims->sum_ns[step]))
            claims->list[count++] = baseline->step_ns[step] - claims->sum_ns[step];
    return count;
}

/* The noise of the steps of a load, and how much longer the median of those without a finding is than
 * `quiet_ns`. */
static void measure_noise(struct claims *claims, const struct longer_steps *longer,
                          const struct baseline *baseline, int32_t load, int64_t quiet_ns)
{
    size_t count = list_steps(claims, longer, baseline, load, 1);
    int is_known = count >= STEPS_WITHOUT_FINDING;
    int64_t noise_ns = is_known ? longer_noise_ns(claims->list, count) : 0;
    count = list_steps(claims, longer, baseline, load, 1);
    int64_t middle_ns = is_known ? median_of(claims->list, count) - quiet_ns : TIME_UNKNOWN;
    for (int32_t step = longer->started_step; step < baseline->step_count; step++)
        if (longer->usual.load[step] == load) {
            claims->noise_ns[step] = is_known ? noise_ns : longer->usual.noise_ns[step];
            claims->middle_ns[step] = middle_ns;
        }
}

/*
 * How much longer each step is than a step of its load without a finding. A fault in all steps makes no step
 * longer than others: where too few steps are without a finding, its cost is subtracted.
 */
static void measure_over(struct claims *claims, const struct longer_steps *longer,
                         const struct baseline *baseline, const struct diagnose_options *options)
{
    for (int32_t load = 0; load < longer->usual.load_count; load++) {
        size_t count = list_steps(claims, longer, baseline, load, 1);
        if (count < STEPS_WITHOUT_FINDING)
            count = list_steps(claims, longer, baseline, load, 0);
        if (count < STEPS_WITHOUT_FINDING)
            continue;
        int64_t quiet_ns = baseline_quantile(claims->list, count);
        measure_noise(claims, longer, baseline, load, quiet_ns);
        for (int32_t step = longer->started_step; step < baseline->step_count; step++) {
            if (longer->usual.load[step] != load || baseline->step_ns[step] == TIME_UNKNOWN)
                continue;
            claims->over_ns[step] = baseline->step_ns[step] - quiet_ns;
            claims->least_ns[step] =
                longer_least_ns(claims->noise_ns[step], quiet_ns > 0 ? quiet_ns : 0, options);
        }
    }
}

/* What the steps of a finding show of its cost. */
struct shown {
    int64_t cost_ns;       /* its cost in those of its steps whose duration is known */
    int64_t alone_ns;      /* same, in those that no other finding has */
    int64_t over_ns;       /* by how much its steps were longer than others and than other findings explain */
    int64_t over_alone_ns; /* same, in the steps that no other finding has, and beside them */
    double variance;
    double variance_alone;
};

static void show_step(struct shown *shown, const struct claims *claims, const struct finding *finding,
                      int32_t step, int32_t step_count)
{
    if (step < 0 || step >= step_count || claims->over_ns[step] == TIME_UNKNOWN ||
        claims->middle_ns[step] == TIME_UNKNOWN)
        return;
    int64_t cost_ns = finding_cost_in_step(finding, step), others_ns = claims->sum_ns[step] - cost_ns;
    double noise_ns = (double)claims->noise_ns[step];
    if (!others_ns) {
        shown->alone_ns += cost_ns;
        shown->over_alone_ns += claims->over_ns[step];
        shown->variance_alone += noise_ns * noise_ns;
    }
    if (finding_has_step(finding, step)) {
        shown->cost_ns += cost_ns;
        shown->over_ns += claims->over_ns[step] - claims->middle_ns[step] - others_ns;
        shown->variance += noise_ns * noise_ns;
    }
}

/* A host that runs ahead shows a delay in the step after or before it. */
static struct shown shown_by(const struct claims *claims, const struct finding *finding, int32_t step_count)
{
    struct shown shown = {0};
    for (int32_t step = finding->first_step - 1; step <= finding->last_step + 1; step++)
        if (finding_has_step(finding, step - 1) || finding_has_step(finding, step) ||
            finding_has_step(finding, step + 1))
            show_step(&shown, claims, finding, step, step_count);
    return shown;
}

/*
 * A finding that explains half of what its steps were longer explains it all (findings_explain). Otherwise it
 * explains no more than its ranks or their transfers were late by, which is not known of proxy threads.
 */
static int64_t most_explained(const struct finding *finding, int64_t longer_ns)
{
    int64_t excess_ns = finding_excess_ns(finding);
    int64_t most_ns = finding->slow_ns > excess_ns ? finding->slow_ns : excess_ns;
    most_ns = most_ns > finding->lost_ns ? most_ns : finding->lost_ns;
    if (finding->notice_ns > 0 || finding->lost_ns >= longer_ns / 2)
        return longer_ns;
    return longer_ns < most_ns ? longer_ns : most_ns;
}

/*
 * The cost of a finding by the duration of its steps, where it differs from that of the replay by more than
 * noise. A replay knows only the dependencies that are recorded, so a fault may cost more. And it cannot cost
 * more than its steps were longer.
 */
static int64_t fitted_cost(const struct shown *shown, const struct finding *finding,
                           const struct diagnose_options *options)
{
    int64_t more_ns = shown->over_ns - shown->cost_ns, less_ns = shown->alone_ns - shown->over_alone_ns;
    if ((double)more_ns > options->sigmas * sqrt(shown->variance))
        return most_explained(finding, finding->lost_ns + more_ns);
    if (shown->alone_ns > 0 && (double)less_ns > options->sigmas * sqrt(shown->variance_alone))
        return scale(finding->lost_ns,
                     shown->over_alone_ns > 0 ? ratio_of(shown->over_alone_ns, shown->alone_ns) : 0);
    return finding->lost_ns;
}

static int claims_find(struct claims *claims, const struct longer_steps *longer,
                       const struct baseline *baseline, const struct findings *findings,
                       const struct diagnose_options *options)
{
    int32_t step_count = baseline->step_count;
    if (claims_init(claims, (size_t)step_count))
        return -1;
    for (int32_t step = 0; step < step_count; step++)
        claims->over_ns[step] = claims->middle_ns[step] = claims->inside_ns[step] = TIME_UNKNOWN;
    for (size_t i = 0; i < findings->count; i++)
        if (has_steps(&findings->items[i], step_count))
            add_claim(claims, &findings->items[i]);
    if (longer->usual.usual_ns)
        measure_over(claims, longer, baseline, options);
    return 0;
}

static int claims_fit_costs(struct findings *findings, const struct longer_steps *longer,
                            const struct baseline *baseline, const struct diagnose_options *options)
{
    struct claims claims = {0};
    int32_t step_count = baseline->step_count;
    int failed = claims_find(&claims, longer, baseline, findings, options);
    for (size_t i = 0; !failed && i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (!is_counted(finding) || !has_steps(finding, step_count))
            continue;
        struct shown shown = shown_by(&claims, finding, step_count);
        for (int32_t step = finding->first_step; step <= finding->last_step + 1; step++)
            claims.sum_ns[step] -= finding_cost_in_step(finding, step);
        int64_t replayed_ns = finding->lost_ns;
        finding->lost_ns = fitted_cost(&shown, finding, options);
        /* What the steps do not show at all cost nothing, whatever the replay shows. */
        if (replayed_ns > 0 && finding->lost_ns <= 0)
            finding_ask(findings, finding, RULE_WORTH, 0);
        for (int32_t step = finding->first_step; step <= finding->last_step + 1; step++)
            claims.sum_ns[step] += finding_cost_in_step(finding, step);
    }
    claims_release(&claims);
    return failed;
}

int findings_fit_costs(struct findings *findings, const struct job *job, const struct baseline *baseline,
                       const struct diagnose_options *options)
{
    struct longer_steps longer = {.started_step = baseline->started_step};
    if (!findings->count || !baseline->step_ns || !baseline->median_step_ns || !baseline_is_regular(baseline))
        return 0;
    int failed = usual_steps_init(&longer.usual, job, baseline) ||
                 claims_fit_costs(findings, &longer, baseline, options);
    usual_steps_release(&longer.usual);
    return failed ? -1 : 0;
}

/* Steps that became longer together, for no known reason, count from any length on: each may be noise. */
static void count_lasting(struct claims *claims, const struct longer_steps *longer)
{
    for (size_t i = 0; i < longer->count; i++) {
        const struct longer_row *row = &longer->rows[i];
        if (row->explained || !row->became || row->first < 0)
            continue;
        for (int32_t step = row->first; step <= row->last; step++)
            claims->least_ns[step] = 0;
    }
}

static int64_t over_without_claims(const struct claims *claims, int32_t step, int32_t step_count)
{
    int64_t ns = step < 0 || step >= step_count || claims->over_ns[step] == TIME_UNKNOWN
                     ? 0
                     : claims->over_ns[step] - claims->sum_ns[step];
    return ns > 0 ? ns : 0;
}

/* What a step, with what shows in the steps beside it, leaves of the sum of the costs of several findings. */
static int64_t shown_of(const struct claims *claims, int32_t step, int32_t step_count)
{
    int64_t sum_ns = claims->sum_ns[step], most_ns = claims->most_ns[step];
    if (sum_ns == most_ns || claims->over_ns[step] == TIME_UNKNOWN)
        return sum_ns;
    int64_t shown_ns = claims->over_ns[step] + over_without_claims(claims, step - 1, step_count) +
                       over_without_claims(claims, step + 1, step_count);
    return shown_ns > sum_ns ? sum_ns : shown_ns < most_ns ? most_ns : shown_ns;
}

/*
 * Whether findings delayed the job at the same time: their steps were less long than the sum of their costs
 * by more than noise, and by more than a tenth.
 */
static int are_simultaneous(const struct claims *claims, int32_t step_count,
                            const struct diagnose_options *options)
{
    double sum_ns = 0, less_ns = 0, variance = 0;
    for (int32_t step = 0; step < step_count; step++) {
        if (claims->sum_ns[step] == claims->most_ns[step] || claims->over_ns[step] == TIME_UNKNOWN)
            continue;
        double noise_ns = (double)claims->noise_ns[step];
        sum_ns += (double)claims->sum_ns[step];
        less_ns += (double)(claims->sum_ns[step] - shown_of(claims, step, step_count));
        variance += noise_ns * noise_ns;
    }
    return less_ns > options->sigmas * sqrt(variance) && less_ns > LEAST_SIMULTANEOUS * sum_ns;
}

/* Takes what a step does not show of its findings from the step beside it: the delay of one may show there.
 */
static void explain_beside(struct claims *claims, int32_t beside, int64_t *left_ns)
{
    int64_t moved_ns = *left_ns < claims->rest_ns[beside] ? *left_ns : claims->rest_ns[beside];
    *left_ns -= moved_ns;
    claims->rest_ns[beside] -= moved_ns;
    if (claims->rest_ns[beside] < claims->least_ns[beside])
        claims->rest_ns[beside] = 0;
}

/* What each step does not show of what its findings explain: claims->list. */
static void list_not_shown(struct claims *claims, int32_t step_count)
{
    for (int32_t step = 0; step < step_count; step++) {
        int64_t over_ns = claims->over_ns[step];
        int64_t left_ns = over_ns == TIME_UNKNOWN ? 0 : claims->joint_ns[step] - (over_ns > 0 ? over_ns : 0);
        claims->list[step] = left_ns > 0 ? left_ns : 0;
    }
}

static void explain_after_effects(struct claims *claims, int32_t step_count)
{
    for (int32_t step = 0; step < step_count; step++) {
        if (claims->list[step] > 0 && step + 1 < step_count)
            explain_beside(claims, step + 1, &claims->list[step]);
        if (claims->list[step] > 0 && step > 0)
            explain_beside(claims, step - 1, &claims->list[step]);
    }
}

/*
 * The cost of a finding is known better than how it is divided among its steps: what some do not show, others
 * may.
 */
static void explain_other_steps(struct claims *claims, const struct finding *finding)
{
    int32_t other = finding->first_step;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        for (; finding_has_step(finding, step) && claims->list[step] > 0 && other <= finding->last_step;
             other++) {
            if (finding_has_step(finding, other))
                explain_beside(claims, other, &claims->list[step]);
            if (claims->list[step] <= 0)
                break;
        }
}

/*
 * What findings explain of a step together is the sum of their costs, unless they delayed the job at the same
 * time. Each alone costs what its replay says, so that the greatest is the least they cost.
 */
static void compare(struct claims *claims, int32_t step_count, const struct diagnose_options *options)
{
    int overlap = are_simultaneous(claims, step_count, options);
    for (int32_t step = 0; step < step_count; step++) {
        claims->joint_ns[step] = overlap ? shown_of(claims, step, step_count) : claims->sum_ns[step];
        if (claims->over_ns[step] == TIME_UNKNOWN)
            continue;
        int64_t rest_ns = claims->over_ns[step] - claims->joint_ns[step];
        claims->rest_ns[step] = rest_ns > 0 && rest_ns >= claims->least_ns[step] ? rest_ns : 0;
    }
    list_not_shown(claims, step_count);
    explain_after_effects(claims, step_count);
}

/*
 * By how much the step after a step of a finding was longer because of that: where it has no finding itself,
 * and was longer by at most half of what this finding, the most expensive one of its step, cost.
 */
static int64_t after_effect(const struct claims *claims, const struct finding *finding, int32_t step)
{
    int64_t cost_ns = finding_cost_in_step(finding, step), rest_ns = claims->rest_ns[step + 1];
    return cost_ns > 0 && cost_ns == claims->most_ns[step] && !claims->sum_ns[step + 1] &&
                   rest_ns <= cost_ns / 2
               ? rest_ns
               : 0;
}

/* Adds the after-effects of a finding to its cost. */
static void take_after_effects(struct claims *claims, struct finding *finding)
{
    int64_t taken_ns = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++) {
        int64_t ns = after_effect(claims, finding, step);
        claims->rest_ns[step + 1] -= ns;
        claims->joint_ns[step + 1] += ns;
        taken_ns += ns;
    }
    finding->lost_ns += taken_ns;
    finding->account_ns += taken_ns;
}

/* The part of a finding's cost that no other finding explains as well. */
static int64_t own_part(const struct claims *claims, const struct finding *finding)
{
    int64_t part_ns = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step + 1; step++) {
        int64_t ns = finding_cost_in_step(finding, step) - (claims->sum_ns[step] - claims->joint_ns[step]);
        part_ns += ns > 0 ? ns : 0;
    }
    return part_ns;
}

void operation_parts(const struct job *job, size_t number, int64_t *latest_ns, int64_t *before_ns,
                     int64_t *inside_ns)
{
    const struct job_operation *operation = &job->operations[number];
    int64_t most_ns =
        operation->instance < 0 ? TIME_UNKNOWN : job->instances[operation->instance].transfer_ns;
    *before_ns = *inside_ns = TIME_UNKNOWN;
    if (operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN)
        return;
    int64_t gap_ns = *latest_ns == TIME_UNKNOWN ? 0 : operation->start_ns - *latest_ns;
    int64_t ns = operation->end_ns - operation->start_ns + (gap_ns < 0 ? gap_ns : 0);
    if (*latest_ns != TIME_UNKNOWN)
        *before_ns = gap_ns > 0 ? gap_ns : 0;
    if (most_ns != TIME_UNKNOWN)
        *inside_ns = ns > most_ns ? most_ns : ns > 0 ? ns : 0;
    if (*latest_ns == TIME_UNKNOWN || operation->end_ns > *latest_ns)
        *latest_ns = operation->end_ns;
}

/* Adds the time that a rank spent in the transfers of its operations, without waiting for other ranks. */
static void add_transfers(const struct job *job, int32_t rank, int64_t *sum_ns, int64_t *timed)
{
    int64_t latest_ns = TIME_UNKNOWN;
    struct job_range range = job_operations_in(job, rank, 0, job->step_count - 1);
    for (size_t i = range.first; i < range.end; i++) {
        int64_t before_ns, inside_ns;
        int32_t step = job->operations[i].step;
        if (job->operations[i].rank != rank)
            continue;
        operation_parts(job, i, &latest_ns, &before_ns, &inside_ns);
        if (step < 0 || inside_ns == TIME_UNKNOWN)
            continue;
        sum_ns[step] += inside_ns;
        timed[step]++;
    }
}

static void measure_inside(struct claims *claims, const struct job *job)
{
    size_t steps = (size_t)job->step_count;
    int64_t *timed = claims->list;
    for (size_t step = 0; step < steps; step++)
        timed[step] = claims->inside_ns[step] = 0;
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++)
        add_transfers(job, rank, claims->inside_ns, timed);
    for (size_t step = 0; step < steps; step++)
        claims->inside_ns[step] =
            timed[step] ? claims->inside_ns[step] / (int64_t)job->rank_count : TIME_UNKNOWN;
}

/* Subtracts from each step the median time in transfers of the steps of its load that lost nothing. */
static void subtract_usual_inside(struct claims *claims, const struct longer_steps *longer,
                                  int32_t step_count)
{
    for (int32_t load = 0; load < longer->usual.load_count; load++) {
        size_t count = 0;
        for (int32_t step = 0; step < step_count; step++)
            if (longer->usual.load[step] == load && !claims->rest_ns[step] && !claims->sum_ns[step] &&
                claims->inside_ns[step] != TIME_UNKNOWN)
                claims->list[count++] = claims->inside_ns[step];
        int64_t usual_ns = median_of(claims->list, count);
        for (int32_t step = 0; step < step_count; step++)
            if (longer->usual.load[step] == load && claims->inside_ns[step] != TIME_UNKNOWN)
                claims->inside_ns[step] =
                    usual_ns == TIME_UNKNOWN ? TIME_UNKNOWN : claims->inside_ns[step] - usual_ns;
    }
}

static enum loss_reason reason_of(const struct claims *claims, const struct longer_steps *longer,
                                  const struct job *job, int32_t step)
{
    if (claims->joint_ns[step] > 0 || (step > 0 && claims->joint_ns[step - 1] > 0))
        return LOSS_WITH_FINDING;
    int is_inside =
        claims->inside_ns[step] != TIME_UNKNOWN && claims->inside_ns[step] >= claims->rest_ns[step] / 2;
    /* A checkpoint or an evaluation makes no transfer longer. */
    if (longer->period && !is_inside)
        return LOSS_RECURS;
    if (longer->measured_by_calls)
        return LOSS_BY_CALLS;
    if (claims->doubted_ns[step] >= claims->rest_ns[step] / 2)
        return LOSS_DOUBTED;
    if (claims->inside_ns[step] == TIME_UNKNOWN)
        return LOSS_NO_TIMES;
    if (!is_inside)
        return LOSS_BETWEEN;
    return job->traffic_count ? LOSS_INSIDE : LOSS_INSIDE_NO_NETWORK;
}

/* Gives each part of the time lost that no finding explains one reason. */
static void give_reasons(struct claims *claims, struct longer_steps *longer, const struct job *job,
                         int32_t step_count)
{
    int64_t sum_ns = 0;
    for (int32_t step = 0; step < step_count; step++)
        sum_ns += claims->rest_ns[step];
    if (!sum_ns)
        return;
    measure_inside(claims, job);
    subtract_usual_inside(claims, longer, step_count);
    for (int32_t step = 0; step < step_count; step++) {
        if (!claims->rest_ns[step])
            continue;
        struct loss_part *part = &longer->undetermined[reason_of(claims, longer, job, step)];
        part->lost_ns += claims->rest_ns[step];
        part->steps++;
        longer->lost_ns += claims->rest_ns[step];
    }
}

static void add_explained(struct longer_steps *longer, int64_t explained_ns)
{
    longer->explained_ns += explained_ns;
    longer->lost_ns += explained_ns;
}

/* Gives each finding its part, and the rest of what they explain to all of them together. */
static void share_out(struct claims *claims, struct longer_steps *longer, struct findings *findings,
                      int32_t step_count)
{
    for (int32_t step = 0; step < step_count; step++)
        longer->hidden_ns += claims->joint_ns[step];
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        finding->account_ns = 0;
        if (!is_counted(finding))
            continue;
        if (has_steps(finding, step_count)) {
            finding->account_ns = own_part(claims, finding);
            longer->hidden_ns -= finding->account_ns;
            take_after_effects(claims, finding);
        } else {
            finding->account_ns = finding->lost_ns;
            longer->whole_ns += finding->lost_ns;
        }
        add_explained(longer, finding->account_ns);
    }
    add_explained(longer, longer->hidden_ns);
}

/* The cost of a step of unknown duration, as the last one, may exceed the sum of all others. */
static void sum_whole(struct longer_steps *longer, const struct baseline *baseline)
{
    for (int32_t step = longer->started_step; longer->usual.usual_ns && step < baseline->step_count; step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            longer->whole_ns += baseline->step_ns[step];
    if (longer->whole_ns < longer->lost_ns)
        longer->whole_ns = longer->lost_ns;
}

int longer_steps_account(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                         struct findings *findings, const struct diagnose_options *options)
{
    struct claims claims = {0};
    int32_t step_count = baseline->step_count;
    int failed = claims_find(&claims, longer, baseline, findings, options);
    if (!failed) {
        count_lasting(&claims, longer);
        compare(&claims, step_count, options);
        for (size_t i = 0; i < findings->count; i++)
            if (is_counted(&findings->items[i]) && has_steps(&findings->items[i], step_count))
                explain_other_steps(&claims, &findings->items[i]);
        share_out(&claims, longer, findings, step_count);
        give_reasons(&claims, longer, job, step_count);
        sum_whole(longer, baseline);
    }
    claims_release(&claims);
    return failed;
}

static const char *const reasons[LOSS_REASONS] = {
    [LOSS_WITH_FINDING] = "steps with a finding, or after one, took longer than the finding explains",
    [LOSS_RECURS] = "single steps at equal distances took longer, as for a checkpoint or an evaluation",
    [LOSS_BY_CALLS] = "step times are measured from call to call, and hosts run ahead of their GPUs",
    [LOSS_DOUBTED] = "the evidence against a rank is weak; its finding has low confidence",
    [LOSS_INSIDE_NO_NETWORK] =
        "operations took longer, and no network steps are recorded that show which transfer was slow",
    [LOSS_INSIDE] = "operations took longer, and no rank or link stands out from the others",
    [LOSS_BETWEEN] = "more time passed between operations, and no rank stands out from its peers",
    [LOSS_NO_TIMES] = "operations of these steps lack start or end times"};

static const char *const remedies[LOSS_REASONS] = {
    [LOSS_WITH_FINDING] = "remove the cause that the finding names, and record again",
    [LOSS_RECURS] = "compare these steps with the checkpoints and evaluations of the program",
    [LOSS_BY_CALLS] = "record the times of kernels with a profiler plugin: ncclprof-plugin(7)",
    [LOSS_DOUBTED] = "show the finding with ncclprof diagnose --all --explain",
    [LOSS_INSIDE_NO_NETWORK] = "record network steps with a profiler plugin: ncclprof-plugin(7)",
    [LOSS_INSIDE] = "check CPU load and network counters of all hosts",
    [LOSS_BETWEEN] = "see which phase became longer with ncclprof steps --by tag",
    [LOSS_NO_TIMES] = "record the start and end of all kernels: ncclprof-plugin(7)"};

const char *loss_reason_text(enum loss_reason reason)
{
    return reasons[reason];
}

const char *loss_reason_remedy(enum loss_reason reason)
{
    return remedies[reason];
}
