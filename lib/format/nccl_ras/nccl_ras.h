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
 * Who is in the communicators of a RAS dump, and how many operations each rank has launched there: NCCL
 * counts them for each function apart (comm->seqNumber), from 0, and numbers them so. Fields: NVIDIA/nccl,
 * src/ras/client_support.cc, jsonWriteRankData().
 */

/*
 * What RAS counts: the functions in the order of NCCL's ncclFunc_t, and up to NCCL 2.25 all collectives
 * together. Sends and receives it does not.
 */
enum { RAS_FUNCTIONS = 5, RAS_COUNT_OF_ALL = RAS_FUNCTIONS, RAS_COUNTS };

/* A dump is of one job: more ranks, counted in each of their communicators, it does not have. */
enum { RAS_SEATS_MOST = 1 << 20 };

struct ras_member {
    uint64_t communicator_hash; /* 0: a process of which no rank is known */
    int64_t communicator_size;  /* 0: not said */
    int64_t host;               /* its text's number; -1: not said */
    int64_t pid;
    int64_t rank;
    int64_t gpu;
    int64_t counts[RAS_COUNTS]; /* COUNT_UNKNOWN: not said */
    enum warning_kind missing;  /* WARNING_OTHER: it answered */
    int64_t error;              /* NCCL's result there, of `ncclResult_t`; 0: none that says anything */
    int is_aborted;
    int is_void; /* it is handed over no more */
    uint64_t offset;
};

struct ras_members {
    struct ras_member *items; /* owned, communicator by communicator */
    size_t count;
    size_t capacity;
    struct ras_member *kept; /* owned: those of the last dump before this one in the file that has counts */
    size_t kept_count;
    size_t kept_capacity;
    struct intern texts;
    int has_world;              /* one communicator is larger than all others */
    uint64_t communicator_hash; /* of what is read now */
    int64_t communicator_size;
    int64_t at_ns; /* when the dump was made, by the clock on the wall there; TIME_UNKNOWN */
};

/* NCCL's results, up to which they are known. */
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

/* Which count has this name: that of a function, or "collective" for all. -1: none. */
int ras_count_of(const char *name, size_t length);

/* The number of a host's text, -1 for "unknown" and none. Returns -1 when memory is out. */
int ras_members_host(struct ras_members *member_list, const char *text, size_t length, int64_t *number);

/* A seat of which no more is known. */
struct ras_member ras_member_of(uint64_t communicator_hash, int64_t communicator_size, int64_t rank,
                                uint64_t offset);

/* Takes a seat as it is. 0, or -1 when memory is out. */
int ras_members_put(struct ras_members *member_list, const struct ras_member *member);

/* Takes a rank's object; of one that did not answer with why. 0, or -1 when memory is out. */
int ras_members_add(struct ras_members *member_list, struct json *json, enum warning_kind missing,
                    uint64_t offset);

/* By communicator, and by rank there. */
void ras_members_sort(struct ras_members *member_list);

/*
 * Another dump follows in the same file: hands over how far ranks had come in this one. Its operations count
 * only if no later one has counts.
 */
int ras_members_next(struct ras_members *member_list, const struct format_sink *sink, struct error *error);

/*
 * Hands over all: who is where, then the last operation of each function that all members launched, then
 * those that only some did, so that nothing common comes after what some wait in. Of a communicator in which
 * all counts are 0 nothing is known: RAS gives such counts now and then for ranks that launched thousands of
 * operations.
 */
int ras_members_end(struct ras_members *member_list, const struct format_sink *sink, struct error *error);

/* -------------------- report.c -------------------- */

/*
 * The text that `ncclras` prints unless it is asked for JSON: the only form of NCCL 2.24 to 2.28.6. It lists
 * communicators whose ranks launched different numbers of operations, and says of the common ones no more
 * than how many ranks they are. Source: NVIDIA/nccl, src/ras/client_support.cc, rasClientRunComms().
 */

/* Whether a text begins with such a report. */
int ras_report_begins(const char *bytes, size_t length);

/* Reads all reports of the input, one after the other, and hands over what the last of them says. */
int ras_report_read(struct ras_members *member_list, struct input *input, const struct format_sink *sink,
                    struct error *error);

#endif
