#ifndef NCCLPROF_JOIN_STEPS_H
#define NCCLPROF_JOIN_STEPS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct blocks;
struct shared_communicators;
struct swept;
struct work;

/* -------------------- steps.c -------------------- */

/*
 * Training steps: from the recurring cycle of tags, rank by rank; without tags from the period of the
 * operation sequence of one rank, carried to the others by the operations of the communicator that all ranks
 * share. What comes before the first cycle belongs to step 0.
 */

/* Tags of one rank, as they come: each at its time, or, where only operations tell them, at one's number. */
struct moments {
    uint64_t *symbols; /* owned, as is at */
    int64_t *at;
    size_t count;
    size_t capacity;
    size_t at_capacity;
    int of_operations;
    uint64_t begin; /* what most ranks begin with, where only operations tell the tags; 0: not known */
};

void moments_release(struct moments *moments);
int moments_add(struct moments *moments, uint64_t symbol, int64_t at); /* -1: out of memory */

/* The tags of a rank as they were set, out of its process's marks. -1 when memory is out. */
int moments_of_marks(struct moments *moments, const struct work *work, int32_t rank);

/*
 * A last operation of a step: what other ranks recognise a step's end by. Who lost it still has an operation
 * beyond: of any function one with a greater number than the last of that function up to the end, or one on a
 * communicator whose turn comes later.
 */
struct step_end {
    int64_t reached[FUNCTION_COUNT]; /* on the shared communicator, by function; -1: none yet */
    int64_t sequence;
    int32_t turn; /* of the shared communicator */
    uint8_t function;
};

/* Of what comes before the first operation of that turn. */
struct step_end step_end_none(int32_t turn);

/* One operation on. Whether it counts: not where it has no number. */
int step_end_take(struct step_end *end, uint8_t function, int64_t sequence);

/* How the steps of a rank are told, one operation after the other. One of the three lists, or none. */
struct step_teller {
    int64_t *times; /* steps begin then */
    size_t time_count;
    const struct step_end *ends; /* steps end with these, on the communicators `shared` */
    size_t end_count;
    const struct shared_communicators *shared;
    size_t *starts; /* steps begin with the operations of these numbers */
    size_t start_count;
    size_t next; /* of the list */
    size_t at;   /* operations so far */
};

/* The step of a rank's next operation, in order of issue; -1 when there is nothing to tell it by. */
int32_t step_next(struct step_teller *teller, const struct work *work, const struct swept *swept);

/*
 * Where steps begin, from a rank's tags: times, or numbers of operations. `teller` has none when they do not
 * recur. The caller frees what its `times` and `starts` point at. -1: out of memory.
 */
int steps_from_tags(const struct moments *moments, struct step_teller *teller);

/* Steps of a rank without tags, from the period of its operations. */

/* What a rank's operations tell. Owned by the caller. */
struct own_steps {
    size_t *starts;                  /* numbers of operations that begin a step */
    size_t count;                    /* 0 unless cycles cover most of them */
    struct communicator_life *lives; /* of each of its members: numbers of the first and the last operation */
};

/* `operations` is how many the rank has. Release it whatever comes back. */
int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      struct own_steps *steps, struct error *error);
void own_steps_release(struct own_steps *steps);

/*
 * In each step but the last of a rank, its last collective on one of the communicators that all share. *count
 * is one less than that of the steps when all have one. The caller frees *ends.
 */
int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank,
                    const struct own_steps *steps, const struct shared_communicators *shared,
                    struct step_end **ends, size_t *count, struct error *error);

/* -------------------- steps_by_all_ranks.c -------------------- */

/* Steps where traces lost operations, so that no single rank tells them. */

/* Whether operations of a rank on a communicator are missing in their sequences. */
int steps_have_losses(struct blocks *blocks, const struct work *work, int32_t rank, int32_t communicator,
                      int *lost, struct error *error);

/*
 * What steps_find_ends finds, where no rank's operations repeat: from the collectives of the communicators
 * that all share, put together from all ranks. Each begins a step. *count is one less than that of the steps,
 * 0 when those do not repeat either. *more tells whether all together have
 * operations that the one rank has not. The caller frees *ends.
 */
int steps_from_shared(struct blocks *blocks, const struct work *work, int32_t rank,
                      const struct shared_communicators *shared, struct step_end **ends, size_t *count,
                      int *more, struct error *error);

/* -------------------- cycle.c -------------------- */

/*
 * The period of a sequence of symbols that repeats up to its end, perhaps after a beginning that does not,
 * and perhaps with a few symbols too many at the very end (a last tag, a last barrier).
 */
struct cycle {
    size_t period; /* symbols in a cycle; 0: none found */
    size_t first; /* where a cycle begins: with the first symbol that repeats, where whole ones fit from there
                     to the end; else looking like the sequence's own beginning as much as it can */
    size_t extent; /* symbols that repeat */
    size_t end;    /* one past the last of them */
};

/* Returns -1 when memory is out. Linear in `count` (Knuth, Morris, Pratt's border table, read backwards). */
int cycle_find(const uint64_t *symbols, size_t count, struct cycle *cycle);

/* Where cycles begin: indexes into the sequence, ascending, in `starts` (room for count). Returns how many.
 */
size_t cycle_starts(const struct cycle *cycle, size_t count, size_t *starts);

/* The same; a beginning of half a cycle or more counts as one, so that an irregular first keeps its number.
 */
size_t cycle_starts_early(const struct cycle *cycle, size_t count, size_t *starts);

/*
 * Cycles that are all alike may be parts of a step (the gradient buckets of data parallelism). `gaps` are the
 * times before each of `count` cycles: where they fall into short and long ones, far apart, and the long ones
 * come at equal distances or multiples of them, only cycles after a long gap, or where one is missing, begin
 * a step. Keeps those in starts[] and returns how many are left; all of them otherwise. `scratch` has room
 * for count.
 */
size_t cycle_merge(size_t *starts, const int64_t *gaps, size_t count, int64_t *scratch);

/*
 * Cycles of which symbols are missing here and there: tags that only operations tell, where the recorder lost
 * some of those. Nothing repeats up to the end then, or two halves do that each hold the same hole (cycle.c).
 */

/*
 * Where cycles begin: indexes into the sequence, ascending, in `starts` (room for count and one more).
 * Returns how many; 0: none were found. The period is the one at which most symbols recur, if seven of ten
 * do; a cycle is what comes twice in a row, and begins with `begin` where one does (0: any), most like the
 * sequence's own beginning. What is in none of them starts nothing; a beginning of half a cycle or more that
 * is none of it counts as one.
 */
size_t torn_starts(const uint64_t *symbols, size_t count, uint64_t begin, size_t *starts);

/* -------------------- recurrence.c -------------------- */

/* Operations of one rank, in order of issue, by what may recur of them. Owned by the caller. */
struct recurrence {
    uint64_t *functions;      /* communicator and function */
    uint64_t *calls;          /* the same and the peer */
    uint64_t *sizes;          /* the same, and the size */
    uint64_t *kinds;          /* communicator, function and size */
    int32_t *communicators;   /* of collectives; -1: a send or receive */
    unsigned char *is_small;  /* a few numbers: a loss, norms, a barrier */
    unsigned char *is_shared; /* a collective of all ranks */
    int64_t *issued_ns;
    size_t count;
};

/*
 * Where the steps of a training loop begin: indexes of operations, ascending, in `starts` (room for all);
 * *found 0 where nothing recurs. Sought in turn, until something does: the operations as they are; those that
 * come as often as steps do, and not what a checkpoint adds now and then; those that are not small; and the
 * last two again without sizes, which differ where batches do. A loss that is summed up every tenth step
 * makes ten steps one cycle: where a small collective that each step has tells twice as many
 * (by_small_collective.c), or else everything but small operations recurs oftener, that is the step; where
 * other things come between steps, anchors tell (by_rarest_call.c), and after them marks again. What comes
 * before the first that is like others is a step, too, where it makes more than half of their calls. Cycles
 * that are parts of a step (buckets, layers) go together by the time between them. Returns -1 when memory is
 * out.
 */
int recurrence_find(const struct recurrence *recurrence, size_t *starts, size_t *found);

/* -------------------- cycle.c -------------------- */

enum { SPREAD_NONE = -1, SPREAD_SEVERAL = -2 };

/*
 * The one communicator that the collectives are on which are not small, of those from `first` to before `end`
 * in `places` (NULL: of all operations); SPREAD_SEVERAL, SPREAD_NONE. A micro-batch has one, and what ends
 * the step is summed up on another.
 */
int32_t spread_of(const struct recurrence *recurrence, const size_t *places, size_t first, size_t end);

/* -------------------- recurrence.c -------------------- */

/*
 * A cycle may hold several steps and an evaluation after them: the same part three times and more, and a rest
 * that calls nothing but what the part calls, and is less than a fifth of all. After micro-batches comes what
 * they have not, the sums of gradients or the optimizer.
 */
struct cycles {
    const uint64_t *symbols; /* what repeats */
    const uint64_t *calls;   /* what the rest is told by */
    size_t end;              /* of the last one */
    size_t fewest_calls;     /* that a step has: layers and buckets have fewer */
};

/*
 * Puts the steps in place of the cycles that begin at `starts` (room for all up to the end), all of one
 * length, where they hold several. -1: out of memory.
 */
int several_steps_find(const struct cycles *cycles, size_t *starts, size_t *count);

/* -------------------- by_rarest_call.c -------------------- */

/*
 * Where steps begin when other things come between them now and then (an evaluation, a checkpoint), so that
 * nothing recurs as it is. Of the calls that are not small, the one that comes least often is the anchor: no
 * step is without it. The shortest of what often lies between two of them is what all steps have: where
 * nearly all do, beginning and ending with it, what is left over lies between steps. A layer, a bucket or a
 * micro-batch does so, too, where nothing large comes once in a step; but it has no small operation of its
 * own (a norm, a loss).
 *
 * Operations are told by `way` (calls or sizes of the recurrence) and by whether they are small. The
 * first step begins before the first anchor with what begins the others. Where *found is not 0, what recurs
 * has to be more than a micro-batch (on several communicators, or on that of its small ones) and no bucket
 * (the anchors are of one size). Returns 1 where there are steps, `fewest` of them or more, 0 and leaves
 * *found where there are none, -1 when memory is out.
 */
int anchor_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
                size_t *found);

/* -------------------- by_small_collective.c -------------------- */

/*
 * Where steps begin by a small collective of all ranks that each of them has: a norm, a flag of overflow, a
 * loss. Between one and the next lies mostly the same (the body); what else lies there now and then, an
 * evaluation, belongs to the step before it. Of the small ones that may be it, alone or by what large call
 * they come after, the one taken is that of most steps, as the sum of a loss every tenth step recurs, too.
 *
 * A part of a step may have one of its own. No layer is taken for a step, as forward and backward are not the
 * same; nor a micro-batch, where gradients come once in a step, or where its collectives are all on one
 * communicator, not that of the small one, and nothing is sent more than once. Other micro-batches that end
 * with a small collective of all ranks each are.
 *
 * Bodies are told by `way` (sizes or calls of the recurrence). Returns 1 where there are steps, `fewest` of
 * them or more, 0 and leaves *found where there are none, -1 when memory is out.
 */
int marks_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
               size_t *found);

/* -------------------- stretches.c -------------------- */

/*
 * Where the steps of a job begin that changes what its steps are: as the batch ramps up, sequences become
 * longer, an evaluation comes in between. A regular stretch is a run of steps of one programme; each is found
 * as recurrence.c tells, in what the others leave over: before them, or between two of their steps. Where
 * nothing recurs in all, stretches are taken off at the end, one after the other, as long as those make the
 * most of all.
 *
 * Indexes of operations, ascending, in `starts` (room for all); *found 0 where nothing recurs. Returns -1
 * when memory is out.
 */
int stretches_find(const struct recurrence *recurrence, size_t *starts, size_t *found);

/* The same of symbols that tell themselves what they are, as tags do: three cycles make a stretch of them. */
int stretches_of_symbols(uint64_t *symbols, size_t count, size_t *starts, size_t *found);

#endif
