#ifndef NCCLPROF_REPORT_GROUPS_H
#define NCCLPROF_REPORT_GROUPS_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

struct roster;
struct store;

/* -------------------- report_groups.c -------------------- */

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
    KEY_SOURCE,
    KEY_GPU_SERIAL,
    KEY_VM,
    KEY_DEVICE,
    KEY_HOST,
    KEY_PEER,
    KEY_TIME,
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
    double effective_gbs; /* of a sample; below 0: not known */
    int function;
    int is_own;    /* effective is one operation's: of several in a group the longest counts */
    int is_sample; /* an average, which stands for operations that nobody counted (report_compare.c) */
};

struct samples {
    int64_t *values; /* owned: nanoseconds; or a bandwidth's bits, which sort as it does, being positive */
    size_t count;
    size_t capacity;
};

struct report_group {
    int64_t last_instance;
    int64_t last_effective_ns; /* of its operations in that group; TIME_UNKNOWN */
    int64_t samples;
    int64_t sample_bandwidths; /* of these, whose bandwidth is known and above 0 */
    double logarithms;         /* sum of those of them */
    int64_t message_bytes;     /* as descriptions of calls count: model/call.h */
    int64_t instances;
    int64_t operations;
    int64_t bytes;
    double effective_total_ns;
    struct samples transfer_ns;
    struct samples effective_ns;
    struct samples wait_ns;
    struct samples transfer_gbs;
    struct samples effective_gbs;
    struct samples transfer_message_gbs;
    struct samples effective_message_gbs;
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
    int cross_node;                                            /* only between hosts */
    int (*has_rank)(const void *context, int64_t global_rank); /* NULL: all */
    const void *context;
};

struct report_groups {
    struct report_filter filter;
    enum report_key by[KEY_COUNT];
    size_t by_count;
    int has_calls;       /* bandwidth is shown as call descriptions count it, too */
    int has_samples;     /* rows are of samples */
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
    int64_t undecided;   /* instances left out, since it is not known whether they are between hosts */
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

/* -------------------- report_rows.c -------------------- */

/* Reads all rows of a run (0: of all) and groups them; those of one instance come one after the other. */
int report_groups_read(struct report_groups *report, struct store *store, int64_t run_id,
                       struct error *error);

/* -------------------- report_groups.c -------------------- */

/* Where ranks are, for rows by host, GPU, virtual machine or peer, and for --cross-node. */

/* What a rank is at, as keys of report.h: numbers of texts in the report, -1: not known. */
struct report_place {
    int64_t host;
    int64_t gpu_serial;
    int64_t vm;
    int64_t device; /* the number itself */
};

struct report_places {
    const struct roster *roster;
    struct report_place *ranks; /* owned: of each rank of the roster */
};

/* Release it whatever comes back. Wants the roster's members and facts; -1: no memory. */
int report_places_init(struct report_places *places, const struct roster *roster,
                       struct report_groups *report);
void report_places_release(struct report_places *places);

/* The global rank of such a number of a communicator; -1. */
int64_t report_places_global_rank(const struct report_places *places, int32_t communicator, int64_t number);

/* Whether a communicator, or two of its ranks, are on more than one host: 1, 0; -1: that is not known. */
int report_places_cross(const struct report_places *places, int32_t communicator);
int report_places_pair_crosses(const struct report_places *places, int32_t communicator, int64_t one,
                               int64_t other);

/* -------------------- report_compare.c -------------------- */

/*
 * Which algorithm and protocol moved the same data fastest: groups that differ in these alone, are of one
 * size, function and communicator each, and have REPORT_COMPARED_LEAST times or more, held against the one
 * with the shortest median transfer.
 */

/* The median of fewer has no confidence interval of 95 %, by order statistics. */
enum { REPORT_COMPARED_LEAST = 6 };

struct report_comparison {
    int is_compared;
    size_t fastest;     /* which group */
    double slower;      /* by how much the median is longer than that one's, in parts of it; 0: it is that */
    int is_significant; /* the intervals of both medians do not meet; of the fastest: of its and the next
                           one's */
};

/* Whether groups are told apart by what can be compared: by size, and by algorithm or protocol. */
int report_is_compared(const struct report_groups *report);

/*
 * One for each group, in their order; owned by the caller. *mixed counts groups that are of several functions
 * or communicators, with others to compare. NULL when memory is out.
 */
struct report_comparison *report_compare(struct report_groups *report, size_t *mixed);

/* Groups the averages that Prometheus text holds, by the same keys as operations, as far as it tells them,
 * and by when they were written. */
int report_samples_read(struct report_groups *report, struct store *store, struct error *error);

/* How many the store has, and of how many of the scheduler's jobs. */
int report_samples_count(struct store *store, int64_t *count, int64_t *jobs, struct error *error);

/* From where operations were called, as descriptions of the calls say: operation -> number of its text in the
 * report. Of several descriptions the first counts. `run_id` 0: of all runs. */
int report_sources_read(struct map *sources, struct report_groups *report, struct store *store,
                        int64_t run_id, struct error *error);

#endif
