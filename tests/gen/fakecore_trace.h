/*
 * The bytes that this process has on disk now, so that a test need not guess how long a busy machine takes.
 */
#ifndef FAKECORE_TRACE_H
#define FAKECORE_TRACE_H

#include <stdint.h>

/* Files that this process has open and whose names end in the suffix. */
int fake_traces(const char *suffix);

/* The size of its traces in bytes, compressed or not. */
uint64_t fake_trace_bytes(void);

/*
 * Returns when the traces contain the text this many times in total; never returns if that does not happen.
 */
void fake_await_trace(const char *suffix, const char *text, int times);

#endif
