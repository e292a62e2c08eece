#include "fakecore_hostile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/recorder/nvtx_abi.h"

#define RACERS 16

static void start_odd(const struct fake_plugin *plugin, void *context, uint64_t type, void *parent,
                      void **handle)
{
    char long_name[400];
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    struct nccl_event_v7 event = {.type = type, .parent = parent, .rank = -7};
    if (type == NCCL_COLL) {
        event.coll.function = long_name;
        event.coll.datatype = "\x80\xff\"\\\n";
        event.coll.parent_group = parent;
    } else if (type == NCCL_P2P) {
        event.p2p.parent_group = parent;
    } else if (type == NCCL_USER_TAG) {
        fake_tag(plugin, context, -7, "bad \xc3( utf-8 \"quoted\"\t");
    }
    bool single = (type & (type - 1)) == 0;
    if (single && (type & fake_events_known(plugin)))
        fake_start(plugin, context, handle, &event, 1, long_name);
    else
        fake_start_unknown(plugin, context, handle, type);
}

int fake_hostile(struct fake_job *job)
{
    const struct fake_plugin *plugin = &job->plugin;
    void *context = NULL;
    int mask = 0;
    fake_init(plugin, &context, &mask, 1, "hostile \"name\"\n\xff", 1, 2, 0, fake_logger);
    void *contexts[] = {NULL, context, (void *)(uintptr_t)0xdeadbeefcafe, (void *)(uintptr_t)9999};
    void *parents[64] = {NULL, (void *)(uintptr_t)0xdeadbeef, (void *)(uintptr_t)UINT64_MAX, context};
    unsigned used = 4;
    for (int round = 0; round < 2000; round++) {
        void *handle = NULL;
        unsigned pick = (unsigned)round * 2654435761u >> 16;
        uint64_t type = round % 37 == 0 ? (uint64_t)round << 20 : (uint64_t)1 << round % 20;
        start_odd(plugin, contexts[round % 4], type, parents[pick % 64], &handle);
        for (int state = -1; state < 40; state += 1 + round % 5)
            if (state < 0 || state > fake_last_state(plugin))
                fake_state_unknown(plugin, handle, state);
            else
                fake_state(plugin, handle, state, UINT64_MAX, -1);
        if (round % 3)
            fake_stop(plugin, handle);
        if (round % 7 == 0)
            fake_stop(plugin, handle);
        parents[used++ % 64] = handle;
    }
    const struct nccl_table *table = plugin->table;
    table->stop_event((void *)(uintptr_t)1);
    table->stop_event(NULL);
    table->record_event_state(NULL, 3, NULL);
    table->record_event_state((void *)(uintptr_t)77, NCCL_KERNEL_CH_STOP, NULL);
    table->start_event(context, &parents[0], NULL);
    table->start_event(context, NULL, NULL);
    fake_finalize(plugin, NULL);
    fake_finalize(plugin, (void *)(uintptr_t)12345678);
    fake_finalize(plugin, context);
    fake_finalize(plugin, context);
    start_odd(plugin, context, NCCL_COLL, NULL, &parents[0]);
    fake_stop(plugin, parents[0]);
    puts("{\"hostile\": 1}");
    return 0;
}

int fake_fork(struct fake_job *job, bool anew)
{
    struct fake_rank rank;
    fake_rank_start(&rank, job, 0);
    fake_rank_train(&rank);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        /*
         * A data loader: it still has the parent's handles and does not use NCCL. Then a child that starts
         * again.
         */
        void *stale = NULL;
        start_odd(&job->plugin, rank.communicators[0].context, NCCL_COLL, NULL, &stale);
        fake_stop(&job->plugin, stale);
        if (!anew)
            exit(0);
        memset(&job->counts, 0, sizeof(job->counts));
        struct fake_rank own;
        fake_rank_start(&own, job, 1);
        fake_rank_train(&own);
        fake_rank_drain(&own);
        fake_rank_finalize(&own);
        printf("{\"pid\": %ld, \"coll\": %lu}\n", (long)getpid(), job->counts.coll);
        fflush(stdout);
        exit(0);
    }
    fake_rank_train(&rank);
    fake_rank_drain(&rank);
    fake_rank_finalize(&rank);
    int status = 0;
    waitpid(child, &status, 0);
    printf("{\"pid\": %ld, \"coll\": %lu}\n", (long)getpid(), job->counts.coll);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

static void *race(void *argument)
{
    struct fake_job *job = argument;
    for (int i = 0; i < 20; i++) {
        void *context = NULL;
        void *handle = NULL;
        int mask = 0;
        fake_init(&job->plugin, &context, &mask, (uint64_t)(i + 1), "race", 1, 2, 0, fake_logger);
        struct nccl_event_v7 event = {.type = NCCL_COLL};
        event.coll.function = "AllReduce";
        event.coll.datatype = "ncclInt8";
        event.coll.sequence = (uint64_t)i;
        fake_start(&job->plugin, context, &handle, &event, (uint64_t)(i + 1), "race");
        fake_stop(&job->plugin, handle);
        if (handle)
            atomic_fetch_add(&job->counts.coll, 1);
        fake_finalize(&job->plugin, context);
    }
    return NULL;
}

int fake_init_race(struct fake_job *job)
{
    pthread_t racers[RACERS];
    for (int i = 0; i < RACERS; i++)
        if (pthread_create(&racers[i], NULL, race, job) != 0)
            return 1;
    for (int i = 0; i < RACERS; i++)
        pthread_join(racers[i], NULL);
    printf("{\"coll\": %lu}\n", job->counts.coll);
    return 0;
}

/* -- NVTX's side -- */

static nvtx_function *core_functions[16];
static nvtx_function *core2_functions[16];
static nvtx_function **core_table[16];
static nvtx_function **core2_table[16];

static int module_table(int module, nvtx_function ****table, unsigned *size)
{
    if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
        return 0;
    *table = module == NVTX_MODULE_CORE ? core_table : core2_table;
    *size = 16;
    return 1;
}

static const struct nvtx_callbacks callbacks = {sizeof(callbacks), module_table};

static const void *export_table(uint32_t id)
{
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

#define CORE(place, type) ((type)core_functions[place])
#define CORE2(place, type) ((type)core2_functions[place])

typedef int text_function(const char *text);
typedef int wide_function(const wchar_t *text);
typedef int attributes_function(const struct nvtx_attributes *attributes);
typedef int domain_function(const void *domain, const struct nvtx_attributes *attributes);
typedef const void *create_function(const char *name);
typedef const void *register_function(const void *domain, const char *text);

static struct nvtx_attributes ascii(const char *text)
{
    struct nvtx_attributes attributes = {.version = 3, .size = sizeof(attributes)};
    attributes.message_type = NVTX_MESSAGE_ASCII;
    attributes.message.ascii = text;
    return attributes;
}

static void play_ranges(void)
{
    struct nvtx_attributes attributes = ascii("step");
    CORE(NVTX_CORE_RANGE_PUSH_EX, attributes_function *)(&attributes);
    CORE(NVTX_CORE_RANGE_PUSH_A, text_function *)("forward");
    CORE(NVTX_CORE_RANGE_PUSH_W, wide_function *)(L"l\u00e4yer \U0001F600");
    CORE(NVTX_CORE_RANGE_POP, int (*)(void))();
    CORE(NVTX_CORE_MARK_A, text_function *)("{\"name\": \"all_reduce\", \"rank\": 0}");
    CORE(NVTX_CORE_RANGE_POP, int (*)(void))();
    CORE(NVTX_CORE_RANGE_POP, int (*)(void))();
    CORE(NVTX_CORE_RANGE_POP, int (*)(void))(); /* one more than possible */
    CORE(NVTX_CORE_MARK_A, text_function *)("checkpoint");
    for (int i = 0; i < 200; i++)
        CORE(NVTX_CORE_RANGE_PUSH_A, text_function *)("deep");
    for (int i = 0; i < 200; i++)
        CORE(NVTX_CORE_RANGE_POP, int (*)(void))();
}

static void play_domains(void)
{
    const void *nccl = CORE2(NVTX_CORE2_DOMAIN_CREATE_A, create_function *)("NCCL");
    const void *mine = CORE2(NVTX_CORE2_DOMAIN_CREATE_A, create_function *)("mine");
    struct nvtx_attributes attributes = ascii("ncclAllReduce");
    CORE2(NVTX_CORE2_DOMAIN_RANGE_PUSH_EX, domain_function *)(nccl, &attributes);
    attributes.message_type = NVTX_MESSAGE_REGISTERED;
    attributes.message.registered =
        CORE2(NVTX_CORE2_DOMAIN_REGISTER_STRING_A, register_function *)(mine, "registered");
    CORE2(NVTX_CORE2_DOMAIN_RANGE_PUSH_EX, domain_function *)(mine, &attributes);
    CORE2(NVTX_CORE2_DOMAIN_RANGE_POP, int (*)(const void *))(nccl);
    CORE2(NVTX_CORE2_DOMAIN_RANGE_POP, int (*)(const void *))(mine);
}

int fake_nvtx(struct fake_job *job)
{
    int (*initialise)(const void *(*)(uint32_t));
    void *symbol = dlsym(job->plugin.library, "InitializeInjectionNvtx2");
    memcpy(&initialise, &symbol, sizeof(initialise));
    for (int i = 0; i < 16; i++) {
        core_table[i] = &core_functions[i];
        core2_table[i] = &core2_functions[i];
    }
    if (!symbol || initialise(export_table) != 1)
        return 1;
    /* A tag that was set before the first communicator must not be lost. */
    CORE(NVTX_CORE_RANGE_PUSH_A, text_function *)("before");
    struct fake_rank rank;
    fake_rank_start(&rank, job, 0);
    play_ranges();
    play_domains();
    if (job->call_tag) {
        job->call_tag("direct");
        job->call_tag(NULL);
    }
    fake_rank_drain(&rank);
    fake_rank_finalize(&rank);
    puts("{\"nvtx\": 1}");
    return 0;
}
