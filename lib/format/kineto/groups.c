/*
 * The process groups of a Kineto trace: finds them by name and ranks, completes truncated lists of ranks, and
 * computes the hashes of their communicators.
 */
#include "base/base.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * Limit on the ranks of a job, and on all ranks together that are added to incomplete lists: a few bytes of a
 * trace can stand for any number of ranks.
 */
enum { RANKS_MOST = 1 << 20 };

void kineto_groups_init(struct kineto_groups *groups)
{
    *groups = (struct kineto_groups){.items = NULL};
    intern_init(&groups->keys);
}

static void release_list(struct kineto_group *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(items[i].name);
        free(items[i].description);
        free(items[i].ranks);
    }
    free(items);
}

void kineto_groups_release(struct kineto_groups *groups)
{
    intern_release(&groups->keys);
    release_list(groups->items, groups->count);
    release_list(groups->configured, groups->configured_count);
}

static int add_rank(struct kineto_group *group, size_t *capacity, int64_t rank)
{
    if (array_reserve((void **)&group->ranks, capacity, group->rank_count + 1, sizeof *group->ranks))
        return -1;
    group->ranks[group->rank_count++] = rank;
    return 0;
}

/*
 * "[0, 1, 2]", or "[0, 1, ...]" if truncated. Any other text counts as truncated where it stops being a list.
 */
static int read_ranks(struct raw_json text, struct kineto_group *group)
{
    struct raw_json_cursor cursor;
    struct raw_json key, value;
    size_t capacity = 0;
    int64_t rank;
    int more;
    raw_json_enter(&cursor, text);
    while ((more = raw_json_next(&cursor, &key, &value)) == 1 && group->rank_count < RANKS_MOST &&
           !number_int64(value.text, value.length, &rank) && rank >= 0)
        if (add_rank(group, &capacity, rank))
            return -1;
    group->is_cut = more != 0;
    return 0;
}

/* Copies a text with its escapes resolved; NULL if memory is out. */
static char *copy_text(struct raw_json text)
{
    struct buffer buffer = BUFFER_INIT;
    if (buffer_append_text(&buffer, "") || raw_json_unescape(text, &buffer)) {
        buffer_release(&buffer);
        return NULL;
    }
    return buffer_detach(&buffer);
}

static int name_group(struct kineto_group *group, struct raw_json name, struct raw_json description)
{
    group->name = copy_text(name);
    group->description = copy_text(description);
    return group->name && group->description ? 0 : -1;
}

/* Adds a zeroed element. */
static struct kineto_group *add_group(struct kineto_group **items, size_t *count, size_t *capacity)
{
    if (array_reserve((void **)items, capacity, *count + 1, sizeof **items))
        return NULL;
    struct kineto_group *group = &(*items)[(*count)++];
    *group = (struct kineto_group){.size = COUNT_UNKNOWN};
    return group;
}

/* Whether this many more ranks may be added to incomplete lists. */
static int has_room(struct kineto_groups *groups, size_t ranks)
{
    if (ranks > RANKS_MOST - groups->completed_ranks)
        return 0;
    groups->completed_ranks += ranks;
    return 1;
}

/* Fills in a truncated or missing list whose ranks are evenly spaced. */
static int spread_ranks(struct kineto_groups *groups, struct kineto_group *group, int64_t first,
                        int64_t stride)
{
    size_t capacity = group->rank_count;
    int64_t last;
    if ((!group->is_cut && group->rank_count) || first < 0 || stride <= 0 || group->size <= 0 ||
        group->size > RANKS_MOST || __builtin_mul_overflow(stride, group->size - 1, &last) ||
        last > INT64_MAX - first)
        return 0;
    for (size_t i = 0; i < group->rank_count; i++)
        if (group->ranks[i] != first + stride * (int64_t)i)
            return 0;
    if (!has_room(groups, (size_t)group->size))
        return 0;
    while ((int64_t)group->rank_count < group->size)
        if (add_rank(group, &capacity, first + stride * (int64_t)group->rank_count))
            return -1;
    group->is_cut = 0;
    return 0;
}

static int make_group(struct kineto_groups *groups, const struct kineto_arguments *arguments)
{
    struct kineto_group *group = add_group(&groups->items, &groups->count, &groups->capacity);
    if (!group || name_group(group, arguments->group, arguments->description))
        return -1;
    group->size = arguments->group_size > 0 ? arguments->group_size : COUNT_UNKNOWN;
    return arguments->ranks.length ? read_ranks(arguments->ranks, group) : 0;
}

/* The key that distinguishes groups: name and ranks, as split groups share a name. */
static int make_key(const struct kineto_arguments *arguments, struct buffer *key)
{
    return buffer_append(key, arguments->group.text, arguments->group.length) ||
                   buffer_append_byte(key, '\n') ||
                   buffer_append(key, arguments->ranks.text, arguments->ranks.length) ||
                   buffer_printf(key, "\n%lld", (long long)arguments->group_size)
               ? -1
               : 0;
}

int kineto_groups_find(struct kineto_groups *groups, const struct kineto_arguments *arguments, int32_t *group)
{
    struct buffer key = BUFFER_INIT;
    *group = KINETO_NO_GROUP;
    if (!arguments->group.length && !arguments->ranks.length && arguments->group_size <= 0)
        return 0;
    size_t known = groups->keys.count;
    int64_t number = make_key(arguments, &key) ? -1 : intern_put(&groups->keys, key.data, key.length);
    buffer_release(&key);
    if (number < 0 || (groups->keys.count > known && make_group(groups, arguments)))
        return -1;
    *group = (int32_t)number;
    return spread_ranks(groups, &groups->items[number], arguments->first_rank, arguments->stride);
}

int kineto_groups_configure(struct kineto_groups *groups, struct raw_json text)
{
    struct raw_json_cursor cursor;
    struct raw_json key, value, name = {"", 0}, description = {"", 0}, ranks = {NULL, 0};
    raw_json_enter(&cursor, text);
    while (raw_json_next(&cursor, &key, &value) == 1) {
        if (raw_json_is(key, "pg_name") && raw_json_string(value, &name))
            name = (struct raw_json){"", 0};
        if (raw_json_is(key, "pg_desc") && raw_json_string(value, &description))
            description = (struct raw_json){"", 0};
        if (raw_json_is(key, "ranks") && raw_json_string(value, &ranks))
            ranks = value;
    }
    if (!ranks.length)
        return 0;
    struct kineto_group *group =
        add_group(&groups->configured, &groups->configured_count, &groups->configured_capacity);
    if (!group || name_group(group, name, description) || read_ranks(ranks, group))
        return -1;
    group->size = group->is_cut ? COUNT_UNKNOWN : (int64_t)group->rank_count;
    return 0;
}

int kineto_groups_world(struct kineto_groups *groups, int64_t world_size, int32_t *group)
{
    struct kineto_arguments arguments = {.group_size = world_size, .first_rank = 0, .stride = 1};
    if (groups->configured_count == 1) {
        arguments.group = (struct raw_json){groups->configured[0].name, strlen(groups->configured[0].name)};
        arguments.group_size = groups->configured[0].size;
        arguments.first_rank = COUNT_UNKNOWN;
    }
    return kineto_groups_find(groups, &arguments, group);
}

/* Whether what is known of a group fits a group of pg_config. */
static int is_same(const struct kineto_group *group, const struct kineto_group *configured)
{
    if (configured->is_cut || strcmp(group->name, configured->name) != 0 ||
        group->rank_count > configured->rank_count ||
        (group->size > 0 && group->size != (int64_t)configured->rank_count))
        return 0;
    return group->rank_count == 0 ||
           memcmp(group->ranks, configured->ranks, group->rank_count * sizeof *group->ranks) == 0;
}

static int take_ranks(struct kineto_groups *groups, struct kineto_group *group,
                      const struct kineto_group *configured)
{
    if (!has_room(groups, configured->rank_count))
        return 0;
    int64_t *ranks = array_new(configured->rank_count, sizeof *ranks);
    if (!ranks)
        return -1;
    if (configured->rank_count)
        memcpy(ranks, configured->ranks, configured->rank_count * sizeof *ranks);
    free(group->ranks);
    group->ranks = ranks;
    group->rank_count = configured->rank_count;
    group->is_cut = 0;
    return 0;
}

/*
 * Flight Recorder uses the same group names but numbers calls differently, so both are read as separate runs.
 * Matching runs are found by the times of calls (lib/join/recorders.h).
 */
static uint64_t hash_of(const struct kineto_group *group)
{
    static const uint64_t of_profiler = UINT64_C(0x6b696e65746f); /* "kineto" */
    uint64_t hash = communicator_hash_of(group->name, group->ranks, group->rank_count) ^ of_profiler;
    return hash ? hash : of_profiler;
}

static int complete(struct kineto_groups *groups, struct kineto_group *group, int64_t world_size)
{
    for (size_t i = 0; i < groups->configured_count; i++)
        if (is_same(group, &groups->configured[i]))
            return take_ranks(groups, group, &groups->configured[i]);
    return group->size == world_size ? spread_ranks(groups, group, 0, 1) : 0;
}

int kineto_groups_settle(struct kineto_groups *groups, int64_t world_size)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct kineto_group *group = &groups->items[i];
        if (group->hash || group->is_library)
            continue;
        if ((group->is_cut || !group->rank_count) && complete(groups, group, world_size))
            return -1;
        if (group->size <= 0 && !group->is_cut)
            group->size = (int64_t)group->rank_count;
        if (group->rank_count)
            group->hash = hash_of(group);
    }
    return 0;
}

int64_t kineto_group_rank(const struct kineto_group *group, int64_t global_rank)
{
    for (size_t i = 0; i < group->rank_count; i++)
        if (group->ranks[i] == global_rank)
            return (int64_t)i;
    return COUNT_UNKNOWN;
}

static int is_in_all(const struct kineto_groups *groups, int64_t rank)
{
    for (size_t i = 0; i < groups->count; i++)
        if (!groups->items[i].is_cut && groups->items[i].rank_count &&
            kineto_group_rank(&groups->items[i], rank) < 0)
            return 0;
    return 1;
}

int64_t kineto_groups_common_rank(const struct kineto_groups *groups)
{
    const struct kineto_group *least = NULL;
    int64_t common = COUNT_UNKNOWN;
    for (size_t i = 0; i < groups->count; i++)
        if (!groups->items[i].is_cut && groups->items[i].rank_count &&
            (!least || groups->items[i].rank_count < least->rank_count))
            least = &groups->items[i];
    for (size_t i = 0; least && i < least->rank_count; i++) {
        if (!is_in_all(groups, least->ranks[i]))
            continue;
        if (common != COUNT_UNKNOWN)
            return COUNT_UNKNOWN;
        common = least->ranks[i];
    }
    return common;
}

/* Whether the kernels of a library may run in a group. */
static int may_be_of(const struct kineto_group *group, int64_t ranks, int64_t own_rank)
{
    return !group->is_cut && !group->is_library && group->rank_count > 1 &&
           (ranks < 0 || (size_t)ranks == group->rank_count) &&
           (own_rank < 0 || kineto_group_rank(group, own_rank) >= 0);
}

static int has_same_ranks(const struct kineto_group *one, const struct kineto_group *other)
{
    return one->rank_count == other->rank_count &&
           memcmp(one->ranks, other->ranks, one->rank_count * sizeof *one->ranks) == 0;
}

static int is_row(const struct kineto_group *group)
{
    for (size_t i = 1; i < group->rank_count; i++)
        if (group->ranks[i] != group->ranks[i - 1] + 1)
            return 0;
    return 1;
}

/* The candidates for the group of a library, and whether those of a kind differ in their ranks. */
struct candidates {
    const struct kineto_group *any;
    const struct kineto_group *row; /* ranks in a row */
    const struct kineto_group *largest;
    int differ;
    int rows_differ;
    int largest_differ;
};

/* Takes a candidate of one kind, unless there is one. */
static void take_candidate(const struct kineto_group **kept, int *differ, const struct kineto_group *group)
{
    *kept = *kept ? *kept : group;
    *differ |= !has_same_ranks(*kept, group);
}

static void take_candidates(struct candidates *found, const struct kineto_group *items, size_t count,
                            int64_t ranks, int64_t own_rank)
{
    for (size_t i = 0; i < count; i++) {
        const struct kineto_group *group = &items[i];
        if (!may_be_of(group, ranks, own_rank))
            continue;
        take_candidate(&found->any, &found->differ, group);
        if (is_row(group))
            take_candidate(&found->row, &found->rows_differ, group);
        if (found->largest && group->rank_count > found->largest->rank_count) {
            found->largest = NULL;
            found->largest_differ = 0;
        }
        if (!found->largest || group->rank_count == found->largest->rank_count)
            take_candidate(&found->largest, &found->largest_differ, group);
    }
}

/* The group that the candidates leave; NULL: unknown. *is_doubtful: it is only the largest of several. */
static const struct kineto_group *choose(const struct candidates *found, int *is_doubtful)
{
    *is_doubtful = 0;
    if (!found->differ)
        return found->any;
    if (found->row && !found->rows_differ)
        return found->row;
    *is_doubtful = 1;
    return found->largest_differ ? NULL : found->largest;
}

/*
 * The ranks of a library's kernels, without a group that fits: all ranks of the job, or as many ranks in a
 * row as the kernel has members.
 */
static int fill_row(struct kineto_groups *groups, struct kineto_group *group, int64_t ranks, int64_t own_rank,
                    int64_t world_size)
{
    int64_t size = ranks < 0 ? world_size : ranks, all = world_size < 0 ? size : world_size;
    if (groups->configured_count || own_rank < 0 || size < 2 || all % size != 0 ||
        (world_size >= 0 && own_rank >= world_size))
        return 0;
    group->size = size;
    return spread_ranks(groups, group, own_rank / size * size, 1);
}

/* Adds a zeroed group of libraries. */
static struct kineto_group *add_library_group(struct kineto_groups *groups)
{
    struct kineto_group *group = add_group(&groups->items, &groups->count, &groups->capacity);
    if (group) {
        group->is_library = 1;
        groups->library_count++;
    }
    return group;
}

static int make_library_group(struct kineto_groups *groups, const struct kineto_library_kernel *kernel,
                              int64_t own_rank, int64_t world_size)
{
    static const char without_nccl[] = "without NCCL"; /* schemas/analysis/caution.sql looks for it */
    struct candidates found = {.any = NULL};
    struct raw_json name = {kernel->library, strlen(kernel->library)};
    take_candidates(&found, groups->configured, groups->configured_count, kernel->ranks, own_rank);
    take_candidates(&found, groups->items, groups->count, kernel->ranks, own_rank);
    int is_doubtful;
    const struct kineto_group *like = choose(&found, &is_doubtful);
    struct kineto_group copy = like ? *like : (struct kineto_group){.ranks = NULL};
    struct kineto_group *group = add_library_group(groups);
    if (!group || name_group(group, name, (struct raw_json){without_nccl, sizeof without_nccl - 1}))
        return -1;
    group->size = (int64_t)copy.rank_count;
    group->is_doubtful = is_doubtful;
    int failed = like         ? take_ranks(groups, group, &copy)
                 : !found.any ? fill_row(groups, group, kernel->ranks, own_rank, world_size)
                              : 0;
    group->hash = group->rank_count ? hash_of(group) : 0;
    return failed;
}

/* The first group of all ranks of the job; NULL. */
static const struct kineto_group *group_of_job(const struct kineto_group *items, size_t count,
                                               int64_t world_size)
{
    for (size_t i = 0; i < count; i++)
        if (!items[i].is_library && !items[i].is_cut && (int64_t)items[i].rank_count == world_size)
            return &items[i];
    return NULL;
}

/* Adds a group like a configured one, for operations that do not name it. */
static int add_like(struct kineto_groups *groups, const struct kineto_group *like)
{
    struct kineto_group copy = *like;
    struct kineto_group *group = add_library_group(groups);
    if (!group ||
        name_group(group, (struct raw_json){copy.name, strlen(copy.name)},
                   (struct raw_json){copy.description, strlen(copy.description)}) ||
        take_ranks(groups, group, &copy))
        return -1;
    group->size = (int64_t)group->rank_count;
    group->hash = group->rank_count ? hash_of(group) : 0;
    return 0;
}

int kineto_groups_job(struct kineto_groups *groups, int64_t world_size)
{
    static const char key[] = "\n\njob";
    const struct kineto_group *like = group_of_job(groups->configured, groups->configured_count, world_size);
    size_t known = groups->keys.count;
    if (!like || group_of_job(groups->items, groups->count, world_size))
        return 0;
    if (intern_put(&groups->keys, key, sizeof key - 1) < 0)
        return -1;
    return groups->keys.count > known ? add_like(groups, like) : 0;
}

int kineto_groups_nameless(struct kineto_groups *groups, int64_t own_rank, int32_t *group)
{
    static const char key[] = "\n\nnameless";
    struct candidates found = {.any = NULL};
    size_t known = groups->keys.count;
    *group = KINETO_NO_GROUP;
    take_candidates(&found, groups->configured, groups->configured_count, COUNT_UNKNOWN, own_rank);
    if (!found.any || found.differ || own_rank < 0)
        return 0;
    int64_t number = intern_put(&groups->keys, key, sizeof key - 1);
    if (number < 0 || (groups->keys.count > known && add_like(groups, found.any)))
        return -1;
    *group = (int32_t)number;
    return 0;
}

/* The only group of a library so far; KINETO_NO_GROUP. */
static int32_t only_group_of(const struct kineto_groups *groups, const char *library)
{
    int32_t only = KINETO_NO_GROUP;
    for (size_t i = 0; i < groups->count; i++) {
        const struct kineto_group *group = &groups->items[i];
        if (!group->is_library || group->is_doubtful || !group->rank_count ||
            strcmp(group->name, library) != 0)
            continue;
        if (only != KINETO_NO_GROUP && !has_same_ranks(group, &groups->items[only]))
            return KINETO_NO_GROUP;
        only = only == KINETO_NO_GROUP ? (int32_t)i : only;
    }
    return only;
}

int kineto_groups_of_library(struct kineto_groups *groups, const struct kineto_library_kernel *kernel,
                             int64_t own_rank, int64_t world_size, int32_t *group)
{
    struct buffer key = BUFFER_INIT;
    size_t known = groups->keys.count;
    *group = kernel->ranks < 0 ? only_group_of(groups, kernel->library) : KINETO_NO_GROUP;
    if (*group != KINETO_NO_GROUP)
        return 0;
    int failed = buffer_printf(&key, "\n%s\n%lld", kernel->library, (long long)kernel->ranks);
    int64_t number = failed ? -1 : intern_put(&groups->keys, key.data, key.length);
    buffer_release(&key);
    if (number < 0 ||
        (groups->keys.count > known && make_library_group(groups, kernel, own_rank, world_size)))
        return -1;
    *group = groups->items[number].rank_count ? (int32_t)number : KINETO_NO_GROUP;
    return 0;
}
