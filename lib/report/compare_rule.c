/*
 * Rules of a comparison, and the shape of runs that the bars compare. A new rule, COMPARE_FOO, takes a line
 * in enum compare_rule (lib/report/comparison.h), one in `compare_rules` below, and what follows; `make
 * check` says what is missing.
 * - lib/report/: code that applies the rule by its name, where the data that it needs is available
 * - tests/unit/: a test with assert_decides(COMPARE_FOO, ...) and one with assert_allows(COMPARE_FOO, ...): a
 *   pair of runs in which it decides, and one beside its limit in which it does not
 * - man/ncclprof-compare.1: `make golden` writes its paragraph from the table
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "report/comparison.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 1 << SERIES_STEP | 1 << SERIES_COMMUNICATION | 1 << SERIES_WAITING | 1 << SERIES_OVERLAP,
    LENGTHS = 1 << SERIES_STEP,
    PHASES = 1 << SERIES_PHASE,
    TRANSFERS = 1 << SERIES_TRANSFER,
    EDGES = 1 << SERIES_EDGE,
    RANKS = 1 << SERIES_RANK,
    OWNS = 1 << SERIES_OWN | 1 << SERIES_OWN_PHASE | RANKS,
    FINDINGS = 1 << COMPARED_FINDING,
    FIGURES = STEPS | PHASES | TRANSFERS | EDGES | OWNS
};

/* The names follow the enumerators: COMPARE_FEW_STEPS is few-steps. */
const struct compare_rule_text compare_rules[COMPARE_RULES] = {
    [COMPARE_ONE_SIDE] = {"one-side", 1, FIGURES, 1, "run", "one is enough", "only one of the runs has it"},
    [COMPARE_RANKS] = {"ranks", 1, FIGURES, 0, "ranks", "different ranks divide the work differently",
                       "the runs differ in the number of ranks, or in which ranks they have"},
    [COMPARE_PROGRAMME] = {"programme", 1, STEPS | PHASES | EDGES | OWNS, 0, "operations",
                           "steps with different operations need not take the same time",
                           "the operations of a step differ in number, order, function, "
                           "size or ranks; sizes that vary within a run are ignored"},
    [COMPARE_PLACEMENT] =
        {"placement", 1, STEPS | PHASES | TRANSFERS | EDGES, 0, "communicators",
         "networks are several times slower than links within a host, so the difference comes "
         "from the scheduler, not from a change of the job",
         "the data of a communicator goes over the network in only one run, or different "
         "ranks share a host"},
    [COMPARE_CALLED] = {"called", 1, STEPS, 0, "steps",
                        "hosts run ahead of their GPUs, so the time between the calls of two steps says "
                        "little about the steps",
                        "operations have no end times, so steps are measured from call to call"},
    [COMPARE_FEW_STEPS] = {"few-steps", 1, FIGURES, 6, "baseline steps",
                           "a spread takes at least three batches of two steps",
                           "a run has fewer baseline steps after the warm-up"},
    [COMPARE_CHANCE] =
        {"chance", 0, FIGURES, 0.05, "of the comparisons of equal runs",
         "the usual level of a test; 60 % of it for step time, 15 % for gap times, 10 % each for transfers "
         "and "
         "links, and 5 % left to findings; phases and shares, which are compared only where steps differ, "
         "have "
         "a budget of their own",
         "the share of comparisons in which noise alone makes a difference of this size in any row "
         "(Student's t, "
         "Holm's correction); decides where the largest part of the noise is the error of the levels of the "
         "runs, by medians of batches of steps"},
    [COMPARE_SPREAD] = {"spread", 0, STEPS | PHASES | TRANSFERS | EDGES, 1,
                        "times the spread of the fifths of a run",
                        "what makes one part of a run slower than another can make a whole run slower; "
                        "recorded clean runs of "
                        "one job differ by 0.2 to 1 times the spread of their fifths",
                        "runs of one job are assumed to differ by a standard deviation of this size; repeats "
                        "take the place of "
                        "the assumption"},
    [COMPARE_RUNS] = {"runs", 0, STEPS | PHASES | (OWNS & ~RANKS), 0.01, "of the mean of A and B",
                      "steps of recorded clean runs of one job with calm steps differ by 0.5 to 2 %",
                      "the same, however little the steps of a run differ"},
    [COMPARE_RUNS_TRANSFER] = {"runs-transfer", 0, TRANSFERS | EDGES, 0.025, "of the mean of A and B",
                               "as runs, but short times differ by more; no measurement behind it",
                               "the same for transfers and links"},
    [COMPARE_RUNS_OWN] = {"runs-own", 0, OWNS, 0.003, "of a baseline step",
                          "gap times of recorded clean runs differ by 0.1 to 0.6 % of a step",
                          "the same for gap times, if this is more than by rule runs"},
    [COMPARE_REPEATS] = {"repeats", 0, FIGURES, 12, "degrees of freedom of what is assumed without repeats",
                         "the interval of single runs is then 13 % wider than if the assumption were exact; "
                         "divided by 1 + n for "
                         "n repeats, which show more than it",
                         "decides where the n runs beyond the first of each side differ by more than is "
                         "assumed without them"},
    [COMPARE_NETWORK] =
        {"network", 0, TRANSFERS | EDGES, 0.5, "of the mean of A and B",
         "recorded clean runs of one job over sockets: transfers took from 612 to 865 us; "
         "--network-noise sets another limit",
         "transfers between hosts differ by this much between two clean runs of the same job, because of "
         "placement and of other jobs on the machines and links; not used if both sides have repeats"},
    [COMPARE_WORTH] = {"worth", 0, FIGURES & ~RANKS, 0.01, "of a baseline step",
                       "a difference that does not show in the step time is not worth looking at",
                       "a difference of this size hardly shows in the step time"},
    [COMPARE_WORTH_RANK] = {"worth-rank", 0, RANKS, 0.015, "of a baseline step",
                            "half of the --min-gain of diagnose",
                            "ranks of healthy jobs differ by this much"},
    [COMPARE_SHOWN] =
        {"shown", 0, (STEPS & ~LENGTHS) | PHASES, 0, "changes of the step time",
         "where kernels end, in the leaves of a tree or in its root, moves time between phases, and "
         "between gap time and wait time, from run to run; the steps pay for none of it",
         "the step time did not change beyond noise; nothing is compared where steps were not"},
    [COMPARE_RESIZED] = {"resized", 0, FINDINGS, 1.67, "times the smaller cost",
                         "the cost of a finding is right within 25 %: 1.25 to 0.75",
                         "both sides have the finding, and its costs differ by less than this factor"},
    [COMPARE_SELDOM] = {"seldom", 0, FINDINGS, 0.5, "of the runs of a side",
                        "what one of several repeats has need not be a difference between the sides",
                        "no more than this share of the repeats of a side have the finding, and it does not "
                        "stop a job"},
};

static int differ(uint64_t a, uint64_t b)
{
    return a && b && a != b;
}

static int differ_in_call_sequence(const struct measured_run *a, const struct measured_run *b)
{
    return differ(a->calls, b->calls) || differ(a->sizes, b->sizes);
}

size_t count_moved_communicators(const struct measured_run *a, const struct measured_run *b)
{
    size_t moved = 0;
    if (!a->has_network || !b->has_network)
        return 0;
    for (size_t i = 0, k = 0; i < a->way_count && k < b->way_count;) {
        const struct communicator_network_use *left = &a->ways[i], *right = &b->ways[k];
        moved += left->members == right->members && left->over_network != right->over_network;
        i += left->members <= right->members;
        k += right->members <= left->members;
    }
    return moved;
}

static int differ_in_hosts(const struct measured_run *a, const struct measured_run *b)
{
    return a->hosts && b->hosts && a->ranks == b->ranks &&
           memcmp(a->hosts, b->hosts, (size_t)a->ranks * sizeof *a->hosts) != 0;
}

int comparison_is_blocked(const struct measured_run *a, const struct measured_run *b, enum compare_rule rule)
{
    switch (rule) {
    case COMPARE_RANKS:
        return a->ranks != b->ranks;
    case COMPARE_PROGRAMME:
        return differ_in_call_sequence(a, b);
    case COMPARE_PLACEMENT:
        return count_moved_communicators(a, b) || differ_in_hosts(a, b);
    case COMPARE_CALLED:
        return a->measured_by_calls || b->measured_by_calls;
    default:
        return 0;
    }
}

/* Hashes the operations of a step of the job, rank by rank. */
struct call_sequence {
    const struct job *job;
    struct stretch *stretches; /* owned: of one rank, by step */
    struct stretch *scratch;   /* owned */
    uint64_t calls;
    uint64_t sizes;
    int sizes_vary;
};

/* Sums of these hashes do not depend on the order of ranks, which is arbitrary for ranks without numbers. */
static uint64_t hash_of_rank(const struct job_rank *rank, uint64_t hash)
{
    return hash_mix(hash, rank->global_rank >= 0 ? (uint64_t)rank->global_rank : 0);
}

static uint64_t hash_call(const struct job *job, const struct job_operation *operation)
{
    return hash_mix(operation->function, (uint64_t)job->communicators[operation->communicator].size);
}

/* Whether most baseline steps of a rank equal the canonical step. */
static int are_mostly(const struct call_sequence *sequence, struct stretch canonical,
                      const struct usual *usual)
{
    size_t alike = 0;
    for (size_t i = 0; i < usual->count; i++) {
        const struct stretch *stretch = &sequence->stretches[usual->steps[i]];
        alike += stretch->count == canonical.count && stretch->signature == canonical.signature;
    }
    return alike * 2 >= usual->count;
}

/* Adds the operations of a rank's canonical step, in order of issue. */
static void add_calls(struct call_sequence *sequence, const struct job_rank *rank, struct stretch canonical)
{
    const struct job *job = sequence->job;
    uint64_t calls = 0, sizes = 0;
    for (int32_t i = 0; i < canonical.count; i++) {
        const struct job_operation *operation = &job->operations[canonical.first + i];
        uint64_t call = hash_call(job, operation);
        calls = hash_mix(calls, call);
        sizes = hash_mix(hash_mix(sizes, call), (uint64_t)operation->bytes);
    }
    sequence->calls += hash_of_rank(rank, calls);
    sequence->sizes += hash_of_rank(rank, sizes);
}

static int add_rank(struct call_sequence *sequence, size_t number, const struct usual *usual)
{
    const struct job *job = sequence->job;
    const struct job_rank *rank = &job->ranks[number];
    if (!rank->count)
        return 0;
    if (stretches_cut(job, rank, sequence->stretches))
        return -1;
    for (int32_t step = 0; step < job->step_count; step++)
        if (usual->places[step] < 0)
            sequence->stretches[step].count = 0;
    struct stretch canonical =
        stretches_canonical(sequence->stretches, 0, job->step_count, sequence->scratch);
    if (canonical.first < 0)
        return 0;
    sequence->sizes_vary |= !are_mostly(sequence, canonical, usual);
    add_calls(sequence, rank, canonical);
    return 0;
}

static int measure_call_sequence(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    size_t steps = (size_t)job->step_count + 1;
    struct call_sequence sequence = {.job = job,
                                     .stretches = array_new(steps, sizeof *sequence.stretches),
                                     .scratch = array_new(steps, sizeof *sequence.scratch)};
    int failed = !sequence.stretches || !sequence.scratch;
    for (size_t i = 0; !failed && usual->count && i < job->rank_count; i++)
        failed = add_rank(&sequence, i, usual);
    run->calls = sequence.calls;
    run->sizes = sequence.sizes_vary ? 0 : sequence.sizes;
    free(sequence.stretches);
    free(sequence.scratch);
    return failed ? -1 : 0;
}

static int by_members(const void *a, const void *b)
{
    const struct communicator_network_use *left = a, *right = b;
    return (left->members > right->members) - (left->members < right->members);
}

/* Hash of the members, independent of their numbers in the communicator. */
static uint64_t hash_members(const struct job *job, const struct job_communicator *communicator)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < communicator->member_list_count; i++) {
        int32_t rank = communicator->member_list[i].rank;
        sum += rank < 0 ? 1 : hash_mix(1, (uint64_t)job->ranks[rank].global_rank);
    }
    return hash_mix(sum, (uint64_t)communicator->size);
}

/* Merges communicators that have the same ranks. */
static void merge_network_use(struct measured_run *run)
{
    size_t kept = 0;
    array_sort(run->ways, run->way_count, sizeof *run->ways, by_members);
    for (size_t i = 0; i < run->way_count; i++)
        if (kept && run->ways[kept - 1].members == run->ways[i].members)
            run->ways[kept - 1].over_network |= run->ways[i].over_network;
        else
            run->ways[kept++] = run->ways[i];
    run->way_count = kept;
}

static int measure_ways(struct measured_run *run, const struct job *job)
{
    run->ways = array_new(job->communicator_count + 1, sizeof *run->ways);
    if (!run->ways)
        return -1;
    run->has_network = job->traffic_count > 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        run->ways[i].members = hash_members(job, &job->communicators[i]);
    run->way_count = job->communicator_count;
    for (size_t i = 0; i < job->traffic_count; i++)
        run->ways[job->operations[job->traffic[i].operation].communicator].over_network = 1;
    merge_network_use(run);
    return 0;
}

/* The first rank on the same host, by rank number; -1: some host is not known. */
static int64_t first_on_host(const struct job *job, size_t number)
{
    const char *host = job->ranks[number].facts.host;
    int64_t first = job->ranks[number].global_rank;
    for (size_t i = 0; host && i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[i];
        if (rank->facts.host && strcmp(rank->facts.host, host) == 0 && rank->global_rank < first)
            first = rank->global_rank;
    }
    return host ? first : -1;
}

static int measure_hosts(struct measured_run *run, const struct job *job)
{
    int64_t *hosts = array_new(job->rank_count + 1, sizeof *hosts);
    int is_known = run->has_ranks;
    for (size_t i = 0; hosts && is_known && i < job->rank_count; i++) {
        int64_t rank = job->ranks[i].global_rank, first = first_on_host(job, i);
        is_known = first >= 0 && rank < (int64_t)job->rank_count;
        if (is_known)
            hosts[rank] = first;
    }
    if (!hosts)
        return -1;
    if (is_known)
        run->hosts = hosts;
    else
        free(hosts);
    return 0;
}

int shape_measure(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    run->ranks = (int64_t)job_recorded_ranks(job);
    run->has_ranks = job->has_global_ranks;
    for (size_t i = 0; i < job->rank_count; i++)
        run->has_ranks = run->has_ranks && job->ranks[i].global_rank >= 0;
    return measure_call_sequence(run, job, usual) || measure_ways(run, job) || measure_hosts(run, job) ? -1
                                                                                                       : 0;
}
