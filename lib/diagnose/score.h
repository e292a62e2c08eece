#ifndef NCCLPROF_DIAGNOSE_SCORE_H
#define NCCLPROF_DIAGNOSE_SCORE_H

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

/* -------------------- scan.c -------------------- */

/*
 * How well a fault in some steps explains a row of residuals, one for each step in units of the noise's
 * standard deviation: the sum over its steps of log(t(y - m) / t(y)), t the density of Student's t. The power
 * law of its tail holds what single steps can say within bounds (one of 30 sigma says as much as 1.5 log
 * 450); steps add up. m is the size of the fault.
 *
 * The sets of steps are all intervals, and of every period and phase all runs of occurrences; those in which
 * fewer than three steps speak for the fault are no sets: what one or two steps say is left to others. Nor
 * are those that leave less than a quarter of the steps to be the usual.
 */
struct step_set {
    double score; /* 0: there is none */
    double size;  /* m */
    int32_t first;
    int32_t last;
    int32_t period;         /* 1: an interval */
    const int32_t *numbers; /* borrowed: what periods count by, of each step; NULL: steps themselves */
};

/* Whether a step is some periods from another; those of number -1 recur with none. */
static inline int step_recurs(const int32_t *numbers, int32_t first, int32_t step, int32_t period)
{
    if (!numbers || period < 2)
        return (step - first) % period == 0;
    return numbers[first] >= 0 && numbers[step] >= 0 && (numbers[step] - numbers[first]) % period == 0;
}

/* Whether a step is of a set, and how many are. */
static inline int step_set_has(const struct step_set *set, int32_t step)
{
    return step >= set->first && step <= set->last &&
           step_recurs(set->numbers, set->first, step, set->period);
}

static inline int32_t step_set_count(const struct step_set *set)
{
    int32_t count = 0;
    if (!set->numbers)
        return (set->last - set->first) / set->period + 1;
    for (int32_t step = set->first; step <= set->last; step++)
        count += step_set_has(set, step);
    return count;
}

/*
 * Residuals that are not known are NAN. `numbers`, ascending but for those of -1, is what periods count by
 * (step_set); NULL: steps. -1 when memory is out.
 */
int scan_row(const double *row, const int32_t *numbers, int32_t steps, double tail, struct step_set *best);

/* The score of a set of steps for another row, of the best size: into `set`. */
void scan_set(const double *row, double tail, struct step_set *set);

/* The logarithm of how many sets there are in so many steps. */
double scan_sets(int32_t steps);

/* The median of the best score of a row of independent t residuals. */
double scan_expected(int32_t steps);

/*
 * What may be at fault as one: a rank, or ranks that share a host, a network card or a switch. A partition
 * puts each rank of the job in one unit of its kind.
 */
enum unit_kind {
    UNIT_RANK = 0,
    UNIT_HOST, /* ranks whose traces say that they ran on one host */
    UNIT_BLOCK /* neighbours by number that no network edge joins: a host, or a part of one */
};

struct partition {
    enum unit_kind kind;
    size_t count;
    size_t *first;    /* owned: where in `ranks` the members of each unit begin; one more than there are */
    int32_t *ranks;   /* owned: job ranks, by unit */
    int32_t *unit_of; /* owned: of each rank */
    int32_t *within;  /* owned: of each communicator, the unit that all its ranks are of; -1: of several */
};

enum { MOST_PARTITIONS = 16 };

struct partitions {
    struct partition *items; /* owned: ranks first, then the larger units */
    size_t count;
};

/*
 * Each rank by itself; hosts where the job knows several, else blocks of 2, 4, 8 and so on ranks, up to half
 * of the job, as far as no edge of the network lies within one. -1 when memory is out; to be released all the
 * same.
 */
int partitions_init(struct partitions *partitions, const struct job *job, const struct edges *edges);
void partitions_release(struct partitions *partitions);

static inline size_t unit_size(const struct partition *partition, size_t unit)
{
    return partition->first[unit + 1] - partition->first[unit];
}

/* -------------------- explain.c -------------------- */

/* One hypothesis (explain.c): who, in which steps, how certain, at what cost. */
struct explanation {
    const struct partition *partition; /* of the explanations' */
    size_t unit;
    struct step_set steps;
    int32_t counted;    /* steps */
    int is_steady;      /* through all steps: against other units, not against its past */
    double slower_part; /* of the others' own time, at places where it takes longer: 1 of a slow clock, less
                           of what is heavier by design */
    double most_part;   /* of an own time, that it may be */
    double certainty;   /* log of odds, penalties paid */
    int64_t gain_ns;    /* of the job, by replay, beyond what those before it gain */
    int64_t margin_ns; /* by how much its ranks came after everybody else: what their partners lost at once */
    int64_t
        slow_ns; /* by how much its ranks were slow in its steps, as long as somebody waited; mean of them */
    int64_t more_ns;  /* the same without places where they took less */
    int64_t host_ns;  /* of that, before operations that its hosts enqueued late */
    int32_t rank;     /* the one of them that was slowest */
    int32_t position; /* of the place at which that was slow by most; -1 */
    int32_t tag;      /* of the phase in which most of it is; -1 */
};

/* Whether its hosts are to blame, and whether it is worth what its partners lost where that is more than the
 * gain. */
int explanation_is_hosts(const struct explanation *explanation);
int explanation_counts_partners(const struct explanation *explanation);

/* Whether it is of that rank, and of that step. */
int explanation_has_rank(const struct explanation *explanation, int32_t rank);
int explanation_has_step(const struct explanation *explanation, int32_t step);

/* How many steps it is of. */
int32_t explanation_count(const struct explanation *explanation);

/*
 * One score for every hypothesis: a unit of ranks (scan.c) was slow, by itself, in a set of steps (scan.c).
 * The score is deflated by what innocent units reach (genomic control: Devlin and Roeder, Biometrics 55,
 * 1999) and paid for by the logarithm of the number of hypotheses: certainty is what is left. The greatest is
 * believed first; what it explains is taken out of the replay, of the others' peers and of the noise, until
 * nothing is left that is certain.
 */

/* From where on something is believed. */
struct acceptance_limits {
    double certainty; /* of all */
    int64_t worth_ns; /* gain in each step */
    double sure; /* from this certainty on, where partners lost worth_waited_ns, the least gain will do */
    int64_t worth_waited_ns;
    int64_t least_ns;
};

struct explanations {
    struct partitions partitions;
    struct explanation *items; /* owned: as they were believed */
    size_t count;
    size_t capacity;
};

/*
 * What is to be believed, the greatest certainty first. What is believed is taken out of `replay`, which is
 * of the job as it was. Release it whatever comes back.
 */
int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, struct replay *replay,
                      const struct acceptance_limits *acceptance_limits, struct error *error);
void explanations_release(struct explanations *explanations);

/* -------------------- place_matrix.c -------------------- */

/* What the residuals of a job rest on. */
struct place_matrix_source {
    const struct job *job;
    const struct baseline *baseline;
    const struct transfer_excess *transfers;
    const unsigned char *explained; /* [rank * steps + step]: a fault that has been found */
    const int64_t *longest_stay_ns; /* per instance, max_member_durations() */
};

/* The longest stay of a member of each instance (arrival.h); INT64_MAX where the trace cannot tell. Owned by
 * the caller; NULL when memory is out. */
int64_t *max_member_durations(const struct job *job);

/*
 * Own times of ranks of a role at one place of the step, and what bounds them. In nanoseconds, TIME_UNKNOWN
 * where there is none: also after a send or a receive whose end no kernel tells.
 */
struct place_times {
    size_t ranks;
    size_t steps;
    int32_t *place; /* owned: of each in the role */
    /* Owned: [rank of these * steps + step]. Beside an own time that is not known only `open` says something:
     * 0. */
    int64_t *own;
    int64_t *pace;  /* own time; of ranks that compute beside communication, from the begin of the operation
                       before: who comes last is in that for less time, and computes for longer after it */
    int64_t *late;  /* of the own time, what had passed when it was enqueued */
    int64_t *bound; /* the longest that another member of the operation waited; INT64_MAX: not known */
    int32_t *communicator; /* of its operation */
    unsigned char *open;   /* it may hold the rest of an operation that does not say when it was over, or that
                              a slow link held for others */
    unsigned char within;  /* what comes before the place is of the same step */
};

/* Instead of one unit of a partition. */
#define SHEET_ALL SIZE_MAX

/* Room for a role's ranks, or for those of a unit alone; -1 when memory is out: to be released all the same.
 */
int place_times_init(struct place_times *times, const struct place_matrix_source *source, size_t role,
                     const struct partition *partition, size_t unit);
void place_times_release(struct place_times *times);

void place_times_read(struct place_times *times, const struct place_matrix_source *source, size_t role,
                      int32_t position);

/* A rank's operations at a place, by step; -1: none. */
const int32_t *place_times_operations(const struct place_times *times, const struct baseline *baseline,
                                      size_t role, int32_t position, size_t rank);

/*
 * Own times at one place of the step, for the units of a partition that have ranks in its role. A unit's time
 * is the lower quartile of its members', so that three of four have to show what is said of it; the others'
 * is the median over the other units of their medians. What has been explained counts for no others. Times
 * in nanoseconds, TIME_UNKNOWN where there is none.
 */
struct place_matrix {
    size_t steps;
    size_t units;
    const struct partition *partition; /* borrowed */
    const struct place_times *times;   /* borrowed */
    int32_t *unit;                     /* owned: numbers in the partition */
    int32_t *first;      /* owned: where in `member` those of each unit begin; one more than there are */
    int32_t *member;     /* owned: ranks of the times, by unit */
    int64_t *bound;      /* owned: of these ranks' times; INT64_MAX also where all of an operation are of the
                            unit, and make others wait later */
    int64_t *value;      /* owned: [unit * steps + step], as all below */
    int64_t *unit_pace;  /* owned: lower quartile of its members' */
    int64_t *middle;     /* owned */
    int64_t *others;     /* owned */
    int64_t *late_more;  /* owned: lateness less the others' */
    int64_t *waited;     /* owned: lower quartile of its members' bounds */
    int64_t *quiet;      /* owned: [unit], own time beyond the others' in its quiet steps */
    int64_t *quiet_pace; /* owned: [unit], pace in its quiet steps */
    int64_t *list;       /* owned: scratch, as is: */
    size_t *known;       /* owned: cells of the times */
};

/* Room for what has been read of a role, `times`; -1 when memory is out: to be released all the same. */
int place_matrix_init(struct place_matrix *place_matrix, const struct place_matrix_source *source,
                      const struct partition *partition, const struct place_times *times, size_t role);
void place_matrix_release(struct place_matrix *place_matrix);

/*
 * Measures all units of a role at the place that its times were read of last, against each other; and notes
 * in `middles` what that takes, of each step.
 */
void place_matrix_measure(struct place_matrix *place_matrix, const struct place_matrix_source *source,
                          size_t role, struct middles *middles);
/* The same of a unit whose times alone are read, against the others as noted, but for its lateness. */
void place_matrix_measure_alone(struct place_matrix *place_matrix, const struct place_matrix_source *source,
                                size_t role, const struct middles *middles);

/*
 * By how much a unit takes longer than the others in a cell; what is beyond its quiet steps is no more than
 * somebody waited, and no more than it grew by itself: who waits for it computes meanwhile, and then shows
 * less own time. TIME_UNKNOWN.
 */
int64_t place_matrix_unit_excess(const struct place_matrix *place_matrix, size_t unit, size_t step);

/* Whether own time of a member in a cell may be something else (open): it tells of all steps, not of some. */
int place_matrix_is_open(const struct place_matrix *place_matrix, size_t unit, size_t step);

/* Whether an excess is the host's: by how much it was later than the others' says so; in a cell. */
int place_matrix_lateness_is(const struct place_matrix *place_matrix, int64_t late_ns, int64_t excess_ns);
int place_matrix_is_late(const struct place_matrix *place_matrix, size_t unit, size_t step,
                         int64_t excess_ns);

/* -------------------- residual_matrix.c -------------------- */

/*
 * Residuals of own time by unit and step: what place_matrix.c has of each place, summed over the places of a
 * step. They keep their sign, so that noise cancels. In nanoseconds.
 */
struct residual_matrix {
    size_t units;  /* of the role; 0 or 1: nothing to compare with */
    int32_t *unit; /* owned: their numbers in the partition */
    /* Owned: [unit of the role * steps + step]. */
    int64_t *beyond; /* beyond the others and its quiet steps, about 0 where nothing is wrong; TIME_UNKNOWN */
    int64_t *more;   /* sum over the places where it was beyond those */
    int64_t *host;   /* of that, what came before operations that were enqueued late */
    struct level *level;     /* owned: [unit of the role] */
    struct middles *middles; /* owned: [position * steps + step], what fault_each() holds a unit against */
};

/* How far a unit is from the others through all steps; of places, the sums of their medians over steps. */
struct level {
    int64_t apart_ns;       /* own time less the others' */
    int64_t quiet_ns;       /* the same, of a step: lower quartile over steps */
    int64_t more_ns;        /* of places where it is more */
    int64_t host_ns;        /* of that, before operations that were enqueued later than the others' */
    int64_t widest_ns;      /* own time of the others at the place where that is longest */
    int64_t widest_more_ns; /* the unit's there, less the others' */
    int64_t others_ns;      /* own time of the others */
    int64_t slower_ns;      /* of that, at places where the unit takes longer (SLOWER) */
};

/* Of a role, one panel for each partition; `panels` has room. -1 when memory is out: release them all the
 * same. */
int residual_matrices_init(struct residual_matrix *residual_matrices,
                           const struct place_matrix_source *source, const struct partitions *partitions,
                           size_t role);
void residual_matrix_release(struct residual_matrix *residual_matrix);

/*
 * What an explanation takes away: what the ranks of a unit took longer than the others in the steps marked;
 * and longer than in the other steps, unless they are slow in all. Of several ranks no more than what three
 * of four show. Less where they took less: noise cancels.
 */
struct fault {
    const struct partition *partition;
    size_t unit;
    const struct residual_matrix
        *residual_matrices; /* of the partition, in the first role; those of the next are `apart` further */
    size_t apart;
    const unsigned char *steps;
    int is_steady;
    double most_part; /* of an own time */
};

typedef void (*fault_taker)(void *context, int32_t operation, int64_t fault_ns);

/* Calls `take` for each operation of the fault. -1 when memory is out. */
int fault_each(const struct fault *fault, const struct place_matrix_source *source, fault_taker take,
               void *context);

/* -------------------- explain_search.c -------------------- */

/*
 * What explanations_find() knows meanwhile: what has been found and explained, what the residuals are of what
 * is left, and which hypothesis is the most certain then.
 */

/* So many that gain nothing are enough to look at: each takes replays, and is more certain than the next. */
enum { MOST_IDLE = 8 };

/* What was certain and gained nothing: it is not believed, and explains nothing. */
struct idle {
    const struct partition *partition;
    size_t unit;
    int32_t first;
    int32_t last;
};

struct explaining {
    struct explanations *found;
    const struct acceptance_limits *acceptance_limits;
    struct idle idle[MOST_IDLE];
    int idle_count;
    struct place_matrix_source source;
    unsigned char *explained;                  /* owned: [rank * steps + step] */
    int64_t *longest_stay_ns;                  /* owned */
    struct residual_matrix *residual_matrices; /* owned: [role * partitions + partition] */
    int64_t *sigma_ns;                         /* owned: likewise */
    unsigned char *dirty;                      /* owned: [role] */
    unsigned char *mostly[MOST_PARTITIONS];    /* owned: [unit], whether it is explained in most steps */
    struct step_set *sets[MOST_PARTITIONS];    /* owned: [unit], the best; NULL: not known */
    double *row;                               /* owned: scratch, [step] */
    double *residuals;                         /* owned: scratch */
    size_t residual_room;
    double *by_role;       /* owned: scratch, [role] */
    int64_t *list;         /* owned: scratch, a cell each */
    unsigned char *marked; /* owned: scratch, [step] */
    int64_t **kept_ns; /* owned: own times of the replay that all but put back, [rank][operation of it]; NULL:
                          they have not been changed since explaining_settle */
    int32_t *path;     /* owned: the replay's critical path, operations */
    size_t path_length;
    struct replay *replay;
    int64_t lasts_ns; /* of the replay, without what is explained */
};

/* The partitions of what is found are made already. -1 when memory is out: release it all the same. */
int explaining_init(struct explaining *it, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers);
void explaining_release(struct explaining *it);

/* What was taken out of the replay is not to be put back any more. */
void explaining_forget_kept(struct explaining *it);

/* The residuals of a role by the units of a partition; and the number of a unit in these, or -1. */
struct residual_matrix *explaining_residual_matrix(const struct explaining *it, size_t role,
                                                   size_t partition);
int32_t residual_matrix_unit(const struct residual_matrix *residual_matrix, size_t unit);

/*
 * The most certain one that is left, of those above the belief's certainty and not idle: of what goes through
 * all steps first, as that is what noise in some of them is about. Returns 1 if there is one, 0, or -1 when
 * memory is out.
 */
int explaining_best(struct explaining *it, struct explanation *best);

/* The same fault at another unit, with the certainty that it has there. -1 when memory is out. */
int explaining_move(struct explaining *it, size_t number, size_t unit, struct explanation *fault);

/* -------------------- slow_senders.c -------------------- */

/*
 * How much longer a rank's network steps waited (SendWait) than those of other senders of the same kind of
 * operation (function, bytes, size of the communicator) in the same step: the logarithm of their ratio, mean
 * over its network steps. Logarithms, because a slow link multiplies what it has to do. Where fewer than
 * three others send there is nothing to hold it against: the middle one of two is one of them.
 */
struct senders {
    size_t ranks;
    int32_t steps;
    const int32_t *numbers; /* borrowed: of each step (job.h); NULL: the same */
    int32_t first_step;     /* after the warm-up */
    double *ratio;          /* owned: [rank * steps + step]; NAN: not known, and in the warm-up */
    double *beyond; /* owned: the same beyond the rank's own quiet quartile, about 0 where nothing is wrong */
    double *usual;  /* owned: [rank], that quartile; NAN: it sends too little */
    double spread;  /* standard deviation of `beyond`, from the median of its distances from 0;
                             0: there is nothing to tell */
    double steady_spread;  /* of `ratio` */
    struct step_set *best; /* owned: [rank], the best row of steps; its period 0: there is none */
    double deflation;      /* what innocent senders' best rows of steps reach, in what they should */
    size_t count;          /* ranks that have a usual */
};

/* Steps before the first are warm-up. -1 when memory is out; release it whatever comes back. */
int senders_init(struct senders *senders, const struct job *job, int32_t first_step,
                 const struct edges *edges);
void senders_release(struct senders *senders);

/* The score of a rank in steps that are given, beyond its quiet ones; or against the others. -1 when memory
 * is out. */
int senders_score(const struct senders *senders, size_t rank, int is_steady, struct step_set *set);

double senders_certainty(const struct senders *senders, int is_steady, const struct step_set *set);

/* Senders of one host that were slow in the same steps: they may share a network interface. */
struct slow_senders {
    unsigned char *has; /* owned: [rank] */
    size_t count;
    int32_t rank; /* the first of them */
    struct step_set steps;
    int is_steady;    /* through all steps: against other senders, not against their past */
    double certainty; /* log of odds, penalties paid: what their scores add up to */
};

/* From where on senders are named. */
struct sender_belief {
    double certainty;
    double times; /* as long as others they wait, of those through all steps */
};

struct sender_search {
    const struct job *job;
    const struct edges *edges;
    struct sender_belief acceptance_limits;
    struct senders senders;
    struct partitions partitions; /* made where one sender is certain */
    unsigned char *told;          /* owned: [rank] */
};

/* -1 when memory is out: release it all the same. */
int sender_search_init(struct sender_search *search, const struct job *job, const struct baseline *baseline,
                       const struct edges *edges, struct sender_belief acceptance_limits);
void sender_search_release(struct sender_search *search);

/*
 * The most certain ones that are left, each rank once. `found->has` has room for all ranks. Returns 1 if
 * there are any, 0, or -1 when memory is out.
 */
int slow_senders_next(struct sender_search *search, struct slow_senders *found);

/*
 * How many others of their host, which are as quick as those of other hosts, send to a host that they send
 * to: where there are none, all of it may have the longer way. 0 of one alone: where a GPU is plugged in
 * decides about its way. -1 when memory is out.
 */
int slow_senders_on_way(const struct sender_search *search, const struct slow_senders *found);

/* Whether they were slow in that step. */
int slow_senders_have_step(const struct slow_senders *found, int32_t step);

/* How much longer than usual, or than those of others, a rank's network steps waited in a step: the logarithm
 * of the ratio; 0 where they did not, or that is not known. */
double slow_senders_excess(const struct sender_search *search, const struct slow_senders *found, int32_t rank,
                           int32_t step);

#endif
