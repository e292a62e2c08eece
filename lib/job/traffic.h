#ifndef NCCLPROF_JOB_TRAFFIC_H
#define NCCLPROF_JOB_TRAFFIC_H

#include <stdint.h>

/* What is kept of the network steps of a job (load_traffic.c). Part of job.h, which includes it. */

/* How long the network steps of one operation waited on one link (traffic from sender to receiver). */
struct job_traffic {
    int32_t sender; /* job ranks */
    int32_t receiver;
    int32_t operation;
    int32_t steps;
    uint8_t by_receiver;     /* recorded on the receiving side */
    int64_t network_wait_ns; /* SendWait or RecvWait */
    int64_t network_wait_max_ns;
    int64_t busy_ns; /* time during which at least one step waited for the network */
};

/* Less than a scheduler's time slice (0.7 ms and more), and what a thread that has a core hardly takes. */
enum { JOB_SLICE_NS = 500000, JOB_PROMPT_NS = JOB_SLICE_NS / 10 };

/*
 * How the proxy threads of a rank worked in one step, summed over its operations. A notice is late by the
 * time from the first start of a kernel, or its last stop, by the GPU's clock (job_delay), until the thread
 * noted it, without the time in which its rank sent, as a thread may be blocked in a send. The service of a
 * network step is the part of a wait after the same wait of the step before it has ended, in one proxy
 * operation.
 */
struct job_service {
    int64_t notice_ns;
    int64_t notices;    /* two per operation; 0: none is recorded */
    int64_t between;    /* of these, those later than JOB_PROMPT_NS but not than JOB_SLICE_NS */
    int64_t samples;    /* of all, those at least JOB_SLICE_NS apart: kernels of one moment show the same */
    int64_t late;       /* of these samples, those with a notice later than JOB_SLICE_NS */
    int64_t send_ns;    /* SendWait: the network, or this rank's card, took the data */
    int64_t produce_ns; /* SendGpuWait: its GPU had no data yet */
    int64_t drain_ns;   /* RecvGpuWait: its GPU had not taken the received data yet */
};

/*
 * When the network steps of one operation ended at one receiver, on one channel. Listed only for operations
 * of communicators that lack the records of some member, because they show how long the others waited for it.
 */
struct job_arrivals {
    int32_t operation;
    int32_t sender;   /* job rank; -1: not known */
    int32_t steps;    /* at least 2 */
    int64_t first_ns; /* end of the first network step, on the receiver's device timeline */
    int64_t last_ns;
    int64_t longest_ns;     /* the longest time from the end of one to the end of the next */
    int32_t before_longest; /* as many network steps ended before that time */
};

#endif
