/* What this process has on disk by now: whoever waits for that need not guess how long a busy machine takes.
 */
#ifndef FAKECORE_TRACE_H
#define FAKECORE_TRACE_H

#include <stdint.h>

/* Files that this process holds open and whose names end in the suffix. */
int fake_traces(const char *suffix);

/* How many bytes its traces have, compressed or not. */
uint64_t fake_trace_bytes(void);

/* Returns when they have the text so many times together; never, if that does not come. */
void fake_await_trace(const char *suffix, const char *text, int times);

#endif
