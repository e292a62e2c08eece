#include "plugin/write/chrome_phase.h"

static const char *phase_name(uint8_t phase)
{
    static const char *const names[] = {"initial_sync", "compute", "final_sync"};
    return phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "phase";
}

/* Its times are the GPU's alone; one whose stop did not come has no length. */
static void print_phase(struct chrome *chrome, const struct gpu_clock *clock, const struct node *phase,
                        uint32_t id)
{
    uint64_t start_clock = phase->kernel.start_clock;
    uint64_t stop_clock = phase->kernel.stop_clock;
    struct text *text = chrome_line(chrome, phase_name(phase->kernel.phase), chrome_category(phase->type),
                                    'X', id, gpu_clock_host_ns(clock, start_clock));
    text_literal(text, ", \"dur\": ");
    text_microseconds(text, stop_clock > start_clock ? stop_clock - start_clock : 0);
    text_literal(text, ", \"args\": {\"Channel\": ");
    text_unsigned(text, phase->channel);
    text_literal(text, ", \"PhaseId\": ");
    text_unsigned(text, phase->kernel.phase);
    text_literal(text, ", \"StartGpuClk\": ");
    text_unsigned(text, start_clock);
    text_literal(text, ", \"StopGpuClk\": ");
    text_unsigned(text, stop_clock);
    text_literal(text, "}},\n");
}

void chrome_phases(struct chrome *chrome, const struct node *kernel, uint32_t id)
{
    const struct gpu_clock *clock = &tree_communicator(chrome->tree, kernel->context)->clock;
    for (uint32_t child = kernel->first_child; child; child = tree_node(chrome->tree, child)->next_sibling)
        print_phase(chrome, clock, tree_node(chrome->tree, child), id);
}
