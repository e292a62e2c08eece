#ifndef NCCLPROF_COMPARE_MEASURED_RUN_H
#define NCCLPROF_COMPARE_MEASURED_RUN_H

#include "base/error.h"
#include "base/intern.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What is measured of a run to hold it against another one: figures with a value for each of its usual steps,
 * in order, so that their noise is known; what diagnose found; and what the run is, so that only like is held
 * against like. Nothing in here knows the job that it was measured of.
 */

enum series_kind {
    SERIES_STEP = 0,      /* length of a step, us */
    SERIES_COMMUNICATION, /* share of a step in which operations ran, % */
    SERIES_WAITING,       /* share of a step that ranks waited for others, % */
    SERIES_PHASE,         /* length of a phase in a step, us */
    SERIES_TRANSFER,      /* transfer of one function, size and number of ranks: median in a step, us */
    SERIES_EDGE,          /* time in which a sender waited for the network on one edge, us a step */
    SERIES_OWN,           /* own time in a step, mean over ranks, each as the middle one of its role, us */
    SERIES_OWN_PHASE,     /* the same before the calls of one phase */
    SERIES_RANK,          /* own time of a rank in a step, us; values are beyond its peers' */
    SERIES_KINDS
};

/* One call of a rank's step, and the own time before it. */
struct measured_place {
    double own_us;   /* median over steps; NAN: not known */
    const char *tag; /* in figures.texts; NULL */
    uint8_t function;
};

struct step_series {
    enum series_kind kind;
    const char *key;  /* of what, in figures.texts: two runs call the same thing alike */
    const char *tag;  /* likewise; NULL */
    int64_t rank;     /* global; of an edge the sender; -1 */
    int64_t receiver; /* of an edge; -1 */
    double *values;   /* owned; steps that do not tell it are left out */
    size_t count;
    double itself;    /* of a rank: own time, its peers' not taken off; median, us */
    double in_a_step; /* of a transfer: how many of them a rank makes; else 1 */
    double gbs_us;    /* of a transfer: its bus bandwidth in GB/s times what it takes in us; 0 */
    double network;   /* of the level, what transfers over the network make up, in its units; INFINITY: all of
                         it */
    struct measured_place *places; /* owned: of a rank */
    size_t place_count;
};

/* What diagnose found, where it tells it unasked. */
struct measured_finding {
    const char *key; /* kind and ranks, in figures.texts */
    const char *tag; /* likewise; NULL */
    int64_t rank;
    double lost_us; /* a step, over all steps of the run */
    int is_told;    /* else of low confidence */
    int stops_job;
    char *text; /* owned: its sentence; hostile */
};

/* Whether a communicator's data went over the network. */
struct measured_way {
    uint64_t members; /* a hash of their global ranks */
    int over_network;
};

struct measured_run {
    struct intern texts;
    struct step_series *items; /* owned, by kind; measured_find looks for one */
    size_t count;
    size_t capacity;
    struct measured_finding *findings; /* owned */
    size_t finding_count;
    size_t finding_capacity;
    struct measured_way *ways; /* owned */
    size_t way_count;
    size_t way_capacity;
    int64_t *hosts; /* owned: of each global rank, the first rank of its host; NULL: not known of all */
    int64_t ranks;  /* that recorded something */
    int64_t run_id;
    char *run_name;  /* owned; hostile; NULL: nothing was measured */
    int32_t steps;   /* after the warm-up */
    int32_t usual;   /* of them, those that the figures are of */
    uint64_t calls;  /* what a step calls, on all ranks; 0: not known */
    uint64_t sizes;  /* likewise, and of which size; 0: that varies */
    int has_ranks;   /* ranks have numbers that other runs have as well */
    int has_network; /* its recorders tell of the network */
    int are_called;  /* steps last from call to call: nothing tells when operations ended */
};

void measured_run_init(struct measured_run *run);
void measured_run_release(struct measured_run *run);

/*
 * A new figure at the end, without values, its key copied; NULL when memory is out. `capacity` values have
 * room.
 */
struct step_series *measured_add(struct measured_run *run, enum series_kind kind, const char *key,
                                 size_t capacity);

/* Adds a value, of which there is room; one that is no number says nothing and is left out. */
void series_add(struct step_series *series, double value);

/* A text, copied, that lives as long as the figures; NULL when memory is out. */
const char *measured_keep(struct measured_run *run, const char *text);

/* Puts them in the order that measured_find needs, once all are there. */
void measured_sort(struct measured_run *run);

/* The figure of a kind and key; NULL. */
const struct step_series *measured_find(const struct measured_run *run, enum series_kind kind,
                                        const char *key);

#endif
