/*
 * Sums up the calls of a run by group, by the state of their buffers (registered_memory.c), and estimates
 * what unregistered memory costs. Used by the command buffers.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/buffers.h"
#include "report/internal.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

const int stored_call_columns[STORED_CALL_COLUMNS] = {
    OPERATION_FUNCTION,     OPERATION_SEQUENCE,    OPERATION_BYTES,
    OPERATION_ROOT,         OPERATION_API_BEGIN,   OPERATION_ENQUEUE_BEGIN,
    OPERATION_DEVICE_BEGIN, OPERATION_SEND_BUFFER, OPERATION_RECEIVE_BUFFER,
};

static int64_t issued_ns(const struct block_reader *rows, size_t row)
{
    static const int columns[] = {OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!rows->absent[columns[i]][row])
            return rows->values[columns[i]][row];
    return TIME_UNKNOWN;
}

struct known_call stored_call(const struct block_scan *scan, const struct roster_member *member, size_t row)
{
    const struct block_reader *rows = &scan->rows;
    int64_t function = block_value(rows, OPERATION_FUNCTION, row, 0);
    return (struct known_call){
        .member = member,
        .file_id = scan->block_id >> 32,
        .function = function >= 0 && function < FUNCTION_COUNT ? (enum function)function : FUNCTION_OTHER,
        .sequence = block_value(rows, OPERATION_SEQUENCE, row, COUNT_UNKNOWN),
        .bytes = block_value(rows, OPERATION_BYTES, row, COUNT_UNKNOWN),
        .root = block_value(rows, OPERATION_ROOT, row, COUNT_UNKNOWN),
        .local_ns = issued_ns(rows, row),
        .send_buffer = (uint64_t)block_value(rows, OPERATION_SEND_BUFFER, row, 0),
        .receive_buffer = (uint64_t)block_value(rows, OPERATION_RECEIVE_BUFFER, row, 0),
    };
}

/*
 * A call that the filter selects: the index of its group, and the id of the instance that its operation was
 * joined with (-1: none).
 */
struct share_call {
    size_t group;
    int64_t instance_id;
    int64_t bytes;
    int has_time;
    struct registration_check judgement;
};

void shares_init(struct shares *shares)
{
    *shares = (struct shares){.filter = &filter_for_all};
    intern_init(&shares->texts);
    intern_init(&shares->group_names);
}

void shares_release(struct shares *shares)
{
    free(shares->groups);
    intern_release(&shares->texts);
    intern_release(&shares->group_names);
}

/* A pass over the blocks of operations. `take` is called for each selected call. */
struct walk {
    struct shares *shares;
    struct registration_index *known;
    struct block_scan scan;
    const struct roster_member *member;
    int (*take)(void *context, const struct share_call *call);
    void *context;
};

/* The number of a text; -1: it is NULL, -2: memory is out. */
static int64_t text_number(struct shares *shares, const char *text)
{
    if (!text)
        return -1;
    int64_t number = intern_put(&shares->texts, text, strlen(text));
    return number < 0 ? -2 : number;
}

static int64_t key_of(const struct walk *walk, size_t row, enum share_key key)
{
    const struct roster *roster = walk->known->roster;
    const struct job_communicator *communicator = &roster->communicators[walk->member->communicator];
    const struct block_reader *rows = &walk->scan.rows;
    enum function function = (enum function)block_value(rows, OPERATION_FUNCTION, row, 0);
    switch (key) {
    case SHARE_COMMUNICATOR:
        return text_number(walk->shares, communicator->label);
    case SHARE_TAG:
        return text_number(walk->shares, block_text(&walk->scan.joined, JOINED_TAG, row));
    case SHARE_FUNCTION:
        return text_number(walk->shares, function_name(function));
    case SHARE_SIZE:
        return function_size_bytes(function, block_value(rows, OPERATION_BYTES, row, -1), communicator->size);
    case SHARE_RANK:
        return walk->member->rank;
    case SHARE_STEP:
        return block_value(&walk->scan.joined, JOINED_STEP, row, -1);
    default:
        return roster->runs[communicator->run].id;
    }
}

/* Writes the numbers of the keys as text, because the map has no keys of that length. */
static size_t name_group(const struct shares *shares, const int64_t *key, char *name)
{
    size_t length = 0;
    for (size_t i = 0; i < shares->by_count; i++)
        for (unsigned j = 0; j < sizeof(int64_t) * 2; j++)
            name[length++] = (char)('a' + ((uint64_t)key[i] >> (4 * j) & 15));
    return length;
}

/* The index of a row's group, which is added if it is new; -1: memory is out. */
static int64_t find_group(const struct walk *walk, size_t row)
{
    struct shares *shares = walk->shares;
    int64_t key[SHARE_KEYS] = {0};
    char name[SHARE_KEYS * sizeof(int64_t) * 2];
    for (size_t i = 0; i < shares->by_count; i++)
        if ((key[i] = key_of(walk, row, shares->by[i])) < -1)
            return -1;
    int64_t number = intern_put(&shares->group_names, name, name_group(shares, key, name));
    if (number < 0 || array_reserve((void **)&shares->groups, &shares->capacity, (size_t)number + 1,
                                    sizeof *shares->groups))
        return -1;
    if ((size_t)number == shares->count) {
        shares->groups[shares->count] = (struct share_group){.calls = 0};
        memcpy(shares->groups[shares->count++].key, key, sizeof key);
    }
    return number;
}

static int is_looked_at(const struct walk *walk, size_t row)
{
    const struct filter *filter = walk->shares->filter;
    int64_t step = block_value(&walk->scan.joined, JOINED_STEP, row, -1);
    return filter_has_steps(filter, step, step) &&
           filter_is_text(filter->tag, block_text(&walk->scan.joined, JOINED_TAG, row));
}

/* Whether the filter selects the member; it applies to members as a whole. */
static int is_member_looked_at(const struct walk *walk)
{
    const struct filter *filter = walk->shares->filter;
    const struct roster *roster = walk->known->roster;
    return filter_is_text(filter->communicator, roster->communicators[walk->member->communicator].label) &&
           filter_has_rank(filter, roster->ranks[walk->member->rank].global_rank);
}

static int take_row(struct walk *walk, size_t row)
{
    struct known_call call = stored_call(&walk->scan, walk->member, row);
    struct registration_check judgement = known_memory_judge(walk->known, &call);
    if (call.bytes <= 0 || !is_looked_at(walk, row))
        return 0;
    int64_t group = find_group(walk, row);
    if (group < 0)
        return -1;
    struct share_call taken = {.group = (size_t)group,
                               .instance_id = block_value(&walk->scan.joined, JOINED_INSTANCE, row, -1),
                               .bytes = call.bytes,
                               .has_time = known_memory_has_time(walk->known, &call),
                               .judgement = judgement};
    return walk->take(walk->context, &taken);
}

static int take_block(struct walk *walk, struct error *error)
{
    static const int joined[] = {JOINED_INSTANCE, JOINED_STEP, JOINED_TAG};
    walk->member = roster_member(walk->known->roster, walk->scan.owner_id);
    if (!walk->member || !is_member_looked_at(walk))
        return 0;
    if (scan_columns(&walk->scan, stored_call_columns, STORED_CALL_COLUMNS, error) ||
        scan_joined_columns(&walk->scan, joined, sizeof joined / sizeof *joined, error))
        return -1;
    for (size_t i = 0; i < walk->scan.rows.count; i++)
        if (take_row(walk, i))
            return error_no_memory(error);
    return 0;
}

static int shares_walk(struct shares *shares, struct registration_index *known, struct store *store,
                       int64_t run_id, int (*take)(void *context, const struct share_call *call),
                       void *context, struct error *error)
{
    struct walk walk = {.shares = shares, .known = known, .take = take, .context = context};
    known_memory_restart(known);
    int more = scan_operations(&walk.scan, store, run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&walk.scan, error)) == 1)
        if (take_block(&walk, error))
            more = -1;
    scan_release(&walk.scan);
    return more;
}

static int sum_up(void *context, const struct share_call *call)
{
    struct shares *shares = context;
    struct share_group *group = &shares->groups[call->group];
    const struct registration_check *judgement = &call->judgement;
    int is_registered = judgement->state == MEMORY_REGISTERED;
    group->calls++;
    group->bytes += call->bytes;
    group->judged_bytes += memory_is_judged(judgement->state) ? call->bytes : 0;
    group->registered_calls += is_registered;
    group->registered_bytes += is_registered ? call->bytes : 0;
    group->usable_bytes += judgement->can_be_used ? call->bytes : 0;
    group->used_bytes += judgement->is_used ? call->bytes : 0;
    group->failed_calls += judgement->has_failed;
    group->state_calls[judgement->state]++;
    group->state_bytes[judgement->state] += call->bytes;
    shares->source_calls[judgement->source]++;
    shares->snapshot_calls_without_time += judgement->source == SOURCE_SNAPSHOT && !call->has_time;
    return 0;
}

int shares_read(struct shares *shares, struct registration_index *known, struct store *store, int64_t run_id,
                struct error *error)
{
    return shares_walk(shares, known, store, run_id, sum_up, shares, error);
}

static int by_missed_bytes(const void *a, const void *b)
{
    const struct share_group *left = a, *right = b;
    int64_t left_missed = left->judged_bytes - left->registered_bytes;
    int64_t right_missed = right->judged_bytes - right->registered_bytes;
    if (left_missed != right_missed)
        return left_missed > right_missed ? -1 : 1;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    for (size_t i = 0; i < SHARE_KEYS; i++)
        if (left->key[i] != right->key[i])
            return left->key[i] < right->key[i] ? -1 : 1;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int share_key_is_text(enum share_key key)
{
    return key == SHARE_COMMUNICATOR || key == SHARE_TAG || key == SHARE_FUNCTION;
}

static int renumber(struct shares *shares, struct intern *sorted)
{
    for (size_t i = 0; i < shares->count; i++)
        for (size_t k = 0; k < shares->by_count; k++) {
            int64_t *key = &shares->groups[i].key[k];
            if (*key < 0 || !share_key_is_text(shares->by[k]))
                continue;
            const char *text = intern_text(&shares->texts, *key);
            if ((*key = intern_put(sorted, text, strlen(text))) < 0)
                return -1;
        }
    return 0;
}

/* Renumbers the texts in alphabetical order, so that the result does not depend on the order of files. */
static int order_texts(struct shares *shares)
{
    struct intern sorted;
    const char **texts = array_new(shares->texts.count + 1, sizeof *texts);
    int failed = !texts;
    intern_init(&sorted);
    for (size_t i = 0; texts && i < shares->texts.count; i++)
        texts[i] = intern_text(&shares->texts, (int64_t)i);
    if (texts)
        array_sort(texts, shares->texts.count, sizeof *texts, by_text);
    for (size_t i = 0; !failed && i < shares->texts.count; i++)
        failed = intern_put(&sorted, texts[i], strlen(texts[i])) < 0;
    free(texts);
    if (failed || renumber(shares, &sorted)) {
        intern_release(&sorted);
        return -1;
    }
    intern_release(&shares->texts);
    shares->texts = sorted;
    return 0;
}

int shares_sort(struct shares *shares)
{
    if (order_texts(shares))
        return -1;
    array_sort(shares->groups, shares->count, sizeof *shares->groups, by_missed_bytes);
    return 0;
}

/*
 * The cost of unregistered memory, if the trace has operations of both kinds. An operation (of all its ranks)
 * in which some rank used unregistered memory is compared with the median of the operations of the same
 * communicator, function and size in which all ranks used registered memory. The times are transfer times,
 * the shortest over the ranks, so that they contain no wait time.
 */

/* Fewest registered operations for a median. */
enum { COST_LEAST_OPERATIONS = 5 };

/* One rank's call in an operation. */
struct part {
    int64_t instance_id;
    uint32_t group;
    uint8_t is_missed;
    uint8_t is_judged;
};

/* An operation: all its ranks used registered memory, or some did not. */
struct whole {
    int64_t communicator_id;
    int64_t function;
    int64_t size_bytes;
    int64_t transfer_ns;
    size_t first; /* index of its first part */
    size_t end;
    int is_missed;
};

struct costing {
    struct part *parts; /* owned */
    size_t part_count;
    size_t part_capacity;
    struct whole *wholes; /* owned */
    size_t whole_count;
    size_t whole_capacity;
};

static int keep_part(void *context, const struct share_call *call)
{
    struct costing *costing = context;
    if (call->instance_id < 0)
        return 0;
    if (call->group > UINT32_MAX || array_reserve((void **)&costing->parts, &costing->part_capacity,
                                                  costing->part_count + 1, sizeof *costing->parts))
        return -1;
    enum memory_state state = call->judgement.state;
    costing->parts[costing->part_count++] = (struct part){
        call->instance_id, (uint32_t)call->group,
        (uint8_t)(memory_is_judged(state) && state != MEMORY_REGISTERED), (uint8_t)memory_is_judged(state)};
    return 0;
}

static int by_instance(const void *a, const void *b)
{
    const struct part *left = a, *right = b;
    if (left->instance_id != right->instance_id)
        return left->instance_id < right->instance_id ? -1 : 1;
    return (left->group > right->group) - (left->group < right->group);
}

static int is_part_before(const void *part, const void *instance_id)
{
    return ((const struct part *)part)->instance_id < *(const int64_t *)instance_id;
}

/* The first part whose instance id is at least the given one. */
static size_t find_part(const struct costing *costing, int64_t instance_id)
{
    return lower_bound(costing->parts, costing->part_count, sizeof *costing->parts, is_part_before,
                       &instance_id);
}

static int keep_whole(struct costing *costing, const struct block_scan *scan, size_t row)
{
    int64_t id = scan->block_id + scan->rows.values[INSTANCE_ORDINAL][row];
    struct whole whole = {.communicator_id = scan->owner_id,
                          .function = block_value(&scan->rows, INSTANCE_FUNCTION, row, 0),
                          .size_bytes = block_value(&scan->rows, INSTANCE_SIZE_BYTES, row, -1),
                          .transfer_ns = block_value(&scan->rows, INSTANCE_TRANSFER, row, TIME_UNKNOWN),
                          .first = find_part(costing, id)};
    int is_judged = 1;
    for (whole.end = whole.first;
         whole.end < costing->part_count && costing->parts[whole.end].instance_id == id; whole.end++) {
        whole.is_missed |= costing->parts[whole.end].is_missed;
        is_judged &= costing->parts[whole.end].is_judged;
    }
    if (whole.end == whole.first || !is_judged || whole.transfer_ns == TIME_UNKNOWN || whole.size_bytes <= 0)
        return 0;
    if (array_reserve((void **)&costing->wholes, &costing->whole_capacity, costing->whole_count + 1,
                      sizeof *costing->wholes))
        return -1;
    costing->wholes[costing->whole_count++] = whole;
    return 0;
}

static int read_wholes(struct costing *costing, struct store *store, int64_t run_id, struct error *error)
{
    static const int columns[] = {INSTANCE_ORDINAL, INSTANCE_FUNCTION, INSTANCE_SIZE_BYTES,
                                  INSTANCE_TRANSFER};
    struct block_scan scan;
    int more = scan_instances(&scan, store, run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1) {
        if (scan_columns(&scan, columns, sizeof columns / sizeof *columns, error))
            more = -1;
        for (size_t i = 0; more == 1 && i < scan.rows.count; i++)
            if (keep_whole(costing, &scan, i))
                more = error_no_memory(error);
    }
    scan_release(&scan);
    return more;
}

/* Sorts like operations together, registered ones first. */
static int by_likeness(const void *a, const void *b)
{
    const struct whole *left = a, *right = b;
    int order = compare_integers(left->communicator_id, right->communicator_id);
    order = order ? order : compare_integers(left->function, right->function);
    order = order ? order : compare_integers(left->size_bytes, right->size_bytes);
    return order ? order : left->is_missed - right->is_missed;
}

static int is_alike(const struct whole *left, const struct whole *right)
{
    return left->communicator_id == right->communicator_id && left->function == right->function &&
           left->size_bytes == right->size_bytes;
}

/* Adds the cost of an operation once to each group that had a call on unregistered memory in it. */
static void charge(struct shares *shares, const struct costing *costing, const struct whole *whole,
                   int64_t usual_ns)
{
    int64_t charged = -1;
    for (size_t i = whole->first; i < whole->end; i++) {
        const struct part *part = &costing->parts[i];
        if (!part->is_missed || part->group == charged)
            continue;
        charged = part->group;
        shares->groups[part->group].lost_ns += (double)(whole->transfer_ns - usual_ns);
        shares->groups[part->group].compared++;
    }
}

/* Compares like operations, from `first` on. Returns the index after the last of them. */
static size_t compare_alike(struct shares *shares, const struct costing *costing, size_t first,
                            int64_t *transfers)
{
    size_t registered = 0, end = first;
    for (; end < costing->whole_count && is_alike(&costing->wholes[first], &costing->wholes[end]); end++)
        if (!costing->wholes[end].is_missed)
            transfers[registered++] = costing->wholes[end].transfer_ns;
    if (registered < COST_LEAST_OPERATIONS)
        return end;
    int64_t usual_ns = median_of(transfers, registered);
    for (size_t i = first + registered; i < end; i++)
        charge(shares, costing, &costing->wholes[i], usual_ns);
    return end;
}

static int compare_all(struct shares *shares, struct costing *costing)
{
    int64_t *transfers = array_new(costing->whole_count, sizeof *transfers);
    if (!transfers)
        return -1;
    array_sort(costing->wholes, costing->whole_count, sizeof *costing->wholes, by_likeness);
    for (size_t i = 0; i < costing->whole_count;)
        i = compare_alike(shares, costing, i, transfers);
    free(transfers);
    return 0;
}

/* Whether there are operations on registered memory and on other memory. */
static int has_both(const struct shares *shares)
{
    int64_t registered = 0, missed = 0;
    for (size_t i = 0; i < shares->count; i++) {
        registered += shares->groups[i].registered_bytes;
        missed += shares->groups[i].judged_bytes - shares->groups[i].registered_bytes;
    }
    return registered > 0 && missed > 0;
}

int shares_cost(struct shares *shares, struct registration_index *known, struct store *store, int64_t run_id,
                struct error *error)
{
    struct costing costing = {NULL};
    if (!has_both(shares))
        return 0;
    int failed = shares_walk(shares, known, store, run_id, keep_part, &costing, error);
    array_sort(costing.parts, costing.part_count, sizeof *costing.parts, by_instance);
    failed = failed || read_wholes(&costing, store, run_id, error);
    if (!failed && compare_all(shares, &costing))
        failed = error_no_memory(error);
    free(costing.parts);
    free(costing.wholes);
    return failed ? -1 : 0;
}
