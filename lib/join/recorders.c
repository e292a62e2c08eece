/*
 * Unites the runs of several recorders of one job: compares all pairs of runs (recorder_runs.c), chooses the
 * one that is kept, adds what only the others know to it and removes their operations. Changes the store, not
 * `work`.
 */
#include "join/recorders.h"
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_call(const void *a, const void *b)
{
    const struct recorder_extra_field *left = a, *right = b;
    if (left->block_id != right->block_id)
        return left->block_id < right->block_id ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* Adds missing source lines to the calls of one block. Returns how many entries were used; 0: failed. */
static size_t add_sources_to_block(struct recorder_match *matching,
                                   const struct recorder_extra_field *extra_fields, size_t count,
                                   struct error *error)
{
    struct log_change changes[BLOCK_ROWS];
    size_t taken = 0;
    memset(changes, 0, sizeof changes);
    for (; taken < count && extra_fields[taken].block_id == extra_fields[0].block_id; taken++)
        if (extra_fields[taken].row < BLOCK_ROWS)
            changes[extra_fields[taken].row].source =
                intern_text(&matching->work->texts, extra_fields[taken].source);
    if (logs_open_whole(matching->logs, extra_fields[0].block_id, error) ||
        logs_replace(matching->logs, extra_fields[0].block_id, changes, error))
        return 0;
    return taken;
}

static int give(struct recorder_match *matching, struct recorder_extra_field *extra_fields, size_t count,
                struct error *error)
{
    array_sort(extra_fields, count, sizeof *extra_fields, by_call);
    for (size_t at = 0, taken; at < count; at += taken)
        if ((taken = add_sources_to_block(matching, extra_fields + at, count - at, error)) == 0)
            return -1;
    return 0;
}

static int run_on_pair(struct store *store, const char *sql, int64_t one, int64_t other, struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    int failed = !statement || statement_bind_integer(statement, 1, one, error) ||
                 statement_bind_integer(statement, 2, other, error) || statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}

/* Removes the operations of a process. */
static int set_aside(struct store *store, int64_t process_id, struct error *error)
{
    static const char *const steps[] = {
        schema_join_witnesses_keep_recorded,   schema_join_witnesses_count_recorded,
        schema_join_witnesses_remove_joined,   schema_join_witnesses_remove_operations,
        schema_join_witnesses_keep_proxies,    schema_join_witnesses_remove_proxies,
        schema_join_witnesses_remove_instances};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (logs_run(store, steps[i], process_id, error))
            return -1;
    return 0;
}

enum { SAID = 96 };

static void append_size(int64_t bytes, const char *dialect, char *text)
{
    snprintf(text, SAID, "%lld bytes (%s)", (long long)bytes, dialect);
}

static void append_datatype(int64_t datatype, const char *dialect, char *text)
{
    snprintf(text, SAID, "%s (%s)", datatype_name((enum datatype)datatype), dialect);
}

static int contradict(struct store *store, int64_t process_id, const char *what,
                      const struct recorder_conflict *quarrel, const char *kept, const char *other,
                      struct error *error)
{
    char named[64];
    snprintf(named, sizeof named, "%s of %s", what, function_name((enum function)quarrel->function));
    struct statement *statement = store_prepare(store, schema_join_witnesses_contradict, error);
    int failed = !statement || statement_bind_integer(statement, 1, process_id, error) ||
                 statement_bind_text(statement, 2, named, error) ||
                 statement_bind_integer(statement, 3, quarrel->count, error) ||
                 statement_bind_text(statement, 4, kept, error) ||
                 statement_bind_text(statement, 5, other, error) || statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}

static int save_conflicts(struct store *store, const struct recorder_pair *pair, int64_t process_id,
                          const char *one, const char *other, struct error *error)
{
    char kept[SAID], instead[SAID];
    if (pair->sizes.count) {
        append_size(pair->sizes.kept, one, kept);
        append_size(pair->sizes.other, other, instead);
        if (contradict(store, process_id, "size", &pair->sizes, kept, instead, error))
            return -1;
    }
    if (!pair->datatypes.count)
        return 0;
    append_datatype(pair->datatypes.kept, one, kept);
    append_datatype(pair->datatypes.other, other, instead);
    return contradict(store, process_id, "datatype", &pair->datatypes, kept, instead, error);
}

static int recorder_merge(struct recorder_match *matching, const struct recorder_runs *runs,
                          const struct run_pair *run_pair, struct error *error)
{
    struct store *store = matching->logs->store;
    if (!runs->items[run_pair->one].is_merged &&
        give(matching, run_pair->extra_fields, run_pair->extra_field_count, error))
        return -1;
    for (size_t i = 0; i < run_pair->pair_count; i++) {
        const struct recorder_pair *pair = &run_pair->pairs[i];
        int64_t one = matching->work->processes[pair->one].id,
                other = matching->work->processes[pair->other].id;
        if (set_aside(store, other, error) ||
            run_on_pair(store, schema_join_witnesses_add, other, one, error) ||
            logs_run(store, schema_join_witnesses_change, one, error) ||
            save_conflicts(store, pair, other, runs->items[run_pair->one].dialect,
                           runs->items[run_pair->other].dialect, error))
            return -1;
    }
    for (size_t i = 0; i < run_pair->member_list.count; i++)
        if (run_on_pair(store, schema_join_witnesses_add_member, run_pair->member_list.items[i].other_id,
                        run_pair->member_list.items[i].one_id, error))
            return -1;
    return 0;
}

/* Any process of a run, which stands for the run in the store. */
static int64_t process_of(const struct work *work, int32_t run)
{
    for (size_t i = 0; i < work->process_count; i++)
        if (work->processes[i].run == run)
            return work->processes[i].id;
    return -1;
}

/* Records that two runs may be the same job. */
static int recorder_doubt(struct recorder_match *matching, const struct run_pair *pair, struct error *error)
{
    struct statement *statement = store_prepare(matching->logs->store, schema_join_witnesses_doubt, error);
    int failed = !statement ||
                 statement_bind_integer(statement, 1, process_of(matching->work, pair->one), error) ||
                 statement_bind_integer(statement, 2, process_of(matching->work, pair->other), error) ||
                 statement_bind_text(statement, 3, pair->why, error) || statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}

struct assembly {
    struct recorder_match recorder_match;
    struct logs logs;
    struct recorder_runs runs;
    struct run_pair *run_pairs; /* owned */
    size_t count;
    size_t capacity;
};

int recorders_rematch(struct store *store, struct error *error)
{
    return store_execute(store, schema_join_witnesses_hear_anew, error);
}

int recorders_save(struct store *store, struct error *error)
{
    return store_execute(store, schema_join_witnesses_runs, error);
}

static int meet(struct assembly *assembly, int32_t one, int32_t other, struct error *error)
{
    int counts = recorder_counts(&assembly->runs, one, other);
    if (array_reserve((void **)&assembly->run_pairs, &assembly->capacity, assembly->count + 1,
                      sizeof *assembly->run_pairs))
        return error_no_memory(error);
    struct run_pair *pair = &assembly->run_pairs[assembly->count];
    *pair = (struct run_pair){.one = counts ? one : other, .other = counts ? other : one};
    int failed = run_pair_compare(pair, &assembly->recorder_match, &assembly->runs, error);
    run_pair_prefer_true_times(pair, &assembly->runs);
    if (pair->verdict == RUN_PAIR_DIFFERENT)
        run_pair_release(pair);
    else
        assembly->count++;
    return failed;
}

/*
 * Two recorders of one kind never recorded the same process. Pairs without a changed run were compared
 * before.
 */
static int compare_all_runs(struct assembly *assembly, struct error *error)
{
    const struct recorder_run *runs = assembly->runs.items;
    for (size_t i = 0; i < assembly->recorder_match.work->run_count; i++)
        for (size_t k = i + 1; k < assembly->recorder_match.work->run_count; k++)
            if (runs[i].kind && runs[k].kind && runs[i].kind != runs[k].kind &&
                (runs[i].is_changed || runs[k].is_changed) && meet(assembly, (int32_t)i, (int32_t)k, error))
                return -1;
    return 0;
}

/* Whether a run replaces another one of the same job. */
static int replaces(const struct assembly *assembly, int32_t run, int32_t other)
{
    for (size_t i = 0; i < assembly->count; i++)
        if (assembly->run_pairs[i].verdict == RUN_PAIR_SAME && assembly->run_pairs[i].one == run &&
            assembly->run_pairs[i].other == other)
            return 1;
    return 0;
}

/* Whether a run is to replace a third one, rather than another run. */
static int is_preferred(const struct assembly *assembly, int32_t run, int32_t other)
{
    return replaces(assembly, run, other) ||
           (!replaces(assembly, other, run) && recorder_counts(&assembly->runs, run, other));
}

/* For each run, the pair with the run that replaces it; -1: none. */
static void choose_parents(const struct assembly *assembly, int32_t *parents)
{
    for (size_t i = 0; i < assembly->recorder_match.work->run_count; i++)
        parents[i] = -1;
    for (size_t i = 0; i < assembly->count; i++) {
        const struct run_pair *pair = &assembly->run_pairs[i];
        int32_t *parent = &parents[pair->other];
        if (pair->verdict == RUN_PAIR_SAME &&
            (*parent < 0 || is_preferred(assembly, pair->one, assembly->run_pairs[*parent].one)))
            *parent = (int32_t)i;
    }
}

/* The run that is kept in the end; -1: the runs replace each other in a circle. */
static int32_t root_of(const struct assembly *assembly, const int32_t *parents, int32_t run)
{
    for (size_t i = 0; i <= assembly->recorder_match.work->run_count; i++) {
        if (parents[run] < 0)
            return run;
        run = assembly->run_pairs[parents[run]].one;
    }
    return -1;
}

/* A run that may belong to several jobs stays separate. */
static void drop_ambiguous(struct assembly *assembly, const int32_t *parents)
{
    for (size_t i = 0; i < assembly->count; i++) {
        const struct run_pair *pair = &assembly->run_pairs[i];
        if (pair->verdict != RUN_PAIR_SAME)
            continue;
        struct run_pair *by = &assembly->run_pairs[parents[pair->other]];
        int32_t root = root_of(assembly, parents, by->one);
        if (root >= 0 && root == root_of(assembly, parents, pair->one))
            continue;
        by->verdict = RUN_PAIR_DOUBTFUL;
        by->why = "other runs match as well";
    }
}

/* First merges runs into those that are kept, then the runs that these replaced. */
static int merge_all(struct assembly *assembly, int32_t *parents, struct error *error)
{
    int merged = 0, more = 1;
    while (more) {
        more = 0;
        for (size_t i = 0; i < assembly->recorder_match.work->run_count; i++) {
            struct run_pair *pair = parents[i] < 0 ? NULL : &assembly->run_pairs[parents[i]];
            if (!pair || pair->verdict != RUN_PAIR_SAME || parents[pair->one] >= 0)
                continue;
            if (recorder_merge(&assembly->recorder_match, &assembly->runs, pair, error))
                return -1;
            assembly->runs.items[i].is_merged = 1;
            parents[i] = -1;
            merged = more = 1;
        }
    }
    return merged;
}

static int conclude(struct assembly *assembly, struct error *error)
{
    int32_t *parents = array_new(assembly->recorder_match.work->run_count, sizeof *parents);
    if (!parents)
        return error_no_memory(error);
    choose_parents(assembly, parents);
    drop_ambiguous(assembly, parents);
    int united = merge_all(assembly, parents, error);
    free(parents);
    for (size_t i = 0; united >= 0 && i < assembly->count; i++)
        if (assembly->run_pairs[i].verdict == RUN_PAIR_DOUBTFUL &&
            recorder_doubt(&assembly->recorder_match, &assembly->run_pairs[i], error))
            united = -1;
    return united;
}

/* Whether there are several kinds of recorders. */
static int are_several(const struct assembly *assembly)
{
    const struct recorder_run *runs = assembly->runs.items;
    for (size_t i = 1; i < assembly->recorder_match.work->run_count; i++)
        if (runs[i].kind != runs[0].kind)
            return 1;
    return 0;
}

int recorders_unite(struct work *work, struct store *store, struct error *error)
{
    struct assembly assembly = {.recorder_match = {.work = work, .logs = &assembly.logs}};
    if (work->run_count < 2)
        return 0;
    map_init(&assembly.recorder_match.alike);
    int outcome = logs_init(&assembly.logs, store, NULL, error) ||
                          recorder_runs_load(&assembly.runs, work, store, error)
                      ? -1
                      : 0;
    if (!outcome && are_several(&assembly))
        outcome = compare_all_runs(&assembly, error) ? -1 : conclude(&assembly, error);
    for (size_t i = 0; i < assembly.count; i++)
        run_pair_release(&assembly.run_pairs[i]);
    free(assembly.run_pairs);
    recorder_runs_release(&assembly.runs);
    logs_release(&assembly.logs);
    map_release(&assembly.recorder_match.alike);
    return outcome;
}
