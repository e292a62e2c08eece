/* What PyTorch's own recorders call things: process groups, operations, data types, threads. */
#ifndef SIMULATE_TORCH_H
#define SIMULATE_TORCH_H

#include "simulate.h"

#define TORCH_TEXT 32

/* Operations that one call makes: one, or what is sent and received in a group. Records of one process, one
 * after the other. */
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

/* The group that begins at a record. */
struct torch_group torch_group_at(const struct job *job, const struct process *process, int first);
/* A group of everything to everybody: torch has a call of its own for that. */
bool torch_is_all_to_all(const struct torch_group *group);
/* Several sends and receives in a group of their own. */
bool torch_is_batch(const struct torch_group *group);
struct torch_function torch_function_of(const struct torch_group *group);
/* When its one kernel began and ended; UNKNOWN: it did not. */
int64_t torch_start(const struct torch_group *group);
int64_t torch_end(const struct torch_group *group);
/* Elements that a rank gives and gets. */
int64_t torch_elements_in(const struct torch_group *group);
int64_t torch_elements_out(const struct torch_group *group);
int64_t torch_elements(const struct record *record);

/* As ProcessGroupNCCL numbers them, "0" for that of all ranks, and what its owner calls it. */
void torch_group_name(const struct job *job, int communicator, char *name);
void torch_group_description(const struct job *job, int communicator, char *description);
/* "[0, 1]" into the output. */
void torch_ranks(struct output *output, const struct communicator *communicator);
const char *torch_datatype(const struct record *record);

/* Whether a phase is called by autograd's thread, as it is where hooks of parameters communicate. */
bool torch_is_autograd(const struct job *job, int phase);
/* A host's wall clock, nanoseconds since the epoch: hosts agree to a fraction of a millisecond. */
int64_t torch_wall_ns(const struct job *job, const struct process *process, int64_t time);

#endif
