#ifndef NCCLPROF_PERIOD_CYCLE_WITH_GAPS_H
#define NCCLPROF_PERIOD_CYCLE_WITH_GAPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Cycles of which symbols are missing here and there: tags that only operations tell, where the recorder lost
 * some of those. Nothing repeats up to the end then, or two halves do that each hold the same hole (cycle.h).
 */

/*
 * Where cycles begin: indexes into the sequence, ascending, in `starts` (room for count and one more).
 * Returns how many; 0: none were found. The period is the one at which most symbols recur, if seven of ten
 * do; a cycle is what comes twice in a row, and begins with `begin` where one does (0: any), most like the
 * sequence's own beginning. What is in none of them starts nothing; a beginning of half a cycle or more that
 * is none of it counts as one.
 */
size_t torn_starts(const uint64_t *symbols, size_t count, uint64_t begin, size_t *starts);

#endif
