/*
 * Reads the rows of report from packed blocks of the store. If a key is known only for single operations,
 * instances are kept with their operations, so that the operations of one instance are added in succession.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/buffers.h"
#include "report/groups.h"
#include "report/internal.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

struct report_communicator {
    int64_t run;
    int64_t ranks;
    int64_t label;
};

struct reader {
    struct report_groups *report;
    struct roster roster;
    struct report_communicator *communicators; /* owned: one per communicator of the roster */
    int64_t *names;                            /* owned: per rank, the number of its name */
    int64_t functions[FUNCTION_COUNT];         /* numbers of their names */
    int64_t algorithms[ALGORITHM_COUNT];
    int64_t protocols[PROTOCOL_COUNT];
    struct report_places places;
    struct map sources; /* operation -> number of a text, from call descriptions */
    struct report_row
        *rows; /* instances that are kept, by id; row.operations is the number of joined operations */
    size_t row_count;
    size_t row_capacity;
    size_t latest;
    int keep;
    struct registration_index known; /* loaded if the registration of buffers is a key */
    int64_t memory[2];               /* numbers of the texts "not registered" and "registered" */
    int by_source;
    int by_peer;
};

static int take_communicators(struct reader *reader)
{
    const struct roster *roster = &reader->roster;
    reader->communicators = array_new(roster->communicator_count, sizeof *reader->communicators);
    if (!reader->communicators)
        return -1;
    for (size_t i = 0; i < roster->communicator_count; i++) {
        const struct job_communicator *from = &roster->communicators[i];
        int64_t label = report_groups_text(reader->report, from->label);
        if (label < -1)
            return -1;
        reader->communicators[i] =
            (struct report_communicator){roster->runs[from->run].id, from->size, label};
    }
    return 0;
}

static int take_ranks(struct reader *reader)
{
    const struct roster *roster = &reader->roster;
    reader->names = array_new(roster->rank_count, sizeof *reader->names);
    if (!reader->names)
        return -1;
    for (size_t i = 0; i < roster->rank_count; i++) {
        int64_t name = report_groups_text(reader->report, roster->ranks[i].name);
        if (name < 0 || report_groups_number(reader->report, name, roster->ranks[i].global_rank))
            return -1;
        reader->names[i] = name;
    }
    return 0;
}

static int number_names(struct reader *reader)
{
    int failed = 0;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        failed |=
            (reader->functions[i] = report_groups_text(reader->report, function_name((enum function)i))) < -1;
    for (int i = 0; i < ALGORITHM_COUNT; i++)
        failed |= (reader->algorithms[i] =
                       report_groups_text(reader->report, algorithm_name((enum algorithm)i))) < -1;
    for (int i = 0; i < PROTOCOL_COUNT; i++)
        failed |=
            (reader->protocols[i] = report_groups_text(reader->report, protocol_name((enum protocol)i))) < -1;
    return failed;
}

static int64_t name_at(const int64_t *names, size_t count, int64_t number)
{
    return number >= 0 && (uint64_t)number < count ? names[number] : -1;
}

static struct report_row make_row(const struct reader *reader, const struct report_communicator *communicator,
                                  const struct block_scan *scan, size_t row)
{
    const struct block_reader *rows = &scan->rows;
    int64_t function = block_value(rows, INSTANCE_FUNCTION, row, 0);
    return (struct report_row){.key = {[KEY_TAG] = -1,
                                       [KEY_FUNCTION] = name_at(reader->functions, FUNCTION_COUNT, function),
                                       [KEY_COMMUNICATOR] = communicator->label,
                                       [KEY_SIZE] = block_value(rows, INSTANCE_SIZE_BYTES, row, -1),
                                       [KEY_ALGORITHM] = -1,
                                       [KEY_PROTOCOL] = -1,
                                       [KEY_RANK] = -1,
                                       [KEY_STEP] = block_value(rows, INSTANCE_STEP, row, -1),
                                       [KEY_RUN] = communicator->run,
                                       [KEY_REGISTERED] = -1,
                                       [KEY_SOURCE] = -1,
                                       [KEY_GPU_SERIAL] = -1,
                                       [KEY_VM] = -1,
                                       [KEY_DEVICE] = -1,
                                       [KEY_HOST] = -1,
                                       [KEY_PEER] = -1,
                                       [KEY_TIME] = -1},
                               .instance = scan->block_id + rows->values[INSTANCE_ORDINAL][row],
                               .ranks = communicator->ranks,
                               .communicator = communicator->label,
                               .operations = block_value(rows, INSTANCE_MEMBERS, row, 0),
                               .transfer_ns = block_value(rows, INSTANCE_TRANSFER, row, TIME_UNKNOWN),
                               .effective_ns = block_value(rows, INSTANCE_EFFECTIVE, row, TIME_UNKNOWN),
                               .wait_ns = TIME_UNKNOWN,
                               .function = (int)function};
}

static int keep_row(struct reader *reader, const struct report_row *row)
{
    if (array_reserve((void **)&reader->rows, &reader->row_capacity, reader->row_count + 1,
                      sizeof *reader->rows))
        return -1;
    reader->rows[reader->row_count++] = *row;
    return 0;
}

/*
 * If only some members are recorded, the shortest duration is no transfer time unless the last rank to arrive
 * is among them.
 */
static void count_lacking(struct report_groups *report, const struct block_reader *rows, size_t row)
{
    if (rows->absent[INSTANCE_TRANSFER][row])
        return;
    report->instances++;
    report->lacking +=
        block_value(rows, INSTANCE_MEMBERS, row, 0) < block_value(rows, INSTANCE_EXPECTED, row, 0);
}

/* Whether the filter selects an instance, as far as the instance itself shows. */
static int is_looked_at(const struct filter *filter, const struct report_row *row, const char *label,
                        const char *tag)
{
    int64_t step = row->key[KEY_STEP];
    return filter_has_steps(filter, step, step) && filter_is_text(filter->communicator, label) &&
           filter_is_text(filter->tag, tag);
}

static int take_places(struct report_places *places, struct report_groups *report)
{
    const struct roster *roster = places->roster;
    places->ranks = array_new(roster->rank_count, sizeof *places->ranks);
    if (!places->ranks)
        return -1;
    for (size_t i = 0; i < roster->rank_count; i++) {
        const struct roster_facts *facts = &roster->ranks[i].facts;
        struct report_place *place = &places->ranks[i];
        place->host = report_groups_text(report, facts->host);
        place->gpu_serial = report_groups_text(report, facts->gpu_serial);
        place->vm = report_groups_text(report, facts->vm);
        place->device = facts->gpu >= 0 ? facts->gpu : -1;
        if (place->host < -1 || place->gpu_serial < -1 || place->vm < -1)
            return -1;
    }
    return 0;
}

/* Needs the members and facts of the roster. Returns -1 when memory is out. Release `places` in any case. */
static int places_init(struct report_places *places, const struct roster *roster,
                       struct report_groups *report)
{
    *places = (struct report_places){.roster = roster};
    return take_places(places, report);
}

static void places_release(struct report_places *places)
{
    free(places->ranks);
    places->ranks = NULL;
}

/*
 * The rank (index in the roster) of a member of a communicator (index), by its number there; -1: not known.
 */
static int32_t report_places_member(const struct report_places *places, int32_t communicator, int64_t number)
{
    return communicator_recorded_rank(&places->roster->communicators[communicator], number);
}

/* The global rank of a member of a communicator, by its number there; -1: not known. */
static int64_t places_global_rank(const struct report_places *places, int32_t communicator, int64_t number)
{
    const struct job_communicator *of = &places->roster->communicators[communicator];
    if (number >= 0 && (uint64_t)number < of->member_count)
        return of->members[number];
    int32_t rank = report_places_member(places, communicator, number);
    return rank < 0 ? -1 : places->roster->ranks[rank].global_rank;
}

/* The host of a rank; its virtual machine if the host is not known. */
static int64_t node_of(const struct report_places *places, int32_t rank)
{
    const struct report_place *place = &places->ranks[rank];
    return place->host >= 0 ? place->host : place->vm;
}

/*
 * The number of nodes that NCCL counted decides, because several containers can have one host name. 1 or 0;
 * -1: the hosts decide.
 */
static int cross_by_count(const struct job_communicator *communicator, int is_pair)
{
    int64_t nodes = communicator->node_count;
    if (nodes <= 0)
        return -1;
    if (nodes == 1)
        return 0;
    return !is_pair || nodes == communicator->size ? 1 : -1;
}

/* Whether a communicator, or two of its ranks, span more than one host: 1 or 0; -1: not known. */
static int places_cross(const struct report_places *places, int32_t communicator)
{
    const struct job_communicator *of = &places->roster->communicators[communicator];
    int crosses = cross_by_count(of, 0);
    if (crosses >= 0)
        return crosses;
    int64_t node = -1;
    int is_known = of->size > 0;
    for (int64_t i = 0; i < of->size && is_known; i++) {
        int32_t rank = report_places_member(places, communicator, i);
        int64_t at = rank < 0 ? -1 : node_of(places, rank);
        if (at >= 0 && node >= 0 && at != node)
            return 1;
        is_known = at >= 0;
        node = at;
    }
    return is_known ? 0 : -1;
}

static int places_pair_crosses(const struct report_places *places, int32_t communicator, int64_t one,
                               int64_t other)
{
    int crosses = cross_by_count(&places->roster->communicators[communicator], 1);
    if (crosses >= 0)
        return crosses;
    int32_t left = report_places_member(places, communicator, one);
    int32_t right = report_places_member(places, communicator, other);
    int64_t left_node = left < 0 ? -1 : node_of(places, left);
    int64_t right_node = right < 0 ? -1 : node_of(places, right);
    return left_node < 0 || right_node < 0 ? -1 : left_node != right_node;
}

/* Whether an instance is between hosts, if that is a filter; counts those for which it is not known. */
static int may_cross(struct reader *reader, const struct block_reader *rows, size_t row, int32_t communicator)
{
    if (!reader->report->cross_node)
        return 1;
    int64_t sender = block_value(rows, INSTANCE_SENDER, row, -1);
    int crosses = sender < 0 ? places_cross(&reader->places, communicator)
                             : places_pair_crosses(&reader->places, communicator, sender,
                                                   block_value(rows, INSTANCE_RECEIVER, row, -1));
    reader->report->undecided += crosses < 0;
    return crosses > 0;
}

static int take_instances(struct reader *reader, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {INSTANCE_ORDINAL,   INSTANCE_FUNCTION, INSTANCE_SIZE_BYTES,
                                  INSTANCE_MEMBERS,   INSTANCE_EXPECTED, INSTANCE_TRANSFER,
                                  INSTANCE_EFFECTIVE, INSTANCE_TAG,      INSTANCE_STEP};
    static const int ends[] = {INSTANCE_SENDER, INSTANCE_RECEIVER};
    int32_t communicator = roster_communicator(&reader->roster, scan->owner_id);
    if (communicator < 0)
        return 0;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error) ||
        (reader->report->cross_node && scan_columns(scan, ends, sizeof ends / sizeof *ends, error)))
        return -1;
    for (size_t i = 0; i < scan->rows.count; i++) {
        struct report_row row = make_row(reader, &reader->communicators[communicator], scan, i);
        if (!is_looked_at(reader->report->filter, &row, reader->roster.communicators[communicator].label,
                          block_text(&scan->rows, INSTANCE_TAG, i)) ||
            !may_cross(reader, &scan->rows, i, communicator))
            continue;
        count_lacking(reader->report, &scan->rows, i);
        if (report_groups_is_by(reader->report, KEY_TAG))
            row.key[KEY_TAG] = report_groups_text(reader->report, block_text(&scan->rows, INSTANCE_TAG, i));
        if (row.key[KEY_TAG] < -1 ||
            (reader->keep ? keep_row(reader, &row) : report_groups_add(reader->report, &row)))
            return error_no_memory(error);
    }
    return 0;
}

/* The fields that only an operation has. */
struct detail {
    int64_t duration_ns; /* TIME_UNKNOWN */
    int64_t peer;        /* global rank; -1: none */
    int32_t source;      /* number of its text; -1: none */
    int32_t rank;        /* index in the roster */
    int16_t algorithm;   /* number in the vocabulary, like protocol */
    int16_t protocol;
    int32_t memory; /* index in reader.memory; -1: not known */
};

/* The operations of the kept instances: those of row i start at first[i], and `filled` of them are there. */
struct details {
    struct detail *items;
    size_t *first;
    uint32_t *filled;
};

static int details_init(struct details *details, const struct reader *reader)
{
    size_t total = 0;
    details->first = array_new(reader->row_count + 1, sizeof *details->first);
    details->filled = array_new(reader->row_count, sizeof *details->filled);
    for (size_t i = 0; details->first && i < reader->row_count; i++) {
        details->first[i] = total;
        if (reader->rows[i].operations > 0 && reader->rows[i].operations <= INT32_MAX)
            total += (size_t)reader->rows[i].operations;
    }
    if (details->first)
        details->first[reader->row_count] = total;
    details->items = array_new(total, sizeof *details->items);
    return details->items && details->first && details->filled ? 0 : -1;
}

static void details_release(struct details *details)
{
    free(details->items);
    free(details->first);
    free(details->filled);
}

/* The index in reader.memory for an operation; -1: not known. */
static int32_t memory_of(struct reader *reader, const struct block_scan *scan,
                         const struct roster_member *member, size_t row)
{
    if (!report_groups_is_by(reader->report, KEY_REGISTERED))
        return -1;
    struct known_call call = stored_call(scan, member, row);
    struct registration_check judgement = known_memory_judge(&reader->known, &call);
    reader->report->by_assumed_hook = reader->known.assumed;
    return memory_is_judged(judgement.state) ? judgement.state == MEMORY_REGISTERED : -1;
}

/*
 * The source line of a call, from its record, else from a call description: number of a text; -1: not known;
 * -2: memory is out.
 */
static int64_t source_of(struct reader *reader, const struct block_scan *scan, size_t row)
{
    int64_t id = scan->block_id + scan->rows.values[OPERATION_ORDINAL][row];
    const int64_t *described = map_get(&reader->sources, (struct map_key){{(uint64_t)id}});
    int64_t source = report_groups_text(reader->report, block_text(&scan->rows, OPERATION_SOURCE, row));
    return source == -1 && described ? *described : source;
}

static int take_detail(struct reader *reader, const struct block_scan *scan, size_t row,
                       const struct roster_member *member, struct detail *detail)
{
    const struct block_reader *rows = &scan->rows;
    int64_t source = reader->by_source ? source_of(reader, scan, row) : -1;
    int64_t peer = reader->by_peer ? block_value(rows, OPERATION_PEER, row, -1) : -1;
    if (peer >= 0)
        peer = places_global_rank(&reader->places, member->communicator, peer);
    *detail = (struct detail){.duration_ns = scan_duration(rows, row, TIME_UNKNOWN),
                              .peer = peer,
                              .source = (int32_t)source,
                              .rank = member->rank,
                              .algorithm = (int16_t)block_value(rows, OPERATION_ALGORITHM, row, 0),
                              .protocol = (int16_t)block_value(rows, OPERATION_PROTOCOL, row, 0)};
    return source < -1 ? -1 : 0;
}

static int take_operations(struct reader *reader, struct details *details, struct block_scan *scan,
                           struct error *error)
{
    static const int columns[] = {OPERATION_ALGORITHM, OPERATION_PROTOCOL, OPERATION_DURATION,
                                  OPERATION_DEVICE_BEGIN, OPERATION_DEVICE_END};
    static const int sources[] = {OPERATION_ORDINAL, OPERATION_SOURCE}, peers[] = {OPERATION_PEER};
    static const int joined[] = {JOINED_INSTANCE};
    const struct roster_member *member = roster_member(&reader->roster, scan->owner_id);
    if (!member || !filter_has_rank(reader->report->filter, reader->roster.ranks[member->rank].global_rank))
        return 0;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error) ||
        (report_groups_is_by(reader->report, KEY_REGISTERED) &&
         scan_columns(scan, stored_call_columns, STORED_CALL_COLUMNS, error)) ||
        scan_joined_columns(scan, joined, 1, error) ||
        (reader->by_source && scan_columns(scan, sources, 2, error)) ||
        (reader->by_peer && scan_columns(scan, peers, 1, error)))
        return -1;
    for (size_t i = 0; i < scan->rows.count; i++) {
        int32_t memory = memory_of(reader, scan, member, i);
        int64_t at = find_id(&reader->rows[0].instance, reader->row_count, sizeof *reader->rows,
                             reader->latest, block_value(&scan->joined, JOINED_INSTANCE, i, -1));
        if (at < 0 || details->first[at] + details->filled[at] >= details->first[at + 1])
            continue;
        reader->latest = (size_t)at;
        struct detail *detail = &details->items[details->first[at] + details->filled[at]++];
        if (take_detail(reader, scan, i, member, detail))
            return error_no_memory(error);
        detail->memory = memory;
    }
    return 0;
}

/*
 * The transfer time of an instance is the shortest duration of its members; the rest of a rank's duration is
 * wait time.
 */
static void take_own_times(struct report_row *row, const struct detail *detail)
{
    row->effective_ns = detail->duration_ns;
    if (row->transfer_ns != TIME_UNKNOWN && detail->duration_ns != TIME_UNKNOWN)
        row->wait_ns = detail->duration_ns - row->transfer_ns;
    row->is_own = 1;
}

/* Whether keys separate ranks: then the time of the ranks in the row counts. */
static int is_by_place(const struct report_groups *report)
{
    static const enum report_key keys[] = {KEY_RANK, KEY_GPU_SERIAL, KEY_VM, KEY_DEVICE, KEY_HOST};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (report_groups_is_by(report, keys[i]))
            return 1;
    return filter_is_of_ranks(report->filter);
}

/*
 * The source line of a collective, if all operations with a source line have the same one; else -1. One rank
 * of a communicator describes a call for all of them.
 */
static int32_t common_source(const struct details *details, size_t row)
{
    int32_t common = -1;
    for (size_t i = 0; i < details->filled[row]; i++) {
        int32_t source = details->items[details->first[row] + i].source;
        if (source >= 0 && common >= 0 && source != common)
            return -1;
        common = source >= 0 ? source : common;
    }
    return common;
}

static void set_keys(const struct reader *reader, const struct detail *detail, int32_t source,
                     struct report_row *row)
{
    const struct report_place *place = &reader->places.ranks[detail->rank];
    row->key[KEY_RANK] = reader->names[detail->rank];
    row->key[KEY_ALGORITHM] = name_at(reader->algorithms, ALGORITHM_COUNT, detail->algorithm);
    row->key[KEY_PROTOCOL] = name_at(reader->protocols, PROTOCOL_COUNT, detail->protocol);
    row->key[KEY_SOURCE] = source;
    row->key[KEY_GPU_SERIAL] = place->gpu_serial;
    row->key[KEY_VM] = place->vm;
    row->key[KEY_DEVICE] = place->device;
    row->key[KEY_HOST] = place->host;
    row->key[KEY_PEER] = detail->peer;
    row->key[KEY_REGISTERED] = detail->memory < 0 ? -1 : reader->memory[detail->memory];
}

static int group_details(struct reader *reader, const struct details *details)
{
    int is_own = is_by_place(reader->report);
    for (size_t i = 0; i < reader->row_count; i++) {
        int is_pair = function_is_point_to_point((enum function)reader->rows[i].function);
        int32_t common = is_pair ? -1 : common_source(details, i);
        for (size_t j = 0; j < details->filled[i]; j++) {
            const struct detail *detail = &details->items[details->first[i] + j];
            struct report_row row = reader->rows[i];
            row.operations = 1;
            /* For a rank, its own time counts and not that of its peers. */
            if (is_own)
                take_own_times(&row, detail);
            set_keys(reader, detail, detail->source >= 0 ? detail->source : common, &row);
            if (report_groups_add(reader->report, &row))
                return -1;
        }
    }
    return 0;
}

static int read_operations(struct reader *reader, struct store *store, int64_t run_id, struct error *error)
{
    struct details details = {0};
    struct block_scan scan;
    if (!reader->row_count)
        return 0;
    if (details_init(&details, reader)) {
        details_release(&details);
        return error_no_memory(error);
    }
    int more = scan_operations(&scan, store, run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (take_operations(reader, &details, &scan, error))
            more = -1;
    scan_release(&scan);
    if (!more && group_details(reader, &details))
        more = error_no_memory(error);
    details_release(&details);
    return more;
}

static int read_instances(struct reader *reader, struct store *store, int64_t run_id, struct error *error)
{
    struct block_scan scan;
    int more = scan_instances(&scan, store, run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (take_instances(reader, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}

static int load_memory(struct reader *reader, struct store *store, int64_t run_id, struct error *error)
{
    static const char *const names[] = {"not registered", "registered"};
    if (!report_groups_is_by(reader->report, KEY_REGISTERED))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((reader->memory[i] = report_groups_text(reader->report, names[i])) < 0)
            return error_no_memory(error);
    return known_memory_load(&reader->known, store, &reader->roster, run_id, HOOK_NOT_SAID, error);
}

static int read_all(struct reader *reader, struct store *store, int64_t run_id, struct error *error)
{
    if (roster_load(&reader->roster, store, run_id, error) ||
        roster_load_members(&reader->roster, store, run_id, error) ||
        roster_load_facts(&reader->roster, store, run_id, error))
        return -1;
    if (number_names(reader) || take_communicators(reader) || take_ranks(reader) ||
        places_init(&reader->places, &reader->roster, reader->report))
        return error_no_memory(error);
    if (report_groups_is_by(reader->report, KEY_SOURCE) &&
        report_sources_read(&reader->sources, reader->report, store, run_id, error))
        return -1;
    if (load_memory(reader, store, run_id, error) || read_instances(reader, store, run_id, error))
        return -1;
    return reader->keep ? read_operations(reader, store, run_id, error) : 0;
}

int report_groups_read(struct report_groups *report, struct store *store, int64_t run_id, struct error *error)
{
    struct reader reader = {
        .report = report,
        .by_source = report_groups_is_by(report, KEY_SOURCE),
        .by_peer = report_groups_is_by(report, KEY_PEER),
        .keep = is_by_place(report) || report_groups_is_by(report, KEY_ALGORITHM) ||
                report_groups_is_by(report, KEY_PROTOCOL) || report_groups_is_by(report, KEY_SOURCE) ||
                report_groups_is_by(report, KEY_PEER) || report_groups_is_by(report, KEY_REGISTERED)};
    map_init(&reader.sources);
    int failed = read_all(&reader, store, run_id, error);
    places_release(&reader.places);
    map_release(&reader.sources);
    known_memory_release(&reader.known);
    roster_release(&reader.roster);
    free(reader.communicators);
    free(reader.names);
    free(reader.rows);
    return failed;
}
