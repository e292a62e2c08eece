#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_FLIGHT_RECORDER_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_FLIGHT_RECORDER_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct value;

/* -------------------- groups.c -------------------- */

/*
 * What a dump says in many places and a pickle holds once: names of groups, and lists of their ranks. Each is
 * taken once, however often it is referred to, so that it takes as much memory as it has bytes.
 */

struct rank_list {
    int64_t *ranks; /* owned: global ranks, by rank in the group */
    size_t count;
};

struct dump_shared {
    struct intern texts;
    struct map known;        /* where a text or list stands -> its number below */
    struct rank_list *lists; /* owned */
    size_t list_count;
    size_t list_capacity;
};

void dump_shared_init(struct dump_shared *shared);
void dump_shared_release(struct dump_shared *shared);

/* -------------------- dump.c -------------------- */

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

/* -------------------- entry.c -------------------- */

/* The words of Flight Recorder dumps. */

struct call_name {
    enum function function;
    int is_closing;   /* "coalesced" */
    int64_t own_rank; /* of "send 0->1" and "recv 0<-1": ranks in the group; COUNT_UNKNOWN */
    int64_t peer;
};

/*
 * "nccl:all_reduce", "xccl:_reduce_scatter_base", "nccl:recv 0<-1": whatever the backend is called. Suffixes
 * ("_base", "_single", "_coalesced"...) say how it was called from Python, not what NCCL does. What is no
 * collective that we know is FUNCTION_OTHER.
 */
struct call_name call_name(const char *text, size_t length);

/* "BFloat16" (c10::ScalarType), or "c10::BFloat16" (a C++ type, torch 2.4). */
enum datatype call_datatype(const char *text, size_t length);

/* Reads the entries of a dump one after the other. What repeats from one to the next is looked up once. */

enum entry_key {
    KEY_OTHER = 0,
    KEY_RECORD_ID,
    KEY_PG_ID,
    KEY_PROCESS_GROUP,
    KEY_COLLECTIVE_SEQ_ID,
    KEY_P2P_SEQ_ID,
    KEY_SEQ_ID,
    KEY_PROFILING_NAME,
    KEY_TIME_CREATED_NS,
    KEY_TIME_CREATED_US,
    KEY_DURATION_MS,
    KEY_INPUT_SIZES,
    KEY_OUTPUT_SIZES,
    KEY_INPUT_DTYPES,
    KEY_OUTPUT_DTYPES,
    KEY_STATE,
    KEY_TIME_DISCOVERED_STARTED_NS,
    KEY_TIME_DISCOVERED_COMPLETED_NS,
    KEY_IS_P2P,
    KEY_FRAMES,
    KEY_RETIRED,
    KEY_COUNT
};

enum { ENTRY_KEYS_KNOWN = 64, ENTRY_FILES_KNOWN = 64 };

struct entry_reader {
    struct dump *dump;
    size_t items_left;    /* of lists, that may be looked at */
    size_t members_left;  /* of entries and frames, likewise */
    size_t unread_frames; /* of so many entries that was not enough */
    struct {
        const char *text;
        enum entry_key key;
    } keys[ENTRY_KEYS_KNOWN]; /* by place: mostly the same as in the entry before */
    const char *name_text;    /* that the name below was read from */
    struct call_name name;
    struct {
        const char *text;
        int is_users;
    } files[ENTRY_FILES_KNOWN];    /* of frames, by a hash of where the text stands */
    const struct value *groups_by; /* what the group below was found by */
    int32_t group;
};

/* `bytes` of the file bound how much of what is shared is looked at. */
void entry_reader_init(struct entry_reader *reader, struct dump *dump, size_t bytes);

/* Adds an entry to the dump. 0; 1 when it is none, or more is shared than can be looked at; -1: no memory. */
int entry_take(struct entry_reader *reader, const struct value *value);

/* -------------------- emit.c -------------------- */

/*
 * Hands a dump over as events: the process, its groups as communicators (named, since NCCL's hash is not in
 * a dump), how far they came, and the calls. `bytes` of the file bound how much of what is shared is told of
 * each: groups beyond that are noted as damage, and so are their calls. Times are CLOCK_REALTIME. When a
 * watchdog saw a call begin is given for what is open alone; when it saw one end is no end, and not given.
 */
int dump_emit(const struct dump *dump, int64_t rank, size_t bytes, const struct format_sink *sink,
              struct error *error);

/* Where a rank has no dump: that it is there, and why there is none (dump->no_dump). */
int dump_emit_failure(const struct dump *dump, int64_t rank, const struct format_sink *sink,
                      struct error *error);

/* -------------------- groups.c -------------------- */

/* The group of that number, name and description, made where it is new; -1 when memory is out, -2 when there
 * are too many. */
int32_t dump_group_of(struct dump *dump, int64_t pg_id, const struct value *name,
                      const struct value *description);

/*
 * Who is in the groups, by pg_config, and how far they came, by pg_status. Both may be NULL. The entries must
 * be there already: they tell which number of pg_status is which name of pg_config. *unread counts what is of
 * another type than it ought to be. -1 when memory is out.
 */
int dump_take_config(struct dump *dump, const struct value *config, size_t *unread);
int dump_take_status(struct dump *dump, const struct value *status, size_t *unread);

#endif
