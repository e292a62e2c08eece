#ifndef NCCLPROF_BASE_PARALLEL_H
#define NCCLPROF_BASE_PARALLEL_H

#include <stddef.h>

/*
 * Threads for work that falls into items, none of which needs another's result: the ranks of a job, the
 * places of a step. What comes out is the same with any number of threads as long as items write to places of
 * their own, and what they add up are integers.
 */

/*
 * Does items `first` to before `end`. `worker` is a number below the `threads` asked for, of which nobody
 * else makes use meanwhile: scratch memory goes by it. -1 when memory is out.
 */
typedef int (*parallel_piece)(void *context, size_t worker, size_t first, size_t end);

/*
 * Does `count` items in pieces of `grain` with up to `threads` threads, of which the caller is one, and
 * returns when all are done: -1 when memory was out for a piece, after which no more are begun. Where threads
 * cannot be had, those that can do the work. One thread, or one piece, is a plain call.
 */
int parallel_for(size_t count, size_t grain, size_t threads, parallel_piece piece, void *context);

/* How many threads are worth their while: as many as have `least` items each, one at least. */
size_t parallel_threads(size_t threads, size_t count, size_t least);

#endif
