/*
 * Whether the buffers of a call were in memory registered with NCCL, according to NCCL's log or to allocator
 * snapshots (memory_snapshots.c).
 */
#include "base/base.h"
#include "model/model.h"
#include "report/buffers.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

static uint64_t times(uint64_t bytes, int64_t ranks)
{
    uint64_t product;
    uint64_t factor = ranks > 0 ? (uint64_t)ranks : 1;
    return __builtin_mul_overflow(bytes, factor, &product) ? UINT64_MAX : product;
}

struct needs call_buffer_sizes(enum function function, int64_t bytes, int64_t ranks, int is_root)
{
    uint64_t one = bytes > 0 ? (uint64_t)bytes : 0, all = times(one, ranks);
    switch (function) {
    case FUNCTION_ALL_REDUCE:
        return (struct needs){one, one};
    case FUNCTION_ALL_GATHER:
        return (struct needs){one, all};
    case FUNCTION_REDUCE_SCATTER:
        return (struct needs){all, one};
    case FUNCTION_ALL_TO_ALL:
        return (struct needs){all, all};
    case FUNCTION_GATHER:
        return (struct needs){one, is_root ? all : 0};
    case FUNCTION_SCATTER:
        return (struct needs){is_root ? all : 0, one};
    case FUNCTION_BROADCAST:
        return (struct needs){is_root ? one : 0, one};
    case FUNCTION_REDUCE:
        return (struct needs){one, is_root ? one : 0};
    case FUNCTION_SEND:
        return (struct needs){one, 0};
    case FUNCTION_RECV:
        return (struct needs){0, one};
    default:
        return (struct needs){0, 0};
    }
}

/* Bits of `uses`. */
enum { USE_WAS = 1, USE_FAILED = 2 };

void known_memory_release(struct registration_index *known)
{
    for (size_t i = 0; known->members && i < known->roster->member_count; i++)
        ranges_release(&known->members[i].log);
    for (size_t i = 0; known->ranks && i < known->roster->rank_count; i++)
        ranges_release(&known->ranks[i].segments);
    free(known->members);
    free(known->ranks);
    map_release(&known->uses);
    *known = (struct registration_index){.roster = NULL};
}

static struct known_member *member_of(const struct registration_index *known, int64_t id)
{
    const struct roster_member *member = roster_member(known->roster, id);
    return member ? &known->members[member - known->roster->members] : NULL;
}

/* Reads the number of earlier calls of each function. Returns -1 if the blob is damaged. */
static int read_calls(struct statement *statement, int column, int64_t *calls)
{
    size_t length;
    const unsigned char *at = statement_blob(statement, column, &length), *end = at + length;
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        uint64_t number = 0;
        if (at && at < end && varint_get(&at, end, &number))
            return -1;
        calls[i] = number > INT64_MAX ? INT64_MAX : (int64_t)number;
    }
    return 0;
}

static struct map_key use_key(int64_t member, int64_t function, int64_t number)
{
    return (struct map_key){{(uint64_t)member, (uint64_t)function, (uint64_t)number}};
}

enum {
    ROW_MEMBER,
    ROW_ID,
    ROW_KIND,
    ROW_ADDRESS,
    ROW_BYTES,
    ROW_FUNCTION,
    ROW_NUMBER,
    ROW_CALLS,
    ROW_PROCESS
};

static int add_made(struct known_member *member, struct statement *row)
{
    int64_t calls[FUNCTION_COUNT];
    int has_calls = read_calls(row, ROW_CALLS, calls) == 0;
    struct range range = {.id = statement_integer(row, ROW_ID),
                          .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                          .made = RANGES_NO_CALLS,
                          .ended = RANGES_NO_CALLS};
    if (has_calls && (range.made = ranges_moment(&member->log, calls)) < 0)
        return -1;
    return ranges_add(&member->log, (uint64_t)statement_integer(row, ROW_ADDRESS),
                      statement_integer(row, ROW_BYTES), &range);
}

static int add_use(struct registration_index *known, struct statement *row, int64_t bit)
{
    struct map_key key = use_key(statement_integer(row, ROW_MEMBER), statement_integer(row, ROW_FUNCTION),
                                 statement_integer(row, ROW_NUMBER));
    int64_t *bits = map_put(&known->uses, key, 0, NULL);
    if (!bits)
        return -1;
    *bits |= bit;
    return 0;
}

static void take_hook(const struct registration_index *known, int64_t process_id, enum hook_state hook)
{
    for (size_t i = 0; i < known->roster->rank_count; i++)
        if (known->roster->ranks[i].process_id == process_id)
            known->ranks[i].hook = hook;
}

static int take_row(struct registration_index *known, struct statement *row)
{
    int64_t kind = statement_integer(row, ROW_KIND);
    if (kind == REGISTRATION_HOOK_ON || kind == REGISTRATION_HOOK_OFF)
        take_hook(known, statement_integer(row, ROW_PROCESS),
                  kind == REGISTRATION_HOOK_ON ? HOOK_ON : HOOK_OFF);
    struct known_member *member = member_of(known, statement_integer(row, ROW_MEMBER));
    if (!member)
        return 0;
    switch (kind) {
    case REGISTRATION_MADE:
        known->registrations++;
        return add_made(member, row);
    case REGISTRATION_USED:
        return add_use(known, row, USE_WAS);
    case REGISTRATION_FAILED:
        return add_use(known, row, USE_FAILED);
    case REGISTRATION_WATCHED:
        known->watched += !member->is_watched;
        member->is_watched = 1;
        return 0;
    default:
        return 0;
    }
}

static int take_end(const struct registration_index *known, struct statement *row)
{
    int64_t calls[FUNCTION_COUNT];
    struct known_member *member = member_of(known, statement_integer(row, ROW_MEMBER));
    if (!member || statement_integer(row, ROW_KIND) != REGISTRATION_ENDED ||
        read_calls(row, ROW_CALLS, calls))
        return 0;
    int32_t moment = ranges_moment(&member->log, calls);
    if (moment < 0)
        return -1;
    ranges_end(&member->log, (uint64_t)statement_integer(row, ROW_ADDRESS), statement_integer(row, ROW_ID),
               moment);
    return 0;
}

static int finish_logs(const struct registration_index *known)
{
    for (size_t i = 0; i < known->roster->member_count; i++)
        if (ranges_finish(&known->members[i].log))
            return -1;
    return 0;
}

/* An end needs all beginnings: reads the rows twice. */
static int load_logs(struct registration_index *known, struct store *store, int64_t run_id,
                     struct error *error)
{
    struct statement *rows = store_prepare_for(store, schema_analysis_buffers_registrations, run_id, error);
    int more = rows ? 1 : -1;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (take_row(known, rows))
            more = error_no_memory(error);
    if (!more && finish_logs(known))
        more = error_no_memory(error);
    more = more ? -1 : 1;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (take_end(known, rows))
            more = error_no_memory(error);
    statement_free(rows);
    return more;
}

int known_memory_load(struct registration_index *known, struct store *store, const struct roster *roster,
                      int64_t run_id, enum hook_state hook, struct error *error)
{
    *known = (struct registration_index){.roster = roster, .hook = hook};
    map_init(&known->uses);
    known->members = array_new(roster->member_count, sizeof *known->members);
    known->ranks = array_new(roster->rank_count, sizeof *known->ranks);
    if (!known->members || !known->ranks)
        return error_no_memory(error);
    return load_logs(known, store, run_id, error) || snapshots_load(known, store, run_id, error) ? -1 : 0;
}

/* The number of a call among those of its function on the communicator. */
static int64_t count_call(struct known_member *member, const struct known_call *call)
{
    if (member->file_id != call->file_id) {
        *member = (struct known_member){
            .log = member->log, .is_watched = member->is_watched, .file_id = call->file_id};
    }
    int64_t counted = member->counts[call->function]++;
    return call->sequence == COUNT_UNKNOWN ? counted : call->sequence;
}

static const enum memory_state states[] = {
    [COVERED] = MEMORY_REGISTERED,
    [COVERED_NOT] = MEMORY_NOT_REGISTERED,
    [COVERED_LATER] = MEMORY_LATER,
    [COVERED_EARLIER] = MEMORY_FREED,
    [COVERED_BY_TWO] = MEMORY_STRADDLES,
    [COVERED_PARTLY] = MEMORY_PARTLY,
    [COVERED_EXPANDABLE] = MEMORY_EXPANDABLE,
};

static enum memory_state state_of(const struct ranges *ranges, const struct known_call *call,
                                  const struct needs *needs, const struct call_place *place)
{
    if ((needs->send_bytes && !call->send_buffer) || (needs->receive_bytes && !call->receive_buffer))
        return MEMORY_NO_BUFFERS;
    enum memory_state send = needs->send_bytes
                                 ? states[ranges_cover(ranges, call->send_buffer, needs->send_bytes, place)]
                                 : MEMORY_REGISTERED;
    if (send != MEMORY_REGISTERED || !needs->receive_bytes)
        return send;
    return states[ranges_cover(ranges, call->receive_buffer, needs->receive_bytes, place)];
}

static int64_t wall_time(const struct known_rank *rank, int64_t local_ns)
{
    return local_ns == TIME_UNKNOWN || rank->wall_minus_local_ns == TIME_UNKNOWN
               ? TIME_UNKNOWN
               : local_ns + rank->wall_minus_local_ns;
}

/* The hook is set for all ranks alike, so a log with registrations shows its state for the whole run. */
static enum hook_state hook_of(const struct registration_index *known, const struct known_rank *rank)
{
    if (known->hook != HOOK_NOT_SAID)
        return known->hook;
    if (rank->hook != HOOK_NOT_SAID)
        return rank->hook;
    return known->registrations ? HOOK_ON : known->watched ? HOOK_OFF : HOOK_NOT_SAID;
}

/* The state according to a snapshot. Nothing is known about memory that was allocated after it. */
static enum memory_state state_by_snapshot(struct registration_index *known, const struct known_rank *rank,
                                           const struct known_call *call, const struct needs *needs,
                                           const struct call_place *place)
{
    enum hook_state hook = hook_of(known, rank);
    enum memory_state state = state_of(&rank->segments, call, needs, place);
    if (state == MEMORY_NO_BUFFERS || hook == HOOK_OFF)
        return state == MEMORY_NO_BUFFERS ? state : MEMORY_HOOK_OFF;
    known->assumed += hook == HOOK_NOT_SAID;
    int is_after =
        place->wall_ns != TIME_UNKNOWN && rank->latest_ns != TIME_UNKNOWN && place->wall_ns > rank->latest_ns;
    return state == MEMORY_NOT_REGISTERED && is_after ? MEMORY_AFTER_SNAPSHOT : state;
}

struct registration_check known_memory_judge(struct registration_index *known, const struct known_call *call)
{
    const struct roster *roster = known->roster;
    struct known_member *member = &known->members[call->member - roster->members];
    const struct known_rank *rank = &known->ranks[call->member->rank];
    const struct job_communicator *communicator = &roster->communicators[call->member->communicator];
    int64_t number = count_call(member, call);
    struct call_place place = {call->function, number, wall_time(rank, call->local_ns)};
    struct needs needs = call_buffer_sizes(call->function, call->bytes, communicator->size,
                                           call->root == call->member->number);
    struct registration_check judgement = {.state = MEMORY_NO_SOURCE, .can_be_used = member->is_watched};
    const int64_t *bits = map_get(&known->uses, use_key(call->member->id, call->function, number));
    judgement.is_used = bits && (*bits & USE_WAS);
    judgement.has_failed = bits && !(*bits & USE_WAS);
    if (member->log.count || member->is_watched) {
        judgement.source = SOURCE_LOG;
        judgement.state = state_of(&member->log, call, &needs, &place);
    } else if (rank->has_snapshot) {
        judgement.source = SOURCE_SNAPSHOT;
        judgement.state = state_by_snapshot(known, rank, call, &needs, &place);
    } else if ((needs.send_bytes && !call->send_buffer) || (needs.receive_bytes && !call->receive_buffer)) {
        judgement.state = MEMORY_NO_BUFFERS;
    }
    return judgement;
}

void known_memory_restart(struct registration_index *known)
{
    known->assumed = 0;
    for (size_t i = 0; i < known->roster->member_count; i++)
        known->members[i].file_id = 0;
}

int known_memory_has_time(const struct registration_index *known, const struct known_call *call)
{
    return wall_time(&known->ranks[call->member->rank], call->local_ns) != TIME_UNKNOWN;
}
