#include "support/same_line.h"

#include "format/chrome/chrome.h"
#include "format/inspector/inspector.h"
#include "format/internal.h"
#include "model/model.h"

#include <string.h>

#define SAME(member)                       \
    do {                                   \
        if (left->member != right->member) \
            return #member;                \
    } while (0)

static const char *in_operation(const struct chrome_operation *left, const struct chrome_operation *right)
{
    SAME(sequence);
    SAME(communicator_hash);
    SAME(rank);
    SAME(peer);
    SAME(count);
    SAME(channel_count);
    SAME(datatype);
    SAME(algorithm);
    SAME(protocol);
    SAME(root);
    SAME(enqueue_end_ns);
    SAME(send_buffer);
    SAME(receive_buffer);
    SAME(unfinished);
    SAME(is_symmetric);
    SAME(user_tag);
    return NULL;
}

static const char *in_api(const struct chrome_api *left, const struct chrome_api *right)
{
    SAME(count);
    SAME(datatype);
    SAME(root);
    SAME(graph_captured);
    SAME(stream);
    SAME(user_tag);
    return NULL;
}

static const char *in_proxy(const struct chrome_proxy *left, const struct chrome_proxy *right)
{
    SAME(channel);
    SAME(peer);
    SAME(step_count);
    SAME(chunk_bytes);
    SAME(transferred_bytes);
    SAME(origin_pid);
    SAME(origin_rank);
    SAME(has_states);
    for (int i = 0; i < PROXY_STATES; i++) {
        SAME(state[i].steps);
        SAME(state[i].at_ns);
    }
    return NULL;
}

static const char *in_kernel(const struct chrome_kernel *left, const struct chrome_kernel *right)
{
    SAME(channel);
    SAME(gpu_begin);
    SAME(gpu_end);
    SAME(begin_ns);
    SAME(end_ns);
    SAME(phase);
    return NULL;
}

static const char *in_arguments(const struct chrome_line *left, const struct chrome_line *right)
{
    switch (left->category) {
    case CHROME_COLL:
    case CHROME_P2P:
        return in_operation(&left->operation, &right->operation);
    case CHROME_COLL_API:
    case CHROME_P2P_API:
    case CHROME_KERNEL_LAUNCH:
        return in_api(&left->api, &right->api);
    case CHROME_PROXY:
        return in_proxy(&left->proxy, &right->proxy);
    case CHROME_GPU:
        return in_kernel(&left->kernel, &right->kernel);
    case CHROME_NET:
        SAME(step);
        return NULL;
    case CHROME_GROUP:
    case CHROME_GROUP_API:
    case CHROME_NET_PLUGIN:
    case CHROME_CE_PART:
        return NULL;
    default:
        return "a category that is not scanned";
    }
}

const char *difference_of_chrome_lines(const struct chrome_line *left, const struct chrome_line *right)
{
    SAME(category);
    SAME(name);
    SAME(function);
    SAME(phase);
    SAME(hints);
    SAME(id);
    SAME(pid);
    SAME(time_ns);
    return chrome_reads_arguments(left) ? in_arguments(left, right) : NULL;
}

static int same_text(struct scan_text left, struct scan_text right)
{
    return left.length == right.length &&
           (left.length == 0 || memcmp(left.text, right.text, left.length) == 0);
}

static const char *in_channel(const struct kernel_channel *left, const struct kernel_channel *right)
{
    SAME(channel);
    SAME(host.begin_ns);
    SAME(host.end_ns);
    SAME(gpu_begin);
    SAME(gpu_end);
    return NULL;
}

const char *difference_of_inspector_lines(const struct inspector_line *left,
                                          const struct inspector_line *right)
{
    const char *difference = NULL;
    SAME(record);
    SAME(has_identity);
    SAME(identity.communicator_hash);
    SAME(identity.rank);
    SAME(identity.communicator_size);
    SAME(identity.node_count);
    SAME(identity.pid);
    SAME(dumped_ns);
    SAME(is_point_to_point);
    SAME(function);
    SAME(algorithm);
    SAME(protocol);
    SAME(unkept);
    SAME(sequence);
    SAME(peer);
    SAME(bytes);
    SAME(duration_ns);
    SAME(timing);
    SAME(enqueue.begin_ns);
    SAME(enqueue.end_ns);
    SAME(channel_count);
    if (!same_text(left->identity.communicator_name, right->identity.communicator_name) ||
        !same_text(left->identity.version, right->identity.version) ||
        !same_text(left->identity.revision, right->identity.revision) ||
        !same_text(left->identity.host, right->identity.host) || !same_text(left->tag, right->tag))
        return "a text";
    for (size_t i = 0; i < left->channel_count && !difference; i++)
        difference = in_channel(&left->channels[i], &right->channels[i]);
    return difference;
}
