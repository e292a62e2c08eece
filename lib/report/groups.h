#ifndef NCCLPROF_REPORT_GROUPS_H
#define NCCLPROF_REPORT_GROUPS_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

struct filter;
struct roster;
struct statement;
struct runs;
struct store;
struct table;

/* -------------------- report_groups.c -------------------- */

/* The rows of the command report, by group. */

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

/* An instance; or one of its operations, if a key is known only for single operations. */
struct report_row {
    int64_t key[KEY_COUNT]; /* the number itself, or the number of its text in report.texts; -1: not known */
    int64_t instance;
    int64_t ranks; /* size of the communicator */
    int64_t operations;
    int64_t transfer_ns; /* TIME_UNKNOWN */
    int64_t effective_ns;
    int64_t wait_ns;      /* for a rank: duration minus transfer time; TIME_UNKNOWN */
    int64_t communicator; /* its label, as a number in report.texts */
    double effective_gbs; /* for a sample; below 0: not known */
    int function;
    int is_own; /* effective_ns is that of one operation: if a group has several of an instance, the longest
                   counts */
    int64_t message_bytes; /* of a description */
    int is_described;      /* a description of a call without an operation (described_calls.c) */
    int is_phase;  /* the time of a phase without operations, effective_ns, of a rank (tag_phases.c) */
    int is_sample; /* an average over operations that were not recorded one by one (report_compare.c) */
};

struct samples {
    int64_t *values; /* owned: nanoseconds, or the bits of a bandwidth, which sort like the positive number
                        itself */
    size_t count;
    size_t capacity;
};

struct report_group {
    int64_t last_instance;
    int64_t last_effective_ns; /* of the operations of last_instance in the group; TIME_UNKNOWN */
    int64_t samples;
    int64_t sample_bandwidths; /* number of samples with a known bandwidth above 0 */
    double logarithms;         /* sum of the logarithms of those bandwidths */
    int64_t message_bytes;     /* as call descriptions count it (model/model.h) */
    int64_t instances;
    int64_t operations;
    int64_t bytes;
    double effective_total_ns;
    struct samples transfer_ns;
    struct samples effective_ns;
    struct samples wait_ns;
    struct samples phase_ns; /* of phases without operations: one per rank and step */
    struct samples transfer_gbs;
    struct samples effective_gbs;
    struct samples transfer_message_gbs;
    struct samples effective_message_gbs;
    int64_t key[KEY_COUNT]; /* the first by_count are used */
    int64_t communicator;   /* of its first row, like `function` */
    int function;
    int is_mixed; /* other rows have another function or communicator */
};

struct report_groups {
    const struct filter *filter; /* borrowed: which rows are read */
    int cross_node;              /* only communication between hosts */
    enum report_key by[KEY_COUNT];
    size_t by_count;
    int has_calls;        /* show bandwidth also as call descriptions count bytes */
    int has_samples;      /* rows come from samples */
    int has_descriptions; /* rows come from descriptions of calls */
    int has_phases;       /* some rows are of phases without operations */
    struct intern texts;  /* of key values */
    int64_t *numbers;     /* owned: by number in texts, for names of ranks their global rank; -1: not known */
    size_t number_count;
    struct intern group_names; /* groups by the numbers of their keys */
    struct report_group *groups;
    size_t count;
    size_t capacity;
    size_t latest;           /* the group of the previous row */
    int64_t instances;       /* number with known transfer time, in all groups */
    int64_t lacking;         /* number of those with missing members */
    int64_t by_assumed_hook; /* operations judged as if an allocator hook had been on, although nothing
                                records that */
    int64_t undecided;       /* instances left out because it is not known whether they are between hosts */
};

void report_groups_init(struct report_groups *report);
void report_groups_release(struct report_groups *report);

int report_groups_is_by(const struct report_groups *report, enum report_key key);

/* The number of a text of a key; -1 for NULL; -2 when memory is out. */
int64_t report_groups_text(struct report_groups *report, const char *text);

/* The number of the text of a rank, which is its number; -2 when memory is out. */
int64_t report_groups_rank(struct report_groups *report, int64_t rank);

/* Adds the number of a rank's name, in `texts`; -1: not known. Returns -1 when memory is out. */
int report_groups_number(struct report_groups *report, int64_t name, int64_t rank);

/* Adds a row to its group. Returns -1 when memory is out. */
int report_groups_add(struct report_groups *report, const struct report_row *row);

/* The same for a row whose keys may be -2, because memory was out for their texts. */
int report_groups_add_named(struct report_groups *report, const struct report_row *row);

/* Hands each row of a query to `take`, which returns -1 when memory is out. */
int report_groups_take_all(struct report_groups *report, struct store *store, const char *sql,
                           int (*take)(struct report_groups *report, struct statement *row),
                           struct error *error);

/* Sorts the groups: by step if that is a key, then by total duration, longest first. */
void report_groups_sort(struct report_groups *report);

/*
 * Percentile by nearest rank: the smallest value that is at least as great as `part` of the values. Reorders
 * them; 0 if there are none.
 */
int64_t samples_percentile(struct samples *samples, double part);

/* The bandwidth that the bits encode. */
double samples_real(int64_t bits);

/* -------------------- report_rows.c -------------------- */

/*
 * Reads all rows of a run (`run_id` 0: of all runs) and groups them. Rows of one instance are read in
 * succession. Returns -1 on error.
 */
int report_groups_read(struct report_groups *report, struct store *store, int64_t run_id,
                       struct error *error);

/* -------------------- tag_phases.c -------------------- */

/*
 * Adds the phases in which a rank has no operation, if the groups are by tag and by nothing that only
 * operations have. Returns -1 on error.
 */
int report_phases_read(struct report_groups *report, struct store *store, const struct runs *runs,
                       struct error *error);

/* -------------------- report_groups.c -------------------- */

/* Placement of ranks, for rows by host, GPU, virtual machine or peer, and for --cross-node. */

/* Where a rank runs, as values of report keys: numbers of texts in the report; -1: not known. */
struct report_place {
    int64_t host;
    int64_t gpu_serial;
    int64_t vm;
    int64_t device; /* the number itself */
};

struct report_places {
    const struct roster *roster;
    struct report_place *ranks; /* owned: per rank of the roster */
};

/* -------------------- report_compare.c -------------------- */

/*
 * Which algorithm and protocol transferred the same data fastest. Groups are compared with each other if they
 * differ only in algorithm and protocol, each has a single size, function and communicator, and each has at
 * least REPORT_COMPARED_LEAST transfer times. Each is compared with the one with the shortest median transfer
 * time.
 */

/* Below 6 values, order statistics give no 95 % confidence interval of a median. */
enum { REPORT_COMPARED_LEAST = 6 };

struct report_comparison {
    int is_compared;
    size_t fastest;     /* index of the fastest group */
    double slower;      /* median transfer time relative to the fastest group, minus 1; 0 for the fastest */
    int is_significant; /* the confidence intervals of both medians do not overlap; for the fastest group, its
                           interval and that of the second fastest */
};

/* Whether the keys allow a comparison: size, and algorithm or protocol. */
int report_is_compared(const struct report_groups *report);

/*
 * One per group, in the same order; the caller frees them. *mixed counts the groups that have several
 * functions or communicators and could otherwise be compared. NULL when memory is out.
 */
struct report_comparison *report_compare(struct report_groups *report, size_t *mixed);

/*
 * Reads averages from Prometheus text and groups them by the same keys as operations, as far as they are
 * known, and by the time they were written. Returns -1 on error.
 */
int report_samples_read(struct report_groups *report, struct store *store, struct error *error);

/* What a store has from Prometheus text. */
struct sample_counts {
    int64_t samples;
    int64_t jobs;    /* the scheduler's, that they belong to */
    int64_t dropped; /* operations that they do not contain, as the recorder had no room for them */
};

/* Returns -1 on error. */
int report_samples_count(struct store *store, struct sample_counts *counts, struct error *error);

/* Warns of operations that the averages do not contain. */
int caution_dropped_samples(const struct sample_counts *counts, struct table *table, struct error *error);

/*
 * Maps operations to the source lines that they were called from, as numbers of texts in the report, from
 * call descriptions. If an operation has several, the first one counts. `run_id` 0: all runs. Returns -1 on
 * error.
 */
int report_sources_read(struct map *sources, struct report_groups *report, struct store *store,
                        int64_t run_id, struct error *error);

/* -------------------- described_calls.c -------------------- */

/* Reads the descriptions of calls and groups them by the same keys, as far as they are known. -1 on error. */
int report_descriptions_read(struct report_groups *report, struct store *store, struct error *error);

/* Number of descriptions in the store. Returns -1 on error. */
int report_descriptions_count(struct store *store, int64_t *count, struct error *error);

#endif
