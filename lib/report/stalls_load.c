/*
 * Reads the network steps of a store and sums them up by edge, kind of operation and training step. First
 * come the runs, ranks and communicators that edges refer to.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/stalls.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* The ends of edges: ranks, by the numbers that network steps use for them. */

static int take_runs(struct stalls *stalls)
{
    const struct roster *roster = &stalls->roster;
    stalls->runs = array_new(roster->run_count, sizeof *stalls->runs);
    if (!stalls->runs)
        return -1;
    for (; stalls->run_count < roster->run_count; stalls->run_count++) {
        const struct roster_run *run = &roster->runs[stalls->run_count];
        int32_t steps = (int32_t)run->step_count;
        stalls->runs[stalls->run_count] =
            (struct stalls_run){.id = run->id, .step_count = steps, .first_step = steps > 1};
    }
    return 0;
}

/* Takes ownership of `name`, which is NULL if memory was out. */
static int32_t add_member(struct stalls *stalls, int32_t run, int64_t global_rank, char *name)
{
    if (!name || array_reserve((void **)&stalls->member_list, &stalls->member_capacity,
                               stalls->member_list_count + 1, sizeof *stalls->member_list)) {
        free(name);
        return -1;
    }
    stalls->member_list[stalls->member_list_count] =
        (struct stalls_member){.run = run, .global_rank = global_rank, .name = name};
    return (int32_t)stalls->member_list_count++;
}

/* Adds an entry for each rank of the roster, at the same index. */
static int take_ranks(struct stalls *stalls)
{
    const struct roster *roster = &stalls->roster;
    for (size_t i = 0; i < roster->rank_count; i++) {
        const struct roster_rank *rank = &roster->ranks[i];
        if (add_member(stalls, rank->run, rank->global_rank, strdup(rank->name)) < 0)
            return -1;
    }
    return 0;
}

int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error)
{
    if (roster_load(&stalls->roster, store, run_id, error) ||
        roster_load_members(&stalls->roster, store, run_id, error) ||
        roster_load_facts(&stalls->roster, store, run_id, error))
        return -1;
    return take_runs(stalls) || take_ranks(stalls) ? error_no_memory(error) : 0;
}

/* Adds an entry for a rank that is not identified. */
static int32_t make_member(struct stalls *stalls, int32_t communicator, int64_t rank)
{
    const struct job_communicator *of = &stalls->roster.communicators[communicator];
    struct buffer name = BUFFER_INIT;
    if (buffer_printf(&name, "rank %lld of communicator ", (long long)rank) ||
        (of->hash ? buffer_printf(&name, "0x%llx", (unsigned long long)of->hash)
                  : buffer_append_text(&name, of->label))) {
        buffer_release(&name);
        return -1;
    }
    return add_member(stalls, of->run, -1, buffer_detach(&name));
}

const char *stalls_host_of(const struct stalls *stalls, int32_t member)
{
    return (size_t)member < stalls->roster.rank_count ? stalls->roster.ranks[member].facts.host : NULL;
}

int32_t stalls_member(struct stalls *stalls, int32_t communicator, int64_t rank)
{
    int32_t member = roster_rank_in(&stalls->roster, communicator, rank);
    const struct map_key key = {{(uint64_t)communicator, (uint64_t)rank}};
    int added;
    int64_t *made =
        member < 0 ? map_put(&stalls->unidentified_members, key, (int64_t)stalls->member_list_count, &added)
                   : NULL;
    if (member >= 0 || !made)
        return member;
    return added ? make_member(stalls, communicator, rank) : (int32_t)*made;
}

/*
 * Reads every network step of a store once, in the order of its files. The wait of each step is kept;
 * everything else is summed by edge, kind of operation and training step.
 */

enum {
    NOT_IN_STEP = -1,
    NOT_FOUND = -2,
    SPANS_AT_ONCE = 1 << 18 /* an operation with more spans is summed in parts */
};

/* The result for the previous row of the sending or receiving side, which the next row often shares. */
struct recent {
    int64_t member;
    int64_t peer;
    int64_t channel;
    int64_t edge; /* of these three; NOT_FOUND: not yet looked up */
    struct map_key cell_key;
    int64_t cell; /* of that edge; -1: not yet looked up */
};

struct reader {
    struct stalls *stalls;
    struct spans spans; /* of `operation` */
    int64_t operation;
    int64_t place; /* of `operation`; NOT_FOUND: not yet looked up */
    int64_t member_id;
    int64_t member; /* of member_id */
    int member_known;
    struct recent recent[2];
};

static int same_key(const struct map_key *a, const struct map_key *b)
{
    return !memcmp(a, b, sizeof *a);
}

static int64_t find_edge(struct stalls *stalls, int32_t communicator, int32_t sender, int32_t receiver,
                         int64_t channel)
{
    int32_t of = stalls->by_communicator ? communicator : -1;
    int32_t on = stalls->by_channel && channel >= 0 && channel <= INT32_MAX ? (int32_t)channel : -1;
    const struct map_key key = {
        {(uint64_t)(int64_t)of, (uint64_t)sender, (uint64_t)receiver, (uint64_t)(int64_t)on}};
    int added;
    int64_t *number = map_put(&stalls->edge_of, key, (int64_t)stalls->edge_count, &added);
    if (!number || !added)
        return number ? *number : -1;
    if (array_reserve((void **)&stalls->edges, &stalls->edge_capacity, stalls->edge_count + 1,
                      sizeof *stalls->edges))
        return -1;
    const struct job_communicator *between = &stalls->roster.communicators[communicator];
    stalls->edges[stalls->edge_count] = (struct stalls_edge){.run = between->run,
                                                             .sender = sender,
                                                             .receiver = receiver,
                                                             .communicator = of,
                                                             .label = of < 0 ? "" : between->label,
                                                             .channel = on,
                                                             .first_step = -1,
                                                             .last_step = -1,
                                                             .wait_mean_ns = -1,
                                                             .usual_mean_ns = -1};
    return (int64_t)stalls->edge_count++;
}

enum {
    COLUMN_OPERATION,
    COLUMN_MEMBER,
    COLUMN_DIRECTION,
    COLUMN_CHANNEL,
    COLUMN_PEER,
    COLUMN_BEGIN,
    COLUMN_STEPS,
    COLUMN_STEP,
    COLUMN_TAG,
    COLUMN_FUNCTION,
    COLUMN_BYTES
};

/*
 * The kind of an operation: operations of one function, size and tag on communicators of one size do the same
 * work.
 */
static int64_t find_place(struct stalls *stalls, struct statement *row, int32_t communicator)
{
    const char *tag = statement_text(row, COLUMN_TAG);
    int64_t number = tag ? intern_put(&stalls->tags, tag, strlen(tag)) : -1;
    if (tag && number < 0)
        return -1;
    const struct job_communicator *of = &stalls->roster.communicators[communicator];
    const struct map_key key = {{(uint64_t)of->run << 32 | (uint64_t)statement_integer(row, COLUMN_FUNCTION),
                                 (uint64_t)statement_integer_or(row, COLUMN_BYTES, -1), (uint64_t)number,
                                 (uint64_t)of->size}};
    int added;
    int64_t *place = map_put(&stalls->place_of, key, (int64_t)stalls->place_count, &added);
    if (!place)
        return -1;
    stalls->place_count += (size_t)added;
    return *place;
}

static int64_t find_cell(struct stalls *stalls, struct recent *recent, int64_t edge, int64_t place,
                         int64_t step)
{
    const struct map_key key = {{(uint64_t)edge, (uint64_t)place, (uint64_t)step}};
    if (recent->cell >= 0 && same_key(&recent->cell_key, &key))
        return recent->cell;
    int added;
    int64_t *number = map_put(&stalls->cell_of, key, (int64_t)stalls->cell_count, &added);
    if (!number)
        return -1;
    recent->cell_key = key;
    recent->cell = *number;
    if (!added)
        return *number;
    if (array_reserve((void **)&stalls->cells, &stalls->cell_capacity, stalls->cell_count + 1,
                      sizeof *stalls->cells))
        return -1;
    stalls->cells[stalls->cell_count] =
        (struct stalls_cell){.edge = (int32_t)edge, .place = (int32_t)place, .step = (int32_t)step};
    return (int64_t)stalls->cell_count++;
}

/* A network step whose wait has no end does not show how long it lasted. */
static int add_step(struct reader *reader, int64_t edge_number, int32_t cell_number, int received,
                    const struct proxy_step *step)
{
    struct stalls_edge *edge = &reader->stalls->edges[edge_number];
    const struct interval_ns *network = &step->wait[WAIT_NETWORK];
    reader->stalls->runs[edge->run].network_steps++;
    edge->sent_steps += !received;
    if (!received && (spans_add(&reader->spans, cell_number, STALLS_GPU, &step->wait[WAIT_GPU]) ||
                      spans_add(&reader->spans, cell_number, STALLS_PEER, &step->wait[WAIT_PEER])))
        return -1;
    if (network->begin_ns == TIME_UNKNOWN || network->end_ns == TIME_UNKNOWN ||
        network->end_ns < network->begin_ns)
        return 0;
    int64_t wait_ns = network->end_ns - network->begin_ns;
    if (!received && wait_ns > edge->send_wait_max_ns)
        edge->send_wait_max_ns = wait_ns;
    if (cell_number >= 0) {
        struct stalls_cell *cell = &reader->stalls->cells[cell_number];
        cell->steps++;
        cell->wait_ns += wait_ns;
    }
    return spans_add(&reader->spans, cell_number, STALLS_NETWORK, network) ||
           stalls_add_wait(received ? &edge->receive : &edge->send, wait_ns);
}

static int64_t find_member(struct reader *reader, int64_t id)
{
    if (!reader->member_known || reader->member_id != id) {
        const struct roster_member *member = roster_member(&reader->stalls->roster, id);
        reader->member = member ? (int64_t)member->rank << 32 | member->communicator : -1;
        reader->member_id = id;
        reader->member_known = 1;
    }
    return reader->member;
}

/* The edge of the steps in a row; -1 when memory is out. */
static int64_t edge_of_row(struct reader *reader, struct statement *row, struct recent *recent,
                           int64_t member, int received)
{
    int64_t channel = statement_integer(row, COLUMN_CHANNEL), number = statement_integer(row, COLUMN_PEER);
    if (recent->edge != NOT_FOUND && recent->member == member && recent->peer == number &&
        recent->channel == channel)
        return recent->edge;
    int32_t communicator = (int32_t)(member & 0xffffffff), communicator_member = (int32_t)(member >> 32);
    int32_t peer = stalls_member(reader->stalls, communicator, number);
    int64_t edge = peer < 0 ? -1
                            : find_edge(reader->stalls, communicator, received ? peer : communicator_member,
                                        received ? communicator_member : peer, channel);
    *recent = (struct recent){.member = member,
                              .peer = number,
                              .channel = channel,
                              .edge = edge < 0 ? NOT_FOUND : edge,
                              .cell = -1};
    return edge;
}

/* Returns 1 if the row's steps belong to no selected run, -1 when memory is out. */
static int place_row(struct reader *reader, struct statement *row, int64_t *edge, int64_t *cell,
                     int *received)
{
    *received = statement_integer(row, COLUMN_DIRECTION) == DIRECTION_RECV;
    struct recent *recent = &reader->recent[*received];
    int64_t member = find_member(reader, statement_integer_or(row, COLUMN_MEMBER, -1));
    if (member < 0)
        return 1;
    int64_t step = statement_integer_or(row, COLUMN_STEP, NOT_IN_STEP);
    if (reader->place == NOT_FOUND || reader->operation < 0)
        reader->place = find_place(reader->stalls, row, (int32_t)(member & 0xffffffff));
    if (reader->place < 0)
        return -1;
    *edge = edge_of_row(reader, row, recent, member, *received);
    *cell = -1;
    if (*edge >= 0 && step >= 0 && !*received &&
        (*cell = find_cell(reader->stalls, recent, *edge, reader->place, step)) < 0)
        return -1;
    return *edge < 0 ? -1 : 0;
}

static int read_steps(struct reader *reader, struct statement *row, struct error *error)
{
    int64_t operation = statement_integer_or(row, COLUMN_OPERATION, -1), edge, cell;
    int received;
    size_t length;
    const void *blob = statement_blob(row, COLUMN_STEPS, &length);
    struct unpack unpack;
    struct proxy_step step;
    if ((operation != reader->operation || spans_count(&reader->spans) > SPANS_AT_ONCE) &&
        spans_sum(&reader->spans, reader->stalls->cells))
        return error_no_memory(error);
    if (operation != reader->operation)
        reader->place = NOT_FOUND;
    reader->operation = operation;
    if (!blob)
        return 0;
    if (unpack_steps(&unpack, blob, length, statement_integer_or(row, COLUMN_BEGIN, 0)))
        return error_set(error, "operation %lld has damaged proxy steps", (long long)operation);
    int placed = place_row(reader, row, &edge, &cell, &received);
    if (placed < 0)
        return error_no_memory(error);
    if (placed) {
        reader->stalls->detached_steps += operation < 0 ? (int64_t)unpack.left : 0;
        return 0;
    }
    int more;
    while ((more = unpack_next_step(&unpack, &step)) == 1)
        if (add_step(reader, edge, (int32_t)cell, received, &step))
            return error_no_memory(error);
    return more ? error_set(error, "operation %lld has damaged proxy steps", (long long)operation) : 0;
}

int stalls_load_steps(struct stalls *stalls, struct store *store, struct error *error)
{
    struct reader reader = {.stalls = stalls,
                            .operation = -1,
                            .place = NOT_FOUND,
                            .recent = {{.edge = NOT_FOUND}, {.edge = NOT_FOUND}}};
    struct statement *row = store_prepare(store, schema_analysis_stalls_steps, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (read_steps(&reader, row, error))
            more = -1;
    statement_free(row);
    if (!more && spans_sum(&reader.spans, stalls->cells))
        more = error_no_memory(error);
    spans_release(&reader.spans);
    return more;
}
