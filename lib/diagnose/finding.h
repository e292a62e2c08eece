#ifndef NCCLPROF_DIAGNOSE_FINDING_H
#define NCCLPROF_DIAGNOSE_FINDING_H

#include "base/base.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct baseline;
struct job;
struct job_communicator;
struct job_instance;
struct job_record;
struct roster_facts;
struct table;
struct transfer_excess;

/* -------------------- finding_names.c -------------------- */

/* The figures of an evidence by name, for programs: what the sentence says, and no more. */

enum { FIGURES_MOST = 12 };

struct figure {
    const char *name; /* static: with its unit (`_us`), none for a count */
    double value;
};

struct figures {
    struct figure items[FIGURES_MOST];
    size_t count;
};

/* One more; of more than FIGURES_MOST none is kept. A time that is TIME_UNKNOWN is left out. */
void figures_add(struct figures *figures, const char *name, double value);
void figures_add_time(struct figures *figures, const char *name_us, int64_t time_ns);

/* "figures": {...}. -1 when memory is out. */
int figures_add_json(const struct figures *figures, struct buffer *json);

/* -------------------- finding.c -------------------- */

/* What a finding accuses a rank of. */
enum finding_kind {
    FINDING_COMPUTE = 0, /* its GPU took longer before its operations */
    FINDING_HOST,        /* it enqueued late */
    FINDING_NETWORK,     /* its sends (or one link, or its receives) were slow */
    FINDING_MISSING,     /* it never began an operation that others wait in */
    FINDING_MISMATCH,    /* it called something else than the others */
    FINDING_ENDED_EARLY, /* its trace stops long before its peers' */
    FINDING_ERROR        /* its own record reports an error that ends a job */
};

enum { FINDING_KINDS = FINDING_ERROR + 1 };

enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

/* -------------------- limits.c -------------------- */

/*
 * The limits of the rules (rule.c), each with its unit and the reason for its value. What rules are held
 * against comes first, then what decides where a rule is asked. How one is added is said in limits.c.
 */
enum limit_id {
    LIMIT_NONE,
    LIMIT_ONE,
    LIMIT_HALF,
    LIMIT_ALL,
    LIMIT_TWINS,
    LIMIT_ROLE,
    LIMIT_STEP,
    LIMIT_PAUSE,
    LIMIT_WORTH,
    LIMIT_WORTH_MOMENT,
    LIMIT_WORTH_SURE,
    LIMIT_BY_DESIGN,
    LIMIT_NO_GAIN,
    LIMIT_CHANCE,
    LIMIT_CHANCE_BEHIND,
    LIMIT_CHANCE_ALONE,
    LIMIT_CHANCE_SURE,
    LIMIT_CHANCE_ALONE_SURE,
    LIMIT_AHEAD_LITTLE_TWO,
    LIMIT_AHEAD_NETWORK_TWO,
    LIMIT_REGULAR,
    LIMIT_SHOWN,
    LIMIT_ERRORS,
    LIMIT_SHOWN_OF_LATE,
    LIMIT_SLOWER,
    LIMIT_SLOWER_MANY,
    LIMIT_UNEXPLAINED,
    LIMIT_GAPS,
    LIMIT_CERTAINTY,
    LIMIT_CERTAINTY_SURE,
    LIMIT_ONE_PLACE,
    LIMIT_BUSIER,
    LIMIT_SHARED,
    LIMIT_START_APART,
    LIMIT_ENDS,
    /* Where rules are asked. */
    LIMIT_SURE,
    LIMIT_FAR_AHEAD,
    LIMIT_AHEAD_MANY,
    LIMIT_AHEAD_GPU,
    LIMIT_LITTLE_TWO,
    LIMIT_LONGER_TWO,
    LIMIT_LATE_ALONE,
    LIMIT_LATE_GPU,
    LIMIT_LONGER_MANY,
    LIMIT_LONGER_STEPS,
    LIMIT_SLOWER_OPERATIONS,
    LIMIT_NEARLY_ALL,
    LIMIT_SHADOW,
    LIMIT_REST,
    LIMIT_HIDDEN_PAIR,
    LIMIT_ALIKE,
    LIMIT_WAITED,
    LIMIT_RANKS_OF_ROLE,
    LIMIT_CROWD,
    LIMIT_SHARED_STEPS,
    LIMIT_OUTSTANDING,
    LIMIT_STEPS_TOLD,
    LIMIT_START_LATE,
    LIMIT_CALLS_AHEAD,
    LIMIT_OUTLIVED,
    LIMIT_RECORDS,
    LIMIT_RECORDS_UNSIZED,
    LIMIT_FIRST_CALLS,
    LIMIT_ERRORS_APART,
    LIMIT_COUNT
};

struct limit {
    const char *name; /* stable: in the manual */
    double value;
    const char *unit;
    const char *found; /* why this value: its source, or how it was found */
};

extern const struct limit limits[LIMIT_COUNT];

static inline double limit_of(enum limit_id limit)
{
    return limits[limit].value;
}

/* -------------------- rule.c -------------------- */

/*
 * The rules of a diagnosis: each one reason not to believe what a rank is accused of. A rule reads one
 * measure and is held against one limit. An accusation is believed as far as the strictest rule that speaks
 * allows, and by no other reckoning (rule.c). How a rule is added is said in rule.c.
 */
enum rule_id {
    /* The trace cannot tell this rank's fault from something that it does not record. */
    RULE_ROUGH_END,
    RULE_GROUP_END,
    RULE_AFTER_WARM_UP,
    RULE_EXCHANGE,
    RULE_LEAF_OF_TREE,
    RULE_BEHIND_ROOT,
    RULE_ROOT_OF_TREE,
    RULE_IN_GROUPS,
    RULE_SHARED_PROCESS,
    RULE_LOST_RECORDS,
    RULE_SILENT_RANK,
    /* It may be an effect of another rank. */
    RULE_WAITED_FOR_OTHER,
    RULE_LATE_RECEIVERS,
    RULE_TWINS,
    RULE_TWIN_OF_HIDDEN_PAIR,
    RULE_COMMON_LATENESS,
    RULE_CROWD,
    RULE_SHARED_NETWORK,
    /* Nothing is there to compare it with. */
    RULE_NO_PEERS,
    RULE_ALONE_IN_ROLE,
    RULE_IRREGULAR,
    RULE_ESTIMATED_STEADY,
    /* It is not worth it. */
    RULE_WORTH,
    RULE_WORTH_MOMENT,
    RULE_BY_DESIGN,
    RULE_ONE_PLACE,
    RULE_LONGER_WAY,
    RULE_BUSIEST,
    RULE_NO_GAIN,
    RULE_NOT_IN_STEPS,
    RULE_WITHIN_SPREAD,
    RULE_NOT_IN_STEPS_OF_LATE,
    /* It may be noise. */
    RULE_CONNECTING,
    RULE_CERTAINTY,
    RULE_CERTAINTY_SENDERS,
    RULE_CHANCE,
    RULE_CHANCE_BEHIND,
    RULE_CHANCE_ALONE,
    RULE_AHEAD_LITTLE_TWO,
    RULE_AHEAD_NETWORK_TWO,
    RULE_NOT_SLOWER,
    RULE_NOT_SLOWER_MANY,
    /* It is believed, and not for sure. */
    RULE_STEADY,
    RULE_CERTAINTY_SURE,
    RULE_WORTH_SURE,
    RULE_CHANCE_SURE,
    RULE_CHANCE_ALONE_SURE,
    RULE_DAMAGED_LINES,
    RULE_LOST_EVENTS,
    RULE_GAPS,
    RULE_ESTIMATED,
    /* What a log tells of start-up and of failed transfers. */
    RULE_START_SCATTER,
    RULE_SILENT_PEER,
    RULE_ENDS,
    /* What ranks report themselves. */
    RULE_SEVERAL_ERRORS,
    RULE_NO_ECHO,
    RULE_MERE_SETTING,
    RULE_STUCK_IN_START,
    RULE_NO_TRACE,
    /* How the file of a rank stops that others wait for. */
    RULE_OUTLIVED,
    /* Of a rank that others wait for no call is recorded. */
    RULE_UNRECORDED,
    RULE_UNSIZED,
    RULE_HALF_ABSENT,
    /* PyTorch's report of how far all ranks came. */
    RULE_REPORTS_DIFFER,
    RULE_COUNT
};

/* On which side of its limit a rule speaks. */
enum rule_side {
    SPEAKS_BELOW, /* reading < limit */
    SPEAKS_FROM,  /* reading >= limit */
    SPEAKS_ABOVE  /* reading > limit */
};

struct rule {
    const char *name;        /* stable: in JSON and in the manual */
    unsigned kinds;          /* that it is asked of */
    enum confidence at_most; /* what is believed of what it speaks of */
    enum rule_side side;
    enum limit_id limit;
    const char *needs;   /* "applies to ...": the traces or faults that it is asked of; NULL: all */
    const char *measure; /* "measures ..." */
    const char *says;    /* the reason for less confidence, a main clause */
};

extern const struct rule rules[RULE_COUNT];

/* Whether a reading is on the side of the limit on which the rule speaks. */
int rule_is_violated(enum rule_id rule, double reading);

/* "less than", "at least" or "more than". */
const char *rule_side_name(enum rule_side side);

/* The rule of a name of so many bytes; -1: there is none. */
int rule_find(const char *name, size_t length);

/*
 * What the rules read of one suspicion or finding; zeroed: none was asked. Where a rule does not apply its
 * measure is NOT_ASKED, and it is not in here.
 */
struct rule_results {
    double values[RULE_COUNT];
    unsigned char asked[RULE_COUNT];
};

#define NOT_ASKED ((double)NAN)

/* Some of the rules; zeroed: none. */
struct rule_set {
    unsigned char has[RULE_COUNT];
};

/* Notes a reading, unless it is NOT_ASKED or the rule is none of the kind's. */
void rule_results_add(struct rule_results *rule_results, enum finding_kind kind, enum rule_id rule,
                      double reading);

/* Forgets what these rules read. */
void readings_forget(struct rule_results *rule_results, const struct rule_set *off);

/* Whether a rule was asked, and speaks. */
int rule_results_fail(const struct rule_results *rule_results, enum rule_id rule);

/* The least that any rule that speaks allows: CONFIDENCE_HIGH where none does. */
enum confidence readings_allow(const struct rule_results *rule_results);

/* A time as a share of another one, a count of a count; of nothing, as if that were one. */
static inline double ratio_of(int64_t part, int64_t whole)
{
    return (double)part / (double)(whole > 0 ? whole : 1);
}

/* -------------------- finding.c -------------------- */

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
    struct buffer evidence; /* sentences with figures that can be checked; the last without its stop */
    struct figures figures; /* these */
    struct rule_results rule_results; /* what the rules read that were asked */
};

/* Ranks that were slow at once (rules_lateness.c): from the first to the last such step, and how many in
 * the worst. */
struct common_slowdown {
    size_t findings; /* that are of low confidence for it; 0: none */
    int32_t ranks;
    int32_t first_step;
    int32_t last_step;
};

/* Where a job stands still and the record cannot say for whom. */
struct unexplained_hang {
    int is_known;
    int32_t instance; /* the first that was begun, and never ended */
};

struct findings {
    struct finding *items; /* owned */
    size_t count;
    size_t capacity;
    struct common_slowdown common_slowdown;
    struct unexplained_hang unexplained_hang;
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
int findings_explain_stop(const struct findings *findings);
/* The same, with medium or high confidence. */
int findings_explain_stop_confidently(const struct findings *findings);

const char *finding_kind_name(enum finding_kind kind);
const char *confidence_name(enum confidence confidence);
/* Of its name; none of any other text. */
enum colour confidence_colour(const char *name);

/* What the user asks of diagnose. */
struct diagnose_options {
    double min_gain;      /* of a median step, 0.03 for 3 %: what a finding must be worth per step */
    double sigmas;        /* see baseline.h */
    struct rule_set off;  /* rules that are not asked */
    int64_t memory_bytes; /* that operations may take (job/load.h); 0: as much as all take */
    int64_t pieces;       /* for find_absence, see job_count_pieces; 0: no other runs are known */
};

/* -------------------- finding_unite.c -------------------- */

/*
 * Findings of several rounds of a run (job/load.h), in steps of one job that has all of these: what two
 * rounds tell of the same ranks, the same way and of steps between which none was judged, is one fault.
 */

/* The kinds that a few steps tell of; how a job stops is told by its end. */
int finding_is_of_steps(const struct finding *finding);

/*
 * Adds findings of a round to those of others, `to`; `from` is empty then. Of two that are one fault the
 * surer one gives the evidence, the earlier one says where it shows first, and what they cost is summed. -1
 * when memory is out: both are to be released.
 */
int findings_unite_round(struct findings *to, struct findings *from, const struct job *job);

/* -------------------- finding_text.c -------------------- */

/* Findings in sentences. All but the first return -1 when memory is out. */

/* Surest first, then what cost most. */
void findings_sort(struct findings *findings);

/* "GPU of rank 1 computes longer than its peers, steps 4-8, phase optimizer": who, what and where. */
int finding_append_headline(const struct finding *finding, const struct job *job, struct buffer *text);

/* The same in one sentence with the cost, without a full stop: "...; costs 26.0 ms per step (...), ...". */
int finding_append(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * For people: the headline, and below it the cost, the evidence and what to do next, one line each. `record`:
 * where it shows first. `names_run`: there are several runs. `colours`: the confidence has one.
 */
int finding_add_paragraph(const struct finding *finding, const struct job *job,
                          const struct job_record *record, int names_run, int colours, struct buffer *out);

/* What rules read, for people and in JSON. All return -1 when memory is out. */

/* "rules": [...]: each that was asked, in the order of the table. */
int readings_add_json(const struct rule_results *rule_results, struct buffer *json);

/* A line for each: those that limit the confidence, the strictest first, then those that passed. */
int readings_explain(const struct rule_results *rule_results, struct buffer *out);

/* -------------------- finding_json.c -------------------- */

/*
 * An object in the array that `json` ends with. `record`: where it shows first. `text`: what finding_append
 * says. -1 when memory is out.
 */
int finding_add_json(const struct finding *finding, const struct job *job, const struct job_record *record,
                     const char *text, struct buffer *json);

/* -------------------- advice.c -------------------- */

/*
 * What to look at next, and the command that confirms a finding, with its own ranks, steps and links: one
 * line without a full stop. Names out of a trace stand in a command only where a shell takes them as they
 * are. `names_run`: there are several. -1 when memory is out.
 */
int finding_advise(const struct finding *finding, const struct job *job, int names_run, struct buffer *text);

/* Of a job that stands still and of which the record cannot say for whom: what is known, why that is too
 * little, and what would tell. Sentences, the last without its stop. -1 when memory is out. */
int standstill_append_reason(const struct unexplained_hang *unexplained_hang, const struct job *job,
                             struct buffer *text);
int standstill_append_remedy(const struct unexplained_hang *unexplained_hang, const struct job *job,
                             struct buffer *text);

/* -------------------- longer_steps.c -------------------- */

/*
 * How long each step should have been. Steps of one load are held against each other: those that have as many
 * operations and as many bytes, give or take a tenth, so that evaluation, accumulation and growing batches
 * are no lengthening. Their usual is what the quiet ones of them last (baseline_quantile): a fault may fill
 * most of a job.
 */
struct usual_steps {
    int64_t *usual_ns; /* owned; of each step; TIME_UNKNOWN where too few are like it, and in the warm-up */
    int64_t *noise_ns; /* owned; by how much steps of its load differ from one to the next, as sigma */
    int32_t *load;     /* owned; number of its load, in the order in which they came; -1 none */
    int32_t load_count;
    int64_t *bytes; /* owned; of all its operations, once for each that several ranks shared */
};

/*
 * Steps that lasted longer than usual (longer_steps.c), whoever is to blame: rows of them, and single ones
 * that lasted twice as long. A step is longer from a tenth of its usual length on, or from what a finding
 * must be worth if that is more, and from `sigmas` times the noise.
 */
struct longer_row {
    int32_t first; /* -1: of a later round (longer_steps_add_round), whose numbers are gone */
    int32_t last;
    int32_t run_first; /* the same in the run */
    int32_t run_last;
    int32_t steps;    /* of them, those that were longer */
    int64_t usual_ns; /* of those, on average */
    int64_t took_ns;
    int64_t lost_ns; /* by which they were longer, in all */
    int explained;   /* findings of medium or high confidence, or of a job that stopped, say half of that */
    int became;      /* it goes on for so long that it is no hiccup */
};

struct longer_steps {
    struct usual_steps usual;
    struct longer_row *rows; /* owned; in order */
    size_t count;
    size_t capacity;
    int32_t period;       /* in steps, of single steps that recur as checkpoints do; 0: they do not */
    int are_called;       /* steps last from call to call (baseline.h): no alarm */
    int32_t started_step; /* the first after the warm-up and what may be its last steps: sums begin with it */
    int64_t whole_ns;     /* of all steps whose length is known, without the warm-up */
    int64_t lost_ns;      /* by which steps were longer, or what findings say they cost if that is more */
    int64_t explained_ns; /* of that, what findings of medium or high confidence say */
};

/* Wants what findings_find fills in. -1 when memory is out: release it all the same. */
int longer_steps_find(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                      const struct findings *findings, const struct diagnose_options *options);
void longer_steps_release(struct longer_steps *longer);

/* Adds those of a later round (job/load.h) of the same run, and its sums. -1 when memory is out. */
int longer_steps_add_round(struct longer_steps *longer, const struct longer_steps *round);

/* The row that lost most of those that nothing explains and that are no recurring ones; of later rounds only
 * where there is no other; NULL: none. */
const struct longer_row *longer_steps_unexplained(const struct longer_steps *longer);

/*
 * Whether steps became longer without anybody to blame: an unexplained row that is no hiccup, or such rows
 * and single steps that cost the job a tenth of its time. Not where calls alone tell how long steps were.
 */
int longer_steps_alarm(const struct longer_steps *longer);

/* -------------------- longer_steps_text.c -------------------- */

/*
 * Warns of the longer steps that lost most and that no finding explains: which, by how much, which operation
 * grew and who came last there. And of steps that became longer with the bytes of their operations, which is
 * load and no fault.
 */
int caution_longer_steps(const struct job *job, const struct baseline *baseline,
                         const struct transfer_excess *transfers, const struct longer_steps *longer,
                         struct table *table, struct error *error);

/* [{"first_step", "last_step", "usual_us", "took_us", "explained"}]: -1 when memory is out. */
int longer_steps_add_json(const struct longer_steps *longer, const struct job *job, struct buffer *json);

/* -------------------- coverage.c -------------------- */

/*
 * What of a job was held against what is usual, and what was not: a silence is worth no more than that.
 * Operations are counted as records of single ranks. The warm-up is neither.
 */
enum gap {
    GAP_NO_STEP = 0,  /* it is in no recognised step, or at no place of its step */
    GAP_NO_TIME,      /* nothing tells when it began or ended */
    GAP_NO_OPERATION, /* called, and of what came of it there is no record */
    GAP_LOST,         /* missing between others of its sequence */
    GAP_LEFT_OUT,     /* likewise, on all ranks alike, as a recorder's filter leaves them out */
    GAP_ENDED_EARLY,  /* others did it with a rank whose record had ended */
    GAP_DAMAGED,      /* a line that cannot be read, or an event that the recorder dropped */
    GAP_COUNT
};

/* Why nothing of a job was judged; the first that applies. */
enum blindness {
    BLIND_NOT = 0,
    BLIND_NO_OPERATIONS,
    BLIND_NO_TIMES,  /* no operation says when it ran, and there are no network steps */
    BLIND_CALLS,     /* recorders tell when operations were called and how long they took: not when */
    BLIND_NO_ENDS,   /* none says when it ended, and there are no network steps */
    BLIND_ONE_RANK,  /* nobody to compare it with */
    BLIND_FEW_STEPS, /* fewer than three */
    BLIND_IRREGULAR, /* less than half of what ranks did has its place in a step */
    BLIND_LITTLE     /* less than half of the operations, of the ranks or of the time */
};

struct scope {
    enum blindness blindness;
    int networks_only;       /* late ranks cannot show */
    unsigned astray_kernels; /* enum astray: why operations may have no times */
    int64_t operations;      /* of all ranks that recorded something: with those of which no record is left */
    int64_t warm_up;         /* of those, in the steps that are never judged */
    int64_t judged;
    int64_t gaps[GAP_COUNT]; /* the rest, by reason */
    int64_t ranks;           /* that the job has, or at least */
    int64_t recorded_ranks;  /* that left a trace */
    int64_t judged_ranks;    /* of which half of the operations were judged, or more */
    int64_t time_ns;         /* of all ranks, from operation to operation; the warm-up left out */
    int64_t judged_ns;       /* of that, from one that was judged */
    int32_t first_step;      /* that were judged, in the run */
    int32_t last_step;
    int32_t loaded_steps; /* where the run is loaded in excerpts: of all, these; else 0 */
    int32_t rounds;       /* that they were loaded in */
    int32_t run_steps;
};

/* Of a job that was loaded, held against its baseline. */
void scope_measure(struct scope *scope, const struct job *job, const struct baseline *baseline);

/*
 * Adds what was judged in a later round (job/load.h) of the same run. Operations that are lacking in it are
 * not counted.
 */
void scope_add_round(struct scope *scope, const struct scope *round);

/* Whether more than a tenth of the operations, of the ranks or of the time was not judged, or a whole kind.
 */
int scope_is_partial(const struct scope *scope);

/* What was judged of a job, in words and in JSON. All return -1 when memory is out. */

/* The two verdicts without a finding. */
#define NO_PROBLEM_FOUND "no problem found"
#define NOT_ENOUGH_DATA "not enough data"

/* Why nothing could be judged, and what to do about it. */
int scope_append_blindness(const struct scope *scope, struct buffer *text);

/* "840 of 864 operations, 8 of 8 ranks, steps 1-11". */
int scope_append_judged(const struct scope *scope, struct buffer *text);

/* "24 lost by the recorder; 3 outside any detected step"; nothing where nothing is left out. */
int scope_name_gaps(const struct scope *scope, struct buffer *text);

/* "24 lost by the recorder (REMEDY); ..."; nothing where nothing is left out. */
int scope_append_gaps(const struct scope *scope, struct buffer *text);

/* "name": count, for each gap: an object's inside. */
int scope_add_gaps(const struct scope *scope, struct buffer *json);

/* -------------------- finding_names.c -------------------- */

/* Who a finding speaks of. -1 when memory is out. */

/* "rank 3", "ranks 8 to 15", "host node1 (ranks 8 to 15)", "rank 3 or rank 5": who is at fault, or may be. */
int finding_name_ranks(const struct finding *finding, const struct job *job, struct buffer *text);

/* Whether what the finding says holds of each of its candidates, and not of one of them. */
int finding_holds_of_all(const struct finding *finding);

/* "ranks 3, 5 and 7": of candidates all, as it holds of each. */
int finding_name_all(const struct finding *finding, const struct job *job, struct buffer *text);

/* The same for short: "host node1". */
int finding_name_unit(const struct finding *finding, const struct job *job, struct buffer *text);

/* Its peers, with commas between them. */
int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names);

/* Where a finding's ranks run, and in which line of the program, as far as files tell. */

/* The host that all ranks it accuses are on; NULL: several, or not known. */
const char *finding_host(const struct finding *finding, const struct job *job);

/* The host of which it accuses all ranks of the job, several, as one; NULL. */
const char *finding_whole_host(const struct finding *finding, const struct job *job);

/* On how many hosts a job's ranks are; 0 where that is not known of one that left a trace. -1 when memory is
 * out.
 */
int job_count_hosts(const struct job *job, size_t *count);

/* What is known of the only rank that it accuses; NULL: of several, or candidates. */
const struct roster_facts *finding_facts(const struct finding *finding, const struct job *job);

/* The line of the program that called, or should have called, what the finding is about, else what it shows
 * in first; NULL: not recorded. */
const char *finding_source(const struct finding *finding, const struct job *job);

/* Pieces of sentences, and times in JSON. All return -1 when memory is out. */

int text_json_us(struct buffer *json, const char *name, int64_t time_ns); /* null for TIME_UNKNOWN */

/* "2026-11-25T10:12:04.120000Z": of nanoseconds since 1970; nothing for what no calendar has. */
int text_utc(struct buffer *text, int64_t time_ns);

/* "th", "st", "nd", "rd": what follows a number that says which of several. */
const char *text_ordinal(int32_t number);

/* "; peers 306 us, rank 7 in other steps 305 us": what a gap is held against; TIME_UNKNOWN is left out. */
int text_gaps(struct buffer *text, int64_t peers_ns, int64_t other_steps_ns, const char *rank);

/* "ranks 6-7", "communicator dp3": a communicator by its label, which may be the ranks in it. */
int text_communicator(struct buffer *text, const struct job_communicator *communicator);

/* " on communicator {6-7}", " on communicator dp3". */
int text_on_communicator(struct buffer *text, const struct job_communicator *communicator);
int text_on_label(struct buffer *text, const char *label);

/* "operation 11 of the step (AllReduce, ranks 0-7)": `communicator`: NULL where it differs, or is unknown. */
int text_place(struct buffer *text, int32_t number, const char *step, const char *function,
               const struct job_communicator *communicator);

/*
 * "AllReduce #5 on communicator {0-3}", "Send #2 from rank 0 to rank 4 on communicator {0,4}": by
 * what v_instance (ncclprof-store(5)) finds it. Of a communicator of which ranks left no trace, how many it
 * has.
 */
int text_operation(struct buffer *text, const struct job *job, const struct job_instance *instance,
                   uint8_t function);

#endif
