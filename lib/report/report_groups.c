/*
 * Groups the rows of report by their keys and sums up times and bandwidths; then sorts them.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/groups.h"
#include "report/internal.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report_groups_init(struct report_groups *report)
{
    *report = (struct report_groups){.filter = &filter_for_all};
    intern_init(&report->texts);
    intern_init(&report->group_names);
}

void report_groups_release(struct report_groups *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->groups[i].transfer_ns.values);
        free(report->groups[i].effective_ns.values);
        free(report->groups[i].wait_ns.values);
        free(report->groups[i].phase_ns.values);
        free(report->groups[i].transfer_gbs.values);
        free(report->groups[i].effective_gbs.values);
        free(report->groups[i].transfer_message_gbs.values);
        free(report->groups[i].effective_message_gbs.values);
    }
    free(report->groups);
    free(report->numbers);
    intern_release(&report->texts);
    intern_release(&report->group_names);
}

int report_groups_is_by(const struct report_groups *report, enum report_key key)
{
    for (size_t i = 0; i < report->by_count; i++)
        if (report->by[i] == key)
            return 1;
    return 0;
}

int64_t report_groups_text(struct report_groups *report, const char *text)
{
    if (!text)
        return -1;
    int64_t number = intern_put(&report->texts, text, strlen(text));
    return number < 0 ? -2 : number;
}

int report_groups_number(struct report_groups *report, int64_t name, int64_t rank)
{
    size_t had = report->number_count;
    if (array_reserve((void **)&report->numbers, &report->number_count, (size_t)name + 1,
                      sizeof *report->numbers))
        return -1;
    for (size_t i = had; i < report->number_count; i++)
        report->numbers[i] = -1;
    report->numbers[name] = rank;
    return 0;
}

int64_t report_groups_rank(struct report_groups *report, int64_t rank)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)rank);
    int64_t name = report_groups_text(report, text);
    return name < 0 || report_groups_number(report, name, rank) ? -2 : name;
}

static int samples_add(struct samples *samples, int64_t value)
{
    if (array_reserve((void **)&samples->values, &samples->capacity, samples->count + 1,
                      sizeof *samples->values))
        return -1;
    samples->values[samples->count++] = value;
    return 0;
}

int64_t samples_percentile(struct samples *samples, double part)
{
    if (!samples->count)
        return 0;
    size_t rank = (size_t)ceil(part * (double)samples->count);
    return select_integer(samples->values, samples->count, rank ? rank - 1 : 0);
}

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

double samples_real(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int is_in(const struct report_groups *report, const struct report_group *group,
                 const struct report_row *row)
{
    for (size_t i = 0; i < report->by_count; i++)
        if (group->key[i] != row->key[report->by[i]])
            return 0;
    return 1;
}

/* Writes the numbers of the keys as text, because the map has no keys of that length. */
static size_t name_group(const struct report_groups *report, const struct report_row *row, char *name)
{
    size_t length = 0;
    for (size_t i = 0; i < report->by_count; i++)
        for (unsigned j = 0; j < sizeof(int64_t) * 2; j++)
            name[length++] = (char)('a' + ((uint64_t)row->key[report->by[i]] >> (4 * j) & 15));
    return length;
}

static struct report_group *find_group(struct report_groups *report, const struct report_row *row)
{
    char name[KEY_COUNT * sizeof(int64_t) * 2];
    if (report->latest < report->count && is_in(report, &report->groups[report->latest], row))
        return &report->groups[report->latest];
    int64_t number = intern_put(&report->group_names, name, name_group(report, row, name));
    if (number < 0 || array_reserve((void **)&report->groups, &report->capacity, (size_t)number + 1,
                                    sizeof *report->groups))
        return NULL;
    if ((size_t)number == report->count) {
        struct report_group *group = &report->groups[report->count++];
        *group = (struct report_group){.last_instance = -1,
                                       .last_effective_ns = TIME_UNKNOWN,
                                       .communicator = row->communicator,
                                       .function = row->function};
        for (size_t i = 0; i < report->by_count; i++)
            group->key[i] = row->key[report->by[i]];
    }
    report->latest = (size_t)number;
    return &report->groups[number];
}

static int add_bandwidth(struct samples *gbs, int64_t time_ns, int64_t bytes, double factor)
{
    if (time_ns == TIME_UNKNOWN || bytes < 0 || time_ns <= 0)
        return 0;
    return samples_add(gbs, bits_of((double)bytes / (double)time_ns * factor));
}

/* Adds a time and, if the size is known, the bandwidth: bytes per nanosecond are GB/s. */
static int add_time(struct samples *times, struct samples *gbs, int64_t time_ns, int64_t size_bytes,
                    double factor)
{
    if (time_ns == TIME_UNKNOWN)
        return 0;
    return samples_add(times, time_ns) || add_bandwidth(gbs, time_ns, size_bytes, factor) ? -1 : 0;
}

/* Adds the effective time of an instance, which includes wait time, and its bandwidths. */
static int add_effective(struct report_group *group, const struct report_row *row)
{
    enum function function = (enum function)row->function;
    int64_t size = row->key[KEY_SIZE], message = call_message_of_size(function, size, row->ranks);
    if (row->effective_ns == TIME_UNKNOWN)
        return 0;
    group->effective_total_ns += (double)row->effective_ns;
    group->last_effective_ns = row->effective_ns;
    return add_time(&group->effective_ns, &group->effective_gbs, row->effective_ns, size,
                    function_busbw_factor(function, row->ranks)) ||
                   add_bandwidth(&group->effective_message_gbs, row->effective_ns, message,
                                 call_bandwidth_factor(function, row->ranks))
               ? -1
               : 0;
}

static void drop_last(struct samples *samples, int64_t time_ns, int64_t bytes)
{
    if (samples->count && bytes >= 0 && time_ns > 0)
        samples->count--;
}

/* Another operation of the same instance in the same group: the longer one counts. */
static int add_again(struct report_group *group, const struct report_row *row)
{
    int64_t size = row->key[KEY_SIZE], last_ns = group->last_effective_ns;
    if (!row->is_own || row->effective_ns == TIME_UNKNOWN ||
        (last_ns != TIME_UNKNOWN && row->effective_ns <= last_ns))
        return 0;
    if (last_ns != TIME_UNKNOWN) {
        group->effective_ns.count--;
        group->effective_total_ns -= (double)last_ns;
        drop_last(&group->effective_gbs, last_ns, size);
        drop_last(&group->effective_message_gbs, last_ns,
                  call_message_of_size((enum function)row->function, size, row->ranks));
    }
    return add_effective(group, row);
}

static int add_sample(struct report_group *group, const struct report_row *row)
{
    group->samples++;
    if (row->effective_ns != TIME_UNKNOWN) {
        group->effective_total_ns += (double)row->effective_ns;
        if (samples_add(&group->effective_ns, row->effective_ns))
            return -1;
    }
    if (row->effective_gbs > 0) {
        group->sample_bandwidths++;
        group->logarithms += log(row->effective_gbs);
    }
    return row->effective_gbs >= 0 ? samples_add(&group->effective_gbs, bits_of(row->effective_gbs)) : 0;
}

/* All ranks are in a phase at the same time, so each adds its part to the time by which groups are sorted. */
static int add_phase(struct report_groups *report, struct report_group *group, const struct report_row *row)
{
    report->has_phases = 1;
    group->effective_total_ns += (double)row->effective_ns / (double)row->ranks;
    return samples_add(&group->phase_ns, row->effective_ns);
}

int report_groups_add(struct report_groups *report, const struct report_row *row)
{
    struct report_group *group = find_group(report, row);
    if (!group)
        return -1;
    if (row->is_phase)
        return add_phase(report, group, row);
    if (row->is_sample)
        return add_sample(group, row);
    group->operations += row->operations;
    if (row->is_described) {
        group->message_bytes += row->message_bytes > 0 ? row->message_bytes : 0;
        return 0;
    }
    group->is_mixed |= group->function != row->function || group->communicator != row->communicator;
    if (row->instance == group->last_instance)
        return add_again(group, row);
    int64_t size = row->key[KEY_SIZE];
    enum function function = (enum function)row->function;
    int64_t message = call_message_of_size(function, size, row->ranks);
    group->last_effective_ns = TIME_UNKNOWN;
    group->message_bytes += message > 0 ? message : 0;
    group->last_instance = row->instance;
    group->instances++;
    group->bytes += size > 0 ? size : 0;
    return (row->wait_ns != TIME_UNKNOWN && samples_add(&group->wait_ns, row->wait_ns)) ||
                   add_time(&group->transfer_ns, &group->transfer_gbs, row->transfer_ns, size,
                            function_busbw_factor(function, row->ranks)) ||
                   add_bandwidth(&group->transfer_message_gbs, row->transfer_ns, message,
                                 call_bandwidth_factor(function, row->ranks)) ||
                   add_effective(group, row)
               ? -1
               : 0;
}

int report_groups_add_named(struct report_groups *report, const struct report_row *row)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (row->key[i] < -1)
            return -1;
    return report_groups_add(report, row);
}

int report_groups_take_all(struct report_groups *report, struct store *store, const char *sql,
                           int (*take)(struct report_groups *report, struct statement *row),
                           struct error *error)
{
    struct statement *row = store_prepare(store, sql, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(report, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}

static int is_text(enum report_key key)
{
    return key != KEY_SIZE && key != KEY_STEP && key != KEY_RUN && key != KEY_DEVICE && key != KEY_PEER;
}

/* Sorts ranks by number and texts alphabetically; unknown values come last. */
static int compare_key(const struct report_groups *report, enum report_key key, int64_t left, int64_t right)
{
    if (left == right || left < 0 || right < 0)
        return left == right ? 0 : left < 0 ? 1 : -1;
    if (!is_text(key))
        return compare_integers(left, right);
    int order = key == KEY_RANK ? compare_integers(report->numbers[left], report->numbers[right]) : 0;
    return order ? order : strcmp(intern_text(&report->texts, left), intern_text(&report->texts, right));
}

static int by_place(const void *a, const void *b, void *context)
{
    const struct report_groups *report = context;
    const struct report_group *left = a, *right = b;
    for (size_t i = 0; i < report->by_count; i++)
        if ((report->by[i] == KEY_STEP || report->by[i] == KEY_TIME) && left->key[i] != right->key[i])
            return compare_key(report, report->by[i], left->key[i], right->key[i]);
    if (left->effective_total_ns != right->effective_total_ns)
        return left->effective_total_ns > right->effective_total_ns ? -1 : 1;
    for (size_t i = 0; i < report->by_count; i++) {
        int order = compare_key(report, report->by[i], left->key[i], right->key[i]);
        if (order)
            return order;
    }
    return 0;
}

void report_groups_sort(struct report_groups *report)
{
    if (report->count)
        qsort_r(report->groups, report->count, sizeof *report->groups, by_place, report);
}
