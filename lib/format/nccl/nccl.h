#ifndef NCCLPROF_FORMAT_NCCL_NCCL_H
#define NCCLPROF_FORMAT_NCCL_NCCL_H

#include "format/internal.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct member;
struct source_processes;

/* -------------------- message.c -------------------- */

/*
 * Parses NCCL's log messages in all their forms from NCCL 2.18 to 2.30. Unless stated otherwise, each
 * function returns 1 if the message is of its kind, 0 if it is not, and -1 if it begins like one but is
 * incomplete.
 */

/* "AllReduce: opCount 1f sendbuff ... count 8 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x1". */
struct message_call {
    enum function function; /* FUNCTION_OTHER: one-sided communication */
    uint64_t launches; /* opCount: of the communicator before the call; always 0 with NVLink from 2.27 on */
    int64_t count;
    enum datatype datatype;
    int64_t root; /* for a send or receive: the peer */
    uint64_t communicator;
    int64_t ranks;       /* size of the communicator; COUNT_UNKNOWN */
    int64_t global_rank; /* RCCL's "globalrank"; COUNT_UNKNOWN */
    uint64_t stream;     /* 0: the default stream */
    uint64_t send_buffer;
    uint64_t receive_buffer; /* also of a send, if it has no other buffer */
};
int message_read_call(struct text message, struct message_call *call);

/*
 * "ncclCommSplit comm 0x1 rank 0 nranks 4 ... parent 0x2 splitCount 1 color 0 key 0 - Init COMPLETE" and
 * similar messages.
 */
struct message_init {
    struct text function; /* empty: not given, before NCCL 2.21 */
    uint64_t communicator;
    int64_t rank;
    int64_t ranks;
    int64_t device; /* CUDA's device number in the process; COUNT_UNKNOWN */
    struct text bus;
    uint64_t id;     /* 0: not given */
    uint64_t parent; /* 0: none */
    int64_t child;   /* its number among the communicators split off the parent; COUNT_UNKNOWN: not given */
    int64_t color;
    int is_complete;
};
/* Also returns 2: the message is complete but names no communicator, as before NCCL 2.18 (RCCL 6). */
int message_read_init(struct text message, struct message_init *init);

/*
 * Writes a bus ID in the form of nvidia-smi and NCCL's plugins. NCCL's log has only the digits, without
 * leading zeros. A text that is no such number is written unchanged.
 */
void message_write_bus(struct text said, char *bus, size_t bytes);

/*
 * "comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 - Destroy COMPLETE". A communicator that failed has no such
 * message, because it is aborted. Returns 0 for any other message.
 */
int message_read_end(struct text message, uint64_t *communicator);

/* "comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 ...". */
struct message_nodes {
    uint64_t communicator;
    int64_t nodes;
};
int message_read_nodes(struct text message, struct message_nodes *nodes);

/* Whether it is any other message about registered memory. */
int message_is_registration(struct text message);

/*
 * Messages about registered memory: "register comm 0x1 buffer 0x2 size 3"; that a call used a registration or
 * failed to; and that a registration ended. A message about a call gives the rank, but none of them gives the
 * communicator.
 */
struct message_registration {
    enum registration_kind kind;
    enum registration_way way;
    uint64_t communicator; /* only for REGISTRATION_MADE */
    int64_t rank;          /* rank in the communicator, for the other kinds; COUNT_UNKNOWN */
    uint64_t address;      /* 0: only the handle is given */
    uint64_t second;       /* the other buffer, if the message has two; 0 */
    uint64_t handle;       /* in the message about its end: of the network, or the start of its memory; 0 */
    int64_t bytes;         /* only for REGISTRATION_MADE */
};
int message_read_registration(struct text message, struct message_registration *registration);

/*
 * Removes terminal escape sequences from a line. If there are any, `*line` then points into `buffer`. Returns
 * -1 if memory is out.
 */
int strip_terminal_escapes(struct text *line, struct buffer *buffer);

/*
 * Returns how many bytes of a text precede the prefix of an NCCL line (a time, or a launcher's prefix) in it.
 */
size_t length_before_timestamp(struct text text);

/*
 * Finds the last time of day with a date in the text before a message: NCCL's own
 * (NCCL_DEBUG_TIMESTAMP_FORMAT, local time without a zone) or that of the log collector. The form is
 * "2026-03-02 10:15:00", also with T between date and time, with decimals after a point or comma, and with Z
 * or +01:00 at the end. Returns nanoseconds since 1970-01-01 00:00, UTC if it has a zone, else local time;
 * TIME_UNKNOWN if there is none. `*decimals` receives the number of decimals of the seconds.
 */
int64_t timestamp_find(struct text prefix, int *decimals);

/* The prefix that NCCL prints before each message: "host:pid:tid [device] NCCL INFO ". */

enum level { LEVEL_INFO, LEVEL_WARN, LEVEL_CALL, LEVEL_TRACE };

struct head {
    enum level level;
    struct text before; /* what precedes it in the line: the time, and prefixes of launchers */
    struct text host;   /* may begin with the rest of another line that was truncated here */
    int64_t pid;
    int64_t tid;
    int64_t device;      /* current device of the thread; -1: not given */
    struct text message; /* the rest of the line */
};

/* Finds the first such prefix in a piece of a line. Returns 0 if there is none. */
int head_find(struct text line, struct head *head);

/* The sniff() of NCCL's debug log; see format.h. */
int nccl_sniff(const char *bytes, size_t length, const char *path);

/*
 * Returns the hash of a communicator that was split off another, as computed by NCCL 2.26 and later from the
 * parent's hash, the number of earlier splits of the parent (`child`) and the color. The hash is the same on
 * all ranks, and profiler plugins report it. The hash of a communicator that was not split off is the commId
 * in the log.
 */
uint64_t identity_of_child(uint64_t parent_hash, int32_t child, int32_t color);

/* One message and where it comes from. */
struct said {
    struct text message;
    int64_t source_process;
    int64_t tid;
    int64_t device;      /* -1 */
    int64_t prefix_rank; /* global rank in the prefix of a launcher, or the name of the file; COUNT_UNKNOWN */
    uint64_t offset;
    int64_t at_ns; /* TIME_UNKNOWN */
    int is_cut;    /* another line begins inside it */
    int is_last;   /* the file ends with it, without a newline */
};

/* -------------------- warning.c -------------------- */

/*
 * Parses the warnings of NCCL 2.18 to 2.32, of RCCL, and of the network plugins aws-ofi-nccl and HPC-X.
 * A warning without a known phrase is WARNING_OTHER. Many of these appear in healthy jobs: an unreadable link
 * speed, a changed address table, a variable without effect, a RAS port used by another job. Texts are
 * borrowed, and empty if the message does not give them.
 */
struct warning_words {
    enum warning_kind kind;
    int is_harmless; /* known to be harmless: WARNING_OTHER even if NCCL returns a result code for it */
    /*
     * Of an InfiniBand completion (12: retries exceeded; 5: flushed because another request failed), or the
     * plugin's own code of a request; COUNT_UNKNOWN.
     */
    int64_t status;
    struct text peer; /* the other end: address or host name, without port */
    struct text nic;  /* the network card of this end: "mlx5_0" */
};

void warning_read(struct text message, struct warning_words *words);

/*
 * "proxy.cc:698 -> 3": the result code that NCCL returns from the place where something failed. `*kind`
 * receives the kind of warning that has this result. Returns 0 for any other message, or if nothing failed.
 */
int warning_read_result(struct text message, enum warning_kind *kind);

/*
 * The kind of such a message if no warning of its thread precedes it: an aborted rank is not the rank that
 * failed.
 */
enum warning_kind warning_of_result_alone(struct text message, enum warning_kind kind);

/*
 * "Rank 1 has 1 local Net devices (max 2).": this rank has fewer network cards than another. Returns 0 for
 * any other message.
 */
int warning_read_fewer_cards(struct text message, int64_t *rank);

/*
 * "Bootstrap : Using eth0:10.0.0.10<0>": the address of this host as other ranks see it. Empty for any other
 * message.
 */
struct text warning_own_address(struct text message);

/* -------------------- process.c -------------------- */

/*
 * How long the creation of a communicator took, printed since NCCL 2.22. Both functions return whether the
 * message is of this kind and complete.
 */

/* "Init timings - ncclCommInitRank: rank 3 nranks 8 total 1.23 (kernels 0.10, ..., bootstrap 0.50, ...)". */
struct timings {
    struct text function; /* empty: not given, before NCCL 2.23 */
    int64_t rank;
    int64_t ranks;
    int64_t total_ns;
    int64_t parts_ns[START_PARTS]; /* TIME_UNKNOWN: not printed by this version */
};
int timings_read(struct text message, struct timings *timings);

/*
 * "Bootstrap timings total 0.512345 (create ...)": the same as the bootstrap part above, with microsecond
 * precision. It precedes all other messages about the communicator and does not name it.
 */
int timings_read_bootstrap(struct text message, int64_t *total_ns);

/*
 * What a log has about how a rank joined its communicator. It comes in several lines, and the last may be
 * missing.
 */
struct start {
    int64_t tid;          /* the thread that creates it */
    int64_t function;     /* number of the function's name; -1: not given */
    struct start_up told; /* what is known so far; its pointer is NULL */
    uint64_t offset;      /* of the first line */
};

/*
 * Takes a message about the creation of a communicator. `functions` stores names. Returns -1 if memory is
 * out.
 */
int start_take_init(struct start *start, const struct message_init *init, int64_t tid, int64_t at_ns,
                    uint64_t offset, struct intern *functions);

/*
 * Take messages that do not name their communicator. They belong to the one that the thread is creating, or
 * that it created last. Return whether there is one; -1 if memory is out.
 */
int start_take_bootstrap(const struct source_processes *processes, int64_t source_process, int64_t tid,
                         int64_t total_ns);
int start_take_timings(const struct source_processes *processes, int64_t source_process, int64_t tid,
                       const struct timings *timings, struct intern *functions);

/* Fills `told` with the result. Its text lives as long as `functions`. */
void start_fill(const struct member *member, const struct intern *functions, struct start_up *told);

/* A process that writes to a log. Each process knows its communicators by address. */

struct source_process {
    int64_t host; /* number of its name in `hosts` */
    int64_t pid;
    int64_t latest_ns; /* of its lines that have a time; TIME_UNKNOWN */
    int64_t root;      /* its first member of a communicator that was not split off another; -1 */
    int64_t newest;    /* its newest member; -1 */
    int64_t calls;     /* that it has made so far */
};

/* A member of a communicator: one rank, known by the communicator's address in its process. */
struct member {
    int64_t source_process;
    uint64_t address;
    uint64_t hash; /* hash of the communicator, the same on all ranks */
    int64_t rank;
    int64_t ranks;
    int64_t nodes;   /* 0: not given */
    uint64_t parent; /* address of the parent communicator; 0: none */
    uint64_t parent_hash;
    int64_t color;
    int64_t children;              /* number of communicators split off it so far */
    int64_t calls[FUNCTION_COUNT]; /* so far */
    int is_complete;
    int64_t before; /* the member that its process had before this one; -1 */
    struct start start;
    int is_assumed; /* the log does not name the communicator (unnamed.c) */
    int is_watched; /* the sink already knows that the log lists its calls */
};

struct source_processes {
    struct intern hosts;
    struct source_process *items; /* owned */
    size_t count;
    size_t capacity;
    struct member *member_list; /* owned; members of destroyed communicators stay */
    size_t member_list_count;
    size_t member_capacity;
    struct map by_process; /* host, pid -> process */
    struct map by_pid;     /* pid -> the first process that has it */
    struct map by_address; /* process, address -> the member that has it now */
};

void source_processes_init(struct source_processes *processes);
void source_processes_release(struct source_processes *processes);

/* Returns the number of a process, which is added if it is new; -1 if memory is out. */
int64_t source_processes_put(struct source_processes *processes, struct text host, int64_t pid);

/*
 * Removes from a host name the rest of another line before it, if that leaves the name of a known process
 * with this pid. Returns whether the name is that of a known process.
 */
int source_processes_settle(const struct source_processes *processes, struct text *host, int64_t pid);

/*
 * Returns NULL if the log does not show the creation of the communicator. The pointer is valid until the next
 * source_processes_begin().
 */
struct member *source_processes_member(const struct source_processes *processes, int64_t source_process,
                                       uint64_t address);

/*
 * Finds or adds the member that a message about the creation of a communicator is about. `*member` is NULL if
 * its parent is not in the log. Returns -1 if memory is out.
 */
int source_processes_begin(struct source_processes *processes, int64_t source_process,
                           const struct message_init *init, struct member **member);

/*
 * Adds a member of a communicator that the log does not name; `hash` is made up. Returns -1 if memory is out.
 */
int source_processes_assume(struct source_processes *processes, int64_t source_process,
                            const struct message_init *init, uint64_t hash);

/*
 * Returns the member that a process had before `member`, or the newest if `member` is NULL; NULL if there is
 * none.
 */
struct member *source_processes_member_before(const struct source_processes *processes,
                                              int64_t source_process, const struct member *member);

/*
 * A communicator in which the process has this rank was split, and the process is in no part of it. If that
 * fits the first communicator of the process, counts the split there: the hashes of later children depend on
 * the number.
 */
void source_processes_pass(struct source_processes *processes, int64_t source_process, int64_t rank);

/* -------------------- warning.c -------------------- */

/*
 * Turns the warnings of a log into events. The meaning of a warning depends on what follows on its thread:
 * the result code in a line such as "proxy.cc:698 -> 3" (an internal error) gives its kind if its own words
 * do not; if the thread goes on without such a line, the warning changed nothing. The last warning of each
 * process is therefore held until another one comes, a message settles it, or the log ends.
 */
struct held_warning {
    int is_held;
    int has_warned;   /* the process has printed some warning */
    int has_network;  /* the process has printed which network it uses */
    struct said said; /* its text is stored in `message` */
    struct buffer message;
    int has_result; /* NCCL returned a result code for it */
    enum warning_kind result;
    int64_t calls; /* calls of the process before the warning */
};

struct warnings {
    struct held_warning *items; /* owned, indexed by process number */
    size_t count;
    size_t capacity;
    struct intern settings; /* as NAME=VALUE */
    struct map has_setting; /* process, number in `settings` -> 1 */
};

/*
 * "NCCL_IB_HCA set by environment to mlx5_0", "NCCL version 2.27.7+cuda12.8", "cudaDriverVersion 12080".
 * Returns 0 for any other message, and for settings that are meant to differ: names of files and of hosts.
 */
int warning_read_setting(struct text message, struct text *name, struct text *value);

void warnings_init(struct warnings *warnings);
void warnings_release(struct warnings *warnings);

/* Takes a line of level WARN. Returns -1 on failure. */
int warnings_take(struct warnings *warnings, const struct source_processes *processes,
                  const struct format_sink *sink, const struct said *said, struct error *error);

/* Takes a line of level INFO. Returns 1 if it is a warning or about one, 0 if not, -1 on failure. */
int warnings_take_info(struct warnings *warnings, const struct source_processes *processes,
                       const struct format_sink *sink, const struct said *said, struct error *error);

/*
 * The process went on: one of its communicators was created or destroyed, or the thread `tid` made a call
 * (-1: any thread). A warning that it held and that got no result code becomes WARNING_GOT_OVER. Returns -1
 * on failure.
 */
int warnings_settle(struct warnings *warnings, const struct source_processes *processes,
                    const struct format_sink *sink, int64_t source_process, int64_t tid, struct error *error);

/* The log ended. Returns -1 on failure. */
int warnings_end(struct warnings *warnings, const struct source_processes *processes,
                 const struct format_sink *sink, struct error *error);

/* -------------------- process.c -------------------- */

/*
 * Lines that a line of another process split in two, because several processes write to one file. The rest
 * appears on its own further down. The newest few are held until it does.
 */
enum { PARTIAL_LINES_HELD = 32 };

struct partial_line {
    int64_t source_process;
    uint64_t offset;
    int64_t at_ns;
    struct buffer text; /* of the message, as far as it was read */
};

struct partial_lines {
    struct partial_line lines[PARTIAL_LINES_HELD];
    size_t count;
};

void partial_lines_release(struct partial_lines *partial_lines);

/*
 * Holds the first part of a line. `*dropped` receives the process whose part was dropped to make room, or -1.
 * Returns -1 if memory is out.
 */
int partial_lines_add(struct partial_lines *partial_lines, int64_t source_process, uint64_t offset,
                      int64_t at_ns, struct text text, int64_t *dropped);

/*
 * Joins `rest` to the held part with this number, into `whole`. The held part is unchanged. Returns -1 if
 * memory is out.
 */
int partial_line_join(struct partial_lines *partial_lines, size_t number, struct text rest,
                      struct buffer *whole);

/* Drops a held part. */
void partial_line_drop(struct partial_lines *partial_lines, size_t number);

struct recent_call {
    int64_t source_process;
    int64_t thread;
    int64_t member;
    enum function function;
    int64_t number; /* number of the call of its function on its communicator */
    uint64_t send_buffer;
    uint64_t receive_buffer;
    unsigned told; /* bits: what has been reported about it */
};

/* Memory that a call found registered. A line about the end of the registration has its handle. */
struct registered_memory {
    int64_t member;
    uint64_t address;
};

struct registrations {
    struct recent_call *calls;        /* owned: a ring of REGISTRATION_CALLS */
    size_t call_count;                /* all so far */
    struct map by_handle;             /* process, handle -> index in `memory` */
    struct registered_memory *memory; /* owned */
    size_t memory_count;
    size_t memory_capacity;
};

void registrations_init(struct registrations *registrations);
void registrations_release(struct registrations *registrations);

/* Takes a call. Returns -1 if memory is out. */
int registrations_call(struct registrations *registrations, const struct recent_call *call);

/*
 * Takes a message about registered memory and finds its member. Returns 1; 0 if this has been reported about
 * the call already, or if no member fits (`*member` is then NULL); -1 if memory is out. The calls are
 * borrowed from the member.
 */
int registrations_take(struct registrations *registrations, const struct source_processes *processes,
                       int64_t source_process, int64_t thread, const struct message_registration *said,
                       struct registration *registration, const struct member **member);

/* -------------------- unnamed.c -------------------- */

/*
 * Communicators that the log does not name: NCCL before 2.18 and RCCL before 6 print no commId; with
 * NCCL_DEBUG_SUBSYS=COLL, or if the first lines are lost, there are no Init lines. Each process knows its
 * communicators by address. Their calls are held until the end of the log. Then the members are matched, if
 * there is only one way to do so.
 */
struct unnamed {
    int64_t source_process;
    uint64_t address;
    int64_t ranks;       /* COUNT_UNKNOWN */
    int64_t rank;        /* in its Init line; once matched, its rank; COUNT_UNKNOWN */
    int64_t global_rank; /* in a call, the prefix of a launcher, or the file's name; COUNT_UNKNOWN */
    int64_t device;      /* of its Init line, or of the thread that called first; -1 */
    int is_old;          /* its Init line has no commId */
    int64_t owner;       /* number of its process and device; set when they are matched */
    int64_t turn;        /* number among the communicators of this size of its owner */
    uint64_t hash;       /* made up; 0: not matched */
    const char *source;  /* once matched: a note for the ledger, where its rank is from */
    uint64_t offset;     /* of the first line */
    int64_t init_lines;
    uint64_t first_launches; /* opCount of its first call */
    int is_counting;         /* opCount has increased since */
    int64_t calls[FUNCTION_COUNT];
    struct buffer example; /* the first call */
};

struct unnamed_call {
    size_t unnamed;
    int64_t tid;
    uint64_t offset;
    int64_t at_ns;
    struct message_call call;
};

struct unnamed_list {
    struct unnamed *items; /* owned, like calls */
    size_t count;
    size_t capacity;
    struct unnamed_call *calls;
    size_t call_count;
    size_t call_capacity;
    int has_more;          /* further calls were only counted */
    struct map by_address; /* process, address -> index in `items` */
};

void unnamed_init(struct unnamed_list *list);
void unnamed_release(struct unnamed_list *list);

/* Takes an Init line without commId. Returns -1 if memory is out. */
int unnamed_take_init(struct unnamed_list *list, const struct said *said, const struct message_init *init);

/* Takes a call. Returns -1 if memory is out. */
int unnamed_take_call(struct unnamed_list *list, const struct said *said, const struct message_call *call);

/*
 * Matches the members of the communicators. Of each size, every process and GPU must have the same number of
 * communicators, with one rank. The ranks are those of the Init lines, else the global ranks if they fit,
 * else, where each rank of one host has its own GPU, the device numbers. The communicators of an owner are
 * matched in order of their first lines. Without Init lines, opCount must show that the log has their first
 * calls, because calls are matched from the first on. If those of one size cannot be matched, none are: a
 * rank that waits in a call that is not known would look like one that is missing. Adds the members to
 * `processes`. Returns 1 if they were matched, 0 if not, and -1 if memory is out.
 */
int unnamed_match(struct unnamed_list *list, struct source_processes *processes);

/*
 * Reports the counted calls as losses, by process, device, function and number of ranks. Returns -1 on
 * failure.
 */
int unnamed_emit(const struct unnamed_list *list, const struct source_processes *processes,
                 const struct format_sink *sink, struct error *error);

#endif
