#ifndef NCCLPROF_FORMAT_NCCL_NCCL_H
#define NCCLPROF_FORMAT_NCCL_NCCL_H

#include "format/internal.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct member;
struct source_processes;

/* -------------------- message.c -------------------- */

/* What NCCL's messages say, in all their forms from 2.18 to 2.30. Each function returns 1 where it is such a
 * one, 0 where it is not, -1 where it began as one and is not whole. */

/* "AllReduce: opCount 1f sendbuff ... count 8 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x1". */
struct message_call {
    enum function function; /* FUNCTION_OTHER: one that moves data on one side alone */
    int64_t count;
    enum datatype datatype;
    int64_t root; /* the peer, of a send or receive */
    uint64_t communicator;
    int64_t ranks;   /* of the communicator; COUNT_UNKNOWN */
    uint64_t stream; /* 0: the default one */
    uint64_t send_buffer;
    uint64_t receive_buffer; /* of a send, too, where it has no other */
};
int message_read_call(struct text message, struct message_call *call);

/* "ncclCommSplit comm 0x1 rank 0 nranks 4 ... parent 0x2 splitCount 1 color 0 key 0 - Init COMPLETE" and its
 * kind. */
struct message_init {
    struct text function; /* empty: not said, before 2.21 */
    uint64_t communicator;
    int64_t rank;
    int64_t ranks;
    int64_t device; /* CUDA's number in the process; COUNT_UNKNOWN */
    int64_t nvml_device;
    struct text bus;
    uint64_t id;     /* 0: not said */
    uint64_t parent; /* 0: none */
    int64_t child;   /* how many of the parent's it is; COUNT_UNKNOWN: not said */
    int64_t color;
    int is_complete;
};
/* 2: it is whole, and names no communicator, as before NCCL 2.18 (RCCL 6). */
int message_read_init(struct text message, struct message_init *init);

/*
 * As nvidia-smi and NCCL's other plugins write it: NCCL's log has the digits alone, without the zeros before
 * them. What is no such number is shown as it stands.
 */
void message_write_bus(struct text said, char *bus, size_t bytes);

/*
 * "comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 - Destroy COMPLETE", which a communicator that failed has
 * not: it is aborted. 0: it is no such line.
 */
int message_read_end(struct text message, uint64_t *communicator);

/* "comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 ...". */
struct message_nodes {
    uint64_t communicator;
    int64_t nodes;
};
int message_read_nodes(struct text message, struct message_nodes *nodes);

/* Another line about registered memory. */
int message_is_registration(struct text message);

/*
 * "register comm 0x1 buffer 0x2 size 3", and that a call used what was registered, failed to, or that it is
 * so no longer. A line of a call tells the rank, none the communicator.
 */
struct message_registration {
    enum registration_kind kind;
    enum registration_way way;
    uint64_t communicator; /* of REGISTRATION_MADE alone */
    int64_t rank;          /* in it, of the others; COUNT_UNKNOWN */
    uint64_t address;      /* 0: only the handle is told */
    uint64_t second;       /* the other buffer, where the line tells two; 0 */
    uint64_t
        handle; /* by which a later line tells that it ended: the network's, or where its memory begins; 0 */
    int64_t bytes; /* of REGISTRATION_MADE alone */
};
int message_read_registration(struct text message, struct message_registration *registration);

/* Leaves escape sequences of terminals out of a line; in `buffer`, where there are any. -1: no memory. */
int plain_text(struct text *line, struct buffer *buffer);

/* How much of a text is left where what stands before a line of NCCL's begins in it: a time, or a launcher's
 * name. */
size_t plain_before_stamp(struct text text);

/*
 * The last time of day with its date in what stands before a line: NCCL's own (NCCL_DEBUG_TIMESTAMP_FORMAT,
 * local time without a zone), or that of who collected the lines. "2026-03-02 10:15:00", with T between the
 * two, decimals behind a point or comma, Z or +01:00 at the end. Nanoseconds since 1970-01-01 00:00, UTC
 * where it has a zone, else of the clock on the wall; TIME_UNKNOWN where there is none. `*decimals`: how many
 * digits of a second it has.
 */
int64_t stamp_find(struct text prefix, int *decimals);

/* What NCCL puts before each message of its log: "host:pid:tid [device] NCCL INFO ". */

enum level { LEVEL_INFO, LEVEL_WARN, LEVEL_CALL, LEVEL_TRACE };

struct head {
    enum level level;
    struct text before; /* what stands before it in the line: a launcher's or collector's, and the time */
    struct text host;   /* where another line was cut off, what is left of that stands before the name */
    int64_t pid;
    int64_t tid;
    int64_t device;      /* the thread's current one; -1: not said */
    struct text message; /* all the rest of the line */
};

/* The first head in a piece of a line. 0 where there is none. */
int head_find(struct text line, struct head *head);

/* Whether bytes are of NCCL's debug log: as in format.h. */
int nccl_sniff(const char *bytes, size_t length, const char *path);

/*
 * The hash of a communicator that was split off another, as NCCL 2.26 and later make it of the parent's, of
 * how many such there were before, and of the color. The same on all ranks, as the hash of a root
 * communicator is, which the log prints as commId; and what a profiler plugin names it by.
 */
uint64_t identity_of_child(uint64_t parent_hash, int32_t child, int32_t color);

/* A message of NCCL's and where it stands. */
struct said {
    struct text message;
    int64_t source_process;
    int64_t tid;
    int64_t device; /* -1 */
    uint64_t offset;
    int64_t at_ns; /* TIME_UNKNOWN */
    int is_cut;    /* another line begins in it */
    int is_last;   /* the file ends with it, without a line's end */
};

/* -------------------- warning.c -------------------- */

/*
 * What a warning of NCCL, or of a network plugin of it, is about, as far as it says, in all its forms
 * from 2.18 to 2.32, of aws-ofi-nccl, of the plugin of HPC-X and of RCCL. What no word of it tells is
 * WARNING_OTHER: among those are many that healthy jobs print (a speed that cannot be read, a table of
 * addresses that changed, a variable without effect, a port of RAS that another job has). Pieces are
 * borrowed; empty where it does not say.
 */
struct warning_words {
    enum warning_kind kind;
    int is_harmless; /* its words are known, and no result that NCCL hands up makes it more than WARNING_OTHER
                      */
    int64_t status;  /* of an InfiniBand completion: 12, retries exceeded; 5, flushed since another failed; of
                        a plugin's request its own number; COUNT_UNKNOWN */
    struct text peer; /* the other end: an address or a host's name, without its port */
    struct text nic;  /* of this end: "mlx5_0" */
};

void warning_read(struct text message, struct warning_words *words);

/*
 * "proxy.cc:698 -> 3": what NCCL hands up from the place where something failed, with what a warning is about
 * that has this result. 0: it is no such line, or nothing failed.
 */
int warning_read_result(struct text message, enum warning_kind *kind);

/* What such a line is about where no warning of its thread is before it: who was aborted is not who failed.
 */
enum warning_kind warning_of_result_alone(struct text message, enum warning_kind kind);

/* "Rank 1 has 1 local Net devices (max 2).": which rank has fewer network cards than another. 0: it is no
 * such line. */
int warning_read_fewer_cards(struct text message, int64_t *rank);

/* "Bootstrap : Using eth0:10.0.0.10<0>": where others reach this host. Empty: it is no such line. */
struct text warning_own_address(struct text message);

/* -------------------- process.c -------------------- */

/* How long NCCL says that making a communicator took it: since 2.22. Whether a message is one of those,
 * whole. */

/* "Init timings - ncclCommInitRank: rank 3 nranks 8 total 1.23 (kernels 0.10, ..., bootstrap 0.50, ...)". */
struct timings {
    struct text function; /* empty: not said, before 2.23 */
    int64_t rank;
    int64_t ranks;
    int64_t total_ns;
    int64_t parts_ns[START_PARTS]; /* TIME_UNKNOWN: the version has none */
};
int timings_read(struct text message, struct timings *timings);

/*
 * "Bootstrap timings total 0.512345 (create ...)": the same as the part above, to the microsecond. It comes
 * before all else of the communicator is there, and does not name it.
 */
int timings_read_bootstrap(struct text message, int64_t *total_ns);

/* What a log tells of how a rank came into its communicator: several lines, of which the last may be missing.
 */
struct start {
    int64_t tid;          /* the thread that made it */
    int64_t function;     /* number of its name; -1: not said */
    struct start_up told; /* as far as it is known; its pointer is NULL */
    uint64_t offset;      /* of its first line */
};

/* Takes in a line about the making of what the seat is in. `functions` keeps names. -1: no memory. */
int start_take_init(struct start *start, const struct message_init *init, int64_t tid, int64_t at_ns,
                    uint64_t offset, struct intern *functions);

/*
 * Take in lines that do not name their communicator: of the seat that the thread is making, or has made last.
 * Whether there is one; -1: no memory.
 */
int start_take_bootstrap(const struct source_processes *source_processes, int64_t source_process, int64_t tid,
                         int64_t total_ns);
int start_take_timings(const struct source_processes *source_processes, int64_t source_process, int64_t tid,
                       const struct timings *timings, struct intern *functions);

/* What came of it. Its text lives as long as `functions`. */
void start_tell(const struct member *member, const struct intern *functions, struct start_up *told);

/* Who speaks in a log: processes, and what each calls its communicators. */

struct source_process {
    int64_t host; /* number of its name in `hosts` */
    int64_t pid;
    int64_t latest_ns; /* of its lines that have a time; TIME_UNKNOWN */
    int64_t root;      /* its first seat of a communicator that was not split off another; -1 */
    int64_t newest;    /* its newest seat; -1 */
    int64_t calls;     /* that it made so far */
};

/* A rank of a communicator, by the address that its process has it at. */
struct member {
    int64_t source_process;
    uint64_t address;
    uint64_t hash; /* of the communicator, the same on all its ranks */
    int64_t rank;
    int64_t ranks;
    int64_t nodes;   /* 0: not said */
    uint64_t parent; /* address; 0: none */
    uint64_t parent_hash;
    int64_t color;
    int64_t children;              /* split off it so far */
    int64_t calls[FUNCTION_COUNT]; /* so far */
    int is_complete;
    int64_t before; /* the seat that its speaker got before it; -1 */
    struct start start;
    int is_watched; /* it has been told that calls on it are listed */
};

struct source_processes {
    struct intern hosts;
    struct source_process *items; /* owned */
    size_t count;
    size_t capacity;
    struct member *member_list; /* owned; those of communicators that are no longer there stay */
    size_t seat_count;
    size_t member_capacity;
    struct map by_process; /* host, pid -> speaker */
    struct map by_pid;     /* pid -> the first speaker that has it */
    struct map by_address; /* speaker, address -> the seat that has it now */
};

void source_processes_init(struct source_processes *source_processes);
void source_processes_release(struct source_processes *source_processes);

/* The number of who speaks, which is new where it was not known; -1: no memory. */
int64_t source_processes_put(struct source_processes *source_processes, struct text host, int64_t pid);

/*
 * Takes away from a name what another line left before it, where so the name of a known process of that
 * number remains. Whether it is the name of a known process.
 */
int source_processes_settle(const struct source_processes *source_processes, struct text *host, int64_t pid);

/* NULL: its making is not in the log. Valid until the next source_processes_begin. */
struct member *source_processes_member(const struct source_processes *source_processes,
                                       int64_t source_process, uint64_t address);

/*
 * The seat that a line about the making of a communicator is of. `*seat` is NULL where it was split off one
 * that the log does not tell of. -1: no memory.
 */
int source_processes_begin(struct source_processes *source_processes, int64_t source_process,
                           const struct message_init *init, struct member **member);

/* The seat that a speaker got before another, or its newest for NULL. NULL: there is none. */
struct member *source_processes_member_before(const struct source_processes *source_processes,
                                              int64_t source_process, const struct member *member);

/* A communicator was split in which the speaker has that rank, and it got no part: counted where it matters.
 */
void source_processes_pass(struct source_processes *source_processes, int64_t source_process, int64_t rank);

/* -------------------- warning.c -------------------- */

/*
 * Warnings of a log, as events. What NCCL makes of one is said behind it on the same thread: "proxy.cc:698 ->
 * 3" is an internal error, and no such line a warning that changed nothing. What the thread does then says
 * whether it was one: so the last warning of each speaker is held until another comes, or what settles it, or
 * the end.
 */
struct held_warning {
    int is_held;
    int has_warned;   /* the speaker, so far: of anything */
    int has_network;  /* likewise, has said which network it uses */
    struct said said; /* its message is that of `message` */
    struct buffer message;
    int has_result; /* NCCL handed one up for it */
    enum warning_kind result;
    int64_t calls; /* that its speaker had made by then */
};

struct warnings {
    struct held_warning *items; /* owned, by number of the speaker */
    size_t count;
    size_t capacity;
};

void warnings_release(struct warnings *warnings);

/* A line of level WARN. -1 on failure. */
int warnings_take(struct warnings *warnings, const struct source_processes *source_processes,
                  const struct format_sink *sink, const struct said *said, struct error *error);

/* A line of level INFO. 1: it is about a warning, or is one; 0: it is neither; -1 on failure. */
int warnings_take_info(struct warnings *warnings, const struct source_processes *source_processes,
                       const struct format_sink *sink, const struct said *said, struct error *error);

/*
 * The speaker went on: a communicator of it is there, or at its end, or the thread `tid` made a call (-1:
 * whichever). What it warned of by itself before, and NCCL handed no result up for, is WARNING_GOT_OVER. -1
 * on failure.
 */
int warnings_settle(struct warnings *warnings, const struct source_processes *source_processes,
                    const struct format_sink *sink, int64_t source_process, int64_t tid, struct error *error);

/* The log is over. -1 on failure. */
int warnings_end(struct warnings *warnings, const struct source_processes *source_processes,
                 const struct format_sink *sink, struct error *error);

/* -------------------- process.c -------------------- */

/*
 * Calls on communicators that the log does not name: their Init lines are not in it, or are of NCCL
 * before 2.18 and tell no commId. Which ranks they are of is not known; how many each process made is
 * counted.
 */
struct unnamed {
    int64_t source_process;
    int64_t ranks;   /* COUNT_UNKNOWN */
    int64_t device;  /* of the thread that called first; -1 */
    int is_old;      /* its Init line tells no commId */
    uint64_t offset; /* of the first call */
    int64_t calls[FUNCTION_COUNT];
};

struct unnamed_list {
    struct unnamed *items; /* owned */
    size_t count;
    size_t capacity;
    struct map by_address; /* speaker, address -> of `items` */
};

void unnamed_init(struct unnamed_list *list);
void unnamed_release(struct unnamed_list *list);

/* An Init line without commId. -1: no memory. */
int unnamed_take_init(struct unnamed_list *list, const struct said *said, const struct message_init *init);

/* A call. Whether NCCL before 2.18 made it; -1: no memory. */
int unnamed_take_call(struct unnamed_list *list, const struct said *said, const struct message_call *call);

/* Tells them, as losses: of each process, device, function and number of ranks so many. -1 on failure. */
int unnamed_tell(const struct unnamed_list *list, const struct source_processes *source_processes,
                 const struct format_sink *sink, struct error *error);

/*
 * Lines that another process's line cut in two, where several write to one file: the rest stands by itself
 * further down. The newest few are held until it comes.
 */
enum { TORN_HELD = 32 };

struct torn_line {
    int64_t source_process;
    uint64_t offset;
    int64_t at_ns;
    struct buffer text; /* of the message, as far as it came */
};

struct partial_lines {
    struct torn_line lines[TORN_HELD];
    size_t count;
};

void torn_release(struct partial_lines *partial_lines);

/* Holds a piece. -1: no memory. `*dropped` is the speaker whose piece made room; -1. */
int partial_lines_add(struct partial_lines *partial_lines, int64_t source_process, uint64_t offset,
                      int64_t at_ns, struct text text, int64_t *dropped);

/* Puts `rest` behind the piece of a number; it goes on from there as one. -1: no memory. */
int torn_join(struct partial_lines *partial_lines, size_t number, struct text rest, struct buffer *whole);

/* Forgets one. */
void torn_drop(struct partial_lines *partial_lines, size_t number);

struct recent_call {
    int64_t source_process;
    int64_t thread;
    int64_t member;
    enum function function;
    int64_t number; /* of its function on its communicator */
    uint64_t send_buffer;
    uint64_t receive_buffer;
    unsigned told; /* bits: what has been told of it */
};

/* Memory that a call found registered, by what a line about its end will call it. */
struct registered_memory {
    int64_t member;
    uint64_t address;
};

struct registrations {
    struct recent_call *calls;        /* owned: a ring of REGISTRATION_CALLS */
    size_t call_count;                /* so far */
    struct map by_handle;             /* speaker, handle -> of `memory` */
    struct registered_memory *memory; /* owned */
    size_t memory_count;
    size_t memory_capacity;
};

void registrations_init(struct registrations *registrations);
void registrations_release(struct registrations *registrations);

/* A call that a line tells of. -1: no memory. */
int registrations_call(struct registrations *registrations, const struct recent_call *call);

/*
 * What a line says, with the seat whose it is. 1; 0 where that has been told of the call already, or nobody
 * is found whose it is (*seat is NULL); -1: no memory. Calls are borrowed from the seat.
 */
int registrations_take(struct registrations *registrations, const struct source_processes *source_processes,
                       int64_t source_process, int64_t thread, const struct message_registration *said,
                       struct registration *registration, const struct member **member);

#endif
