#ifndef NCCLPROF_VERDICT_FINDING_H
#define NCCLPROF_VERDICT_FINDING_H

#include "base/buffer.h"
#include "baseline/baseline.h"
#include "job/job.h"

struct extents;
struct passing;

/*
 * What diagnose says. A finding names the rank at fault, never one that waits for it.
 */
enum finding_kind {
    FINDING_COMPUTE = 0, /* its GPU took longer before its operations */
    FINDING_HOST,        /* it enqueued late */
    FINDING_NETWORK,     /* its sends (or one link, or its receives) were slow */
    FINDING_MISSING,     /* it never began an operation that others wait in */
    FINDING_MISMATCH,    /* it called something else than the others */
    FINDING_ENDED_EARLY  /* its trace stops long before its peers' */
};

enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

struct finding {
    enum finding_kind kind;
    enum confidence confidence;
    int32_t rank; /* job rank */
    int32_t tag;  /* -1: none */
    int32_t first_step;
    int32_t last_step; /* -1 with first_step: not known */
    int receives;      /* network: what is sent to it is slow, not what it sends */
    int64_t lost_ns;   /* of the whole job; 0 where it cannot be said */
    int64_t slow_ns;   /* by how much its operations were slow or late, summed */
    int shows_earlier; /* in the step before its first, too, as of a suspect */
    int shows_later;   /* network: in the step after its last, as of a suspect */
    int stops_job;     /* somebody waits for good: the step did not end */
    int32_t *peers;    /* owned: the other ends of slow links, or who waits */
    size_t peer_count;
    size_t peer_capacity;
    struct buffer evidence; /* one sentence with figures that can be checked */
};

/* Ranks that were slow at once (crowd.c): from the first to the last such step, and how many in the worst. */
struct crowd {
    size_t findings; /* that are of low confidence for it; 0: none */
    int32_t ranks;
    int32_t first_step;
    int32_t last_step;
};

struct findings {
    struct finding *items; /* owned */
    size_t count;
    size_t capacity;
    struct crowd crowd;
};

void findings_release(struct findings *findings);

/* A new finding at the end, zeroed; NULL when memory is out. */
struct finding *findings_add(struct findings *findings);
/* The same, of a rank in one operation: at its step and its phase. */
struct finding *findings_add_at(struct findings *findings, enum finding_kind kind, int32_t rank,
                                const struct job_instance *instance);
/* Keeps them in order, each once. */
int finding_add_peer(struct finding *finding, int32_t rank);

/*
 * Whether findings say of a step that it did not end, or explain half of what it was longer. A slow link that
 * ends a step shows in the next: a single one there only, several in each from their first to the one after.
 * Who begins steps late shows in the one before as well.
 */
int findings_explain(const struct findings *findings, int32_t step, int64_t longer_ns);

/* Whether one says why the job stopped. */
int findings_stop_job(const struct findings *findings);

const char *finding_kind_name(enum finding_kind kind);
const char *confidence_name(enum confidence confidence);

struct diagnose_options {
    double min_gain; /* of a median step, 0.03 for 3 %: what a finding must be worth per step */
    double sigmas;   /* see baseline.h */
    int64_t pieces;  /* for find_absence, see job_count_pieces; 0: no other runs are known */
};

/*
 * crowd.c: what more than half of the recorded ranks (three at least) are named for in most of the same steps
 * may have a cause that is common to them: such findings get low confidence. Wants what suspects_judge adds,
 * and no other findings. -1 when memory is out.
 */
int findings_doubt_crowd(struct findings *findings, const struct job *job);

/*
 * Likewise a network in two of whose steps, or in its only one, two others were slow at once and more, in all
 * by a third as much, and none of them is believed to be at fault: a switch or a host that they share may be.
 */
int findings_doubt_shared(struct findings *findings, const struct job *job);

/*
 * laggards.c: where only finished operations are recorded, the ranks that share the first one that was not
 * finished, of those who stopped earlier in their step than others of their role. Low confidence: who waits
 * and who never came look alike there.
 */
int find_laggards(const struct job *job, const struct baseline *baseline, struct findings *findings,
                  struct error *error);

/* absence.c: ranks that never came, or called something else. Wants positions (baseline_init). */
int find_absence(const struct job *job, const struct extents *extents, const struct diagnose_options *options,
                 struct findings *findings, struct error *error);

/* frozen.c: whose GPU never began what its host had called, where others wait. -1 when memory is out. */
int find_frozen(const struct passing *passing, struct findings *findings);

/*
 * mismatch.c: who called a collective with another size, datatype or root than the other members, or two in
 * another order: of each communicator the first that holds somebody up, else the first. `stuck` says so, by
 * instance. -1 when memory is out.
 */
int find_disagreements(const struct job *job, const unsigned char *stuck, struct findings *findings);

/*
 * find.c: what suspicions (suspect.h) amount to, and all of the above, in their order. `baseline` is made
 * here and released by the caller, also on failure; it starts out zeroed.
 */
int findings_find(struct findings *findings, struct job *job, struct baseline *baseline,
                  const struct diagnose_options *options, struct error *error);

#endif
