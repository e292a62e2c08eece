#include "join/witnesses.h"

#include "base/array.h"
#include "join/witness_merge.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>

struct assembly {
    struct hearing hearing;
    struct logs logs;
    struct witness_runs runs;
    struct encounter *encounters; /* owned */
    size_t count;
    size_t capacity;
};

int witnesses_hear_anew(struct store *store, struct error *error)
{
    return store_execute(store, schema_join_witnesses_hear_anew, error);
}

int witnesses_save(struct store *store, struct error *error)
{
    return store_execute(store, schema_join_witnesses_runs, error);
}

static int meet(struct assembly *assembly, int32_t one, int32_t other, struct error *error)
{
    int counts = witness_counts(&assembly->runs, one, other);
    if (array_reserve((void **)&assembly->encounters, &assembly->capacity, assembly->count + 1,
                      sizeof *assembly->encounters))
        return error_no_memory(error);
    struct encounter *encounter = &assembly->encounters[assembly->count];
    *encounter = (struct encounter){.one = counts ? one : other, .other = counts ? other : one};
    int failed = encounter_judge(encounter, &assembly->hearing, &assembly->runs, error);
    if (encounter->verdict == ENCOUNTER_DIFFERENT)
        encounter_release(encounter);
    else
        assembly->count++;
    return failed;
}

/* Two recorders of one kind are never of one process. What neither is new was judged before. */
static int meet_all(struct assembly *assembly, struct error *error)
{
    const struct witness_run *runs = assembly->runs.items;
    for (size_t i = 0; i < assembly->hearing.work->run_count; i++)
        for (size_t k = i + 1; k < assembly->hearing.work->run_count; k++)
            if (runs[i].kind && runs[k].kind && runs[i].kind != runs[k].kind &&
                (runs[i].is_changed || runs[k].is_changed) && meet(assembly, (int32_t)i, (int32_t)k, error))
                return -1;
    return 0;
}

/* The encounter by which each run stands behind another; -1: behind none. */
static void choose_parents(const struct assembly *assembly, int32_t *parents)
{
    for (size_t i = 0; i < assembly->hearing.work->run_count; i++)
        parents[i] = -1;
    for (size_t i = 0; i < assembly->count; i++) {
        const struct encounter *encounter = &assembly->encounters[i];
        int32_t *parent = &parents[encounter->other];
        if (encounter->verdict == ENCOUNTER_SAME &&
            (*parent < 0 ||
             witness_counts(&assembly->runs, encounter->one, assembly->encounters[*parent].one)))
            *parent = (int32_t)i;
    }
}

/* The run that counts in the end; -1 where they stand behind each other in a circle. */
static int32_t root_of(const struct assembly *assembly, const int32_t *parents, int32_t run)
{
    for (size_t i = 0; i <= assembly->hearing.work->run_count; i++) {
        if (parents[run] < 0)
            return run;
        run = assembly->encounters[parents[run]].one;
    }
    return -1;
}

/* A run that may be of several jobs stays apart. */
static void drop_ambiguous(struct assembly *assembly, const int32_t *parents)
{
    for (size_t i = 0; i < assembly->count; i++) {
        const struct encounter *encounter = &assembly->encounters[i];
        if (encounter->verdict != ENCOUNTER_SAME)
            continue;
        struct encounter *by = &assembly->encounters[parents[encounter->other]];
        int32_t root = root_of(assembly, parents, by->one);
        if (root >= 0 && root == root_of(assembly, parents, encounter->one))
            continue;
        by->verdict = ENCOUNTER_DOUBTFUL;
        by->why = "other runs match as well";
    }
}

/* Those that stand behind runs that count first, then those behind them. */
static int merge_all(struct assembly *assembly, int32_t *parents, struct error *error)
{
    int merged = 0, more = 1;
    while (more) {
        more = 0;
        for (size_t i = 0; i < assembly->hearing.work->run_count; i++) {
            struct encounter *encounter = parents[i] < 0 ? NULL : &assembly->encounters[parents[i]];
            if (!encounter || encounter->verdict != ENCOUNTER_SAME || parents[encounter->one] >= 0)
                continue;
            if (witness_merge(&assembly->hearing, &assembly->runs, encounter, error))
                return -1;
            parents[i] = -1;
            merged = more = 1;
        }
    }
    return merged;
}

static int conclude(struct assembly *assembly, struct error *error)
{
    int32_t *parents = array_new(assembly->hearing.work->run_count, sizeof *parents);
    if (!parents)
        return error_no_memory(error);
    choose_parents(assembly, parents);
    drop_ambiguous(assembly, parents);
    int united = merge_all(assembly, parents, error);
    free(parents);
    for (size_t i = 0; united >= 0 && i < assembly->count; i++)
        if (assembly->encounters[i].verdict == ENCOUNTER_DOUBTFUL &&
            witness_doubt(&assembly->hearing, &assembly->encounters[i], error))
            united = -1;
    return united;
}

/* Whether there are recorders of several kinds. */
static int are_several(const struct assembly *assembly)
{
    const struct witness_run *runs = assembly->runs.items;
    for (size_t i = 1; i < assembly->hearing.work->run_count; i++)
        if (runs[i].kind != runs[0].kind)
            return 1;
    return 0;
}

int witnesses_unite(struct work *work, struct store *store, struct error *error)
{
    struct assembly assembly = {.hearing = {.work = work, .logs = &assembly.logs}};
    if (work->run_count < 2)
        return 0;
    map_init(&assembly.hearing.alike);
    int outcome =
        logs_init(&assembly.logs, store, error) || witness_runs_load(&assembly.runs, work, store, error) ? -1
                                                                                                         : 0;
    if (!outcome && are_several(&assembly))
        outcome = meet_all(&assembly, error) ? -1 : conclude(&assembly, error);
    for (size_t i = 0; i < assembly.count; i++)
        encounter_release(&assembly.encounters[i]);
    free(assembly.encounters);
    witness_runs_release(&assembly.runs);
    logs_release(&assembly.logs);
    map_release(&assembly.hearing.alike);
    return outcome;
}
