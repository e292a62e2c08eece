#include "verdict/scope_text.h"

#include "base/json_text.h"

/* A gap: its key in JSON, what it is called, and what closes it the next time. */
static const struct {
    const char *key;
    const char *said;
    const char *remedy;
} gap_texts[GAP_COUNT] = {
    [GAP_NO_STEP] = {"in_no_step", "in no recognised step", "tags of phases tell steps: ncclprof-plugin(7)"},
    [GAP_NO_TIME] = {"without_time", "with no duration",
                     "record kernels, with a plugin that notes every stop: ncclprof-plugin(7)"},
    [GAP_NO_OPERATION] = {"without_operation", "called with no operation in the trace",
                          "record collectives and point-to-point operations, in larger pools"},
    [GAP_LOST] = {"lost", "lost by the recorder", "larger pools, or shorter intervals between dumps"},
    [GAP_LEFT_OUT] = {"left_out", "left out by the recorder's filter for small ones",
                      "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0 records them"},
    [GAP_ENDED_EARLY] = {"ended_early", "after a rank's file had ended", "ingest whole files"},
    [GAP_DAMAGED] = {"damaged", "in damaged lines or dropped events", "ncclprof info --ledger"},
};

/* Why there are no times where kernels were recorded, and had those of other operations; what closes the gap.
 */
static const struct {
    unsigned when;
    const char *said;
} astray_texts[] = {
    {ASTRAY_AFTER_BROADCAST,
     "kernel times belong to another operation: NCCL 2.29.2 and later does not count the kernels of "
     "ncclBroadcast (NVIDIA/nccl#2368); set NCCL_ALLGATHERV_ENABLE=0, or record with PyTorch's profiler"},
    {ASTRAY_AFTER_SELF_SEND,
     "kernel times belong to another operation: NCCL 2.26 to 2.30 gives the times of other operations once "
     "a rank has sent to itself, as in an all-to-all: ingest PyTorch's profiler alone"},
    {ASTRAY_IMPOSSIBLE,
     "kernel times belong to another operation: kernels begin before they are called, as NCCL's host and "
     "GPU count them apart, after ncclBroadcast for one (NVIDIA/nccl#2368); set NCCL_ALLGATHERV_ENABLE=0, "
     "or record with PyTorch's profiler"},
};

static const char *const blind_texts[] = {
    [BLIND_NO_OPERATIONS] =
        "the traces hold no operations (record collectives, point-to-point operations and "
        "kernels: ncclprof-plugin(7))",
    [BLIND_NO_TIMES] =
        "no operation says when it ran (record kernels; with NCCL Inspector "
        "NCCL_INSPECTOR_DUMP_VERBOSE=1, with Flight Recorder TORCH_NCCL_ENABLE_TIMING=1; logs tell no times)",
    [BLIND_CALLS] =
        "calls and durations do not tell when operations ran, as ranks use several communicators in a step, "
        "or "
        "hosts ran ahead of their GPUs (record kernels: with PyTorch's profiler, or with a plugin: "
        "ncclprof-plugin(7))",
    [BLIND_NO_ENDS] =
        "no operation says when it ended, as NVIDIA's example plugin notes the stop of a kernel's "
        "channel 0 alone (record with another plugin: ncclprof-plugin(7))",
    [BLIND_ONE_RANK] =
        "only one rank left a trace, and there is nobody to compare it with (ingest the files of "
        "all ranks)",
    [BLIND_FEW_STEPS] =
        "fewer than three steps could be told apart (record more of them, or tag their phases: "
        "ncclprof-plugin(7))",
    [BLIND_IRREGULAR] =
        "less than half of what ranks did has its place in a recurring step (tags of phases tell "
        "steps: ncclprof-plugin(7))",
};

static const char *astray_text(const struct scope *scope)
{
    for (size_t i = 0; i < sizeof astray_texts / sizeof *astray_texts; i++)
        if (scope->astray_kernels & astray_texts[i].when)
            return astray_texts[i].said;
    return NULL;
}

static const char *blind_text(const struct scope *scope)
{
    const char *astray = scope->blindness == BLIND_NO_TIMES ? astray_text(scope) : NULL;
    return astray ? astray : blind_texts[scope->blindness];
}

int scope_say_judged(const struct scope *scope, struct buffer *text)
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
        return buffer_printf(text, ", %d of %d steps, from %d to %d", (int)scope->loaded_steps,
                             (int)scope->run_steps, (int)scope->first_step, (int)scope->last_step) ||
               (scope->rounds > 1 && buffer_printf(text, ", in %d rounds", (int)scope->rounds));
    return scope->first_step == scope->last_step
               ? buffer_printf(text, ", step %d", (int)scope->first_step)
               : buffer_printf(text, ", steps %d to %d", (int)scope->first_step, (int)scope->last_step);
}

static int separate(struct buffer *text, size_t start)
{
    return text->length > start ? buffer_append_text(text, "; ") : 0;
}

static int say_ranks(const struct scope *scope, struct buffer *text)
{
    int64_t absent = scope->ranks - scope->recorded_ranks;
    return absent <= 0 || !scope->recorded_ranks
               ? 0
               : buffer_printf(text, "%lld rank%s that left no trace (ingest %s file%s, too)",
                               (long long)absent, absent == 1 ? "" : "s", absent == 1 ? "its" : "their",
                               absent == 1 ? "" : "s");
}

static const char *remedy_of(const struct scope *scope, int gap)
{
    const char *astray = gap == GAP_NO_TIME ? astray_text(scope) : NULL;
    return astray ? astray : gap_texts[gap].remedy;
}

static int say_from(const struct scope *scope, int first, struct buffer *text)
{
    size_t start = text->length;
    if (say_ranks(scope, text))
        return -1;
    for (int gap = first; gap < GAP_COUNT; gap++)
        if (scope->gaps[gap] &&
            (separate(text, start) || buffer_printf(text, "%lld %s (%s)", (long long)scope->gaps[gap],
                                                    gap_texts[gap].said, remedy_of(scope, gap))))
            return -1;
    return 0;
}

int scope_say_gaps(const struct scope *scope, struct buffer *text)
{
    struct buffer gaps = BUFFER_INIT;
    int failed = say_from(scope, 0, &gaps);
    if (!failed && scope->networks_only)
        failed = buffer_append_text(text,
                                    "late ranks, as no operation says when it ran (record kernels, which "
                                    "takes NCCL 2.26 or later)") ||
                 (gaps.length && buffer_append_text(text, "; "));
    failed = failed || buffer_append(text, gaps.data, gaps.length);
    buffer_release(&gaps);
    return failed ? -1 : 0;
}

/* Steps and times are the reason itself; what else is lacking comes on top. */
int scope_say_blindness(const struct scope *scope, struct buffer *text)
{
    if (scope->blindness == BLIND_LITTLE)
        return buffer_append_text(text, "no more than ") || scope_say_judged(scope, text) ||
               buffer_append_text(text, " can be held against what is usual; not judged: ") ||
               scope_say_gaps(scope, text);
    struct buffer gaps = BUFFER_INIT;
    int failed = buffer_append_text(text, blind_text(scope)) || say_from(scope, GAP_NO_OPERATION, &gaps) ||
                 (gaps.length && (buffer_append_text(text, "; not judged either: ") ||
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
