#include "verdict/scope_text.h"

#include "base/json_text.h"

/* A gap: its key in JSON, what it is called, and what closes it the next time. */
static const struct {
    const char *key;
    const char *said;
    const char *remedy;
} gap_texts[GAP_COUNT] = {
    [GAP_NO_STEP] = {"in_no_step", "outside any detected step",
                     "tag phases to mark steps: ncclprof-plugin(7)"},
    [GAP_NO_TIME] = {"without_time", "without a duration",
                     "record kernels with a plugin that records every stop event: ncclprof-plugin(7)"},
    [GAP_NO_OPERATION] = {"without_operation", "called, but without an operation in the trace",
                          "record collectives and point-to-point operations, with larger pools"},
    [GAP_LOST] = {"lost", "lost by the recorder", "use larger pools or shorter intervals between dumps"},
    [GAP_LEFT_OUT] = {"left_out", "filtered out by the recorder as too small",
                      "record them with NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0"},
    [GAP_ENDED_EARLY] = {"ended_early", "after the end of a rank's file", "ingest complete files"},
    [GAP_DAMAGED] = {"damaged", "in damaged lines or dropped events", "see: ncclprof info --ledger"},
};

/* Why there are no times where kernels were recorded, and had those of other operations; what closes the gap.
 */
static const struct {
    unsigned when;
    const char *said;
} astray_texts[] = {
    {ASTRAY_AFTER_BROADCAST,
     "kernel times belong to other operations, because NCCL 2.29.2 and later does not count the kernels of "
     "ncclBroadcast (NVIDIA/nccl#2368); set NCCL_ALLGATHERV_ENABLE=0, or record with PyTorch's profiler"},
    {ASTRAY_AFTER_SELF_SEND,
     "kernel times belong to other operations, because NCCL 2.26 to 2.30 mixes them up after a rank has sent "
     "to itself, as in an all-to-all; ingest only the traces of PyTorch's profiler"},
    {ASTRAY_IMPOSSIBLE,
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

static int say_ranks(const struct scope *scope, struct buffer *text)
{
    int64_t absent = scope->ranks - scope->recorded_ranks;
    return absent <= 0 || !scope->recorded_ranks
               ? 0
               : buffer_printf(text, "%lld rank%s without a trace (ingest %s file%s)", (long long)absent,
                               absent == 1 ? "" : "s", absent == 1 ? "its" : "their", absent == 1 ? "" : "s");
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

int scope_say_gaps(const struct scope *scope, struct buffer *text)
{
    struct buffer gaps = BUFFER_INIT;
    int failed = say_from(scope, 0, &gaps);
    if (!failed && scope->networks_only)
        failed = buffer_append_text(text,
                                    "late ranks, because the trace has no timestamps (record kernels: NCCL "
                                    "2.26 or later)") ||
                 (gaps.length && buffer_append_text(text, "; "));
    failed = failed || buffer_append(text, gaps.data, gaps.length);
    buffer_release(&gaps);
    return failed ? -1 : 0;
}

/* Steps and times are the reason itself; what else is lacking comes on top. */
int scope_say_blindness(const struct scope *scope, struct buffer *text)
{
    if (scope->blindness == BLIND_LITTLE)
        return buffer_append_text(text, "only ") || scope_say_judged(scope, text) ||
               buffer_append_text(text, " have a baseline to compare with. Not analyzed: ") ||
               scope_say_gaps(scope, text);
    struct buffer gaps = BUFFER_INIT;
    int failed = buffer_append_text(text, blind_text(scope)) || say_from(scope, GAP_NO_OPERATION, &gaps) ||
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
