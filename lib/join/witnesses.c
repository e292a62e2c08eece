#include "join/witnesses.h"

#include "base/array.h"
#include "join/witness_merge.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

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
                (runs[i].is_changed || runs[k].is_changed) &&
                meet(assembly, (int32_t)i, (int32_t)k, error))
                return -1;
    return 0;
}

static int are_same(const struct assembly *assembly, int32_t one, int32_t other)
{
    for (size_t i = 0; i < assembly->count; i++)
        if (assembly->encounters[i].verdict == ENCOUNTER_SAME &&
            ((assembly->encounters[i].one == one && assembly->encounters[i].other == other) ||
             (assembly->encounters[i].one == other && assembly->encounters[i].other == one)))
            return 1;
    return 0;
}

/* Of several that count beside a run, the one that counts beside those; and all are one job. */
static int is_best(const struct assembly *assembly, const struct encounter *encounter)
{
    for (size_t i = 0; i < assembly->count; i++) {
        const struct encounter *than = &assembly->encounters[i];
        if (than->verdict != ENCOUNTER_SAME)
            continue;
        if (than->other == encounter->one)
            return 0;
        if (than->other == encounter->other && than->one != encounter->one &&
            (!are_same(assembly, than->one, encounter->one) ||
             !witness_counts(&assembly->runs, encounter->one, than->one)))
            return 0;
    }
    return 1;
}

/* The folder of a run's first files: of a process that no host or id tells, its file set is the file. */
static size_t folder_of(const struct work *work, int32_t run, const char **folder)
{
    size_t i = 0;
    while (work->processes[i].run != run)
        i++;
    const struct work_process *process = &work->processes[i];
    const char *slash = process->pid < 0 && !*process->host ? strrchr(process->file_set, '/') : NULL;
    *folder = process->file_set;
    return slash ? (size_t)(slash - process->file_set) : strlen(process->file_set);
}

/* Files of one folder, or of one within it, are looked at together. */
static int are_in_one_folder(const struct work *work, int32_t one, int32_t other)
{
    const char *here, *there;
    size_t length = folder_of(work, one, &here), other_length = folder_of(work, other, &there);
    size_t least = length < other_length ? length : other_length;
    const char *longer = length < other_length ? there : here;
    return strncmp(here, there, least) == 0 && (length == other_length || longer[least] == '/');
}

static int conclude(struct assembly *assembly, struct error *error)
{
    const struct work *work = assembly->hearing.work;
    int united = 0;
    for (size_t i = 0; i < assembly->count; i++) {
        struct encounter *encounter = &assembly->encounters[i];
        if (encounter->verdict == ENCOUNTER_SAME && is_best(assembly, encounter)) {
            if (witness_merge(&assembly->hearing, &assembly->runs, encounter, error))
                return -1;
            united = 1;
        } else if (encounter->verdict == ENCOUNTER_DOUBTFUL &&
                   are_in_one_folder(work, encounter->one, encounter->other) &&
                   witness_doubt(&assembly->hearing, encounter, error)) {
            return -1;
        }
    }
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
    int outcome = logs_init(&assembly.logs, store, error) ||
                          witness_runs_load(&assembly.runs, work, store, error)
                      ? -1
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
