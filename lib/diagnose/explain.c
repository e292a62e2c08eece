/*
 * Finds the faults that explain the own times of a job, one after the other: takes the most certain
 * hypothesis (explain_search.c), replays the job without it (replay.c) to see what it costs, accepts it if it
 * costs enough, measures it (explain_measure.c), and removes it from the data. explained.c turns the result
 * into findings.
 */
#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

int explanation_has_rank(const struct explanation *explanation, int32_t rank)
{
    return explanation->partition->unit_of[rank] == (int32_t)explanation->unit;
}

int explanation_has_step(const struct explanation *explanation, int32_t step)
{
    return step_set_has(&explanation->steps, step);
}

int32_t explanation_count(const struct explanation *explanation)
{
    return step_set_count(&explanation->steps);
}

int explanation_is_hosts(const struct explanation *explanation)
{
    return explanation->host_ns * 2 > explanation->more_ns;
}

/*
 * A GPU that is certainly slow for a while, or a fault that recurs, may be rated by the loss of its partners
 * if it has any gain at all: of two branches that are slow at the same time neither has a gain alone, and a
 * wait that no operation shows stays in the replay. Hosts are often late together, so being the latest of
 * several late hosts does not count.
 */
int explanation_counts_partners(const struct explanation *explanation)
{
    return !explanation->is_steady && unit_size(explanation->partition, explanation->unit) == 1 &&
           (explanation->steps.period > 1 || !explanation_is_hosts(explanation));
}

/* What an explanation costs by replay, and where it shows. Functions return -1 when memory runs out. */

static void explanation_search_update_path(struct explanation_search *it);

/* A smaller unit is chosen if the gain without it is at least this part of the largest gain. */
static const double ENOUGH_PART = 0.8;

/* Marks the steps of an explanation in it->marked. */
static void explaining_mark(struct explanation_search *it, const struct explanation *explanation)
{
    for (int32_t step = 0; step < it->source.baseline->step_count; step++)
        it->marked[step] = (unsigned char)explanation_has_step(explanation, step);
}

/* Replays the unchanged job, once. */
static int explaining_replay(struct explanation_search *it)
{
    if (it->path)
        return 0;
    it->kept_ns = array_new(it->source.job->rank_count, sizeof *it->kept_ns);
    it->path = array_new(it->source.job->operation_count, sizeof *it->path);
    if (!it->kept_ns || !it->path)
        return -1;
    it->lasts_ns = replay_run(it->replay);
    explanation_search_update_path(it);
    return 0;
}

/*
 * After a permanent removal: finds the critical path, which bounds further gains, and drops the times kept to
 * restore.
 */
static void explanation_search_update_path(struct explanation_search *it)
{
    it->path_length = replay_critical_path(it->replay, it->path);
    explanation_search_commit_removed(it);
}

/* The minimum gain to be accepted, at any certainty. */
static int64_t explaining_least_gain(const struct explanation_search *it, const struct explanation *fault)
{
    const struct acceptance_limits *acceptance = it->acceptance_limits;
    int64_t least_ns =
        acceptance->worth_ns < acceptance->least_ns ? acceptance->worth_ns : acceptance->least_ns;
    return least_ns * explanation_count(fault);
}

/* The maximum gain of a fault in the marked steps: the sum of its own times on the critical path. */
static int64_t most_gain_of(const struct explanation_search *it, const struct explanation *fault)
{
    int64_t most_ns = 0;
    for (size_t i = 0; i < it->path_length; i++) {
        const struct job_operation *operation = &it->source.job->operations[it->path[i]];
        if (explanation_has_rank(fault, operation->rank) && operation->step >= 0 &&
            operation->step < it->source.baseline->step_count && it->marked[operation->step])
            most_ns += it->replay->own_ns[it->path[i]];
    }
    return it->path_length ? most_ns : INT64_MAX;
}

/* For the marked steps. */
static struct fault fault_of(const struct explanation_search *it, const struct explanation *explanation)
{
    const struct partitions *partitions = &it->found->partitions;
    size_t number = (size_t)(explanation->partition - partitions->items);
    return (struct fault){.partition = explanation->partition,
                          .unit = explanation->unit,
                          .residual_matrices = &it->residual_matrices[number],
                          .apart = partitions->count,
                          .steps = it->marked,
                          .is_steady = explanation->is_steady,
                          .is_scattered = explanation->is_scattered,
                          .measure = explanation->measure,
                          .most_part = explanation->most_part};
}

static void shorten(void *context, int32_t operation, int64_t fault_ns)
{
    struct replay *replay = context;
    int64_t *own_ns = &replay->own_ns[operation];
    *own_ns = *own_ns > fault_ns ? *own_ns - fault_ns : 0;
}

/*
 * Keeps the own times of the ranks of a unit unless they are kept already. Returns -1 when memory runs out.
 */
static int keep(struct explanation_search *it, const struct explanation *explanation)
{
    const struct partition *partition = explanation->partition;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        const struct job_rank *rank = &it->source.job->ranks[partition->ranks[i]];
        int64_t **kept_ns = &it->kept_ns[partition->ranks[i]];
        if (*kept_ns)
            continue;
        *kept_ns = array_new(rank->count, sizeof **kept_ns);
        if (!*kept_ns)
            return -1;
        memcpy(*kept_ns, &it->replay->own_ns[rank->first], rank->count * sizeof **kept_ns);
    }
    return 0;
}

static int take_out(struct explanation_search *it, const struct explanation *explanation)
{
    if (keep(it, explanation))
        return -1;
    explaining_mark(it, explanation);
    const struct fault fault = fault_of(it, explanation);
    return fault_each(&fault, &it->source, shorten, it->replay);
}

/* Removes a fault from the replay and stores the gain. */
static int explaining_take_out(struct explanation_search *it, struct explanation *explanation)
{
    if (take_out(it, explanation))
        return -1;
    explanation->gain_ns = it->lasts_ns - replay_run(it->replay);
    return 0;
}

static void put_back(struct explanation_search *it, const struct explanation *taken)
{
    const struct partition *partition = taken->partition;
    if (!partition)
        return;
    for (size_t i = partition->first[taken->unit]; i < partition->first[taken->unit + 1]; i++) {
        const struct job_rank *rank = &it->source.job->ranks[partition->ranks[i]];
        const int64_t *kept_ns = it->kept_ns[partition->ranks[i]];
        if (kept_ns)
            memcpy(&it->replay->own_ns[rank->first], kept_ns, rank->count * sizeof *kept_ns);
    }
}

/*
 * Tries the same fault at each unit that contains the slowest rank. Sets the gain to INT64_MIN where the
 * fault is not certain. Returns whether any of them may gain enough; -1 when memory runs out.
 */
static int try_units(struct explanation_search *it, struct explanation *fault, struct explanation *tried)
{
    int64_t most_ns = 0;
    explaining_mark(it, fault);
    int32_t rank = explanation_search_slowest(it, fault);
    for (size_t i = 0; i < it->found->partitions.count; i++) {
        tried[i] = *fault;
        if (explanation_search_move(it, i, (size_t)it->found->partitions.items[i].unit_of[rank], &tried[i]))
            return -1;
        int is_tried =
            tried[i].certainty > it->acceptance_limits->certainty || tried[i].partition == fault->partition;
        int64_t gain_ns = is_tried ? most_gain_of(it, &tried[i]) : 0;
        tried[i].gain_ns = is_tried ? 0 : INT64_MIN;
        most_ns = gain_ns > most_ns ? gain_ns : most_ns;
    }
    fault->gain_ns = 0;
    return most_ns >= explaining_least_gain(it, fault);
}

/* The maximum gain of what was removed for an attempt and is to be restored. */
static int64_t most_gain_taken(const struct explanation_search *it)
{
    const struct job *job = it->source.job;
    int64_t most_ns = 0;
    for (size_t i = 0; i < it->path_length; i++) {
        int32_t at = it->path[i], rank = job->operations[at].rank;
        if (it->kept_ns[rank])
            most_ns += it->kept_ns[rank][(size_t)at - job->ranks[rank].first] - it->replay->own_ns[at];
    }
    return it->path_length ? most_ns : INT64_MAX;
}

/*
 * Measures the gain for a unit. Sets it to INT64_MIN without a replay if it must be far below that of another
 * unit (most_ns) or below the minimum.
 */
static int try_unit(struct explanation_search *it, struct explanation *tried, int64_t most_ns)
{
    int64_t least_ns = explaining_least_gain(it, tried);
    if (take_out(it, tried))
        return -1;
    tried->gain_ns = INT64_MIN;
    if ((double)most_gain_taken(it) >= ENOUGH_PART * (double)(most_ns > least_ns ? most_ns : least_ns))
        tried->gain_ns = it->lasts_ns - replay_run(it->replay);
    put_back(it, tried);
    return 0;
}

/* Takes the host of a rank if the others of the host waited for that rank: their waits are part of its cost.
 */
static int take_waits(const struct explanation_search *it, struct explanation *tried, size_t count,
                      size_t *best)
{
    for (size_t i = 0; i < count; i++) {
        if (!tried[i].partition->is_host || tried[i].gain_ns < tried[*best].gain_ns ||
            unit_size(tried[i].partition, tried[i].unit) < 2)
            continue;
        const struct fault at = fault_of(it, &tried[i]);
        if (explanation_find_alone(it, &at, &tried[i]))
            return -1;
        if (tried[i].is_alone)
            *best = i;
    }
    return 0;
}

/*
 * Chooses the unit of a fault among those that contain the slowest rank: the smallest unit that is certain
 * and whose gain is nearly the largest. A single rank of a slow host gains nothing alone, and the other ranks
 * of a host with one slow rank add little, unless each was about as slow by itself: then it is the host. A
 * rank that arrives after all others is at fault itself: what its host gains in addition is time for which
 * the other ranks of the host wait for it. If no unit can gain the minimum because they are hardly on the
 * critical path, the gain is set to 0 and the fault is not changed.
 */
static int explaining_fit(struct explanation_search *it, struct explanation *fault)
{
    struct explanation tried[MOST_PARTITIONS] = {{.partition = NULL}};
    size_t count = it->found->partitions.count;
    int64_t most_ns = INT64_MIN;
    int may_gain = try_units(it, fault, tried);
    if (may_gain <= 0)
        return may_gain;
    for (size_t i = 0; i < count; i++) {
        if (tried[i].gain_ns == INT64_MIN)
            continue;
        if (try_unit(it, &tried[i], most_ns))
            return -1;
        most_ns = tried[i].gain_ns > most_ns ? tried[i].gain_ns : most_ns;
    }
    size_t best = tried[0].is_last && tried[0].gain_ns >= explaining_least_gain(it, fault) ? 0 : count;
    for (size_t i = 0; best > 0 && i < count; i++)
        if (tried[i].gain_ns != INT64_MIN && (double)tried[i].gain_ns >= ENOUGH_PART * (double)most_ns &&
            (best == count || unit_size(tried[i].partition, tried[i].unit) <
                                  unit_size(tried[best].partition, tried[best].unit)))
            best = i;
    for (size_t i = 0; best < count && !tried[best].is_last && i < count; i++)
        if (tried[i].partition->is_host && tried[i].gain_ns != INT64_MIN &&
            explanation_search_are_all_slow(it, &tried[i], &tried[best]))
            best = i;
    if (best < count && take_waits(it, tried, count, &best))
        return -1;
    if (best < count)
        *fault = tried[best];
    return 0;
}

void explanations_release(struct explanations *explanations)
{
    partitions_release(&explanations->partitions);
    free(explanations->items);
    free(explanations->marks);
    *explanations = (struct explanations){0};
}

/*
 * Notes what the removal of a fault took from the own times of its ranks, one rank after the other. Returns
 * -1 when memory runs out.
 */
static int note_taken(struct explanation_search *it, const struct explanation *fault, int64_t **taken_ns)
{
    const struct partition *partition = fault->partition;
    size_t count = 0, next = 0;
    for (size_t i = partition->first[fault->unit]; i < partition->first[fault->unit + 1]; i++)
        count += it->source.job->ranks[partition->ranks[i]].count;
    *taken_ns = array_new(count + 1, sizeof **taken_ns);
    for (size_t i = partition->first[fault->unit]; *taken_ns && i < partition->first[fault->unit + 1]; i++) {
        const struct job_rank *rank = &it->source.job->ranks[partition->ranks[i]];
        const int64_t *kept_ns = it->kept_ns[partition->ranks[i]];
        for (size_t j = 0; j < rank->count; j++)
            (*taken_ns)[next++] = kept_ns[j] - it->replay->own_ns[rank->first + j];
    }
    return *taken_ns ? 0 : -1;
}

/* Gives back what the removal of a fault took (sign 1), or takes it again (-1). */
static void give_back(struct explanation_search *it, const struct explanation *fault, const int64_t *taken_ns,
                      int sign)
{
    const struct partition *partition = fault->partition;
    for (size_t i = partition->first[fault->unit]; i < partition->first[fault->unit + 1]; i++) {
        const struct job_rank *rank = &it->source.job->ranks[partition->ranks[i]];
        for (size_t j = 0; j < rank->count; j++)
            it->replay->own_ns[rank->first + j] += sign * *taken_ns++;
    }
}

static void mark_explained(struct explanation_search *it, const struct explanation *explanation)
{
    const struct partition *partition = explanation->partition;
    size_t steps = (size_t)it->source.baseline->step_count;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        int32_t rank = partition->ranks[i], role = it->source.baseline->role_of_rank[rank];
        for (size_t step = 0; step < steps; step++)
            it->explained[(size_t)rank * steps + step] |= it->marked[step];
        if (role >= 0)
            it->dirty[role] = 1;
    }
}

static int believe(struct explanation_search *it, const struct explanation *explanation)
{
    if (array_reserve((void **)&it->found->items, &it->found->capacity, it->found->count + 1,
                      sizeof *explanation))
        return -1;
    struct explanation *found = &it->found->items[it->found->count];
    *found = *explanation;
    size_t steps = (size_t)it->source.baseline->step_count;
    explanation_search_keep_marks(it, found, &it->found->marks[it->found->count * steps]);
    if (explaining_take_out(it, found) || note_taken(it, found, &it->taken_ns[it->found->count]))
        return -1;
    it->found->count++;
    it->lasts_ns -= found->gain_ns;
    explanation_search_update_path(it);
    mark_explained(it, found);
    return 0;
}

/* Whether the fault costs enough to be accepted. */
static int is_worth(const struct explanation_search *it, const struct explanation *fault)
{
    const struct acceptance_limits *acceptance = it->acceptance_limits;
    /* Single steps that are not certain beyond doubt have to cost more: twice worth_waited_ns. */
    if (fault->steps.marks && fault->certainty < acceptance->sure)
        return fault->gain_ns >= 2 * acceptance->worth_waited_ns * fault->counted;
    if (fault->gain_ns >= acceptance->worth_ns * fault->counted)
        return 1;
    return explanation_counts_partners(fault) && fault->certainty >= acceptance->sure &&
           fault->margin_ns >= acceptance->worth_waited_ns * fault->counted &&
           fault->gain_ns >= acceptance->least_ns * fault->counted;
}

/*
 * Of two ranks that are slow at the same time, beside each other, neither has a gain alone. So a rank that is
 * late beyond doubt, and that its partners waited for, is accepted on trial: settle_trials() decides.
 */
static int may_be_hidden(const struct explanation_search *it, const struct explanation *fault)
{
    const struct acceptance_limits *acceptance = it->acceptance_limits;
    return fault->certainty >= acceptance->sure && !fault->steps.marks &&
           fault->margin_ns >= acceptance->worth_waited_ns * fault->counted;
}

/* Whether a fault costs enough where nothing else is slow. */
static int is_worth_alone(const struct explanation_search *it, const struct explanation *fault)
{
    return fault->alone_ns >= it->acceptance_limits->worth_ns * fault->counted;
}

/* The mean of the gains of a fault if it is repaired first and if it is repaired last. */
static int64_t mean_gain(const struct explanation *fault)
{
    return (fault->gain_ns + (fault->alone_ns > 0 ? fault->alone_ns : 0)) / 2;
}

/* Drops a fault that was accepted on trial. */
static void drop(struct explanations *found, size_t number)
{
    found->count--;
    memmove(&found->items[number], &found->items[number + 1], (found->count - number) * sizeof *found->items);
}

/*
 * Measures what each fault costs where all others are repaired, and drops those accepted on trial that cost
 * too little then. Of two faults that hide each other, the first has no gain before the other is removed and
 * the second has all of it: each gets the mean of its gain as the first and as the last, so that the sum
 * stays.
 */
static void settle_trials(struct explanation_search *it)
{
    struct explanations *found = it->found;
    size_t count = found->count, i = 0;
    int64_t sum_ns = 0, means_ns = 0;
    for (size_t number = 0; number < count; number++) {
        struct explanation *fault = &found->items[i];
        give_back(it, fault, it->taken_ns[number], 1);
        fault->alone_ns = replay_run(it->replay) - it->lasts_ns;
        if (fault->is_on_trial && !is_worth_alone(it, fault)) {
            it->lasts_ns += fault->alone_ns;
            drop(found, i);
            continue;
        }
        give_back(it, fault, it->taken_ns[number], -1);
        sum_ns += fault->gain_ns;
        means_ns += mean_gain(fault);
        i++;
    }
    for (i = 0; i < found->count; i++)
        found->items[i].gain_ns = scale(sum_ns, ratio_of(mean_gain(&found->items[i]), means_ns));
}

/*
 * What is compared with its past has to have one: fewer steps before may be warm-up. What recurs has other
 * steps between. Without times of calls, a stage of several ranks may have become heavier with the load.
 */
enum { STEPS_OF_PAST = 3 };

static int has_reference(const struct explanation_search *it, const struct explanation *fault)
{
    if (fault->has_no_peers && unit_size(fault->partition, fault->unit) > 1 &&
        !job_records_calls(it->source.job, fault->rank))
        return 0;
    return !fault->has_no_peers || fault->steps.period > 1 ||
           fault->steps.first >= it->source.baseline->first_step + STEPS_OF_PAST;
}

static void leave_idle(struct explanation_search *it, const struct explanation *proposal)
{
    struct idle *idle = &it->idle[it->idle_count++];
    *idle = (struct idle){proposal->partition, proposal->unit, proposal->is_steady, proposal->steps};
    idle->steps.marks = NULL;
}

static int explain(struct explanation_search *it, struct error *error)
{
    struct explanation best;
    int found = 0;
    while (it->found->count < MOST_EXPLANATIONS && it->idle_count < MOST_IDLE &&
           (found = explanation_search_best(it, &best)) > 0) {
        struct explanation proposed = best;
        if (explaining_replay(it) || explaining_fit(it, &best))
            return error_no_memory(error);
        if (!best.is_last && best.certainty < it->acceptance_limits->sure &&
            best.gain_ns < explaining_least_gain(it, &best)) {
            leave_idle(it, &proposed);
            continue;
        }
        explaining_mark(it, &best);
        explanation_measure(it, &best);
        const struct fault at = fault_of(it, &best);
        if (explanation_locate(it, &at, &best))
            return error_no_memory(error);
        int waits = explanation_waits(it, &at, &best);
        if (waits < 0)
            return error_no_memory(error);
        best.is_on_trial = best.gain_ns < explaining_least_gain(it, &best) || !is_worth(it, &best);
        if ((best.is_on_trial && !may_be_hidden(it, &best)) || !has_reference(it, &best) || waits)
            leave_idle(it, &proposed);
        else if (believe(it, &best))
            return error_no_memory(error);
    }
    if (it->found->count)
        settle_trials(it);
    return found < 0 ? error_no_memory(error) : 0;
}

/* Where noise is related from step to step, three steps say about as much as two. */
enum { THREE_RELATED = 2 };

int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, struct replay *replay,
                      const unsigned char *explained, const struct acceptance_limits *acceptance,
                      struct error *error)
{
    struct explanation_search it = {.found = explanations, .acceptance_limits = acceptance, .replay = replay};
    *explanations = (struct explanations){0};
    if (!baseline_is_regular(baseline) || !baseline->median_step_ns)
        return 0;
    explanations->marks = array_new(MOST_EXPLANATIONS * (size_t)baseline->step_count, 1);
    int failed = !explanations->marks || partitions_init(&explanations->partitions, job, edges) ||
                         explanation_search_init(&it, job, baseline, transfers, explained)
                     ? error_no_memory(error)
                     : explain(&it, error);
    explanations->three_steps_ns = failed ? 0 : explanation_search_least(&it, THREE_RELATED);
    explanation_search_release(&it);
    return failed;
}
