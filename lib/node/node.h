#ifndef NCCLPROF_NODE_NODE_H
#define NCCLPROF_NODE_NODE_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;

/*
 * The sampler of `record`: a process beside the job that writes down the state of the node while the job runs
 * (ncclprof-formats(5), NODE RECORD). It reads /proc, /sys, /dev/kmsg and, through NVML, the GPUs. It is no
 * child of the job, holds none of its descriptors, and ends when the job ends.
 *
 * One sampler per directory and network namespace (as a rule: per host) writes. Samplers that start later,
 * as under `mpirun -np 8 ncclprof record`, tell it the process that they watch, and take its place if it is
 * killed.
 */
struct node_options {
    const char *directory; /* absolute; exists */
    int interval_ms;       /* between two samples; NODE_INTERVAL_MS unless the user chose another one */
    int is_fixed;          /* the user chose the interval: it is not lengthened to save CPU time */
    uint64_t most_bytes;   /* the size at which the record ends; 0: no limit */
    uint64_t free_bytes;   /* to keep free on the file system; NODE_FREE_DEFAULT */
    /* Words of the command line that the sampler's entry in /proc does not show; may be NULL. Overwritten. */
    char **words;
    size_t word_count;
};

enum { NODE_INTERVAL_MS = 1000, NODE_INTERVAL_LEAST_MS = 10, NODE_INTERVAL_MOST_MS = 3600 * 1000 };

/* Keep a twentieth of the file system, but at most 1 GiB. */
#define NODE_FREE_DEFAULT UINT64_MAX

/* The size at which the record ends, unless the user chose another one. */
#define NODE_MOST_BYTES ((uint64_t)1 << 30)

/*
 * Starts the sampler for the job that the calling process will become by execve(). Returns -1 if no process
 * could be started.
 */
int node_start(const struct node_options *options, struct error *error);

/*
 * Appends what the sampler could read here: one line for each source, "NAME: what", with the reason where it
 * cannot be read. Returns -1 when out of memory. Loads NVML, if there is one.
 */
int node_describe(struct buffer *text, struct error *error);

#endif
