/*
 * How far each rank of a stopped job came, and which operations never finished. Ranks that are alike are told
 * together: 512 ranks of a 3D job take a few lines.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/verdicts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Most lines of operations, and of ranks. The rest is counted. */
enum { OPERATIONS_SHOWN = 4, GROUPS_SHOWN = 12 };

/* Whether the GPU never started what its host called, although starts are recorded. */
static int is_only_called(const struct job *job, const struct job_operation *operation)
{
    return job->timed_operations && operation->unfinished && operation->start_ns == TIME_UNKNOWN;
}

static void count_reported(struct rank_progress *progress, const struct job *job, int32_t rank)
{
    for (size_t i = 0; i < job->progress_count; i++) {
        const struct job_progress *of = &job->progress[i];
        if (of->rank != rank)
            continue;
        progress->called += of->enqueued > 0 ? of->enqueued : 0;
        progress->finished += of->completed > 0 ? of->completed : 0;
    }
}

static void count_operation(struct rank_progress *progress, const struct job *job, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    progress->called++;
    progress->started += !is_only_called(job, operation);
    progress->finished += !operation->unfinished;
    if (operation->unfinished && progress->waits_in < 0)
        progress->waits_in = (int32_t)at;
}

void rank_progress_count(struct rank_progress *progress, const struct job *job, int32_t rank, int32_t first,
                         int32_t last)
{
    const struct job_rank *of = &job->ranks[rank];
    *progress = (struct rank_progress){.waits_in = -1, .last = -1, .last_started = -1};
    for (size_t i = of->first; i < of->first + of->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step > last || (operation->step < 0 && first >= 0))
            continue;
        if (operation->step >= first)
            count_operation(progress, job, i);
        progress->last = (int32_t)i;
        if (!is_only_called(job, operation))
            progress->last_started = (int32_t)i;
    }
}

static int append_operation(const struct job *job, int32_t at, struct buffer *text)
{
    const struct job_operation *operation = &job->operations[at];
    const char *function = function_name(operation->function);
    return operation->instance < 0
               ? buffer_append_text(text, function ? function : "operation")
               : text_operation(text, job, &job->instances[operation->instance], operation->function);
}

int rank_progress_append(const struct job *job, int32_t operation, struct buffer *text)
{
    return operation < 0
               ? 0
               : append_operation(job, operation, text) ||
                     (job->operations[operation].unfinished && buffer_append_text(text, ", never finished"));
}

/*
 * Counts the operations of a rank in a step of the job; `step` -1: in all. Where the rank left no operations,
 * the counts are those that it reports itself (struct job_progress), without `waits_in` and `last`.
 */
static void measure(struct rank_progress *progress, const struct job *job, int32_t rank, int32_t step)
{
    rank_progress_count(progress, job, rank, step, step < 0 ? INT32_MAX : step);
    if (!job->ranks[rank].count)
        count_reported(progress, job, rank);
}

/* Ranks that came as far as each other, in the same or a like operation. */
struct group {
    struct rank_progress progress; /* of the first rank */
    int64_t sequence;
    int32_t function; /* -1: no operation */
    int is_accused;
    int32_t *ranks; /* owned, ascending */
    size_t count;
    size_t capacity;
    int is_one; /* all are in the same operation */
};

struct groups {
    const struct job *job;
    int32_t step;        /* of `job`; -1: all */
    struct group *items; /* owned */
    size_t count;
    size_t capacity;
    int has_ends; /* the trace records which operations finished */
};

static void groups_release(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->items[i].ranks);
    free(groups->items);
}

static int32_t operation_of(const struct rank_progress *progress)
{
    return progress->waits_in >= 0 ? progress->waits_in : progress->last;
}

static int32_t instance_of(const struct job *job, const struct rank_progress *progress)
{
    int32_t operation = operation_of(progress);
    return operation < 0 ? -1 : job->operations[operation].instance;
}

/* Whether a reported finding says that the job stopped. */
static int stops(const struct finding *finding)
{
    return finding->stops_job && finding_is_reported(finding);
}

static struct group describe(const struct groups *groups, const struct findings *findings, int32_t rank)
{
    struct group group = {.function = -1, .sequence = -1, .is_one = 1};
    measure(&group.progress, groups->job, rank, groups->step);
    int32_t operation = operation_of(&group.progress), instance = instance_of(groups->job, &group.progress);
    if (operation >= 0)
        group.function = (int32_t)groups->job->operations[operation].function;
    if (instance >= 0)
        group.sequence = groups->job->instances[instance].sequence;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        group.is_accused |= stops(finding) && finding_has_rank(finding, rank);
    }
    return group;
}

static int are_alike(const struct group *one, const struct group *other)
{
    return one->progress.called == other->progress.called &&
           one->progress.finished == other->progress.finished && one->function == other->function &&
           one->sequence == other->sequence && one->is_accused == other->is_accused &&
           (one->progress.waits_in < 0) == (other->progress.waits_in < 0);
}

static int groups_add(struct groups *groups, const struct findings *findings, int32_t rank)
{
    struct group next = describe(groups, findings, rank), *group = NULL;
    for (size_t i = 0; !group && i < groups->count; i++)
        if (are_alike(&groups->items[i], &next))
            group = &groups->items[i];
    if (!group) {
        if (array_reserve((void **)&groups->items, &groups->capacity, groups->count + 1,
                          sizeof *groups->items))
            return -1;
        group = &groups->items[groups->count++];
        *group = next;
    }
    group->is_one &= instance_of(groups->job, &group->progress) == instance_of(groups->job, &next.progress);
    if (array_reserve((void **)&group->ranks, &group->capacity, group->count + 1, sizeof *group->ranks))
        return -1;
    group->ranks[group->count++] = rank;
    return 0;
}

/* Ranks at fault first, then those that came least far. */
static int by_progress(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    if (left->is_accused != right->is_accused)
        return left->is_accused ? -1 : 1;
    if (left->progress.finished != right->progress.finished)
        return left->progress.finished < right->progress.finished ? -1 : 1;
    return left->ranks[0] - right->ranks[0];
}

static int groups_init(struct groups *groups, const struct judgement *judgement,
                       const struct findings *findings)
{
    const struct job *job = judgement->job;
    int failed = 0;
    *groups = (struct groups){.job = job, .step = -1};
    for (size_t i = 0; i < job->operation_count; i++)
        groups->has_ends |= job->operations[i].unfinished || job->operations[i].end_ns != TIME_UNKNOWN;
    if (judgement->stopped_step >= 0)
        groups->step = job_loaded_step(job, job_run_step(judgement->told, judgement->stopped_step));
    for (size_t rank = 0; !failed && rank < job->rank_count; rank++)
        failed = groups_add(groups, findings, (int32_t)rank);
    array_sort(groups->items, groups->count, sizeof *groups->items, by_progress);
    return failed;
}

/* Whether a reported finding, or a hang that none explains, says that the job stopped. */
static int has_stopped(const struct judgement *judgement, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (stops(&findings->items[i]))
            return 1;
    return judgement->unexplained_hang.is_known;
}

/* Appends where like ranks are: "waits in AllReduce #6 on several communicators". */
static int append_state(const struct groups *groups, const struct group *group, struct buffer *text)
{
    const struct job *job = groups->job;
    const struct rank_progress *progress = &group->progress;
    if (operation_of(progress) < 0)
        return buffer_append_text(text,
                                  progress->called ? "counts that the rank reported" : "left no record");
    const char *state = progress->waits_in < 0 ? "last: "
                        : group->is_accused    ? "did not finish "
                        : group->count > 1     ? "wait in "
                                               : "waits in ";
    if ((!progress->called && buffer_append_text(text, "nothing in this step; ")) ||
        buffer_append_text(text, state))
        return -1;
    if (group->is_one)
        return append_operation(job, operation_of(progress), text);
    const char *function = function_name((uint8_t)group->function);
    return buffer_append_text(text, function ? function : "operation") ||
           (group->sequence >= 0 && buffer_printf(text, " #%lld", (long long)group->sequence)) ||
           buffer_append_text(text, " on several communicators");
}

/* Appends "run 2: " if there are several runs. */
static int append_run(const struct job *job, int names_run, struct buffer *text)
{
    return names_run ? buffer_printf(text, "run %lld: ", (long long)job->run_id) : 0;
}

/* The ranks come last, because there may be many. */
static int append_group(const struct groups *groups, const struct group *group, struct buffer *text)
{
    const struct rank_progress *progress = &group->progress;
    struct buffer line = BUFFER_INIT;
    int failed = buffer_printf(&line, "%6lld  ", (long long)progress->called) ||
                 (groups->has_ends ? buffer_printf(&line, "%8lld  ", (long long)progress->finished)
                                   : buffer_printf(&line, "%8s  ", "-")) ||
                 ranks_append_list(groups->job, group->ranks, group->count, &line) ||
                 buffer_append_text(&line, ": ") || append_state(groups, group, &line) ||
                 buffer_append_text(text, "  ") || escape_terminal(text, line.data, line.length) ||
                 buffer_append_byte(text, '\n');
    buffer_release(&line);
    return failed;
}

static int append_groups(const struct groups *groups, int names_run, struct buffer *text)
{
    size_t rest = 0;
    int failed = append_run(groups->job, names_run, text) ||
                 buffer_append_text(text, "operations of each rank") ||
                 (groups->step >= 0 &&
                  buffer_printf(text, " in step %d", (int)job_run_step(groups->job, groups->step))) ||
                 buffer_append_text(text, ":\n  called  finished\n");
    for (size_t i = 0; !failed && i < groups->count; i++) {
        if (i < GROUPS_SHOWN)
            failed = append_group(groups, &groups->items[i], text);
        else
            rest += groups->items[i].count;
    }
    return failed ||
           (rest && buffer_printf(text, "  and %zu more ranks in %zu groups; --format json has all\n", rest,
                                  groups->count - GROUPS_SHOWN));
}

/* Appends "; rank 5 did not call it": the recorded members of the communicator that have no operation in it.
 */
static int append_absent(const struct job *job, const struct job_instance *instance, struct buffer *text)
{
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    int32_t *absent = array_new(communicator->member_list_count + 1, sizeof *absent);
    size_t count = 0;
    int is_pair = instance->sender >= 0 || instance->receiver >= 0;
    for (size_t i = 0; absent && i < communicator->member_list_count; i++) {
        int32_t rank = communicator->member_list[i].rank;
        int is_member = !is_pair || rank == instance->sender || rank == instance->receiver;
        for (int32_t k = 0; is_member && k < instance->members; k++)
            is_member = job_member(job, instance, k)->rank != rank;
        if (is_member)
            absent[count++] = rank;
    }
    int failed =
        !absent || (count && (buffer_append_text(text, "; ") || ranks_append_list(job, absent, count, text) ||
                              buffer_append_text(text, " did not call it")));
    free(absent);
    return failed;
}

/* Appends "; ranks 0-2 wait in it", for ranks that there are. */
static int append_state_of(const struct job *job, const int32_t *ranks, size_t count, const char *one,
                           const char *several, struct buffer *text)
{
    return count && (buffer_append_text(text, "; ") || ranks_append_list(job, ranks, count, text) ||
                     buffer_append_text(text, count == 1 ? one : several));
}

/*
 * Appends "never finished: ReduceScatter #6 on communicator {5,7}; rank 7 waits in it; rank 5 did not call
 * it". `finding`: the one that names the operation; NULL: none.
 */
static int append_unfinished(const struct job *job, int32_t number, const struct finding *finding,
                             int names_run, struct buffer *text)
{
    const struct job_instance *instance = &job->instances[number];
    struct buffer line = BUFFER_INIT;
    struct unfinished in;
    int failed = instance_unfinished(job, instance, finding, &in) ||
                 text_operation(&line, job, instance, instance->function) ||
                 append_state_of(job, in.waiting, in.waiting_count, " waits in it", " wait in it", &line) ||
                 append_state_of(job, in.accused, in.accused_count, " did not finish it",
                                 " did not finish it", &line) ||
                 append_absent(job, instance, &line) || append_run(job, names_run, text) ||
                 buffer_append_text(text, "never finished: ") ||
                 escape_terminal(text, line.data, line.length) || buffer_append_byte(text, '\n');
    unfinished_release(&in);
    buffer_release(&line);
    return failed;
}

/* The operations that findings say never finished, each once. */
static int append_operations(const struct judgement *judgement, const struct findings *findings,
                             int names_run, struct buffer *text)
{
    const struct job *job = judgement->job;
    int32_t shown[OPERATIONS_SHOWN + 1];
    size_t count = 0;
    int failed = 0;
    if (judgement->unexplained_hang.is_known) {
        shown[count++] = judgement->unexplained_hang.instance;
        failed = append_unfinished(job, shown[0], NULL, names_run, text);
    }
    for (size_t i = 0; !failed && i < findings->count && count < OPERATIONS_SHOWN; i++) {
        const struct finding *finding = &findings->items[i];
        int is_new = stops(finding) && finding->instance >= 0;
        for (size_t k = 0; k < count; k++)
            is_new &= shown[k] != finding->instance;
        if (!is_new)
            continue;
        shown[count++] = finding->instance;
        failed = append_unfinished(job, finding->instance, finding, names_run, text);
    }
    return failed;
}

int progress_append_text(const struct judgement *judgement, const struct findings *findings, int names_run,
                         struct buffer *text)
{
    struct groups groups;
    if (!has_stopped(judgement, findings) || judgement->job != judgement->told)
        return 0;
    int failed = groups_init(&groups, judgement, findings) || buffer_append_byte(text, '\n') ||
                 append_operations(judgement, findings, names_run, text) ||
                 append_groups(&groups, names_run, text);
    groups_release(&groups);
    return failed ? -1 : 0;
}

static int append_json_ranks(const struct job *job, const struct group *group, struct buffer *json)
{
    int failed = text_json_key(json, "ranks") || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < group->count; i++) {
        int64_t number = job->ranks[group->ranks[i]].global_rank;
        failed =
            (i && buffer_append_byte(json, ',')) ||
            (number < 0 ? buffer_append_text(json, "null") : buffer_printf(json, "%lld", (long long)number));
    }
    failed = failed || buffer_append_byte(json, ']') || text_json_key(json, "processes") ||
             buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < group->count; i++)
        failed =
            (i && buffer_append_byte(json, ',')) || text_json_quote(json, job->ranks[group->ranks[i]].name);
    return failed || buffer_append_byte(json, ']');
}

static int append_json_operation(const struct job *job, const char *key, int32_t operation,
                                 struct buffer *json)
{
    struct buffer name = BUFFER_INIT;
    int failed =
        (operation >= 0 && append_operation(job, operation, &name)) || text_json_string(json, key, name.data);
    buffer_release(&name);
    return failed;
}

static int append_json_group(const struct groups *groups, const struct group *group, struct buffer *json)
{
    const struct job *job = groups->job;
    return buffer_append_text(json, json->length ? ",{" : "{") ||
           text_json_integer(json, "run", job->run_id) || text_json_key(json, "step") ||
           (groups->step < 0 ? buffer_append_text(json, "null")
                             : buffer_printf(json, "%d", (int)job_run_step(job, groups->step))) ||
           append_json_ranks(job, group, json) || text_json_integer(json, "called", group->progress.called) ||
           text_json_key(json, "finished") ||
           (groups->has_ends ? buffer_printf(json, "%lld", (long long)group->progress.finished)
                             : buffer_append_text(json, "null")) ||
           append_json_operation(job, "waits_in", group->progress.waits_in, json) ||
           append_json_operation(job, "last_called", group->progress.last, json) ||
           buffer_append_byte(json, '}');
}

int progress_append_json(const struct judgement *judgement, const struct findings *findings,
                         struct buffer *json)
{
    struct groups groups;
    if (!has_stopped(judgement, findings) || judgement->job != judgement->told)
        return 0;
    int failed = groups_init(&groups, judgement, findings);
    for (size_t i = 0; !failed && i < groups.count; i++)
        failed = append_json_group(&groups, &groups.items[i], json);
    groups_release(&groups);
    return failed ? -1 : 0;
}
