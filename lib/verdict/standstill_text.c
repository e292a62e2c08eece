#include "verdict/standstill_text.h"

#include "verdict/words.h"

/* Ranks that are named; of more, the number is told. */
enum { RANKS_NAMED = 8 };

/* The members of the communicator that stands still. */
struct attendance_count {
    const struct job_instance *instance;
    int64_t size;     /* as recorded, or so many at least */
    int64_t recorded; /* members that left a record */
    int is_sized;     /* a record tells the size */
};

static int is_recorded(const struct job_rank *rank)
{
    return rank->process_id >= 0 && (rank->count || rank->tells_progress);
}

static struct attendance_count count_members(const struct standstill *standstill, const struct job *job)
{
    const struct job_instance *instance = &job->instances[standstill->instance];
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    struct attendance_count count = {
        .instance = instance, .size = communicator->size, .is_sized = communicator->size_is_known};
    for (size_t i = 0; i < communicator->seat_count; i++)
        count.recorded += is_recorded(&job->ranks[communicator->seats[i].rank]);
    return count;
}

static int is_called_by_all(const struct attendance_count *count)
{
    return count->recorded >= count->size && count->instance->members >= count->instance->expected;
}

/* "Only 1 of 4 ranks has a record"; of a communicator of unknown size "Only 1 rank has a record, and ...". */
static int say_recorded(const struct attendance_count *count, struct buffer *text)
{
    long long recorded = (long long)count->recorded;
    const char *has = recorded == 1 ? "has" : "have";
    if (count->is_sized)
        return buffer_printf(text, "%s%lld of %lld ranks %s a record",
                             count->recorded < count->size ? "Only " : "", recorded, (long long)count->size,
                             has);
    return buffer_printf(text, "Only %lld rank%s %s a record, and no record shows how many ranks there are",
                         recorded, recorded == 1 ? "" : "s", has);
}

int standstill_say_reason(const struct standstill *standstill, const struct job *job, struct buffer *text)
{
    struct attendance_count count = count_members(standstill, job);
    if (text_operation(text, job, count.instance, count.instance->function))
        return -1;
    if (!is_called_by_all(&count))
        return buffer_append_text(text, " never finished. ") || say_recorded(&count, text);
    if (!count.is_sized)
        return buffer_printf(text,
                             " never finished. The %lld rank%s with a record called it, and no record shows "
                             "how many ranks there are",
                             (long long)count.recorded, count.recorded == 1 ? "" : "s");
    return buffer_append_text(text,
                              " was called by all its ranks and never finished. The trace does not show why. "
                              "Possible causes: the network, the transport between GPUs (P2P, NVLink), a "
                              "GPU, or a difference that is not recorded (sizes, roots)");
}

/* " (1, 2, 5, 6 and 7)": those of the job, where it has no more. */
static int name_unrecorded(const struct job *job, int64_t count, struct buffer *text)
{
    int64_t named = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        named += !is_recorded(&job->ranks[i]);
    if (named != count || count > RANKS_NAMED)
        return 0;
    named = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (is_recorded(&job->ranks[i]))
            continue;
        named++;
        if (buffer_append_text(text, named == 1       ? " ("
                                     : named == count ? " and "
                                                      : ", ") ||
            buffer_append_text(text, job->ranks[i].name))
            return -1;
    }
    return named ? buffer_append_byte(text, ')') : 0;
}

int standstill_say_remedy(const struct standstill *standstill, const struct job *job, struct buffer *text)
{
    struct attendance_count count = count_members(standstill, job);
    int64_t lacking = count.size - count.recorded;
    if (is_called_by_all(&count) && count.is_sized)
        /* Dumps without timing do not tell which GPUs began a call. */
        return buffer_append_text(text,
                                  job->calls && !job->timed_operations
                                      ? "set TORCH_NCCL_ENABLE_TIMING=1, so that the next dump shows which "
                                        "GPUs started it; NCCL_DEBUG=INFO logs show the transport"
                                      : "set NCCL_DEBUG=INFO: its logs show the transport");
    if (!count.is_sized || lacking < 1)
        return buffer_append_text(text, "add the logs, dumps or traces of the other ranks");
    return buffer_append_text(text, "add the logs, dumps or traces of the other ") ||
                   (lacking > 1 && buffer_printf(text, "%lld ", (long long)lacking)) ||
                   buffer_append_text(text, lacking == 1 ? "rank" : "ranks") ||
                   name_unrecorded(job, lacking, text)
               ? -1
               : 0;
}
