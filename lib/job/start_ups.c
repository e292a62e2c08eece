#include "job/start_ups.h"

#include "base/array.h"
#include "job/loader.h"
#include "schemas.h"
#include "store/statement.h"

static int64_t time_or_unknown(struct statement *statement, int column)
{
    return statement_is_null(statement, column) ? TIME_UNKNOWN : statement_integer(statement, column);
}

/* Columns of the statement. */
enum {
    AT_MEMBER = 1,
    AT_FUNCTION,
    AT_PARENT_HASH,
    AT_PARENT,
    AT_BEGIN,
    AT_END,
    AT_COMPLETE,
    AT_TOTAL,
    AT_PARTS /* and those of the parts, in their order */
};

static int read_start(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t member = loader_member(loader, statement_integer(statement, AT_MEMBER));
    int32_t function;
    if (member < 0)
        return 0;
    if (loader_tag(loader, statement_text(statement, AT_FUNCTION), &function, error))
        return -1;
    if (array_reserve((void **)&job->starts, &job->start_capacity, job->start_count + 1, sizeof *job->starts))
        return error_no_memory(error);
    struct job_start *start = &job->starts[job->start_count++];
    *start =
        (struct job_start){.order = statement_integer(statement, 0),
                           .rank = (int32_t)(member >> 32),
                           .communicator = (int32_t)(member & 0xffffffff),
                           .parent = -1,
                           .function = function,
                           .told = {.parent_hash = (uint64_t)statement_integer(statement, AT_PARENT_HASH),
                                    .begin_ns = time_or_unknown(statement, AT_BEGIN),
                                    .end_ns = time_or_unknown(statement, AT_END),
                                    .is_complete = statement_integer(statement, AT_COMPLETE) != 0,
                                    .total_ns = time_or_unknown(statement, AT_TOTAL)}};
    for (int i = 0; i < START_PARTS; i++)
        start->told.parts_ns[i] = time_or_unknown(statement, AT_PARTS + i);
    if (!statement_is_null(statement, AT_PARENT))
        start->parent = (int32_t)loader_communicator(loader, statement_integer(statement, AT_PARENT));
    return 0;
}

int loader_read_start_ups(struct loader *loader, struct error *error)
{
    if (loader_read(loader, schema_analysis_log_start_ups, read_start, error))
        return -1;
    job_judge_starts(loader->job);
    return 0;
}

static const int64_t SECOND_NS = 1000000000;

int64_t start_waited_ns(const struct start_up *told, enum start_measure *measure)
{
    int64_t bootstrap_ns = told->parts_ns[START_BOOTSTRAP], rest_ns = told->parts_ns[START_REST], took_ns;
    *measure = START_BY_PARTS;
    if (bootstrap_ns != TIME_UNKNOWN && (told->is_complete || !told->parent_hash))
        return bootstrap_ns + (told->parent_hash && rest_ns != TIME_UNKNOWN ? rest_ns : 0);
    *measure = START_NOTHING;
    if (!told->is_complete || told->begin_ns == TIME_UNKNOWN || told->end_ns == TIME_UNKNOWN ||
        __builtin_sub_overflow(told->end_ns, told->begin_ns, &took_ns) || took_ns < 0)
        return TIME_UNKNOWN;
    *measure = told->begin_ns % SECOND_NS || told->end_ns % SECOND_NS ? START_BY_LINES : START_BY_SECONDS;
    return took_ns;
}

int64_t start_told_ns(enum start_measure measure)
{
    return measure == START_BY_SECONDS ? SECOND_NS : SECOND_NS / 100;
}

static int by_communicator(const void *a, const void *b)
{
    const struct job_start *left = a, *right = b;
    if (left->communicator != right->communicator)
        return left->communicator < right->communicator ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

void starts_compare(struct job_start *starts, size_t count, int64_t told_ns)
{
    int64_t longest_ns = 0, shortest_ns = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        longest_ns = starts[i].waited_ns > longest_ns ? starts[i].waited_ns : longest_ns;
        shortest_ns = starts[i].waited_ns < shortest_ns ? starts[i].waited_ns : shortest_ns;
    }
    for (size_t i = 0; i < count; i++) {
        starts[i].late_ns = longest_ns - starts[i].waited_ns;
        starts[i].is_told = longest_ns - shortest_ns > told_ns;
        starts[i].is_last = starts[i].is_told && starts[i].waited_ns - shortest_ns <= told_ns;
    }
}

/* Those of one communicator, all of whose ranks are known. */
static void judge(struct job_start *starts, size_t count)
{
    enum start_measure roughest = START_NOTHING, first = START_NOTHING, measure;
    for (size_t i = 0; i < count; i++) {
        starts[i].waited_ns = start_waited_ns(&starts[i].told, &measure);
        first = i ? first : measure;
        roughest = measure > roughest ? measure : roughest;
        /* What is measured otherwise cannot be held against the others. */
        if (measure == START_NOTHING || (measure == START_BY_PARTS) != (first == START_BY_PARTS))
            return;
    }
    starts_compare(starts, count, start_told_ns(roughest));
}

void job_judge_starts(struct job *job)
{
    size_t first = 0;
    array_sort(job->starts, job->start_count, sizeof *job->starts, by_communicator);
    for (size_t i = 0; i < job->start_count; i++)
        job->starts[i].waited_ns = job->starts[i].late_ns = TIME_UNKNOWN;
    for (size_t i = 0; i <= job->start_count; i++) {
        if (i < job->start_count && job->starts[i].communicator == job->starts[first].communicator)
            continue;
        if (i > first && (int64_t)(i - first) == job->communicators[job->starts[first].communicator].size)
            judge(&job->starts[first], i - first);
        first = i;
    }
}
