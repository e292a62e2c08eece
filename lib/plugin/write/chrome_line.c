#include "plugin/write/chrome_line.h"

#include <stdio.h>

void chrome_init(struct chrome *chrome, struct sink *sink, struct tree *tree, uint64_t start_ns, long process)
{
    *chrome = (struct chrome){.sink = sink, .tree = tree, .start_ns = start_ns};
    int length =
        snprintf(chrome->process, sizeof(chrome->process), ", \"pid\": %ld, \"tid\": 1, \"ts\": ", process);
    chrome->process_length = length > 0 ? (size_t)length : 0;
}

void chrome_time(const struct chrome *chrome, struct text *text, uint64_t time_ns)
{
    text_microseconds(text, time_ns > chrome->start_ns ? time_ns - chrome->start_ns : 0);
}

const char *chrome_category(uint8_t type)
{
    static const char *const categories[TYPE_COUNT] = {
        [TYPE_GROUP] = "GROUP",       [TYPE_COLL] = "COLL",         [TYPE_P2P] = "P2P",
        [TYPE_PROXY_OP] = "PROXY",    [TYPE_PROXY_STEP] = "NET",    [TYPE_PROXY_CTRL] = "PROXY",
        [TYPE_KERNEL_CH] = "GPU",     [TYPE_NET_PLUGIN] = "NET_IB", [TYPE_GROUP_API] = "GROUP_API",
        [TYPE_COLL_API] = "COLL_API", [TYPE_P2P_API] = "P2P_API",   [TYPE_KERNEL_LAUNCH] = "KERNEL_LAUNCH",
        [TYPE_CE_COLL] = "CE_COLL",   [TYPE_CE_SYNC] = "CE_SYNC",   [TYPE_CE_BATCH] = "CE_BATCH",
        [TYPE_USER_TAG] = "USER_TAG", [TYPE_KERNEL_PHASE] = "GPU"};
    return type < TYPE_COUNT ? categories[type] : "UNKNOWN";
}

const char *chrome_name(const struct chrome *chrome, const struct node *node)
{
    const struct names *names = &chrome->tree->names;
    switch (node->type) {
    case TYPE_COLL:
    case TYPE_P2P:
        return names_text(names, node->task.function);
    case TYPE_COLL_API:
    case TYPE_P2P_API:
        return names_text(names, node->call.function);
    case TYPE_CE_COLL:
        return names_text(names, node->ce.function);
    case TYPE_GROUP:
        return "Group";
    case TYPE_GROUP_API:
        return "Group API";
    case TYPE_KERNEL_LAUNCH:
        return "KernelLaunch";
    case TYPE_KERNEL_CH:
        return "KernelCh";
    case TYPE_CE_SYNC:
        return "CeSync";
    case TYPE_CE_BATCH:
        return "CeBatch";
    default:
        return "";
    }
}

struct text *chrome_line(struct chrome *chrome, const char *name, const char *category, char phase,
                         uint32_t id, uint64_t time_ns)
{
    struct text *text = sink_line(chrome->sink);
    text_literal(text, "{\"name\": \"");
    text_escaped(text, name, strlen(name));
    text_literal(text, "\", \"cat\": \"");
    text_string(text, category);
    text_literal(text, "\", \"ph\": \"");
    text_bytes(text, &phase, 1);
    text_literal(text, "\", \"id\": ");
    text_unsigned(text, id);
    text_bytes(text, chrome->process, chrome->process_length);
    chrome_time(chrome, text, time_ns);
    return text;
}

struct text *chrome_note(struct chrome *chrome, const char *name, bool instant, uint64_t time_ns)
{
    struct text *text = sink_line(chrome->sink);
    text_literal(text, "{\"name\": \"");
    text_string(text, name);
    text_literal(text, "\", \"cat\": \"NCCLPROF\", \"ph\": \"");
    text_string(text, instant ? "i\", \"s\": \"p\"" : "M\"");
    text_bytes(text, chrome->process, chrome->process_length);
    chrome_time(chrome, text, time_ns);
    text_literal(text, ", \"args\": {");
    return text;
}

void chrome_note_end(struct text *text)
{
    text_literal(text, "}},\n");
}
