/*
 * What the name of a kernel in a Kineto trace gives: NCCL's function and datatype, or the library that
 * communicates without NCCL.
 */
#include "base/base.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

/* Takes one word of a name, up to an underscore. Returns 0 at the end. */
static int next_word(struct raw_json *rest, struct raw_json *word)
{
    size_t at = 0;
    while (rest->length && *rest->text == '_') {
        rest->text++;
        rest->length--;
    }
    while (at < rest->length && rest->text[at] != '_' && rest->text[at] != '(' && rest->text[at] != '<')
        at++;
    *word = (struct raw_json){rest->text, at};
    rest->text += at;
    rest->length -= at;
    return at > 0;
}

struct datatype_word {
    const char *text;
    enum datatype datatype;
};

static const struct datatype_word kernel_datatypes[] = {
    {"f32", DATATYPE_FLOAT32},       {"f16", DATATYPE_FLOAT16},       {"bf16", DATATYPE_BFLOAT16},
    {"f64", DATATYPE_FLOAT64},       {"u8", DATATYPE_UINT8},          {"i8", DATATYPE_INT8},
    {"u32", DATATYPE_UINT32},        {"i32", DATATYPE_INT32},         {"u64", DATATYPE_UINT64},
    {"i64", DATATYPE_INT64},         {"f8e4m3", DATATYPE_FLOAT8E4M3}, {"f8e5m2", DATATYPE_FLOAT8E5M2},
    {"float", DATATYPE_FLOAT32},     {"half", DATATYPE_FLOAT16},      {"double", DATATYPE_FLOAT64},
    {"bfloat16", DATATYPE_BFLOAT16}, {"int8", DATATYPE_INT8},         {"uint8", DATATYPE_UINT8},
    {"int32", DATATYPE_INT32},       {"uint32", DATATYPE_UINT32},     {"int64", DATATYPE_INT64},
    {"uint64", DATATYPE_UINT64},     {NULL, DATATYPE_UNKNOWN},
};

static enum datatype datatype_of(struct raw_json text)
{
    const struct datatype_word *word = kernel_datatypes;
    while (word->text && !raw_json_is(text, word->text))
        word++;
    return word->datatype;
}

/* The word after "ncclSymkDevKernel_", up to NCCL 2.27 "ncclSymDevKernel_". */
static enum algorithm symmetric_algorithm(struct raw_json name)
{
    static const char mark[] = "DevKernel_";
    const char *kernel = memmem(name.text, name.length, mark, sizeof mark - 1);
    if (!kernel)
        return ALGORITHM_OTHER;
    kernel += sizeof mark - 1;
    return algorithm_from_symmetric_kernel(kernel, (size_t)(name.text + name.length - kernel));
}

static int is_symmetric_name(struct raw_json name)
{
    static const char mark[] = "ncclSym";
    return name.length && memmem(name.text, name.length, mark, sizeof mark - 1) != NULL;
}

void kineto_kernel_name(struct raw_json name, struct kineto_kernel_name *parts)
{
    struct raw_json rest = name, word;
    *parts = (struct kineto_kernel_name){.function = FUNCTION_OTHER, .is_symmetric = is_symmetric_name(name)};
    if (parts->is_symmetric)
        parts->algorithm = symmetric_algorithm(name);
    while (next_word(&rest, &word)) {
        enum function function = function_from_text(word.text, word.length);
        enum datatype datatype = datatype_of(word);
        if (parts->function == FUNCTION_OTHER && function > FUNCTION_OTHER)
            parts->function = function;
        else if (datatype)
            parts->datatype = datatype;
    }
}

/*
 * Kernels that communicate without NCCL, by the words in their names: in lower case and without underscores,
 * so that "oneShotAllReduceKernel" and "one_shot_all_reduce_kernel" are one. The first row whose words are
 * all in the name counts. Sources: the kernels of vLLM, SGLang, aiter, TensorRT-LLM, FlashInfer, PyTorch,
 * DeepEP, pplx-kernels, Transformer Engine, NVSHMEM and MSCCL++ in 2024 to 2026.
 *
 * WAITS: begins or ends with a barrier of all members, or polls until the data of all have arrived, as NCCL's
 * kernels do: its time is transfer and waiting for ranks that arrive late. MAY_WAIT: some launches only send,
 * or it also computes, or it is unknown. PHASES: WAITS, unless the trace shows that it is launched once to
 * send and once to receive. LOCAL: does not communicate. A new row takes a raised format_kineto.version, a
 * line in ncclprof-formats(5) if the library is new, and a row in tests/unit/format/test_kineto.c.
 */
enum meaning { LOCAL, WAITS, MAY_WAIT, PHASES };

struct family {
    const char *word;
    const char *also; /* NULL: no further word */
    const char *library;
    enum function function;
    enum meaning meaning;
    int ranks_at; /* which template argument is the number of ranks, from 1; 0: none */
};

static const char vllm[] = "vLLM", sglang[] = "SGLang", deep_ep[] = "DeepEP", pplx[] = "pplx-kernels",
                  trtllm[] = "TensorRT-LLM", torch[] = "PyTorch symmetric memory", nvshmem[] = "NVSHMEM",
                  userbuffers[] = "Transformer Engine", unknown[] = "unknown library";

static const struct family families[] = {
    {"crossdevicereduce", "vllm", vllm, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"crossdevicereduce", "aiter", "aiter", FUNCTION_ALL_REDUCE, WAITS, 2},
    {"crossdevicereduce", "sglang", sglang, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"crossdevicereduce", NULL, "custom all-reduce", FUNCTION_ALL_REDUCE, WAITS, 2},
    {"allreduceprototype", NULL, "QuickReduce", FUNCTION_ALL_REDUCE, WAITS, 0},
    {"reducescattercrossdevice", NULL, "aiter", FUNCTION_REDUCE_SCATTER, WAITS, 0},
    {"allreducell1node", NULL, "MSCCL++", FUNCTION_ALL_REDUCE, WAITS, 0},
    {"allreducell2node", NULL, "MSCCL++", FUNCTION_ALL_REDUCE, WAITS, 0},

    {"deepep", "getdispatchlayout", deep_ep, FUNCTION_UNKNOWN, LOCAL, 0},
    {"deepep", "maskbuffer", deep_ep, FUNCTION_UNKNOWN, LOCAL, 0},
    {"deepep", "epilogue", deep_ep, FUNCTION_UNKNOWN, LOCAL, 0},
    {"deepep", "elastic", deep_ep, FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},
    {"deepep", "cleanlowlatencybuffer", deep_ep, FUNCTION_BARRIER, WAITS, 0},
    {"deepep", "cachednotify", deep_ep, FUNCTION_BARRIER, WAITS, 0},
    {"deepep", "barrier", deep_ep, FUNCTION_BARRIER, WAITS, 1},
    /* One kernel for both halves: programs that overlap launch it once to send, once to receive. */
    {"deepep", "internodell", deep_ep, FUNCTION_ALL_TO_ALL, PHASES, 0},
    {"intranode::notifydispatch", "deepep", deep_ep, FUNCTION_ALL_TO_ALL, WAITS, 1},
    {"intranode::dispatch", "deepep", deep_ep, FUNCTION_ALL_TO_ALL, WAITS, 1},
    {"intranode::combine", "deepep", deep_ep, FUNCTION_ALL_TO_ALL, WAITS, 2},
    {"deepep", "notifydispatch", deep_ep, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"deepep", "dispatch", deep_ep, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"deepep", "combine", deep_ep, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"deepep", NULL, deep_ep, FUNCTION_OTHER, MAY_WAIT, 0},
    {"hybridep", "devicesync", "HybridEP", FUNCTION_BARRIER, WAITS, 1},
    {"hybridep", "dispatchkernel", "HybridEP", FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},
    {"hybridep", "combinekernel", "HybridEP", FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},
    {"a2adispatchrecv", NULL, pplx, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"a2acombinerecv", NULL, pplx, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"a2adispatchsend", NULL, pplx, FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},
    {"a2acombinesend", NULL, pplx, FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},

    {"moea2aprepare", NULL, trtllm, FUNCTION_UNKNOWN, LOCAL, 0},
    {"moea2asanitize", NULL, trtllm, FUNCTION_UNKNOWN, LOCAL, 0},
    {"moea2adispatch", NULL, trtllm, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"moea2acombine", NULL, trtllm, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"moealltoallkernel", NULL, trtllm, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"helixalltoallkernel", NULL, trtllm, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"allreducefusionkernel", NULL, trtllm, FUNCTION_ALL_REDUCE, WAITS, 3},
    {"allreducenormkernel", NULL, trtllm, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"twoshotallreducekernel", "mnnvl", trtllm, FUNCTION_ALL_REDUCE, WAITS, 0},
    {"rmsnormlamport", NULL, trtllm, FUNCTION_ALL_GATHER, WAITS, 0}, /* the second half of the row before */

    {"oneshotallreducekernel", "tensorrtllm", trtllm, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"twoshotallreducekernel", "tensorrtllm", trtllm, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"oneshotallreducekernel", "trtllm", trtllm, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"twoshotallreducekernel", "trtllm", trtllm, FUNCTION_ALL_REDUCE, WAITS, 2},
    {"flashinfer", "allreduce", "FlashInfer", FUNCTION_ALL_REDUCE, MAY_WAIT, 0},
    {"flashinfer", "reducescatter", "FlashInfer", FUNCTION_REDUCE_SCATTER, MAY_WAIT, 0},
    {"flashinfer", "allgather", "FlashInfer", FUNCTION_ALL_GATHER, MAY_WAIT, 0},
    {"ulyssesa2a", NULL, "FlashInfer", FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},
    /* In a namespace without a name. */
    {"oneshotallreducekernel", NULL, torch, FUNCTION_ALL_REDUCE, WAITS, 3},
    {"twoshotallreducekernel", NULL, torch, FUNCTION_ALL_REDUCE, WAITS, 3},
    {"hybridcubemeshallreducekernel", NULL, torch, FUNCTION_ALL_REDUCE, WAITS, 0},
    {"multimemallreduce", NULL, torch, FUNCTION_ALL_REDUCE, WAITS, 0},
    {"multimemallgather", NULL, torch, FUNCTION_ALL_GATHER, WAITS, 0},
    {"multimemoneshotreduce", NULL, torch, FUNCTION_REDUCE, WAITS, 0},
    {"symmetricmemory", "barrierkernel", torch, FUNCTION_BARRIER, WAITS, 0},
    {"symmetricmemory", "signalkernel", torch, FUNCTION_OTHER, MAY_WAIT, 0},

    {"userbuffers", "push", userbuffers, FUNCTION_OTHER, MAY_WAIT, 0},
    {"userbuffers", "rrrs", userbuffers, FUNCTION_REDUCE_SCATTER, WAITS, 0},
    {"userbuffers", "rwrs", userbuffers, FUNCTION_REDUCE_SCATTER, WAITS, 0},
    {"userbuffers", "mcrs", userbuffers, FUNCTION_REDUCE_SCATTER, WAITS, 0},
    {"userbuffers", "rrag", userbuffers, FUNCTION_ALL_GATHER, WAITS, 0},
    {"userbuffers", "rwag", userbuffers, FUNCTION_ALL_GATHER, WAITS, 0},
    {"userbuffers", "mcag", userbuffers, FUNCTION_ALL_GATHER, WAITS, 0},
    {"userbuffersfp16suminplace", NULL, userbuffers, FUNCTION_ALL_REDUCE, WAITS, 0},
    {"userbuffers", NULL, userbuffers, FUNCTION_OTHER, MAY_WAIT, 0},

    {"barrieronstreamkernel", NULL, nvshmem, FUNCTION_BARRIER, WAITS, 0},
    {"synconstreamkernel", NULL, nvshmem, FUNCTION_BARRIER, WAITS, 0},
    {"alltoallonstreamkernel", NULL, nvshmem, FUNCTION_ALL_TO_ALL, WAITS, 0},
    {"fcollectonstreamkernel", NULL, nvshmem, FUNCTION_ALL_GATHER, WAITS, 0},
    {"reducescatteronstreamkernel", NULL, nvshmem, FUNCTION_REDUCE_SCATTER, WAITS, 0},
    {"rdxnonstreamkernel", NULL, nvshmem, FUNCTION_ALL_REDUCE, WAITS, 0},
    {"broadcastonstreamkernel", NULL, nvshmem, FUNCTION_BROADCAST, WAITS, 0},
    {"nvshmem", NULL, nvshmem, FUNCTION_OTHER, MAY_WAIT, 0},
    {"rocshmem", NULL, "rocSHMEM", FUNCTION_OTHER, MAY_WAIT, 0},

    {"allreduce", NULL, unknown, FUNCTION_ALL_REDUCE, MAY_WAIT, 0},
    {"reducescatter", NULL, unknown, FUNCTION_REDUCE_SCATTER, MAY_WAIT, 0},
    {"allgather", NULL, unknown, FUNCTION_ALL_GATHER, MAY_WAIT, 0},
    {"alltoall", NULL, unknown, FUNCTION_ALL_TO_ALL, MAY_WAIT, 0},
};

/* The name without template arguments and parameters, as in the table. */
struct plain_name {
    char text[256];
    size_t length;
};

/* The namespace of kernels that are static in their file. */
static const char anonymous[] = "(anonymous namespace)";

static size_t length_without_arguments(struct raw_json name)
{
    size_t skipped = sizeof anonymous - 1;
    for (size_t i = 0; i < name.length; i++) {
        if (name.text[i] == '<')
            return i;
        if (name.text[i] != '(')
            continue;
        if (name.length - i < skipped || memcmp(name.text + i, anonymous, skipped) != 0)
            return i;
        i += skipped - 1;
    }
    return name.length;
}

static void make_plain(struct raw_json name, struct plain_name *plain)
{
    size_t length = length_without_arguments(name);
    plain->length = 0;
    for (size_t i = 0; i < length && plain->length < sizeof plain->text; i++) {
        char byte = name.text[i];
        if (byte != '_')
            plain->text[plain->length++] = (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
    }
}

static int has_word(const struct plain_name *plain, const char *word)
{
    return memmem(plain->text, plain->length, word, strlen(word)) != NULL;
}

/* Each row has one of these in it. */
static const char *const stems[] = {"allreduce",   "reducescatter", "devicereduce",   "shotreduce",
                                    "crossdevice", "allgather",     "alltoall",       "deepep",
                                    "hybridep",    "a2a",           "onstream",       "shmem",
                                    "userbuffers", "lamport",       "symmetricmemory"};

/* A name has a few letters with which a stem begins, so each place is compared with few stems. */
static int has_stem(const struct plain_name *plain)
{
    for (size_t at = 0; at + 2 < plain->length; at++)
        for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
            if (plain->text[at] == stems[i][0] && plain->text[at + 1] == stems[i][1] &&
                plain->length - at >= strlen(stems[i]) &&
                memcmp(plain->text + at, stems[i], strlen(stems[i])) == 0)
                return 1;
    return 0;
}

/*
 * Whether any row can match: a quick answer for kernels that compute. Inductor names kernels that it fuses
 * after all operators around them, collectives included.
 */
static int may_communicate(const struct plain_name *plain)
{
    static const char fused[] = "triton";
    size_t length = sizeof fused - 1;
    return !(plain->length >= length && memcmp(plain->text, fused, length) == 0) && has_stem(plain);
}

/* Template argument `at`, counted from 1, as a number of ranks; COUNT_UNKNOWN. */
static int64_t ranks_in_template(struct raw_json name, int at)
{
    const char *begin = name.text + length_without_arguments(name), *end = name.text + name.length;
    int64_t ranks;
    int depth = 0, number = 0;
    for (const char *byte = begin; at && byte < end; byte++) {
        int is_end = depth == 1 && (*byte == ',' || *byte == '>');
        if (is_end && ++number == at)
            return !number_int64(begin, (size_t)(byte - begin), &ranks) && ranks >= 2 ? ranks : COUNT_UNKNOWN;
        depth += *byte == '<';
        depth -= *byte == '>';
        if (depth == 0)
            break;
        if (depth == 1 && (*byte == '<' || *byte == ',' || *byte == ' '))
            begin = byte + 1;
    }
    return COUNT_UNKNOWN;
}

int kineto_library_kernel(struct raw_json name, struct kineto_library_kernel *found)
{
    struct plain_name plain;
    make_plain(name, &plain);
    if (!may_communicate(&plain))
        return 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct family *family = &families[i];
        if (!has_word(&plain, family->word) || (family->also && !has_word(&plain, family->also)))
            continue;
        *found = (struct kineto_library_kernel){
            .library = family->library,
            .function = family->meaning == MAY_WAIT ? FUNCTION_OTHER : family->function,
            .ranks = ranks_in_template(name, family->ranks_at),
            .phase = family->meaning != PHASES     ? KINETO_WHOLE
                     : has_word(&plain, "combine") ? KINETO_PHASE_OF_COMBINE
                                                   : KINETO_PHASE_OF_DISPATCH,
        };
        return family->meaning != LOCAL;
    }
    return 0;
}

int kineto_library_kernel_again(struct kineto_plain_names *names, struct raw_json name,
                                struct kineto_library_kernel *found)
{
    if (name.length < 8 || name.length > KINETO_PLAIN_NAME_BYTES)
        return kineto_library_kernel(name, found);
    uint64_t mixed = (eight_bytes(name.text + name.length - 8) ^ name.length) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(mixed >> 58);
    _Static_assert(KINETO_PLAIN_NAMES == 1 << (64 - 58), "the top bits are the place of a name");
    if (names->items[at].length == name.length && memcmp(names->items[at].text, name.text, name.length) == 0)
        return 0;
    if (kineto_library_kernel(name, found))
        return 1;
    names->items[at].length = (uint16_t)name.length;
    memcpy(names->items[at].text, name.text, name.length);
    return 0;
}
