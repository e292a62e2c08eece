/*
 * Findings: what diagnose reports. This header declares the finding itself, the coverage of the analysis, and
 * the functions that write these as text and as JSON. rule.h declares the rules and limits that decide the
 * confidence, longer_steps.h what findings explain of the time lost.
 *
 * Times are in nanoseconds, steps are steps of the job (struct job) and ranks are job ranks, unless a comment
 * says otherwise. Functions that return int return -1 when memory runs out, and 0 otherwise, unless they
 * answer a yes-or-no question.
 */
#ifndef NCCLPROF_DIAGNOSE_FINDING_H
#define NCCLPROF_DIAGNOSE_FINDING_H

#include "base/base.h"
#include "diagnose/cause.h"
#include "diagnose/rule.h"
#include "diagnose/scan.h"

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

/* -------------------- finding.c -------------------- */

/* By how much a phase of a finding was late or slow. */
struct phase_excess {
    int32_t tag; /* -1: operations without a tag */
    int64_t excess_ns;
};

/* How a rank holds up the creation of a communicator. */
enum creation_fault {
    CREATION_NO_FAULT = 0,
    CREATION_ABSENT,     /* it never reached it */
    CREATION_NO_TRACE,   /* it left no trace: it may never have reached it, or its trace was not given */
    CREATION_ONE_ABSENT, /* it, or another of the candidates, never reached it */
    CREATION_STUCK       /* it started it and did not finish */
};

/* One finding of diagnose. It names the rank at fault, never a rank that waits for it. */
struct finding {
    enum finding_kind kind;
    enum confidence confidence;
    int32_t rank; /* job rank */
    int32_t tag;  /* the phase (finding_choose_phase); -1: none, or none that has most of it */
    int32_t first_step;
    int32_t last_step; /* first_step and last_step are -1 where the steps are not known */
    /* Number of gaps between these steps where the run is loaded in excerpts (struct job) */
    int32_t breaks;
    /* It recurs in every period-th step from the first to the last; 0: in all of them */
    int32_t period;
    /* Borrowed from the job: the indices that `period` counts by (job.h); NULL: steps */
    const int32_t *numbers;
    /*
     * Owned, ascending: its steps, where it shows neither in all steps from the first to the last nor in each
     * period-th; NULL: it does
     */
    int32_t *steps;
    size_t step_count;
    /*
     * Owned: for each step from the first to the one after the last, the excess from the first step to this
     * one. The cost is divided among the steps in proportion, and among steps that are longer because of the
     * step before. NULL: each of its steps has the same part. findings_detail fills it in for findings that
     * are reported
     */
    int64_t *excess_up_to;
    /* The part of the time lost that only this finding explains (longer_steps.c); 0: it is not reported */
    int64_t account_ns;
    /* Owned, ascending: all ranks at fault, where a group of ranks is; `rank` is one of them */
    int32_t *ranks;
    size_t rank_count; /* 0: `rank` alone */
    double certainty;  /* log odds that it is not noise (score.h); 0: not known */
    int receives;      /* network: traffic to the rank is slow, not traffic from it */
    /* Nothing moved (network), or the host made no call, for this long, and that is most of the cost */
    int64_t pause_ns;
    /* Host: how late its proxy threads, with too little CPU time, noticed what the GPU did; 0: they did not
     */
    int64_t notice_ns;
    int waits_for_cores; /* host: a cause says that its proxy threads waited for a core (cause.c) */
    int64_t step_ns;     /* baseline step time of the job; 0: not known */
    int32_t instance;    /* the first collective in which it shows; -1: none */
    /*
     * findings_detail fills in the following, up to waiting_count, only for the findings that are reported.
     * `operation`: the rank's own record in `instance`, or else that of a rank that waits; -1: none.
     */
    int32_t operation;
    /* When that operation started, since the first operation of the job; TIME_UNKNOWN */
    int64_t since_ns;
    struct phase_excess *phases; /* owned: all phases in which it shows, the greatest excess first */
    size_t phase_count;
    int32_t *waiting; /* owned, ascending: the ranks that waited because of this fault */
    size_t waiting_count;
    int64_t lost_ns;   /* cost to the whole job; 0 where it cannot be determined */
    int64_t sign_ns;   /* the part of it that other signs of its cause cost; these are not in its phases */
    int64_t slow_ns;   /* sum of what its operations were slow or late by */
    int shows_later;   /* network: it shows in the step after the last, too */
    int stops_job;     /* some ranks wait forever: the step did not end */
    int has_no_peers;  /* compute: compared with its own other steps, since no other rank has its role */
    int at_start;      /* host: late at start-up, before all steps */
    int broke;         /* network: transfers failed for good; 0: transfers were slow */
    const char *error; /* error: what the rank reported, such as "a CUDA error"; a constant */
    int64_t warning;   /* the record of the warning that reports it (struct job_warning); 0: none */
    /* Network, broke: the two hosts at the ends of all failed transfers, borrowed from the job; NULL */
    const char *link[2];
    /* Network: the network card, borrowed from the job; NULL: the card that its process names */
    const char *nic;
    int is_unrecorded; /* missing, late: the rank left no record of its calls */
    int never_ended;   /* missing: its GPU never ended, or never started, what its host enqueued */
    /* Missing: how it holds up the creation of a communicator, if it is not missing from an operation */
    enum creation_fault creation_fault;
    int32_t called; /* the operation whose source line shows where in the program; -1: none */
    int32_t *peers; /* owned: the other ends of slow links, or the ranks that wait */
    size_t peer_count;
    size_t peer_capacity;
    /* Owned: the ranks that may be at fault where the trace cannot tell, with `rank`; empty where it can */
    int32_t *candidates;
    size_t candidate_count;
    size_t candidate_capacity;
    /* Sentences with figures that can be checked; the last one without its full stop */
    struct buffer evidence;
    int evidence_is_of_part;          /* the evidence says which of its steps it is from */
    struct figures figures;           /* the same figures, for programs */
    struct rule_results rule_results; /* the measures of the rules that applied */
    struct cause *causes;             /* owned, the strongest first (cause.h) */
    size_t cause_count;
    int has_records_apart; /* what a node at fault says is of another time (cause.c) */
    char *records_end;     /* owned: the records of its node end before the fault: a sentence; NULL */
};

/* A hang in which the trace cannot tell which rank the others wait for. */
struct unexplained_hang {
    int is_known;
    int32_t instance; /* the first collective that was started and never ended */
};

/*
 * The rank that spends most time in operations of ranks without a trace where waiting for those cannot be
 * told from slow transfers, or from the design of the job.
 */
struct hidden_wait {
    int64_t step_ns; /* average over the steps after the warm-up; 0: there is less than min_gain */
    int32_t rank;
};

/*
 * What has nothing to compare with if it is slow in every step, and how much time it takes (uncompared.c).
 * Means per step.
 */
struct uncompared {
    int64_t network_ns; /* transfers between the only two hosts, or between all ranks; 0: less than a tenth */
    int are_two_hosts;
    int32_t rank;        /* the first of the host whose ranks compute longest; -1: none to tell */
    int64_t computes_ns; /* median of the ranks of this host */
    int64_t next_ns;     /* of the host with the next greatest median, a tenth of a step less at least */
    /* Broadcasts and Reduces without a root, of which nothing shows who waits for whom; 0: less than a tenth
     */
    int64_t rootless;
    int64_t operations; /* all in steps */
};

/*
 * Transfers of all ranks that were slow together, where only durations are known: no rank can be named for
 * them (explained_network.c). Those that cost most.
 */
struct slow_for_all {
    struct step_set steps; /* period 0: there are none */
    int64_t transfer_ns;   /* means of one operation: what they took, and their baseline */
    int64_t usual_ns;
    int64_t gain_ns; /* of the job without the slowness */
};

struct findings {
    struct finding *items; /* owned */
    size_t count;
    size_t capacity;
    struct unexplained_hang unexplained_hang;
    struct hidden_wait hidden_wait;   /* findings_take_absent */
    struct uncompared uncompared;     /* findings_measure_uncompared */
    struct slow_for_all slow_for_all; /* findings_take_network */
    int is_snapshot;        /* the dumps show a running job, so that who waits for whom proves nothing */
    int64_t three_steps_ns; /* the score is certain of a rank that is late by as much in three steps; 0: not
                               known */
    struct rule_set off;    /* rules that are switched off */
};

void findings_release(struct findings *findings);

/* Adds a zeroed finding at the end. NULL when memory runs out. */
struct finding *findings_add(struct findings *findings);
/* Adds a finding of a rank in one collective, with the step and the phase of that. */
struct finding *findings_add_at(struct findings *findings, const struct job *job, enum finding_kind kind,
                                int32_t rank, const struct job_instance *instance);
/*
 * Moves all findings of `others` behind those of `findings`, and what `others` knows of how the job stopped
 * in place of what `findings` knows. `others` is empty then. -1 when memory runs out: both are unchanged.
 */
int findings_append(struct findings *findings, struct findings *others);
/*
 * Applies a rule to a finding: a violated rule caps the confidence. A finding starts with CONFIDENCE_HIGH.
 * Returns whether the rule is violated.
 */
int finding_ask(const struct findings *findings, struct finding *finding, enum rule_id rule, double reading);
/* Applies the rules about the whole record: irregular and gaps. */
void finding_ask_record(const struct findings *findings, struct finding *finding, const struct job *job,
                        const struct baseline *baseline);

/* Both keep the ranks ascending, and each rank once. -1 when memory runs out. */
int finding_add_peer(struct finding *finding, int32_t rank);
int finding_add_candidate(struct finding *finding, int32_t rank);

/* Fills in the steps of a set. -1 when memory runs out. */
int finding_take_steps(struct finding *finding, const struct step_set *set);

/* Fills in the ranks at fault, those of `ranks` that are marked, if there are several. -1 when memory runs
 * out. */
int finding_take_ranks(struct finding *finding, const unsigned char *has, size_t ranks);

/*
 * Sorts the phases, the greatest excess first. `tag` is then the phase with more than half of the excess; -1
 * if no phase has that much, as of a GPU that is slow in all of them.
 */
void finding_choose_phase(struct finding *finding);

/* Whether the finding is about a phase: it names the phase, or it names none and shows in this one, too. */
int finding_is_in_phase(const struct finding *finding, int32_t tag);

/*
 * Unites findings whose candidates cannot be told apart: those from index `from` on that have candidates and
 * agree in kind, first step and stops_job become one finding with the candidates of all, under the first of
 * them. A finding that ends up with a single candidate has no list of candidates. -1 when memory runs out.
 */
int findings_unite_candidates(struct findings *findings, size_t from);
/*
 * Does the same for the last finding alone, when it has just been added, so that the candidates of one
 * finding are never all held as findings of their own. *into is the index of the finding that the last one
 * was united with; set it to `from` before the first call. The other findings remain to be united. -1 when
 * memory runs out.
 */
int findings_unite_last(struct findings *findings, size_t from, size_t *into);
/* Removes the findings of low confidence from index `from` on. */
void findings_remove_low(struct findings *findings, size_t from);

/*
 * Whether the findings explain a step: one says that the step did not end, or they explain half of the time
 * by which it was longer. Findings of low confidence explain nothing, unless the job stopped. A slow link
 * that ends a step shows in the next step: one that is slow in a single step is counted in the next one only,
 * one that is slow in several from the first to the one after the last. A rank that is late at the start of
 * steps shows in the step before as well.
 */
int findings_explain(const struct findings *findings, int32_t step, int64_t longer_ns);

/*
 * Whether a finding is reported by default: it has medium or high confidence, or the job stopped or computed
 * wrong results, which is reported even where the trace cannot tell which rank is at fault.
 */
int finding_is_reported(const struct finding *finding);

/* Whether it is about a rank without a trace that was late. */
int finding_is_absent(const struct finding *finding, const struct job *job);

/*
 * The finding with the highest confidence, then the highest cost, of those that are reported and name the
 * rank as culprit or candidate; NULL: there is none.
 */
const struct finding *findings_of_rank(const struct findings *findings, int32_t rank);

/* Whether `a` sorts before `b`: by confidence, then by cost. */
int finding_is_before(const struct finding *a, const struct finding *b);

/* The sum of the excess of all its phases. */
int64_t finding_excess_ns(const struct finding *finding);

/* The number of its steps; 1 where that is not known. */
int32_t finding_steps(const struct finding *finding);

/*
 * The part of its cost that falls on a step. The parts of the steps from its first to the one after its last
 * add up to lost_ns.
 */
int64_t finding_cost_in_step(const struct finding *finding, int32_t step);

/* Whether a finding includes the step, or the rank. */
int finding_has_step(const struct finding *finding, int32_t step);
int finding_has_rank(const struct finding *finding, int32_t rank);

/* Removes the finding at index `at`. */
void findings_remove(struct findings *findings, size_t at);

/* Whether a finding explains why the job stopped. */
int findings_explain_stop(const struct findings *findings);
/* The same, of findings with medium or high confidence only. */
int findings_explain_stop_confidently(const struct findings *findings);

const char *confidence_name(enum confidence confidence);
/* The colour of a confidence by its name; no colour for any other text. */
enum colour confidence_colour(const char *name);

/* The options of diagnose. */
struct diagnose_options {
    /* Least gain per step that makes a finding, as a share of a median step: 0.03 is 3 % */
    double min_gain;
    double sigmas;        /* see baseline.h */
    struct rule_set off;  /* rules that are switched off */
    int64_t memory_bytes; /* limit of the memory for operations (job_load); 0: no limit */
    int64_t pieces;       /* for find_absence, see job_count_pieces; 0: no other runs are known */
};

/* -------------------- finding_unite.c -------------------- */

/* Whether a finding's kind is one that shows in certain steps. A hang shows only at the end of the job. */
int finding_is_of_steps(const struct finding *finding);

/*
 * Unites reported findings that have one cause: of the same ranks and kind, whatever their steps, and of a
 * group of ranks and one of these ranks in the same steps. The evidence is that of the one with the highest
 * confidence, then the highest cost. The costs are added; a group and its rank have the cost of the greater,
 * unless the score found both, which takes the first away before it looks for the second. Call it before
 * findings_detail. -1 when memory runs out.
 */
int findings_unite(struct findings *findings, const struct job *job);

/*
 * Of a finding with a list of steps, drops the steps that are longer because of the step before: the last
 * ones of a range, while their excess is less than half of that of the step before; and the second ones,
 * where the first steps of the ranges recur. Their cost stays in the finding. `excess_ns` is by step. -1 when
 * memory runs out.
 */
int finding_drop_after_effects(struct finding *finding, const struct job *job, const int64_t *excess_ns);

/*
 * Unites the findings of several rounds of a run (a round is the part of a run that fits in memory, struct
 * job). Their steps are numbered in one job that has the steps of all rounds.
 */

/*
 * Moves the findings of a round, `from`, into those of the rounds before, `to`; `from` is empty then. Those
 * of the same ranks and kind become one finding: the evidence is that of the one with more confidence, the
 * first step that of the earlier one, and the costs are added. -1 when memory runs out: release both.
 */
int findings_unite_round(struct findings *to, struct findings *from, const struct job *job);

/* -------------------- finding_text.c -------------------- */

/* Findings as sentences. All but findings_sort return -1 when memory runs out. */

/* Sorts by confidence, highest first, then by cost. */
void findings_sort(struct findings *findings);

/* Appends the steps: ", step 4", ", steps 4-8", ", every 3rd step from 4 to 10"; nothing where not known. */
int finding_append_steps(const struct finding *finding, const struct job *job, struct buffer *text);

/* Appends the headline, "GPU of rank 1 computes longer than its peers, steps 4-8, phase optimizer". */
int finding_append_headline(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * Appends the headline and the cost in one sentence without a full stop: "...; costs 26.0 ms per step (...),
 * ...".
 */
int finding_append(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * Appends a finding as people read it: the headline, and below it the cost, the evidence and the next step,
 * one line each, the last one with the command, which is an UNBROKEN_LINE. `record` is where it shows first.
 * `names_run`: there are several runs, so that the headline names its own. `colours`: print the confidence in
 * colour.
 */
int finding_add_paragraph(const struct finding *finding, const struct job *job,
                          const struct job_record *record, int names_run, int colours, struct buffer *out);

/* The measures of the rules as text and in JSON. All return -1 when memory runs out. */

/* Appends "rules": [...] with each rule that applied, in the order of the table. */
int rule_results_add_json(const struct rule_results *results, struct buffer *json);

/*
 * Appends a line for each rule that applied: first those that limit the confidence, the lowest cap first,
 * then those that passed.
 */
int rule_results_explain(const struct rule_results *results, struct buffer *out);

/* -------------------- finding_json.c -------------------- */

/*
 * Appends an object to the array that `json` ends with. `record` is where the finding shows first, `text`
 * what finding_append wrote, `is_folded` whether it costs so little that it shares a line with others. -1
 * when memory runs out.
 */
int finding_add_json(const struct finding *finding, const struct job *job, const struct job_record *record,
                     const char *text, int is_folded, struct buffer *json);

/* -------------------- advice.c -------------------- */

/* The text before and after the names, for one rank and for several. */
struct phrase {
    const char *before[2];
    const char *after[2];
};

/* What a kind of finding says. A finding with more detail may have another headline (finding_text.c). */
struct finding_kind_text {
    const char *name;
    struct phrase headline;
    int (*advise)(const struct finding *finding, const struct job *job, struct buffer *text);
};

extern const struct finding_kind_text finding_kinds[FINDING_KINDS];

const char *finding_kind_name(enum finding_kind kind);

/* Appends what to look at next on the machine: one line without a full stop. -1 when memory runs out. */
int finding_advise(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * Appends the command line that confirms the finding: it shows the ranks or links at fault among their peers.
 * It runs as it is in any directory (store_append_command). Names out of a trace are quoted for a shell. -1
 * when memory runs out.
 */
int finding_append_command(const struct finding *finding, const struct job *job, struct buffer *text);

/* Appends the words of that command alone, without program, run and store: "steps --by rank --step 4-8". */
int finding_append_words(const struct finding *finding, const struct job *job, struct buffer *text);

/* Appends both: "check .... Confirm with: ncclprof ...". -1 when memory runs out. */
int finding_append_next(const struct finding *finding, const struct job *job, struct buffer *text);

/*
 * For a hang in which the trace cannot tell which rank the others wait for: appends what is known, why that
 * is not enough, and what to record next time. Sentences, the last one without its full stop. -1 when memory
 * runs out.
 */
int hang_append_reason(const struct unexplained_hang *hang, const struct job *job, struct buffer *text);
int hang_append_remedy(const struct unexplained_hang *hang, const struct job *job, struct buffer *text);

/* -------------------- absent_ranks.c -------------------- */

/*
 * Appends why it cannot be determined whether other ranks wait for those without a trace, and what to add:
 * each a sentence without its full stop. -1 when memory runs out.
 */
int hidden_wait_append_reason(const struct hidden_wait *hidden, const struct job *job, struct buffer *text);
int hidden_wait_append_remedy(const struct job *job, struct buffer *text);

/* -------------------- uncompared.c -------------------- */

/* Append what cannot be determined, and why: a clause without a full stop. -1 when memory runs out. */
int uncompared_append_network(const struct uncompared *uncompared, int64_t step_ns, struct buffer *text);
int uncompared_append_host(const struct uncompared *uncompared, const struct job *job, struct buffer *text);
int uncompared_append_roots(const struct uncompared *uncompared, struct buffer *text);

#define UNCOMPARED_NETWORK_REMEDY \
    "compare with a run that was fast (ncclprof compare), or measure the network with nccl-tests"
#define UNCOMPARED_HOST_REMEDY \
    "compare with a run that was fast (ncclprof compare), or exchange the two hosts"
#define UNCOMPARED_ROOTS_REMEDY "record the job with a plugin that records roots: ncclprof-plugin(7)"

/* -------------------- coverage.c -------------------- */

/*
 * Coverage: which operations of a job were compared with a baseline, and why the others were not. "No
 * finding" means no more than the coverage allows. Operations are counted as records of single ranks. The
 * warm-up is counted separately.
 */
enum gap {
    GAP_NO_STEP = 0,  /* it is in no detected step, or has no position in its step */
    GAP_NO_TIME,      /* the time of its start or its end is not recorded */
    GAP_NO_OPERATION, /* the call is recorded, but not the operation on the GPU */
    GAP_LOST,         /* missing from a sequence whose other operations are recorded */
    GAP_LEFT_OUT,     /* missing in the same way on all ranks, as when a recorder filters operations */
    GAP_BEGAN_LATE,   /* in steps before the first one in the record of a rank */
    GAP_ENDED_EARLY,  /* other ranks did it together with a rank whose record had ended */
    GAP_DAMAGED,      /* a line that cannot be read, or an event that the recorder dropped */
    GAP_COUNT
};

/* Why nothing of a job was analyzed; the first reason that applies. */
enum blindness {
    BLIND_NOT = 0,
    BLIND_NO_OPERATIONS,
    BLIND_NO_TIMES,  /* no operation has a timestamp, and no network steps are recorded */
    BLIND_CALLS,     /* recorders give the time of the call and the duration, but not the start */
    BLIND_NO_ENDS,   /* no operation has an end, and no network steps are recorded */
    BLIND_ONE_RANK,  /* there is no other rank to compare it with */
    BLIND_FEW_STEPS, /* fewer than three steps */
    BLIND_IRREGULAR, /* fewer than half of the operations have a position in a step */
    BLIND_LITTLE     /* less than half of the operations, the ranks or the time was analyzed */
};

struct scope {
    enum blindness blindness;
    int networks_only;              /* late ranks cannot be detected */
    unsigned misattributed_kernels; /* bits of enum astray: why operations may have no times */
    int is_profiled;                /* all traces come from profilers of frameworks */
    /* Of all ranks that recorded something, including the operations whose record is lost */
    int64_t operations;
    int64_t warm_up; /* those of them in the warm-up, which is never analyzed */
    int64_t judged;
    int64_t gaps[GAP_COUNT]; /* those that were not analyzed, by reason */
    int64_t ranks;           /* ranks of the job; a lower bound where its size is not known */
    int64_t recorded_ranks;  /* ranks that left a trace */
    int64_t judged_ranks;    /* ranks of which at least half of the operations were analyzed */
    int64_t cut_ranks;  /* ranks whose record lacks more than a tenth at its beginning and end together */
    int64_t time_ns;    /* sum over all ranks, from operation to operation, without the warm-up */
    int64_t judged_ns;  /* the part of that which starts with an analyzed operation */
    int32_t first_step; /* first analyzed step, numbered in the run */
    int32_t last_step;
    /* The number of loaded steps where the run is loaded in excerpts; 0: all are loaded */
    int32_t loaded_steps;
    int32_t rounds; /* the number of rounds in which the steps were loaded */
    int32_t run_steps;
};

/* Measures the coverage of a loaded job that was compared with its baseline. */
void scope_measure(struct scope *scope, const struct job *job, const struct baseline *baseline);

/*
 * Adds the coverage of a later round of the same run. Operations that are missing in that round are not
 * counted.
 */
void scope_add_round(struct scope *scope, const struct scope *round);

/*
 * Whether more than a tenth of the operations, the ranks or the time was not analyzed, the record of a rank
 * begins so late or ends so early that it lacks more than a tenth, or a whole kind of fault cannot be
 * detected.
 */
int scope_is_partial(const struct scope *scope);

/* The coverage as text and in JSON. All return -1 when memory runs out. */

/* The two verdicts of an analysis without a finding. */
#define NO_PROBLEM_FOUND "no problem found"
#define NOT_ENOUGH_DATA "not enough data"

/* Appends why nothing could be analyzed, and what to do about it. */
int scope_append_blindness(const struct scope *scope, struct buffer *text);

/* Appends what was analyzed, "840 of 864 operations, 8 of 8 ranks, steps 1-11". */
int scope_append_judged(const struct scope *scope, struct buffer *text);

/* Appends the gaps, "24 lost by the recorder; 3 after the end of a rank's file"; nothing where there are
 * none. */
int scope_name_gaps(const struct scope *scope, struct buffer *text);

/* The same with what to do about each: "24 lost by the recorder (REMEDY); ...". */
int scope_append_gaps(const struct scope *scope, struct buffer *text);

/* Appends "name": count for each gap: the members of an object. */
int scope_add_gaps(const struct scope *scope, struct buffer *json);

/* -------------------- finding_names.c -------------------- */

/* The names of the ranks in a finding. -1 when memory runs out. */

/*
 * Appends the ranks that are at fault or may be: "rank 3", "ranks 8 to 15", "host node1 (ranks 8 to 15)",
 * "rank 3 or rank 5".
 */
int finding_name_ranks(const struct finding *finding, const struct job *job, struct buffer *text);

/* Whether any rank of the job may be at fault: it is not known where the fault is, only of what kind it is.
 */
int finding_is_of_any(const struct finding *finding, const struct job *job);

/* Whether the finding is true of each of its candidates, and not only of one of them. */
int finding_holds_of_all(const struct finding *finding);

/* Appends all candidates where the finding is true of each: "ranks 3, 5 and 7". */
int finding_name_all(const struct finding *finding, const struct job *job, struct buffer *text);

/* The short form of finding_name_ranks: "host node1". */
int finding_name_unit(const struct finding *finding, const struct job *job, struct buffer *text);

/* Appends the peers, separated by commas. */
int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names);

/*
 * Where the ranks of a finding run, and the source line in question, where the trace records them. The
 * strings are borrowed from the job.
 */

/* The host of all ranks that the finding blames; NULL: there are several, or it is not known. */
const char *finding_host(const struct finding *finding, const struct job *job);

/* The host, if the finding blames all of its ranks together and there are several; NULL otherwise. */
const char *finding_whole_host(const struct finding *finding, const struct job *job);

/*
 * The number of hosts of a job; 0 if the host of a rank that left a trace is not known. -1 when memory runs
 * out.
 */
int job_count_hosts(const struct job *job, size_t *count);

/* What is known about the rank that the finding blames; NULL: it blames several, or has candidates. */
const struct roster_facts *finding_facts(const struct finding *finding, const struct job *job);

/*
 * The source line that called, or should have called, the operation in question, or else the one in which the
 * finding shows first; NULL: not recorded.
 */
const char *finding_source(const struct finding *finding, const struct job *job);

/* Parts of sentences, and times in JSON. All return -1 when memory runs out. */

int text_json_us(struct buffer *json, const char *name, int64_t time_ns); /* null for TIME_UNKNOWN */

/* Appends nanoseconds since 1970 as "2026-11-25T10:12:04.120000Z"; nothing where the year is out of range. */
int text_utc(struct buffer *text, int64_t time_ns);

/* Appends a communicator by its label, which may list its ranks: "ranks 6-7", "communicator dp3". */
int text_communicator(struct buffer *text, const struct job_communicator *communicator);

/* Appends " on communicator {6-7}" or " on communicator dp3". */
int text_on_communicator(struct buffer *text, const struct job_communicator *communicator);
int text_on_label(struct buffer *text, const char *label);

/*
 * Appends "operation 11 of the step (AllReduce, ranks 0-7)". `communicator` is NULL where it differs between
 * ranks or is not known.
 */
int text_place(struct buffer *text, int32_t number, const char *step, const char *function,
               const struct job_communicator *communicator);

/*
 * Appends "AllReduce #5 on communicator {0-3}" or "Send #2 from rank 0 to rank 4 on communicator {0,4}", the
 * numbers by which v_instance (ncclprof-store(5)) finds the operation. Adds the size of a communicator if
 * some of its ranks left no trace.
 */
int text_operation(struct buffer *text, const struct job *job, const struct job_instance *instance,
                   uint8_t function);

#endif
