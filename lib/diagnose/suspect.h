#ifndef NCCLPROF_DIAGNOSE_SUSPECT_H
#define NCCLPROF_DIAGNOSE_SUSPECT_H

#include "verdict/finding.h"

struct edges;

/*
 * A suspicion: something that stood out at one rank in consecutive steps.
 */
struct suspect {
    enum finding_kind kind; /* FINDING_COMPUTE, FINDING_HOST or FINDING_NETWORK */
    int32_t rank;
    int32_t first_step;
    int32_t last_step;
    int64_t weakest_ns; /* least excess of a step of it */
    int64_t total_ns;   /* sum of the excess */
    int64_t margin_ns; /* of that, by how much it came after everybody else: what its partners lost at once */
    int64_t gain_ns;   /* of the job, by replay */
    double chance;     /* expected number of such runs of steps by noise alone */
    double ahead;      /* how many times the greatest single step of others its weakest one is */
    int counted_steps; /* that speak for it */
    int after_warm_up; /* it begins with the first step after that, which speaks for nothing */
    int hides_pairs;   /* most of it may be receives that the recorder leaves out */
    int ambiguous;     /* the trace cannot tell this rank's fault from something it did not record */
    int shows_earlier; /* in the step before its first, too: it begins its steps late */
    int shows_later;   /* in the step after its last: what was slow there ended that step */
    int beside_late_host; /* it may have waited for one that was late as well, and gains little then */
};

static inline int32_t suspect_steps(const struct suspect *suspect)
{
    return suspect->last_step - suspect->first_step + 1;
}

struct suspects {
    struct suspect *items; /* owned */
    size_t count;
    size_t capacity;
    int64_t *unrest_ns; /* owned; NULL, or [step * ranks + rank]: how late the middle one of the other hosts
                           was, or of those of its role if that is more (unrest.c) */
    int64_t *cost_ns;   /* owned; NULL, or of each step what they are all said to have cost (lengths.c) */
};

/*
 * Excess by rank and step, the raw material of suspicion. Runs of consecutive steps in which a rank's excess
 * is worth at least half of min_gain become suspects. How likely noise makes such a run is estimated from the
 * steps that stand alone: with N (rank, step) cells and a share p of them standing alone with at least as
 * much, N p^L runs of L steps are expected; a step alone is held against the tail of all others; and where
 * runs of other ranks are as strong at other times, no fewer than those let expect (strength.c).
 */
struct sample {
    int64_t excess_ns;
    int32_t rank; /* -1: nobody's */
    int32_t step;
};

struct strength {
    int64_t *excess_ns;     /* owned; [rank * steps + step] */
    int64_t *unbounded_ns;  /* owned; NULL, or excess before it was bounded by what others waited */
    int64_t *hidden_ns;     /* owned; NULL, or what of it may be receives that the recorder leaves out */
    unsigned char *blank;   /* owned; NULL, or whether nothing is known where the steps beside it were late */
    struct sample *samples; /* owned; NULL, or what is usual in single steps where the cells do not say it */
    size_t sample_count;
    size_t rank_count;
    int32_t steps;
    int32_t first_step;
    int64_t whole_ns; /* a median step; 0 unknown */
};

int strength_init(struct strength *strength, const struct job *job, const struct baseline *baseline);
void strength_release(struct strength *strength);
int strength_find(struct strength *strength, int64_t least_ns, enum finding_kind kind,
                  struct suspects *suspects);

/* own.c: ranks that came late by themselves; network.c: ranks whose transfers were slow. */
int suspect_own(struct suspects *suspects, struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options, struct error *error);
int suspect_network(struct suspects *suspects, struct job *job, const struct baseline *baseline,
                    const struct edges *edges, const struct diagnose_options *options, struct error *error);

/*
 * own.c: whether the host is to blame for an operation's excess: it was handed to the GPU later than usual,
 * when that had nothing to do, by half of the excess. Otherwise the GPU had it in its queue and was busy.
 * Within a step an eighth is enough: computation that runs beside communication is late with the host, and
 * then takes its time. A host that waits for GPU work after the last operation of a step is late likewise:
 * nothing in a trace of communication tells the two apart.
 */
int is_late_by_host(const struct job *job, const struct job_operation *operation);
/* Whether its host was late within the step: that hides nothing. It waits for its GPU at the end of one. */
int is_late_within(const struct job *job, const struct job_operation *operation);

/*
 * doubt.c: where what a rank is under suspicion for may be waiting for another one under greater suspicion,
 * because receives or some channels do not say when they ended, the trace cannot tell.
 */
void suspects_doubt(struct suspects *suspects, const struct job *job, const struct edges *edges);

/*
 * blind.c, for recorders that leave point-to-point operations out: whether one may sit in the own time before
 * an operation: it is usually several times what it is before others of the kind, or there are none to
 * compare it with.
 */
int may_hide_pair(const struct job *job, const struct job_operation *operation);

/*
 * Whether by the clocks all members of an operation had left it by `after_ns` after this one did, which may
 * have been the leaf of a tree; 0 where that is not known.
 */
int all_have_left(const struct job *job, const struct job_operation *member, int64_t after_ns);

/*
 * Where all ranks meet in all collectives they may exchange what nobody recorded, as the ranks of a mixture
 * of experts do: then the own time of several is longer at once, and none of them is to blame. -1 when memory
 * is out.
 */
int suspects_doubt_exchanges(struct suspects *suspects, const struct job *job);

/*
 * unrest.c: in a step in which all hosts, or all of one role, are later than usual (kernels loaded for a new
 * shape, a checkpoint, a collection of garbage) some are latest, and none of them is to blame; nor is a GPU
 * for most of such steps; nor does lateness say anything where there is no other rank to hold it against.
 * Fills in suspects->unrest_ns. -1 when memory is out.
 */
int suspects_doubt_unrest(struct suspects *suspects, const struct baseline *baseline);

/* Whether so many steps are in both that it is more than half of the lesser one. */
int suspects_are_together(const struct suspect *a, const struct suspect *b);

/*
 * Where the recorder leaves sends out, a rank with a slow network is late after them, too, and who receives,
 * in another stage, is late: where all that shows for several steps it is one thing, and no noise where
 * either is none (blind.c). -1 when memory is out.
 */
int suspects_join_hidden_sends(struct suspects *suspects, const struct job *job);

/*
 * Where only finished operations are listed, without network steps and algorithms: lateness in steps most of
 * which hold an operation that was slow by twice as much for no known reason may be its consequence; and own
 * time after an AllReduce may be part of it, where others were in it for longer (the leaf of a tree); so may
 * what comes after operations that have a root, where nobody waited for it. -1 when memory is out.
 */
int suspects_doubt_unrecorded(struct suspects *suspects, const struct job *job);

/* weigh.c: what the job would gain without each of the strongest 64 (gain_ns). Puts them in order of
 * total_ns. -1 when memory is out. */
int suspects_weigh(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   struct error *error);

/*
 * lengths.c: whether the suspicion's steps were longer than others by a third of what it is said to have
 * cost, or more, beyond what steps differ by anyway; of a late rank, whether they may have been by a quarter
 * of it, or of what it came later by than all others; of a late host, without what most others were late by,
 * and that it is not less than a tenth of what nothing else accounts for. And by how much they were longer,
 * give or take what steps differ by. -1 when memory is out.
 */
struct lengthening {
    int shows;         /* also where that is not known */
    int64_t least_ns;  /* of a late host, without what most others were late by; 0 or less where it is not
                          known, or others cost something in the same steps */
    int64_t rest_ns;   /* what the others leave; 0 or less where it is not known */
    int64_t beside_ns; /* what those cost */
    int64_t longer_ns; /* by how much they were longer */
    int64_t most_ns;   /* INT64_MAX unknown */
    int64_t shared_ns; /* of a late host, what most others were late by, too */
};

int suspects_sum_costs(struct suspects *suspects, int32_t step_count); /* first; -1 when memory is out */
int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening);

/*
 * judge.c: turns the suspicions that are worth saying into findings, with phase, confidence and evidence.
 * `edges` may be NULL.
 */
int suspects_judge(const struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct edges *edges, const struct diagnose_options *options,
                   struct findings *findings, struct error *error);

/*
 * judge.c: whether noise is expected to do as much at least once, and others come near it: such a suspicion
 * is never told, and not weighed.
 */
int suspect_is_noise(const struct suspect *suspect);

/*
 * judge.c: whether a step alone is beyond what noise does to one, all others considered; by so much more
 * where only a `part` of the chance is allowed (up to 1).
 */
int suspect_stands_alone(const struct suspect *suspect, double part);

/* Whether an operation's excess, or an instance's slow transfer, is part of the suspicion. */
int suspect_has_operation(const struct suspect *suspect, const struct job_operation *operation);
int suspect_has_instance(const struct suspect *suspect, const struct job_instance *instance);

/* Where to look for them: job_operations_in and job_instances_in of its rank and steps. */
struct job_range suspect_operations(const struct suspect *suspect, const struct job *job);
struct job_range suspect_instances(const struct suspect *suspect, const struct job *job);

#endif
