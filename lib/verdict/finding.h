#ifndef NCCLPROF_VERDICT_FINDING_H
#define NCCLPROF_VERDICT_FINDING_H

#include "base/buffer.h"
#include "base/colour.h"
#include "job/job.h"
#include "verdict/figures.h"
#include "verdict/readings.h"

/* By how much what a finding speaks of was late or slow in a phase. */
struct phase_excess {
    int32_t tag; /* -1: operations without one */
    int64_t excess_ns;
};

/* How a rank is in the way of a communicator that is being made. */
enum unmade {
    UNMADE_NOT = 0,
    UNMADE_ABSENT, /* it never came to that */
    UNMADE_UNSEEN, /* likewise, and it left no trace, which may merely not be given */
    UNMADE_ONE_OF, /* it, or another of the candidates, never came to that */
    UNMADE_STUCK   /* it never got through */
};

/*
 * What diagnose says. A finding names the rank at fault, never one that waits for it.
 */
struct finding {
    enum finding_kind kind;
    enum confidence confidence;
    int32_t rank; /* job rank */
    int32_t tag;  /* -1: none */
    int32_t first_step;
    int32_t last_step;      /* -1 with first_step: not known */
    int32_t breaks;         /* between these, where the run is loaded in excerpts (job/excerpts.h) */
    int32_t period;         /* in every so-many-th step from the first to the last; 0: in all of them */
    const int32_t *numbers; /* borrowed from the job: what that counts by (job.h); NULL: steps */
    int32_t *ranks; /* owned: all at fault, where it is several at once (`rank` is one of them); ascending */
    size_t rank_count; /* 0: `rank` alone */
    double certainty;  /* log of the odds that it is no noise (score/explain.h); 0: not known */
    int receives;      /* network: what is sent to it is slow, not what it sends */
    int64_t pause_ns;  /* network: for so long nothing moved, once, which is most of its cost; 0: else */
    int64_t step_ns;   /* how long the job's steps usually are; 0: not known */
    int32_t instance;  /* the first operation in which it shows; -1: none */
    /* What findings_detail fills in, for those that are told. */
    int32_t operation;           /* the record of that: its own, else that of who waits; -1: none */
    int64_t since_ns;            /* when that began, since the first operation of the job; TIME_UNKNOWN */
    struct phase_excess *phases; /* owned: all that it is in, the greatest first */
    size_t phase_count;
    int32_t *waiting; /* owned: the ranks that waited for what it is to blame for, ascending */
    size_t waiting_count;
    int64_t lost_ns;     /* of the whole job; 0 where it cannot be said */
    int64_t slow_ns;     /* by how much its operations were slow or late, summed */
    int shows_earlier;   /* in the step before its first, too, as of a suspect */
    int shows_later;     /* network: in the step after its last, as of a suspect */
    int stops_job;       /* somebody waits for good: the step did not end */
    int at_start;        /* host: late at start-up, before all steps */
    int broke;           /* network: transfers failed for good, where others were slow */
    const char *error;   /* error: what it reported, "a CUDA error": a constant */
    int64_t warning;     /* the record of the warning that says it (struct job_warning); 0: none */
    const char *link[2]; /* network, broke: the hosts at both ends of all that failed, of the job's; NULL */
    const char *nic;     /* network: the card, of the job's; NULL: the one that its process names */
    int is_unrecorded;   /* missing: it left no record of its calls */
    int never_ended;     /* missing: its GPU did not end what it began, or never began it */
    enum unmade unmade;  /* missing: in the making of a communicator, not in an operation */
    int32_t called;      /* the operation whose place in the program tells where; -1: none */
    int32_t *peers;      /* owned: the other ends of slow links, or who waits */
    size_t peer_count;
    size_t peer_capacity;
    int32_t *candidates; /* owned: who it may be where the record cannot tell, `rank` among them; else none */
    size_t candidate_count;
    size_t candidate_capacity;
    struct buffer evidence;   /* sentences with figures that can be checked; the last without its stop */
    struct figures figures;   /* these */
    struct readings readings; /* what the rules read that were asked */
};

/* Ranks that were slow at once (rules_common_cause.c): from the first to the last such step, and how many in
 * the worst. */
struct crowd {
    size_t findings; /* that are of low confidence for it; 0: none */
    int32_t ranks;
    int32_t first_step;
    int32_t last_step;
};

/* Where a job stands still and the record cannot say for whom. */
struct standstill {
    int is_known;
    int32_t instance; /* the first that was begun, and never ended */
};

struct findings {
    struct finding *items; /* owned */
    size_t count;
    size_t capacity;
    struct crowd crowd;
    struct standstill standstill;
    int is_snapshot;     /* who waits for whom says nothing: the dumps are of a job that ran */
    size_t unweighed;    /* suspicions that are findings, or may be: what they cost is not known */
    struct rule_set off; /* rules that are not asked */
};

void findings_release(struct findings *findings);

/* A new finding at the end, zeroed; NULL when memory is out. */
struct finding *findings_add(struct findings *findings);
/* The same, of a rank in one operation: at its step and its phase. */
struct finding *findings_add_at(struct findings *findings, const struct job *job, enum finding_kind kind,
                                int32_t rank, const struct job_instance *instance);
/*
 * Puts all of others behind them, and what else those know of how the job stopped in place of what these do.
 * The others are empty then. -1 when memory is out: they are as they were.
 */
int findings_append(struct findings *findings, struct findings *others);
/*
 * Asks a rule about a finding. Where it speaks, the finding is believed no more than it allows. A finding
 * that nothing is known against begins with CONFIDENCE_HIGH. Returns whether it speaks.
 */
int finding_ask(const struct findings *findings, struct finding *finding, enum rule_id rule, double reading);

/* Both keep them in order, each once. */
int finding_add_peer(struct finding *finding, int32_t rank);
int finding_add_candidate(struct finding *finding, int32_t rank);
/*
 * Of the findings from number `from` on, those of one kind and step whose candidates cannot be told apart
 * become one, of the first candidate; a single candidate is none. -1 when memory is out.
 */
int findings_unite_candidates(struct findings *findings, size_t from);
/*
 * Does so for the last of them at once, as far as it goes into another one: so candidates of one finding are
 * never held each by itself. *into is where the last one went that did, at first `from`. The others are still
 * to be united.
 */
int findings_unite_last(struct findings *findings, size_t from, size_t *into);
/* Forgets those of low confidence from number `from` on. */
void findings_forget_low(struct findings *findings, size_t from);

/*
 * Whether findings say of a step that it did not end, or explain half of what it was longer: those of low
 * confidence do not, unless the job stopped. A slow link that ends a step shows in the next: a single one
 * there only, several in each from their first to the one after. Who begins steps late shows in the one
 * before as well.
 */
int findings_explain(const struct findings *findings, int32_t step, int64_t longer_ns);

/* Whether it is told unasked: believed, or of a job that stopped or computed nonsense, which is told even
 * where the trace cannot say whose fault it was. */
int finding_is_told(const struct finding *finding);

/* Of those that are told and accuse a rank, or may, the surest, then the costliest; NULL: there is none. */
const struct finding *findings_of_rank(const struct findings *findings, int32_t rank);

/* Whether one comes before another: the surer, then the costlier. */
int finding_is_before(const struct finding *a, const struct finding *b);

/* What all its phases were late or slow by. */
int64_t finding_excess_ns(const struct finding *finding);

/* How many steps it is of; 1 where that is not known. */
int32_t finding_steps(const struct finding *finding);

/* Whether a finding is of that step; of that rank. */
int finding_has_step(const struct finding *finding, int32_t step);
int finding_has_rank(const struct finding *finding, int32_t rank);

/* Forgets a finding. */
void findings_remove(struct findings *findings, size_t at);

/* Whether one says why the job stopped. */
int findings_stop_job(const struct findings *findings);
/* The same, with medium or high confidence. */
int findings_stop_surely(const struct findings *findings);

const char *finding_kind_name(enum finding_kind kind);
const char *confidence_name(enum confidence confidence);
/* Of its name; none of any other text. */
enum colour confidence_colour(const char *name);

#endif
