/*
 * Ranks without a trace that the other ranks wait for. All members that left a trace are early and wait
 * inside the operation. Network steps, or operations of other ranks at the same place, tell whether they wait
 * or the transfer is slow (absent_waits.c).
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

struct absent {
    const struct job *job;
    const struct baseline *baseline;
    struct call_times times;
    struct absent_waits *waits; /* owned: of each rank without a trace */
    size_t count;
    double *row;          /* owned: scratch, [step] */
    double *rows;         /* owned: excess of ranks with a trace, [rank of these * steps + step] */
    size_t rank_count;    /* rows */
    double greatest;      /* of `rows` */
    double *list;         /* owned: scratch, as large as `rows` */
    unsigned char *marks; /* owned: [number in `waits` * steps + step], the single steps of each */
    double spread;        /* what chance makes of the excess of a step, as a standard deviation */
    double level;         /* the same, of the median over steps */
    int64_t *hidden_ns;   /* owned, by rank: time in which waiting cannot be told from transfers */
};

static int has_no_trace(const struct job *job, int32_t rank)
{
    return job->ranks[rank].process_id < 0;
}

/* The steps in which the others waited for a rank. */
struct waited {
    size_t number; /* in absent.waits */
    int by_past;   /* quiet steps tell waits from transfers as well, where peers do not */
    struct step_set set;
    int64_t cost_ns;
    double certainty;
};

/* The number of steps; 1: there are none. */
static int32_t steps_of(const struct waited *waited)
{
    return waited->set.period > 0 ? step_set_count(&waited->set) : 1;
}

/* The share of an excess that is beyond this many standard deviations by chance: of Student's t (score.h). */
static const double BEYOND = 0.1;

/* The least spread, as a part of a step: the resolution of clocks. */
static const double LEAST_SPREAD = 0.002;

/* The standard deviation of values that are at least 0: what is below is cut off. `values` are sorted. */
static double spread_of(const struct absent *absent, double *values, size_t count)
{
    double least = LEAST_SPREAD * (double)absent->baseline->median_step_ns;
    if (!count)
        return least;
    sort_reals(values, count);
    double spread =
        values[(size_t)((double)(count - 1) * (1 - BEYOND))] / student_limit(2 * BEYOND, SCAN_TAIL_OWN);
    return spread > least ? spread : least;
}

/* Copies what is known of a row. Returns the number of values. */
static size_t known_of(const double *row, int32_t steps, double *values)
{
    size_t count = 0;
    for (int32_t step = 0; step < steps; step++)
        if (!isnan(row[step]))
            values[count++] = row[step];
    return count;
}

/* A quantile of a row; 0 if nothing is known. */
static double quantile_in(const double *row, int32_t steps, double part, double *values)
{
    size_t count = known_of(row, steps, values);
    if (!count)
        return 0;
    sort_reals(values, count);
    return values[(size_t)((double)(count - 1) * part)];
}

/* Takes the quiet steps of a row, its lowest quarter, off the row. */
static void take_off_quiet(double *row, int32_t steps, double *list)
{
    double quiet = quantile_in(row, steps, 0.25, list);
    for (int32_t step = 0; step < steps; step++)
        row[step] -= quiet;
}

/* Measures some of the ranks with a trace as if they had none. Returns -1 when memory runs out. */
static int measure_others(struct absent *absent)
{
    const struct job *job = absent->job;
    size_t steps = (size_t)absent->baseline->step_count, known = 0;
    size_t stride = (job->rank_count + MOST_SAMPLED - 1) / MOST_SAMPLED;
    double levels[MOST_SAMPLED];
    int failed = 0;
    for (size_t rank = 0; !failed && rank < job->rank_count; rank += stride) {
        if (has_no_trace(job, (int32_t)rank))
            continue;
        struct absent_waits waits;
        double *row = &absent->rows[absent->rank_count * steps];
        failed = absent_waits_init(&waits, job, absent->baseline, &absent->times, (int32_t)rank);
        if (!failed) {
            absent_waits_sum(&waits, 0, row);
            levels[absent->rank_count++] = quantile_in(row, (int32_t)steps, 0.5, absent->list);
            take_off_quiet(row, (int32_t)steps, absent->list);
        }
        absent_waits_release(&waits);
    }
    for (size_t i = 0; i < absent->rank_count; i++)
        known += known_of(&absent->rows[i * steps], (int32_t)steps, absent->list + known);
    absent->spread = spread_of(absent, absent->list, known);
    absent->level = spread_of(absent, levels, absent->rank_count);
    absent->greatest = 1;
    for (size_t i = 0; i < absent->rank_count * steps; i++) {
        absent->rows[i] /= absent->spread;
        absent->greatest = fmax(absent->greatest, absent->rows[i]);
    }
    return failed;
}

static int absent_init(struct absent *absent, const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)baseline->step_count, cells = (MOST_SAMPLED + 1) * steps + 1;
    *absent = (struct absent){.job = job,
                              .baseline = baseline,
                              .waits = array_new(job_silent_ranks(job), sizeof *absent->waits),
                              .row = array_new(steps, sizeof *absent->row),
                              .rows = array_new(cells, sizeof *absent->rows),
                              .list = array_new(cells, sizeof *absent->list),
                              .marks = array_new(job_silent_ranks(job) * steps, 1),
                              .hidden_ns = array_new(job->rank_count, sizeof *absent->hidden_ns)};
    if (call_times_init(&absent->times, job) || !absent->waits || !absent->row || !absent->rows ||
        !absent->list || !absent->marks || !absent->hidden_ns)
        return -1;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        if (has_no_trace(job, (int32_t)rank) &&
            absent_waits_init(&absent->waits[absent->count++], job, baseline, &absent->times, (int32_t)rank))
            return -1;
    return measure_others(absent);
}

static void absent_release(struct absent *absent)
{
    for (size_t i = 0; i < absent->count; i++)
        absent_waits_release(&absent->waits[i]);
    call_times_release(&absent->times);
    free(absent->waits);
    free(absent->row);
    free(absent->rows);
    free(absent->list);
    free(absent->marks);
    free(absent->hidden_ns);
}

static int32_t step_of(const struct absent *absent, const struct absent_wait *wait)
{
    return absent->job->instances[wait->instance].step;
}

static int32_t communicator_of(const struct absent *absent, const struct absent_wait *wait)
{
    return absent->job->instances[wait->instance].communicator;
}

/* Whether an operation belongs to the waits of a rank, by its step and by how they are told from transfers.
 */
static int is_part(const struct absent *absent, const struct waited *waited, const struct absent_wait *wait)
{
    return wait->transfer_ns != TIME_UNKNOWN && (waited->by_past || !wait->is_by_past) &&
           step_set_has(&waited->set, step_of(absent, wait));
}

/* The excess of a rank in these waits, of all or only of those that network steps show. */
static int64_t excess_in(const struct absent *absent, const struct waited *waited, size_t number,
                         int only_shown)
{
    const struct absent_waits *waits = &absent->waits[number];
    int64_t sum_ns = 0;
    for (size_t i = 0; i < waits->count; i++)
        if (is_part(absent, waited, &waits->items[i]) && (!only_shown || waits->items[i].pace_ns > 0))
            sum_ns += waits->items[i].excess_ns;
    return sum_ns;
}

/*
 * Whether the rank exceeds its peers in nearly all steps. Its own past cannot tell then, so its median is
 * compared with those of others.
 */
static double certainty_of_all(const struct absent *absent)
{
    int32_t steps = absent->baseline->step_count;
    double middle = quantile_in(absent->row, steps, 0.5, absent->list),
           low = quantile_in(absent->row, steps, 0.25, absent->list), beyond = middle / absent->level;
    return low * 2 < middle ? 0
                            : (SCAN_TAIL_OWN + 1) / 2 * log1p(beyond * beyond / SCAN_TAIL_OWN) -
                                  log((double)absent->job->rank_count);
}

/* What chance makes of the other steps of a row, if that is more than what it makes of ranks with a trace. */
static double spread_beside(const struct absent *absent, const struct step_set *set)
{
    size_t count = 0;
    for (int32_t step = 0; step < absent->baseline->step_count; step++)
        if (!isnan(absent->row[step]) && !step_set_has(set, step))
            absent->list[count++] = absent->row[step];
    double spread = spread_of(absent, absent->list, count);
    return spread > absent->spread ? spread : absent->spread;
}

static void scale_row(const struct absent *absent, double by)
{
    for (int32_t step = 0; step < absent->baseline->step_count; step++)
        absent->row[step] *= by;
}

/*
 * Finds the steps in which a rank exceeds its peers, with the noise of ranks with a trace; or its quiet
 * steps, with the noise of its other steps if that is more. So it is for calls with several ranks, whose
 * transfers vary, while of ranks with a trace it is known when they began. Returns -1 when memory runs out.
 */
static int find_steps(struct absent *absent, struct waited *waited)
{
    const struct baseline *baseline = absent->baseline;
    int32_t steps = baseline->step_count;
    double spread = absent->spread;
    int by_own_noise = waited->by_past || absent->waits[waited->number].has_calls;
    absent_waits_sum(&absent->waits[waited->number], waited->by_past, absent->row);
    double all = waited->by_past ? 0 : certainty_of_all(absent);
    take_off_quiet(absent->row, steps, absent->list);
    for (int pass = 0; pass <= by_own_noise; pass++) {
        if (pass && waited->set.score > 0) {
            scale_row(absent, spread);
            spread = spread_beside(absent, &waited->set);
        }
        scale_row(absent, 1 / spread);
        if (scan_row(absent->row, absent->job->step_numbers, steps, SCAN_TAIL_OWN, &waited->set))
            return -1;
        if (waited->set.score <= 0)
            break;
    }
    if (waited->set.score > 0)
        waited->certainty = scan_related_score(absent->row, &waited->set, absent->rows, absent->rank_count,
                                               steps, SCAN_TAIL_OWN, absent->list) -
                            scan_sets(steps - baseline->first_step) - log((double)absent->job->rank_count);
    if (all >= limit_of(LIMIT_CERTAINTY)) {
        waited->set = (struct step_set){.first = baseline->first_step, .last = steps - 1, .period = 1};
        waited->certainty = all > waited->certainty ? all : waited->certainty;
    }
    waited->cost_ns = waited->certainty > 0 ? excess_in(absent, waited, waited->number, 0) : 0;
    return 0;
}

/*
 * Finds single steps in which the others waited longer for a rank than for any with a trace in any step, as a
 * data loader makes them. Other steps cannot tell these from slow transfers, nor can ranks with a trace whose
 * start of a call is known.
 */
static void find_peaks(struct absent *absent, struct waited *waited)
{
    const struct baseline *baseline = absent->baseline;
    struct waited peaks = {.number = waited->number};
    unsigned char *marks = &absent->marks[waited->number * (size_t)baseline->step_count];
    absent_waits_sum(&absent->waits[waited->number], 0, absent->row);
    take_off_quiet(absent->row, baseline->step_count, absent->list);
    scale_row(absent, 1 / absent->spread);
    absent->row[baseline->first_step] = NAN; /* may be warm-up */
    peaks.certainty = scan_peaks(absent->row, baseline->step_count, absent->greatest, absent->job->rank_count,
                                 SCAN_TAIL_OWN, marks, &peaks.set);
    peaks.cost_ns = peaks.certainty > 0 ? excess_in(absent, &peaks, peaks.number, 0) : 0;
    if (peaks.certainty >= limit_of(LIMIT_CERTAINTY) &&
        (waited->certainty < limit_of(LIMIT_CERTAINTY) || peaks.cost_ns > waited->cost_ns))
        *waited = peaks;
}

static const double HALF = 0.5;

/* Whether network steps show most of the waits. */
static int is_shown_by_steps(const struct absent *absent, const struct waited *waited)
{
    return excess_in(absent, waited, waited->number, 1) * 2 > waited->cost_ns;
}

/* Sums of the waits of a rank, and of what the operations took without them. */
struct waited_sums {
    double more_ns;
    double transfer_ns;
    double own_ns; /* what its peers computed before them */
    double fast_ns;
    size_t count;            /* of operations */
    double unlike_transfers; /* by how much the shares of the operations in the waits differ from these */
    double unlike_own;
};

static void add_to_sums(const struct absent *absent, struct waited_sums *sums, const struct absent_wait *wait,
                        int pass)
{
    double more_ns = wait->stay_ns > wait->transfer_ns ? (double)(wait->stay_ns - wait->transfer_ns) : 0,
           took_ns = (double)wait->wire_ns;
    double own_ns = wait->usual_ns > wait->transfer_ns ? (double)(wait->usual_ns - wait->transfer_ns) : 0;
    if (!pass) {
        sums->more_ns += more_ns;
        sums->transfer_ns += took_ns;
        sums->own_ns += own_ns;
        sums->count++;
        return;
    }
    double share = more_ns / sums->more_ns;
    if (share < HALF * took_ns / sums->transfer_ns &&
        !function_has_root(absent->job->instances[wait->instance].function))
        sums->fast_ns += took_ns;
    sums->unlike_transfers += fabs(share - took_ns / sums->transfer_ns);
    sums->unlike_own += sums->own_ns > 0 ? fabs(share - own_ns / sums->own_ns) : share;
}

/*
 * A slow network makes all transfers of a rank slower alike; a rank that is late makes those longer before
 * which it computes. Whether at least an eighth of the transfers, more than chance makes, were less than half
 * as much slower: of those that use all links, because others need not use the slow one. Or whether the waits
 * are distributed like what the peers computed rather than like the transfers. The transfers of a healthy job
 * vary together by a quarter from step to step, so what is compared with other steps must exceed half of
 * them.
 */
enum { FAST_PART = 8 };

/*
 * The odds that waits are like own times, from their distances to these and to transfers. The greatest
 * likelihood of n values with errors of Laplace's distribution falls with the n-th power of the mean error.
 * The operations of a step are the same in each, so they count once.
 */
static const double LIKELIER = 10;

static int are_like_own_times(const struct waited_sums *sums, int32_t steps)
{
    double places = (double)sums->count / steps;
    return sums->unlike_own < sums->unlike_transfers &&
           (sums->unlike_own <= 0 || places * log(sums->unlike_transfers / sums->unlike_own) > log(LIKELIER));
}

/* A communicator with more than half of the excess of these waits; -1. */
static int32_t most_waited(const struct absent *absent, const struct waited *waited)
{
    const struct absent_waits *waits = &absent->waits[waited->number];
    for (size_t number = 0; number < absent->job->communicator_count; number++) {
        int64_t sum_ns = 0;
        for (size_t i = 0; waits->numbers[number] >= 0 && i < waits->count; i++)
            if (is_part(absent, waited, &waits->items[i]) &&
                communicator_of(absent, &waits->items[i]) == (int32_t)number)
                sum_ns += waits->items[i].excess_ns;
        if (sum_ns * 2 > waited->cost_ns)
            return (int32_t)number;
    }
    return -1;
}

/*
 * Sums the waits of a communicator; -1: of all. In steps with less than half of the average, the rank was
 * hardly late, so that their transfers tell nothing.
 */
static struct waited_sums sum_waits(const struct absent *absent, const struct waited *waited, int32_t only)
{
    const struct absent_waits *waits = &absent->waits[waited->number];
    double least_ns = HALF * (double)waited->cost_ns / steps_of(waited);
    struct waited_sums sums = {0};
    absent_waits_sum(waits, waited->by_past, absent->row);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < waits->count; i++)
            if (is_part(absent, waited, &waits->items[i]) &&
                absent->row[step_of(absent, &waits->items[i])] >= least_ns &&
                (only < 0 || communicator_of(absent, &waits->items[i]) == only))
                add_to_sums(absent, &sums, &waits->items[i], pass);
    return sums;
}

/*
 * A rank is late where it computes. If the others waited longest in a communicator before whose operations
 * the peers compute next to nothing, only its own operations can show that its links are as fast as ever.
 */
static int is_told_from_network(const struct absent *absent, const struct waited *waited)
{
    struct waited_sums sums = sum_waits(absent, waited, most_waited(absent, waited));
    if (is_shown_by_steps(absent, waited))
        return 1;
    if (sums.own_ns * FAST_PART >= sums.more_ns)
        sums = sum_waits(absent, waited, -1);
    if (waited->by_past && sums.more_ns < HALF * sums.transfer_ns)
        return 0;
    return sums.fast_ns * FAST_PART >= sums.transfer_ns || are_like_own_times(&sums, steps_of(waited));
}

/* Fewer ranks with a trace do not tell what chance makes. */
enum { FEWEST_ROWS = 3 };

/*
 * Of calls with several ranks, the noise is estimated from the steps that the set leaves, which makes it
 * smaller than it is.
 */
static double least_certainty(const struct absent *absent, const struct waited *waited)
{
    return limit_of(absent->waits[waited->number].has_calls ? LIMIT_CERTAINTY_SURE : LIMIT_CERTAINTY);
}

/* The rank that the others waited for longest. Returns -1 when memory runs out. */
static int find_waited(struct absent *absent, struct waited *best)
{
    size_t count = absent->rank_count >= FEWEST_ROWS ? absent->count : 0;
    for (size_t i = 0; i < count; i++)
        for (int by_past = 0; by_past < 2; by_past++) {
            struct waited waited = {.number = i, .by_past = by_past};
            if (find_steps(absent, &waited))
                return -1;
            if (!by_past && !absent->waits[i].has_calls && absent->rank_count > OTHERS_TO_COMPARE)
                find_peaks(absent, &waited);
            if (waited.certainty < least_certainty(absent, &waited) || !is_told_from_network(absent, &waited))
                continue;
            if (waited.cost_ns > best->cost_ns)
                *best = waited;
            break;
        }
    return 0;
}

/* What the operations of a finding show. */
struct waiting {
    int64_t operations;
    int64_t wait_ns;
    int64_t transfer_ns;
    int64_t pace_ns;
    int32_t first; /* instance; -1: none */
};

static struct waiting count_waiting(const struct absent *absent, const struct waited *waited)
{
    const struct absent_waits *waits = &absent->waits[waited->number];
    struct waiting waiting = {.first = -1};
    for (size_t i = 0; i < waits->count; i++) {
        const struct absent_wait *wait = &waits->items[i];
        if (!wait->excess_ns || !is_part(absent, waited, wait) ||
            (wait->pace_ns > 0) != is_shown_by_steps(absent, waited))
            continue;
        waiting.first = waiting.first < 0 ? wait->instance : waiting.first;
        waiting.operations++;
        waiting.wait_ns += wait->excess_ns;
        waiting.transfer_ns += wait->transfer_ns;
        waiting.pace_ns += wait->pace_ns;
    }
    return waiting;
}

static int append_evidence(const struct absent *absent, const struct waited *waited, struct finding *finding)
{
    struct waiting waiting = count_waiting(absent, waited);
    struct buffer *text = &finding->evidence;
    int64_t count = waiting.operations ? waiting.operations : 1;
    finding->instance = waiting.first;
    figures_add(&finding->figures, "operations", (double)waiting.operations);
    figures_add_time(&finding->figures, "wait_us", waiting.wait_ns / count);
    if (waiting.pace_ns) {
        figures_add_time(&finding->figures, "network_step_us", waiting.pace_ns / count);
        if (buffer_printf(text,
                          "In %lld operations, all ranks with a trace had started, and no data arrived for ",
                          (long long)waiting.operations) ||
            text_time(text, waiting.wait_ns / count) ||
            buffer_append_text(text, " on average; then it arrived every ") ||
            text_time(text, waiting.pace_ns / count))
            return -1;
    } else {
        figures_add_time(&finding->figures, "transfer_us", waiting.transfer_ns / count);
        if (buffer_printf(text, "%lld operations took ", (long long)waiting.operations) ||
            text_time(text, waiting.wait_ns / count) ||
            buffer_append_text(text,
                               waited->by_past
                                   ? " longer on average than the same operations of other steps or ranks ("
                                   : " longer on average than the same operations of other ranks (") ||
            text_time(text, waiting.transfer_ns / count) ||
            buffer_append_text(text, "), although all ranks with a trace had started"))
            return -1;
    }
    return buffer_append_text(text, ". Only the missing trace can show whether the GPU or the host is late");
}

/* The ranks that waited. */
static int add_peers(const struct absent *absent, const struct waited *waited, struct finding *finding)
{
    const struct absent_waits *waits = &absent->waits[waited->number];
    unsigned char *has = array_new(absent->job->rank_count, 1);
    int failed = !has;
    for (size_t i = 0; !failed && i < waits->count; i++) {
        const struct job_instance *instance = &absent->job->instances[waits->items[i].instance];
        for (int32_t k = 0; k < instance->members; k++)
            if (waits->items[i].excess_ns && is_part(absent, waited, &waits->items[i]))
                has[job_member(absent->job, instance, k)->rank] = 1;
    }
    for (size_t rank = 0; !failed && rank < absent->job->rank_count; rank++)
        failed = has[rank] && finding_add_peer(finding, (int32_t)rank);
    free(has);
    return failed ? -1 : 0;
}

/* Other ranks without a trace for which the others waited at least half as long may be the late one as well.
 */
static int name_ranks(const struct absent *absent, const struct waited *waited, struct finding *finding)
{
    size_t count = 0;
    finding->rank = absent->waits[waited->number].rank;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < absent->count; i++) {
            if (i != waited->number && excess_in(absent, waited, i, 0) * 2 < waited->cost_ns)
                continue;
            count += !pass;
            if (pass && count > 1 && finding_add_candidate(finding, absent->waits[i].rank))
                return -1;
        }
    return add_peers(absent, waited, finding);
}

/* Waits that are no finding, if `is_all`, and times that may be waits remain undetermined. */
static void hide(struct absent *absent, int is_all)
{
    for (size_t i = 0; i < absent->count; i++)
        for (size_t k = 0; k < absent->waits[i].count; k++) {
            const struct absent_wait *wait = &absent->waits[i].items[k];
            const struct job_instance *instance = &absent->job->instances[wait->instance];
            for (int32_t m = 0; m < instance->members; m++)
                absent->hidden_ns[job_member(absent->job, instance, m)->rank] +=
                    wait->unclear_ns + (is_all ? wait->excess_ns : 0);
        }
}

/* Whether a finding is in most of the steps of a wait. */
static int is_in_steps(const struct finding *finding, const struct waited *waited)
{
    int32_t shared = 0;
    for (int32_t step = waited->set.first; step <= waited->set.last; step++)
        shared += step_set_has(&waited->set, step) && finding_has_step(finding, step);
    return shared * 2 > steps_of(waited);
}

/* Whether a finding about the time of another rank costs less than a wait in the same steps. */
static int is_too_small(const struct finding *finding, const struct waited *waited)
{
    int is_of_rank = finding->kind == FINDING_COMPUTE || finding->kind == FINDING_HOST;
    return is_of_rank && is_in_steps(finding, waited) && finding->lost_ns < waited->cost_ns;
}

/*
 * Whether another finding is in most of the same steps. Its rank may have held up the data after it had
 * started, when its host or its GPU was busy with other work. Waits that are compared with other steps are
 * shorter where another rank is late.
 */
static int is_explained(const struct findings *findings, const struct waited *waited)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence > CONFIDENCE_LOW && !is_too_small(finding, waited) &&
            (waited->by_past || is_in_steps(finding, waited)))
            return 1;
    }
    return 0;
}

/* A rank that seems to be late beside one without a trace may have waited for it. */
static void doubt_smaller(struct findings *findings, const struct waited *waited)
{
    for (size_t i = 0; i < findings->count; i++)
        if (is_too_small(&findings->items[i], waited))
            finding_ask(findings, &findings->items[i], RULE_LOST_RECORDS, 1);
}

/* Adds the wait that cost the job most, if any is certain. */
static int take_waited(struct absent *absent, const struct diagnose_options *options,
                       struct findings *findings)
{
    struct waited waited = {.cost_ns = 0};
    if (find_waited(absent, &waited))
        return -1;
    int is_finding = waited.cost_ns > 0 && !is_explained(findings, &waited);
    hide(absent, !is_finding);
    if (!is_finding)
        return 0;
    doubt_smaller(findings, &waited);
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    double worth = ratio_of(waited.cost_ns, absent->baseline->median_step_ns) / steps_of(&waited);
    finding->kind = FINDING_LATE;
    finding->confidence = CONFIDENCE_HIGH;
    finding->tag = -1;
    finding->is_unrecorded = 1;
    finding->certainty = waited.certainty;
    finding->lost_ns = finding->slow_ns = waited.cost_ns;
    finding_ask(findings, finding, RULE_UNRECORDED, 1);
    finding_ask(findings, finding, RULE_CERTAINTY, waited.certainty);
    finding_ask(findings, finding, RULE_WORTH,
                options->min_gain > 0 ? worth / options->min_gain
                : worth > 0           ? 1
                                      : 0);
    return finding_take_steps(finding, &waited.set) || name_ranks(absent, &waited, finding) ||
                   append_evidence(absent, &waited, finding)
               ? -1
               : 0;
}

/* The rank that spends most time in operations in which waiting cannot be told from transfers. */
static struct hidden_wait most_hidden(const struct absent *absent, const struct diagnose_options *options)
{
    const struct baseline *baseline = absent->baseline;
    struct hidden_wait most = {0};
    int64_t steps = baseline->step_count - baseline->first_step;
    for (size_t i = 0; steps > 0 && i < absent->job->rank_count; i++)
        if (absent->hidden_ns[i] / steps > most.step_ns)
            most = (struct hidden_wait){absent->hidden_ns[i] / steps, (int32_t)i};
    if (most.step_ns < scale(baseline->median_step_ns, options->min_gain))
        most.step_ns = 0;
    return most;
}

int findings_take_absent(struct findings *findings, const struct job *job, const struct baseline *baseline,
                         const struct diagnose_options *options, struct error *error)
{
    struct absent absent;
    if (!job_silent_ranks(job) || !baseline->median_step_ns || !baseline_is_regular(baseline))
        return 0;
    int failed = absent_init(&absent, job, baseline);
    failed = failed || take_waited(&absent, options, findings);
    if (!failed)
        findings->hidden_wait = most_hidden(&absent, options);
    absent_release(&absent);
    return failed ? error_no_memory(error) : 0;
}

/* At most this many ranks are named; more are counted. */
enum { RANKS_NAMED = 4 };

/* Appends "rank 15", "ranks 3, 7 and 15" or "the 12 ranks without a trace". */
static int name_silent(const struct job *job, struct buffer *text)
{
    size_t count = job_silent_ranks(job), named = 0;
    if (count > RANKS_NAMED)
        return buffer_printf(text, "the %zu ranks without a trace", count);
    for (size_t i = 0; i < job->rank_count; i++) {
        if (!has_no_trace(job, (int32_t)i))
            continue;
        const char *before = named == 0 ? count > 1 ? "ranks " : "rank " : named + 1 < count ? ", " : " and ";
        named++;
        if (buffer_printf(text, "%s%s", before, job->ranks[i].name))
            return -1;
    }
    return 0;
}

int hidden_wait_append_reason(const struct hidden_wait *hidden, const struct job *job, struct buffer *text)
{
    int is_one = job_silent_ranks(job) == 1;
    return buffer_append_text(text, "whether other ranks wait for ") || name_silent(job, text) ||
                   buffer_printf(text, " cannot be determined: %s left no trace, and rank %s spends ",
                                 is_one ? "it" : "they", job->ranks[hidden->rank].name) ||
                   text_time(text, hidden->step_ns) ||
                   buffer_printf(
                       text,
                       " per step on average in operations that need %s, where waiting cannot be told "
                       "from slow transfers",
                       is_one ? "it" : "them")
               ? -1
               : 0;
}

int hidden_wait_append_remedy(const struct job *job, struct buffer *text)
{
    return buffer_append_text(text,
                              job_silent_ranks(job) == 1 ? "add the trace of " : "add the traces of ") ||
                   name_silent(job, text)
               ? -1
               : 0;
}
