/*
 * Assembles the records of the rings into trees, one per operation or group call, and passes a tree on when
 * it is complete: see tree.h.
 */
#include "plugin/tree/tree.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

#include <stdlib.h>

/*
 * Proxy operations start before the kernel that they serve can end. This time covers a delay of their thread.
 */
#define GRACE_NS 20000000u
/* Used when the number of kernel channels is not known. */
#define KERNEL_WAIT_NS 500000000u
#define FIRST_REPORT_NS 1000000000u
/*
 * The ranks of a pipeline wait for each other too, but not this long: a group that waits longer probably
 * hangs.
 */
#define GROUP_SPLIT_NS 5000000000u

int tree_init(struct tree *tree, uint32_t pending_events, uint32_t mask, pid_t process, unsigned api)
{
    *tree = (struct tree){.process = process, .communicator_room = 64};
    tree->communicators = calloc(tree->communicator_room, sizeof(*tree->communicators));
    if (tree->communicators && names_init(&tree->names, 4096) == 0 &&
        node_pool_init(&tree->pool, pending_events) == 0) {
        tree->communicators[0].known =
            (struct communicator){.rank = -1, .ranks = -1, .nodes = -1, .api = api, .mask = mask};
        tree->communicator_count = 1;
        return 0;
    }
    tree_release(tree);
    return -1;
}

void tree_release(struct tree *tree)
{
    node_pool_release(&tree->pool);
    names_release(&tree->names);
    tag_texts_release(&tree->tags);
    free(tree->communicators);
    tree->communicators = NULL;
}

static uint32_t root_of(const struct tree *tree, uint32_t number)
{
    while (tree_node(tree, number)->parent)
        number = tree_node(tree, number)->parent;
    return number;
}

/*
 * Returns the event types that may be the parent of an event. Other events stand alone, so a chain of handles
 * cannot make a deep tree.
 */
static uint32_t parents_allowed(uint8_t type)
{
    switch (type) {
    case TYPE_COLL:
        return API_GROUP | API_COLL_API;
    case TYPE_P2P:
        return API_GROUP | API_P2P_API;
    case TYPE_PROXY_OP:
    case TYPE_KERNEL_CH:
        return API_COLL | API_P2P;
    case TYPE_PROXY_STEP:
        return API_PROXY_OP;
    case TYPE_NET_PLUGIN:
        return API_PROXY_STEP;
    case TYPE_COLL_API:
    case TYPE_P2P_API:
    case TYPE_KERNEL_LAUNCH:
        return API_GROUP_API;
    case TYPE_CE_COLL:
        return API_COLL_API;
    case TYPE_CE_SYNC:
    case TYPE_CE_BATCH:
        return API_CE_COLL;
    case TYPE_KERNEL_PHASE:
        return API_KERNEL_CH;
    default:
        return 0;
    }
}

static void add_root(struct tree *tree, uint32_t number)
{
    struct node *node = tree_node(tree, number);
    node->previous_root = tree->last_root;
    if (tree->last_root)
        tree_node(tree, tree->last_root)->next_root = number;
    else
        tree->first_root = number;
    tree->last_root = number;
    node->reports_ns = UINT64_MAX;
}

static void remove_root(struct tree *tree, uint32_t number)
{
    const struct node *node = tree_node(tree, number);
    if (node->previous_root)
        tree_node(tree, node->previous_root)->next_root = node->next_root;
    else
        tree->first_root = node->next_root;
    if (node->next_root)
        tree_node(tree, node->next_root)->previous_root = node->previous_root;
    else
        tree->last_root = node->previous_root;
}

static void free_below(struct tree *tree, uint32_t number)
{
    uint32_t child = tree_node(tree, number)->first_child;
    while (child) {
        uint32_t next = tree_node(tree, child)->next_sibling;
        free_below(tree, child);
        child = next;
    }
    if (node_is_task(tree_node(tree, number)))
        tag_texts_drop(&tree->tags, tree_node(tree, number)->task.tag);
    node_remove(&tree->pool, number);
}

static void hand_over(struct tree *tree, uint32_t root, bool finished)
{
    tree->done(tree->owner, root, finished);
    remove_root(tree, root);
    free_below(tree, root);
}

static bool is_complete(const struct node *root)
{
    return root->open == 0 && root->kernels_awaited == 0;
}

/*
 * Frees nodes: first the complete trees, then the oldest operations in whatever state they are. Each call
 * scans all trees, so it frees many nodes.
 */
static void make_room(struct tree *tree)
{
    for (uint32_t root = tree->first_root; root;) {
        uint32_t next = tree_node(tree, root)->next_root;
        if (is_complete(tree_node(tree, root)))
            hand_over(tree, root, true);
        root = next;
    }
    while (tree->first_root && tree->pool.in_use > tree->pool.capacity - tree->pool.capacity / 16) {
        tree->counts.evicted++;
        hand_over(tree, tree->first_root, false);
    }
}

/* Sets how many kernel channels must stop before the operation is finished. */
static void expect_kernels(struct tree *tree, struct node *root, struct node *task)
{
    unsigned api = task->api;
    uint32_t mask = tree_communicator(tree, task->context)->known.mask;
    bool told = (mask & API_KERNEL_CH) && api >= 4 && task->task.channels > 0;
    if (!told)
        root->guessed = true;
    if (!(mask & API_KERNEL_CH) || api < 3)
        return;
    /* A send of a rank to itself is a copy, and no channel reports it. */
    if (task->type == TYPE_P2P && task->task.peer == task->task.rank)
        return;
    /*
     * Version 3 passes the maximum number of channels, not the actual one: wait for one, then for
     * KERNEL_WAIT_NS.
     */
    task->task.kernels_expected = told ? task->task.channels : 1;
    root->kernels_awaited++;
}

static void link_child(struct tree *tree, uint32_t parent, uint32_t number)
{
    struct node *above = tree_node(tree, parent);
    tree_node(tree, number)->parent = parent;
    if (above->last_child)
        tree_node(tree, above->last_child)->next_sibling = number;
    else
        above->first_child = number;
    above->last_child = number;
}

/* Each replay of a CUDA graph refers to the captured call, which ended long before. */
static bool is_replay(uint8_t type, const struct node *call)
{
    bool calls = call->type == TYPE_COLL_API || call->type == TYPE_P2P_API;
    return (type == TYPE_COLL || type == TYPE_P2P) && calls && call->call.graph_captured;
}

/* A proxy operation of another process (PXN): its parent and its context are numbers of that process. */
static bool is_foreign(const struct tree *tree, const struct record *record)
{
    return record->type == TYPE_PROXY_OP && record->proxy_op.pid != tree->process;
}

static uint32_t find_parent(struct tree *tree, const struct record *record)
{
    if (is_foreign(tree, record) || record->parent == 0)
        return 0;
    uint32_t parent = node_find(&tree->pool, record->parent);
    if (parent && is_replay(record->type, tree_node(tree, parent)))
        return 0;
    if (parent && (parents_allowed(record->type) >> tree_node(tree, parent)->type & 1))
        return parent;
    /* An operation is complete without its call, whose tree may have been written before the launch. */
    if (parents_allowed(record->type) && record->type != TYPE_COLL && record->type != TYPE_P2P)
        tree->counts.orphans++;
    return 0;
}

static void kernel_started(struct tree *tree, struct node *kernel)
{
    if (!kernel->parent)
        return;
    struct node *task = tree_node(tree, kernel->parent);
    struct gpu_clock *clock = &tree_communicator(tree, task->context)->clock;
    task->task.kernels_started++;
    gpu_clock_noticed(clock, kernel->start_ns, kernel->kernel.start_clock);
    gpu_clock_not_before(clock, task->start_ns, kernel->kernel.start_clock);
}

/*
 * A kernel phase only has meaning inside its kernel channel. Its times come from the GPU, so the time at
 * which the host sees it does not matter, and nothing waits for its stop.
 */
static void take_phase(struct tree *tree, const struct record *record)
{
    uint32_t parent = record->parent ? find_parent(tree, record) : 0;
    tree->counts.orphans += record->parent == 0;
    uint32_t number = parent ? node_add(&tree->pool, record->handle) : 0;
    if (!number) {
        tree->counts.lost += parent != 0;
        return;
    }
    struct node *node = tree_node(tree, number);
    node->type = record->type;
    node->start_ns = node->stop_ns = tree_node(tree, parent)->start_ns;
    node->report_ns = UINT64_MAX;
    tree_fill(tree, node, record);
    link_child(tree, parent, number);
}

static void take_start(struct tree *tree, const struct record *record)
{
    if (tree->pool.in_use == tree->pool.capacity)
        make_room(tree);
    if (record->type == TYPE_KERNEL_PHASE) {
        take_phase(tree, record);
        return;
    }
    uint32_t parent = find_parent(tree, record);
    uint32_t number = node_add(&tree->pool, record->handle);
    if (!number) {
        tree->counts.lost++;
        return;
    }
    struct node *node = tree_node(tree, number);
    node->type = record->type;
    node->start_ns = record->time_ns;
    node->context = is_foreign(tree, record) ? 0 : record->context;
    node->api = (uint8_t)tree_communicator(tree, node->context)->known.api;
    tree_fill(tree, node, record);
    if (parent) {
        link_child(tree, parent, number);
        if (node->type == TYPE_PROXY_STEP)
            node->is_send = tree_node(tree, parent)->is_send;
        /* With PXN the context belongs to another process. The operation above has the right one. */
        if (node->type == TYPE_PROXY_STEP || node->type == TYPE_NET_PLUGIN) {
            node->context = tree_node(tree, parent)->context;
            node->api = tree_node(tree, parent)->api;
        }
    } else {
        add_root(tree, number);
    }
    struct node *root = tree_node(tree, root_of(tree, number));
    root->open++;
    root->touched_ns = record->time_ns;
    root->part_ns = record->time_ns + GROUP_SPLIT_NS;
    node->report_ns = node->start_ns + FIRST_REPORT_NS;
    if (node->report_ns < root->reports_ns)
        root->reports_ns = node->report_ns;
    if (node_is_task(node))
        expect_kernels(tree, root, node);
    if (node->type == TYPE_KERNEL_CH)
        kernel_started(tree, node);
}

static void kernel_stopped(struct tree *tree, struct node *root, const struct node *kernel)
{
    if (!kernel->parent)
        return;
    struct node *task = tree_node(tree, kernel->parent);
    struct communicator_state *communicator = tree_communicator(tree, task->context);
    task->task.kernels_stopped++;
    if (task->task.kernels_expected && task->task.kernels_stopped == task->task.kernels_expected)
        root->kernels_awaited--;
    if (task->start_ns > communicator->done_start_ns)
        communicator->done_start_ns = task->start_ns;
}

static void take_stop(struct tree *tree, const struct record *record)
{
    uint32_t number = node_find(&tree->pool, record->handle);
    if (!number) {
        tree->counts.late++;
        return;
    }
    struct node *node = tree_node(tree, number);
    if (node->stop_ns)
        return; /* NCCL 2.28 and later stop some API events twice */
    node->stop_ns = record->time_ns;
    uint32_t root_number = root_of(tree, number);
    struct node *root = tree_node(tree, root_number);
    root->open--;
    root->touched_ns = record->time_ns;
    root->part_ns = record->time_ns + GROUP_SPLIT_NS;
    if (node->type == TYPE_KERNEL_CH)
        kernel_stopped(tree, root, node);
    if (node->type == TYPE_PROXY_CTRL)
        hand_over(tree, root_number, true);
}

static void set_once(uint64_t *time_ns, uint64_t now_ns)
{
    if (*time_ns == 0)
        *time_ns = now_ns;
}

static void proxy_op_state(struct node *node, const struct record *record)
{
    struct node_proxy_op *op = &node->proxy_op;
    if (record->state == API_PROXY_OP_IN_PROGRESS) {
        set_once(&op->progress_ns, record->time_ns);
    } else if (record->state <= API_RECV_DONE) {
        op->state_ns[record->state % NODE_STATES] = record->time_ns;
        op->state_steps[record->state % NODE_STATES] = record->state_values.steps;
        op->transferred_bytes = record->state_values.value;
    }
}

static void proxy_step_state(struct tree *tree, struct node *node, const struct record *record)
{
    static const int8_t places[] = {
        [API_STEP_SEND_GPU_WAIT] = 1, [API_STEP_SEND_PEER_WAIT] = 2,  [API_STEP_SEND_WAIT] = 3,
        [API_STEP_RECV_WAIT] = 1,     [API_STEP_RECV_FLUSH_WAIT] = 2, [API_STEP_RECV_GPU_WAIT] = 3};
    int place = record->state < sizeof(places) ? places[record->state] : 0;
    if (place == 0)
        return;
    set_once(&node->proxy_step.state_ns[place - 1], record->time_ns);
    bool moved = record->state == API_STEP_SEND_WAIT || record->state == API_STEP_RECV_FLUSH_WAIT;
    if (moved && node->parent)
        tree_node(tree, node->parent)->proxy_op.transferred_bytes += record->state_values.value;
}

static void take_state(struct tree *tree, const struct record *record)
{
    uint32_t number = node_find(&tree->pool, record->handle);
    if (!number) {
        /* A phase that was not stored has already been counted. */
        tree->counts.late += !(record->handle & RECORD_PHASE_HANDLE);
        return;
    }
    struct node *node = tree_node(tree, number);
    tree_node(tree, root_of(tree, number))->touched_ns = record->time_ns;
    if (node->type == TYPE_PROXY_OP) {
        proxy_op_state(node, record);
    } else if (node->type == TYPE_PROXY_STEP) {
        proxy_step_state(tree, node, record);
    } else if (node->type == TYPE_KERNEL_CH && record->state == API_KERNEL_CH_STOP) {
        node->kernel.stop_clock = record->state_values.value;
        gpu_clock_noticed(&tree_communicator(tree, node->context)->clock, record->time_ns,
                          record->state_values.value);
    } else if (node->type == TYPE_KERNEL_PHASE) {
        node->kernel.stop_clock = record->state_values.value;
    } else if (node->type == TYPE_PROXY_CTRL) {
        node->state = record->state;
        if (record->state == API_CTRL_APPEND_END)
            node->appended = (int32_t)record->state_values.value;
    }
}

void event_tree_add(struct tree *tree, const struct record *record)
{
    switch (record->kind) {
    case RECORD_START:
        take_start(tree, record);
        break;
    case RECORD_STOP:
        take_stop(tree, record);
        break;
    case RECORD_STATE:
        take_state(tree, record);
        break;
    case RECORD_CONTEXT_END:
        tree_communicator(tree, record->context)->ended = true;
        break;
    default:
        break;
    }
}

/*
 * True if the tree waits for events of a live communicator. After finalize no more events arrive for the
 * communicator's own operations.
 */
static bool waits_for_live(struct tree *tree, uint32_t number)
{
    const struct node *node = tree_node(tree, number);
    bool waiting = node_is_task(node) ? !tree_task_finished(tree, number) : node->stop_ns == 0;
    if (waiting && !tree_communicator(tree, node->context)->ended)
        return true;
    for (uint32_t child = node->first_child; child; child = tree_node(tree, child)->next_sibling)
        if (waits_for_live(tree, child))
            return true;
    return false;
}

/*
 * Stops waiting for kernel channels that will not come. The channels of an operation run in one kernel, so
 * none starts after others have ended. The operations of a communicator run in order, so if a later one has
 * ended, an earlier one without any kernel channel will not get one.
 */
static void settle_kernels(struct tree *tree, struct node *root, uint32_t number)
{
    struct node *node = tree_node(tree, number);
    if (node_is_task(node)) {
        struct node_task *task = &node->task;
        bool over = task->kernels_stopped > 0 && task->kernels_stopped == task->kernels_started;
        bool overtaken = task->kernels_started == 0 &&
                         node->start_ns < tree_communicator(tree, node->context)->done_start_ns;
        if (task->kernels_stopped < task->kernels_expected && (over || overtaken)) {
            task->kernels_expected = task->kernels_stopped;
            root->kernels_awaited--;
        }
        return;
    }
    for (uint32_t child = node->first_child; child; child = tree_node(tree, child)->next_sibling)
        settle_kernels(tree, root, child);
}

static bool is_due(struct tree *tree, uint32_t number, uint64_t now_ns)
{
    struct node *root = tree_node(tree, number);
    const struct communicator_state *communicator = tree_communicator(tree, root->context);
    uint64_t quiet_ns = now_ns > root->touched_ns ? now_ns - root->touched_ns : 0;
    if (root->open == 0 && root->kernels_awaited > 0 && quiet_ns >= KERNEL_WAIT_NS &&
        now_ns >= root->settle_ns) {
        settle_kernels(tree, root, number);
        root->settle_ns = now_ns + KERNEL_WAIT_NS;
    }
    /*
     * A group call may hold operations of several communicators, so the first one does not decide for the
     * others.
     */
    bool may_have_ended = communicator->ended || (!is_complete(root) && quiet_ns >= KERNEL_WAIT_NS);
    if (may_have_ended && !waits_for_live(tree, number))
        return true;
    return is_complete(root) && quiet_ns >= (root->guessed ? KERNEL_WAIT_NS : GRACE_NS);
}

/* True if the event and everything below it has ended. */
static bool is_over(const struct tree *tree, uint32_t number)
{
    const struct node *node = tree_node(tree, number);
    if (node_is_task(node))
        return tree_task_finished(tree, number);
    if (node->stop_ns == 0)
        return false;
    for (uint32_t child = node->first_child; child; child = tree_node(tree, child)->next_sibling)
        if (!is_over(tree, child))
            return false;
    return true;
}

static void unlink_child(struct tree *tree, uint32_t parent, uint32_t before, uint32_t number)
{
    struct node *above = tree_node(tree, parent);
    struct node *node = tree_node(tree, number);
    if (before)
        tree_node(tree, before)->next_sibling = node->next_sibling;
    else
        above->first_child = node->next_sibling;
    if (above->last_child == number)
        above->last_child = before;
    node->parent = node->next_sibling = 0;
}

/*
 * Adds a second group with the same times, for the finished part of this one. Returns 0 when there is no
 * node.
 */
static uint32_t add_part(struct tree *tree, const struct node *group)
{
    /* No event has such a handle, because rings count handles up from small numbers. */
    uint32_t number = node_add(&tree->pool, ~group->handle);
    if (!number)
        return 0;
    struct node *part = tree_node(tree, number);
    part->type = group->type;
    part->api = group->api;
    part->context = group->context;
    part->start_ns = group->start_ns;
    part->stop_ns = group->stop_ns;
    part->touched_ns = group->touched_ns;
    part->part_ns = UINT64_MAX;
    part->guessed = group->guessed;
    part->call = group->call;
    add_root(tree, number);
    return number;
}

/*
 * Moves the finished operations of a group to a new root, so that they are not lost if another operation of
 * the group hangs until the job is killed. A call without operations stays, because it waits for them. The
 * moved events have stopped, so the counts of the old root stay valid.
 */
static void split_group(struct tree *tree, uint32_t root, uint64_t now_ns)
{
    struct node *group = tree_node(tree, root);
    bool is_group = group->type == TYPE_GROUP || group->type == TYPE_GROUP_API;
    if (now_ns < group->part_ns || group->stop_ns == 0 || !is_group)
        return;
    group->part_ns = now_ns + GROUP_SPLIT_NS;
    uint32_t part = 0;
    uint32_t before = 0;
    uint32_t next;
    for (uint32_t child = group->first_child; child; child = next) {
        const struct node *node = tree_node(tree, child);
        next = node->next_sibling;
        bool over = (node_is_task(node) || node->first_child) && is_over(tree, child);
        if (over && !part)
            part = add_part(tree, group);
        if (over && part) {
            unlink_child(tree, root, before, child);
            link_child(tree, part, child);
        } else {
            before = child;
        }
    }
}

void event_tree_flush(struct tree *tree, uint64_t now_ns, bool all)
{
    for (uint32_t root = tree->first_root; root;) {
        struct node *node = tree_node(tree, root);
        uint32_t next = node->next_root;
        if (all || tree_communicator(tree, node->context)->ended)
            settle_kernels(tree, node, root);
        if (all || is_due(tree, root, now_ns))
            hand_over(tree, root, is_complete(node));
        else
            split_group(tree, root, now_ns);
        root = next;
    }
}

uint64_t tree_end_ns(const struct tree *tree, uint32_t number)
{
    const struct node *node = tree_node(tree, number);
    uint64_t end_ns = node->stop_ns;
    for (uint32_t child = node->first_child; child; child = tree_node(tree, child)->next_sibling) {
        uint64_t child_ns = tree_end_ns(tree, child);
        if (child_ns > end_ns)
            end_ns = child_ns;
    }
    return end_ns;
}

static bool all_stopped(const struct tree *tree, uint32_t number)
{
    const struct node *node = tree_node(tree, number);
    if (node->stop_ns == 0)
        return false;
    for (uint32_t child = node->first_child; child; child = tree_node(tree, child)->next_sibling)
        if (!all_stopped(tree, child))
            return false;
    return true;
}

bool tree_task_finished(const struct tree *tree, uint32_t number)
{
    const struct node_task *task = &tree_node(tree, number)->task;
    return task->kernels_stopped >= task->kernels_expected && all_stopped(tree, number);
}
