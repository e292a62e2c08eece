#ifndef NCCLPROF_JOIN_CALL_MATCH_H
#define NCCLPROF_JOIN_CALL_MATCH_H

#include "join/call_operations.h"

/*
 * Which operation each description is of. Those of one class and file are taken in their order:
 *
 * - marks, whose times are on the clock of the operations: the first operation after it. A mark without one
 *   before the next of its class has none, but for marks that one call made (the same correlation id), or
 *   with no operation of the rank between them: these come before all operations of theirs.
 * - what was printed: where each that was said at a known second has but one place in the order. Without
 *   times that is where there are as many operations as descriptions, or where their numbers tell that
 *   operations are missing at one end only.
 */
int call_match(struct call_list *list, const struct call_operations *operations, struct error *error);

#endif
