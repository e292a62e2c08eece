/* Helpers with which shapes build programs, and the program of each step of a job. */
#ifndef SIMULATE_PROGRAM_H
#define SIMULATE_PROGRAM_H

#include "simulate.h"

/* Adds to the program that is being built (job.building), for one rank. */
struct builder {
    struct job *job;
    int rank;
    int phase;
    int stream;
    int first_event; /* events are numbered from here on */
};

int add_phase(struct job *job, const char *name);
void phase(struct builder *builder, int index);
struct action *compute(struct builder *builder, int64_t us);
void collective(struct builder *builder, int communicator, enum function function, int64_t bytes,
                const char *datatype, int type_bytes, int root);
void record_event(struct builder *builder, int stream, int event);
void wait_event(struct builder *builder, int stream, int event);
struct action *group(struct builder *builder, int communicator);
void request(struct action *action, enum function function, int peer, int64_t bytes);
void finish_program(struct builder *builder);

/* For data that grows with the sequence. */
int64_t activation_bytes(const struct builder *builder, int64_t bytes);

/*
 * Communicators of the generation of the program being built: created when its first program requests them.
 */
int add_world(struct job *job);
void add_groups(struct job *job, const char *name, int size, int stride, int *of_rank);

/* Builds a program for each kind of step that the options require. */
void programs_build(struct job *job, void (*build)(struct job *job));
void programs_release(struct job *job);

#endif
