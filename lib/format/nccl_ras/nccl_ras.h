#ifndef NCCLPROF_FORMAT_NCCL_RAS_NCCL_RAS_H
#define NCCLPROF_FORMAT_NCCL_RAS_NCCL_RAS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct input;
struct json;

/* -------------------- members.c -------------------- */

/*
 * The members of the communicators in a RAS dump, and how many operations each rank has launched. NCCL counts
 * the operations of each function separately (comm->seqNumber), from 0, and uses these counts as sequence
 * numbers. Source of the fields: NVIDIA/nccl, src/ras/client_support.cc, jsonWriteRankData().
 */

/*
 * The counts that are read: those of collective functions, in the order of NCCL's ncclFunc_t, and AlltoAll,
 * which NCCL counts since 2.32; up to NCCL 2.25 one count of all collectives. Ranks rightly differ in how
 * many sends and receives they launched.
 */
enum { RAS_FUNCTIONS_EVER = 5, RAS_FUNCTIONS, RAS_COUNT_OF_ALL = RAS_FUNCTIONS, RAS_COUNTS };

/* Limit on the members of all communicators in a dump, which is of one job. */
enum { RAS_MEMBERS_MOST = 1 << 20 };

struct ras_member {
    uint64_t communicator_hash; /* 0: a process without a known rank */
    int64_t communicator_size;  /* 0: not given */
    int64_t host;               /* number of its name in `texts`; -1: not given */
    int64_t pid;
    int64_t rank;
    int64_t gpu;
    int64_t counts[RAS_COUNTS]; /* COUNT_UNKNOWN: not given */
    int64_t total;              /* of all functions, with sends and receives; COUNT_UNKNOWN */
    enum warning_kind missing;  /* WARNING_OTHER: it answered */
    int64_t error;              /* NCCL's ncclResult_t on the rank; 0: none, or one without information */
    int is_aborted;
    int is_void; /* it is not to be handed over */
    uint64_t offset;
};

struct ras_members {
    struct ras_member *items; /* owned, communicator by communicator */
    size_t count;
    size_t capacity;
    struct ras_member *kept; /* owned: members of the latest earlier dump in the file that has counts */
    size_t kept_count;
    size_t kept_capacity;
    struct intern texts;
    int has_world;              /* one communicator is larger than all others */
    uint64_t communicator_hash; /* of the communicator that is being read */
    int64_t communicator_size;
    int64_t at_ns; /* when the dump was made, in local time; TIME_UNKNOWN */
};

/* The known values of ncclResult_t. */
enum {
    RAS_RESULT_CUDA = 1,
    RAS_RESULT_SYSTEM,
    RAS_RESULT_INTERNAL,
    RAS_RESULT_ARGUMENT,
    RAS_RESULT_USAGE,
    RAS_RESULT_REMOTE,
    RAS_RESULT_IN_PROGRESS,
    RAS_RESULT_OTHER
};

void ras_members_init(struct ras_members *member_list);
void ras_members_release(struct ras_members *member_list);

/* Returns the count with this name: that of a function, or RAS_COUNT_OF_ALL for "collective"; -1: none. */
int ras_count_of(const char *name, size_t length);

/*
 * Stores the number of a host's name in `*number`; -1 for "unknown" or an empty name. Returns -1 if memory is
 * out.
 */
int ras_members_host(struct ras_members *member_list, const char *text, size_t length, int64_t *number);

/* "2025-12-19 13:06:53" in local time; TIME_UNKNOWN for anything else. */
int64_t ras_moment_of(const char *text, size_t length);

/* A member with nothing else known. */
struct ras_member ras_member_of(uint64_t communicator_hash, int64_t communicator_size, int64_t rank,
                                uint64_t offset);

/* Adds a member. Returns 0, or -1 if memory is out. */
int ras_members_put(struct ras_members *member_list, const struct ras_member *member);

/*
 * Adds a member from the JSON object of a rank. `missing` is the reason why it did not answer. Returns 0, or
 * -1 if memory is out.
 */
int ras_members_add(struct ras_members *member_list, struct json *json, enum warning_kind missing,
                    uint64_t offset);

/* Sorts by communicator and rank. */
void ras_members_sort(struct ras_members *member_list);

/*
 * Another dump follows in the file: hands over the progress of the ranks in this one. Its operations are used
 * only if no later dump has counts.
 */
int ras_members_next(struct ras_members *member_list, const struct format_sink *sink, struct error *error);

/*
 * Hands over everything: the placement of the ranks; then the last operation of each function that all
 * members launched; then those that only some launched, so that no common operation comes after one in which
 * ranks wait. A communicator whose counts are all 0 is unknown: RAS sometimes gives these for ranks that
 * launched thousands of operations.
 */
int ras_members_end(struct ras_members *member_list, const struct format_sink *sink, struct error *error);

/* -------------------- monitor.c -------------------- */

/* The output of `ncclras -m`, which prints an event for each change of a process. */
enum ras_monitor { RAS_MONITOR_NONE, RAS_MONITOR_TEXT, RAS_MONITOR_JSON };

/* Whether an event begins at this place, and in which form. */
enum ras_monitor ras_monitor_at(const char *at, const char *end);

/* Reads the events from the first one on. Processes that are dead or unresponsive in the end become members.
 */
int ras_monitor_read(struct ras_members *member_list, enum ras_monitor form, struct input *input,
                     const struct format_sink *sink, struct error *error);

/* -------------------- report.c -------------------- */

/*
 * The text output of `ncclras`, the only form in NCCL 2.24 to 2.28.6. It lists the communicators whose ranks
 * launched different numbers of operations; of the other communicators it gives only the number of ranks.
 * Source: NVIDIA/nccl, src/ras/client_support.cc, rasClientRunComms().
 */

/* Whether a text begins with such a report. */
int ras_report_begins(const char *bytes, size_t length);

/* Reads all reports in the input, one after the other, and hands over the content of the last one. */
int ras_report_read(struct ras_members *member_list, struct input *input, const struct format_sink *sink,
                    struct error *error);

#endif
