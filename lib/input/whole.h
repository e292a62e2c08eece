#ifndef NCCLPROF_INPUT_WHOLE_H
#define NCCLPROF_INPUT_WHOLE_H

#include "base/buffer.h"
#include "base/error.h"
#include "input/input.h"

/*
 * All bytes of an input at once: for formats that can only be read whole. Behind what is there already. -1
 * when it cannot be read to its end (what came before is there), memory is out, or there are more than
 * `bytes_most`.
 */
int input_whole(struct input *input, size_t bytes_most, struct buffer *bytes, struct error *error);

#endif
