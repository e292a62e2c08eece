#include "report/compare.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* Of the normal distribution, for an interval that holds 95 of 100. */
static const double DEVIATIONS = 1.96;

/* Groups that are held against each other. */
struct rivals {
    size_t fastest;
    size_t next; /* the second fastest; that of `fastest` where there is none */
    size_t count;
    int64_t function;
    int64_t communicator;
    int is_mixed;
};

/* The median of a group's transfers, and within what it lies. */
struct median {
    int64_t ns;
    int64_t low_ns;
    int64_t high_ns;
};

static int64_t at_rank(struct samples *samples, size_t rank)
{
    return samples_percentile(samples, (double)(rank + 1) / (double)samples->count);
}

static struct median median_of(struct samples *samples)
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

/* All keys but those that rivals differ in. Numbers below 0 are not known: nothing is compared by them. */
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

/* Of each group the number of its rivals; -1: it has too few times. *count: how many there are. */
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
    struct median own = median_of(&report->groups[at].transfer_ns);
    struct median others = median_of(&report->groups[other].transfer_ns);
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
