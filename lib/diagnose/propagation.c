/*
 * Measures where wait time comes from, for `ncclprof stragglers`: for every wait, which ranks, transfers or
 * unknown causes delayed the rank that arrived last. A trace without timestamps gets a simpler measurement,
 * read directly from the store.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* Causes of a wait other than a rank. */
enum { BLAME_NETWORK = -1, BLAME_NOTHING = -2 };

/*
 * A rank keeps this many of its latest delays, and a wait this many causes; older delays and further causes
 * are unexplained. Causes of less than one part in LEAST_PART of a wait are passed on without a name.
 */
enum { DELAYS_REMEMBERED = 256, CAUSES_OF_A_WAIT = 32, LEAST_PART = 64 };

struct delay_event {
    int32_t blame; /* rank, BLAME_NETWORK or BLAME_NOTHING */
    int64_t time_ns;
};

struct memory {
    struct delay_event events[DELAYS_REMEMBERED];
    uint64_t count; /* number of all delays ever stored */
};

struct delays {
    size_t rank_count;
    size_t communicator_count;
    struct delay *items;
    struct memory *memories; /* per rank */
    struct map
        numbers;  /* index of each member: a rank on its communicator, for sends and receives also its peer */
    int64_t *met; /* per member: `count` of its rank when it was last in an operation there */
    size_t met_count;
    size_t met_capacity;
    int64_t *met_all;      /* per rank: `count` when all ranks were last in one operation */
    struct map inherited;  /* (rank, from) -> index in inherited_ns */
    int64_t *inherited_ns; /* owned */
    uint8_t *places;       /* owned: of each cause, counted from BLAME_NOTHING, in struct lateness, plus 1 */
    size_t inherited_capacity;

    /* For the steps that are being added: */
    const struct job *job;
    const struct excess_list *excess;
    const struct transfer_excess *transfers; /* per instance */
    struct delay_steps steps;
    int32_t *member_list; /* owned: per operation */
};

static void remember(struct memory *memory, int32_t blame, int64_t time_ns)
{
    if (time_ns > 0)
        memory->events[memory->count++ % DELAYS_REMEMBERED] = (struct delay_event){blame, time_ns};
}

/*
 * The last member to arrive; -1 where it cannot be determined. Durations are not reliable where ends come
 * from the network.
 */
static int32_t last_to_arrive(const struct job *job, const struct job_instance *instance)
{
    if (instance->members != instance->expected)
        return -1;
    for (int32_t i = 0; !instance->is_synced && i < instance->members; i++)
        if (job_member(job, instance, i)->ends == ENDS_BY_PROXY)
            return -1;
    return arrival_last(job, instance);
}

/* Whether another member arrived at the same time as the last one, so that none of them was last. */
static int is_tied(const struct job *job, const struct job_instance *instance, int32_t last)
{
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (at != last && arrival_stay_ns(job, at) == arrival_stay_ns(job, last))
            return 1;
    }
    return 0;
}

/* The other rank of a send or receive; -1: none. */
static int32_t peer_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    return instance->sender == operation->rank ? instance->receiver : instance->sender;
}

/* Numbers the members and makes room for them in met[]. A new member has not met any other rank. */
static int number_communicator_members(struct delays *delays)
{
    const struct job *job = delays->job;
    delays->member_list = array_new(job->operation_count, sizeof *delays->member_list);
    if (!delays->member_list)
        return -1;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        struct map_key key = {{(uint64_t)operation->communicator, (uint64_t)operation->rank,
                               (uint64_t)peer_of(job, operation)}};
        int64_t *number = map_put(&delays->numbers, key, (int64_t)delays->numbers.count, NULL);
        if (!number)
            return -1;
        delays->member_list[i] = (int32_t)*number;
    }
    if (array_reserve((void **)&delays->met, &delays->met_capacity, delays->numbers.count,
                      sizeof *delays->met))
        return -1;
    while (delays->met_count < delays->numbers.count)
        delays->met[delays->met_count++] = 0;
    return 0;
}

static int64_t *met_at(struct delays *delays, int32_t operation)
{
    return &delays->met[delays->member_list[operation]];
}

/* Why the last rank to arrive was late: what delayed it since it met those that wait for it. */
struct lateness {
    int32_t rank;
    int64_t stay_ns; /* in the operation; the others stayed longer by as much as they waited */
    int64_t total_ns;
    struct delay_event causes[CAUSES_OF_A_WAIT];
    int64_t inherited_at[CAUSES_OF_A_WAIT]; /* index in inherited_ns; -1: not looked up */
    size_t count;
    int forgets; /* some delays are no longer kept, or there was no room for them */
};

/* Finds what a rank inherited from another one so far. */
static int64_t *find_inherited(struct delays *delays, int32_t rank, int32_t from, int64_t *at)
{
    const struct map_key key = {{(uint64_t)rank, (uint64_t)from}};
    if (*at < 0) {
        int added;
        const int64_t *number = map_put(&delays->inherited, key, (int64_t)delays->inherited.count, &added);
        if (!number || array_reserve((void **)&delays->inherited_ns, &delays->inherited_capacity,
                                     delays->inherited.count, sizeof *delays->inherited_ns))
            return NULL;
        *at = *number;
        if (added)
            delays->inherited_ns[*at] = 0;
    }
    return &delays->inherited_ns[*at];
}

static int inherit(struct delays *delays, int32_t rank, int32_t from, int64_t time_ns, int64_t *at)
{
    struct delay *delay = &delays->items[rank];
    int64_t *sum = find_inherited(delays, rank, from, at);
    if (!sum)
        return -1;
    *sum += time_ns;
    if (*sum > delay->inherited_most_ns) {
        delay->inherited_most_ns = *sum;
        delay->inherited_from = from;
    }
    return 0;
}

/* Books one share of a wait for the last rank: in its account and in that of the rank that caused it. */
static int book(struct delays *delays, struct lateness *lateness, size_t cause, struct delay_event share)
{
    int32_t last = lateness->rank;
    struct delay *delay = &delays->items[last];
    if (share.blame == BLAME_NETWORK)
        delay->network_ns += share.time_ns;
    else if (share.blame == BLAME_NOTHING)
        delay->unexplained_ns += share.time_ns;
    else if (share.blame == last)
        delay->own_ns += share.time_ns;
    else
        delay->inherited_ns += share.time_ns;
    if (share.blame < 0)
        return 0;
    delays->items[share.blame].caused_ns += share.time_ns;
    if (share.blame == last)
        return 0;
    return inherit(delays, last, share.blame, share.time_ns, &lateness->inherited_at[cause]);
}

/* Adds a delay to the entry of its cause, or to a new one. Returns 0 where there was no room. */
static int add_cause(struct delays *delays, struct lateness *lateness, const struct delay_event *event)
{
    uint8_t *place = &delays->places[event->blame - BLAME_NOTHING];
    if (!*place) {
        if (lateness->count >= CAUSES_OF_A_WAIT)
            return 0;
        lateness->causes[lateness->count] = (struct delay_event){event->blame, 0};
        lateness->inherited_at[lateness->count] = -1;
        *place = (uint8_t)++lateness->count;
    }
    lateness->causes[*place - 1].time_ns += event->time_ns;
    return 1;
}

/*
 * When the last rank had last met those that wait for it: in this communicator, or in an operation of all
 * ranks.
 */
static uint64_t since_met(struct delays *delays, int32_t last_at)
{
    int64_t here = *met_at(delays, last_at), all = delays->met_all[delays->job->operations[last_at].rank];
    return (uint64_t)(here > all ? here : all);
}

static void explain_lateness(struct delays *delays, int32_t last_at, struct lateness *lateness)
{
    int32_t rank = delays->job->operations[last_at].rank;
    const struct memory *memory = &delays->memories[rank];
    uint64_t since = since_met(delays, last_at), first = since;
    if (memory->count - since > DELAYS_REMEMBERED)
        first = memory->count - DELAYS_REMEMBERED;
    lateness->rank = rank;
    lateness->stay_ns = arrival_stay_ns(delays->job, last_at);
    lateness->forgets = first > since;
    lateness->total_ns = 0;
    lateness->count = 0;
    for (uint64_t i = first; i < memory->count; i++) {
        const struct delay_event *event = &memory->events[i % DELAYS_REMEMBERED];
        lateness->total_ns += event->time_ns;
        lateness->forgets |= !add_cause(delays, lateness, event);
    }
    for (size_t i = 0; i < lateness->count; i++)
        delays->places[lateness->causes[i].blame - BLAME_NOTHING] = 0;
}

/*
 * Splits a wait among the causes of the lateness, in proportion if they exceed the wait. The remainder is
 * unexplained.
 */
static size_t split(const struct lateness *lateness, int64_t wait_ns, struct delay_event *causes)
{
    int64_t left = wait_ns;
    size_t count = lateness->count;
    for (size_t i = 0; i < count; i++) {
        causes[i] = lateness->causes[i];
        if (lateness->total_ns > wait_ns)
            causes[i].time_ns = scale(wait_ns, (double)causes[i].time_ns / (double)lateness->total_ns);
        left -= causes[i].time_ns;
    }
    if (left > 0)
        causes[count++] = (struct delay_event){BLAME_NOTHING, left};
    return count;
}

/* Books the wait of one member for the last to arrive, and stores its causes as delays of the member. */
static int wait_for(struct delays *delays, int32_t at, struct lateness *lateness)
{
    struct delay_event causes[CAUSES_OF_A_WAIT + 1];
    struct memory *memory = &delays->memories[delays->job->operations[at].rank];
    int64_t wait_ns = arrival_stay_ns(delays->job, at) - lateness->stay_ns, nameless_ns = 0;
    size_t count = split(lateness, wait_ns, causes);
    delays->items[lateness->rank].forgotten += lateness->forgets && wait_ns > 0;
    for (size_t i = 0; i < count; i++) {
        if (book(delays, lateness, i, causes[i]))
            return -1;
        if (causes[i].time_ns < wait_ns / LEAST_PART)
            nameless_ns += causes[i].time_ns;
        else
            remember(memory, causes[i].blame, causes[i].time_ns);
    }
    remember(memory, BLAME_NOTHING, nameless_ns);
    return 0;
}

static int meet(struct delays *delays, int32_t number)
{
    const struct job *job = delays->job;
    const struct job_instance *instance = &job->instances[number];
    int64_t beyond_ns = delays->transfers[number].beyond_ns;
    const int32_t *members = job->instance_members + instance->first_member;
    int32_t last = last_to_arrive(job, instance);
    struct lateness lateness;
    if (last >= 0)
        explain_lateness(delays, last, &lateness);
    for (int32_t i = 0; last >= 0 && i < instance->members; i++) {
        delays->items[job->operations[members[i]].rank].instances++;
        if (members[i] != last && wait_for(delays, members[i], &lateness))
            return -1;
    }
    if (last >= 0 && !is_tied(job, instance, last))
        delays->items[job->operations[last].rank].times_last++;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *operation = &job->operations[members[i]];
        /*
         * A delay that all members share explains lateness only towards other ranks, so it is stored before
         * the meeting is counted.
         */
        if (beyond_ns != TIME_UNKNOWN)
            remember(&delays->memories[operation->rank], BLAME_NETWORK, beyond_ns);
        *met_at(delays, members[i]) = (int64_t)delays->memories[operation->rank].count;
        if ((size_t)instance->members == job->rank_count &&
            (instance->is_synced || function_is_full_exchange(instance->function)))
            delays->met_all[operation->rank] = *met_at(delays, members[i]);
    }
    return 0;
}

static int is_added(const struct delays *delays, int32_t step)
{
    return step >= delays->steps.first && step < delays->steps.end;
}

static int follow(struct delays *delays, const struct replay_move *moves, struct error *error)
{
    const struct job *job = delays->job;
    int failed = 0;
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        const struct replay_move *move = &moves[i];
        const struct job_operation *operation = &job->operations[move->operation];
        int64_t beyond_ns = excess_list_get(delays->excess, move->operation).beyond_ns;
        if (beyond_ns != TIME_UNKNOWN && is_added(delays, operation->step))
            remember(&delays->memories[operation->rank], (int32_t)operation->rank, beyond_ns);
        failed = move->is_last && is_added(delays, job->instances[move->instance].step) &&
                 meet(delays, (int32_t)move->instance);
    }
    return failed ? error_no_memory(error) : 0;
}

static int measure(struct delays *delays, const struct replay_move *order, struct error *error)
{
    struct replay replay = {0};
    int failed = (!order && replay_init(&replay, delays->job, NULL, NULL, error)) ||
                 follow(delays, order ? order : replay.moves, error);
    replay_release(&replay);
    return failed ? -1 : 0;
}

struct delays *delays_new(const struct job *job)
{
    struct delays *delays = array_new(1, sizeof *delays);
    if (!delays)
        return NULL;
    *delays = (struct delays){.rank_count = job->rank_count,
                              .communicator_count = job->communicator_count,
                              .items = array_new(job->rank_count, sizeof *delays->items),
                              .memories = array_new(job->rank_count, sizeof *delays->memories),
                              .met_all = array_new(job->rank_count, sizeof *delays->met_all),
                              .places = array_new(job->rank_count - BLAME_NOTHING, 1)};
    map_init(&delays->inherited);
    map_init(&delays->numbers);
    if (!delays->items || !delays->memories || !delays->met_all || !delays->places) {
        free(delays_end(delays));
        return NULL;
    }
    for (size_t i = 0; i < job->rank_count; i++)
        delays->items[i].inherited_from = -1;
    return delays;
}

int delays_add(struct delays *delays, const struct job *job, const struct baseline *baseline,
               const struct transfer_excess *transfers, struct delay_steps steps, struct error *error)
{
    if (job->rank_count != delays->rank_count || job->communicator_count != delays->communicator_count)
        return error_set(error, "run %lld has changed while it was read", (long long)job->run_id);
    delays->job = job;
    delays->excess = &baseline->excess;
    delays->transfers = transfers;
    delays->steps = steps;
    int failed = number_communicator_members(delays) ? error_no_memory(error)
                                                     : measure(delays, baseline->order, error);
    free(delays->member_list);
    delays->member_list = NULL;
    return failed;
}

struct delay *delays_end(struct delays *delays)
{
    struct delay *items = delays->items;
    map_release(&delays->inherited);
    free(delays->inherited_ns);
    free(delays->places);
    map_release(&delays->numbers);
    free(delays->met);
    free(delays->met_all);
    free(delays->memories);
    free(delays);
    return items;
}

struct delay *delays_measure(const struct job *job, const struct baseline *baseline,
                             const struct transfer_excess *transfers, struct error *error)
{
    struct delays *delays = delays_new(job);
    if (!delays) {
        error_no_memory(error);
        return NULL;
    }
    int failed = delays_add(delays, job, baseline, transfers, DELAY_ALL_STEPS, error);
    struct delay *items = delays_end(delays);
    if (!failed)
        return items;
    free(items);
    return NULL;
}

/* What the store holds about an instance whose waits can be measured. */
struct meeting {
    int64_t id;
    int64_t shortest_ns;
    int32_t last; /* job rank; -1: cannot be determined */
    int is_tied;  /* another rank arrived at the same time as `last` */
};

struct waits {
    struct loader loader;
    struct delay *delays;
    struct meeting *meetings; /* owned, sorted by id */
    size_t count;
    size_t capacity;
    size_t latest; /* found last: the next operation usually belongs to the next one */
};

static int add_meetings(struct waits *waits, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {INSTANCE_ORDINAL, INSTANCE_TRANSFER, INSTANCE_LAST_MEMBER, INSTANCE_MARGIN};
    const struct block_reader *rows = &scan->rows;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error))
        return -1;
    if (array_reserve((void **)&waits->meetings, &waits->capacity, waits->count + rows->count,
                      sizeof *waits->meetings))
        return error_no_memory(error);
    for (size_t row = 0; row < rows->count; row++) {
        int64_t last = rows->absent[INSTANCE_LAST_MEMBER][row]
                           ? -1
                           : loader_member(&waits->loader, rows->values[INSTANCE_LAST_MEMBER][row]);
        waits->meetings[waits->count++] = (struct meeting){
            .id = scan->block_id + rows->values[INSTANCE_ORDINAL][row],
            .shortest_ns = rows->values[INSTANCE_TRANSFER][row],
            .last = last < 0 ? -1 : (int32_t)(last >> 32),
            .is_tied = !rows->absent[INSTANCE_MARGIN][row] && rows->values[INSTANCE_MARGIN][row] == 0};
    }
    return 0;
}

static const struct meeting *find_meeting(struct waits *waits, int64_t id)
{
    int64_t at = find_id(waits->meetings, waits->count, sizeof *waits->meetings, waits->latest, id);
    if (at < 0)
        return NULL;
    waits->latest = (size_t)at;
    return &waits->meetings[at];
}

static void take_operation(struct waits *waits, int32_t rank, int64_t duration_ns,
                           const struct meeting *meeting)
{
    waits->delays[rank].instances++;
    if (meeting->last == rank) {
        waits->delays[rank].times_last += !meeting->is_tied;
        return;
    }
    waits->delays[meeting->last].unexplained_ns += duration_ns - meeting->shortest_ns;
}

static int has_timestamp(const struct block_scan *scan, size_t row)
{
    static const int columns[] = {OPERATION_DEVICE_BEGIN, OPERATION_GPU_BEGIN, OPERATION_KERNEL_CHANNELS};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!scan->rows.absent[columns[i]][row])
            return 1;
    return 0;
}

/* Returns 1 to continue, 0 if an operation has a timestamp, -1 on error. */
static int take_block(struct waits *waits, struct job *job, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {OPERATION_DEVICE_BEGIN, OPERATION_GPU_BEGIN, OPERATION_KERNEL_CHANNELS,
                                  OPERATION_DURATION};
    static const int joined[] = {JOINED_INSTANCE};
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error) ||
        scan_joined_columns(scan, joined, 1, error))
        return -1;
    int64_t member = loader_member(&waits->loader, scan->owner_id);
    for (size_t row = 0; member >= 0 && row < scan->rows.count; row++) {
        if (has_timestamp(scan, row))
            return 0;
        const struct meeting *meeting =
            find_meeting(waits, block_value(&scan->joined, JOINED_INSTANCE, row, 0));
        if (!meeting)
            continue;
        job->ranks[member >> 32].count++;
        if (meeting->last >= 0)
            take_operation(waits, (int32_t)(member >> 32),
                           block_value(&scan->rows, OPERATION_DURATION, row, meeting->shortest_ns), meeting);
    }
    return 1;
}

static int take_meetings(struct waits *waits, const struct job *job, struct error *error)
{
    struct block_scan scan;
    int more = scan_instances(&scan, job->store, job->run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (add_meetings(waits, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}

/* Returns 1 if no operation has a timestamp, 0 if one has, -1 on error. */
static int take_operations(struct waits *waits, struct job *job, struct error *error)
{
    struct block_scan scan;
    int more = scan_operations(&scan, job->store, job->run_id, error) ? -1 : 1, untimed = 1;
    while (untimed == 1 && more == 1 && (more = scan_next(&scan, error)) == 1)
        untimed = take_block(waits, job, &scan, error);
    scan_release(&scan);
    return more < 0 ? -1 : untimed;
}

static int late_arrivals_measure(struct waits *waits, struct job *job, struct error *error)
{
    waits->delays = array_new(job->rank_count, sizeof *waits->delays);
    if (!waits->delays)
        return error_no_memory(error);
    for (size_t i = 0; i < job->rank_count; i++)
        waits->delays[i].inherited_from = -1;
    if (loader_init(&waits->loader, job, error))
        return -1;
    /* Network steps may contain the ends of operations. */
    if (waits->loader.has_traffic)
        return 0;
    return take_meetings(waits, job, error) ? -1 : take_operations(waits, job, error);
}

int waits_measure(struct job *job, struct delay **delays, struct error *error)
{
    struct waits waits = {.count = 0};
    int outcome = late_arrivals_measure(&waits, job, error);
    loader_release(&waits.loader);
    free(waits.meetings);
    if (outcome == 1) {
        *delays = waits.delays;
        return 1;
    }
    free(waits.delays);
    /* job_load_rest counts them again. */
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].count = 0;
    return outcome;
}
