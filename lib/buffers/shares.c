#include "buffers/shares.h"

#include "base/array.h"
#include "buffers/stored_call.h"
#include "model/block_read.h"
#include "store/scan.h"

#include <stdlib.h>
#include <string.h>

void shares_init(struct shares *shares)
{
    *shares = (struct shares){.filter = {.last_step = INT64_MAX}};
    intern_init(&shares->texts);
    intern_init(&shares->group_names);
}

void shares_release(struct shares *shares)
{
    free(shares->groups);
    intern_release(&shares->texts);
    intern_release(&shares->group_names);
}

/* A block of operations that is gone through. */
struct walk {
    struct shares *shares;
    struct known_memory *known;
    struct block_scan scan;
    const struct roster_member *member;
    int (*take)(void *context, const struct share_call *call);
    void *context;
};

/* The number of a text; -1: it is NULL, -2: no memory. */
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

/* The keys' numbers as text, for want of a map with so long keys. */
static size_t name_group(const struct shares *shares, const int64_t *key, char *name)
{
    size_t length = 0;
    for (size_t i = 0; i < shares->by_count; i++)
        for (unsigned j = 0; j < sizeof(int64_t) * 2; j++)
            name[length++] = (char)('a' + ((uint64_t)key[i] >> (4 * j) & 15));
    return length;
}

/* The number of a row's group; -1: no memory. */
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

static int is_text(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

static int is_looked_at(const struct walk *walk, size_t row)
{
    const struct share_filter *filter = &walk->shares->filter;
    int64_t step = block_value(&walk->scan.joined, JOINED_STEP, row, -1);
    int in_steps = (filter->first_step == 0 && filter->last_step == INT64_MAX) ||
                   (step >= 0 && step >= filter->first_step && step <= filter->last_step);
    return in_steps && is_text(filter->tag, block_text(&walk->scan.joined, JOINED_TAG, row));
}

/* Members are left out as a whole. */
static int is_member_looked_at(const struct walk *walk)
{
    const struct share_filter *filter = &walk->shares->filter;
    const struct roster *roster = walk->known->roster;
    return is_text(filter->communicator, roster->communicators[walk->member->communicator].label) &&
           (!filter->has_rank ||
            filter->has_rank(filter->context, roster->ranks[walk->member->rank].global_rank));
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

int shares_walk(struct shares *shares, struct known_memory *known, struct store *store, int64_t run_id,
                int (*take)(void *context, const struct share_call *call), void *context, struct error *error)
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
    shares->timeless_calls += judgement->source == SOURCE_SNAPSHOT && !call->has_time;
    return 0;
}

int shares_read(struct shares *shares, struct known_memory *known, struct store *store, int64_t run_id,
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

/* Gives texts their numbers anew, in their order and not in that in which files arrived. */
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
