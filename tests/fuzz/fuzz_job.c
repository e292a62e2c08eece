/*
 * A job made from the input: some ranks execute the same steps, all wait for the slowest, and then arbitrary
 * values are changed. There is no text, so that a few bytes reach far into the join and the analyses. For
 * every job all of them must succeed and print nothing harmful.
 */
#include "base/base.h"
#include "join/join.h"
#include "model/model.h"
#include "require.h"
#include "store/store.h"
#include "store_at_hand.h"
#include "supply.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 8, MOST_STEPS = 16, MOST_PLACES = 6, MOST_CHANGES = 64, WAITS = 3 };

#define US INT64_C(1000)
#define BEGIN_NS (10 * US * US)

/* One operation of every step. */
struct place {
    uint8_t kind;
    uint8_t function;
    uint8_t group; /* 0: all ranks; 1: pairs; 2: every second rank */
    uint8_t tag;
    int64_t bytes;
    int64_t lasts_us;
    int64_t gap_us;  /* time since the previous operation */
    int64_t lead_us; /* time from enqueueing to start */
};

enum change_kind {
    CHANGE_DELAY,
    CHANGE_LEAD,
    CHANGE_DURATION,
    CHANGE_LOST,
    CHANGE_UNFINISHED,
    CHANGE_FUNCTION,
    CHANGE_SEQUENCE,
    CHANGE_BYTES,
    CHANGE_PEER,
    CHANGE_RANK,
    CHANGE_BEGIN,
    CHANGE_END,
    CHANGE_ISSUED,
    CHANGE_GPU,
    CHANGE_TAG,
    CHANGE_WAIT,
    CHANGE_STEPS,
    CHANGE_STREAM,
    CHANGE_DIES,
    CHANGE_SYNC,
    CHANGE_KINDS
};

/* `value` is set or added at one place of one step of one rank; an index out of range means all of them. */
struct change {
    uint8_t kind, rank, step, place;
    int64_t value;
};

struct job {
    int ranks, steps, places, changes, dialect;
    uint8_t lacks; /* bits: times, tags, traffic, anchors, GPU clocks, enqueueing, communicator hash, pid */
    struct place place[MOST_PLACES];
    struct change change[MOST_CHANGES];
    int64_t clock_ns[MOST_RANKS]; /* end of the last operation of each rank */
    struct interval_ns ran[MOST_RANKS][MOST_STEPS][MOST_PLACES];
};

enum {
    LACKS_TIMES = 1,
    LACKS_TAGS = 2,
    LACKS_TRAFFIC = 4,
    LACKS_ANCHORS = 8,
    LACKS_GPU = 16,
    LACKS_ENQUEUE = 32,
    LACKS_HASH = 64,
    LACKS_PID = 128
};

static const char *const dialects[] = {"chrome-ncclprof", "chrome-v7",      "chrome-v4",
                                       "chrome-v2",       "inspector-2.28", "inspector-2.30"};

static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void draw(struct job *job, struct supply *supply)
{
    job->ranks = 1 + next(supply) % MOST_RANKS;
    job->steps = 1 + next(supply) % MOST_STEPS;
    job->places = 1 + next(supply) % MOST_PLACES;
    job->changes = next(supply) % MOST_CHANGES;
    job->dialect = next(supply) % (int)(sizeof dialects / sizeof *dialects);
    job->lacks = next(supply);
    for (int i = 0; i < job->places; i++) {
        struct place *place = &job->place[i];
        *place = (struct place){.kind = next(supply) % 3, .function = next(supply) % FUNCTION_COUNT};
        place->group = next(supply) % 3;
        place->tag = next(supply);
        place->bytes = (int64_t)1 << next(supply) % 40;
        place->lasts_us = next_value(supply);
        place->gap_us = next_value(supply);
        place->lead_us = next_value(supply);
    }
    for (int i = 0; i < job->changes; i++) {
        struct change *change = &job->change[i];
        *change = (struct change){next(supply) % CHANGE_KINDS, next(supply), next(supply), next(supply), 0};
        change->value = next_value(supply);
    }
}

/* Whether a value is changed there, and how. */
static int is_changed(const struct job *job, enum change_kind kind, int rank, int step, int place,
                      int64_t *value)
{
    for (int i = 0; i < job->changes; i++) {
        const struct change *change = &job->change[i];
        if (change->kind == kind && (change->rank >= MOST_RANKS || change->rank == rank) &&
            (change->step >= MOST_STEPS || change->step == step) &&
            (change->place >= MOST_PLACES || change->place == place)) {
            *value = change->value;
            return 1;
        }
    }
    return 0;
}

static int64_t changed(const struct job *job, enum change_kind kind, int rank, int step, int place,
                       int64_t otherwise)
{
    is_changed(job, kind, rank, step, place, &otherwise);
    return otherwise;
}

static int group_of(const struct place *place, int rank)
{
    return place->group == 0 ? 0 : place->group == 1 ? rank / 2 : rank % 2;
}

/* All ranks arrive at an operation, and no rank finishes before the last one of its group has arrived. */
static void play(struct job *job, int step, int at)
{
    const struct place *place = &job->place[at];
    for (int rank = 0; rank < job->ranks; rank++)
        job->ran[rank][step][at].begin_ns = sum(sum(job->clock_ns[rank], place->gap_us * US),
                                                changed(job, CHANGE_DELAY, rank, step, at, 0) * US);
    for (int rank = 0; rank < job->ranks; rank++) {
        int64_t last_ns = job->ran[rank][step][at].begin_ns;
        for (int other = 0; other < job->ranks; other++)
            if (group_of(place, other) == group_of(place, rank) &&
                job->ran[other][step][at].begin_ns > last_ns)
                last_ns = job->ran[other][step][at].begin_ns;
        job->clock_ns[rank] = sum(last_ns, place->lasts_us * US);
        job->ran[rank][step][at].end_ns = job->clock_ns[rank];
    }
}

static int size_of(const struct job *job, const struct place *place, int group)
{
    int size = 0;
    for (int rank = 0; rank < job->ranks; rank++)
        size += group_of(place, rank) == group;
    return size;
}

static int rank_within(const struct place *place, int rank)
{
    return place->group == 0 ? rank : place->group == 1 ? rank % 2 : rank / 2;
}

static struct origin origin(const struct job *job, const struct place *place, int rank)
{
    int group = group_of(place, rank);
    return (struct origin){
        .host = rank < 4 ? "a" : "b",
        .pid = job->lacks & LACKS_PID ? COUNT_UNKNOWN : 100 + rank,
        .communicator_hash = job->lacks & LACKS_HASH ? 0 : 1 + (uint64_t)place->group * 16 + (uint64_t)group,
        .rank = rank_within(place, rank),
        .communicator_size = size_of(job, place, group),
        .offset = 0,
    };
}

static const char *tag_text(int64_t tag)
{
    static const char *const tags[] = {"forward", "backward", "optimizer", "\033[2J\n"};
    return tags[(uint64_t)tag % 4];
}

/* The values of an operation that follow from its times. */
static struct operation operation(const struct job *job, int rank, int step, int at)
{
    const struct place *place = &job->place[at];
    struct interval_ns ran = job->ran[rank][step][at];
    int64_t issued_ns = sum(ran.begin_ns, -changed(job, CHANGE_LEAD, rank, step, at, place->lead_us) * US);
    struct operation made = {
        .kind = place->kind,
        .function = place->function,
        .sequence = place->kind == OPERATION_POINT_TO_POINT ? COUNT_UNKNOWN : step * job->places + at,
        .count = place->bytes,
        .datatype = DATATYPE_INT8,
        .bytes = place->bytes,
        .root = COUNT_UNKNOWN,
        .peer = place->kind == OPERATION_POINT_TO_POINT ? !rank_within(place, rank) : COUNT_UNKNOWN,
        .channel_count = 1,
        .api = {issued_ns, issued_ns},
        .enqueue = {issued_ns, sum(issued_ns, US)},
        .device = ran,
        .end_source = END_KERNEL,
        .gpu_begin = (uint64_t)sum(ran.begin_ns, (int64_t)rank << 50),
        .gpu_end = (uint64_t)sum(ran.end_ns, (int64_t)rank << 50),
        .duration_ns = sum(ran.end_ns, -ran.begin_ns),
    };
    if (made.duration_ns < 0)
        made.duration_ns = COUNT_UNKNOWN;
    return made;
}

/* Removes what the trace does not contain. */
static void drop_entry(const struct job *job, const struct place *place, struct operation *made)
{
    if (job->lacks & LACKS_GPU)
        made->gpu_begin = made->gpu_end = 0;
    if (job->lacks & LACKS_ENQUEUE)
        made->enqueue = made->api = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
    if (job->lacks & LACKS_TIMES) {
        made->device = made->enqueue = made->api;
        made->end_source = END_UNKNOWN;
    }
    if (dialects[job->dialect][0] == 'i' && !(job->lacks & LACKS_TAGS))
        made->tag = tag_text(place->tag);
}

/* Changes values of an operation without regard to consistency. */
static void change(const struct job *job, int rank, int step, int at, struct operation *made)
{
    int64_t value;
    made->duration_ns = changed(job, CHANGE_DURATION, rank, step, at, made->duration_ns);
    made->sequence = changed(job, CHANGE_SEQUENCE, rank, step, at, made->sequence);
    made->bytes = changed(job, CHANGE_BYTES, rank, step, at, made->bytes);
    made->peer = changed(job, CHANGE_PEER, rank, step, at, made->peer);
    made->device.begin_ns = changed(job, CHANGE_BEGIN, rank, step, at, made->device.begin_ns);
    made->device.end_ns = changed(job, CHANGE_END, rank, step, at, made->device.end_ns);
    made->api.begin_ns = changed(job, CHANGE_ISSUED, rank, step, at, made->api.begin_ns);
    made->gpu_begin = (uint64_t)changed(job, CHANGE_GPU, rank, step, at, (int64_t)made->gpu_begin);
    made->stream = (uint64_t)changed(job, CHANGE_STREAM, rank, step, at, 1);
    made->initial_sync_ns = changed(job, CHANGE_SYNC, rank, step, at, 0);
    made->is_symmetric = made->initial_sync_ns != 0;
    if (is_changed(job, CHANGE_FUNCTION, rank, step, at, &value))
        made->function = (enum function)((uint64_t)value % FUNCTION_COUNT);
    if (is_changed(job, CHANGE_UNFINISHED, rank, step, at, &value)) {
        made->unfinished = 1;
        made->device.end_ns = TIME_UNKNOWN;
        made->end_source = END_UNKNOWN;
        made->gpu_end = 0;
        made->duration_ns = COUNT_UNKNOWN;
    }
}

/* The file of one rank. */
struct emission {
    const struct job *job;
    struct made_file *file;
    int rank;
    int64_t ordinal;
};

/*
 * Sends to the next rank and receives from the previous one, each step with several waits one after the
 * other.
 */
static void emit_traffic(const struct emission *emission, const struct event *of, int step, int at)
{
    const struct job *job = emission->job;
    struct interval_ns ran = job->ran[emission->rank][step][at];
    int64_t wait_us = changed(job, CHANGE_WAIT, emission->rank, step, at, 1);
    struct proxy_step steps[WAITS] = {{0}};
    for (int i = 0; i < WAITS; i++) {
        int64_t begin_ns = sum(ran.begin_ns, i * wait_us * US);
        steps[i].step = i;
        for (int kind = 0; kind < WAIT_KINDS; kind++)
            steps[i].wait[kind] = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
        steps[i].wait[WAIT_GPU] = (struct interval_ns){begin_ns, sum(begin_ns, US)};
        steps[i].wait[WAIT_NETWORK] = (struct interval_ns){sum(begin_ns, US), sum(begin_ns, wait_us * US)};
    }
    for (int direction = DIRECTION_SEND; direction <= DIRECTION_RECV; direction++) {
        int size = size_of(job, &job->place[at], group_of(&job->place[at], emission->rank));
        int64_t own = of->origin.rank + (direction == DIRECTION_SEND ? 1 : size - 1);
        struct event event = {.kind = EVENT_PROXY, .origin = of->origin};
        event.proxy = (struct proxy_operation){
            .operation = of->operation.ordinal,
            .direction = (enum direction)direction,
            .peer = changed(job, CHANGE_PEER, emission->rank, step, at, own % size),
            .step_count = changed(job, CHANGE_STEPS, emission->rank, step, at, WAITS),
            .chunk_bytes = of->operation.bytes,
            .transferred_bytes = of->operation.bytes,
            .schedule = {TIME_UNKNOWN, TIME_UNKNOWN},
            .progress = ran,
            .steps = steps,
            .steps_recorded = WAITS,
        };
        put_at_hand(emission->file, &event);
    }
}

static void emit_operation(struct emission *emission, int step, int at)
{
    const struct job *job = emission->job;
    int64_t value;
    struct event event = {.kind = EVENT_OPERATION, .origin = origin(job, &job->place[at], emission->rank)};
    event.origin.rank = changed(job, CHANGE_RANK, emission->rank, step, at, event.origin.rank);
    if (is_changed(job, CHANGE_LOST, emission->rank, step, at, &value))
        return;
    event.operation = operation(job, emission->rank, step, at);
    drop_entry(job, &job->place[at], &event.operation);
    change(job, emission->rank, step, at, &event.operation);
    event.operation.ordinal = emission->ordinal++;
    const struct kernel_channel channel = {0, event.operation.device, event.operation.gpu_begin,
                                           event.operation.gpu_end};
    event.operation.channels = &channel;
    event.operation.kernel_channel_count = event.operation.device.begin_ns != TIME_UNKNOWN;
    put_at_hand(emission->file, &event);
    if (!(job->lacks & LACKS_TRAFFIC))
        emit_traffic(emission, &event, step, at);
}

static void emit_tag(const struct emission *emission, int step, int at)
{
    const struct job *job = emission->job;
    const struct place *place = &job->place[at];
    struct event event = {.kind = EVENT_TAG, .origin = origin(job, place, emission->rank)};
    event.tag = (struct tag_mark){
        .text = tag_text(changed(job, CHANGE_TAG, emission->rank, step, at, place->tag)),
        .at_ns = sum(job->ran[emission->rank][step][at].begin_ns, -(place->lead_us + 1) * US),
        .process_wide = place->tag & 1,
    };
    if (!(job->lacks & LACKS_TAGS) && dialects[job->dialect][0] == 'c')
        put_at_hand(emission->file, &event);
}

static void emit_anchors(const struct emission *emission)
{
    struct event event = {.kind = EVENT_ANCHOR,
                          .origin = origin(emission->job, emission->job->place, emission->rank)};
    for (int i = 0; i < 2; i++) {
        int64_t at_ns = BEGIN_NS * (1 + i);
        event.anchor =
            (struct clock_anchor){at_ns, sum(at_ns, BEGIN_NS), sum(at_ns, 7 * BEGIN_NS + emission->rank),
                                  emission->rank < 4 ? "boot" : NULL};
        put_at_hand(emission->file, &event);
    }
}

static void emit(struct store *store, const struct job *job, int rank)
{
    char path[64];
    int64_t value;
    snprintf(path, sizeof path, "%s%d", folder_at_hand(), rank);
    struct emission emission = {.job = job, .file = begin_at_hand(store, path), .rank = rank};
    if (!(job->lacks & LACKS_ANCHORS))
        emit_anchors(&emission);
    for (int step = 0; step < job->steps; step++)
        for (int at = 0; at < job->places; at++) {
            if (is_changed(job, CHANGE_DIES, rank, step, at, &value))
                goto dead;
            emit_tag(&emission, step, at);
            emit_operation(&emission, step, at);
        }
dead:
    end_at_hand(emission.file, dialects[job->dialect]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct job job;
    struct error error = ERROR_INIT;
    struct supply supply = {bytes, bytes + length};
    char path[64];
    memset(&job, 0, sizeof job);
    draw(&job, &supply);
    for (int rank = 0; rank < job.ranks; rank++)
        job.clock_ns[rank] = BEGIN_NS;
    for (int step = 0; step < job.steps; step++)
        for (int at = 0; at < job.places; at++)
            play(&job, step, at);
    snprintf(path, sizeof path, "%sstore.db", folder_at_hand());
    unlink(path);
    struct store *store = store_open(path, STORE_CREATE, &error);
    require(store != NULL, "a store");
    store_execute(store, "PRAGMA synchronous=OFF", NULL);
    for (int rank = 0; rank < job.ranks; rank++)
        emit(store, &job, rank);
    require(join_store(store, 1, &error) == 0, "a join");
    analyse_at_hand(store, &supply);
    store_close(store);
    return 0;
}
