/*
 * Summaries of the steps of a job for the command steps: duration, communication, wait time, the rank that
 * was waited for, and the phase that made a step longer.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/steps.h"

#include <stdlib.h>

static int by_tag(const void *a, const void *b)
{
    const struct phase_time *left = a, *right = b;
    if (left->tag != right->tag)
        return left->tag < right->tag ? -1 : 1;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->step > right->step) - (left->step < right->step);
}

/* The state while the times of phases are measured, rank by rank. */
struct phase_sums {
    struct phase_times *times;
    const struct job *job;
    struct map numbers;        /* step, tag and rank -> index of the entry */
    struct job_marks marks;    /* of the rank, like everything below */
    struct job_issues *issues; /* owned: per step */
    struct map used;           /* steps and tags that have operations */
    int32_t rank;              /* -1: all ranks have the same entries */
    struct phase_time *at;     /* the entry of the operation */
    int64_t moved_ns;          /* of its time, what other phases get */
    int has_failed;            /* memory is out */
};

static struct map_key place_of(int32_t step, int32_t tag)
{
    return (struct map_key){{(uint64_t)(uint32_t)tag << 32 | (uint32_t)step}};
}

/* The entry for a phase in a step, summed over ranks so far, or of the rank. NULL when memory is out. */
static struct phase_time *time_of(struct phase_sums *sums, int32_t step, int32_t tag)
{
    struct phase_times *times = sums->times;
    int added;
    struct map_key key = place_of(step, tag);
    key.part[1] = (uint64_t)(int64_t)sums->rank + 1;
    const int64_t *number = map_put(&sums->numbers, key, (int64_t)times->count, &added);
    if (!number)
        return NULL;
    if (added) {
        if (array_reserve((void **)&times->items, &times->capacity, times->count + 1, sizeof *times->items))
            return NULL;
        times->items[times->count++] = (struct phase_time){.step = step, .tag = tag, .rank = sums->rank};
    }
    return &times->items[*number];
}

/* Adds to a phase its time, and the part of it that makes the step longer. */
static void add_time(struct phase_sums *sums, int32_t step, int32_t tag, int64_t ns, int64_t exposed_ns)
{
    struct phase_time *time = time_of(sums, step, tag);
    if (time) {
        time->time_ns += ns;
        time->exposed_ns += exposed_ns;
    }
    sums->has_failed |= !time;
}

/* Adds a phase if its tag has no operation in the step. */
static void add_empty(void *context, int32_t step, int32_t tag, int64_t ns)
{
    struct phase_sums *sums = context;
    if (!map_get(&sums->used, place_of(step, tag)))
        add_time(sums, step, tag, ns, 0);
}

/* Time in which the GPU waited for its host is that of the phase in which the host was. */
static void move_late(void *context, int32_t tag, int64_t ns)
{
    struct phase_sums *sums = context;
    int32_t step = sums->at->step, number = (int32_t)(sums->at - sums->times->items);
    if (tag == sums->at->tag)
        return;
    sums->moved_ns += ns;
    int is_used = tag < 0 || map_get(&sums->used, place_of(step, tag));
    add_time(sums, step, tag, is_used ? ns : 0, ns);
    sums->at = &sums->times->items[number];
}

/*
 * Divides a rank's timeline among its phases: the time up to the end of each operation goes to the phase of
 * that operation, except for the time in which the rank's host was in another one.
 */
static int divide_timeline(struct phase_sums *sums, const struct job_rank *rank)
{
    const struct job *job = sums->job;
    int64_t before_ns = TIME_UNKNOWN;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->end_ns == TIME_UNKNOWN || operation->step < 0)
            continue;
        sums->at = time_of(sums, operation->step, operation->tag);
        if (!sums->at)
            return -1;
        sums->moved_ns = 0;
        if (before_ns != TIME_UNKNOWN && operation->end_ns > before_ns && operation->start_ns >= before_ns)
            job_late_each(job, &sums->marks, operation, move_late, sums);
        if (before_ns != TIME_UNKNOWN && operation->end_ns - sums->moved_ns > before_ns)
            add_time(sums, operation->step, operation->tag, operation->end_ns - sums->moved_ns - before_ns,
                     operation->end_ns - sums->moved_ns - before_ns);
        if (before_ns == TIME_UNKNOWN || operation->end_ns > before_ns)
            before_ns = operation->end_ns;
    }
    return sums->has_failed ? -1 : 0;
}

/* Finds which tags the operations of a rank have in each step, and when they were issued. -1: memory is out.
 */
static int find_issues(struct phase_sums *sums, const struct job_rank *rank)
{
    const struct job *job = sums->job;
    map_release(&sums->used);
    map_init(&sums->used);
    for (int32_t step = 0; step < job->step_count; step++)
        sums->issues[step] =
            (struct job_issues){TIME_UNKNOWN, TIME_UNKNOWN, step && job_is_break(job, step - 1)};
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t at_ns = operation->enqueued_ns == TIME_UNKNOWN ? operation->start_ns : operation->enqueued_ns;
        if (operation->step < 0 || at_ns == TIME_UNKNOWN)
            continue;
        if (!map_put(&sums->used, place_of(operation->step, operation->tag), 1, NULL))
            return -1;
        struct job_issues *issues = &sums->issues[operation->step];
        at_ns += job_delay(job, operation);
        if (issues->last_ns == TIME_UNKNOWN || at_ns < issues->first_ns)
            issues->first_ns = at_ns;
        if (issues->last_ns == TIME_UNKNOWN || at_ns > issues->last_ns)
            issues->last_ns = at_ns;
    }
    return 0;
}

static int add_phases_of_rank(struct phase_sums *sums, int32_t number, struct error *error)
{
    const struct job_rank *rank = &sums->job->ranks[number];
    if (job_marks_load(&sums->marks, sums->job, number, error))
        return -1;
    if (find_issues(sums, rank) || divide_timeline(sums, rank))
        return error_no_memory(error);
    job_marks_each(&sums->marks, sums->issues, sums->job->step_count, add_empty, sums);
    return sums->has_failed ? error_no_memory(error) : 0;
}

/* Turns sums into means over ranks, unless ranks have entries of their own. */
static void take_means(struct phase_times *times, size_t ranks)
{
    array_sort(times->items, times->count, sizeof *times->items, by_tag);
    for (size_t i = 0; i < times->count; i++) {
        if (times->items[i].rank >= 0)
            continue;
        times->items[i].ranks = (int32_t)ranks;
        times->items[i].time_ns /= (int64_t)ranks;
        times->items[i].exposed_ns /= (int64_t)ranks;
    }
}

/* Fills in the baselines of one phase. Step 0 is warm-up if there are others. */
static void find_usual_of(struct phase_time *items, size_t count, int64_t *list, int64_t *exposed)
{
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        list[steps] = items[i].time_ns;
        exposed[steps] = items[i].exposed_ns;
        steps += items[i].step > 0;
    }
    int64_t usual_ns = steps ? baseline_quantile(list, steps) : items[0].time_ns,
            exposed_ns = steps ? baseline_quantile(exposed, steps) : items[0].exposed_ns;
    for (size_t i = 0; i < count; i++) {
        items[i].usual_ns = usual_ns;
        items[i].usual_exposed_ns = exposed_ns;
    }
}

/* Fills in the baseline of each phase, over the steps that have it. */
static int find_usual(struct phase_times *times)
{
    int64_t *list = array_new(times->count + 1, sizeof *list),
            *exposed = array_new(times->count + 1, sizeof *exposed);
    for (size_t i = 0, next; list && exposed && i < times->count; i = next) {
        for (next = i; next < times->count && times->items[next].tag == times->items[i].tag &&
                       times->items[next].rank == times->items[i].rank;)
            next++;
        find_usual_of(&times->items[i], next - i, list, exposed);
    }
    int failed = !list || !exposed;
    free(list);
    free(exposed);
    return failed ? -1 : 0;
}

int phase_times_init(struct phase_times *times, const struct job *job, int32_t whose, struct error *error)
{
    size_t ranks = job_recorded_ranks(job);
    struct phase_sums sums = {.times = times,
                              .job = job,
                              .issues = array_new((size_t)job->step_count + 1, sizeof *sums.issues),
                              .rank = -1};
    int failed = sums.issues ? 0 : error_no_memory(error);
    *times = (struct phase_times){.items = NULL};
    map_init(&sums.numbers);
    map_init(&sums.used);
    for (int32_t rank = whose < 0 ? 0 : whose; !failed && rank < (int32_t)job->rank_count; rank++) {
        sums.rank = whose == PHASES_OF_JOB ? -1 : rank;
        failed = add_phases_of_rank(&sums, rank, error);
        if (whose >= 0)
            break;
    }
    map_release(&sums.numbers);
    job_marks_release(&sums.marks);
    free(sums.issues);
    map_release(&sums.used);
    if (failed)
        return -1;
    take_means(times, ranks ? ranks : 1);
    return find_usual(times) ? error_no_memory(error) : 0;
}

void phase_times_release(struct phase_times *times)
{
    free(times->items);
    *times = (struct phase_times){.items = NULL};
}

/* Names in some steps the phase that grew most, of all ranks as a mean, or of one rank. */
static int name_grown(struct step_summary *summaries, const unsigned char *is_wanted, const struct job *job,
                      int32_t whose, struct error *error)
{
    struct phase_times times;
    int failed = phase_times_init(&times, job, whose, error);
    for (size_t i = 0; !failed && i < times.count; i++) {
        const struct phase_time *time = &times.items[i];
        struct step_summary *summary = &summaries[time->step];
        int64_t excess_ns = time->exposed_ns - time->usual_exposed_ns;
        if (time->step < job->step_count && is_wanted[time->step] && excess_ns > summary->phase_excess_ns) {
            summary->phase_excess_ns = excess_ns;
            summary->tag = time->tag;
        }
    }
    phase_times_release(&times);
    return failed;
}

/* Marks the steps in which the others waited for a rank; returns how many. */
static int32_t mark_waited_for(const struct step_summary *summaries, const struct job *job, int32_t rank,
                               unsigned char *is_wanted)
{
    int32_t count = 0;
    for (int32_t step = 0; step < job->step_count; step++)
        count += is_wanted[step] = summaries[step].last_rank == rank;
    return count;
}

/* Marks the steps in which no phase grew by at least `least`, as a share of a step, and takes it back there.
 */
static void mark_unnamed(struct step_summary *summaries, const struct job *job, double least,
                         unsigned char *is_wanted)
{
    for (int32_t step = 0; step < job->step_count; step++) {
        struct step_summary *summary = &summaries[step];
        is_wanted[step] = summary->usual_ns == TIME_UNKNOWN ||
                          (double)summary->phase_excess_ns < least * (double)summary->usual_ns;
        if (is_wanted[step]) {
            summary->phase_excess_ns = 0;
            summary->tag = -1;
        }
    }
}

int step_summaries_find_phases(struct step_summary *summaries, const struct job *job, double least,
                               struct error *error)
{
    unsigned char *is_wanted = array_new((size_t)job->step_count + 1, 1);
    int failed = is_wanted ? 0 : error_no_memory(error);
    for (int32_t rank = 0; !failed && rank < (int32_t)job->rank_count; rank++)
        if (mark_waited_for(summaries, job, rank, is_wanted))
            failed = name_grown(summaries, is_wanted, job, rank, error);
    if (!failed) {
        mark_unnamed(summaries, job, least, is_wanted);
        failed = name_grown(summaries, is_wanted, job, PHASES_OF_JOB, error);
    }
    free(is_wanted);
    return failed;
}

/* Lowers *begin_ns to the first start of the step's operations on a rank, in common time. */
static void note_begin(const struct job *job, int32_t rank, int32_t step, int64_t *begin_ns)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step != step || operation->start_ns == TIME_UNKNOWN)
            continue;
        int64_t start_ns = job_common_time(job, operation, operation->start_ns);
        if (start_ns != TIME_UNKNOWN && (*begin_ns == TIME_UNKNOWN || start_ns < *begin_ns))
            *begin_ns = start_ns;
    }
}

static void find_begin(const struct job *job, int32_t step, struct step_summary *summary)
{
    for (size_t rank = 0; rank < job->rank_count; rank++)
        note_begin(job, (int32_t)rank, step, &summary->begin_ns);
}

/*
 * Adds the waits of an instance's members for its last member to `waited`, which has one value per rank.
 * Returns their sum; TIME_UNKNOWN if it is not known.
 */
static int64_t add_waits(const struct job *job, const struct job_instance *instance, int64_t *waited)
{
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    int64_t sum = 0;
    if (last < 0)
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++)
        sum += arrival_stay_ns(job, job_member_at(job, instance, i)) - arrival_stay_ns(job, last);
    /* Of several that arrived last together, the others waited for each. */
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (arrival_stay_ns(job, at) == arrival_stay_ns(job, last))
            waited[job->operations[at].rank] += sum;
    }
    return sum;
}

/*
 * Finds the rank that was waited for longest in a step; none where several were waited for equally long.
 * Returns whether that can be determined.
 */
static int find_last(const struct job *job, int32_t step, int64_t *waited, struct step_summary *summary)
{
    struct job_range range = job_instances_in(job, step, step);
    int is_told = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        waited[rank] = 0;
    for (size_t i = range.first; i < range.end; i++)
        is_told |= add_waits(job, &job->instances[job->by_step[i]], waited) != TIME_UNKNOWN;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        if (waited[rank] > summary->last_waited_ns) {
            summary->last_waited_ns = waited[rank];
            summary->last_rank = (int32_t)rank;
        } else if (waited[rank] == summary->last_waited_ns)
            summary->last_rank = -1;
    return is_told;
}

/* Sums over the ranks in a step. */
struct sums {
    int64_t ranks;
    int64_t lasted_ns; /* of ranks with a known step duration */
    int64_t communication_ns;
    int64_t waiting_ns;
};

/* The steps and ranks to measure, and the working memory of each thread. */
struct measuring {
    const struct job *job;
    struct step_summary *summaries;
    struct rank_times times;
    unsigned char *are_waits_told; /* owned: per step */
    struct bench {
        int64_t *waited;           /* owned, like everything below: per rank */
        struct rank_time *of_rank; /* per step, like the sums */
        struct sums *sums;
        struct rank_times_bench bench;
    } * benches; /* owned */
    size_t bench_count;
};

static int measure_steps(void *context, size_t worker, size_t first, size_t end)
{
    const struct measuring *measuring = context;
    for (size_t step = first; step < end; step++) {
        struct step_summary *summary = &measuring->summaries[step];
        find_begin(measuring->job, (int32_t)step, summary);
        measuring->are_waits_told[step] = (unsigned char)find_last(
            measuring->job, (int32_t)step, measuring->benches[worker].waited, summary);
    }
    return 0;
}

/* If the duration of the step is known, ranks without a duration of their own are ignored. */
static void add_rank(struct sums *sums, const struct rank_time *time, int is_lasting)
{
    if (time->communication_ns == TIME_UNKNOWN || (is_lasting && time->lasted_ns <= 0))
        return;
    sums->ranks++;
    sums->lasted_ns += is_lasting ? time->lasted_ns : 0;
    sums->communication_ns += time->communication_ns;
    sums->waiting_ns += time->waiting_ns;
}

static int measure_ranks(void *context, size_t worker, size_t first, size_t end)
{
    const struct measuring *measuring = context;
    struct bench *bench = &measuring->benches[worker];
    for (size_t rank = first; rank < end; rank++) {
        rank_times_measure(&measuring->times, &bench->bench, (int32_t)rank, bench->of_rank);
        for (int32_t step = 0; step < measuring->job->step_count; step++)
            add_rank(&bench->sums[step], &bench->of_rank[step],
                     measuring->summaries[step].duration_ns != TIME_UNKNOWN);
    }
    return 0;
}

/* The part in proportion to all ranks' time in the step; if that time is not known, the mean over ranks. */
static int64_t part_of(const struct sums *sums, int64_t part_ns, int64_t duration_ns)
{
    if (!sums->ranks)
        return TIME_UNKNOWN;
    if (duration_ns == TIME_UNKNOWN || sums->lasted_ns <= 0)
        return part_ns / sums->ranks;
    return scale(1, (double)duration_ns * (double)part_ns / (double)sums->lasted_ns + 0.5);
}

static void conclude(const struct measuring *measuring)
{
    for (int32_t step = 0; step < measuring->job->step_count; step++) {
        struct step_summary *summary = &measuring->summaries[step];
        struct sums all = {0};
        for (size_t i = 0; i < measuring->bench_count; i++) {
            const struct sums *some = &measuring->benches[i].sums[step];
            all.ranks += some->ranks;
            all.lasted_ns += some->lasted_ns;
            all.communication_ns += some->communication_ns;
            all.waiting_ns += some->waiting_ns;
        }
        summary->communication_ns = part_of(&all, all.communication_ns, summary->duration_ns);
        summary->waiting_ns = measuring->are_waits_told[step]
                                  ? part_of(&all, all.waiting_ns, summary->duration_ns)
                                  : TIME_UNKNOWN;
    }
}

static int measuring_init(struct measuring *measuring, const struct baseline *baseline)
{
    const struct job *job = measuring->job;
    size_t steps = (size_t)job->step_count + 1;
    measuring->bench_count = job_threads(job);
    measuring->are_waits_told = array_new(steps, 1);
    measuring->benches = array_new(measuring->bench_count, sizeof *measuring->benches);
    if (rank_times_init(&measuring->times, job, baseline) || !measuring->are_waits_told ||
        !measuring->benches)
        return -1;
    for (size_t i = 0; i < measuring->bench_count; i++) {
        struct bench *bench = &measuring->benches[i];
        bench->waited = array_new(job->rank_count + 1, sizeof *bench->waited);
        bench->of_rank = array_new(steps, sizeof *bench->of_rank);
        bench->sums = array_new(steps, sizeof *bench->sums);
        if (rank_times_bench_init(&bench->bench, &measuring->times) || !bench->waited || !bench->of_rank ||
            !bench->sums)
            return -1;
    }
    return 0;
}

static void measuring_release(struct measuring *measuring)
{
    for (size_t i = 0; measuring->benches && i < measuring->bench_count; i++) {
        struct bench *bench = &measuring->benches[i];
        free(bench->waited);
        free(bench->of_rank);
        free(bench->sums);
        rank_times_bench_release(&bench->bench);
    }
    free(measuring->benches);
    free(measuring->are_waits_told);
    rank_times_release(&measuring->times);
}

static int measure(const struct job *job, const struct baseline *baseline, struct step_summary *summaries)
{
    struct measuring measuring = {.job = job, .summaries = summaries};
    int failed = measuring_init(&measuring, baseline) ||
                 parallel_for((size_t)job->step_count, 1, measuring.bench_count, measure_steps, &measuring) ||
                 parallel_for(job->rank_count, 1, measuring.bench_count, measure_ranks, &measuring);
    if (!failed)
        conclude(&measuring);
    measuring_release(&measuring);
    return failed;
}

int step_usual_ns(const struct baseline *baseline, int64_t *usual_ns)
{
    int64_t *list = array_new((size_t)baseline->step_count + 1, sizeof *list);
    size_t count = 0;
    if (!list)
        return -1;
    for (int32_t step = baseline->first_step; baseline->step_ns && step < baseline->step_count; step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    *usual_ns = baseline_quantile(list, count);
    free(list);
    return 0;
}

static int begin_all(const struct job *job, const struct baseline *baseline, struct step_summary *summaries)
{
    int64_t usual_ns;
    if (step_usual_ns(baseline, &usual_ns))
        return -1;
    for (int32_t step = 0; step < job->step_count; step++)
        summaries[step] = (struct step_summary){
            .begin_ns = TIME_UNKNOWN,
            .duration_ns = step < baseline->step_count ? baseline->step_ns[step] : TIME_UNKNOWN,
            .usual_ns = usual_ns,
            .last_rank = -1,
            .tag = -1};
    return 0;
}

struct step_summary *step_summaries_new(const struct job *job, const struct baseline *baseline)
{
    struct step_summary *summaries = array_new((size_t)job->step_count + 1, sizeof *summaries);
    if (summaries && (begin_all(job, baseline, summaries) || measure(job, baseline, summaries))) {
        free(summaries);
        return NULL;
    }
    return summaries;
}
