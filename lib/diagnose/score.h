#ifndef NCCLPROF_DIAGNOSE_SCORE_H
#define NCCLPROF_DIAGNOSE_SCORE_H

#include "diagnose/scan.h"

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct edges;
struct error;
struct job;
struct level;
struct middles;
struct replay;
struct transfer_excess;

/* -------------------- explain.c -------------------- */

/*
 * What residuals are of: own time, the part of it that had passed when the operation was enqueued (beyond the
 * quiet steps of the unit, or beyond the others alone), or own time without that part: the GPU's.
 */
enum measure { MEASURE_OWN, MEASURE_LATE, MEASURE_ALWAYS_LATE, MEASURE_GPU, MEASURES };

/* A hypothesis (explain.c): which unit was slow, in which steps, how certain that is and what it costs. */
struct explanation {
    const struct partition *partition; /* one of explanations.partitions */
    size_t unit;
    struct step_set steps;
    int32_t counted;      /* number of steps */
    int is_steady;        /* slow in all steps: compared with other units, not with its own past */
    enum measure measure; /* it was found in */
    int is_scattered;     /* slow in all steps, but at other places in each: work beside it on the same GPU */
    int has_no_peers;     /* its ranks have their roles alone, and are compared with their past */
    unsigned char *led;   /* by step: whether its rank arrived after all others, if it did in most of its
                             consecutive steps and no times of calls are recorded; NULL */
    int is_last;          /* its rank is certain to arrive after all others in all steps */
    double slower_part;   /* share of the others' own time that lies at places where the unit takes longer: 1
                             for a slow clock, less for a heavier load by design */
    double common_part; /* of several ranks, what they have in common of their variation from step to step; 1
                           for one rank, or where it cannot be determined */
    double hidden_part; /* the part of it that may be receives from other stages, which are not recorded */
    double leaf_part; /* the part of it after AllReduces that other ranks left later by half of it: trees end
                         sooner on some ranks */
    int is_on_trial;  /* accepted without enough gain, as it may be hidden behind another */
    int on_estimates; /* most of it is own time after ends that are estimated */
    double doubted_part;      /* the part of it that clocks, which may be off, may make of such ends */
    double late_doubted_part; /* same, of its part before operations that were enqueued late */
    double most_part;         /* the largest part of an own time that the fault may be */
    double certainty;         /* log odds, after penalties */
    int64_t gain_ns;          /* gain of the job by replay: its part of the gain of all explanations */
    int64_t alone_ns;         /* gain of the job by replay if nothing else is slow */
    int64_t
        margin_ns;   /* time by which its ranks arrived after all others: the direct loss of their partners */
    int64_t slow_ns; /* excess of its ranks in its steps, limited to what others waited; mean over roles */
    int64_t more_ns; /* same, only places with an excess above 0 */
    int64_t host_ns; /* part of more_ns before operations that its hosts enqueued late */
    int32_t rank;    /* the slowest of its ranks */
    int is_alone; /* only that rank was late: the others of its host waited for it where dumps do not show */
    int32_t position; /* place where that rank was slowest; -1: none */
    int32_t tag;      /* phase with the largest part of the excess; -1: none */
};

/*
 * Whether its hosts are to blame; and whether the loss of its partners may count as its cost where that is
 * greater than the gain.
 */
int explanation_is_hosts(const struct explanation *explanation);
int explanation_counts_partners(const struct explanation *explanation);

/* Whether a rank, or a step, belongs to it. */
int explanation_has_rank(const struct explanation *explanation, int32_t rank);
int explanation_has_step(const struct explanation *explanation, int32_t step);

/* Returns the number of its steps. */
int32_t explanation_count(const struct explanation *explanation);

/*
 * One score for every hypothesis: a unit of ranks (struct partition) was slow by itself in a set of steps
 * (struct step_set). The score is corrected for noise that is related from step to step
 * (scan_related_score). The logarithm of the number of hypotheses is subtracted. The result is the certainty.
 * The hypothesis with the greatest certainty is accepted first. What it explains is removed from the replay,
 * from the peers of other units and from the noise. This repeats until no hypothesis is certain.
 */

/* Thresholds for accepting a hypothesis. */
struct acceptance_limits {
    double certainty; /* minimum for all */
    int64_t worth_ns; /* minimum gain per step */
    double sure;      /* from this certainty on, least_ns is enough gain per step if the partners lost
                         worth_waited_ns per step */
    int64_t worth_waited_ns;
    int64_t least_ns;
};

struct explanations {
    struct partitions partitions;
    struct explanation *items; /* owned: in the order of acceptance */
    unsigned char *marks;      /* owned: room for the steps.marks or `led` of all items */
    int64_t three_steps_ns;    /* explanation_search_least, for three steps */
    size_t count;
    size_t capacity;
};

/*
 * Finds the hypotheses to accept, greatest certainty first. `replay` must be of the unchanged job; what is
 * accepted is removed from it. `explained` ([rank * steps + step]) has 1 where a fault has already been
 * found, NULL: nowhere. Release `explanations` in all cases, also on error.
 */
int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, struct replay *replay,
                      const unsigned char *explained, const struct acceptance_limits *acceptance,
                      struct error *error);
void explanations_release(struct explanations *explanations);

/* -------------------- place_matrix.c -------------------- */

/* The data that the residuals of a job are computed from. */
struct place_matrix_source {
    const struct job *job;
    const struct baseline *baseline;
    const struct transfer_excess *transfers;
    const unsigned char *explained; /* [rank * steps + step]: 1 where a fault has already been found */
    const struct stays *stays;      /* per instance, from measure_stays() */
    const double *growth; /* [role * steps + step], from measure_growth(); NULL: a host that has all ranks of
                             a role is compared with nothing */
};

/* How long the members of an instance stayed in it (arrival_stay_ns). The last to arrive has the shortest. */
struct stays {
    int64_t longest_ns; /* INT64_MAX where the trace cannot tell; then the others are 0 */
    int64_t shortest_ns;
    int64_t second_ns; /* the shortest but one */
};

/* Returns the stays of each instance. The caller frees them; NULL when memory runs out. */
struct stays *measure_stays(const struct job *job);

/*
 * Whether own time may contain the rest of the operation before. If it may (OPEN), it counts for the level
 * over all steps but not for single steps; if it does because other ranks came late (OPEN_BY_OTHERS), for
 * neither.
 */
enum openness { OPEN_NOT, OPEN, OPEN_BY_OTHERS };

/* Whether half of an own time and more had passed when the operation was enqueued; TIME_UNKNOWN: no. */
int is_late_launch(int64_t late_ns, int64_t idle_ns);

/*
 * Own times of ranks of a role at one place of the step, and what limits them. In nanoseconds; TIME_UNKNOWN
 * where there is none, also after a send or receive whose end no kernel records.
 */
struct place_times {
    size_t ranks;
    size_t steps;
    int32_t *place; /* owned: index of each of these ranks in the role */
    /*
     * Owned: [rank of these * steps + step]. Where own time is unknown, only `own` and `open` (0) are valid.
     */
    int64_t *own;
    int64_t
        *pace; /* own time plus the duration of the operation before it, which the rank may compute beside: a
                  rank that arrives last spends less time in that operation and computes longer after it */
    int64_t *late;         /* part of the own time that had passed when the operation was enqueued */
    int64_t *bound;        /* longest wait of another member of the operation; INT64_MAX: unknown */
    int64_t *lead;         /* shortest such wait, 0 if others arrived later; INT64_MAX: unknown */
    int32_t *communicator; /* communicator of the operation */
    unsigned char *open;   /* enum openness */
    unsigned char within;  /* the operation before the place belongs to the same step */
};

/* In place of a unit number: all units of a partition. */
#define ALL_UNITS SIZE_MAX

/*
 * Allocates room for the ranks of a role, all or those of one unit. Returns -1 when memory runs out; release
 * it in that case too.
 */
int place_times_init(struct place_times *times, const struct place_matrix_source *source, size_t role,
                     const struct partition *partition, size_t unit);
void place_times_release(struct place_times *times);

/* Fills in the times of one place. */
void place_times_read(struct place_times *times, const struct place_matrix_source *source, size_t role,
                      int32_t position);

/* Returns the operations of a rank (index in the times) at a place, by step; -1: none. */
const int32_t *place_times_operations(const struct place_times *times, const struct baseline *baseline,
                                      size_t role, int32_t position, size_t rank);

/*
 * Own times at one place of the step, for the units of a partition that have ranks in its role. The time of a
 * unit is the lower quartile of its members, so that three of four members must show it. The time of the
 * others is the median over the other units of their medians. What has been explained does not count for the
 * others. Times in nanoseconds; TIME_UNKNOWN where there is none.
 */
struct place_matrix {
    size_t steps;
    size_t units;
    const struct partition *partition; /* borrowed */
    const struct place_times *times;   /* borrowed */
    int32_t *unit;                     /* owned: number of each unit in the partition */
    int32_t
        *first; /* owned: index in `member` of the first member of each unit; one extra entry at the end */
    int32_t *member; /* owned: index of the rank in the times, sorted by unit */
    int64_t *bound;  /* owned: bounds of these ranks; INT64_MAX also where all ranks of an operation belong to
                        the unit, so that any rank that waits does so later */
    int64_t *value;  /* owned: [unit * steps + step], as are those below */
    int64_t *unit_pace;   /* owned: lower quartile of the members' pace */
    int64_t *middle;      /* owned: median of the members that are not explained */
    int64_t *others;      /* owned: median of the other units */
    int64_t *late_more;   /* owned: lateness minus that of the others */
    int64_t *others_late; /* owned: median lateness of the other units */
    int64_t *waited;      /* owned: lower quartile of the members' bounds */
    int64_t *quiet;       /* owned: [unit], own time minus that of the others in its quiet steps */
    int64_t *quiet_pace;  /* owned: [unit], pace in its quiet steps */
    int64_t *quiet_gpu, *quiet_gpu_pace; /* owned: the same of single ranks, of the part that is the GPU's */
    int64_t *list;                       /* owned: scratch, as is `known` */
    size_t *known;                       /* owned: cells of the times or of the units */
};

/* Whether there is something to compare its units with: each other, or for one host its past. */
int place_matrix_is_compared(const struct place_matrix *matrix, const struct place_matrix_source *source);

/* Allocates room for the ranks of `times`. Returns -1 when memory runs out; release it in that case too. */
int place_matrix_init(struct place_matrix *matrix, const struct place_matrix_source *source,
                      const struct partition *partition, const struct place_times *times, size_t role);
void place_matrix_release(struct place_matrix *matrix);

/*
 * Measures all units of a role against each other at the place that `times` was last filled for. Stores in
 * `middles` (of own time) and `late_middles` (of lateness), one per step, what place_matrix_measure_alone
 * needs.
 */
void place_matrix_measure(struct place_matrix *matrix, const struct place_matrix_source *source, size_t role,
                          struct middles *middles, struct middles *late_middles);
/* Same for a matrix of only one unit, against the stored middles. */
void place_matrix_measure_alone(struct place_matrix *matrix, const struct place_matrix_source *source,
                                size_t role, const struct middles *middles,
                                const struct middles *late_middles);

/*
 * Returns by how much a unit took longer than the others in a step; TIME_UNKNOWN. What exceeds its quiet
 * steps is limited to what other ranks waited and to the growth of its own pace: a rank that waits for this
 * unit computes in the meantime and then shows less own time.
 */
int64_t place_matrix_unit_excess(const struct place_matrix *matrix, size_t unit, size_t step);

/* The same of a single rank on its GPU, from when its host enqueued the operation; without limits; its pace.
 */
int64_t place_matrix_gpu_excess(const struct place_matrix *matrix, size_t unit, size_t step);
int64_t place_matrix_gpu_apart(const struct place_matrix *matrix, size_t cell);
int64_t place_matrix_gpu_pace(const struct place_matrix *matrix, size_t cell);

/* How far the own time of any member of a unit may contain something else. */
enum openness place_matrix_open(const struct place_matrix *matrix, size_t unit, size_t step);

/* Whether an excess is the host's, judged by how much later than the others its operations were enqueued. */
int place_matrix_lateness_is(const struct place_matrix *matrix, int64_t late_ns, int64_t excess_ns);

/* -------------------- residual_matrix.c -------------------- */

/*
 * Residuals of own time by unit and step: the excesses of struct place_matrix, summed over the places of a
 * step. They keep their sign so that noise cancels. In nanoseconds.
 */
struct residual_matrix {
    size_t units;    /* with ranks in the role */
    int is_compared; /* with other units of the role; or what has all ranks of the role, with its past */
    int32_t *unit;   /* owned: their numbers in the partition */
    /* Owned: [unit of the role * steps + step]. */
    int64_t *beyond; /* beyond the others and beyond its quiet steps, about 0 where nothing is wrong;
                        TIME_UNKNOWN */
    int64_t *more;   /* sum over the places with an excess beyond the quiet steps */
    int64_t *host;   /* part of `more` before operations that were enqueued late */
    int64_t *late;   /* part of the excess over the others that lies before operations were enqueued and that
                        others waited for; TIME_UNKNOWN where `beyond` is */
    int64_t *late_beyond;    /* same, beyond its quiet steps */
    int64_t *gpu;            /* `beyond` of single ranks, of the part of own time that is the GPU's */
    int64_t *late_sigma;     /* owned: [unit of the role], standard deviation of `late` in its quiet steps */
    int64_t *lead;           /* single ranks only, else 0: excess over the others by which the rank arrived
                                after all other members of its operations; at most one member of each
                                operation has any, and what the rank computed while it waited does not count */
    struct level *level;     /* owned: [unit of the role] */
    struct middles *middles; /* owned: [position * steps + step], what fault_each() compares a unit with */
    struct middles *late_middles; /* owned: same, of lateness */
};

/*
 * Minimum number of other units, to compare a unit that was slow in all steps with.
 */
enum { OTHERS_TO_COMPARE = 3 };

/* Whether an excess over the others' own time at a place is large enough to be a slow clock. */
int is_slower_place(int64_t apart_ns, int64_t others_ns);

/* How far a unit is from the others over all steps: sums, over places, of medians over steps. */
struct level {
    int64_t apart_ns;        /* own time minus that of the others */
    int64_t quiet_ns;        /* apart per step, lower quartile over steps */
    int64_t usual_ns;        /* same, median over steps */
    int64_t more_ns;         /* apart_ns, only places where it is positive */
    int64_t host_ns;         /* part of more_ns before operations that were enqueued later than the others' */
    int64_t shift_ns;        /* greatest lateness of its hosts, while places are added */
    int64_t widest_ns;       /* own time of the others at the place where it is longest */
    int64_t widest_more_ns;  /* own time of the unit at that place, minus that of the others */
    int widest_is_slower;    /* the unit is slower there (is_slower_place) */
    int64_t others_ns;       /* own time of the others */
    double typical_distance; /* of single ranks and hosts: own time minus that of the other ranks, in units of
                                their spread, at half of the places with most of it, at least */
    int64_t slower_ns;       /* part of others_ns at places where the unit is slower */
};

/*
 * Returns, per role and step, how many times as long as usual the ranks of other roles computed, the median
 * over these; at least 1. The caller frees it; NULL when memory runs out.
 */
double *measure_growth(const struct job *job, const struct baseline *baseline);

/* Returns the index of a unit of the partition in the residuals; -1: it has no rank in the role. */
int32_t residual_matrix_unit(const struct residual_matrix *residuals, size_t unit);

/*
 * Makes one matrix per partition for a role; `residual_matrices` has room for them. Returns -1 when memory
 * runs out; release them in that case too.
 */
int residual_matrices_init(struct residual_matrix *residual_matrices,
                           const struct place_matrix_source *source, const struct partitions *partitions,
                           size_t role);
void residual_matrix_release(struct residual_matrix *residuals);

/*
 * Makes the matrices of the roles that `dirty` marks again, with several threads. Those of a role follow each
 * other, one per partition. Returns -1 when memory runs out.
 */
int residual_matrices_measure(struct residual_matrix *residual_matrices,
                              const struct place_matrix_source *source, const struct partitions *partitions,
                              const unsigned char *dirty);

/*
 * The time that an explanation removes: by how much the ranks of a unit took longer than the others in the
 * marked steps, and longer than in their other steps unless they are slow in all steps. For several ranks, at
 * most what three of four show. It is negative where they took less, so that noise cancels.
 */
struct fault {
    const struct partition *partition;
    size_t unit;
    const struct residual_matrix *residual_matrices; /* of the partition, for the first role; those of the
                                                        next role are `apart` entries further */
    size_t apart;
    const unsigned char *steps;
    int is_steady;
    int is_scattered;     /* a steady one that lies at other places in each step: the median over steps, which
                             limits what is removed at a place, says nothing */
    enum measure measure; /* what is removed: own time, or a part of it */
    double most_part;     /* the largest part of an own time that may be removed */
};

typedef void (*fault_taker)(void *context, int32_t operation, int64_t fault_ns);

/* Calls `take` for each operation of the fault. Returns -1 when memory runs out. */
int fault_each(const struct fault *fault, const struct place_matrix_source *source, fault_taker take,
               void *context);

/* -------------------- explain_search.c -------------------- */

/*
 * State of the search in explanations_find(): what has been accepted and explained, the residuals that are
 * left, and what was rejected.
 */

/*
 * The search stops after this many certain hypotheses without enough gain. Each costs replays, and each is
 * more certain than all that would follow.
 */
enum { MOST_IDLE = 8 };

/*
 * A hypothesis that was certain but does not gain enough: it is not accepted and explains nothing. That a
 * unit does not gain enough in all steps says nothing about a set of them.
 */
struct idle {
    const struct partition *partition;
    size_t unit;
    int is_steady;
    struct step_set steps; /* without marks */
};

/* The two greatest residuals of a step, in sigma, and the unit of the greatest. */
struct peak {
    double most;
    double second;
    int32_t unit;
};

/* The leads of the ranks of a role in one step, without those that are mostly explained. */
struct step_leads {
    int64_t greatest_ns;
    int64_t second_ns;
    double squares; /* sum, ns^2 */
};

/*
 * Maximum number of faults: a longer list cannot be read, and each fault costs a replay for every kind of
 * unit.
 */
enum { MOST_EXPLANATIONS = 12 };

struct explanation_search {
    struct explanations *found;
    const struct acceptance_limits *acceptance_limits;
    struct idle idle[MOST_IDLE];
    int idle_count;
    struct place_matrix_source source;
    unsigned char *explained;                         /* owned: [rank * steps + step] */
    struct stays *stays;                              /* owned */
    double *growth;                                   /* owned */
    struct residual_matrix *residual_matrices;        /* owned: [role * partitions + partition] */
    int64_t *sigma_ns[MEASURES];                      /* owned: same; standard deviation of the residuals */
    struct step_leads *leads;                         /* owned: [role * steps + step] */
    unsigned char *dirty;                             /* owned: [role], matrices to be measured again */
    unsigned char *mostly[MOST_PARTITIONS];           /* owned: [unit], explained in most steps */
    struct step_set *sets[MEASURES][MOST_PARTITIONS]; /* owned: [unit], its best set; NULL: not computed */
    struct peak *peaks[MOST_PARTITIONS];              /* owned: [step], same, of MEASURE_OWN */
    double *row;                                      /* owned: scratch, [step] */
    double *rows[MEASURES]; /* owned: [rank of `sampled`][step], residuals of single ranks; NULL: not read */
    int32_t *sampled;       /* owned: units of the partition of single ranks that `rows` has */
    size_t sampled_count;
    double *others; /* owned: scratch, the part of `rows` that a unit is compared with, and as much again */
    double *residuals; /* owned: scratch */
    size_t residual_room;
    double *by_role;           /* owned: scratch, [role] */
    double *scores;            /* owned: scratch, [rank] */
    int64_t *list;             /* owned: scratch, [rank * steps + step] */
    unsigned char *marked;     /* owned: scratch, [step] */
    unsigned char *peak_marks; /* owned: [partition * steps + step], the steps of proposals of single steps */
    int64_t **kept_ns; /* owned: own times to restore in the replay after an attempt, [rank][operation of it];
                          NULL: unchanged since explanation_search_update_path */
    int64_t *taken_ns[MOST_EXPLANATIONS]; /* owned: what the removal of each accepted fault took, see
                                             note_taken() */
    int32_t *path;                        /* owned: operations on the critical path of the replay */
    size_t path_length;
    struct replay *replay;
    int64_t lasts_ns; /* duration of the replay without what is explained */
};

/* The partitions of it->found must exist. `explained`: see explanations_find(). Returns -1 when memory runs
 * out; release it in that case too. */
int explanation_search_init(struct explanation_search *it, const struct job *job,
                            const struct baseline *baseline, const struct transfer_excess *transfers,
                            const unsigned char *explained);
void explanation_search_release(struct explanation_search *it);

/* Makes all removals from the replay permanent by dropping the own times kept to restore them. */
void explanation_search_commit_removed(struct explanation_search *it);

/* Returns the residuals of a role by the units of a partition. */
static inline struct residual_matrix *explanation_search_residual_matrix(const struct explanation_search *it,
                                                                         size_t role, size_t partition)
{
    return &it->residual_matrices[role * it->found->partitions.count + partition];
}

/*
 * Finds the most certain hypothesis that is above the certainty limit and not idle. Units that are slow in
 * all steps come first because they explain noise in single steps. Returns 1 if there is one, 0 if not, -1
 * when memory runs out.
 */
int explanation_search_best(struct explanation_search *it, struct explanation *best);

/* Moves a fault to another unit and computes its certainty there. Returns -1 when memory runs out. */
int explanation_search_move(struct explanation_search *it, size_t number, size_t unit,
                            struct explanation *fault);

/* -------------------- explain_slowest.c -------------------- */

/* The member of a unit that was slowest in the marked steps of a fault. */
int32_t explanation_search_slowest(const struct explanation_search *it, const struct explanation *fault);

/*
 * Whether each rank of a unit was slow in the marked steps of a fault, by at least half as much as each of a
 * part of the unit.
 */
int explanation_search_are_all_slow(const struct explanation_search *it, const struct explanation *fault,
                                    const struct explanation *part);

/* The smallest fault of a rank that is certain if so many steps show it, by the noise that is left. */
int64_t explanation_search_least(const struct explanation_search *it, int32_t counted);

/* -------------------- explain_rows.c -------------------- */

const int64_t *explanation_search_values(const struct residual_matrix *residuals, enum measure measure);

/* Whether any rank of a unit is explained in a step. */
int explanation_search_is_explained(const struct explanation_search *it, const struct partition *partition,
                                    size_t unit, size_t step);

/*
 * Measures the residuals of the roles marked as dirty, and forgets what was found in them before. Returns -1
 * when memory runs out.
 */
int explanation_search_measure(struct explanation_search *it);
void explanation_search_forget_sets(struct explanation_search *it);

/*
 * Fills in it->row, the residuals of a unit in sigma by step. Returns whether there are any; -1 when memory
 * runs out.
 */
int explanation_search_fill_row(struct explanation_search *it, size_t number, size_t unit,
                                enum measure measure);

/*
 * Fills in it->rows, the rows of single ranks, of all or of a sample that is spread over the job. Returns -1
 * when memory runs out.
 */
int explanation_search_sample_rows(struct explanation_search *it, enum measure measure);

/* -------------------- explain_measure.c -------------------- */

/*
 * Measures the excess of an explanation from the residuals that it was found in. The marked steps are its
 * own.
 */
void explanation_measure(struct explanation_search *it, struct explanation *explanation);

/*
 * Finds the phase, the place and the margin of an explanation that has been measured. `at`: the time that it
 * removes. Returns -1 when memory runs out.
 */
int explanation_locate(const struct explanation_search *it, const struct fault *at,
                       struct explanation *fault);

/* -------------------- explain_peaks.c -------------------- */

/* Notes the values of a unit among the greatest of each step. */
void explanation_search_note_peaks(struct explanation_search *it, size_t number, size_t unit);

/* Whether most hosts were late in a step, by two thirds as much: the latest of all is not to blame. */
int explanation_search_is_late_with_others(const struct explanation_search *it,
                                           const struct partition *partition, size_t unit, size_t step);

/*
 * Whether a unit is also the latest in most of the other steps, by comparable times. All others wait for the
 * rank that arrives last, and how late they would have been does not show. So the longest delays are all
 * those of the rank that is usually last, and they do not stand out.
 */
int explanation_search_is_usually_last(const struct explanation_search *it, size_t number, size_t unit,
                                       double greatest);

/* The unit that has the greatest value of all. */
int32_t explanation_search_unit_of_peak(const struct explanation_search *it, size_t number);

/* -------------------- explain_waits.c -------------------- */

/*
 * Sets is_alone and rank of an explanation of a host: whether only that rank was late, and the others of the
 * host waited for it where their records do not show that. -1: out of memory.
 */
int explanation_find_alone(const struct explanation_search *it, const struct fault *at,
                           struct explanation *explanation);

/*
 * Whether the rank of an explanation may only have waited for another one of its host, which was found to be
 * late in some of its steps. -1: out of memory.
 */
int explanation_waits(const struct explanation_search *it, const struct fault *at,
                      const struct explanation *explanation);

/* -------------------- explain_steady.c -------------------- */

/* Keeps the marks of an explanation in `marks`, one per step, or fills in `led` there. */
void explanation_search_keep_marks(const struct explanation_search *it, struct explanation *explanation,
                                   unsigned char *marks);

/* Whether a hypothesis is one that was certain but did not gain enough, in steps that overlap. */
int explanation_search_is_idle(const struct explanation_search *it, const struct explanation *proposal);

/* Takes a hypothesis if it is more certain than `best` and not idle. */
void explanation_search_propose(const struct explanation_search *it, const struct explanation *proposal,
                                struct explanation *best);

/* The logarithm of the number of hypotheses: units, and kinds of faults. */
double explanation_search_penalty(const struct explanation_search *it);

/*
 * Whether a unit is several ranks that are not on several hosts: those have hardly anything in common that
 * could make them slow.
 */
int explanation_search_is_several(const struct explanation_search *it, const struct partition *partition,
                                  size_t unit);

/*
 * Minimum for the noise of a step, as part of the step: smaller differences are below the resolution of
 * clocks and replays.
 */
#define SCORE_LEAST_SIGMA 0.002

/* Proposes that units of a partition, or only one, were slow in all steps. */
void explanation_search_propose_steady(struct explanation_search *it, size_t number, size_t only,
                                       struct explanation *best);

/* -------------------- absent_waits.c -------------------- */

/* An operation of a rank, by the records of its other members. Times in nanoseconds. */
struct absent_wait {
    int32_t instance;
    int64_t end_ns;      /* when they left it, in the common time of the run; TIME_UNKNOWN */
    int64_t doubt_ns;    /* by how much later the rank may have left it */
    int64_t stay_ns;     /* how long the last of them stayed in it; TIME_UNKNOWN */
    int64_t transfer_ns; /* how long it would have stayed without waiting for the rank; TIME_UNKNOWN: the
                            records do not show whether it waited */
    int64_t wire_ns;     /* the same, without what the sides of a pair wait for each other anyway */
    int64_t usual_ns;    /* how long after their previous operation the peers of the rank left it */
    int64_t excess_ns;   /* what they waited, up to what the rank took longer than its peers */
    int64_t unclear_ns;  /* time in which waiting cannot be told from transfers */
    int64_t pace_ns;     /* average distance of network steps, if these show the wait; else 0 */
    int is_by_past;      /* transfer_ns is that of other steps, for lack of sisters */
};

/*
 * The times of group calls that exchange with several ranks, by the first operation of the call;
 * TIME_UNKNOWN. NULL where a job has no such calls. Owned by who called call_times_init.
 */
struct call_times {
    int64_t *left_ns;     /* when the rank left the call, on its own clock; also of single operations */
    int64_t *stay_ns;     /* how long it stayed when all others with a trace had begun */
    int64_t *interval_ns; /* how long after what it called before it left the call */
};

/* Returns -1 when memory runs out; release it in that case too. */
int call_times_init(struct call_times *times, const struct job *job);
void call_times_release(struct call_times *times);

struct absent_waits {
    const struct job *job;
    const struct baseline *baseline;
    const struct call_times *times; /* borrowed */
    int32_t rank;
    int64_t *numbers;          /* owned: by communicator, the number of the rank in it; -1 */
    struct absent_wait *items; /* owned; sorted by end_ns */
    size_t count;
    size_t capacity;
    int has_calls;    /* some are calls with several ranks, measured by absent_calls.c */
    int has_no_times; /* the others' clocks are not aligned, so that what it inherited cannot be told */
};

/*
 * Measures the operations of a rank without its own records: how long the others waited for it, by network
 * steps or by their sisters, the operations of ranks with a trace at the same place of the same step. What it
 * inherited from others does not count as excess, because it left each operation together with them. Returns
 * -1 when memory runs out; release it in that case too.
 */
int absent_waits_init(struct absent_waits *waits, const struct job *job, const struct baseline *baseline,
                      const struct call_times *times, int32_t rank);
void absent_waits_release(struct absent_waits *waits);

/* Compared with fewer sisters, a rank is not measured; more tell no more about their median. */
enum { FEWEST_SISTERS = 3, MOST_SISTERS = 15 };

/* Whether the group call of an operation exchanges with several ranks, or contains collectives. */
int absent_call_has_partners(const struct job *job, int32_t operation);

/* Adds the waits in such calls (absent_calls.c). Returns -1 when memory runs out. */
int absent_calls_add(struct absent_waits *waits);

/* Sums up the excess by step, with or without what only other steps tell; NAN in steps that are warm-up. */
void absent_waits_sum(const struct absent_waits *waits, int by_past, double *row);

#endif
