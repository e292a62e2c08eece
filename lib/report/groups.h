#ifndef NCCLPROF_REPORT_GROUPS_H
#define NCCLPROF_REPORT_GROUPS_H

#include "base/intern.h"

#include <stddef.h>
#include <stdint.h>

/* The rows of report by groups. */

enum report_key {
    KEY_TAG,
    KEY_FUNCTION,
    KEY_COMMUNICATOR,
    KEY_SIZE,
    KEY_ALGORITHM,
    KEY_PROTOCOL,
    KEY_RANK,
    KEY_STEP,
    KEY_RUN,
    KEY_REGISTERED,
    KEY_COUNT
};

/* An instance; or one of its operations, where it is grouped by what is known only there. */
struct report_row {
    int64_t key[KEY_COUNT]; /* the number itself, or its text's in report.texts; -1: not known */
    int64_t instance;
    int64_t ranks; /* of the communicator */
    int64_t operations;
    int64_t transfer_ns; /* TIME_UNKNOWN */
    int64_t effective_ns;
    int64_t wait_ns;      /* of a rank, what it took beyond the transfer; TIME_UNKNOWN */
    int64_t communicator; /* number of its label in report.texts */
    int function;
};

struct samples {
    int64_t *values; /* owned: nanoseconds; or a bandwidth's bits, which sort as it does, being positive */
    size_t count;
    size_t capacity;
};

struct report_group {
    int64_t last_instance;
    int64_t instances;
    int64_t operations;
    int64_t bytes;
    double effective_total_ns;
    struct samples transfer_ns;
    struct samples effective_ns;
    struct samples wait_ns;
    struct samples transfer_gbs;
    struct samples effective_gbs;
    int64_t key[KEY_COUNT]; /* the first by_count are used */
    int64_t communicator;   /* of its first row */
    int function;           /* likewise */
    int is_mixed;           /* others are of another function or communicator */
};

/* What rows are looked at. */
struct report_filter {
    int64_t first_step; /* with last_step: all where that is INT64_MAX and this 0 */
    int64_t last_step;
    const char *tag; /* borrowed; NULL: any */
    const char *communicator;
    int (*has_rank)(const void *context, int64_t global_rank); /* NULL: all */
    const void *context;
};

struct report_groups {
    struct report_filter filter;
    enum report_key by[KEY_COUNT];
    size_t by_count;
    struct intern texts; /* of key values */
    int64_t *numbers;    /* owned: of ranks' names, by number in texts: global ranks; -1 */
    size_t number_count;
    struct intern group_names; /* groups by their keys' numbers */
    struct report_group *groups;
    size_t count;
    size_t capacity;
    size_t latest;     /* the group of the row before */
    int64_t instances; /* whose transfer is known, of all groups */
    int64_t lacking;   /* of those, whose members are not all there */
    int64_t
        by_assumed_hook; /* operations judged as if an allocator hook had been on, of which nothing tells */
};

void report_groups_init(struct report_groups *report);
void report_groups_release(struct report_groups *report);

int report_groups_is_by(const struct report_groups *report, enum report_key key);

/* The number of a key's text; -1 for NULL; -2 when memory is out. */
int64_t report_groups_text(struct report_groups *report, const char *text);

/* Adds a row to its group. -1 when memory is out. */
int report_groups_add(struct report_groups *report, const struct report_row *row);

/* Puts the groups in order: by step where that is a key, then those that took longest first. */
void report_groups_sort(struct report_groups *report);

/* Nearest rank: the least value that at least `part` of them do not exceed. They are reordered; 0 for none.
 */
int64_t samples_percentile(struct samples *samples, double part);

/* What a bandwidth's bits say. */
double samples_real(int64_t bits);

#endif
