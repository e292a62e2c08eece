#ifndef NCCLPROF_FORMAT_ECHO_H
#define NCCLPROF_FORMAT_ECHO_H

#include "format/text.h"

/*
 * The words of what a rank reports when another one, or the network to it, is gone: an echo of that failure,
 * and none of its own. The more is known of a text, the fewer words make it one: those of a line of NCCL's
 * count in the texts below, too.
 */
enum echo_text {
    ECHO_LINE,     /* a line of NCCL's log, which may be of anything */
    ECHO_ERROR,    /* an error of NCCL, or what stands behind its "Last error:" */
    ECHO_EXCEPTION /* a program's exception, which it also gets from its own watchdog, or after a vain wait */
};

int echo_is_in(struct text text, enum echo_text of);

#endif
