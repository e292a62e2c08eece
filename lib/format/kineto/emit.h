#ifndef NCCLPROF_FORMAT_KINETO_EMIT_H
#define NCCLPROF_FORMAT_KINETO_EMIT_H

#include "format/format.h"
#include "format/kineto/trace.h"

/* From what is kept of a trace to events. */
struct kineto_emitter {
    const struct format_sink *sink;
    struct kineto_trace *trace;
    const char *path;
    char *host; /* owned; NULL unknown */
    int64_t process;
    int64_t next_ordinal;
};

void kineto_emitter_init(struct kineto_emitter *emitter, struct kineto_trace *trace,
                         const struct format_sink *sink, const char *path);
void kineto_emitter_release(struct kineto_emitter *emitter);

/*
 * Puts together what is at hand and hands the operations over whose kernels are, in the order in which they
 * were called; with `is_end` all the others, too, and what is known of the process. -1: the sink stopped it,
 * or memory is out.
 */
int kineto_emit(struct kineto_emitter *emitter, int is_end, struct error *error);

#endif
