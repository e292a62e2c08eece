#ifndef NCCLPROF_JOIN_WITNESS_RANKS_H
#define NCCLPROF_JOIN_WITNESS_RANKS_H

#include "join/witness_calls.h"

/* One rank as two recorders tell of it: their calls are laid beside each other, communicator by communicator.
 */

/* What the one does not know of a call, and the other does. */
struct witness_gift {
    int64_t block_id; /* of the one's call, and its row there */
    uint16_t row;
    int32_t source; /* interned */
};

/* A call of which the two say different things: the first such, and how many there are. */
struct witness_quarrel {
    int64_t count;
    uint8_t function;
    int64_t kept; /* what the one says */
    int64_t other;
};

/* A member of the other and the one that it is, as the base tables number them. */
struct witness_seat {
    int64_t other_id;
    int64_t one_id;
};

struct witness_seats {
    struct witness_seat *items; /* owned */
    size_t count;
    size_t capacity;
};
int witness_seats_add(struct witness_seats *seats, const struct work *work, int32_t one,
                      int32_t other); /* -1: no memory */

/* Of one rank, or of several added up. */
struct rank_match {
    size_t pairs;         /* calls that both tell of */
    size_t timed;         /* of these, in series that times tell apart */
    size_t left_over;     /* calls of the other's that the one must have seen, and does not tell of */
    int clocks;           /* both read the wall clock */
    int overlap;          /* at some time both recorded */
    int only_other_stops; /* the other has calls that never ended, made after the one's record ends */
    struct witness_quarrel sizes;
    struct witness_quarrel datatypes;
    struct witness_seats seats;
    struct witness_gift *gifts; /* owned */
    size_t gift_count;
    size_t gift_capacity;
};

/* What is needed for all ranks. */
struct hearing {
    struct work *work; /* borrowed, as are logs */
    struct logs *logs;
    struct map alike; /* whether two communicators may be one, by their numbers in work */
};

struct witness_side {
    int32_t rank;                   /* in work */
    const struct wall_clock *clock; /* of its process */
    int by_number;                  /* see told_calls_load */
};

/* The members of one rank that called something, with their calls. Release them whatever comes back. */
struct seats {
    int32_t *members; /* owned; numbers in work */
    struct told_calls *calls;
    unsigned char *is_taken;
    size_t count;
};
int seats_load(struct seats *seats, struct hearing *hearing, const struct witness_side *side,
               struct error *error);
void seats_release(struct seats *seats);

/* Whether two members may be one: the same number among the same ranks. -1: memory is out. */
int seats_alike(struct hearing *hearing, int32_t one, int32_t other);

/* Adds to `match` what comes of one rank. Release it whatever comes back. */
int ranks_match(struct hearing *hearing, const struct witness_side *one, const struct witness_side *other,
                struct rank_match *match, struct error *error);
void rank_match_release(struct rank_match *match);

/* What a rank's pairs have to be of all that both must have seen, so that it is one rank. */
int rank_match_fits(const struct rank_match *match);

#endif
