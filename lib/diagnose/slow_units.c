/*
 * What explains the groups that were slow in the same steps (slow_groups.c): the smallest unit of links and
 * groups that has all of them and hardly others. A unit is what one rank sends or receives, one link, all
 * that a rank takes part in, what crosses the boundary of a host or of a part of the hosts (a switch).
 * Without network steps a slow communicator names its members: one of them, or a link between them, may be
 * at fault.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A link is as slow as another if its excess is at least this part, in the same steps; of what is slow in all
 * steps, of MOST_EXCESS if the other one exceeds that: a delay of each message makes short ones many times as
 * long, long ones hardly twice.
 */
static const double COMMON_PART = 0.5, MOST_EXCESS = 1;
/*
 * What a group that is not slow says against a unit that has it. A slow link makes all that crosses it slow;
 * a communicator of the unit may use other links.
 */
static const double NOT_SLOW = 0.25;
/* In one step, a link is compared with another one. */
enum { LEAST_LINKS = 2 };

/* What an edge waited for one kind of operation: function, bytes and size of the communicator. */
struct link_wait {
    int64_t bytes;
    int64_t size;
    int32_t function;
    int32_t sender;
    int32_t receiver;
    int32_t step;
    size_t edge;
    double mean_ns;
};

/* A link, or a group without network steps. */
struct item {
    int32_t sender; /* -1: a group */
    int32_t receiver;
    size_t group;
    double value;  /* logarithm of how many times as long it took, median or mean over the steps */
    double weight; /* for (above 0) or against a unit that has it */
};

/* The kinds of units, the preferred one first where two explain as much. */
enum unit {
    UNIT_SENDS,
    UNIT_RECEIVES,
    UNIT_LINK,
    UNIT_GROUP,
    UNIT_CROSSING, /* the part that crosses hosts of what a rank takes part in */
    UNIT_TAKES_PART,
    UNIT_HOST_SENDS, /* of the ranks of a host that send slowly */
    UNIT_HOST_RECEIVES,
    UNIT_HOST_CROSSING,
    UNIT_HOST_PAIR,
    UNIT_SPLIT, /* hosts below a number, and the others */
    UNIT_EVERYTHING,
    UNITS
};

struct weight {
    double sum;     /* of its items */
    int is_of_best; /* it has a slow item of the most certain group */
};

struct choosing {
    const struct transfer_groups *groups;
    struct slow_network *found;
    const struct partition *hosts; /* borrowed; NULL: not known */
    struct item *items;            /* owned */
    size_t count;
    struct weight *weights[UNITS]; /* owned: by rank, host, item or number of hosts */
    size_t room[UNITS];
    int32_t *ranks;        /* owned: scratch, members of a group */
    double *list;          /* owned: scratch */
    size_t pair[2];        /* the hosts of UNIT_HOST_PAIR */
    int is_summed;         /* the weights of what ranks send and receive are known */
    enum unit unit;        /* the best */
    double most;           /* its weight */
    size_t ties;           /* number of units of its kind with this weight */
    int32_t *item_of_edge; /* owned: [edge]; -1: none */
};

/* -------------------- links -------------------- */

static int by_kind(const struct link_wait *left, const struct link_wait *right)
{
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size);
}

static int by_link(const struct link_wait *left, const struct link_wait *right)
{
    if (left->sender != right->sender)
        return left->sender < right->sender ? -1 : 1;
    return (left->receiver > right->receiver) - (left->receiver < right->receiver);
}

static int by_kind_and_link(const void *a, const void *b)
{
    const struct link_wait *left = a, *right = b;
    int order = by_kind(left, right);
    order = order ? order : by_link(left, right);
    return order ? order : (left->edge > right->edge) - (left->edge < right->edge);
}

static int by_kind_and_step(const void *a, const void *b)
{
    const struct link_wait *left = a, *right = b;
    int order = by_kind(left, right);
    order = order ? order : (left->step > right->step) - (left->step < right->step);
    return order ? order : (left->edge > right->edge) - (left->edge < right->edge);
}

static int by_link_alone(const void *a, const void *b)
{
    const struct link_wait *left = a, *right = b;
    int order = by_link(left, right);
    return order ? order : (left->edge > right->edge) - (left->edge < right->edge);
}

static size_t list_links(const struct choosing *it, struct link_wait *waits)
{
    const struct job *job = it->groups->job;
    size_t count = 0;
    for (size_t i = 0; i < it->groups->edges->count; i++) {
        const struct edge *edge = &it->groups->edges->items[i];
        const struct job_instance *instance = &job->instances[edge->instance];
        it->found->edge_excess[i] = 0;
        it->item_of_edge[i] = -1;
        if (transfer_groups_has_edge(it->groups, i) && edge->wait_ns > 0)
            waits[count++] = (struct link_wait){.bytes = job_member(job, instance, 0)->bytes,
                                                .size = job->communicators[instance->communicator].size,
                                                .function = (int32_t)instance->function,
                                                .sender = edge->sender,
                                                .receiver = edge->receiver,
                                                .step = edge->step,
                                                .edge = i,
                                                .mean_ns = (double)edge->wait_ns / edge->steps};
    }
    return count;
}

/*
 * The usual wait of entries of one kind: of one link, the median of other steps; of all links in one step,
 * their lower median. NAN where there are too few.
 */
static double usual_of(const struct choosing *it, const struct link_wait *waits, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (it->found->is_steady || !step_set_has(&it->found->steps, waits[i].step))
            it->list[known++] = waits[i].mean_ns;
    sort_reals(it->list, known);
    return known < (it->found->is_steady ? LEAST_LINKS : LEAST_KNOWN) ? NAN : it->list[(known - 1) / 2];
}

static void take_excess(const struct choosing *it, const struct link_wait *waits, size_t count)
{
    double usual = usual_of(it, waits, count);
    for (size_t i = 0; !isnan(usual) && i < count; i++)
        if (step_set_has(&it->found->steps, waits[i].step))
            it->found->edge_excess[waits[i].edge] = log(waits[i].mean_ns / usual);
}

static int is_same(const struct link_wait *a, const struct link_wait *b, int is_steady)
{
    return !by_kind(a, b) && (is_steady ? a->step == b->step : !by_link(a, b));
}

/* Fills in the excess of all edges in the steps. */
static void measure_edges(const struct choosing *it, struct link_wait *waits, size_t count)
{
    int is_steady = it->found->is_steady;
    array_sort(waits, count, sizeof *waits, is_steady ? by_kind_and_step : by_kind_and_link);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_same(&waits[i], &waits[end], is_steady);)
            end++;
        take_excess(it, &waits[i], end - i);
    }
}

/* Adds one item per link: the mean excess of its network steps in the steps. */
static void add_links(struct choosing *it, struct link_wait *waits, size_t count)
{
    const struct edge *edges = it->groups->edges->items;
    array_sort(waits, count, sizeof *waits, by_link_alone);
    for (size_t i = 0, end; i < count; i = end) {
        double sum = 0, steps = 0;
        for (end = i; end < count && !by_link(&waits[i], &waits[end]); end++)
            if (step_set_has(&it->found->steps, waits[end].step)) {
                it->item_of_edge[waits[end].edge] = (int32_t)it->count;
                sum += it->found->edge_excess[waits[end].edge] * edges[waits[end].edge].steps;
                steps += edges[waits[end].edge].steps;
            }
        if (steps > 0)
            it->items[it->count++] =
                (struct item){.sender = waits[i].sender, .receiver = waits[i].receiver, .value = sum / steps};
    }
}

/* Whether what a link's sender sends, or what its receiver receives, is slow for certain. */
static int is_of_slow_side(const struct choosing *it, const struct item *item)
{
    int32_t sends = it->groups->of_sender[item->sender], receives = it->groups->of_receiver[item->receiver];
    return (sends >= 0 && it->found->has[sends]) || (receives >= 0 && it->found->has[receives]);
}

/* Whether the most certain group has a link; if that is a group without network steps, any slow side. */
static int is_of_surest(const struct choosing *it, const struct item *item)
{
    const struct transfer_group *best = &it->groups->items[it->found->group];
    return best->kind == TRANSFER_SENDS      ? item->sender == best->rank
           : best->kind == TRANSFER_RECEIVES ? item->receiver == best->rank
                                             : is_of_slow_side(it, item);
}

/*
 * Links are compared with the slowest one of the most certain group. Others may be slower by their kind of
 * operation: few bytes wait longer for those before them.
 */
static void weigh_links(const struct choosing *it)
{
    double most = 0;
    for (size_t i = 0; i < it->count; i++)
        if (is_of_surest(it, &it->items[i]) && it->items[i].value > most)
            most = it->found->is_steady ? fmin(it->items[i].value, MOST_EXCESS) : it->items[i].value;
    for (size_t i = 0; most > 0 && i < it->count; i++)
        it->items[i].weight = it->items[i].value >= COMMON_PART * most ? 1
                              : it->items[i].value >= NOT_SLOW * most  ? 0
                                                                       : -1;
}

/* -------------------- groups -------------------- */

static double middle_of(const struct choosing *it, size_t group)
{
    return transfer_groups_middle(it->groups, group, it->found->is_steady, &it->found->steps, it->list);
}

/* Fills in the bytes of the largest transfer of each group in the steps. */
static void measure_bytes(const struct choosing *it, double *bytes)
{
    const struct job *job = it->groups->job;
    struct job_range range = job_instances_in(job, it->found->steps.first, it->found->steps.last);
    for (size_t i = range.first; i < range.end; i++) {
        int32_t at = job->by_step[i], group = it->groups->of_instance[at];
        double sent = (double)job_member(job, &job->instances[at], 0)->bytes;
        if (group >= 0 && sent > bytes[group])
            bytes[group] = sent;
    }
}

/* The slowest of the groups that are slow, and the least bytes that any of these transfers. */
struct slowest {
    double value;
    double bytes;
    double least_bytes;
};

/*
 * Whether a group is not hardly slower than the slowest one. That may be slower in proportion if it transfers
 * less data: few bytes wait longer for those before them.
 */
static int is_about_as_slow(const struct item *item, const struct slowest *slowest, double bytes)
{
    return bytes > slowest->bytes || item->value >= NOT_SLOW * slowest->value;
}

/*
 * A group is evidence for a unit if it is about as slow as the slowest. One that is not slow is evidence
 * against it as far as it transfers as much data as any slow group: a short message may take as long on a
 * slow link, because it waits for the latency, not for the bandwidth.
 */
static double weight_of_group(const struct choosing *it, const struct item *item,
                              const struct slowest *slowest, double bytes)
{
    if (it->found->has[item->group] && is_about_as_slow(item, slowest, bytes))
        return 1;
    if (item->value >= COMMON_PART * slowest->value)
        return 0;
    return bytes < slowest->least_bytes ? -NOT_SLOW * bytes / slowest->least_bytes : -NOT_SLOW;
}

static void add_groups(struct choosing *it, double *bytes)
{
    struct slowest slowest = {.least_bytes = INFINITY};
    size_t first = it->count;
    measure_bytes(it, bytes);
    for (size_t group = 0; group < it->groups->count; group++) {
        double middle = it->groups->items[group].kind == TRANSFER_GROUP ? middle_of(it, group) : NAN;
        if (isnan(middle))
            continue;
        it->items[it->count++] = (struct item){.sender = -1, .receiver = -1, .group = group, .value = middle};
        if (!it->found->has[group])
            continue;
        if (middle > slowest.value) {
            slowest.value = middle;
            slowest.bytes = bytes[group];
        }
        slowest.least_bytes = fmin(slowest.least_bytes, bytes[group]);
    }
    for (size_t i = first; slowest.value > 0 && i < it->count; i++)
        it->items[i].weight = weight_of_group(it, &it->items[i], &slowest, bytes[it->items[i].group]);
}

/* -------------------- units -------------------- */

/* Fills in it->ranks; returns their number. */
static size_t members_of(const struct choosing *it, const struct item *item)
{
    if (item->sender < 0)
        return transfer_group_ranks(it->groups, item->group, it->ranks);
    it->ranks[0] = item->sender;
    it->ranks[1] = item->receiver;
    return 2;
}

static int crosses(const struct choosing *it, const struct item *item)
{
    if (item->sender < 0)
        return it->groups->items[item->group].crosses == 1;
    return !it->hosts || it->hosts->unit_of[item->sender] != it->hosts->unit_of[item->receiver];
}

typedef void (*take_unit)(void *context, enum unit unit, size_t which);

/* Visits the hosts that an item's members are on, and the parts of the hosts whose boundary it crosses. */
static void each_host(const struct choosing *it, const struct item *item, size_t members, take_unit take,
                      void *context)
{
    const int32_t *host_of = it->hosts->unit_of;
    int32_t first = INT32_MAX, last = 0;
    int is_pair = 1;
    for (size_t i = 0; i < members; i++) {
        int32_t host = host_of[it->ranks[i]];
        first = host < first ? host : first;
        last = host > last ? host : last;
    }
    for (size_t i = 0; i < members; i++) {
        int32_t host = host_of[it->ranks[i]];
        is_pair &= host == first || host == last;
        int is_first = 1;
        for (size_t j = 0; is_first && j < i; j++)
            is_first = host_of[it->ranks[j]] != host;
        if (is_first)
            take(context, UNIT_HOST_CROSSING, (size_t)host);
    }
    if (item->sender >= 0 && it->is_summed && it->weights[UNIT_SENDS][item->sender].sum > 0)
        take(context, UNIT_HOST_SENDS, (size_t)host_of[item->sender]);
    if (item->sender >= 0 && it->is_summed && it->weights[UNIT_RECEIVES][item->receiver].sum > 0)
        take(context, UNIT_HOST_RECEIVES, (size_t)host_of[item->receiver]);
    if (is_pair && (size_t)first == it->pair[0] && (size_t)last == it->pair[1])
        take(context, UNIT_HOST_PAIR, 0);
    for (int32_t below = first + 1; below <= last; below++)
        take(context, UNIT_SPLIT, (size_t)below);
}

/* Visits the units that have an item. */
static void each_unit(const struct choosing *it, size_t at, take_unit take, void *context)
{
    const struct item *item = &it->items[at];
    size_t members = members_of(it, item);
    take(context, item->sender < 0 ? UNIT_GROUP : UNIT_LINK, at);
    if (item->sender >= 0) {
        take(context, UNIT_SENDS, (size_t)item->sender);
        take(context, UNIT_RECEIVES, (size_t)item->receiver);
    }
    for (size_t i = 0; i < members; i++)
        take(context, UNIT_TAKES_PART, (size_t)it->ranks[i]);
    if (!crosses(it, item))
        return;
    for (size_t i = 0; i < members; i++)
        take(context, UNIT_CROSSING, (size_t)it->ranks[i]);
    take(context, UNIT_EVERYTHING, 0);
    if (it->hosts)
        each_host(it, item, members, take, context);
}

static int is_of_best(const struct choosing *it, const struct item *item)
{
    const struct transfer_group *best = &it->groups->items[it->found->group];
    if (item->weight <= 0)
        return 0;
    return best->kind == TRANSFER_GROUP   ? item->sender < 0 && item->group == it->found->group
           : best->kind == TRANSFER_SENDS ? item->sender == best->rank
                                          : item->receiver == best->rank && item->sender >= 0;
}

/* The state of a visit of the units of an item. */
struct unit_visit {
    struct choosing *it;
    const struct item *item;
    int is_of_best;
    int has; /* the chosen unit has the item */
};

static void add_weight(void *context, enum unit unit, size_t which)
{
    struct unit_visit *visit = context;
    double weight = visit->item->weight;
    /* All that crosses a boundary of hosts uses what is there. */
    visit->it->weights[unit][which].sum +=
        weight < 0 && unit >= UNIT_HOST_SENDS ? fmax(weight / NOT_SLOW, -1) : weight;
    visit->it->weights[unit][which].is_of_best |= visit->is_of_best;
}

/* The hosts of the slowest link or group that is on two hosts. */
static void find_pair(struct choosing *it)
{
    double most = 0;
    for (size_t i = 0; it->hosts && i < it->count; i++) {
        const struct item *item = &it->items[i];
        if (!crosses(it, item) || !is_of_best(it, item) || item->value <= most)
            continue;
        size_t members = members_of(it, item);
        size_t a = (size_t)it->hosts->unit_of[it->ranks[0]],
               b = (size_t)it->hosts->unit_of[it->ranks[members - 1]];
        most = item->value;
        it->pair[0] = a < b ? a : b;
        it->pair[1] = a < b ? b : a;
    }
}

static void add_rank(const struct choosing *it, enum unit of_rank, enum unit of_host, size_t rank)
{
    const struct weight *weight = &it->weights[of_rank][rank];
    struct weight *host = &it->weights[of_host][it->hosts->unit_of[rank]];
    if (weight->sum <= 0)
        return;
    host->sum += weight->sum;
    host->is_of_best |= weight->is_of_best;
}

/* The ranks of a host that send slowly, or receive slowly, may share a network card: all of them, or some. */
static void weigh_cards(struct choosing *it)
{
    for (size_t rank = 0; it->hosts && rank < it->groups->job->rank_count; rank++) {
        add_rank(it, UNIT_SENDS, UNIT_HOST_SENDS, rank);
        add_rank(it, UNIT_RECEIVES, UNIT_HOST_RECEIVES, rank);
    }
    it->is_summed = 1;
}

static void weigh_units(struct choosing *it)
{
    find_pair(it);
    for (size_t i = 0; i < it->count; i++) {
        const struct item *item = &it->items[i];
        struct unit_visit visit = {.it = it, .item = item, .is_of_best = is_of_best(it, item)};
        if (item->weight < 0 || item->weight > 0)
            each_unit(it, i, add_weight, &visit);
    }
    weigh_cards(it);
}

/* Differences of sums of weights that are less than this are rounding. */
static const double ROUNDING = 1e-6;

static size_t ties_of(const struct choosing *it, enum unit unit, double sum)
{
    size_t ties = 0;
    for (size_t which = 0; which < it->room[unit]; which++)
        ties += it->weights[unit][which].is_of_best && it->weights[unit][which].sum >= sum - ROUNDING;
    return ties;
}

/* Chooses the kind of unit: of those that explain most, the first one that leaves no choice, or the first. */
static void choose(struct choosing *it)
{
    it->most = 0;
    it->ties = 0;
    for (enum unit unit = 0; unit < UNITS; unit++)
        for (size_t which = 0; which < it->room[unit]; which++)
            if (it->weights[unit][which].is_of_best && it->weights[unit][which].sum > it->most)
                it->most = it->weights[unit][which].sum;
    for (enum unit unit = 0; it->most > 0 && unit < UNITS; unit++) {
        size_t ties = ties_of(it, unit, it->most);
        if (ties && (!it->ties || (it->ties > 1 && ties == 1))) {
            it->unit = unit;
            it->ties = ties;
        }
    }
}

/* -------------------- what the unit accuses -------------------- */

/* Notes whether the chosen unit has the item, and, if it is slow, which of its ranks that accuses. */
static void take_item(void *context, enum unit unit, size_t which)
{
    struct unit_visit *visit = context;
    const struct choosing *it = visit->it;
    const struct weight *weight = &it->weights[unit][which];
    unsigned char *may = it->found->may;
    size_t members;
    if (unit != it->unit || !weight->is_of_best || weight->sum < it->most - ROUNDING)
        return;
    visit->has = 1;
    if (visit->item->weight <= 0)
        return;
    switch (unit) {
    case UNIT_SENDS:
    case UNIT_LINK:
    case UNIT_HOST_SENDS:
        may[visit->item->sender] = 1;
        break;
    case UNIT_RECEIVES:
    case UNIT_HOST_RECEIVES:
        may[visit->item->receiver] = 1;
        break;
    case UNIT_CROSSING:
    case UNIT_TAKES_PART:
        may[which] = 1;
        break;
    default:
        if (visit->item->sender >= 0 && unit != UNIT_HOST_CROSSING) {
            may[visit->item->sender] = 1;
            break;
        }
        members = members_of(it, visit->item);
        for (size_t i = 0; i < members; i++)
            if (unit != UNIT_HOST_CROSSING || it->hosts->unit_of[it->ranks[i]] == (int32_t)which)
                may[it->ranks[i]] = 1;
    }
}

/* Takes the edges of links that the unit does not have, or that are not slow, out of `found`. */
static void keep_edges(const struct choosing *it, const unsigned char *is_kept)
{
    for (size_t i = 0; i < it->groups->edges->count; i++) {
        int32_t item = it->item_of_edge[i];
        if (item < 0 || !is_kept[item] || it->found->edge_excess[i] <= 0)
            it->found->edge_excess[i] = 0;
    }
}

/* The log odds of all groups that are left together: they share what is at fault. */
static void add_certainty(const struct choosing *it)
{
    const struct slow_network *found = it->found;
    const struct transfer_group *items = it->groups->items;
    for (size_t group = 0; group < it->groups->count; group++)
        if (found->has[group] && group != found->group && items[group].kind == items[found->group].kind &&
            (items[group].kind == TRANSFER_GROUP || found->may[items[group].rank]))
            it->found->certainty += found->scores[group];
}

/*
 * Accuses all senders whose links cross the chosen parts of the hosts, in these steps: what they share is at
 * fault, although not all of these links have others to compare them with.
 */
static void take_all_across(const struct choosing *it)
{
    const struct edge *edges = it->groups->edges->items;
    for (size_t below = 0; it->unit == UNIT_SPLIT && below < it->room[UNIT_SPLIT]; below++) {
        const struct weight *weight = &it->weights[UNIT_SPLIT][below];
        if (!it->found->slow_links || !weight->is_of_best || weight->sum < it->most - ROUNDING)
            continue;
        for (size_t i = 0; i < it->groups->edges->count; i++)
            if (step_set_has(&it->found->steps, edges[i].step) &&
                (it->hosts->unit_of[edges[i].sender] < (int32_t)below) !=
                    (it->hosts->unit_of[edges[i].receiver] < (int32_t)below))
                it->found->may[edges[i].sender] = 1;
    }
}

static int take_unit_of(struct choosing *it)
{
    struct slow_network *found = it->found;
    unsigned char *is_kept = array_new(it->count + 1, sizeof *is_kept);
    for (size_t i = 0; is_kept && i < it->count; i++) {
        const struct item *item = &it->items[i];
        struct unit_visit visit = {.it = it, .item = item};
        /* Whatever makes the unit slow has also made those longer that are hardly slow enough to tell. */
        if (item->weight >= 0)
            each_unit(it, i, take_item, &visit);
        is_kept[i] = (unsigned char)visit.has;
        found->slow_links += item->sender >= 0 && visit.has;
        if (item->sender < 0)
            found->has[item->group] &= visit.has;
    }
    if (is_kept) {
        take_all_across(it);
        keep_edges(it, is_kept);
    }
    free(is_kept);
    return is_kept ? 0 : -1;
}

static const enum network_unit kind_of[UNITS] = {
    [UNIT_SENDS] = NETWORK_RANK,         [UNIT_RECEIVES] = NETWORK_RANK,
    [UNIT_LINK] = NETWORK_RANK,          [UNIT_GROUP] = NETWORK_GROUP,
    [UNIT_CROSSING] = NETWORK_RANK,      [UNIT_TAKES_PART] = NETWORK_RANK,
    [UNIT_HOST_SENDS] = NETWORK_HOST,    [UNIT_HOST_RECEIVES] = NETWORK_HOST,
    [UNIT_HOST_CROSSING] = NETWORK_HOST, [UNIT_HOST_PAIR] = NETWORK_HOSTS,
    [UNIT_SPLIT] = NETWORK_HOSTS,        [UNIT_EVERYTHING] = NETWORK_ALL};

static void count_ranks(const struct choosing *it)
{
    struct slow_network *found = it->found;
    size_t ranks = it->groups->job->rank_count;
    int has_links = found->slow_links > 0;
    found->unit = kind_of[it->unit];
    found->receives = it->unit == UNIT_RECEIVES || it->unit == UNIT_HOST_RECEIVES;
    found->is_unit = it->ties == 1 && it->unit != UNIT_GROUP && (it->unit < UNIT_HOST_PAIR || has_links);
    for (size_t rank = 0; rank < ranks; rank++)
        found->count += found->may[rank];
    /*
     * If links show that most ranks may be at fault, little is known about any of them; nor if it is a single
     * moment, which may have any cause. Durations of several steps tell that transfers are slow, and that the
     * rank cannot be determined.
     */
    if ((has_links || found->is_moment) && !found->is_unit && found->count * 2 > ranks)
        found->count = 0;
}

static int allocate(struct choosing *it)
{
    const struct job *job = it->groups->job;
    size_t hosts = it->hosts ? it->hosts->count : 0;
    for (enum unit unit = 0; unit < UNITS; unit++) {
        it->room[unit] = unit == UNIT_LINK || unit == UNIT_GROUP             ? it->count
                         : unit < UNIT_HOST_SENDS                            ? job->rank_count
                         : unit == UNIT_HOST_PAIR || unit == UNIT_EVERYTHING ? 1
                                                                             : hosts;
        it->weights[unit] = array_new(it->room[unit] + 1, sizeof *it->weights[unit]);
        if (!it->weights[unit])
            return -1;
    }
    it->ranks = array_new(job->rank_count + 2, sizeof *it->ranks);
    return it->ranks ? 0 : -1;
}

static int list_items(struct choosing *it)
{
    size_t edges = it->groups->edges->count, most = edges + it->groups->count + 1;
    struct link_wait *waits = array_new(edges + 1, sizeof *waits);
    it->items = array_new(most, sizeof *it->items);
    it->list = array_new(most + (size_t)it->groups->steps, sizeof *it->list);
    it->item_of_edge = array_new(edges + 1, sizeof *it->item_of_edge);
    double *bytes = array_new(it->groups->count + 1, sizeof *bytes);
    int failed = !waits || !it->items || !it->list || !it->item_of_edge || !bytes;
    if (!failed) {
        size_t count = list_links(it, waits);
        measure_edges(it, waits, count);
        add_links(it, waits, count);
        weigh_links(it);
        add_groups(it, bytes);
    }
    free(waits);
    free(bytes);
    return failed ? -1 : 0;
}

static void release(struct choosing *it)
{
    for (enum unit unit = 0; unit < UNITS; unit++)
        free(it->weights[unit]);
    free(it->items);
    free(it->item_of_edge);
    free(it->list);
    free(it->ranks);
}

int slow_units_find(const struct transfer_groups *groups, struct slow_network *found)
{
    struct choosing it = {.groups = groups, .found = found, .hosts = transfer_groups_hosts(groups)};
    memset(found->may, 0, groups->job->rank_count);
    found->count = found->slow_links = 0;
    int failed = list_items(&it) || allocate(&it);
    if (!failed) {
        weigh_units(&it);
        choose(&it);
        failed = take_unit_of(&it);
    }
    if (!failed) {
        count_ranks(&it);
        add_certainty(&it);
    }
    release(&it);
    return failed ? -1 : 0;
}
