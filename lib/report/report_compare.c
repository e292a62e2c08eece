/*
 * Compares groups of report by algorithm and protocol; then the readers of two other sources of its rows:
 * averages from Prometheus text, and call descriptions.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/groups.h"
#include "report/internal.h"
#include "store/store.h"

#include "schemas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations on either side of a 95 % interval of the normal distribution. */
static const double DEVIATIONS = 1.96;

/* Groups that are compared with each other. */
struct rivals {
    size_t fastest;
    size_t next; /* the second fastest; equals `fastest` if there is none */
    size_t count;
    int64_t function;
    int64_t communicator;
    int is_mixed;
};

/* The median transfer time of a group with its confidence interval. */
struct median {
    int64_t ns;
    int64_t low_ns;
    int64_t high_ns;
};

static int64_t at_rank(struct samples *samples, size_t rank)
{
    return samples_percentile(samples, (double)(rank + 1) / (double)samples->count);
}

static struct median compare_median_of(struct samples *samples)
{
    double count = (double)samples->count, below = floor((count - DEVIATIONS * sqrt(count)) / 2);
    size_t rank = below > 0 ? (size_t)below : 0;
    return (struct median){.ns = samples_percentile(samples, 0.5),
                           .low_ns = at_rank(samples, rank),
                           .high_ns = at_rank(samples, samples->count - 1 - rank)};
}

int report_is_compared(const struct report_groups *report)
{
    return report_groups_is_by(report, KEY_SIZE) &&
           (report_groups_is_by(report, KEY_ALGORITHM) || report_groups_is_by(report, KEY_PROTOCOL));
}

/*
 * Writes all keys except algorithm and protocol. Numbers below 0 are not known, and such groups are not
 * compared.
 */
static int name_rivals(const struct report_groups *report, const struct report_group *group, char *name,
                       size_t *length)
{
    *length = 0;
    for (size_t i = 0; i < report->by_count; i++) {
        if (report->by[i] == KEY_ALGORITHM || report->by[i] == KEY_PROTOCOL)
            continue;
        if (report->by[i] == KEY_SIZE && group->key[i] < 0)
            return 0;
        for (unsigned j = 0; j < sizeof(int64_t) * 2; j++)
            name[(*length)++] = (char)('a' + ((uint64_t)group->key[i] >> (4 * j) & 15));
    }
    return group->transfer_ns.count >= REPORT_COMPARED_LEAST;
}

static void add_rival(struct rivals *rivals, struct report_groups *report, size_t at, const int64_t *medians)
{
    const struct report_group *group = &report->groups[at];
    if (rivals->count++ == 0) {
        rivals->fastest = rivals->next = at;
        rivals->function = group->function;
        rivals->communicator = group->communicator;
    }
    rivals->is_mixed |=
        group->is_mixed || group->function != rivals->function || group->communicator != rivals->communicator;
    if (rivals->count == 1)
        return;
    if (medians[at] < medians[rivals->fastest]) {
        rivals->next = rivals->fastest;
        rivals->fastest = at;
    } else if (rivals->next == rivals->fastest || medians[at] < medians[rivals->next]) {
        rivals->next = at;
    }
}

/*
 * Sets, for each group, the index of its set of rivals; -1: it has too few times. Adds up the sets in
 * `rivals`.
 */
static int find_rivals(struct report_groups *report, int64_t *number, const int64_t *medians,
                       struct rivals *rivals)
{
    char name[KEY_COUNT * sizeof(int64_t) * 2];
    struct intern names;
    int failed = 0;
    intern_init(&names);
    for (size_t i = 0, length; i < report->count && !failed; i++) {
        number[i] = -1;
        if (!name_rivals(report, &report->groups[i], name, &length))
            continue;
        number[i] = intern_put(&names, name, length);
        failed = number[i] < 0;
        if (!failed)
            add_rival(&rivals[number[i]], report, i, medians);
    }
    intern_release(&names);
    return failed;
}

static void compare(struct report_groups *report, const struct rivals *rivals, size_t at,
                    struct report_comparison *comparison)
{
    size_t other = at == rivals->fastest ? rivals->next : rivals->fastest;
    struct median own = compare_median_of(&report->groups[at].transfer_ns);
    struct median others = compare_median_of(&report->groups[other].transfer_ns);
    struct median fastest = at == rivals->fastest ? own : others;
    struct median slower = at == rivals->fastest ? others : own;
    *comparison = (struct report_comparison){.is_compared = fastest.ns > 0, .fastest = rivals->fastest};
    if (fastest.ns <= 0)
        return;
    if (at != rivals->fastest)
        comparison->slower = (double)(own.ns - fastest.ns) / (double)fastest.ns;
    comparison->is_significant = slower.low_ns > fastest.high_ns;
}

struct report_comparison *report_compare(struct report_groups *report, size_t *mixed)
{
    struct report_comparison *comparisons = array_new(report->count, sizeof *comparisons);
    struct rivals *rivals = array_new(report->count, sizeof *rivals);
    int64_t *number = array_new(report->count, sizeof *number);
    int64_t *medians = array_new(report->count, sizeof *medians);
    int failed = !comparisons || !rivals || !number || !medians;
    *mixed = 0;
    for (size_t i = 0; i < report->count && !failed; i++)
        medians[i] = samples_percentile(&report->groups[i].transfer_ns, 0.5);
    failed = failed || find_rivals(report, number, medians, rivals);
    for (size_t i = 0; i < report->count && !failed; i++) {
        const struct rivals *of = number[i] < 0 ? NULL : &rivals[number[i]];
        if (!of || of->count < 2)
            continue;
        if (of->is_mixed)
            ++*mixed;
        else
            compare(report, of, i, &comparisons[i]);
    }
    free(rivals);
    free(number);
    free(medians);
    if (failed)
        free(comparisons);
    return failed ? NULL : comparisons;
}

/* Columns of the statement that lists samples. */
enum {
    INSTANT,
    NODE,
    GPU,
    COMMUNICATOR,
    NODES,
    RANKS,
    FUNCTION,
    BYTES,
    ALGORITHM,
    PROTOCOL,
    BANDWIDTH,
    DURATION,
    TAG
};

/* Samples have no ranks and no steps. */
static int is_looked_at(const struct report_groups *report, struct statement *row)
{
    const struct filter *filter = report->filter;
    return !filter_is_of_steps(filter) && !filter_is_of_ranks(filter) &&
           filter_is_text(filter->communicator, statement_text(row, COMMUNICATOR)) &&
           filter_is_text(filter->tag, statement_text(row, TAG)) &&
           (!report->cross_node || statement_integer(row, NODES) > 1);
}

/* The number in "GPU4"; -1: none. */
static int64_t device_of(const char *gpu)
{
    int64_t number = 0;
    if (!gpu || strncmp(gpu, "GPU", 3) != 0 || !gpu[3])
        return -1;
    for (const char *at = gpu + 3; *at; at++) {
        if (!is_digit(*at) || number > INT32_MAX)
            return -1;
        number = number * 10 + (*at - '0');
    }
    return number;
}

static int take(struct report_groups *report, struct statement *row)
{
    if (!is_looked_at(report, row))
        return 0;
    enum function function = (enum function)statement_integer(row, FUNCTION);
    int64_t ranks = statement_integer(row, RANKS);
    double gbs = statement_is_null(row, BANDWIDTH) ? -1 : statement_real(row, BANDWIDTH);
    struct report_row sample = {
        .key = {[KEY_TAG] = report_groups_text(report, statement_text(row, TAG)),
                [KEY_FUNCTION] = report_groups_text(report, function_name(function)),
                [KEY_COMMUNICATOR] = report_groups_text(report, statement_text(row, COMMUNICATOR)),
                [KEY_SIZE] = function_size_bytes(function, statement_integer_or(row, BYTES, -1), ranks),
                [KEY_ALGORITHM] = report_groups_text(
                    report, algorithm_name((enum algorithm)statement_integer(row, ALGORITHM))),
                [KEY_PROTOCOL] = report_groups_text(
                    report, protocol_name((enum protocol)statement_integer(row, PROTOCOL))),
                [KEY_RANK] = -1,
                [KEY_STEP] = -1,
                [KEY_RUN] = -1,
                [KEY_REGISTERED] = -1,
                [KEY_SOURCE] = -1,
                [KEY_GPU_SERIAL] = -1,
                [KEY_VM] = -1,
                [KEY_DEVICE] = device_of(statement_text(row, GPU)),
                [KEY_HOST] = report_groups_text(report, statement_text(row, NODE)),
                [KEY_PEER] = -1,
                [KEY_TIME] = report_groups_text(report, statement_text(row, INSTANT))},
        .instance = -1,
        .ranks = ranks,
        .transfer_ns = TIME_UNKNOWN,
        .effective_ns = statement_integer_or(row, DURATION, TIME_UNKNOWN),
        .wait_ns = TIME_UNKNOWN,
        .effective_gbs = gbs,
        .function = (int)function,
        .is_sample = 1};
    return report_groups_add_named(report, &sample);
}

int report_samples_read(struct report_groups *report, struct store *store, struct error *error)
{
    return report_groups_take_all(report, store, schema_analysis_report_samples, take, error);
}

int caution_dropped_samples(const struct sample_counts *counts, struct table *table, struct error *error)
{
    if (!counts->dropped)
        return 0;
    return table_add_warning(
        table, error,
        "%lld operation%s missing in these averages: Inspector's buffer was full; set "
        "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE and NCCL_INSPECTOR_DUMP_P2P_RING_SIZE higher",
        (long long)counts->dropped, counts->dropped == 1 ? " is" : "s are");
}

int report_samples_count(struct store *store, struct sample_counts *counts, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_analysis_report_sample_count, error);
    int row = statement ? statement_step(statement, error) : -1;
    *counts = (struct sample_counts){.samples = 0};
    if (row == 1)
        *counts = (struct sample_counts){.samples = statement_integer(statement, 0),
                                         .jobs = statement_integer(statement, 1),
                                         .dropped = statement_integer(statement, 2)};
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

static int sources_take(struct map *sources, struct report_groups *report, struct statement *row)
{
    struct map_key key = {{(uint64_t)statement_integer(row, 0)}};
    int64_t text = report_groups_text(report, statement_text(row, 1));
    return text < 0 || !map_put(sources, key, text, NULL) ? -1 : 0;
}

int report_sources_read(struct map *sources, struct report_groups *report, struct store *store,
                        int64_t run_id, struct error *error)
{
    struct statement *row = store_prepare_for(store, schema_analysis_report_sources, run_id, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (sources_take(sources, report, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}
