/*
 * Measures the coverage of an analysis: which operations were compared with a baseline, why the others were
 * not, and whether the job could be analyzed at all; and writes that as text and JSON.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

/* If more than one part in PART_LEFT_OUT was not analyzed, of the job or of one rank's steps, the coverage is
 * partial. */
enum { PART_LEFT_OUT = 10 };

/* The first step is warm-up, and of two more neither can serve as the baseline. */
enum { STEPS_TO_COMPARE = 3 };

/* A warm-up with more operations than this many steps contains steps that were not detected. */
enum { WARM_UP_STEPS = 2 };

enum place { PLACE_JUDGED = GAP_COUNT, PLACE_WARM_UP };

struct counting {
    const struct job *job;
    const struct baseline *baseline;
    struct scope *scope;
    int long_warm_up; /* of the current rank */
    int32_t group;    /* the last group call that was examined; -1: none */
    int group_has_end;
};

/*
 * Whether the end of an operation is known. An end that is estimated from the start of the next operation
 * makes own time too small to prove that the rank was not late. So does an end taken from the arrival of the
 * sender, if the kernel has no stop.
 */
static int has_end(const struct job_operation *operation)
{
    return operation->end_ns != TIME_UNKNOWN && operation->ends != ENDS_ESTIMATED &&
           !(operation->ends == ENDS_BY_SENDER && operation->incomplete);
}

/*
 * Whether a rank sends to itself. That waits for no other rank, so its end does not show the end of the rest
 * of the group call.
 */
static int is_to_itself(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance =
        operation->instance < 0 ? NULL : &job->instances[operation->instance];
    return instance && function_is_point_to_point(operation->function) &&
           instance->sender == instance->receiver;
}

/*
 * Whether the end of a group call is known. The end of a send, once its data is in buffers, does not show the
 * end of receives that wait for their senders and whose kernel has no stop.
 */
static int group_has_end(const struct job *job, const struct job_operation *operation)
{
    size_t end = job->ranks[operation->rank].first + job->ranks[operation->rank].count;
    int ended = 0, received = 0, is_open = 0;
    for (size_t i = (size_t)operation->group; i < end && job->operations[i].group == operation->group; i++) {
        const struct job_operation *member = &job->operations[i];
        if (is_to_itself(job, member))
            continue;
        ended |= has_end(member);
        received |= member->function == FUNCTION_RECV && has_end(member);
        is_open |= member->function == FUNCTION_RECV && member->incomplete;
    }
    return ended && (received || !is_open);
}

/*
 * Whether the start and the end of an operation are known. A group call is one kernel, so one end is enough
 * for all its operations. Where only network steps have times, these count.
 */
static int has_times(struct counting *counting, const struct job_operation *operation)
{
    if (counting->scope->networks_only)
        return 1;
    if (operation->start_ns == TIME_UNKNOWN || has_end(operation))
        return operation->start_ns != TIME_UNKNOWN;
    if (counting->group != operation->group) {
        counting->group = operation->group;
        counting->group_has_end = group_has_end(counting->job, operation);
    }
    return counting->group_has_end;
}

/* Returns the gap of an operation, or where it counts otherwise (PLACE_...). */
static int place_of(struct counting *counting, size_t at)
{
    const struct job_operation *operation = &counting->job->operations[at];
    int has_place = operation->step >= 0 && counting->baseline->positions[at] >= 0;
    /* Operations that are loaded in every round count in the first. */
    if (counting->job->is_later_round && operation->step <= counting->job->first_step)
        return PLACE_WARM_UP;
    if (operation->step >= 0 && operation->step < counting->baseline->first_step &&
        !(counting->long_warm_up && !has_place))
        return PLACE_WARM_UP;
    if (!has_place)
        return GAP_NO_STEP;
    return has_times(counting, operation) ? PLACE_JUDGED : GAP_NO_TIME;
}

static int has_long_warm_up(const struct counting *counting, const struct job_rank *rank)
{
    size_t count = 0, at = (size_t)(rank - counting->job->ranks);
    int32_t role = counting->baseline->role_of_rank[at];
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int32_t step = counting->job->operations[i].step;
        count += step >= 0 && step < counting->baseline->first_step;
    }
    return role < 0 || count > WARM_UP_STEPS * (size_t)counting->baseline->roles[role].length;
}

/* The time until the next operation counts with the operation that started it. */
static void count_time(struct scope *scope, int place, int64_t since_ns, int64_t start_ns)
{
    if (since_ns == TIME_UNKNOWN || start_ns == TIME_UNKNOWN || start_ns <= since_ns ||
        place == PLACE_WARM_UP)
        return;
    scope->time_ns += start_ns - since_ns;
    scope->judged_ns += place == PLACE_JUDGED ? start_ns - since_ns : 0;
}

/* Whether more than one part in PART_LEFT_OUT is missing. */
static int lacks_much(int64_t judged, int64_t all)
{
    return all > 0 && (all - judged) > all / PART_LEFT_OUT;
}

/* Counts the recorded operations of a rank; `absent` are known to be missing before its first or after its
 * last. */
static void count_rank(struct counting *counting, const struct job_rank *rank, int64_t absent)
{
    struct scope *scope = counting->scope;
    int64_t judged = 0, warm_up = 0, since_ns = TIME_UNKNOWN;
    int before = PLACE_WARM_UP;
    int32_t step = -1;
    counting->long_warm_up = has_long_warm_up(counting, rank);
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &counting->job->operations[i];
        int place = place_of(counting, i);
        judged += place == PLACE_JUDGED;
        warm_up += place == PLACE_WARM_UP;
        if (place < GAP_COUNT)
            scope->gaps[place]++;
        if (place == PLACE_JUDGED) {
            scope->first_step = operation->step < scope->first_step ? operation->step : scope->first_step;
            scope->last_step = operation->step > scope->last_step ? operation->step : scope->last_step;
        }
        if (operation->start_ns == TIME_UNKNOWN)
            continue;
        /* Time across a break is not part of the loaded steps. */
        if (!job_breaks_in(counting->job, step, operation->step))
            count_time(scope, before, since_ns, operation->start_ns);
        step = operation->step >= 0 ? operation->step : step;
        since_ns = operation->start_ns;
        before = place;
    }
    scope->judged += judged;
    scope->warm_up += warm_up;
    int64_t recorded = (int64_t)rank->count - warm_up;
    scope->judged_ranks += judged > 0 && judged * 2 >= recorded + absent;
    scope->cut_ranks += lacks_much(recorded, recorded + absent);
}

/*
 * The step from which on other ranks did operations with this rank that it has no record of. Where that is
 * not known (finished_only), the step after its last record.
 */
static int32_t tail_of(const struct job *job, const struct job_rank *rank)
{
    int32_t last = -1;
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        last = job->operations[i].step > last ? job->operations[i].step : last;
    return rank->tail_step < last + 1 ? rank->tail_step : last + 1;
}

/* The number of operations that are missing from a rank's record in those steps. */
static int64_t absent_at_end(const struct counting *counting, const struct job_rank *rank)
{
    const struct job *job = counting->job;
    int32_t role = counting->baseline->role_of_rank[rank - job->ranks];
    int32_t tail = role < 0 ? job->step_count : tail_of(job, rank);
    if (tail >= job->step_count)
        return 0;
    int64_t absent = (int64_t)counting->baseline->roles[role].length * (job->step_count - tail);
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        absent -= job->operations[i].step >= tail;
    return absent > 0 ? absent : 0;
}

/* The number of operations that are missing from a rank's record in the steps before its first one. */
static int64_t absent_at_beginning(const struct counting *counting, const struct job_rank *rank)
{
    const struct job *job = counting->job;
    int32_t role = counting->baseline->role_of_rank[rank - job->ranks], first = job->step_count;
    size_t unplaced = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        first =
            job->operations[i].step >= 0 && job->operations[i].step < first ? job->operations[i].step : first;
    if (role < 0 || first == job->step_count || first <= counting->baseline->first_step)
        return 0;
    while (unplaced < rank->count && job->operations[rank->first + unplaced].step < 0)
        unplaced++;
    int64_t absent =
        (int64_t)counting->baseline->roles[role].length * (first - counting->baseline->first_step) -
        (int64_t)unplaced;
    return absent > 0 ? absent : 0;
}

static int has_any_end(const struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].start_ns != TIME_UNKNOWN && has_end(&job->operations[i]) &&
            !is_to_itself(job, &job->operations[i]))
            return 1;
    return 0;
}

static int is_less_than_half(const struct scope *scope)
{
    return scope->judged * 2 < scope->operations - scope->warm_up || scope->judged_ranks * 2 < scope->ranks ||
           scope->judged_ns * 2 < scope->time_ns;
}

static enum blindness blindness_of(const struct scope *scope, const struct job *job,
                                   const struct baseline *baseline)
{
    if (!job->operation_count)
        return BLIND_NO_OPERATIONS;
    if (!job->timed_operations && !job->traffic_count)
        return job->calls_lack_gpu_times ? BLIND_CALLS : BLIND_NO_TIMES;
    if (job_recorded_ranks(job) < 2)
        return BLIND_ONE_RANK;
    if (!job->traffic_count && !has_any_end(job))
        return BLIND_NO_ENDS;
    if (job_loaded_steps(job) < STEPS_TO_COMPARE)
        return BLIND_FEW_STEPS;
    if (!baseline_is_regular(baseline))
        return BLIND_IRREGULAR;
    return is_less_than_half(scope) ? BLIND_LITTLE : BLIND_NOT;
}

void scope_measure(struct scope *scope, const struct job *job, const struct baseline *baseline)
{
    int64_t recorded = (int64_t)job_recorded_ranks(job);
    *scope = (struct scope){.networks_only = !job->timed_operations && job->traffic_count,
                            .misattributed_kernels = job->misattributed_kernels,
                            .is_profiled = job->is_windows,
                            .ranks = job->expected_ranks > recorded ? job->expected_ranks : recorded,
                            .recorded_ranks = recorded,
                            .first_step = INT32_MAX,
                            .last_step = -1};
    struct counting counting = {.job = job, .baseline = baseline, .scope = scope, .group = -1};
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].count) {
            int64_t before = absent_at_beginning(&counting, &job->ranks[i]);
            int64_t after = absent_at_end(&counting, &job->ranks[i]);
            count_rank(&counting, &job->ranks[i], before + after);
            scope->gaps[GAP_BEGAN_LATE] += before;
            scope->gaps[GAP_ENDED_EARLY] += after;
        }
    scope->gaps[GAP_NO_OPERATION] = job->bare_calls;
    scope->gaps[GAP_LEFT_OUT] = job->left_out;
    scope->gaps[GAP_LOST] = job->missing_sequence > job->left_out ? job->missing_sequence - job->left_out : 0;
    int64_t twice = job->overwritten < scope->gaps[GAP_LOST] ? job->overwritten : scope->gaps[GAP_LOST];
    scope->gaps[GAP_DAMAGED] = job->damaged_lines + job->lost_events - twice;
    scope->operations = scope->judged + scope->warm_up;
    for (int gap = 0; gap < GAP_COUNT; gap++)
        scope->operations += scope->gaps[gap];
    if (scope->last_step >= 0) {
        scope->first_step = job_run_step(job, scope->first_step);
        scope->last_step = job_run_step(job, scope->last_step);
    }
    scope->loaded_steps =
        job->excerpt_count ? job_loaded_steps(job) - job->first_step - (job->is_later_round != 0) : 0;
    scope->rounds = 1;
    scope->run_steps = job_run_steps(job) - job->first_step;
    scope->blindness = blindness_of(scope, job, baseline);
    if (scope->blindness != BLIND_NOT && scope->blindness != BLIND_LITTLE)
        scope->judged = scope->judged_ranks = scope->judged_ns = 0;
}

void scope_add_round(struct scope *scope, const struct scope *round)
{
    scope->operations += round->judged;
    scope->judged += round->judged;
    for (int gap = GAP_NO_STEP; gap <= GAP_NO_TIME; gap++) {
        scope->operations += round->gaps[gap];
        scope->gaps[gap] += round->gaps[gap];
    }
    scope->time_ns += round->time_ns;
    scope->judged_ns += round->judged_ns;
    if (round->last_step >= 0 && round->first_step < scope->first_step)
        scope->first_step = round->first_step;
    if (round->last_step > scope->last_step)
        scope->last_step = round->last_step;
    scope->loaded_steps += round->loaded_steps;
    scope->rounds += round->rounds;
}

int scope_is_partial(const struct scope *scope)
{
    return scope->networks_only || scope->cut_ranks ||
           lacks_much(scope->judged, scope->operations - scope->warm_up) ||
           lacks_much(scope->judged_ranks, scope->ranks) || lacks_much(scope->judged_ns, scope->time_ns);
}

/* For each gap: its key in JSON, its name, and how to avoid it in the next trace. */
static const struct {
    const char *key;
    const char *said;
    const char *remedy;
} gap_texts[GAP_COUNT] = {
    [GAP_NO_STEP] = {"in_no_step", "outside any detected step or without a position in it",
                     "record all operations, and tag phases to mark steps: ncclprof-plugin(7)"},
    [GAP_NO_TIME] = {"without_time", "without a duration",
                     "record kernels with a plugin that records every stop event: ncclprof-plugin(7)"},
    [GAP_NO_OPERATION] = {"without_operation", "called, but without an operation in the trace",
                          "record collectives and point-to-point operations, with larger pools"},
    [GAP_LOST] = {"lost", "lost by the recorder", "use larger pools or shorter intervals between dumps"},
    [GAP_LEFT_OUT] = {"left_out", "filtered out by the recorder as too small",
                      "record them with NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0"},
    [GAP_BEGAN_LATE] = {"began_late", "before the beginning of a rank's file", "ingest complete files"},
    [GAP_ENDED_EARLY] = {"ended_early", "after the end of a rank's file", "ingest complete files"},
    [GAP_DAMAGED] = {"damaged", "lost to damaged lines or dropped events", "'info --ledger' lists them"},
};

/* Why operations have no times although kernels of other operations were recorded, and how to avoid that. */
static const struct {
    unsigned when;
    const char *said;
} astray_texts[] = {
    {MISATTRIBUTED_AFTER_BROADCAST,
     "kernel times belong to other operations, because NCCL 2.29.2 and later does not count the kernels of "
     "ncclBroadcast (NVIDIA/nccl#2368); set NCCL_ALLGATHERV_ENABLE=0, or record with PyTorch's profiler"},
    {MISATTRIBUTED_AFTER_SELF_SEND,
     "kernel times belong to other operations, because NCCL 2.26 to 2.30 mixes them up after a rank has sent "
     "to itself, as in an all-to-all; ingest only the traces of PyTorch's profiler"},
    {MISATTRIBUTED_IMPOSSIBLE,
     "kernel times belong to other operations: kernels start before they are called, because NCCL's host and "
     "GPU count them differently, for example after ncclBroadcast (NVIDIA/nccl#2368); set "
     "NCCL_ALLGATHERV_ENABLE=0, or record with PyTorch's profiler"},
};

static const char *const blind_texts[] = {
    [BLIND_NO_OPERATIONS] =
        "the traces contain no operations. Record collectives, point-to-point operations and "
        "kernels: see ncclprof-plugin(7)",
    [BLIND_NO_TIMES] =
        "the trace has no timestamps. Record kernel times: NCCL_INSPECTOR_DUMP_VERBOSE=1 (Inspector) or "
        "TORCH_NCCL_ENABLE_TIMING=1 (Flight Recorder). NCCL logs have no times",
    [BLIND_CALLS] =
        "calls and durations do not show when operations ran, because ranks use several communicators in a "
        "step, or hosts ran ahead of their GPUs. Record kernels with PyTorch's profiler or a plugin: see "
        "ncclprof-plugin(7)",
    [BLIND_NO_ENDS] =
        "operations have no end times, because NVIDIA's example plugin records the stop of a kernel on "
        "channel 0 only. Record with another plugin: see ncclprof-plugin(7)",
    [BLIND_ONE_RANK] =
        "only one rank has a trace, so there is no rank to compare it with. Ingest the files of all ranks",
    [BLIND_FEW_STEPS] =
        "fewer than 3 steps detected. Record more steps, or tag phases: see ncclprof-plugin(7)",
    [BLIND_IRREGULAR] =
        "fewer than half of the operations belong to a repeating step. Tag phases to mark steps: see "
        "ncclprof-plugin(7)",
};

static const char *astray_text(const struct scope *scope)
{
    for (size_t i = 0; i < sizeof astray_texts / sizeof *astray_texts; i++)
        if (scope->misattributed_kernels & astray_texts[i].when)
            return astray_texts[i].said;
    return NULL;
}

static const char no_kernels[] =
    "the traces of PyTorch's profiler contain calls but no kernels: it ran without ProfilerActivity.CUDA, or "
    "CUPTI was not available. Record with both";

static const char *blind_text(const struct scope *scope)
{
    const char *misattribution = scope->blindness == BLIND_NO_TIMES ? astray_text(scope) : NULL;
    if (!misattribution && scope->blindness == BLIND_NO_TIMES && scope->is_profiled)
        return no_kernels;
    return misattribution ? misattribution : blind_texts[scope->blindness];
}

int scope_append_judged(const struct scope *scope, struct buffer *text)
{
    int failed = buffer_printf(text, "%lld of %lld operations, %lld of %lld ranks", (long long)scope->judged,
                               (long long)(scope->operations - scope->warm_up),
                               (long long)scope->judged_ranks, (long long)scope->ranks);
    if (!failed && scope->judged_ns * 10 < scope->time_ns * 9)
        failed = buffer_printf(text, ", %.0f %% of the time",
                               100 * (double)scope->judged_ns / (double)scope->time_ns);
    if (failed || scope->last_step < 0)
        return failed;
    if (scope->loaded_steps)
        return buffer_printf(text, ", %d of %d steps, from step %d to %d", (int)scope->loaded_steps,
                             (int)scope->run_steps, (int)scope->first_step, (int)scope->last_step) ||
               (scope->rounds > 1 && buffer_printf(text, ", in %d rounds", (int)scope->rounds));
    return scope->first_step == scope->last_step
               ? buffer_printf(text, ", step %d", (int)scope->first_step)
               : buffer_printf(text, ", steps %d-%d", (int)scope->first_step, (int)scope->last_step);
}

static int separate(struct buffer *text, size_t start)
{
    return text->length > start ? buffer_append_text(text, "; ") : 0;
}

static int append_ranks(const struct scope *scope, struct buffer *text)
{
    int64_t absent = scope->ranks - scope->recorded_ranks;
    return absent <= 0 || !scope->recorded_ranks
               ? 0
               : buffer_printf(text, "%lld rank%s without a trace (ingest %s file%s)", (long long)absent,
                               absent == 1 ? "" : "s", absent == 1 ? "its" : "their", absent == 1 ? "" : "s");
}

static const char *remedy_of(const struct scope *scope, int gap)
{
    const char *misattribution = gap == GAP_NO_TIME ? astray_text(scope) : NULL;
    return misattribution ? misattribution : gap_texts[gap].remedy;
}

static int append_from(const struct scope *scope, int first, struct buffer *text)
{
    size_t start = text->length;
    if (append_ranks(scope, text))
        return -1;
    for (int gap = first; gap < GAP_COUNT; gap++)
        if (scope->gaps[gap] &&
            (separate(text, start) || buffer_printf(text, "%lld %s (%s)", (long long)scope->gaps[gap],
                                                    gap_texts[gap].said, remedy_of(scope, gap))))
            return -1;
    return 0;
}

int scope_name_gaps(const struct scope *scope, struct buffer *text)
{
    size_t start = text->length;
    for (int gap = 0; gap < GAP_COUNT; gap++)
        if (scope->gaps[gap] &&
            (separate(text, start) ||
             buffer_printf(text, "%lld %s", (long long)scope->gaps[gap], gap_texts[gap].said)))
            return -1;
    return 0;
}

int scope_append_gaps(const struct scope *scope, struct buffer *text)
{
    struct buffer gaps = BUFFER_INIT;
    int failed = append_from(scope, 0, &gaps);
    if (!failed && scope->networks_only)
        failed = buffer_append_text(text,
                                    "late ranks, because the trace has no timestamps (record kernels: NCCL "
                                    "2.26 or later)") ||
                 (gaps.length && buffer_append_text(text, "; "));
    failed = failed || buffer_append(text, gaps.data, gaps.length);
    buffer_release(&gaps);
    return failed ? -1 : 0;
}

/* Too few steps or missing times are the reason themselves; other gaps are listed after it. */
int scope_append_blindness(const struct scope *scope, struct buffer *text)
{
    if (scope->blindness == BLIND_LITTLE)
        return buffer_append_text(text, "only ") || scope_append_judged(scope, text) ||
               buffer_append_text(text, " have a baseline to compare with. Not analyzed: ") ||
               scope_append_gaps(scope, text);
    struct buffer gaps = BUFFER_INIT;
    int failed = buffer_append_text(text, blind_text(scope)) || append_from(scope, GAP_NO_OPERATION, &gaps) ||
                 (gaps.length && (buffer_append_text(text, ". Also not analyzed: ") ||
                                  buffer_append(text, gaps.data, gaps.length)));
    buffer_release(&gaps);
    return failed ? -1 : 0;
}

int scope_add_gaps(const struct scope *scope, struct buffer *json)
{
    for (int gap = 0; gap < GAP_COUNT; gap++)
        if (text_json_integer(json, gap_texts[gap].key, scope->gaps[gap]))
            return -1;
    return 0;
}
