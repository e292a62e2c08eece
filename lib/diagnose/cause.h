/*
 * Causes: why a rank is at fault, as its node says (job/node_records.h). Part of finding.h, which includes
 * it. A cause never makes a finding; it explains one, and may settle its kind or raise its confidence.
 *
 * Times are in nanoseconds. Functions that return int return -1 when memory runs out, and 0 otherwise.
 */
#ifndef NCCLPROF_DIAGNOSE_CAUSE_H
#define NCCLPROF_DIAGNOSE_CAUSE_H

#include "base/base.h"
#include "job/job.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct finding;
struct findings;
struct job;
struct longer_row;
struct longer_steps;
struct table;

/* -------------------- cause_rule.c -------------------- */

/* Where a cause must be, as seen from a rank that the finding blames. */
enum cause_place {
    CAUSE_ON_GPU,     /* its GPU */
    CAUSE_ON_HOST,    /* its host as a whole, or a disk of it */
    CAUSE_ON_PROCESS, /* its process */
    CAUSE_ON_PROXY,   /* a proxy thread of NCCL in its process */
    CAUSE_ON_NETWORK /* a network interface or port that it uses; of a network also those of the other ends */
};

/* How a value is compared. */
enum cause_side {
    CAUSE_GREATER, /* at least the floor, and greater than usual by it: a share or a level */
    CAUSE_LESS,    /* less than usual by the floor, a share of the usual value */
    CAUSE_MORE,    /* a counter: increases by the floor at least */
    CAUSE_MESSAGE, /* a message of the kernel or the driver */
    CAUSE_STACK    /* where the main thread stands, compared with those of other ranks (cause_stack.c) */
};

enum { CAUSE_NUMBERS = 8, CAUSE_EXPLAINS = 4 };

/* One kind of cause. The limits are those of this row; lib/diagnose/cause_rule.c says how to add one. */
struct cause_rule {
    const char *name; /* stable: in JSON and in the manual */
    enum cause_place place;
    enum cause_side side;
    enum node_metric metric;   /* unless it is a message */
    enum node_event_code code; /* of a message */
    const int16_t *numbers;    /* of an Xid, ends in 0; NULL: all */
    double floor;              /* see enum cause_side; of messages how many */
    double times;              /* greater than usual by this factor; of CAUSE_LESS unused */
    int is_per_core;           /* the value counts tasks: it is divided by the cores of the host */
    int is_shared;           /* the same on other hosts does not refute it: what only some use may be there */
    int is_statement;        /* says by itself that something is wrong: needs nothing to compare with */
    int is_at_once;          /* of a message: it comes as soon as what it is about stops a job */
    int needs_before;        /* other places do not tell what is usual, only the other steps do */
    enum node_metric unless; /* a metric that tells more: where it is known, this row is not used */
    const char *explains[CAUSE_EXPLAINS]; /* causes that follow from this one at the same place */
    unsigned kinds;                       /* bits of the finding kinds that it can explain */
    unsigned settles;                     /* bits of the kinds that become `becomes` */
    int becomes;                          /* enum finding_kind */
    const char *unit;                     /* of the floor */
    const char *found;                    /* why the floor has this value */
    const char *says;   /* "@ throttled (HW thermal) #": @ the place, # the value, $ the time, ~ the text */
    const char *many;   /* the same of a sum of shares of threads that is above 1; NULL: it is no such sum */
    const char *advice; /* what to do, before the host; NULL: as for the kind of finding */
};

extern const struct cause_rule cause_rules[];
extern const size_t cause_rule_count;

struct cause;

/* Whether it slows a GPU, and so its host, too, if that waits for it. */
int cause_is_slow_gpu(const struct cause_rule *rule);

/* Whether a message with this number is of the rule. */
int cause_rule_has_number(const struct cause_rule *rule, int64_t number);

void cause_release(struct cause *cause);
void causes_release(struct cause *causes, size_t count);

/* -------------------- cause_place.c -------------------- */

/* Whose a place of a record is, as a finding sees it. */
enum cause_side_of { CAUSE_OF_NONE = 0, CAUSE_OF_OTHERS, CAUSE_OF_ACCUSED };

/* A rank and its clock; loaded when it is first needed. */
struct cause_seat {
    int is_loaded;
    struct rank_clock clock;
};

/* A process of the job on a GPU, as the record of its host says. */
struct cause_use {
    size_t host;
    int64_t pid;
    char *device; /* owned */
};

/* What is known of places. Release it even after an error. */
struct cause_places {
    const struct job *job;
    struct node_hosts hosts;
    struct cause_seat *seats; /* owned, by rank */
    int32_t *host_of;         /* owned, by rank: index in hosts; -1: it has no records, or is not known */
    unsigned char
        *is_accused;        /* owned, by rank, of the present finding; 2: at the other end of a slow link */
    size_t host_count;      /* hosts of the job that have records */
    struct cause_use *uses; /* owned, of the hosts that were asked for */
    size_t use_count, use_capacity;
    unsigned char *has_uses; /* owned, by host */
};

int cause_places_init(struct cause_places *places, const struct job *job, struct error *error);
void cause_places_release(struct cause_places *places);

/* The wall clock of a rank; NULL on error. */
const struct rank_clock *cause_clock(struct cause_places *places, int32_t rank, struct error *error);

/* Reads which processes use which GPUs of a host, once. */
int cause_place_uses(struct cause_places *places, size_t host, struct error *error);

/* Marks the ranks that a finding blames, and the other ends of its links. */
void cause_accuse(struct cause_places *places, const struct finding *finding);

/* Whether the host has a rank that is marked; one that the finding blames, and not only another end. */
int cause_host_is_accused(const struct cause_places *places, size_t host);
int cause_host_is_blamed(const struct cause_places *places, size_t host);

/* Whether the host is on one machine with a host that has a marked rank, and is not that one. */
int cause_host_shares_machine(const struct cause_places *places, size_t host);

/* Whether a device of a host is that of a rank, for causes in such a place; then as cause_side(). */
int cause_has_rank(const struct cause_places *places, size_t host, enum cause_place place, enum node_place of,
                   const char *device, int32_t rank);

/* Whose a device of a host is, for causes in such a place. The pids of its ranks must have been loaded. */
enum cause_side_of cause_side(const struct cause_places *places, size_t host, enum cause_place place,
                              enum node_place of, const char *device);

/* The rank whose process "4711" or "4711/4720 NAME" on a host is; -1. The pids must have been loaded. */
int32_t cause_rank_of_process(const struct cause_places *places, size_t host, const char *device);

/* Appends how people call a device: "GPU 1 of node017", "port 2 of mlx5_1 on node017", "node017". */
int cause_place_append(const struct cause_places *places, size_t host, enum node_place of, const char *device,
                       struct buffer *text);

/* -------------------- cause_time.c -------------------- */

/* When the fault showed, and when it did not. */
struct fault_time {
    struct interval_ns *faulty; /* owned, merged */
    size_t faulty_count;
    struct interval_ns *others; /* owned, merged */
    size_t other_count;
    int64_t faulty_ns;
    int64_t other_ns;
    int64_t first_ns; /* begin of the first faulty step, or when the job stopped */
    struct interval_ns whole;
    struct interval_ns *steps; /* owned, [step]: begin_ns is TIME_UNKNOWN where not known; NULL: of a stop */
    int64_t onset_ns;          /* a cause precedes the fault by this, at most */
    int64_t longest_ns;        /* of a stop: the longest step before; 0: none */
    int is_stop;
};

/* Release it even after an error. */
int fault_time_measure(struct fault_time *time, struct cause_places *places, const struct finding *finding,
                       int32_t first_step, struct error *error);
void fault_time_release(struct fault_time *time);

/* Whether a time that may be off by as much can be compared with that of the fault. */
int fault_time_is_exact(const struct fault_time *time, int64_t error_ns);

/*
 * When what a message is about happened, as far as its clock tells. A task that hung, or a CPU that was
 * stuck, had been so for the time that the message names; the kernel looks once in as much time.
 */
struct interval_ns cause_moment(const struct node_event *said);

/*
 * Whether what a message is about belongs to the fault: it came while it showed, or shortly before. What
 * stopped a job may be noticed later, unless it is noticed at once: within a step then.
 */
int fault_time_has_message(const struct fault_time *time, struct interval_ns moment, int is_at_once);

/* -------------------- cause_stack.c -------------------- */

struct cause_stack;

/* The stacks that belong to the time of a fault. */
struct cause_stacks {
    struct cause_stack *items; /* owned */
    size_t count, capacity;
};

/* Keeps a message if it is a stack of a rank in the time of the fault. */
int cause_stacks_add(struct cause_stacks *stacks, const struct cause_places *places,
                     const struct fault_time *time, size_t host, const struct node_message *message);
void cause_stacks_release(struct cause_stacks *stacks);

/*
 * Fills in all of a cause but its rule and words if a stack of a rank at fault says something about it.
 * Returns 1 then.
 */
int cause_stacks_find(const struct cause_stacks *stacks, const struct cause_places *places,
                      const struct fault_time *time, struct cause *cause);

/* -------------------- cause_sum.c -------------------- */

/* The sums of one series, or of messages of one kind, in the time of the fault and in the other steps. */
struct cause_sum {
    size_t host;
    enum node_place place;
    char *device; /* owned; NULL */
    int is_message;
    enum node_metric metric;
    enum node_event_code code;
    int64_t number; /* of the message */
    char *file;     /* owned */
    double faulty;  /* of a gauge times nanoseconds; else how many */
    double other;
    double faulty_ns; /* time with samples */
    double other_ns;
    double within;    /* messages while the fault showed, without those shortly before */
    int64_t begin_ns; /* when it began, for accused places; TIME_UNKNOWN */
    int64_t end_ns;   /* of the last sample; TIME_UNKNOWN */
};

struct cause_search {
    struct cause_places places;
    struct fault_time time;
    struct cause_stacks stacks;
    size_t host;            /* that is being read */
    struct cause_sum *sums; /* owned */
    size_t count, capacity;
    struct cause *wanted; /* whose begin and steps are looked for; NULL */
    double threshold;
    int was_before; /* it showed already before the fault could have followed from it */
    int64_t begin_ns;
    int32_t step;  /* the first that may overlap the next time */
    int is_of_all; /* all hosts are read, whether or not their ranks are marked */
    size_t apart;  /* hosts whose records are of another time */
};

/* Reads the hosts of the ranks that are marked, and some others for comparison, and sums up what they say. */
int cause_search_sum(struct cause_search *search, struct finding *finding, struct error *error);

/* Forgets what belongs to one finding. */
void cause_search_forget(struct cause_search *search);

/* Whether both are the same device; NULL is the host as a whole. */
int cause_same_device(const char *one, const char *other);

/* -------------------- cause.c -------------------- */

/* What the node says about a finding. */
struct cause {
    const struct cause_rule *rule;
    size_t at_host;        /* in struct node_hosts, while causes are looked for */
    enum node_place place; /* of `device` */
    char *source;          /* owned, as are all texts: the file */
    char *host;
    char *device;     /* NULL: the host as a whole */
    char *what;       /* the sentence */
    char *text;       /* for ~ in the words of the rule; NULL */
    int64_t begin_ns; /* since when, UNIX time */
    double value;
    double lasted_ns;     /* of a share of time, while the fault showed */
    double usual;         /* NaN: nothing to compare with */
    unsigned char *steps; /* owned, [step of the job]: it shows there; NULL: not known */
    double strength;      /* sorts: how many times its floor */
    int has_others;       /* the same is known of other places, at the same time */
    int is_not_compared;  /* samples do not tell what is usual in other steps */
    int was_before;       /* it showed before the fault could have followed from it */
};

/*
 * Finds the causes of all findings; `first_step` is the first after the warm-up. Without records of nodes in
 * the store it changes nothing. Returns -1 with an error.
 */
int findings_take_causes(struct findings *findings, const struct job *job, int32_t first_step,
                         struct error *error);

/* Fills in the causes of a finding, given the sums, whose ranks are marked. Returns -1 with an error. */
int cause_search_take(struct cause_search *search, struct finding *finding, struct error *error);

/* Whether a sum is one of the rule's, and stands out from the other steps. */
int cause_search_shows(const struct cause_search *search, const struct cause_rule *rule,
                       const struct cause_sum *sum);

/* -------------------- cause_observed.c -------------------- */

/* What the only place of a job that shows anything showed in slow steps without a finding. */
struct observed_causes {
    int32_t run_first;   /* the first of the steps, numbered in the run */
    struct cause *items; /* owned, the most convincing first */
    size_t count;
};

/* Fills in `observed` of the steps that no finding explains. Returns -1 with an error. */
int longer_steps_observe(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                         struct error *error);

/*
 * On how many ranks the time before an operation grew, where the time of ranks grew most in a block of steps;
 * 0: it grew inside operations. In longer_steps_text.c.
 */
int longer_row_ranks(const struct job *job, const struct baseline *baseline,
                     const struct longer_steps *longer, const struct longer_row *row, int32_t *ranks);

/* -------------------- cause_order.c -------------------- */

/* Keeps the causes of a finding that count, at most a few, and sorts them. */
void causes_choose(struct finding *finding, const struct cause_places *places);

/* Drops those that were there before the fault, as the search for their begin shows. */
void causes_drop_earlier(struct finding *finding);

/* -------------------- cause_who.c -------------------- */

/*
 * Fills in `text` of a cause that is about processes on a GPU which are not the job's, as their host names
 * them, within a time.
 */
int cause_find_who(struct cause *cause, const struct node_host *host, struct store *store,
                   struct interval_ns within, struct error *error);

/* -------------------- cause_effect.c -------------------- */

/* Lets the causes of a finding settle its kind and raise its confidence. */
void causes_apply(struct finding *finding, const struct job *job);

/* -------------------- cause_note.c -------------------- */

/*
 * Adds a note if the store has records of the run's hosts that could not be compared with its findings, and
 * why; and one for each file of them that seems to be in local time.
 */
int caution_node_records(const struct job *job, const struct findings *findings, struct table *table,
                         struct error *error);

/* -------------------- cause_text.c -------------------- */

/*
 * Fills in `what`, given everything else: `place` as cause_place_append names it, the cores of its host, and
 * `first_ns`, when the fault began, or when the job stopped.
 */
int cause_word(struct cause *cause, const char *place, int64_t cores, int64_t first_ns, int is_stop);

/* Fills in `records_end` if the records of a GPU (`device`), or of a host, end that long before the fault. */
int cause_word_end(struct finding *finding, const struct cause_places *places, size_t host,
                   const char *device, int64_t ahead_ns, int is_stop);

/* Appends "because": [...]. */
int causes_add_json(const struct finding *finding, struct buffer *json);

/* Appends the causes as one text: "...; ...". */
int causes_append(const struct finding *finding, const struct job *job, struct buffer *text);

/* Appends "NAME": [...]. */
int causes_list_json(const char *name, const struct cause *causes, size_t count, struct buffer *json);

/* Appends ". At that time, ...; .... No other place of the job shows this; it may be the reason". */
int observed_append(const struct observed_causes *observed, struct buffer *text);

#endif
