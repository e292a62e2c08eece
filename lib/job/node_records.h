#ifndef NCCLPROF_JOB_NODE_RECORDS_H
#define NCCLPROF_JOB_NODE_RECORDS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct job;
struct job_operation;
struct store;

/*
 * What nodes say of themselves, read from the store, and the wall clock of the ranks that it is compared
 * with. Part of job.h, which includes it.
 */

/* The clock of a process: how to convert its times to UNIX time. */
struct rank_clock {
    int is_wall;    /* its times are UNIX time */
    int64_t pid;    /* COUNT_UNKNOWN */
    int64_t *local; /* owned, ascending: times on its clock, and the same moments in UNIX time */
    int64_t *real;
    size_t count;
};

/* Release it even after an error. */
int rank_clock_load(struct rank_clock *clock, const struct job *job, int32_t rank, struct error *error);
void rank_clock_release(struct rank_clock *clock);

/* Whether times can be converted at all. */
int rank_clock_is_known(const struct rank_clock *clock);

/* Converts a time on the device timeline of an operation's rank; TIME_UNKNOWN if it is not known. */
int64_t rank_clock_of(const struct rank_clock *clock, const struct job *job,
                      const struct job_operation *operation, int64_t device_ns);

/* A host of the records: its name there, and what they cover. Some records have its short name, some its full
 * one. */
struct node_host {
    char *name;    /* owned; NULL: the records do not say */
    char *names;   /* owned: all its names, short and full, as a list in JSON; "[null]" */
    char *boot_id; /* owned, of the kernel's start; NULL. The same of two hosts: containers of one machine */
    struct interval_ns covers;
    struct node_gpu {
        int64_t index; /* COUNT_UNKNOWN */
        char *bus_id;  /* owned; NULL: unknown */
        char *uuid;
    } * gpus; /* owned */
    size_t gpu_count, gpu_capacity;
    int64_t cores; /* COUNT_UNKNOWN */
};

struct node_hosts {
    struct node_host *items; /* owned */
    size_t count, capacity;
};

/* Empty if the store has no records of nodes. Release it even after an error. */
int node_hosts_load(struct node_hosts *hosts, struct store *store, struct error *error);
void node_hosts_release(struct node_hosts *hosts);

/* The host that a name means: the one with this name, else the only one whose name agrees; -1. */
int32_t node_hosts_find(const struct node_hosts *hosts, const char *name);

/* A sample as it is read: texts are borrowed until the callback returns. */
struct node_reading {
    enum node_place place;
    const char *device; /* NULL for the whole node */
    enum node_metric metric;
    struct interval_ns during;
    int64_t moment_ns; /* of a gauge that is known of one moment only; TIME_UNKNOWN */
    int64_t error_ns;
    double value;
    const char *file;
};

/* Returns non-zero to stop, as an error without a cause when memory is out. */
typedef int (*node_reading_taker)(void *context, const struct node_reading *reading);

/*
 * Passes the samples of a host within a time, series by series, each in order of time. A gauge that is known
 * of one moment only stands for the time since the sample before, for a minute at most.
 */
int node_samples_read(const struct node_host *host, struct store *store, struct interval_ns within,
                      node_reading_taker take, void *context, struct error *error);

/* A message as it is read. at_ns may be TIME_UNKNOWN. */
struct node_message {
    struct node_event said; /* its host is NULL */
    const char *file;
};

typedef int (*node_message_taker)(void *context, const struct node_message *message);

/* Passes the messages of a host in order of time. */
int node_messages_read(const struct node_host *host, struct store *store, node_message_taker take,
                       void *context, struct error *error);

#endif
