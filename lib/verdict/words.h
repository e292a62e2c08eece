#ifndef NCCLPROF_VERDICT_WORDS_H
#define NCCLPROF_VERDICT_WORDS_H

#include "base/buffer.h"
#include "base/time_text.h"
#include "job/job.h"

#include <stdint.h>

/* Pieces of sentences, and times in JSON. All return -1 when memory is out. */

int text_json_us(struct buffer *json, const char *name, int64_t time_ns); /* null for TIME_UNKNOWN */

/* "2026-11-25T10:12:04.120000Z": of nanoseconds since 1970; nothing for what no calendar has. */
int text_utc(struct buffer *text, int64_t time_ns);

/* "th", "st", "nd", "rd": what follows a number that says which of several. */
const char *text_ordinal(int32_t number);

/* "; peers 306 us, rank 7 in other steps 305 us": what a gap is held against; TIME_UNKNOWN is left out. */
int text_gaps(struct buffer *text, int64_t peers_ns, int64_t other_steps_ns, const char *rank);

/* "ranks 6-7", "communicator dp3": a communicator by its label, which may be the ranks in it. */
int text_communicator(struct buffer *text, const struct job_communicator *communicator);

/* " on communicator {6-7}", " on communicator dp3". */
int text_on_communicator(struct buffer *text, const struct job_communicator *communicator);
int text_on_label(struct buffer *text, const char *label);

/* "operation 11 of the step (AllReduce, ranks 0-7)": `communicator`: NULL where it differs, or is unknown. */
int text_place(struct buffer *text, int32_t number, const char *step, const char *function,
               const struct job_communicator *communicator);

/*
 * "AllReduce #5 on communicator {0-3}", "Send #2 from rank 0 to rank 4 on communicator {0,4}": by
 * what v_instance (ncclprof-store(5)) finds it. Of a communicator of which ranks left no trace, how many it
 * has.
 */
int text_operation(struct buffer *text, const struct job *job, const struct job_instance *instance,
                   uint8_t function);

#endif
