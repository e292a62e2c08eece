#ifndef NCCLPROF_JOIN_STEPS_H
#define NCCLPROF_JOIN_STEPS_H

#include "base/base.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct blocks;
struct shared_communicators;
struct issued_operation;
struct work;

/* -------------------- steps.c -------------------- */

/*
 * Detects training steps: on each rank from the recurring cycle of its tags; without tags from the period of
 * the sequence of operations of one rank, which is transferred to the other ranks with the operations of the
 * communicators that all ranks share. Whatever comes before the first cycle belongs to step 0.
 */

/*
 * The tags of one rank in order, each with its time, or, if only operations carry tags, with the number of
 * the operation.
 */
struct moments {
    uint64_t *symbols; /* owned, like at */
    int64_t *at;
    size_t count;
    size_t capacity;
    size_t at_capacity;
    int of_operations;
    uint64_t begin; /* if only operations carry tags: the first tag on most ranks; 0: unknown */
};

void moments_release(struct moments *moments);
int moments_add(struct moments *moments, uint64_t symbol, int64_t at); /* -1: out of memory */

/* The tags of a rank as they were set, from the marks of its process. -1: out of memory. */
int moments_of_marks(struct moments *moments, const struct work *work, int32_t rank);

/*
 * The last operation of a step, with which other ranks recognise the end of the step. A rank that lost it
 * still has a later operation: one with a greater number than the last of its function up to the end, or one
 * on a communicator later in the list.
 */
struct step_end {
    /* greatest number on the shared communicator, by function; -1: none yet */
    int64_t reached[FUNCTION_COUNT];
    int64_t sequence;
    int32_t turn; /* index of the shared communicator in the list */
    uint8_t function;
};

/* The state before the first operation of a communicator. */
struct step_end step_end_none(int32_t turn);

/* Advances `end` by one operation. Returns 0 for an operation without a number, which does not count. */
int step_end_take(struct step_end *end, uint8_t function, int64_t sequence);

/* How the steps of a rank are determined, operation by operation. At most one of the three lists is used. */
struct step_locator {
    int64_t *times; /* times at which steps begin */
    size_t time_count;
    const struct step_end *ends; /* operations with which steps end, on the communicators in `shared` */
    size_t end_count;
    const struct shared_communicators *shared;
    size_t *starts; /* numbers of the operations with which steps begin */
    size_t start_count;
    size_t next; /* position in the list */
    size_t at;   /* operations so far */
};

/* The step of a rank's next operation, in the order of issue; -1: there is no list to determine it with. */
int32_t step_next(struct step_locator *locator, const struct work *work,
                  const struct issued_operation *issued);

/*
 * Finds where steps begin, from the tags of a rank: times, or numbers of operations. `teller` gets none if
 * the tags do not recur. The caller frees teller->times and teller->starts. -1: out of memory.
 */
int steps_from_tags(const struct moments *moments, struct step_locator *locator);

/* Steps of a rank without tags, from the period of its operations. */

/* Steps that the operations of one rank show. Owned by the caller. */
struct own_steps {
    size_t *starts; /* numbers of the operations that begin a step */
    size_t count;   /* 0 unless cycles cover most operations */
    /* for each member of the rank: numbers of its first and last operation */
    struct communicator_life *lives;
};

/* `operations` is the number of the rank's operations. Call own_steps_release even after an error. */
int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      struct own_steps *steps, struct error *error);
void own_steps_release(struct own_steps *steps);

/*
 * Finds the last collective of each step, except the rank's last, on one of the communicators that all ranks
 * share. *count is one less than the number of steps if every step has one. The caller frees *ends.
 */
int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank,
                    const struct own_steps *steps, const struct shared_communicators *shared,
                    struct step_end **ends, size_t *count, struct error *error);

/* -------------------- step_votes.c -------------------- */

/*
 * Steps of ranks that lost operations or tags, from the ranks that have them. All members of a communicator
 * make the same collectives, and a receive has its send, so each belongs to the same step on all ranks.
 */

struct boundary;
struct series_step;

/*
 * The series of an operation: the collectives of one communicator and function, or the transfers from one
 * rank to another on it. step_number is its number there. The operation must have its occurrence number.
 */
uint64_t step_series(const struct work *work, const struct issued_operation *issued);
int64_t step_number(const struct issued_operation *issued); /* COUNT_UNKNOWN: none */

/* Where steps begin in each series, according to several ranks. */
struct step_votes {
    struct map places;      /* (series, step) -> index in `items` */
    struct boundary *items; /* owned */
    size_t count;
    size_t capacity;
};

void step_votes_init(struct step_votes *votes);
void step_votes_release(struct step_votes *votes);

/* A rank's first operation of a step in a series. -1: out of memory. */
int step_votes_add(struct step_votes *votes, uint64_t series, int32_t step, int64_t number);

/* Those of a rank whose operations have their steps already. */
int step_votes_of_rank(struct step_votes *votes, struct blocks *blocks, const struct work *work, int32_t rank,
                       struct error *error);
/* Adds those of `more`, which is empty afterwards. -1: out of memory. */
int step_votes_merge(struct step_votes *votes, struct step_votes *more);

struct step_table {
    struct series_step *items; /* owned; sorted by series and step */
    size_t count;
};

int step_table_init(struct step_table *table, const struct step_votes *votes); /* -1: out of memory */
void step_table_release(struct step_table *table);

/* The step of a number of a series; -1: unknown. Sets *is_last: whether it is the last one of the series. */
int32_t step_table_find(const struct step_table *table, uint64_t series, int64_t number, int *is_last);

/* Whether the table has steps of a communicator's collectives. */
int step_table_has(const struct step_table *table, int32_t communicator);

/* -------------------- lost_pairs.c -------------------- */

/*
 * Sends and receives in traces that lost operations. They are joined by their count between two ranks, so a
 * lost one would shift all that follow. If each step has the same ones, a rank's own numbers show which one
 * of its step each of them is.
 */
struct pair_plan;

struct pair_plans {
    struct pair_plan *items; /* owned; one for each member */
    size_t count;
};

int pair_plans_init(struct pair_plans *plans, size_t member_count); /* -1: out of memory */
void pair_plans_release(struct pair_plans *plans);

/* Finds which sends and receives each step of a rank has. Its operations must have their steps. */
int pair_plans_make(struct pair_plans *plans, struct blocks *blocks, const struct work *work, int32_t rank,
                    struct error *error);

/*
 * Drops the plans of a communicator's members if not all are regular, or two of them disagree on how much
 * they send each other. -1: out of memory.
 */
int pair_plans_agree(struct pair_plans *plans, const struct work *work, int32_t communicator);

/* Writes the steps and numbers of a rank's sends and receives that follow from the plans. */
int pair_plans_apply(struct pair_plans *plans, struct blocks *blocks, const struct work *work, int32_t rank,
                     struct error *error);

/* -------------------- unnumbered_pairs.c -------------------- */

/*
 * Sends and receives without numbers are joined by their count between two ranks. If one of these ranks lost
 * some, e.g. the beginning of its record, all later ones would be joined with others. But steps show what was
 * lost, and the place in its step shows which one each of the others is.
 */
struct pair_step;

/* How many transfers ranks have in each step, by pair of ranks. */
struct pair_counts {
    struct map places;       /* (series, step) -> index in `items`, until they are settled */
    struct pair_step *items; /* owned */
    size_t count;
    size_t capacity;
};

void pair_counts_init(struct pair_counts *counts);
void pair_counts_release(struct pair_counts *counts);

/*
 * 0, or of a send or receive without a number: a hash of its pair and step, negative for a receive. The sum
 * over all ranks is 0 if each send has its receive in the same step.
 */
uint64_t pair_step_hash(const struct work *work, const struct issued_operation *issued);

/* Counts those of a rank whose operations have their steps. */
int pair_counts_of_rank(struct pair_counts *counts, struct blocks *blocks, const struct work *work,
                        int32_t rank, struct error *error);

/* Adds those of `more`, which is empty afterwards. -1: out of memory. */
int pair_counts_merge(struct pair_counts *counts, struct pair_counts *more);

/* Finds where one side lost some. Returns for how many pairs of ranks. Nothing can be added afterwards. */
size_t pair_counts_settle(struct pair_counts *counts);

/* Writes the numbers that follow for a rank's transfers. */
int pair_counts_apply(const struct pair_counts *counts, struct blocks *blocks, const struct work *work,
                      int32_t rank, struct error *error);

/* -------------------- steps_by_all_ranks.c -------------------- */

/* Steps in traces that lost operations, so that no single rank has them all. */

/* Sets *lost: whether sequence numbers of a rank's operations on a communicator are missing. */
int steps_have_losses(struct blocks *blocks, const struct work *work, int32_t rank, int32_t communicator,
                      int *lost, struct error *error);

/*
 * Finds the same ends as steps_find_ends if no rank's operations repeat: from the collectives of the shared
 * communicators, merged from all ranks. Each shared communicator begins a step. *count is one less than the
 * number of steps, or 0 if the merged collectives do not repeat either. *more: whether the merged collectives
 * include operations that `rank` lacks. *by_filter: the number of steps that are told by a number that all
 * ranks lack once in each of them. The caller frees *ends.
 */
int steps_from_shared(struct blocks *blocks, const struct work *work, int32_t rank,
                      const struct shared_communicators *shared, struct step_end **ends, size_t *count,
                      int *more, size_t *by_filter, struct error *error);

/*
 * The time since the operation before was issued, at `before_ns`. Where only ends are known, the time since
 * the end of that one, without the operation itself.
 */
int64_t issued_gap(const struct issued_operation *issued, int64_t before_ns);

/* -------------------- cycle.c -------------------- */

/*
 * The period of a sequence of symbols that repeats up to its end, possibly after a beginning that does not
 * repeat, and possibly with a few extra symbols at the very end (a last tag, a last barrier).
 */
struct cycle {
    size_t period; /* symbols in a cycle; 0: none found */
    /*
     * index at which a cycle begins: the first symbol that repeats, if whole cycles fit from there to the
     * end; else where it is most similar to the beginning of the sequence
     */
    size_t first;
    size_t extent; /* number of symbols that repeat */
    size_t end;    /* index after the last of them */
};

/*
 * Returns -1 if out of memory. Linear in `count` (border table of Knuth, Morris and Pratt, read backwards).
 */
int cycle_find(const uint64_t *symbols, size_t count, struct cycle *cycle);

/*
 * Stores where cycles begin as ascending indexes in `starts`, which has room for `count`. Returns how many.
 */
size_t cycle_starts(const struct cycle *cycle, size_t count, size_t *starts);

/*
 * Like cycle_starts, but a beginning of half a cycle or more counts as a cycle, so that an irregular first
 * step keeps its number.
 */
size_t cycle_starts_early(const struct cycle *cycle, size_t count, size_t *starts);

/*
 * Merges cycles that are parts of a step, such as the gradient buckets of data parallelism. `gaps` has the
 * time before each of the `count` cycles. If the gaps are either short or long, clearly separated, and the
 * long ones come at equal distances or multiples of them, a step begins only with a cycle after a long gap,
 * or where a long gap is missing. Keeps these cycles in starts[] and returns how many; otherwise keeps all.
 * `scratch` has room for `count`.
 */
size_t cycle_merge(size_t *starts, const int64_t *gaps, size_t count, int64_t *scratch);

/*
 * Cycles with missing symbols: tags that only operations carry, when the recorder lost some operations. Then
 * nothing repeats up to the end, or only two halves with the same gap (cycle.c).
 */

/*
 * Stores where cycles begin as ascending indexes in `starts`, which has room for `count` + 1. Returns how
 * many; 0: no cycles found. The period is the one at which most symbols recur, if at least 70 % do. The cycle
 * is one that occurs twice in a row and begins with `begin` if there is one (0: any), and is most similar to
 * the beginning of the sequence. Symbols outside the cycle begin nothing. A beginning of half a cycle or more
 * counts as a cycle.
 */
size_t incomplete_cycle_starts(const uint64_t *symbols, size_t count, uint64_t begin, size_t *starts);

/* -------------------- recurrence.c -------------------- */

/*
 * The operations of one rank in the order of issue, with hashes of the properties that may recur. Owned by
 * the caller.
 */
struct recurrence {
    uint64_t *functions;      /* communicator and function */
    uint64_t *calls;          /* communicator, function and peer */
    uint64_t *sizes;          /* communicator, function, peer and size */
    uint64_t *kinds;          /* communicator, function and size */
    int32_t *communicators;   /* of a collective; -1: a send or receive */
    unsigned char *is_small;  /* few bytes: a loss, a norm, a barrier */
    unsigned char *is_shared; /* a collective on a communicator of all ranks */
    int64_t *gaps_ns;         /* idle time before each, as far as it is known: issued_gap() */
    size_t count;
};

/*
 * Finds where the steps of a training loop begin: ascending indexes of operations in `starts`, which has room
 * for all. *found is 0 if nothing recurs. These are tried until one recurs: all operations; the operations
 * that are as frequent as steps, without the rare ones that e.g. a checkpoint adds; the operations that are
 * not small; then the last two again without sizes, which vary with the batch.
 *
 * A loss that is reduced every tenth step makes ten steps one cycle. So shorter steps are looked for: by a
 * small collective that occurs in each step, at least twice as often (by_small_collective.c), else by the
 * operations that are not small. If other operations come between steps, anchors show the steps
 * (by_rarest_call.c), and after them small collectives again. What comes before the first regular step counts
 * as a step if it has more than half of the calls of one. Cycles that are parts of a step (buckets, layers)
 * are merged by the time between them. Returns -1 if out of memory.
 */
int recurrence_find(const struct recurrence *recurrence, size_t *starts, size_t *found);

/*
 * The time since the operation before was issued, at `before_ns`. Where only ends are known, the time since
 * the end of that one, without the operation itself.
 */
int64_t issued_gap(const struct issued_operation *issued, int64_t before_ns);

/* -------------------- cycle.c -------------------- */

enum { SPREAD_NONE = -1, SPREAD_SEVERAL = -2 };

/*
 * The only communicator of the collectives that are not small, among the operations `first` to `end` - 1 of
 * `places` (NULL: of all operations); SPREAD_SEVERAL, SPREAD_NONE. A micro-batch has one communicator; the
 * reduction at the end of a step is on another.
 */
int32_t spread_of(const struct recurrence *recurrence, const size_t *places, size_t first, size_t end);

/* -------------------- recurrence.c -------------------- */

/*
 * A cycle may hold several steps and an evaluation after them: the same part at least three times, and a rest
 * that is less than a fifth of the cycle and makes only calls that the part makes. Micro-batches are
 * different: after them come calls that they do not have, the reduction of the gradients or the optimizer.
 */
struct cycles {
    const uint64_t *symbols; /* the sequence that repeats */
    const uint64_t *calls;   /* the calls by which the rest is compared with the part */
    size_t end;              /* index after the last cycle */
    size_t fewest_calls;     /* fewest different calls of a step; layers and buckets have fewer */
};

/*
 * Replaces the cycles that begin at `starts` by steps if they hold several. All cycles have the same length,
 * and `starts` has room for all operations up to the end. -1: out of memory.
 */
int several_steps_find(const struct cycles *cycles, size_t *starts, size_t *count);

/* -------------------- by_rarest_call.c -------------------- */

/*
 * Finds where steps begin if other operations come between some of them (an evaluation, a checkpoint), so
 * that the sequence as a whole does not recur. The anchor is the rarest of the calls that are not small:
 * every step has it. The model of a step is the shortest sequence that often lies between two anchors. If
 * almost all sequences between anchors begin and end with it, the rest of them lies between steps. A layer, a
 * bucket or a micro-batch has the same pattern if no large call occurs once per step, but it has no small
 * operation of its own (a norm, a loss).
 *
 * Operations are compared by `way` (calls or sizes of the recurrence) and by whether they are small. The
 * first step begins before the first anchor, with the operations that begin the others. If *found is not 0,
 * the model must be more than a micro-batch (on several communicators, or on that of its small operations)
 * and no bucket (all anchors have one size). Returns 1 if there are at least `fewest` steps; 0, and leaves
 * *found, if not; -1 if out of memory.
 */
int anchor_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
                size_t *found);

/* -------------------- by_small_collective.c -------------------- */

/*
 * Finds where steps begin by a small collective of all ranks that occurs in each step: a norm, an overflow
 * flag, a loss. The same operations lie between most consecutive occurrences (the body). Other operations
 * that lie there sometimes, e.g. an evaluation, belong to the step before. There may be several small
 * collectives, alone or by the large call that they follow; the one with most steps is taken, since the
 * reduction of a loss every tenth step recurs as well.
 *
 * A part of a step may have a small collective of its own. A layer is not taken for a step, because forward
 * and backward differ. A micro-batch is not taken for a step if gradients are reduced once per step, or if
 * all its collectives are on one communicator, other than that of the small collective, and it sends nothing
 * more than once. Other micro-batches that each end with a small collective of all ranks are taken for steps.
 *
 * Bodies are compared by `way` (sizes or calls of the recurrence). Returns 1 if there are at least `fewest`
 * steps; 0, and leaves *found, if not; -1 if out of memory.
 */
int marks_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
               size_t *found);

/* -------------------- stretches.c -------------------- */

/*
 * Finds where steps begin in a job whose steps change: the batch grows, sequences become longer, evaluations
 * come in between. A stretch is a run of consecutive steps with the same operations. Each is found by
 * recurrence_find in the operations that the other stretches leave: before them, or between two of their
 * steps. If nothing recurs in all operations, stretches are taken off the end one after the other, as long as
 * together they cover most operations.
 *
 * Stores ascending indexes of operations in `starts`, which has room for all. *found is 0 if nothing recurs.
 * Returns -1 if out of memory.
 */
int stretches_find(const struct recurrence *recurrence, size_t *starts, size_t *found);

/*
 * The same for symbols of which each identifies its operation, such as tags. Three cycles make a stretch of
 * them.
 */
int stretches_of_symbols(uint64_t *symbols, size_t count, size_t *starts, size_t *found);

#endif
