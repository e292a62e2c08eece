#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_DUMP_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_DUMP_H

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "format/flight_recorder/shared.h"
#include "format/format.h"
#include "input/value.h"

/*
 * A dump of PyTorch's Flight Recorder as it is written, whatever its version: process groups, calls in order
 * of record, and how far each group came. Keys are taken where they are there, never by the version
 * (torch/csrc/distributed/c10d/FlightRecorder.hpp). Values and their texts are borrowed from the tree.
 */

/* Memory for the values of a dump: they take about six times its bytes. */
enum { DUMP_VALUES_BYTES_MOST = 512 << 20 };

enum dump_state { DUMP_SCHEDULED = 0, DUMP_STARTED, DUMP_COMPLETED };

/* A process group as this process knows it. */
struct dump_group {
    int32_t name;          /* in shared.texts, the same on all its ranks; -1: not said */
    int32_t description;   /* likewise */
    int32_t list;          /* of its members in shared.lists; -1: not said */
    int64_t pg_id;         /* a counter of this process alone; COUNT_UNKNOWN */
    int64_t own_rank;      /* in the group, as its sends and receives have it; COUNT_UNKNOWN */
    int64_t greatest_rank; /* that sends and receives name; COUNT_UNKNOWN */
    int64_t last_enqueued; /* as pg_status counts: of collectives, or of sends and receives, whichever came */
    int64_t last_started;  /* last; COUNT_UNKNOWN: none, or not said */
    int64_t last_completed;
    int has_status;
    int has_collectives;
    int has_pairs;
    int has_launches;  /* of several calls at once */
    int has_completed; /* of some call it is recorded that it completed */
    int has_unretired; /* some call was not retired */
};

struct dump_entry {
    uint64_t offset;
    int32_t group;
    int32_t source; /* in dump.sources; -1 */
    enum function function;
    enum datatype datatype;
    enum dump_state state;
    int is_pair;                 /* a send or receive */
    int is_closing;              /* "coalesced": stands for the calls before it that were launched with it */
    int is_member;               /* it was launched with others, whose closing entry has its state */
    int is_retired;              /* nothing more is recorded of it */
    int is_left_out;             /* of no operation of its own: a closing entry whose members are there */
    int64_t record;              /* record_id; COUNT_UNKNOWN */
    int64_t collective_sequence; /* COUNT_UNKNOWN, as below */
    int64_t pair_sequence;
    int64_t own_rank; /* of a pair: rank in the group */
    int64_t peer;
    int64_t count; /* elements, as the API got them; of AlltoAll those of a row: rows may be split unevenly */
    int64_t bytes;
    int64_t called_ns;    /* TIME_UNKNOWN, as below */
    int64_t started_ns;   /* seen by a poll, late by up to a second */
    int64_t completed_ns; /* likewise */
    int64_t duration_ns;  /* COUNT_UNKNOWN */
};

struct dump {
    const struct value *version; /* NULL: the list of torch 2.2 */
    struct dump_group *groups;   /* owned */
    size_t group_count;
    size_t group_capacity;
    struct map group_of; /* number, name and description -> group */
    struct dump_shared shared;
    struct dump_entry *entries; /* owned */
    size_t entry_count;
    size_t entry_capacity;
    struct intern sources;       /* "file:line" */
    const struct value *no_dump; /* why there is none: Ray writes the reason instead; NULL */
};

/* Whether backends of a group retire calls as they issue them, and tell nothing of their end. */
static inline int dump_group_tells_no_ends(const struct dump_group *group)
{
    return !group->has_completed && !group->has_unretired && (group->has_collectives || group->has_pairs);
}

/* Global ranks by rank in the group; none where they are not said. */
struct rank_list dump_members(const struct dump *dump, const struct dump_group *group);

void dump_init(struct dump *dump);
void dump_release(struct dump *dump);

/*
 * Takes what stands in the tree. What is of another type than it ought to be, or cut, is noted as damage and
 * left out. `bytes` of the file bound how much of what is shared is looked at. -1 when memory is out or the
 * sink stops it.
 */
int dump_take(struct dump *dump, const struct value *root, size_t bytes, const struct format_sink *sink,
              struct error *error);

#endif
