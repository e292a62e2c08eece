/* Reads the settings of the plugin from the environment. */
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/write/write.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/*
 * All events except proxy control and network plugin events, which are many and carry little information. In
 * NCCL 2.31 the bit of user tags means kernel phases, which are off by default too, because they cost GPU
 * time.
 */
#define DEFAULT_MASK                                                                                  \
    (API_GROUP | API_COLL | API_P2P | API_PROXY_OP | API_PROXY_STEP | API_KERNEL_CH | API_GROUP_API | \
     API_COLL_API | API_P2P_API | API_KERNEL_LAUNCH | API_CE_COLL | API_CE_SYNC | API_CE_BATCH |      \
     API_USER_TAG)

static const char *setting(const char *ours, const char *nccls)
{
    const char *value = getenv(ours);
    if ((!value || !*value) && nccls)
        value = getenv(nccls);
    return value && *value ? value : NULL;
}

/* Reads a decimal number, or a hexadecimal one with 0x. If there is a least value, 0 is invalid. */
static uint64_t number(const char *text, uint64_t fallback, uint64_t least, uint64_t most)
{
    if (!text)
        return fallback;
    char *end;
    errno = 0;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    unsigned long long value = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (errno || end == text || *end || strchr(text, '-') || (value == 0 && least > 0))
        return fallback;
    return value < least ? least : value > most ? most : value;
}

/* Reads a number of bytes; a suffix k, M, G or T means 2^10 to 2^40. */
static uint64_t bytes_of(const char *text, uint64_t fallback)
{
    static const char units[] = "kmgt";
    char digits[32];
    size_t length = text ? strlen(text) : 0;
    const char *unit = length > 1 ? strchr(units, text[length - 1] | 0x20) : NULL;
    if (!text || length >= sizeof(digits))
        return fallback;
    snprintf(digits, sizeof(digits), "%.*s", (int)(length - (unit != NULL)), text);
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t value = number(digits, UINT64_MAX, 0, UINT64_MAX);
    return value == UINT64_MAX || value > UINT64_MAX >> shift ? fallback : value << shift;
}

/* 0 means no limit. */
static void read_room(struct config *config)
{
    uint64_t most = bytes_of(setting("NCCLPROF_MAX_BYTES", NULL), WRITER_MOST_BYTES);
    config->writer.most_bytes = most == 0                   ? UINT64_MAX
                                : most < WRITER_LEAST_BYTES ? WRITER_LEAST_BYTES
                                                            : most;
    config->writer.free_bytes = bytes_of(setting("NCCLPROF_MIN_FREE_BYTES", NULL), FILES_FREE_BY_SIZE);
}

static int log_level(const char *text)
{
    if (text && (strcasecmp(text, "INFO") == 0 || strcasecmp(text, "TRACE") == 0))
        return API_LOG_INFO;
    return text && strcasecmp(text, "WARN") == 0 ? API_LOG_WARN : 0;
}

static void read_path(struct config *config)
{
    const char *directory = setting("NCCLPROF_DIR", NULL);
    const char *file = setting("NCCLPROF_FILE", NULL);
    const char *dump = setting("NCCL_PROFILE_DUMP_FILE", NULL);
    if (!file && !directory && dump) {
        /* As in NVIDIA's example plugin, this is the beginning of the file name. */
        snprintf(config->writer.path, sizeof(config->writer.path), "%s-%%h-%%p", dump);
        return;
    }
    if (!file)
        file = "ncclprof-%h-%p";
    if (*file == '/' || !directory)
        snprintf(config->writer.path, sizeof(config->writer.path), "%s", file);
    else
        snprintf(config->writer.path, sizeof(config->writer.path), "%s/%s", directory, file);
}

static void read_masks(struct config *config)
{
    const char *mask = setting("NCCLPROF_EVENT_MASK", "NCCL_PROFILE_EVENT_MASK");
    bool phases = number(setting("NCCLPROF_KERNEL_PHASES", NULL), 0, 0, UINT64_MAX) == 1;
    config->mask = (uint32_t)number(mask, DEFAULT_MASK, 0, UINT64_MAX) & UINT16_MAX;
    config->mask_with_phases =
        (uint32_t)number(mask, DEFAULT_MASK & ~API_KERNEL_PHASE, 0, UINT64_MAX) & UINT16_MAX;
    if (phases)
        config->mask_with_phases |= API_KERNEL_PHASE;
    /* A phase is part of a kernel channel, so NCCL would request kernel channels for us anyway. */
    if (config->mask_with_phases & API_KERNEL_PHASE)
        config->mask_with_phases |= API_KERNEL_CH;
}

void config_read(struct config *config)
{
    memset(config, 0, sizeof(*config));
    read_path(config);
    const char *format = setting("NCCLPROF_FORMAT", NULL);
    config->writer.inspector = format && (strcmp(format, "inspector") == 0 || strcmp(format, "both") == 0);
    config->writer.chrome = !config->writer.inspector || strcmp(format, "both") == 0;
    config->writer.gzip = number(setting("NCCLPROF_GZIP", NULL), 0, 0, UINT64_MAX) == 1;
    read_masks(config);
    config->writer.buffer_slots = number(setting("NCCLPROF_BUFFER_EVENTS", NULL), 1u << 16, 1024, 1u << 26);
    config->writer.pending_events =
        (uint32_t)number(setting("NCCLPROF_PENDING_EVENTS", NULL), 1u << 18, 1024, 1u << 26);
    config->threads = (unsigned)number(setting("NCCLPROF_MAX_THREADS", NULL), 256, 1, 4096);
    config->writer.flush_ns = number(setting("NCCLPROF_FLUSH_MS", NULL), 200, 10, 500) * 1000000u;
    read_room(config);
    config->log_limit = log_level(setting("NCCL_DEBUG", NULL));
}

/* If several threads read the settings, the first result is kept, and no thread waits for another. */
static const struct config_tags *_Atomic tags_read;

static const struct config_tags tags_without_memory = {.bytes = 255};

static void read_tags(struct config_tags *tags)
{
    const char *prefix = setting("NCCLPROF_TAG_PREFIX", NULL);
    const char *domains = setting("NCCLPROF_TAG_DOMAIN", NULL);
    snprintf(tags->prefix, sizeof(tags->prefix), "%s", prefix ? prefix : "");
    snprintf(tags->domains, sizeof(tags->domains), "%s", domains ? domains : "");
    tags->bytes = (unsigned)number(setting("NCCLPROF_TAG_BYTES", NULL), 255, 1, RECORD_TEXT_MAX);
}

/* Uses mmap, because a signal handler may set the first tag while its thread allocates. */
static struct config_tags *tags_new(void)
{
    struct config_tags *tags =
        mmap(NULL, sizeof(*tags), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tags == MAP_FAILED)
        return NULL;
    read_tags(tags);
    return tags;
}

const struct config_tags *config_tags(void)
{
    const struct config_tags *known = atomic_load_explicit(&tags_read, memory_order_acquire);
    if (known)
        return known;
    struct config_tags *own = tags_new();
    const struct config_tags *tags = own ? own : &tags_without_memory;
    if (atomic_compare_exchange_strong_explicit(&tags_read, &known, tags, memory_order_acq_rel,
                                                memory_order_acquire))
        return tags;
    if (own)
        munmap(own, sizeof(*own));
    return known;
}
