#include "model/vocab.h"

#include <string.h>

/* Indexed by number; the spellings are compared without case, underscores and NCCL's prefix. */
static const char *const functions[FUNCTION_COUNT] = {
    [FUNCTION_OTHER] = "other",
    [FUNCTION_ALL_REDUCE] = "AllReduce",
    [FUNCTION_ALL_GATHER] = "AllGather",
    [FUNCTION_REDUCE_SCATTER] = "ReduceScatter",
    [FUNCTION_ALL_TO_ALL] = "AlltoAll",
    [FUNCTION_GATHER] = "Gather",
    [FUNCTION_SCATTER] = "Scatter",
    [FUNCTION_BROADCAST] = "Broadcast",
    [FUNCTION_REDUCE] = "Reduce",
    [FUNCTION_BARRIER] = "Barrier",
    [FUNCTION_SEND] = "Send",
    [FUNCTION_RECV] = "Recv",
};

static const char *const datatypes[DATATYPE_COUNT] = {
    [DATATYPE_OTHER] = "other",           [DATATYPE_INT8] = "int8",
    [DATATYPE_UINT8] = "uint8",           [DATATYPE_INT32] = "int32",
    [DATATYPE_UINT32] = "uint32",         [DATATYPE_INT64] = "int64",
    [DATATYPE_UINT64] = "uint64",         [DATATYPE_FLOAT16] = "float16",
    [DATATYPE_FLOAT32] = "float32",       [DATATYPE_FLOAT64] = "float64",
    [DATATYPE_BFLOAT16] = "bfloat16",     [DATATYPE_FLOAT8E4M3] = "float8e4m3",
    [DATATYPE_FLOAT8E5M2] = "float8e5m2",
};

static const char *const algorithms[ALGORITHM_COUNT] = {
    [ALGORITHM_OTHER] = "other",
    [ALGORITHM_TREE] = "TREE",
    [ALGORITHM_RING] = "RING",
    [ALGORITHM_COLLNET_DIRECT] = "COLLNET_DIRECT",
    [ALGORITHM_COLLNET_CHAIN] = "COLLNET_CHAIN",
    [ALGORITHM_NVLS] = "NVLS",
    [ALGORITHM_NVLS_TREE] = "NVLS_TREE",
    [ALGORITHM_PAT] = "PAT",
    [ALGORITHM_COPY_ENGINE] = "COPY_ENGINE",
    [ALGORITHM_AGXLL_R] = "AGxLL_R",
    [ALGORITHM_AGXLLMC_R] = "AGxLLMC_R",
    [ALGORITHM_RSXLD_AGXST] = "RSxLD_AGxST",
    [ALGORITHM_RSXLDMC_AGXSTMC] = "RSxLDMC_AGxSTMC",
    [ALGORITHM_RSXTMALD_AGXTMAST] = "RSxTmaLD_AGxTmaST",
    [ALGORITHM_RSXNET_ARXMC_AGXNET] = "RSxNet_ARxMC_AGxNet",
    [ALGORITHM_SYMMETRIC_LL] = "LL",
    [ALGORITHM_LLMC] = "LLMC",
    [ALGORITHM_ST] = "ST",
    [ALGORITHM_STMC] = "STMC",
    [ALGORITHM_TMAST] = "TmaST",
    [ALGORITHM_TMASTMC] = "TmaSTMC",
    [ALGORITHM_RAILRING_LSASTMC] = "RailRing_LsaSTMC",
    [ALGORITHM_GINHIER_MCRING] = "GinHier_MCRing",
    [ALGORITHM_LD] = "LD",
    [ALGORITHM_LDMC] = "LDMC",
    [ALGORITHM_TMALD] = "TmaLD",
    [ALGORITHM_RAILA2A_LSALD] = "RailA2A_LsaLD",
    [ALGORITHM_RAILA2A_LSALDMC] = "RailA2A_LsaLDMC",
};

static const char *const protocols[PROTOCOL_COUNT] = {
    [PROTOCOL_OTHER] = "other",
    [PROTOCOL_LL] = "LL",
    [PROTOCOL_LL128] = "LL128",
    [PROTOCOL_SIMPLE] = "SIMPLE",
};

/* Other words for the same things: ncclDataType_t's aliases and what older versions print. */
struct synonym {
    const char *text;
    int number;
};

static const struct synonym datatype_synonyms[] = {
    {"char", DATATYPE_INT8},     {"int", DATATYPE_INT32},      {"half", DATATYPE_FLOAT16},
    {"float", DATATYPE_FLOAT32}, {"double", DATATYPE_FLOAT64}, {NULL, 0},
};

static const struct synonym function_synonyms[] = {
    {"bcast", FUNCTION_BROADCAST},
    {"alltoallv", FUNCTION_ALL_TO_ALL}, /* RCCL, as the next */
    {"allreducewithbias", FUNCTION_ALL_REDUCE},
    {NULL, 0},
};

static const struct synonym no_synonyms[] = {{NULL, 0}};

static int lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

/* Compares `text` with `word`, both without case and underscores. */
static int is_word(const char *text, size_t length, const char *word)
{
    size_t at = 0;
    for (;;) {
        while (at < length && text[at] == '_')
            at++;
        while (*word == '_')
            word++;
        if (at == length || !*word)
            return at == length && !*word;
        if (lower(text[at++]) != lower(*word++))
            return 0;
    }
}

/* The word as we write it ourselves, which is how most traces write it. */
static int find_exactly(const char *text, size_t length, const char *const *words, int word_count)
{
    for (int i = 2; i < word_count; i++)
        if (words[i][0] == text[0] && strncmp(words[i], text, length) == 0 && words[i][length] == '\0')
            return i;
    return 0;
}

/* 0 for an empty text and for the "Unknown" that NCCL prints when it does not know, 1 for a strange word. */
static int find_word(const char *text, size_t length, const char *const *words, int word_count,
                     const struct synonym *synonyms)
{
    int exact = length > 0 ? find_exactly(text, length, words, word_count) : 0;
    if (exact)
        return exact;
    if (length > 4 && is_word(text, 4, "nccl")) {
        text += 4;
        length -= 4;
    }
    if (length == 0 || is_word(text, length, "unknown"))
        return 0;
    for (int i = 2; i < word_count; i++)
        if (is_word(text, length, words[i]))
            return i;
    for (; synonyms->text; synonyms++)
        if (is_word(text, length, synonyms->text))
            return synonyms->number;
    return 1;
}

enum function function_from_text(const char *text, size_t length)
{
    return (enum function)find_word(text, length, functions, FUNCTION_COUNT, function_synonyms);
}

enum datatype datatype_from_text(const char *text, size_t length)
{
    return (enum datatype)find_word(text, length, datatypes, DATATYPE_COUNT, datatype_synonyms);
}

enum algorithm algorithm_from_text(const char *text, size_t length)
{
    return (enum algorithm)find_word(text, length, algorithms, ALGORITHM_COUNT, no_synonyms);
}

enum algorithm algorithm_from_symmetric_kernel(const char *text, size_t length)
{
    const char *bar = memchr(text, '_', length);
    size_t longest = 0;
    enum algorithm found = ALGORITHM_OTHER;
    for (int i = ALGORITHM_SYMMETRIC_FIRST; bar && i < ALGORITHM_COUNT; i++) {
        size_t rest = (size_t)(text + length - bar) - 1, word = strlen(algorithms[i]);
        int is_it = word > longest && word <= rest && memcmp(bar + 1, algorithms[i], word) == 0 &&
                    (word == rest || bar[1 + word] == '_' || bar[1 + word] == '(');
        if (!is_it)
            continue;
        longest = word;
        found = (enum algorithm)i;
    }
    return found;
}

enum protocol protocol_from_text(const char *text, size_t length)
{
    return (enum protocol)find_word(text, length, protocols, PROTOCOL_COUNT, no_synonyms);
}

enum datatype datatype_from_nccl(int64_t number)
{
    static const enum datatype numbers[] = {
        DATATYPE_INT8,    DATATYPE_UINT8,    DATATYPE_INT32,      DATATYPE_UINT32,
        DATATYPE_INT64,   DATATYPE_UINT64,   DATATYPE_FLOAT16,    DATATYPE_FLOAT32,
        DATATYPE_FLOAT64, DATATYPE_BFLOAT16, DATATYPE_FLOAT8E4M3, DATATYPE_FLOAT8E5M2,
    };
    if (number < 0 || (uint64_t)number >= sizeof numbers / sizeof *numbers)
        return DATATYPE_OTHER;
    return numbers[number];
}

const char *function_name(enum function function)
{
    return (unsigned)function < FUNCTION_COUNT ? functions[function] : NULL;
}

const char *datatype_name(enum datatype datatype)
{
    return (unsigned)datatype < DATATYPE_COUNT ? datatypes[datatype] : NULL;
}

const char *algorithm_name(enum algorithm algorithm)
{
    return (unsigned)algorithm < ALGORITHM_COUNT ? algorithms[algorithm] : NULL;
}

const char *protocol_name(enum protocol protocol)
{
    return (unsigned)protocol < PROTOCOL_COUNT ? protocols[protocol] : NULL;
}

int64_t datatype_bytes(enum datatype datatype)
{
    static const int64_t bytes[DATATYPE_COUNT] = {
        [DATATYPE_INT8] = 1,    [DATATYPE_UINT8] = 1,    [DATATYPE_INT32] = 4,      [DATATYPE_UINT32] = 4,
        [DATATYPE_INT64] = 8,   [DATATYPE_UINT64] = 8,   [DATATYPE_FLOAT16] = 2,    [DATATYPE_FLOAT32] = 4,
        [DATATYPE_FLOAT64] = 8, [DATATYPE_BFLOAT16] = 2, [DATATYPE_FLOAT8E4M3] = 1, [DATATYPE_FLOAT8E5M2] = 1,
    };
    return (unsigned)datatype < DATATYPE_COUNT ? bytes[datatype] : 0;
}

int function_is_point_to_point(enum function function)
{
    return function == FUNCTION_SEND || function == FUNCTION_RECV;
}

int function_is_full_exchange(enum function function)
{
    switch (function) {
    case FUNCTION_ALL_REDUCE:
    case FUNCTION_ALL_GATHER:
    case FUNCTION_REDUCE_SCATTER:
    case FUNCTION_ALL_TO_ALL:
    case FUNCTION_BARRIER:
        return 1;
    default:
        return 0;
    }
}

/* Functions whose API count is what one rank gives or gets, a size of n times that for all of them. */
static int counts_one_rank(enum function function)
{
    switch (function) {
    case FUNCTION_ALL_GATHER:
    case FUNCTION_REDUCE_SCATTER:
    case FUNCTION_ALL_TO_ALL:
    case FUNCTION_GATHER:
    case FUNCTION_SCATTER:
        return 1;
    default:
        return 0;
    }
}

int64_t function_size_bytes(enum function function, int64_t bytes, int64_t ranks)
{
    int64_t size = bytes;
    if (bytes < 0 || ranks < 1 || !counts_one_rank(function))
        return bytes;
    if (__builtin_mul_overflow(bytes, ranks, &size))
        return INT64_MAX;
    return size;
}

double function_busbw_factor(enum function function, int64_t ranks)
{
    double n = (double)ranks;
    if (ranks < 1)
        return 1;
    if (function == FUNCTION_ALL_REDUCE)
        return 2 * (n - 1) / n;
    return counts_one_rank(function) ? (n - 1) / n : 1;
}
