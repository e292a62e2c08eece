/* The lines of ours in a Chrome trace: who wrote it, communicators, clocks, losses, and what is still
 * pending. */
#ifndef PLUGIN_WRITE_NOTES_H
#define PLUGIN_WRITE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/tree/tree.h"
#include "plugin/write/chrome_line.h"
#include "plugin/write/files.h"
#include "plugin/write/place.h"
#include "plugin/write/stop.h"

struct notes_process {
    char host[256];
    unsigned api;         /* of the communicator that came first */
    int nccl_version;     /* as ncclGetVersion says; 0 unknown */
    uint32_t mask;        /* enum api_event */
    uint64_t start_ns;    /* CLOCK_MONOTONIC of ts 0 */
    uint64_t realtime_ns; /* CLOCK_REALTIME at the same time */
    char boot[40];
    char rank[32];       /* as a launcher tells it, else in the communicator that came first */
    bool allocator_hook; /* PyTorch registers its allocator's memory with NCCL */
};

/* What was lost so far, each a count since the start. */
struct notes_drops {
    uint64_t ring;          /* records that found no room in their thread's ring */
    uint64_t lost;          /* events that found no room in the writer's memory */
    uint64_t evicted;       /* operations written unfinished to make room */
    uint64_t late;          /* stops and states that came after their operation was written */
    uint64_t orphans;       /* events whose parent was unknown, but for tasks */
    uint64_t unknown;       /* events and states of no known kind */
    uint64_t communicators; /* that found no number: their events have none */
};

/* CLOCK_MONOTONIC and CLOCK_REALTIME at one moment, to within uncertainty_ns. */
struct notes_anchor {
    uint64_t monotonic_ns, realtime_ns, uncertainty_ns;
};

void notes_read_boot(char boot[40]);
struct notes_anchor notes_anchor_now(void);

void notes_process(struct chrome *chrome, const struct notes_process *process);

/* Where the process runs, as far as anything is known of that. */
void notes_place(struct chrome *chrome, const struct place *place, uint64_t now_ns);

/* What viewers call the process: the Trace Event Format's own line. */
void notes_process_name(struct chrome *chrome, const struct notes_process *process);
void notes_communicator(struct chrome *chrome, uint32_t number, uint64_t now_ns);
void notes_anchor(struct chrome *chrome, const struct notes_anchor *anchor, const char *boot);
void notes_gpu_clocks(struct chrome *chrome, struct files *files, uint64_t now_ns);
/* As members of a JSON object. */
void notes_print_drops(struct text *text, const struct notes_drops *drops);
void notes_drops(struct chrome *chrome, const struct notes_drops *drops, uint64_t now_ns);
/* That recording stopped while the process went on. */
void notes_stopped(struct chrome *chrome, const struct stop *stop, uint64_t written_bytes);
void notes_end(struct chrome *chrome, const char *reason, uint64_t operations, uint64_t unfinished,
               uint64_t now_ns);

/* A line for every operation that is due for one, as long as there is room in the files. */
void notes_pending(struct chrome *chrome, struct files *files, uint64_t now_ns);

#endif
