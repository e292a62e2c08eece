/* Names and numbers in PyTorch's own recorders: process groups, operations, data types, threads. */
#ifndef SIMULATE_TORCH_H
#define SIMULATE_TORCH_H

#include "simulate.h"

#define TORCH_TEXT 32

/*
 * The operations of one call: one, or the sends and receives of a group. Consecutive records of one process.
 */
struct torch_group {
    struct record *const *records;
    int count;
    const struct communicator *communicator;
};

struct torch_function {
    const char *collective; /* in record_param_comms */
    const char *operation;  /* nccl:... */
    const char *dispatch;   /* c10d::... */
    const char *kernel;
};

/* The group that starts at a record. */
struct torch_group torch_group_at(const struct job *job, const struct process *process, int first);
/* A group in which every rank sends to all: torch has a special call for that. */
bool torch_is_all_to_all(const struct torch_group *group);
/* Several sends and receives in a group. */
bool torch_is_batch(const struct torch_group *group);
struct torch_function torch_function_of(const struct torch_group *group);
/* When its single kernel began and ended; UNKNOWN: it did not. */
int64_t torch_start(const struct torch_group *group);
int64_t torch_end(const struct torch_group *group);
/* The numbers of elements that a rank sends and receives. */
int64_t torch_elements_in(const struct torch_group *group);
int64_t torch_elements_out(const struct torch_group *group);
int64_t torch_elements(const struct record *record);

/*
 * The number that ProcessGroupNCCL gives it, "0" for that of all ranks, and the name that its owner gives it.
 */
void torch_group_name(const struct job *job, int communicator, char *name);
void torch_group_description(const struct job *job, int communicator, char *description);
/* Writes "[0, 1]" to the output. */
void torch_ranks(struct output *output, const struct communicator *communicator);
const char *torch_datatype(const struct record *record);

/* Whether a phase is called on autograd's thread, as if hooks of parameters communicate. */
bool torch_is_autograd(const struct job *job, int phase);
/* The wall clock of a host, nanoseconds since the epoch: hosts agree within a fraction of a millisecond. */
int64_t torch_wall_ns(const struct job *job, const struct process *process, int64_t time);

#endif
