#ifndef NCCLPROF_INPUT_UNPICKLE_H
#define NCCLPROF_INPUT_UNPICKLE_H

#include "base/error.h"
#include "input/value.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Python's pickle, as far as it is data: what torch's C++ pickler writes (protocol 2) and CPython's protocols
 * 2 to 5. A pickle is a program for a stack machine, and Python runs whatever it names: GLOBAL, REDUCE,
 * BUILD, INST, OBJ, PERSID, NEWOBJ, STACK_GLOBAL, EXT and their like are refused by name. So are the text
 * opcodes of protocol 0, sets and out-of-band buffers, which no dump has. Nothing is ever executed.
 *
 * Every length is held against the bytes that are left before anything is taken for it; memory is bounded by
 * UNPICKLE_BYTES_A_BYTE times the input. Opcodes: CPython's Lib/pickletools.py and torch's
 * torch/csrc/jit/serialization/pickler.h.
 */

/*
 * An opcode of one byte makes at most a value of 16 bytes on the stack, one in its container and one where
 * that grows, or an empty container of 40; the rest is the growth of arrays.
 */
enum { UNPICKLE_BYTES_A_BYTE = 24 };

struct unpickle_damage {
    uint64_t offset;  /* of the opcode that could not be taken */
    const char *what; /* a clause: "GLOBAL would run code"; NULL: all was read */
};

/*
 * Reads one pickle. The values borrow texts from `bytes`, and live in `values`, which the caller inits and
 * releases. What was read before damage is in *root all the same, its open containers marked as cut; *root is
 * VALUE_NULL where there was nothing. -1 when memory is out.
 */
int unpickle(struct values *values, const char *bytes, size_t length, struct value *root,
             struct unpickle_damage *damage, struct error *error);

#endif
