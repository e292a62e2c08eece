/*
 * What is compared as a whole, and which of these are sisters: the sends of a rank, what is sent to a rank, a
 * communicator, a sender with its receiver; and how long their transfers took. slow_groups.c compares the
 * times.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

const struct partition *transfer_groups_hosts(const struct transfer_groups *groups)
{
    for (size_t i = 0; i < groups->partitions.count; i++)
        if (groups->partitions.items[i].kind == UNIT_HOST)
            return &groups->partitions.items[i];
    return groups->edges->count && groups->partitions.count ? partitions_hosts(&groups->partitions) : NULL;
}

int transfer_groups_has_edge(const struct transfer_groups *groups, size_t at)
{
    const struct edge *edge = &groups->edges->items[at];
    return edge->step >= groups->first_step && edge->step < groups->job->step_count && edge->steps > 0 &&
           !groups->told.edges[at];
}

/*
 * Whether the transfer time of an instance can be compared. The network steps of an instance tell more.
 * Members of a group call finish together, which a recorder of finished operations cannot take apart.
 */
static int is_measured(const struct transfer_groups *groups, size_t at)
{
    const struct job *job = groups->job;
    const struct job_instance *instance = &job->instances[at];
    return instance->step >= groups->first_step && instance->step < job->step_count &&
           instance->transfer_ns > 0 && instance->members == instance->expected && instance->members > 1 &&
           !(instance->function == FUNCTION_SEND && instance->sender == instance->receiver) &&
           groups->edges->first[at] == groups->edges->first[at + 1] && !groups->told.instances[at] &&
           !(instance->function == FUNCTION_SEND && job_is_grouped(job, job_member_at(job, instance, 0)));
}

static struct map_key key_of(const struct job *job, const struct job_instance *instance)
{
    if (instance->function == FUNCTION_SEND)
        return (struct map_key){{1, (uint64_t)instance->sender, (uint64_t)instance->receiver}};
    return (struct map_key){{0, (uint64_t)job_first_communicator(job, job_member(job, instance, 0))}};
}

static int by_rank(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

size_t transfer_group_ranks(const struct transfer_groups *groups, size_t group, int32_t *ranks)
{
    const struct job *job = groups->job;
    if (groups->items[group].kind != TRANSFER_GROUP) {
        ranks[0] = groups->items[group].rank;
        return 1;
    }
    const struct job_instance *instance = &job->instances[groups->items[group].instance];
    size_t count = (size_t)instance->members;
    if (instance->function == FUNCTION_SEND) {
        ranks[0] = instance->sender;
        ranks[1] = instance->receiver;
        return 2;
    }
    for (size_t i = 0; i < count; i++)
        ranks[i] = job_member(job, instance, (int32_t)i)->rank;
    array_sort(ranks, count, sizeof *ranks, by_rank);
    return count;
}

/* Scratch for find_families. */
struct family_search {
    struct intern shapes;
    struct buffer text;
    int32_t *ranks;  /* owned: room for all ranks and two */
    int32_t *beside; /* owned: [host], members of a group; 0 between groups */
};

static int name_family(struct transfer_groups *groups, struct family_search *search, size_t group, int failed)
{
    int64_t number = failed ? -1 : intern_put(&search->shapes, search->text.data, search->text.length);
    groups->items[group].family = (int32_t)number;
    return number < 0 ? -1 : 0;
}

/*
 * Sister groups have members at the same distances from each other, and spread them in the same way over as
 * many hosts. Finds the family of a group. Returns -1 when memory runs out.
 */
static int find_family(struct transfer_groups *groups, struct family_search *search, size_t group)
{
    const struct partition *hosts = transfer_groups_hosts(groups);
    size_t count = transfer_group_ranks(groups, group, search->ranks);
    const int32_t *ranks = search->ranks;
    int failed = 0;
    buffer_clear(&search->text);
    if (groups->items[group].kind != TRANSFER_GROUP) {
        groups->items[group].crosses = 1;
        return name_family(groups, search, group,
                           buffer_append_text(&search->text, groups->items[group].kind == TRANSFER_SENDS
                                                                 ? "sends"
                                                                 : "receives"));
    }
    for (size_t i = 0; hosts && i < count; i++)
        search->beside[hosts->unit_of[ranks[i]]]++;
    groups->items[group].crosses = hosts ? search->beside[hosts->unit_of[ranks[0]]] < (int32_t)count : -1;
    for (size_t i = 0; !failed && i < count; i++)
        failed = buffer_printf(&search->text, "%d/%d ", (int)(ranks[i] - ranks[0]),
                               hosts ? (int)search->beside[hosts->unit_of[ranks[i]]] : 0);
    for (size_t i = 0; hosts && i < count; i++)
        search->beside[hosts->unit_of[ranks[i]]] = 0;
    return name_family(groups, search, group, failed);
}

static int by_family(const void *a, const void *b)
{
    const struct transfer_group *left = a, *right = b;
    if (left->family != right->family)
        return left->family < right->family ? -1 : 1;
    return left->number - right->number;
}

/* Replaces the old number of a group by its new one. */
static void renumber(int32_t *group, const int32_t *numbers)
{
    if (*group >= 0)
        *group = numbers[*group];
}

static void renumber_all(struct transfer_groups *groups, const int32_t *numbers)
{
    for (size_t i = 0; i < groups->job->instance_count; i++)
        renumber(&groups->of_instance[i], numbers);
    for (size_t rank = 0; rank < groups->job->rank_count; rank++) {
        renumber(&groups->of_sender[rank], numbers);
        renumber(&groups->of_receiver[rank], numbers);
    }
}

/* Sorts the groups by family, and renumbers them for the instances. -1 when memory runs out. */
static int sort_groups(struct transfer_groups *groups)
{
    int32_t *numbers = array_new(groups->count + 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < groups->count; i++)
        groups->items[i].number = (int32_t)i;
    array_sort(groups->items, numbers ? groups->count : 0, sizeof *groups->items, by_family);
    for (size_t i = 0; numbers && i < groups->count; i++)
        numbers[groups->items[i].number] = (int32_t)i;
    if (numbers)
        renumber_all(groups, numbers);
    free(numbers);
    return numbers ? 0 : -1;
}

static int find_families(struct transfer_groups *groups)
{
    size_t ranks = groups->job->rank_count;
    struct family_search search = {.text = BUFFER_INIT,
                                   .ranks = array_new(ranks + 2, sizeof *search.ranks),
                                   .beside = array_new(ranks + 1, sizeof *search.beside)};
    int failed = !search.ranks || !search.beside;
    intern_init(&search.shapes);
    for (size_t i = 0; !failed && i < groups->count; i++)
        failed = find_family(groups, &search, i);
    intern_release(&search.shapes);
    buffer_release(&search.text);
    free(search.ranks);
    free(search.beside);
    return failed || sort_groups(groups) ? -1 : 0;
}

static void see(int32_t group, int32_t step, int32_t *seen, int32_t *last)
{
    if (group < 0 || last[group] == step + 1)
        return;
    last[group] = step + 1;
    seen[group]++;
}

/* Counts the steps in which each group transfers. */
static void count_steps(const struct transfer_groups *groups, int32_t *seen, int32_t *last)
{
    const struct job *job = groups->job;
    struct job_range range = job_instances_in(job, 0, job->step_count - 1);
    for (size_t i = range.first; i < range.end; i++) {
        size_t at = (size_t)job->by_step[i];
        see(groups->of_instance[at], job->instances[at].step, seen, last);
        for (size_t edge = groups->edges->first[at]; edge < groups->edges->first[at + 1]; edge++) {
            const struct edge *link = &groups->edges->items[edge];
            if (!transfer_groups_has_edge(groups, edge))
                continue;
            see(groups->of_sender[link->sender], link->step, seen, last);
            see(groups->of_receiver[link->receiver], link->step, seen, last);
        }
    }
}

/*
 * Leaves out the groups that transfer in fewer than half of the steps: there is little to compare, and the
 * rows of all groups would need much more memory than the job.
 */
static int drop_rare_groups(struct transfer_groups *groups)
{
    int32_t *seen = array_new(groups->count + 1, sizeof *seen),
            *last = array_new(groups->count + 1, sizeof *last);
    size_t kept = 0;
    int failed = !seen || !last;
    if (!failed)
        count_steps(groups, seen, last);
    for (size_t i = 0; !failed && i < groups->count; i++) {
        int is_rare = (int64_t)seen[i] * 2 < groups->steps - groups->first_step;
        last[i] = is_rare ? -1 : (int32_t)kept;
        if (!is_rare)
            groups->items[kept++] = groups->items[i];
    }
    if (!failed)
        renumber_all(groups, last);
    groups->count = kept;
    free(seen);
    free(last);
    return failed ? -1 : 0;
}

/* Numbers the communicators and pairs, and notes the one of each instance that is measured. */
static int find_members(struct transfer_groups *groups, size_t *capacity)
{
    const struct job *job = groups->job;
    struct map numbers;
    int failed = 0;
    map_init(&numbers);
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        int added = 0;
        groups->of_instance[i] = -1;
        if (!is_measured(groups, i))
            continue;
        int64_t *number = map_put(&numbers, key_of(job, &job->instances[i]), (int64_t)groups->count, &added);
        failed = !number || (added && array_reserve((void **)&groups->items, capacity, groups->count + 1,
                                                    sizeof *groups->items));
        if (!failed)
            groups->of_instance[i] = (int32_t)*number;
        if (!failed && added)
            groups->items[groups->count++] =
                (struct transfer_group){.kind = TRANSFER_GROUP, .rank = -1, .instance = (int32_t)i};
    }
    map_release(&numbers);
    return failed ? -1 : 0;
}

/* Adds the sends of a rank, or what is sent to it, if they are new. */
static int add_side(struct transfer_groups *groups, size_t *capacity, enum transfer_kind kind, int32_t rank,
                    int32_t *number)
{
    if (*number >= 0)
        return 0;
    if (array_reserve((void **)&groups->items, capacity, groups->count + 1, sizeof *groups->items))
        return -1;
    *number = (int32_t)groups->count;
    groups->items[groups->count++] = (struct transfer_group){.kind = kind, .rank = rank, .instance = -1};
    return 0;
}

static int find_sides(struct transfer_groups *groups, size_t *capacity)
{
    for (size_t rank = 0; rank < groups->job->rank_count; rank++)
        groups->of_sender[rank] = groups->of_receiver[rank] = -1;
    for (size_t i = 0; i < groups->edges->count; i++) {
        const struct edge *edge = &groups->edges->items[i];
        if (transfer_groups_has_edge(groups, i) &&
            (add_side(groups, capacity, TRANSFER_SENDS, edge->sender, &groups->of_sender[edge->sender]) ||
             add_side(groups, capacity, TRANSFER_RECEIVES, edge->receiver,
                      &groups->of_receiver[edge->receiver])))
            return -1;
    }
    return 0;
}

int transfer_groups_find(struct transfer_groups *groups)
{
    const struct job *job = groups->job;
    size_t capacity = 0;
    groups->of_instance = array_new(job->instance_count + 1, sizeof *groups->of_instance);
    groups->of_sender = array_new(job->rank_count + 1, sizeof *groups->of_sender);
    groups->of_receiver = array_new(job->rank_count + 1, sizeof *groups->of_receiver);
    if (!groups->of_instance || !groups->of_sender || !groups->of_receiver ||
        find_members(groups, &capacity) || find_sides(groups, &capacity) ||
        (groups->count && drop_rare_groups(groups)))
        return -1;
    return groups->count &&
                   (partitions_init(&groups->partitions, job, groups->edges) || find_families(groups))
               ? -1
               : 0;
}

/*
 * What a group did in one step, of one kind: function, bytes and phase, in groups of one family; with network
 * steps, function, bytes and size of the communicator.
 */
struct transfer {
    int64_t bytes;
    int64_t of; /* phase or size of the communicator */
    int32_t family;
    int32_t function;
    int32_t kind; /* number_kinds() */
    int32_t step;
    int32_t group;
    double total_ns;
    double count;
    double sisters_ns; /* mean transfer time of its sisters; NAN: too few */
};

struct transfers {
    struct transfer *items;    /* owned, as are those below */
    struct transfer *sorted;   /* scratch */
    struct sort_entry *order;  /* scratch */
    struct sort_entry *merged; /* scratch */
    size_t count;
};

static int by_kind(const void *a, const void *b)
{
    const struct transfer *left = a, *right = b;
    if (left->family != right->family)
        return left->family < right->family ? -1 : 1;
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->of != right->of)
        return left->of < right->of ? -1 : 1;
    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* Numbers the kinds of the transfers, in ascending order. -1 when memory runs out. */
static int number_kinds(struct transfers *transfers)
{
    struct map numbers;
    struct transfer *kinds = transfers->sorted;
    size_t count = 0;
    int failed = 0, added;
    map_init(&numbers);
    for (size_t i = 0; !failed && i < transfers->count; i++) {
        struct transfer *transfer = &transfers->items[i];
        uint64_t both = (uint64_t)transfer->family << 32 | (uint32_t)transfer->function;
        struct map_key key = {{both, (uint64_t)transfer->of, (uint64_t)transfer->bytes}};
        int64_t *number = map_put(&numbers, key, (int64_t)count, &added);
        failed = !number;
        if (failed)
            break;
        transfer->kind = (int32_t)*number;
        if (added)
            kinds[count++] = *transfer;
    }
    map_release(&numbers);
    array_sort(kinds, count, sizeof *kinds, by_kind);
    for (size_t i = 0; i < count; i++)
        transfers->order[kinds[i].kind].index = (int32_t)i;
    for (size_t i = 0; !failed && i < transfers->count; i++)
        transfers->items[i].kind = transfers->order[transfers->items[i].kind].index;
    return failed ? -1 : 0;
}

/* Sorts by kind and step, then by group; or by kind and group, then by step. */
static void sort_transfers(struct transfers *transfers, const struct transfer_groups *groups, int by_group)
{
    struct transfer *items = transfers->items;
    int64_t each = by_group ? groups->steps : (int64_t)groups->count;
    for (size_t i = 0; i < transfers->count; i++) {
        int64_t first = by_group ? items[i].group : items[i].step,
                second = by_group ? items[i].step : items[i].group;
        int64_t kind = items[i].kind * (int64_t)groups->count * groups->steps;
        transfers->order[i] = (struct sort_entry){kind + first * each + second, (int32_t)i};
    }
    sort_entries(transfers->order, transfers->merged, transfers->count);
    for (size_t i = 0; i < transfers->count; i++)
        transfers->sorted[i] = items[transfers->order[i].index];
    transfers->items = transfers->sorted;
    transfers->sorted = items;
}

static double mean_of(const struct transfer *transfer)
{
    return transfer->total_ns / transfer->count;
}

/* -------------------- transfer times -------------------- */

/*
 * How exactly the time of a pair is known that dumps placed: within an interval of each side. Beside it, it
 * does not matter how many times as long a short transfer took, which is shorter if its data came before its
 * receive.
 */
static int64_t resolution_of(const struct job *job, const struct job_instance *instance)
{
    int64_t resolution_ns = 0;
    for (int32_t i = 0; instance->function == FUNCTION_SEND && i < instance->members; i++)
        if (job_member(job, instance, i)->stamped)
            resolution_ns += job->ranks[job_member(job, instance, i)->rank].dump_interval_ns;
    return resolution_ns;
}

static struct transfer transfer_of(const struct transfer_groups *groups, const struct job_instance *instance,
                                   int32_t group)
{
    return (struct transfer){.bytes = job_member(groups->job, instance, 0)->bytes,
                             .of = instance->tag,
                             .family = groups->items[group].family,
                             .function = (int32_t)instance->function,
                             .step = instance->step,
                             .group = group,
                             .total_ns =
                                 (double)(instance->transfer_ns + resolution_of(groups->job, instance)),
                             .count = 1};
}

/* Adds the network steps of an edge to its sender or receiver; none if group is -1. */
static size_t add_edge(const struct transfer_groups *groups, const struct edge *edge, int32_t group,
                       struct transfer *transfer)
{
    const struct job_instance *instance = &groups->job->instances[edge->instance];
    if (group < 0)
        return 0;
    *transfer = transfer_of(groups, instance, group);
    transfer->of = groups->job->communicators[instance->communicator].size;
    transfer->total_ns = (double)edge->wait_ns;
    transfer->count = edge->steps;
    return 1;
}

/* Lists one entry per group, kind and step. -1 when memory runs out. */
static int list_transfers(const struct transfer_groups *groups, struct transfers *transfers)
{
    size_t count = 0, kept = 0;
    struct transfer *items = transfers->items;
    for (size_t i = 0; i < groups->job->instance_count; i++)
        if (groups->of_instance[i] >= 0)
            items[count++] = transfer_of(groups, &groups->job->instances[i], groups->of_instance[i]);
    for (size_t i = 0; i < groups->edges->count; i++) {
        const struct edge *edge = &groups->edges->items[i];
        if (!transfer_groups_has_edge(groups, i))
            continue;
        count += add_edge(groups, edge, groups->of_sender[edge->sender], &items[count]);
        count += add_edge(groups, edge, groups->of_receiver[edge->receiver], &items[count]);
    }
    transfers->count = count;
    if (number_kinds(transfers))
        return -1;
    sort_transfers(transfers, groups, 0);
    items = transfers->items;
    for (size_t i = 0; i < count; i++) {
        struct transfer *last = kept ? &items[kept - 1] : NULL;
        if (last && last->kind == items[i].kind && last->step == items[i].step &&
            last->group == items[i].group) {
            last->total_ns += items[i].total_ns;
            last->count += items[i].count;
        } else {
            items[kept++] = items[i];
        }
    }
    transfers->count = kept;
    return 0;
}

/* Fills in what the sisters took, for one kind in one step. */
static void compare_sisters(struct transfer *transfers, size_t count, double *list)
{
    for (size_t i = 0; i < count; i++)
        list[i] = mean_of(&transfers[i]);
    sort_reals(list, count);
    for (size_t i = 0; i < count; i++) {
        /* The lower median of the others. */
        size_t middle = count < 2 ? 0 : (count - 2) / 2;
        transfers[i].sisters_ns = count < LEAST_OTHERS + 1                ? NAN
                                  : list[middle] < mean_of(&transfers[i]) ? list[middle]
                                                                          : list[middle + 1];
    }
}

/* What the transfers of a group took in a step, and what they would have taken. */
struct cell_sums {
    double *took_ns; /* all owned: [group * steps + step] */
    double *usual_ns;
    double *took_beside_ns; /* the part that has sisters */
    double *sisters_ns;
};

/* Adds the transfers of one kind of one group. */
static void add_kind(const struct transfer_groups *groups, const struct transfer *transfers, size_t count,
                     double *list, struct cell_sums *sums)
{
    for (size_t i = 0; i < count; i++)
        list[i] = mean_of(&transfers[i]);
    double quartile_ns = select_real(list, count, count / 4);
    for (size_t i = 0; i < count; i++) {
        size_t cell = (size_t)transfers[i].group * (size_t)groups->steps + (size_t)transfers[i].step;
        if (count >= LEAST_KNOWN) {
            sums->took_ns[cell] += transfers[i].total_ns;
            sums->usual_ns[cell] += transfers[i].count * quartile_ns;
        }
        if (!isnan(transfers[i].sisters_ns)) {
            sums->took_beside_ns[cell] += transfers[i].total_ns;
            sums->sisters_ns[cell] += transfers[i].count * transfers[i].sisters_ns;
        }
    }
}

static void add_all(const struct transfer_groups *groups, struct transfers *transfers, double *list,
                    struct cell_sums *sums)
{
    struct transfer *items = transfers->items;
    size_t count = transfers->count;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1;
             end < count && items[i].kind == items[end].kind && items[end].step == items[i].step;)
            end++;
        compare_sisters(&items[i], end - i, list);
    }
    sort_transfers(transfers, groups, 1);
    items = transfers->items;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1;
             end < count && items[i].kind == items[end].kind && items[end].group == items[i].group;)
            end++;
        add_kind(groups, &items[i], end - i, list, sums);
    }
}

static double log_ratio(double took_ns, double usual_ns)
{
    return took_ns > 0 && usual_ns > 0 ? log(took_ns / usual_ns) : NAN;
}

/* What an edge waited longer than usual counts for its sender and its receiver. */
static void take_over(struct transfer_groups *groups, int32_t group, const struct edge *edge)
{
    double *over_ns = group < 0 ? NULL : &groups->over_ns[group * groups->steps + edge->step];
    if (over_ns && (double)edge->over_ns > *over_ns)
        *over_ns = (double)edge->over_ns;
}

/* Links of one rank wait at the same time, so the longest counts. */
static void take_longest(struct transfer_groups *groups)
{
    for (size_t group = 0; group < groups->count; group++)
        for (int32_t step = 0; groups->items[group].kind != TRANSFER_GROUP && step < groups->steps; step++)
            groups->over_ns[group * (size_t)groups->steps + (size_t)step] = 0;
    for (size_t i = 0; i < groups->edges->count; i++) {
        const struct edge *edge = &groups->edges->items[i];
        if (!transfer_groups_has_edge(groups, i))
            continue;
        take_over(groups, groups->of_sender[edge->sender], edge);
        take_over(groups, groups->of_receiver[edge->receiver], edge);
    }
}

int transfer_groups_measure(struct transfer_groups *groups)
{
    size_t cells = groups->count * (size_t)groups->steps + 1, most = 2 * groups->edges->count + 1;
    for (size_t i = 0; i < groups->job->instance_count; i++)
        most += groups->of_instance[i] >= 0;
    struct cell_sums sums = {array_new(cells, sizeof(double)), array_new(cells, sizeof(double)),
                             array_new(cells, sizeof(double)), array_new(cells, sizeof(double))};
    struct transfers transfers = {
        .items = array_new(most, sizeof *transfers.items),
        .sorted = array_new(most, sizeof *transfers.sorted),
        .order = array_new(most, sizeof *transfers.order),
        .merged = array_new(most, sizeof *transfers.merged),
    };
    double *list = array_new(most, sizeof *list);
    int failed = !sums.took_ns || !sums.usual_ns || !sums.took_beside_ns || !sums.sisters_ns ||
                 !transfers.items || !transfers.sorted || !transfers.order || !transfers.merged || !list ||
                 list_transfers(groups, &transfers);
    if (!failed)
        add_all(groups, &transfers, list, &sums);
    for (size_t i = 0; !failed && i + 1 < cells; i++) {
        groups->beyond[i] = log_ratio(sums.took_ns[i], sums.usual_ns[i]);
        groups->over_ns[i] = sums.took_ns[i] - sums.usual_ns[i];
        groups->ratio[i] = log_ratio(sums.took_beside_ns[i], sums.sisters_ns[i]);
    }
    if (!failed)
        take_longest(groups);
    free(sums.took_ns);
    free(sums.usual_ns);
    free(sums.took_beside_ns);
    free(sums.sisters_ns);
    free(transfers.items);
    free(transfers.sorted);
    free(transfers.order);
    free(transfers.merged);
    free(list);
    return failed ? -1 : 0;
}
