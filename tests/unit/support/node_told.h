#ifndef NCCLPROF_TESTS_NODE_TOLD_H
#define NCCLPROF_TESTS_NODE_TOLD_H

#include "support/events.h"

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* A second in nanoseconds, and 2026-11-26 10:11:12 UTC. */
#define SECOND INT64_C(1000000000)
#define MOMENT (INT64_C(1795687872) * SECOND)

/* Reads a text as a file of that name. */
void told_by(struct recording *recording, const char *name, const char *text);

/* The nth sample of a metric of a device (NULL: the node); NULL if there are fewer. */
const struct node_sample *told_sample(const struct recording *recording, const char *device,
                                      enum node_metric metric, size_t n);
size_t told_samples(const struct recording *recording, const char *device, enum node_metric metric);

/* The nth event; fails the test if there are fewer. */
const struct node_event *told_event(const struct recording *recording, size_t n);

/* Checks time, begin (TIME_UNKNOWN: a total) and value. */
void check_sample(const struct node_sample *sample, int64_t begin_ns, int64_t at_ns, double value);

/*
 * Reads the text cut after each byte, and with each byte in turn replaced by 0xff and by NUL: nothing may
 * crash, and reading may not fail.
 */
void damage_told(const char *name, const char *text);

#endif
