/*
 * The lines of a Chrome trace that are not events: the process and its place, communicators, clocks, losses,
 * pending operations, and why a trace ends.
 */
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"
#include "plugin/write/write.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * A pending operation is reported after 1 s. From then on it is checked every second. It is reported again
 * immediately if it has made progress, after 8 s if only its network steps have, and otherwise after another
 * 1 s, 2 s, 4 s ... 1 h.
 */
#define LOOK_STEP_NS 1000000000u
#define MOVING_STEP_NS 8000000000u
#define REPORT_STEP_MOST_NS 3600000000000u

void notes_read_boot(char boot[40])
{
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, boot, 36) : 0;
    if (file >= 0)
        close(file);
    boot[length == 36 ? 36 : 0] = '\0';
}

struct notes_anchor notes_anchor_now(void)
{
    struct notes_anchor best = {.uncertainty_ns = UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        uint64_t before_ns = clock_monotonic_ns();
        uint64_t realtime_ns = clock_read_ns(CLOCK_REALTIME);
        uint64_t after_ns = clock_monotonic_ns();
        uint64_t half_ns = (after_ns - before_ns + 1) / 2;
        if (half_ns < best.uncertainty_ns)
            best = (struct notes_anchor){before_ns + (after_ns - before_ns) / 2, realtime_ns, half_ns};
    }
    return best;
}

static void put_unsigned(struct text *text, const char *before, uint64_t value)
{
    text_string(text, before);
    text_unsigned(text, value);
}

static void put_signed(struct text *text, const char *before, int64_t value)
{
    text_string(text, before);
    text_signed(text, value);
}

static void put_text(struct text *text, const char *before, const char *value)
{
    text_string(text, before);
    text_literal(text, "\"");
    text_escaped(text, value, strlen(value));
    text_literal(text, "\"");
}

void notes_process(struct chrome *chrome, const struct notes_process *process)
{
    struct text *text = chrome_note(chrome, "Process", false, process->start_ns);
    put_text(text, "\"plugin\": ", "ncclprof");
    put_text(text, ", \"version\": ", NCCLPROF_VERSION);
    put_unsigned(text, ", \"format\": ", 1);
    put_unsigned(text, ", \"api\": ", process->api);
    put_signed(text, ", \"nccl_version\": ", process->nccl_version);
    put_text(text, ", \"host\": ", process->host);
    put_unsigned(text, ", \"mask\": ", process->mask);
    put_unsigned(text, ", \"start_monotonic_ns\": ", process->start_ns);
    put_unsigned(text, ", \"start_realtime_ns\": ", process->realtime_ns);
    put_text(text, ", \"boot_id\": ", process->boot);
    put_unsigned(text, ", \"allocator_hook\": ", process->allocator_hook);
    chrome_note_end(text);
}

/* The arguments of a line that contains only the known ones. */
struct known {
    struct text *text; /* null: no argument yet, so no line either */
    struct chrome *chrome;
    uint64_t now_ns;
};

static void begin_known(struct known *known, const char *name)
{
    if (known->text)
        text_literal(known->text, ", ");
    else
        known->text = chrome_note(known->chrome, "Place", false, known->now_ns);
    text_literal(known->text, "\"");
    text_string(known->text, name);
    text_literal(known->text, "\": ");
}

static void put_known_number(struct known *known, const char *name, long value)
{
    if (value < 0)
        return;
    begin_known(known, name);
    text_signed(known->text, value);
}

static void put_known_text(struct known *known, const char *name, const char *value)
{
    if (!value[0])
        return;
    begin_known(known, name);
    put_text(known->text, "", value);
}

void notes_place(struct chrome *chrome, const struct place *place, uint64_t now_ns)
{
    struct known known = {.chrome = chrome, .now_ns = now_ns};
    put_known_number(&known, "rank", place->rank);
    put_known_number(&known, "local_rank", place->local_rank);
    put_known_text(&known, "rank_name", place->rank_name);
    put_known_number(&known, "gpu", place->gpu.number);
    put_known_text(&known, "gpu_bus_id", place->gpu.bus);
    put_known_text(&known, "gpu_uuid", place->gpu.uuid);
    put_known_text(&known, "nic", place->nic);
    if (known.text)
        chrome_note_end(known.text);
}

void notes_process_name(struct chrome *chrome, const struct notes_process *process)
{
    struct text *text = chrome_note(chrome, "process_name", false, process->start_ns);
    text_literal(text, "\"name\": \"rank ");
    text_escaped(text, process->rank, strlen(process->rank));
    text_literal(text, " on ");
    text_escaped(text, process->host, strlen(process->host));
    text_literal(text, "\"");
    chrome_note_end(text);
}

void notes_communicator(struct chrome *chrome, uint32_t number, uint64_t now_ns)
{
    const struct communicator *known = &tree_communicator(chrome->tree, number)->known;
    struct text *text = chrome_note(chrome, "Communicator", false, now_ns);
    put_unsigned(text, "\"CommHash\": ", known->hash);
    put_signed(text, ", \"Rank\": ", known->rank);
    put_signed(text, ", \"nRanks\": ", known->ranks);
    put_signed(text, ", \"nNodes\": ", known->nodes);
    put_text(text, ", \"CommName\": ", known->name);
    put_unsigned(text, ", \"api\": ", known->api);
    chrome_note_end(text);
}

void notes_anchor(struct chrome *chrome, const struct notes_anchor *anchor, const char *boot)
{
    struct text *text = chrome_note(chrome, "ClockAnchor", false, anchor->monotonic_ns);
    put_unsigned(text, "\"monotonic_ns\": ", anchor->monotonic_ns);
    put_unsigned(text, ", \"realtime_ns\": ", anchor->realtime_ns);
    put_unsigned(text, ", \"uncertainty_ns\": ", anchor->uncertainty_ns);
    put_text(text, ", \"boot_id\": ", boot);
    chrome_note_end(text);
}

void notes_gpu_clocks(struct chrome *chrome, struct files *files, uint64_t now_ns)
{
    for (uint32_t number = 1; number < chrome->tree->communicator_count; number++) {
        struct communicator_state *communicator = tree_communicator(chrome->tree, number);
        if (communicator->clock.samples == communicator->clock_samples_written || !files_have_room(files))
            continue;
        communicator->clock_samples_written = communicator->clock.samples;
        struct gpu_clock_bounds bounds = gpu_clock_bounds(&communicator->clock);
        struct text *text = chrome_note(chrome, "GpuClock", false, now_ns);
        put_unsigned(text, "\"CommHash\": ", communicator->known.hash);
        put_signed(text, ", \"Rank\": ", communicator->known.rank);
        put_signed(text, ", \"offset_ns\": ", bounds.highest_ns);
        put_signed(text, ", \"lowest_ns\": ", bounds.enqueues ? bounds.lowest_ns : INT64_MIN);
        put_unsigned(text, ", \"samples\": ", bounds.samples);
        chrome_note_end(text);
        gpu_clock_turn(&communicator->clock, 1);
    }
}

void notes_print_drops(struct text *text, const struct notes_drops *drops)
{
    put_unsigned(text, "\"ring\": ", drops->ring);
    put_unsigned(text, ", \"lost\": ", drops->lost);
    put_unsigned(text, ", \"evicted\": ", drops->evicted);
    put_unsigned(text, ", \"late\": ", drops->late);
    put_unsigned(text, ", \"orphans\": ", drops->orphans);
    put_unsigned(text, ", \"unknown\": ", drops->unknown);
    put_unsigned(text, ", \"communicators\": ", drops->communicators);
}

void notes_drops(struct chrome *chrome, const struct notes_drops *drops, uint64_t now_ns)
{
    struct text *text = chrome_note(chrome, "Drops", false, now_ns);
    notes_print_drops(text, drops);
    chrome_note_end(text);
}

void notes_stopped(struct chrome *chrome, const struct stop *stop, uint64_t written_bytes)
{
    struct text *text = chrome_note(chrome, "Stopped", false, stop->at_ns);
    stop_print(text, stop, written_bytes);
    chrome_note_end(text);
}

void notes_end(struct chrome *chrome, const char *reason, uint64_t operations, uint64_t unfinished,
               uint64_t now_ns)
{
    struct text *text = chrome_note(chrome, "End", false, now_ns);
    put_text(text, "\"reason\": ", reason);
    put_unsigned(text, ", \"operations\": ", operations);
    put_unsigned(text, ", \"unfinished\": ", unfinished);
    chrome_note_end(text);
}

struct progress {
    unsigned proxy_ops, proxy_ops_done, steps, steps_done;
};

static void count_progress(const struct tree *tree, const struct node *node, struct progress *progress)
{
    for (uint32_t child = node->first_child; child; child = tree_node(tree, child)->next_sibling) {
        const struct node *below = tree_node(tree, child);
        progress->proxy_ops += below->type == TYPE_PROXY_OP;
        progress->proxy_ops_done += below->type == TYPE_PROXY_OP && below->stop_ns;
        progress->steps += below->type == TYPE_PROXY_STEP;
        progress->steps_done += below->type == TYPE_PROXY_STEP && below->stop_ns;
        count_progress(tree, below, progress);
    }
}

/* Writes whether and when the GPU reached the operation: the start of its first channel. */
static void put_kernel(struct chrome *chrome, struct text *text, const struct node *task)
{
    uint32_t child = task->first_child;
    while (child && tree_node(chrome->tree, child)->type != TYPE_KERNEL_CH)
        child = tree_node(chrome->tree, child)->next_sibling;
    if (!child)
        return;
    const struct node *kernel = tree_node(chrome->tree, child);
    const struct gpu_clock *clock = &tree_communicator(chrome->tree, task->context)->clock;
    put_unsigned(text, ", \"Channel\": ", kernel->channel);
    put_unsigned(text, ", \"StartGpuClk\": ", kernel->kernel.start_clock);
    text_literal(text, ", \"KernelBegin\": ");
    chrome_time(chrome, text, kernel->start_ns);
    text_literal(text, ", \"StartHost\": ");
    chrome_time(chrome, text, gpu_clock_host_ns(clock, kernel->kernel.start_clock));
}

static void put_task(struct chrome *chrome, struct text *text, const struct node *node,
                     const struct progress *progress)
{
    const struct names *names = &chrome->tree->names;
    if (node->type == TYPE_COLL)
        put_unsigned(text, ", \"SeqNum\": ", node->task.sequence);
    else
        put_signed(text, ", \"Peer\": ", node->task.peer);
    put_signed(text, ", \"Rank\": ", node->task.rank);
    put_unsigned(text, ", \"Count\": ", node->task.count);
    put_text(text, ", \"Datatype\": ", names_text(names, node->task.datatype));
    put_text(text, ", \"Algorithm\": ", names_text(names, node->task.algorithm));
    put_text(text, ", \"Protocol\": ", names_text(names, node->task.protocol));
    put_signed(text, ", \"Root\": ", node->task.root);
    put_unsigned(text, ", \"nChannels\": ", node->task.channels);
    put_unsigned(text, ", \"KernelsStarted\": ", node->task.kernels_started);
    put_unsigned(text, ", \"KernelsStopped\": ", node->task.kernels_stopped);
    put_kernel(chrome, text, node);
    put_unsigned(text, ", \"ProxyOps\": ", progress->proxy_ops);
    put_unsigned(text, ", \"ProxyOpsDone\": ", progress->proxy_ops_done);
    put_unsigned(text, ", \"NetSteps\": ", progress->steps);
    put_unsigned(text, ", \"NetStepsDone\": ", progress->steps_done);
    if (node->task.user_tag)
        put_unsigned(text, ", \"UserTag\": ", node->task.user_tag);
}

static void put_pending(struct chrome *chrome, const struct node *node, const struct progress *progress,
                        uint64_t now_ns)
{
    struct text *text = chrome_note(chrome, "PendingOperation", true, now_ns);
    put_text(text, "\"name\": ", chrome_name(chrome, node));
    put_text(text, ", \"cat\": ", chrome_category(node->type));
    text_literal(text, ", \"begin\": ");
    chrome_time(chrome, text, node->start_ns);
    text_literal(text, ", \"EnqueueEnd\": ");
    chrome_time(chrome, text, node->stop_ns);
    put_unsigned(text, ", \"CommHash\": ", tree_communicator(chrome->tree, node->context)->known.hash);
    if (node_is_task(node))
        put_task(chrome, text, node, progress);
    else
        put_signed(text, ", \"Rank\": ", tree_communicator(chrome->tree, node->context)->known.rank);
    chrome_note_end(text);
}

/* The state that a line reports, as one number: the sum of everything that only increases. */
static uint32_t state_of(const struct node *node, const struct progress *progress)
{
    uint32_t kernels = node_is_task(node) ? node->task.kernels_started + node->task.kernels_stopped : 0u;
    return kernels + progress->proxy_ops + progress->proxy_ops_done + (node->stop_ns != 0);
}

static bool wants_report(const struct node *node, uint32_t state, uint32_t steps, uint64_t now_ns)
{
    uint64_t since_ns = now_ns - node->reported_ns;
    if (node->reported_ns == 0 || state != node->reported_state)
        return true;
    if (steps != node->reported_steps && since_ns >= MOVING_STEP_NS)
        return true;
    return since_ns >= node->report_step_ns;
}

/* Writes a line if it is due. Then lowers *next_ns to the time of the next check, if that is earlier. */
static void report(struct chrome *chrome, struct node *node, uint64_t now_ns, uint64_t *next_ns)
{
    if (node->report_ns <= now_ns) {
        struct progress progress = {0};
        if (node_is_task(node))
            count_progress(chrome->tree, node, &progress);
        uint32_t state = state_of(node, &progress);
        uint32_t steps = progress.steps + progress.steps_done;
        if (wants_report(node, state, steps, now_ns)) {
            put_pending(chrome, node, &progress, now_ns);
            node->report_step_ns = node->reported_ns == 0                           ? LOOK_STEP_NS
                                   : node->report_step_ns * 2 < REPORT_STEP_MOST_NS ? node->report_step_ns * 2
                                                                                    : REPORT_STEP_MOST_NS;
            node->reported_ns = now_ns;
            node->reported_state = state;
            node->reported_steps = steps;
        }
        node->report_ns = now_ns + LOOK_STEP_NS;
    }
    if (node->report_ns < *next_ns)
        *next_ns = node->report_ns;
}

/* Reports operations that have not ended. Returns true if there is one. */
static bool report_tasks(struct chrome *chrome, uint32_t number, uint64_t now_ns, uint64_t *next_ns)
{
    struct node *node = tree_node(chrome->tree, number);
    if (node_is_task(node)) {
        if (tree_task_finished(chrome->tree, number))
            return false;
        report(chrome, node, now_ns, next_ns);
        return true;
    }
    bool any = false;
    for (uint32_t child = node->first_child; child; child = tree_node(chrome->tree, child)->next_sibling)
        any |= report_tasks(chrome, child, now_ns, next_ns);
    return any;
}

/*
 * Reports calls that have not returned although no operation below is pending: for example a hang during
 * connect.
 */
static void report_calls(struct chrome *chrome, uint32_t number, uint64_t now_ns, uint64_t *next_ns)
{
    struct node *node = tree_node(chrome->tree, number);
    uint32_t calls = API_GROUP | API_GROUP_API | API_COLL_API | API_P2P_API | API_CE_COLL;
    if (node->stop_ns == 0 && (calls >> node->type & 1))
        report(chrome, node, now_ns, next_ns);
    for (uint32_t child = node->first_child; child; child = tree_node(chrome->tree, child)->next_sibling)
        report_calls(chrome, child, now_ns, next_ns);
}

void notes_pending(struct chrome *chrome, struct files *files, uint64_t now_ns)
{
    uint32_t following;
    for (uint32_t root = chrome->tree->first_root; root && files_have_room(files); root = following) {
        struct node *node = tree_node(chrome->tree, root);
        following = node->next_root;
        if (node->reports_ns > now_ns)
            continue;
        node->reports_ns = UINT64_MAX;
        if (!report_tasks(chrome, root, now_ns, &node->reports_ns))
            report_calls(chrome, root, now_ns, &node->reports_ns);
    }
}
