#ifndef NCCLPROF_MODEL_VOCAB_H
#define NCCLPROF_MODEL_VOCAB_H

#include <stddef.h>
#include <stdint.h>

/*
 * The field's words as small numbers. The numbers are stored in files (schemas/store) and so never change:
 * add at the end. 0 is always "not said", *_OTHER a word that we do not know.
 */

enum function {
    FUNCTION_UNKNOWN = 0,
    FUNCTION_OTHER,
    FUNCTION_ALL_REDUCE,
    FUNCTION_ALL_GATHER,
    FUNCTION_REDUCE_SCATTER,
    FUNCTION_ALL_TO_ALL,
    FUNCTION_GATHER,
    FUNCTION_SCATTER,
    FUNCTION_BROADCAST,
    FUNCTION_REDUCE,
    FUNCTION_BARRIER,
    FUNCTION_SEND,
    FUNCTION_RECV,
    FUNCTION_COUNT
};

enum datatype {
    DATATYPE_UNKNOWN = 0,
    DATATYPE_OTHER,
    DATATYPE_INT8,
    DATATYPE_UINT8,
    DATATYPE_INT32,
    DATATYPE_UINT32,
    DATATYPE_INT64,
    DATATYPE_UINT64,
    DATATYPE_FLOAT16,
    DATATYPE_FLOAT32,
    DATATYPE_FLOAT64,
    DATATYPE_BFLOAT16,
    DATATYPE_FLOAT8E4M3,
    DATATYPE_FLOAT8E5M2,
    DATATYPE_COUNT
};

enum algorithm {
    ALGORITHM_UNKNOWN = 0,
    ALGORITHM_OTHER,
    ALGORITHM_TREE,
    ALGORITHM_RING,
    ALGORITHM_COLLNET_DIRECT,
    ALGORITHM_COLLNET_CHAIN,
    ALGORITHM_NVLS,
    ALGORITHM_NVLS_TREE,
    ALGORITHM_PAT,
    ALGORITHM_COPY_ENGINE, /* no kernel: copies by the GPU's copy engines, which no trace calls an algorithm
                            */
    /* Kernels on symmetric memory, as NCCL names them behind their function ("AllGather_LLMC"). */
    ALGORITHM_SYMMETRIC_FIRST,
    ALGORITHM_AGXLL_R = ALGORITHM_SYMMETRIC_FIRST,
    ALGORITHM_AGXLLMC_R,
    ALGORITHM_RSXLD_AGXST,
    ALGORITHM_RSXLDMC_AGXSTMC,
    ALGORITHM_RSXTMALD_AGXTMAST,
    ALGORITHM_RSXNET_ARXMC_AGXNET,
    ALGORITHM_SYMMETRIC_LL,
    ALGORITHM_LLMC,
    ALGORITHM_ST,
    ALGORITHM_STMC,
    ALGORITHM_TMAST,
    ALGORITHM_TMASTMC,
    ALGORITHM_RAILRING_LSASTMC,
    ALGORITHM_GINHIER_MCRING,
    ALGORITHM_LD,
    ALGORITHM_LDMC,
    ALGORITHM_TMALD,
    ALGORITHM_RAILA2A_LSALD,
    ALGORITHM_RAILA2A_LSALDMC,
    ALGORITHM_COUNT
};

enum protocol {
    PROTOCOL_UNKNOWN = 0,
    PROTOCOL_OTHER,
    PROTOCOL_LL,
    PROTOCOL_LL128,
    PROTOCOL_SIMPLE,
    PROTOCOL_COUNT
};

/*
 * From the words that NCCL prints, in any of its spellings ("ncclAllReduce", "AllReduce"; "ncclFloat32";
 * "Ring", "RING"). `text` need not end in NUL. Unknown words give *_OTHER, an empty text *_UNKNOWN.
 */
enum function function_from_text(const char *text, size_t length);
enum datatype datatype_from_text(const char *text, size_t length);
enum algorithm algorithm_from_text(const char *text, size_t length);
enum protocol protocol_from_text(const char *text, size_t length);

/*
 * Of the name of a kernel on symmetric memory, from its function on: "AllReduce_RSxLD_AGxST_sum_f32(...)".
 * ALGORITHM_OTHER: it is none that is known.
 */
enum algorithm algorithm_from_symmetric_kernel(const char *text, size_t length);

/* ncclDataType_t as a number, as NCCL 2.23's profiler prints it. */
enum datatype datatype_from_nccl(int64_t number);

/* The canonical word; NULL for *_UNKNOWN and numbers out of range. */
const char *function_name(enum function function);
const char *datatype_name(enum datatype datatype);
const char *algorithm_name(enum algorithm algorithm);
const char *protocol_name(enum protocol protocol);

/* Bytes of one element; 0 when not known. */
int64_t datatype_bytes(enum datatype datatype);

/* Send and Recv; everything else that is known is a collective. */
int function_is_point_to_point(enum function function);

/*
 * True for AllReduce, AllGather, ReduceScatter, AlltoAll and Barrier: nobody finishes before everybody has
 * arrived, so that waiting can be read off durations. False for rooted functions and for unknown ones.
 */
int function_is_full_exchange(enum function function);

/*
 * The size S of nccl-tests' doc/PERFORMANCE.md in bytes: `bytes` is count x type size as the API got it
 * (per rank for AllGather, ReduceScatter, AlltoAll, Gather and Scatter), `ranks` the communicator's size.
 */
int64_t function_size_bytes(enum function function, int64_t bytes, int64_t ranks);

/* Bus bandwidth = algorithm bandwidth x this factor (same source). */
double function_busbw_factor(enum function function, int64_t ranks);

#endif
