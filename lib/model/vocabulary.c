/*
 * NCCL's vocabulary: words for functions, data types, algorithms and protocols as traces spell them; sizes
 * and bandwidth factors of functions; torch.distributed calls; hashes and successions of communicators.
 *
 * A new collective, FUNCTION_FOO, takes
 * - lib/model/event.h: the last place in enum function
 * - its word in `functions` below, and its place in the functions on sizes and waits that hold of it
 * - tests/unit/model/test_vocab.c: its spellings and sizes
 * - if torch has it: its words in lib/format/flight_recorder/entry.c, lib/format/kineto/event.c and
 *   lib/format/torch/torch.c, and a higher `version` of these formats
 * Stores keep "other" for files that were read before, unless the version of their format is raised.
 */

#include "base/base.h"
#include "model/event.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* Indexed by number. Spellings are compared without case, underscores and NCCL's prefix. */
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

/* Other words for the same: aliases of ncclDataType_t, and words of older versions. */
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
    {"alltoallv", FUNCTION_ALL_TO_ALL}, /* RCCL, as is the next */
    {"allreducewithbias", FUNCTION_ALL_REDUCE},
    {NULL, 0},
};

static const struct synonym no_synonyms[] = {{NULL, 0}};

static int lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

/* Compares `text` with `word` without case and underscores. */
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

/* Our own spelling, which most traces use, is compared first. */
static int find_exactly(const char *text, size_t length, const char *const *words, int word_count)
{
    for (int i = 2; i < word_count; i++)
        if (words[i][0] == text[0] && strncmp(words[i], text, length) == 0 && words[i][length] == '\0')
            return i;
    return 0;
}

/* 0 for an empty text and for NCCL's "Unknown"; 1 for an unknown word. */
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

int function_has_root(enum function function)
{
    return function == FUNCTION_BROADCAST || function == FUNCTION_REDUCE || function == FUNCTION_GATHER ||
           function == FUNCTION_SCATTER;
}

/* Functions whose API count is that of one rank: n times that is the size for all ranks. */
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

/* The largest element of NCCL: a barrier is an AllReduce of one element of any type. */
enum { ELEMENT_BYTES_MOST = 8 };

struct call_kind call_kind_of(const char *name)
{
    static const struct {
        const char *name;
        struct call_kind kind;
    } known[] = {
        {"all_reduce", {FUNCTION_ALL_REDUCE, 0}},
        {"all_gather", {FUNCTION_ALL_GATHER, 0}},
        {"all_gather_into_tensor", {FUNCTION_ALL_GATHER, 0}},
        {"reduce_scatter", {FUNCTION_REDUCE_SCATTER, 0}},
        {"reduce_scatter_tensor", {FUNCTION_REDUCE_SCATTER, 0}},
        {"all_to_all", {FUNCTION_ALL_TO_ALL, 0}},
        {"all_to_all_single", {FUNCTION_ALL_TO_ALL, 0}},
        {"gather", {FUNCTION_GATHER, 0}},
        {"scatter", {FUNCTION_SCATTER, 0}},
        {"broadcast", {FUNCTION_BROADCAST, 0}},
        {"broadcast_object_list", {FUNCTION_BROADCAST, 0}},
        {"reduce", {FUNCTION_REDUCE, 0}},
        {"barrier", {FUNCTION_ALL_REDUCE, 1}},
        {"send", {FUNCTION_SEND, 0}},
        {"isend", {FUNCTION_SEND, 0}},
        {"recv", {FUNCTION_RECV, 0}},
        {"irecv", {FUNCTION_RECV, 0}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return (struct call_kind){FUNCTION_UNKNOWN, 0};
}

/* The ratio of a described message to what NCCL receives. */
static int64_t messages(enum function function, int64_t ranks)
{
    if (function == FUNCTION_ALL_GATHER)
        return ranks;
    if (function == FUNCTION_ALL_TO_ALL || function == FUNCTION_GATHER || function == FUNCTION_SCATTER)
        return ranks - 1;
    return 1;
}

int64_t call_message_bytes(enum function function, int64_t bytes, int64_t ranks)
{
    int64_t size;
    if (bytes < 0 || ranks < 1 || __builtin_mul_overflow(bytes, messages(function, ranks), &size))
        return -1;
    return size;
}

int64_t call_message_of_size(enum function function, int64_t size_bytes, int64_t ranks)
{
    if (size_bytes < 0 || ranks < 1)
        return -1;
    switch (function) {
    case FUNCTION_REDUCE_SCATTER:
        return size_bytes / ranks;
    case FUNCTION_ALL_TO_ALL:
    case FUNCTION_GATHER:
    case FUNCTION_SCATTER:
        return size_bytes / ranks * (ranks - 1);
    default:
        return size_bytes;
    }
}

double call_bandwidth_factor(enum function function, int64_t ranks)
{
    double n = (double)ranks;
    switch (ranks < 1 ? FUNCTION_UNKNOWN : function) {
    case FUNCTION_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case FUNCTION_ALL_GATHER:
    case FUNCTION_REDUCE_SCATTER:
        return (n - 1) / n;
    case FUNCTION_ALL_TO_ALL:
        return n;
    default:
        return 1;
    }
}

int call_may_be_barrier(int64_t bytes)
{
    return bytes > 0 && bytes <= ELEMENT_BYTES_MOST;
}

uint64_t communicator_hash_of(const char *name, const int64_t *members, size_t count)
{
    const unsigned char *text = (const unsigned char *)(name ? name : "");
    size_t length = strlen((const char *)text);
    uint64_t hash = hash_mix(length, count);
    for (size_t i = 0; i < length; i++)
        hash = hash_mix(hash, text[i]);
    for (size_t i = 0; i < count; i++)
        hash = hash_mix(hash, (uint64_t)members[i]);
    return hash ? hash : 1;
}

/* Limits how many communicators of the same members may exist at the same time, whatever a trace contains. */
enum { CONCURRENT_SUCCESSIONS_MOST = 64 };

/* A communicator with its members and first use. */
struct first_use {
    uint64_t members;
    int64_t first_used;
    int32_t number;
};

static int by_members_then_birth(const void *a, const void *b)
{
    const struct first_use *left = a, *right = b;
    if (left->members != right->members)
        return left->members < right->members ? -1 : 1;
    if (left->first_used != right->first_used)
        return left->first_used < right->first_used ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

/* The successions of communicators with the same members, ordered by first use; of each the latest one. */
struct concurrent_successions {
    int32_t latest[CONCURRENT_SUCCESSIONS_MOST];
    size_t count;
};

/*
 * The earliest succession whose latest communicator was last used before `first_used`; `count` if there is
 * none.
 */
static size_t find_ended(const struct concurrent_successions *successions,
                         const struct communicator_life *lives, int64_t first_used)
{
    size_t at = 0;
    while (at < successions->count && lives[successions->latest[at]].last_used >= first_used)
        at++;
    return at;
}

static void succeed(struct concurrent_successions *successions, const struct communicator_life *lives,
                    int32_t number, int32_t *first_of)
{
    size_t at = find_ended(successions, lives, lives[number].first_used);
    first_of[number] = number;
    if (at >= CONCURRENT_SUCCESSIONS_MOST)
        return;
    if (at < successions->count)
        first_of[number] = first_of[successions->latest[at]];
    successions->latest[at] = number;
    successions->count += at == successions->count;
}

int succession_find(const struct communicator_life *lives, size_t count, int32_t *first_of)
{
    struct first_use *births = array_new(count, sizeof *births);
    struct concurrent_successions successions = {.count = 0};
    if (!births)
        return -1;
    for (size_t i = 0; i < count; i++)
        births[i] = (struct first_use){lives[i].members, lives[i].first_used, (int32_t)i};
    array_sort(births, count, sizeof *births, by_members_then_birth);
    for (size_t i = 0; i < count; i++) {
        if (i && births[i].members != births[i - 1].members)
            successions.count = 0;
        succeed(&successions, lives, births[i].number, first_of);
    }
    free(births);
    return 0;
}
