#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_FLIGHT_RECORDER_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_FLIGHT_RECORDER_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct value;

/* -------------------- groups.c -------------------- */

/*
 * Values that a dump refers to many times but a pickle stores once: names of groups and lists of their ranks.
 * Each is read once, so its memory is proportional to its bytes in the file.
 */

struct rank_list {
    int64_t *ranks; /* owned: global ranks, indexed by rank in the group */
    size_t count;
};

struct dump_shared {
    struct intern texts;
    struct map known;        /* place of a text or list in the dump -> its number below */
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
    int32_t name;          /* in shared.texts, the same on all its ranks; -1: not given */
    int32_t description;   /* in shared.texts; -1: not given */
    int32_t list;          /* its members, in shared.lists; -1: not given */
    int64_t pg_id;         /* a counter of this process only; COUNT_UNKNOWN */
    int64_t own_rank;      /* rank in the group, from its sends and receives; COUNT_UNKNOWN */
    int64_t greatest_rank; /* greatest rank in its sends and receives; COUNT_UNKNOWN */
    /*
     * From pg_status: numbers of collectives, or of sends and receives, whichever came last; COUNT_UNKNOWN:
     * none, or not given.
     */
    int64_t last_enqueued;
    int64_t last_started;
    int64_t last_completed;
    int has_status;
    int has_collectives;
    int has_pairs;
    int has_launches;  /* some calls were launched together */
    int has_completed; /* some call has completed */
    int has_unretired; /* some call is not retired */
};

struct dump_entry {
    uint64_t offset;
    int32_t group;
    int32_t source; /* in dump.sources; -1 */
    enum function function;
    enum datatype datatype;
    enum dump_state state;
    int is_pair;     /* a send or receive */
    int is_closing;  /* "coalesced": represents the calls before it that were launched with it */
    int is_member;   /* it was launched with others; their closing entry has its state */
    int is_retired;  /* nothing more is recorded about it */
    int is_left_out; /* gives no operation: a batch, or a closing entry whose members are in the dump */
    int64_t record;  /* record_id; COUNT_UNKNOWN */
    int64_t collective_sequence; /* COUNT_UNKNOWN, as below */
    int64_t pair_sequence;
    int64_t own_rank; /* of a send or receive: own rank in the group */
    int64_t peer;
    int64_t count; /* elements as passed to the API; for AlltoAll of one row, as rows may differ */
    int64_t bytes;
    int64_t called_ns;    /* TIME_UNKNOWN, as below */
    int64_t started_ns;   /* when a poll saw it, up to a second late */
    int64_t completed_ns; /* when a poll saw it, up to a second late */
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
    const struct value *no_dump; /* the reason that Ray writes instead of a dump; NULL */
};

/* Whether the backend of a group retires calls when it issues them and never records their completion. */
static inline int dump_group_lacks_completions(const struct dump_group *group)
{
    return !group->has_completed && !group->has_unretired && (group->has_collectives || group->has_pairs);
}

/* Global ranks, indexed by rank in the group; empty if not given. */
struct rank_list dump_members(const struct dump *dump, const struct dump_group *group);

void dump_init(struct dump *dump);
void dump_release(struct dump *dump);

/*
 * Reads a dump from its parsed tree. Values of an unexpected type, and truncated ones, are noted as damage
 * and left out. `bytes`, the size of the file, limits how many shared values are read. Returns -1 if memory
 * is out or the sink stops it.
 */
int dump_take(struct dump *dump, const struct value *root, size_t bytes, const struct format_sink *sink,
              struct error *error);

/* -------------------- entry.c -------------------- */

/* The words of Flight Recorder dumps. */

struct call_name {
    enum function function;
    int is_closing;   /* "coalesced" */
    int is_batch;     /* torchcomms' "batch_op_issue": sends and receives that are not listed */
    int64_t own_rank; /* of "send 0->1" and "recv 0<-1": ranks in the group; COUNT_UNKNOWN */
    int64_t peer;
};

/*
 * Parses "nccl:all_reduce", "xccl:_reduce_scatter_base" or "nccl:recv 0<-1", with any backend name. Suffixes
 * ("_base", "_single", "_coalesced"...) belong to the Python call, not to NCCL's operation, and are ignored.
 * An unknown collective is FUNCTION_OTHER.
 */
struct call_name call_name(const char *text, size_t length);

/* "BFloat16" (c10::ScalarType), or "c10::BFloat16" (a C++ type, torch 2.4). */
enum datatype call_datatype(const char *text, size_t length);

/* Reads the entries of a dump in order. Values that repeat from entry to entry are looked up once. */

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
    size_t items_left;    /* list elements that may still be read */
    size_t members_left;  /* members of entries and frames that may still be read */
    size_t unread_frames; /* number of entries whose frames exceeded that limit */
    struct {
        const char *text;
        enum entry_key key;
    } keys[ENTRY_KEYS_KNOWN]; /* by position: usually the same as in the entry before */
    const char *name_text;    /* text from which the name below was read */
    struct call_name name;
    struct {
        const char *text;
        int is_users;
    } files[ENTRY_FILES_KNOWN]; /* files of frames, by a hash of the position of their text */
    int32_t group;
};

/* `bytes`, the size of the file, limits how many shared values are read. */
void entry_reader_init(struct entry_reader *reader, struct dump *dump, size_t bytes);

/* Adds an entry to the dump. Returns 0; 1 if it is no entry or exceeds the limit; -1 if memory is out. */
int entry_take(struct entry_reader *reader, const struct value *value);

/* -------------------- emit.c -------------------- */

/*
 * Hands a dump over as events: the process; its groups as communicators, identified by name, as a dump does
 * not have NCCL's hash; their progress; and the calls. `bytes`, the size of the file, limits how much is
 * written about shared values; groups beyond that are noted as damage, and so are their calls. Times are
 * CLOCK_REALTIME. The start time seen by a watchdog is given only for calls that have not completed. The
 * completion time seen by a watchdog is not the end of the call and is not given.
 */
int dump_emit(const struct dump *dump, int64_t rank, size_t bytes, const struct format_sink *sink,
              struct error *error);

/* Hands over a rank without a dump: that it exists, and why it has no dump (dump->no_dump). */
int dump_emit_failure(const struct dump *dump, int64_t rank, const struct format_sink *sink,
                      struct error *error);

/* -------------------- groups.c -------------------- */

/*
 * Finds or adds the group with this number, name and description. Returns -1 if memory is out, -2 if there
 * are too many.
 */
int32_t dump_group_of(struct dump *dump, int64_t pg_id, const struct value *name,
                      const struct value *description);

/*
 * Take the members of the groups from pg_config, and their progress from pg_status. Both may be NULL. The
 * entries must have been read before: they connect the numbers in pg_status to the names in pg_config.
 * `*unread` counts values of an unexpected type. Return -1 if memory is out.
 */
int dump_take_config(struct dump *dump, const struct value *config, size_t *unread);
int dump_take_status(struct dump *dump, const struct value *status, size_t *unread);

#endif
