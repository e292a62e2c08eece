#include "verdict/longer_steps_text.h"

#include "base/buffer.h"
#include "base/json_text.h"
#include "job/excerpts.h"
#include "job/step_index.h"
#include "model/vocab.h"
#include "verdict/grown_operation.h"
#include "verdict/words.h"

/* Steps that became longer, in words: that nobody can be blamed is no reason to be silent about it. */

/* The slowest transfer of those steps that nobody is to blame for; -1 where none explains half of one's. */
static int32_t slowest_in(const struct job *job, const struct transfer_excess *transfers,
                          const struct longer_row *row)
{
    int32_t slowest = -1;
    int64_t least_ns = row->lost_ns / row->steps / 2;
    struct job_range instances = job_instances_in(job, row->first, row->last);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        if (transfers[at].culprit < 0 && transfers[at].slow_ns >= least_ns &&
            (slowest < 0 || transfers[at].slow_ns > transfers[slowest].slow_ns))
            slowest = at;
    }
    return slowest;
}

static int say_slowest(const struct job *job, const struct transfer_excess *transfers, int32_t number,
                       struct buffer *text)
{
    const struct job_instance *instance = &job->instances[number];
    const int32_t *members = job->instance_members + instance->first_member;
    int64_t usual_ns = transfer_usual_ns(instance, &transfers[number]);
    if (usual_ns == TIME_UNKNOWN)
        return 0;
    if (buffer_append_text(text, ". ") || text_operation(text, job, instance, instance->function) ||
        buffer_printf(text, " had a transfer time of %.1f ms (baseline %.1f ms)",
                      (double)instance->transfer_ns / 1e6, (double)usual_ns / 1e6))
        return -1;
    if (instance->members != 2 || instance->sender >= 0)
        return 0;
    return buffer_printf(text, ", between ranks %s and %s", job->ranks[job->operations[members[0]].rank].name,
                         job->ranks[job->operations[members[1]].rank].name);
}

static int say_steps(const struct longer_steps *longer, const struct longer_row *row, struct buffer *text)
{
    int first = (int)row->run_first, last = (int)row->run_last;
    int failed = first == last ? buffer_printf(text, "step %d took", first)
                               : buffer_printf(text, "steps %d-%d took", first, last);
    failed = failed || buffer_printf(text, " %.1f ms%s (baseline %.1f ms)", (double)row->took_ns / 1e6,
                                     first == last ? "" : " each", (double)row->usual_ns / 1e6);
    if (!failed && longer->period)
        return buffer_printf(
            text,
            "; this repeats every %d steps, which suggests a checkpoint or evaluation, not a "
            "slow rank",
            (int)longer->period);
    return failed || buffer_append_text(text, "; the cause cannot be determined from this trace");
}

/* ". Most of the increase: 5.8 ms before operation 3 of the step (AllReduce, ranks 0-7), on 7 of 8 ranks". */
static int say_grown(const struct job *job, const struct grown_operation *grown, struct buffer *text)
{
    const struct job_operation *operation = &job->operations[grown->operation];
    const char *tag = job_tag(job, operation->tag);
    if (buffer_append_text(text, ". Most of the increase: ") || text_time(text, grown->grown_ns) ||
        buffer_append_text(text, grown->transfers ? " in the transfer time of " : " before ") ||
        text_place(text, grown->position + 1, "the step", function_name(operation->function),
                   &job->communicators[operation->communicator]) ||
        (tag && (buffer_append_text(text, ", phase ") || buffer_append_text(text, tag))))
        return -1;
    if (grown->transfers)
        return 0;
    if (buffer_append_text(text, ", on "))
        return -1;
    return grown->ranks > 1 ? buffer_printf(text, "%d of %d ranks", (int)grown->ranks, (int)grown->of_ranks)
                            : buffer_printf(text, "rank %s", job->ranks[grown->rank].name);
}

static int say_last(const struct job *job, const struct grown_operation *grown, struct buffer *text)
{
    return grown->last_rank < 0
               ? 0
               : buffer_printf(text, ". Rank %s arrived last there in %d of %d steps",
                               job->ranks[grown->last_rank].name, (int)grown->times_last, (int)grown->times);
}

/* What grew: of a single step the transfer that was slow, else what did in most steps. */
static int say_cause(const struct job *job, const struct baseline *baseline,
                     const struct transfer_excess *transfers, const struct longer_steps *longer,
                     const struct longer_row *row, struct buffer *text)
{
    struct grown_operation grown;
    int32_t slowest = slowest_in(job, transfers, row);
    if (slowest >= 0)
        return say_slowest(job, transfers, slowest, text);
    if (grown_operation_find(&grown, job, baseline, longer, row))
        return -1;
    return grown.operation < 0 ? 0 : say_grown(job, &grown, text) || say_last(job, &grown, text);
}

static int warn_of_row(const struct job *job, const struct baseline *baseline,
                       const struct transfer_excess *transfers, const struct longer_steps *longer,
                       const struct longer_row *row, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed = say_steps(longer, row, &text) || (!longer->period && row->first >= 0 &&
                                                   say_cause(job, baseline, transfers, longer, row, &text))
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

/* The first and the last step of a load, and how long they usually are. */
struct stretch {
    int32_t first;
    int32_t last;
    int64_t usual_ns;
    int64_t bytes;
};

/* The stretch of one load that begins with `step`, other loads in between or not. */
static struct stretch stretch_of(const struct longer_steps *longer, int32_t step_count, int32_t load)
{
    struct stretch stretch = {.first = -1};
    for (int32_t step = 0; step < step_count; step++) {
        if (longer->usual.load[step] != load || longer->usual.usual_ns[step] == TIME_UNKNOWN)
            continue;
        if (stretch.first < 0)
            stretch.first = step;
        stretch.last = step;
        stretch.usual_ns = longer->usual.usual_ns[step];
        stretch.bytes = longer->usual.bytes[step];
    }
    return stretch;
}

/* Steps grow with their load from this share on: less is not worth a word. */
static const double GROWN = 1.1;

/* Where a load takes over from a lesser one for good, and its steps are longer for it. */
static int caution_grown_load(const struct job *job, const struct longer_steps *longer, struct table *table,
                              struct error *error)
{
    for (int32_t load = 1; longer->usual.load && load < longer->usual.load_count; load++) {
        struct stretch before = stretch_of(longer, job->step_count, load - 1),
                       after = stretch_of(longer, job->step_count, load);
        if (before.first < 0 || after.first < before.last || after.bytes <= before.bytes ||
            (double)after.usual_ns < GROWN * (double)before.usual_ns)
            continue;
        if (table_add_warning(
                table, error,
                "run %lld: steps %d-%d took %.1f ms instead of %.1f ms (steps %d-%d) because they move %.2f "
                "times as many bytes: this is more load, not a fault",
                (long long)job->run_id, (int)job_run_step(job, after.first),
                (int)job_run_step(job, after.last), (double)after.usual_ns / 1e6,
                (double)before.usual_ns / 1e6, (int)job_run_step(job, before.first),
                (int)job_run_step(job, before.last),
                before.bytes > 0 ? (double)after.bytes / (double)before.bytes : 0.0))
            return -1;
    }
    return 0;
}

int caution_longer_steps(const struct job *job, const struct baseline *baseline,
                         const struct transfer_excess *transfers, const struct longer_steps *longer,
                         struct table *table, struct error *error)
{
    const struct longer_row *row = longer_steps_unexplained(longer);
    if (row && warn_of_row(job, baseline, transfers, longer, row, table, error))
        return -1;
    return caution_grown_load(job, longer, table, error);
}

int longer_steps_add_json(const struct longer_steps *longer, const struct job *job, struct buffer *json)
{
    for (size_t i = 0; i < longer->count; i++) {
        const struct longer_row *row = &longer->rows[i];
        size_t length = json->length;
        if ((length && json->data[length - 1] == '}' && buffer_append_byte(json, ',')) ||
            buffer_append_byte(json, '{') || text_json_integer(json, "run", job->run_id) ||
            text_json_integer(json, "first_step", row->run_first) ||
            text_json_integer(json, "last_step", row->run_last) ||
            text_json_us(json, "usual_us", row->usual_ns) || text_json_us(json, "took_us", row->took_ns) ||
            text_json_key(json, "explained") || buffer_append_text(json, row->explained ? "true}" : "false}"))
            return -1;
    }
    return 0;
}
