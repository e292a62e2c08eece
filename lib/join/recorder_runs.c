/*
 * Decides whether two runs by different recorders are the same job: rank by rank with recorder_ranks.c, or,
 * without a common clock, by the numbers and counts of their calls. recorders.c then unites them.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "join/recorders.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/*
 * Compares one rank in two recordings that have no common clock, by all calls from the first to the last. Two
 * jobs may well make the same calls, so this is only used for files of one folder.
 */

struct numbers_match {
    size_t calls; /* that match */
    int fits;
    struct recorder_members member_list; /* owned; the caller frees it */
};

static int is_collective(const struct recorded_call *call)
{
    return !function_is_point_to_point((enum function)call->function);
}

/* The number of the last collective; 0: none. */
static int64_t last_number(const struct recorded_calls *calls)
{
    int64_t last = 0;
    for (size_t i = 0; i < calls->count; i++)
        if (is_collective(&calls->items[i]) && calls->items[i].number > last)
            last = calls->items[i].number;
    return last;
}

static int by_file(const void *a, const void *b)
{
    const struct recorded_call *left = a, *right = b;
    if (left->block_id >> 32 != right->block_id >> 32)
        return left->block_id < right->block_id ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

/* Numbers the collectives of a log from 1 in their order, and removes other calls. */
static void number_calls(struct recorded_calls *calls)
{
    size_t kept = 0;
    for (size_t i = 0; i < calls->count; i++)
        if (is_collective(&calls->items[i]))
            calls->items[kept++] = calls->items[i];
    calls->count = kept;
    array_sort(calls->items, kept, sizeof *calls->items, by_file);
    for (size_t i = 0; i < kept; i++)
        calls->items[i].number = (int64_t)i + 1;
}

/* Whether all collectives of the one are in the log, and the last one is the same. */
static int are_same(const struct recorded_calls *one, const struct recorded_calls *log, size_t *calls)
{
    *calls = 0;
    if (last_number(one) != (int64_t)log->count)
        return 0;
    for (size_t i = 0; i < one->count; i++) {
        const struct recorded_call *call = &one->items[i];
        if (!is_collective(call))
            continue;
        if (call->number < 1)
            return 0;
        const struct recorded_call *logged = &log->items[call->number - 1];
        if (logged->function != call->function ||
            (logged->bytes >= 0 && call->bytes >= 0 && logged->bytes != call->bytes))
            return 0;
        ++*calls;
    }
    return *calls > 0;
}

/* Finds for each member of the log the one of the other recording. -1: out of memory. */
static int match_members(struct recorder_match *matching, struct member_list *one, struct member_list *log,
                         struct numbers_match *match)
{
    for (size_t k = 0; match->fits && k < log->count; k++) {
        size_t calls = 0, i = 0;
        number_calls(&log->calls[k]);
        if (!log->calls[k].count)
            continue;
        for (; i < one->count; i++) {
            int alike = one->is_taken[i] ? 0 : members_match(matching, one->members[i], log->members[k]);
            if (alike < 0)
                return -1;
            if (alike && are_same(&one->calls[i], &log->calls[k], &calls))
                break;
        }
        match->fits = i < one->count;
        if (match->fits) {
            one->is_taken[i] = 1;
            match->calls += calls;
            if (recorder_members_add(&match->member_list, matching->work, one->members[i], log->members[k]))
                return -1;
        }
    }
    return 0;
}

/*
 * Whether the log has records that are needed: creation of communicators, and registered memory. -1 on error.
 */
static int tells_alone(struct recorder_match *matching, int32_t rank, struct error *error)
{
    const struct work *work = matching->work;
    struct statement *row = store_prepare(matching->logs->store, schema_join_witnesses_alone_told, error);
    int more =
        row && !statement_bind_integer(row, 1, work->processes[work->ranks[rank].process].id, error) ? 1 : -1;
    if (more == 1)
        more = statement_step(row, error);
    int tells = more == 1 && statement_integer(row, 0) > 0;
    statement_free(row);
    return more < 0 ? -1 : tells;
}

/*
 * Compares Flight Recorder (`one`), which numbers the collectives of a communicator from 1, with a log of all
 * calls: each number must have the same function and size, and the last one must be the same.
 */
static int numbers_match_log(struct recorder_match *matching, const struct recorder_side *one,
                             const struct recorder_side *other, struct numbers_match *match,
                             struct error *error)
{
    struct member_list here = {.count = 0}, there = {.count = 0};
    int alone = tells_alone(matching, other->rank, error);
    *match = (struct numbers_match){.fits = !alone};
    int failed = alone < 0 || members_load(&here, matching, one, error) ||
                 members_load(&there, matching, other, error);
    if (!failed && match_members(matching, &here, &there, match))
        failed = error_no_memory(error);
    match->fits &= match->calls > 0;
    members_release(&here);
    members_release(&there);
    return failed ? -1 : 0;
}

/* Whether a group with that name has that number of collectives. */
static int has_called(const struct work *work, const struct member_list *list, const char *name,
                      int64_t enqueued)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct work_communicator *communicator =
            &work->communicators[work->members[list->members[i]].communicator];
        if (communicator->name && name && strcmp(communicator->name, name) == 0 &&
            last_number(&list->calls[i]) == enqueued)
            return 1;
    }
    return 0;
}

/*
 * Compares the calls of `one` with what a framework's log states about process `other`: how many collectives
 * it called on each of its groups. If the log states nothing, nothing contradicts.
 */
static int numbers_match_status(struct recorder_match *matching, const struct recorder_side *one,
                                int32_t other, struct numbers_match *match, struct error *error)
{
    struct member_list here = {.count = 0};
    *match = (struct numbers_match){.fits = 1};
    int failed = members_load(&here, matching, one, error);
    struct statement *row =
        failed ? NULL : store_prepare(matching->logs->store, schema_join_witnesses_statuses, error);
    int more = row && !statement_bind_integer(row, 1, matching->work->processes[other].id, error) ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        int64_t enqueued = statement_integer(row, 1);
        match->fits &= has_called(matching->work, &here, statement_text(row, 0), enqueued);
        match->calls += enqueued > 0 ? (size_t)enqueued : 0;
    }
    statement_free(row);
    members_release(&here);
    return more;
}

/* The fewest calls that two recordings must have in common. Fewer may have the same times by chance. */
enum { PAIRS_LEAST = 8 };

/*
 * If two recordings have almost the same number of operations, the recorder that knows more about each is
 * kept. Profilers start a few steps into a job, where little can be judged, so a recording may lack one part
 * in NEARLY_AS_MANY. A larger part could contain whole faults.
 */
enum { NEARLY_AS_MANY = 4 };

static const struct {
    const char *dialect; /* beginning of the name of the dialect */
    enum recorder_kind kind;
    int by_number;
} recorders[] = {
    {"chrome", KIND_PLUGIN, 1},
    {"kineto", KIND_PROFILER, 0},
    {"inspector", KIND_INSPECTOR, 1},
    {"flight-recorder", KIND_DUMP, 0},
    {"nccl-log", KIND_LOG, 0},
    {"torch-log", KIND_FRAMEWORK_LOG, 0},
    {"nccl-torch-log", KIND_FRAMEWORK_LOG, 0},
};

static void take_dialect(struct recorder_run *run, const char *dialect)
{
    for (size_t i = 0; dialect && i < sizeof recorders / sizeof *recorders; i++) {
        if (strncmp(dialect, recorders[i].dialect, strlen(recorders[i].dialect)) != 0 ||
            recorders[i].kind <= run->kind)
            continue;
        run->kind = recorders[i].kind;
        run->by_number = recorders[i].by_number;
        memset(run->dialect, 0, sizeof run->dialect);
        memcpy(run->dialect, dialect, strnlen(dialect, sizeof run->dialect - 1));
    }
}

/* Reads rows that begin with a process, and passes each to the run of that process. */
static int read_of_runs(struct recorder_runs *runs, const struct work *work, struct store *store,
                        const char *sql, void (*take)(struct recorder_run *, struct statement *),
                        struct error *error)
{
    struct statement *row = store_prepare(store, sql, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        int64_t process = find_id(work->processes, work->process_count, sizeof *work->processes,
                                  work->process_count, statement_integer(row, 0));
        if (process >= 0 && work->processes[process].run >= 0)
            take(&runs->items[work->processes[process].run], row);
    }
    statement_free(row);
    return more;
}

static void take_recorder(struct recorder_run *run, struct statement *row)
{
    take_dialect(run, statement_text(row, 1));
}

static void take_change(struct recorder_run *run, struct statement *row)
{
    (void)row;
    run->is_changed = 1;
}

/* A process whose kernel times are known to be false. */
static void take_misattributed(struct recorder_run *run, struct statement *row)
{
    run->misattributed += statement_integer(row, 1);
    run->collectives += statement_integer(row, 2);
}

static void take_members(struct recorder_runs *runs, const struct work *work)
{
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        struct recorder_run *run = &runs->items[work->processes[member->process].run];
        int64_t first = wall_clock_at(&runs->clocks[member->process], member->first_ns);
        int64_t last = wall_clock_at(&runs->clocks[member->process], member->last_ns);
        run->operations += (int64_t)member->operations;
        if (!member->operations || first == TIME_UNKNOWN || last == TIME_UNKNOWN)
            continue;
        run->first_ns = first < run->first_ns ? first : run->first_ns;
        run->last_ns = last > run->last_ns ? last : run->last_ns;
    }
}

int recorder_runs_load(struct recorder_runs *runs, struct work *work, struct store *store,
                       struct error *error)
{
    *runs = (struct recorder_runs){.items = array_new(work->run_count, sizeof *runs->items),
                                   .clocks = array_new(work->process_count, sizeof *runs->clocks),
                                   .process_count = work->process_count};
    if (!runs->items || !runs->clocks)
        return error_no_memory(error);
    for (size_t i = 0; i < work->run_count; i++)
        runs->items[i] = (struct recorder_run){.first_ns = INT64_MAX, .last_ns = TIME_UNKNOWN};
    for (size_t i = 0; i < work->process_count; i++)
        if (wall_clock_load(&runs->clocks[i], store, work->processes[i].id, error))
            return -1;
    if (read_of_runs(runs, work, store, schema_join_witnesses_dialects, take_recorder, error) ||
        read_of_runs(runs, work, store, schema_join_load_changed, take_change, error) ||
        read_of_runs(runs, work, store, schema_join_witnesses_misattributed, take_misattributed, error))
        return -1;
    take_members(runs, work);
    return 0;
}

void recorder_runs_release(struct recorder_runs *runs)
{
    for (size_t i = 0; runs->clocks && i < runs->process_count; i++)
        wall_clock_release(&runs->clocks[i]);
    free(runs->clocks);
    free(runs->items);
}

int recorder_counts(const struct recorder_runs *runs, int32_t run, int32_t other)
{
    const struct recorder_run *here = &runs->items[run], *there = &runs->items[other];
    int lasts = here->kind >= KIND_INSPECTOR;
    if (lasts != (there->kind >= KIND_INSPECTOR))
        return lasts;
    if (!lasts)
        return here->kind > there->kind;
    int64_t more = here->operations > there->operations ? here->operations : there->operations;
    if (llabs(here->operations - there->operations) > more / NEARLY_AS_MANY)
        return here->operations > there->operations;
    return here->kind > there->kind;
}

/* The rank of a run with a global rank and with records; -1: none. */
static int32_t rank_of(const struct work *work, int32_t run, int64_t global_rank)
{
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++) {
        const struct work_rank *rank = &work->ranks[work->ranks_of_run.items[i]];
        if (rank->global_rank == global_rank && rank->process >= 0)
            return work->ranks_of_run.items[i];
    }
    return -1;
}

/* Sums over all ranks. */
struct tally {
    size_t ranks;
    size_t fitting;
    size_t without; /* ranks that the one did not record */
    size_t pairs;
    size_t collectives;
    int only_other_stops;
};

static int take_fitting(struct run_pair *pair, const struct work *work, int32_t one, int32_t other,
                        const struct rank_match *match)
{
    if (array_reserve((void **)&pair->pairs, &pair->pair_capacity, pair->pair_count + 1,
                      sizeof *pair->pairs) ||
        array_reserve((void **)&pair->extra_fields, &pair->extra_field_capacity,
                      pair->extra_field_count + match->extra_field_count, sizeof *pair->extra_fields) ||
        array_reserve((void **)&pair->member_list.items, &pair->member_list.capacity,
                      pair->member_list.count + match->member_list.count, sizeof *pair->member_list.items))
        return -1;
    pair->pairs[pair->pair_count++] = (struct recorder_pair){.one = work->ranks[one].process,
                                                             .other = work->ranks[other].process,
                                                             .sizes = match->sizes,
                                                             .datatypes = match->datatypes};
    for (size_t i = 0; i < match->extra_field_count; i++)
        pair->extra_fields[pair->extra_field_count++] = match->extra_fields[i];
    for (size_t i = 0; i < match->member_list.count; i++)
        pair->member_list.items[pair->member_list.count++] = match->member_list.items[i];
    return 0;
}

static int judge_rank(struct run_pair *pair, struct recorder_match *matching,
                      const struct recorder_runs *runs, int32_t other, struct tally *tally,
                      struct error *error)
{
    const struct work *work = matching->work;
    int32_t one = rank_of(work, pair->one, work->ranks[other].global_rank);
    struct rank_match match = {.pairs = 0};
    if (one < 0) {
        tally->without++;
        return 0;
    }
    const struct recorder_side here = {one, &runs->clocks[work->ranks[one].process],
                                       runs->items[pair->one].by_number};
    const struct recorder_side there = {other, &runs->clocks[work->ranks[other].process],
                                        runs->items[pair->other].by_number};
    int failed = ranks_match(matching, &here, &there, &match, error);
    tally->ranks++;
    tally->pairs += match.pairs;
    tally->collectives += match.collectives;
    tally->only_other_stops |= match.only_other_stops;
    if (!failed && rank_match_fits(&match)) {
        tally->fitting++;
        failed = take_fitting(pair, work, one, other, &match) ? error_no_memory(error) : 0;
    }
    rank_match_release(&match);
    return failed ? -1 : 0;
}

static void doubt(struct run_pair *pair, const char *why)
{
    pair->verdict = RUN_PAIR_DOUBTFUL;
    pair->why = why;
}

static void conclude(struct run_pair *pair, const struct tally *tally)
{
    if (tally->ranks && !tally->fitting)
        doubt(pair, "their operations do not have the same times");
    else if (tally->fitting < tally->ranks)
        doubt(pair, "the operations of some ranks do not have the same times");
    else if (tally->pairs < PAIRS_LEAST)
        doubt(pair, "they have almost no operations in common");
    else if (tally->without)
        doubt(pair, "one has ranks that the other does not have");
    else if (tally->only_other_stops)
        doubt(pair, "only one of them contains the operations that never ended");
    else
        pair->verdict = RUN_PAIR_SAME;
}

/*
 * The global ranks and sizes must be known and equal. A framework's log may mention only some of the ranks.
 */
static int may_be_one_job(const struct work *work, const struct recorder_runs *runs, int32_t one,
                          int32_t other)
{
    const struct work_run *here = &work->runs[one], *there = &work->runs[other];
    if ((here->world < 0 && !here->is_told) || (there->world < 0 && !there->is_told))
        return 0;
    return here->expected_ranks == there->expected_ranks ||
           (runs->items[other].kind == KIND_FRAMEWORK_LOG && there->expected_ranks < here->expected_ranks);
}

/*
 * The folder of the first process of a run. If a process has neither host nor process id, its file set is a
 * file.
 */
static size_t folder_of(const struct work *work, int32_t run, const char **folder)
{
    size_t i = 0;
    while (work->processes[i].run != run)
        i++;
    const struct work_process *process = &work->processes[i];
    const char *slash = process->pid < 0 && !*process->host ? strrchr(process->file_set, '/') : NULL;
    *folder = process->file_set;
    return slash ? (size_t)(slash - process->file_set) : strlen(process->file_set);
}

/* Whether the files are in one folder, or in one within it. */
static int are_in_one_folder(const struct work *work, int32_t one, int32_t other)
{
    const char *here, *there;
    size_t length = folder_of(work, one, &here), other_length = folder_of(work, other, &there);
    size_t least = length < other_length ? length : other_length;
    const char *longer = length < other_length ? there : here;
    return strncmp(here, there, least) == 0 && (length == other_length || longer[least] == '/');
}

/*
 * Recorders that can be compared by numbers: Flight Recorder with a log that lists all calls or how many
 * there were.
 */
static int may_go_by_numbers(const struct recorder_run *one, const struct recorder_run *other)
{
    return one->kind == KIND_DUMP && (other->kind == KIND_LOG || other->kind == KIND_FRAMEWORK_LOG);
}

static int has_operations(const struct work *work, int32_t rank)
{
    int32_t process = work->ranks[rank].process;
    for (size_t i = work->by_process.first[process]; i < work->by_process.first[process + 1]; i++) {
        const struct work_member *member = &work->members[work->by_process.items[i]];
        if (member->job_rank == rank && member->operations)
            return 1;
    }
    return 0;
}

static int judge_rank_by_numbers(struct run_pair *pair, struct recorder_match *matching,
                                 const struct recorder_runs *runs, int32_t other, struct tally *tally,
                                 struct error *error)
{
    const struct work *work = matching->work;
    int32_t one = rank_of(work, pair->one, work->ranks[other].global_rank);
    struct numbers_match match;
    /* A rank that a log only mentions may have left no dump. */
    if (one < 0) {
        tally->without += has_operations(work, other);
        return 0;
    }
    const struct recorder_side here = {one, &runs->clocks[work->ranks[one].process], 0};
    const struct recorder_side there = {other, &runs->clocks[work->ranks[other].process], 0};
    int failed = runs->items[pair->other].kind == KIND_LOG
                     ? numbers_match_log(matching, &here, &there, &match, error)
                     : numbers_match_status(matching, &here, work->ranks[other].process, &match, error);
    struct rank_match found = {.pairs = match.calls, .member_list = match.member_list};
    tally->ranks++;
    tally->pairs += match.calls;
    tally->fitting += match.fits != 0;
    if (!failed && match.fits && take_fitting(pair, work, one, other, &found))
        failed = error_no_memory(error);
    rank_match_release(&found);
    return failed ? -1 : 0;
}

typedef int (*rank_judge)(struct run_pair *run_pair, struct recorder_match *recorder_match,
                          const struct recorder_runs *runs, int32_t other, struct tally *tally,
                          struct error *error);

/* All ranks of the other run, up to the first that does not match. */
static int judge_ranks(struct run_pair *pair, struct recorder_match *matching,
                       const struct recorder_runs *runs, rank_judge judge, struct tally *tally,
                       struct error *error)
{
    const struct work *work = matching->work;
    int32_t other = pair->other;
    *tally = (struct tally){.ranks = 0};
    for (size_t i = work->ranks_of_run.first[other];
         i < work->ranks_of_run.first[other + 1] && tally->ranks == tally->fitting; i++) {
        int32_t rank = work->ranks_of_run.items[i];
        if (work->ranks[rank].process >= 0 && judge(pair, matching, runs, rank, tally, error))
            return -1;
    }
    return 0;
}

static int judge_without_clocks(struct run_pair *pair, struct recorder_match *matching,
                                const struct recorder_runs *runs, struct error *error)
{
    struct tally tally;
    doubt(pair, "they have no clock in common");
    if (!may_go_by_numbers(&runs->items[pair->one], &runs->items[pair->other]))
        return 0;
    if (judge_ranks(pair, matching, runs, judge_rank_by_numbers, &tally, error))
        return -1;
    if (tally.ranks && tally.fitting == tally.ranks && !tally.without && tally.pairs >= PAIRS_LEAST)
        pair->verdict = RUN_PAIR_SAME;
    else
        doubt(pair, "they have no clock in common and do not end with the same operations");
    return 0;
}

int run_pair_compare(struct run_pair *pair, struct recorder_match *matching, const struct recorder_runs *runs,
                     struct error *error)
{
    const struct work *work = matching->work;
    const struct recorder_run *here = &runs->items[pair->one], *there = &runs->items[pair->other];
    int in_one_folder = are_in_one_folder(work, pair->one, pair->other);
    struct tally tally;
    pair->verdict = RUN_PAIR_DIFFERENT;
    if (!may_be_one_job(work, runs, pair->one, pair->other))
        return 0;
    if (here->last_ns == TIME_UNKNOWN || there->last_ns == TIME_UNKNOWN)
        return in_one_folder ? judge_without_clocks(pair, matching, runs, error) : 0;
    if (here->first_ns > there->last_ns || there->first_ns > here->last_ns)
        return 0;
    if (judge_ranks(pair, matching, runs, judge_rank, &tally, error))
        return -1;
    conclude(pair, &tally);
    pair->collectives = tally.collectives;
    if (pair->verdict == RUN_PAIR_DOUBTFUL && !in_one_folder)
        pair->verdict = RUN_PAIR_DIFFERENT;
    return 0;
}

static void swap_values(int64_t *one, int64_t *other)
{
    int64_t value = *one;
    *one = *other;
    *other = value;
}

static void exchange_ranks(struct recorder_pair *pair)
{
    int32_t process = pair->one;
    pair->one = pair->other;
    pair->other = process;
    swap_values(&pair->sizes.kept, &pair->sizes.other);
    swap_values(&pair->datatypes.kept, &pair->datatypes.other);
}

/* A plugin's network steps are worth more than the kernel times of one operation in PART_FALSE. */
enum { PART_FALSE = 10 };

/*
 * The profiler may lack as many operations as elsewhere. Sends and receives are not compared: what is one
 * AlltoAll for the profiler is many of them for the plugin.
 */
static int has_true_times(const struct run_pair *pair, const struct recorder_runs *runs)
{
    const struct recorder_run *one = &runs->items[pair->one], *other = &runs->items[pair->other];
    return one->kind == KIND_PLUGIN && other->kind == KIND_PROFILER &&
           one->misattributed > one->operations / PART_FALSE &&
           (int64_t)pair->collectives >= one->collectives - one->collectives / NEARLY_AS_MANY;
}

void run_pair_prefer_true_times(struct run_pair *pair, const struct recorder_runs *runs)
{
    if (pair->verdict != RUN_PAIR_SAME || !has_true_times(pair, runs))
        return;
    int32_t one = pair->one;
    pair->one = pair->other;
    pair->other = one;
    for (size_t i = 0; i < pair->pair_count; i++)
        exchange_ranks(&pair->pairs[i]);
    for (size_t i = 0; i < pair->member_list.count; i++)
        swap_values(&pair->member_list.items[i].one_id, &pair->member_list.items[i].other_id);
    pair->extra_field_count = 0;
}

void run_pair_release(struct run_pair *pair)
{
    free(pair->pairs);
    free(pair->extra_fields);
    free(pair->member_list.items);
}
