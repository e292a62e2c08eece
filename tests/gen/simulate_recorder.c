/*
 * Dumps of PyTorch's Flight Recorder, version 2.10: a pickle as torch's C++ pickler writes it, or JSON. A job
 * that stops is dumped at the watchdog's timeout, others at their end; a killed rank leaves none.
 */
#include "simulate_torch.h"
#include "simulate_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RING_ENTRIES 2000
#define POLL_NS INT64_C(100000000) /* polling interval of the watchdog */
#define TIMEOUT_MS 600000

struct dialect {
    const char *name;
    bool timing, json;
};

static const struct dialect dialects[] = {
    {"flight-recorder", false, false},
    {"flight-recorder-timing", true, false},
    {"flight-recorder-json", false, true},
};

/* An entry of the ring buffer. */
struct entry {
    struct torch_group group; /* the operation; for a batch, one of its operations */
    bool is_pair, is_of_batch, is_closing;
    int64_t created, started, ended; /* UNKNOWN: not noticed */
    int collective_number, pair_number, operation_number;
    int process_group;
};

/* The counters of a process group of this process. */
struct counts {
    int id; /* in order of first use; -1: not used */
    int collectives, pairs, operations;
    int enqueued, started, completed; /* number of the last work, of any kind */
};

struct recorder {
    const struct job *job;
    const struct process *process;
    const struct dialect *dialect;
    struct values *values;
    struct counts *counts; /* by communicator */
    struct entry *entries;
    int entry_count, entry_capacity, used_groups;
};

static const struct dialect *find_dialect(const char *name)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(dialects[i].name, name) == 0)
            return &dialects[i];
    return NULL;
}

bool recorder_dialect(const char *dialect)
{
    return find_dialect(dialect) != NULL;
}

static struct entry *add(struct recorder *recorder, const struct torch_group *group, struct counts *counts)
{
    recorder->entries = grow(recorder->entries, &recorder->entry_capacity, recorder->entry_count + 1,
                             sizeof(*recorder->entries));
    struct entry *entry = &recorder->entries[recorder->entry_count++];
    *entry =
        (struct entry){.group = *group,
                       .is_pair = group->records[0]->function >= FUNCTION_SEND && !torch_is_all_to_all(group),
                       .created = group->records[0]->group_begin,
                       .started = UNKNOWN,
                       .ended = UNKNOWN,
                       .collective_number = counts->collectives,
                       .pair_number = counts->pairs,
                       .operation_number = ++counts->operations,
                       .process_group = counts->id};
    return entry;
}

/*
 * Of several entries, those of a batch: they have no events of their own but those of the entry that closes
 * it.
 */
static struct entry *add_batch(struct recorder *recorder, const struct torch_group *group,
                               struct counts *counts)
{
    int64_t begin = group->records[0]->group_begin;
    int64_t each = (group->records[0]->launch_end - begin) / group->count;
    for (int i = 0; i < group->count; i++) {
        struct torch_group one = {group->records + i, 1, group->communicator};
        struct entry *entry = add(recorder, &one, counts);
        entry->is_of_batch = true;
        entry->created = begin + i * each;
    }
    struct entry *closing = add(recorder, group, counts);
    closing->is_closing = true;
    closing->created = group->records[0]->launch_end;
    return closing;
}

static void count_work(struct counts *counts, const struct entry *entry)
{
    int number = entry->is_pair ? entry->pair_number : entry->collective_number;
    counts->enqueued = number;
    if (entry->started != UNKNOWN)
        counts->started = number;
    if (entry->ended != UNKNOWN)
        counts->completed = number;
}

static void add_group(struct recorder *recorder, const struct torch_group *group)
{
    struct counts *counts = &recorder->counts[group->records[0]->communicator];
    if (counts->id < 0)
        counts->id = recorder->used_groups++;
    if (group->records[0]->function >= FUNCTION_SEND && !torch_is_all_to_all(group))
        counts->pairs++;
    else
        counts->collectives++;
    struct entry *entry =
        torch_is_batch(group) ? add_batch(recorder, group, counts) : add(recorder, group, counts);
    entry->started = recorder->dialect->timing ? torch_start(group) : UNKNOWN;
    entry->ended = torch_end(group);
    count_work(counts, entry);
}

static void collect(struct recorder *recorder)
{
    const struct job *job = recorder->job;
    recorder->counts = allocate((size_t)job->communicator_count, sizeof(*recorder->counts));
    for (int i = 0; i < job->communicator_count; i++)
        recorder->counts[i] = (struct counts){.id = -1, .enqueued = -1, .started = -1, .completed = -1};
    for (int i = 0; i < recorder->process->record_count;) {
        struct torch_group group = torch_group_at(job, recorder->process, i);
        add_group(recorder, &group);
        i += group.count;
    }
}

static int64_t wall(const struct recorder *recorder, int64_t time)
{
    return torch_wall_ns(recorder->job, recorder->process, time);
}

/* The next time at which the watchdog polled. */
static void put_noticed(struct recorder *recorder, int64_t time)
{
    int64_t phase = recorder->process->pid % 1000 * 100000;
    if (time == UNKNOWN)
        values_unknown_time(recorder->values);
    else
        values_integer(recorder->values, ((wall(recorder, time) - phase) / POLL_NS + 1) * POLL_NS + phase);
}

static void put_sizes(struct recorder *recorder, const struct entry *entry, int64_t elements)
{
    values_begin_list(recorder->values);
    if (!entry->is_closing) {
        values_begin_list(recorder->values);
        values_integer(recorder->values, elements);
        values_end_list(recorder->values);
    }
    values_end_list(recorder->values);
}

static void put_datatypes(struct recorder *recorder, const struct entry *entry)
{
    values_begin_list(recorder->values);
    if (!entry->is_closing)
        values_text(recorder->values, torch_datatype(entry->group.records[0]));
    values_end_list(recorder->values);
}

static void put_name(struct recorder *recorder, const struct entry *entry)
{
    const struct record *record = entry->group.records[0];
    const char *operation = torch_function_of(&entry->group).operation;
    char name[64];
    if (entry->is_closing)
        snprintf(name, sizeof(name), "nccl:coalesced");
    else if (!entry->is_pair)
        snprintf(name, sizeof(name), "nccl:%s", operation);
    else
        snprintf(name, sizeof(name), "nccl:%s %d%s%d", operation, record->rank_in_communicator,
                 record->function == FUNCTION_SEND ? "->" : "<-", record->peer);
    values_text(recorder->values, name);
}

static void put_process_group(struct recorder *recorder, const struct entry *entry)
{
    char name[TORCH_TEXT], description[TORCH_TEXT];
    int communicator = entry->group.records[0]->communicator;
    torch_group_name(recorder->job, communicator, name);
    torch_group_description(recorder->job, communicator, description);
    values_pair(recorder->values, name, description);
}

static void put_frame(struct recorder *recorder, const char *name, const char *file, int line)
{
    if (values_repeat(recorder->values, name, line))
        return;
    values_begin_map(recorder->values);
    values_key(recorder->values, "name");
    values_text(recorder->values, name);
    values_key(recorder->values, "filename");
    values_text(recorder->values, file);
    values_key(recorder->values, "line");
    values_integer(recorder->values, line);
    values_end_shared_map(recorder->values, name, line);
}

/* Autograd's threads have no Python frames. */
static void put_frames(struct recorder *recorder, const struct entry *entry)
{
    const struct record *record = entry->group.records[0];
    values_begin_list(recorder->values);
    if (!torch_is_autograd(recorder->job, record->phase)) {
        put_frame(recorder, torch_function_of(&entry->group).collective,
                  "/opt/torch/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py",
                  3000 + 100 * (int)record->function);
        put_frame(recorder, "wrapper",
                  "/opt/torch/lib/python3.12/site-packages/torch/distributed/c10d_logger.py", 83);
        put_frame(recorder, recorder->job->phases[record->phase], "/train/train.py",
                  40 + 10 * record->phase + (int)record->function);
        put_frame(recorder, "<module>", "/train/train.py", 210);
    }
    values_end_list(recorder->values);
}

enum field {
    COLLECTIVE_NUMBER,
    DURATION,
    FRAMES,
    INPUT_TYPES,
    INPUT_SIZES,
    IS_PAIR,
    OPERATION_NUMBER,
    OUTPUT_TYPES,
    OUTPUT_SIZES,
    PAIR_NUMBER,
    GROUP_ID,
    GROUP,
    NAME,
    RECORD,
    RETIRED,
    STATE,
    THREAD,
    THREAD_NAME,
    CREATED,
    NOTICED_END,
    NOTICED_START,
    TIMEOUT,
    FIELDS,
};

static const char *const keys[] = {
    [COLLECTIVE_NUMBER] = "collective_seq_id",
    [DURATION] = "duration_ms",
    [FRAMES] = "frames",
    [INPUT_TYPES] = "input_dtypes",
    [INPUT_SIZES] = "input_sizes",
    [IS_PAIR] = "is_p2p",
    [OPERATION_NUMBER] = "op_id",
    [OUTPUT_TYPES] = "output_dtypes",
    [OUTPUT_SIZES] = "output_sizes",
    [PAIR_NUMBER] = "p2p_seq_id",
    [GROUP_ID] = "pg_id",
    [GROUP] = "process_group",
    [NAME] = "profiling_name",
    [RECORD] = "record_id",
    [RETIRED] = "retired",
    [STATE] = "state",
    [THREAD] = "thread_id",
    [THREAD_NAME] = "thread_name",
    [CREATED] = "time_created_ns",
    [NOTICED_END] = "time_discovered_completed_ns",
    [NOTICED_START] = "time_discovered_started_ns",
    [TIMEOUT] = "timeout_ms",
};

/* JSON has them in alphabetical order, as above. */
static const enum field pickle_order[FIELDS] = {
    FRAMES,       RECORD,           GROUP_ID, GROUP,         THREAD_NAME, THREAD,      COLLECTIVE_NUMBER,
    PAIR_NUMBER,  OPERATION_NUMBER, NAME,     CREATED,       DURATION,    INPUT_SIZES, INPUT_TYPES,
    OUTPUT_SIZES, OUTPUT_TYPES,     STATE,    NOTICED_START, NOTICED_END, RETIRED,     TIMEOUT,
    IS_PAIR,
};

static bool has(const struct recorder *recorder, enum field field, const struct entry *entry)
{
    if (field == DURATION)
        return entry->started != UNKNOWN && entry->ended != UNKNOWN;
    return field != FRAMES || !recorder->dialect->json;
}

static const char *state_of(const struct entry *entry)
{
    return entry->ended != UNKNOWN ? "completed" : entry->started != UNKNOWN ? "started" : "scheduled";
}

static void put_thread(struct recorder *recorder, const struct entry *entry, bool name)
{
    bool is_autograd = torch_is_autograd(recorder->job, entry->group.records[0]->phase);
    char text[64];
    snprintf(text, sizeof(text), "%" PRId64,
             INT64_C(139721557979456) + INT64_C(4096) * recorder->process->pid + (is_autograd ? 8 : 0));
    values_text(recorder->values, !name ? text : is_autograd ? "pt_autograd_0" : "python3");
}

static int64_t number_of(enum field field, const struct entry *entry, int place)
{
    switch (field) {
    case COLLECTIVE_NUMBER:
        return entry->collective_number;
    case OPERATION_NUMBER:
        return entry->operation_number;
    case PAIR_NUMBER:
        return entry->pair_number;
    case GROUP_ID:
        return entry->process_group;
    case RECORD:
        return place;
    default:
        return TIMEOUT_MS;
    }
}

/* A time or a duration. */
static void put_time(struct recorder *recorder, enum field field, const struct entry *entry)
{
    if (field == DURATION)
        values_real(recorder->values, (double)(entry->ended - entry->started) / 1e6);
    else if (field == CREATED)
        values_integer(recorder->values, wall(recorder, entry->created));
    else
        put_noticed(recorder, field == NOTICED_END ? entry->ended : entry->started);
}

static void put_field(struct recorder *recorder, enum field field, const struct entry *entry, int place)
{
    switch (field) {
    case FRAMES:
        put_frames(recorder, entry);
        break;
    case INPUT_TYPES:
    case OUTPUT_TYPES:
        put_datatypes(recorder, entry);
        break;
    case INPUT_SIZES:
        put_sizes(recorder, entry, torch_elements_in(&entry->group));
        break;
    case OUTPUT_SIZES:
        put_sizes(recorder, entry, torch_elements_out(&entry->group));
        break;
    case IS_PAIR:
        values_boolean(recorder->values, entry->is_pair);
        break;
    case GROUP:
        put_process_group(recorder, entry);
        break;
    case NAME:
        put_name(recorder, entry);
        break;
    case RETIRED:
        values_boolean(recorder->values, entry->ended != UNKNOWN);
        break;
    case STATE:
        values_text(recorder->values, state_of(entry));
        break;
    case THREAD:
    case THREAD_NAME:
        put_thread(recorder, entry, field == THREAD_NAME);
        break;
    case CREATED:
    case DURATION:
    case NOTICED_END:
    case NOTICED_START:
        put_time(recorder, field, entry);
        break;
    default:
        values_integer(recorder->values, number_of(field, entry, place));
    }
}

/* The present content of the ring buffer, oldest entry first. */
static void put_entries(struct recorder *recorder)
{
    int ring = recorder->job->options.keep_last > 0 ? recorder->job->options.keep_last : RING_ENTRIES;
    values_key(recorder->values, "entries");
    values_begin_list(recorder->values);
    for (int i = recorder->entry_count > ring ? recorder->entry_count - ring : 0; i < recorder->entry_count;
         i++) {
        const struct entry *entry = &recorder->entries[i];
        values_begin_map(recorder->values);
        for (int k = 0; k < FIELDS; k++) {
            enum field field = recorder->dialect->json ? (enum field)k : pickle_order[k];
            if (!has(recorder, field, entry))
                continue;
            values_key(recorder->values, keys[field]);
            put_field(recorder, field, entry, i);
        }
        values_end_map(recorder->values);
    }
    values_end_list(recorder->values);
}

static void put_configuration(struct recorder *recorder)
{
    const struct job *job = recorder->job;
    values_key(recorder->values, "pg_config");
    values_begin_map(recorder->values);
    for (int i = 0; i < job->communicator_count; i++) {
        char name[TORCH_TEXT], description[TORCH_TEXT];
        if (recorder->counts[i].id < 0)
            continue;
        torch_group_name(job, i, name);
        torch_group_description(job, i, description);
        values_key(recorder->values, name);
        values_begin_map(recorder->values);
        if (recorder->dialect->json)
            values_key(recorder->values, "desc"), values_text(recorder->values, description);
        values_key(recorder->values, "name");
        values_text(recorder->values, name);
        if (!recorder->dialect->json)
            values_key(recorder->values, "desc"), values_text(recorder->values, description);
        values_key(recorder->values, "ranks");
        values_ranks(recorder->values, job->communicators[i].ranks, job->communicators[i].size);
        values_end_map(recorder->values);
    }
    values_end_map(recorder->values);
}

/* JSON has the numbers as text. */
static void put_number(struct recorder *recorder, const char *key, int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    values_key(recorder->values, key);
    if (recorder->dialect->json)
        values_text(recorder->values, text);
    else
        values_integer(recorder->values, number);
}

static void put_status_of(struct recorder *recorder, const struct counts *counts)
{
    char key[16];
    snprintf(key, sizeof(key), "%d", counts->id);
    values_key(recorder->values, key);
    values_begin_map(recorder->values);
    if (recorder->dialect->json)
        put_number(recorder, "last_completed_collective", counts->completed);
    put_number(recorder, "last_enqueued_collective", counts->enqueued);
    put_number(recorder, "last_started_collective", counts->started);
    if (!recorder->dialect->json)
        put_number(recorder, "last_completed_collective", counts->completed);
    values_end_map(recorder->values);
}

static void put_status(struct recorder *recorder)
{
    values_key(recorder->values, "pg_status");
    values_begin_map(recorder->values);
    for (int id = 0; id < recorder->used_groups; id++)
        for (int i = 0; i < recorder->job->communicator_count; i++)
            if (recorder->counts[i].id == id)
                put_status_of(recorder, &recorder->counts[i]);
    values_end_map(recorder->values);
}

static void put_text(struct recorder *recorder, const char *key, const char *text)
{
    values_key(recorder->values, key);
    values_text(recorder->values, text);
}

static void put_dump(struct recorder *recorder)
{
    bool json = recorder->dialect->json;
    values_begin_map(recorder->values);
    put_text(recorder, json ? "comm_lib_version" : "version", json ? "2.28.9" : "2.10");
    if (json)
        put_entries(recorder);
    put_configuration(recorder);
    if (!json)
        put_text(recorder, "comm_lib_version", "2.28.9");
    put_status(recorder);
    if (json)
        put_text(recorder, "version", "2.10");
    else
        put_entries(recorder);
    values_end_map(recorder->values);
}

static void write_dump(const struct job *job, const struct dialect *dialect, int rank)
{
    struct recorder recorder = {.job = job, .dialect = dialect, .process = &job->processes[rank]};
    char name[64];
    snprintf(name, sizeof(name), dialect->json ? "fr_rank%d.json" : "nccl_trace_rank_%d", rank);
    struct output *output = output_of(job, &job->processes[rank], name, false);
    recorder.values = values_new(output, dialect->json);
    collect(&recorder);
    put_dump(&recorder);
    values_end(recorder.values);
    output_close(output);
    free(recorder.counts);
    free(recorder.entries);
}

void recorder_write(struct job *job)
{
    const struct dialect *dialect = find_dialect(job->options.dialect);
    for (int rank = 0; rank < job->options.ranks; rank++)
        if (!job->processes[rank].lost && !process_killed(job, rank))
            write_dump(job, dialect, rank);
}
