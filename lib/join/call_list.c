/*
 * Loads the descriptions of calls (marks of a profiler, lines printed by a program) and finds the rank of
 * each. call_match.c then finds the operations.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

static const char no_rank[] = "call description of an unknown rank";
static const char several_jobs[] = "call description of one of several jobs";

enum { NO_RUN = -1, SEVERAL_RUNS = -2 };

/* How much of the directories of two paths is equal, in bytes. */
static size_t common_path(const char *one, const char *other)
{
    size_t common = 0;
    for (size_t i = 0;; i++) {
        int is_end = (!one[i] || one[i] == '/') && (!other[i] || other[i] == '/');
        if (is_end)
            common = i + 1;
        if (one[i] != other[i] || !one[i])
            return common;
    }
}

/* Global ranks of runs: (run, rank) -> index. */
static int list_ranks(const struct work *work, struct map *ranks)
{
    for (size_t i = 0; i < work->rank_count; i++)
        if (work->ranks[i].global_rank >= 0 &&
            !map_put(ranks,
                     (struct map_key){{(uint64_t)work->ranks[i].run, (uint64_t)work->ranks[i].global_rank}},
                     (int64_t)i, NULL))
            return -1;
    return 0;
}

/* The run with files closest to a path, or SEVERAL_RUNS. `closeness` has room for all runs. */
static int32_t closest_run(const struct work *work, const char *path, size_t *closeness)
{
    size_t most = 0;
    int32_t best = NO_RUN;
    memset(closeness, 0, work->run_count * sizeof *closeness);
    for (size_t i = 0; i < work->process_count; i++) {
        size_t common = common_path(path, work->processes[i].file_set);
        if (common > closeness[work->processes[i].run])
            closeness[work->processes[i].run] = common;
    }
    for (size_t i = 0; i < work->run_count; i++) {
        if (best == NO_RUN || closeness[i] > most) {
            best = (int32_t)i;
            most = closeness[i];
        } else if (closeness[i] == most) {
            best = SEVERAL_RUNS;
        }
    }
    return best;
}

/* The file in which a description was printed, and its run. */
struct home {
    struct statement *path;
    size_t *closeness; /* owned */
    int64_t file_id;
    int32_t run;
};

static int enter_file(struct home *home, const struct work *work, int64_t file_id, struct error *error)
{
    home->file_id = file_id;
    home->run = work->run_count ? 0 : NO_RUN;
    if (work->run_count < 2)
        return 0;
    int row = statement_bind_integer(home->path, 1, file_id, error) ? -1 : statement_step(home->path, error);
    if (row < 0)
        return -1;
    home->run = row ? closest_run(work, statement_text(home->path, 0), home->closeness) : SEVERAL_RUNS;
    statement_reset(home->path);
    return 0;
}

/* The rank of a process; if it drives several ranks, the one that the description states. */
static int32_t rank_of_process(const struct work *work, const struct call *call)
{
    const struct grouping *of = &work->by_process;
    int32_t found = -1;
    int is_only = 1;
    for (size_t i = of->first[call->process]; i < of->first[call->process + 1]; i++) {
        int32_t rank = work->members[of->items[i]].job_rank;
        if (work->ranks[rank].global_rank == call->said_rank)
            return rank;
        is_only &= found < 0 || found == rank;
        found = rank;
    }
    return is_only ? found : -1;
}

static void settle(struct call *call, const struct work *work, const struct map *ranks,
                   const struct home *home)
{
    if (call->process >= 0) {
        call->of.rank = rank_of_process(work, call);
    } else if (home->run >= 0) {
        const int64_t *rank =
            map_get(ranks, (struct map_key){{(uint64_t)home->run, (uint64_t)call->said_rank}});
        call->of.rank = rank ? (int32_t)*rank : -1;
    }
    if (call->of.rank < 0)
        call->reason = call->process < 0 && home->run == SEVERAL_RUNS ? several_jobs : no_rank;
}

static int settle_all(struct call_list *list, const struct work *work, const struct map *ranks,
                      struct home *home, struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        struct call *call = &list->items[i];
        if (call->process < 0 && call->id >> 32 != home->file_id &&
            enter_file(home, work, call->id >> 32, error))
            return -1;
        settle(call, work, ranks, home);
    }
    return 0;
}

/*
 * Finds the job rank of each description. A mark belongs to the rank of its process. A printed description
 * belongs to the global rank that it states, in the run whose files are closest to the file in which it was
 * printed.
 */
static int call_list_find_homes(struct call_list *list, const struct work *work, struct store *store,
                                struct error *error)
{
    struct map ranks;
    struct home home = {.path = store_prepare(store, schema_join_call_path, error),
                        .closeness = array_new(work->run_count + 1, sizeof *home.closeness),
                        .file_id = -1};
    map_init(&ranks);
    int failed = !home.path;
    if (!failed && (!home.closeness || list_ranks(work, &ranks)))
        failed = error_no_memory(error);
    failed = failed || settle_all(list, work, &ranks, &home, error);
    map_release(&ranks);
    statement_free(home.path);
    free(home.closeness);
    return failed ? -1 : 0;
}

void call_list_init(struct call_list *list)
{
    *list = (struct call_list){.items = NULL};
    intern_init(&list->groups);
    intern_init(&list->correlations);
}

void call_list_release(struct call_list *list)
{
    free(list->items);
    intern_release(&list->groups);
    intern_release(&list->correlations);
    list->items = NULL;
}

int64_t call_group(struct call_list *list, int64_t *ranks, size_t count)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    sort_integers(ranks, count);
    for (size_t i = 0; i < count && !failed; i++)
        failed = buffer_printf(&text, "%lld,", (long long)ranks[i]);
    int64_t number = failed || !text.length ? -1 : intern_put(&list->groups, text.data, text.length);
    buffer_release(&text);
    return number;
}

/* The group that a description lists; GROUP_OF_ALL if it has no list. */
static int read_group(struct call_list *list, const char *text, int32_t *group)
{
    int64_t *ranks = NULL;
    size_t count = 0;
    *group = !text ? GROUP_OF_ALL : GROUP_ANY;
    if (!text || !text[0])
        return 0;
    if (members_read(text, &ranks, &count))
        return -1;
    int64_t number = count ? call_group(list, ranks, count) : GROUP_DAMAGED;
    free(ranks);
    *group = (int32_t)number;
    return count && number < 0 ? -1 : 0;
}

/* Columns of the statement that lists descriptions. */
enum { ID, PROCESS, RANK, NAME, BYTES, SAID, GROUP, PEER, CORRELATION, AT };

static int take(struct call_list *list, const struct work *work, struct statement *row)
{
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    struct call *call = &list->items[list->count];
    struct call_kind kind = call_kind_of(statement_text(row, NAME));
    const char *correlation = statement_text(row, CORRELATION);
    int64_t process = statement_integer_or(row, PROCESS, -1);
    int64_t number = correlation ? intern_put(&list->correlations, correlation, strlen(correlation)) : -1;
    if (process >= 0)
        process = find_id(work->processes, work->process_count, sizeof *work->processes, 0, process);
    *call = (struct call){.id = statement_integer(row, ID),
                          .process = (int32_t)process,
                          .correlation = (int32_t)number,
                          .said_rank = statement_integer(row, RANK),
                          .at_ns = statement_integer_or(row, AT, TIME_UNKNOWN),
                          .said_ns = statement_integer_or(row, SAID, TIME_UNKNOWN),
                          .of = {.rank = -1,
                                 .function = (int32_t)kind.function,
                                 .is_barrier = kind.is_barrier,
                                 .message_bytes = kind.is_barrier ? 0 : statement_integer_or(row, BYTES, -1),
                                 .peer = statement_integer_or(row, PEER, COUNT_UNKNOWN)},
                          .class = -1};
    if ((correlation && number < 0) || read_group(list, statement_text(row, GROUP), &call->of.group))
        return -1;
    list->count++;
    return 0;
}

int call_list_load(struct call_list *list, const struct work *work, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_join_call_descriptions, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(list, work, row))
            more = error_no_memory(error);
    statement_free(row);
    return more || !list->count ? more : call_list_find_homes(list, work, store, error);
}
