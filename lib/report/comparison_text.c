/*
 * The text output of the command compare: sentences for what differs beyond noise, and for what could not be
 * compared.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/comparison.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Most differences shown of each kind; --all shows the others. */
enum { MOST_TOLD = 5 };

const char *comparison_name(int kind)
{
    static const char *const names[COMPARED_KINDS] = {"step",      "communication", "waiting", "overlap",
                                                      "phase",     "transfer",      "edge",    "own",
                                                      "own_phase", "own",           "finding"};
    return names[kind];
}

static int append_us(struct buffer *text, double us)
{
    return text_time(text, (int64_t)llround(fabs(us) * 1e3));
}

static int append_quoted(struct buffer *text, const char *hostile)
{
    return escape_terminal(text, hostile, strlen(hostile));
}

/* " (58 %)", with two digits. */
static int append_percent(struct buffer *text, double percent)
{
    return isfinite(percent) ? buffer_printf(text, " (%.*f %%)", fabs(percent) < 9.95, fabs(percent)) : 0;
}

/* "12.3 ms, 4.5 ms (58 %) longer" */
static int append_longer(const struct comparison *of, struct buffer *text)
{
    return append_us(text, of->values[1]) || buffer_append_text(text, ", ") || append_us(text, of->change) ||
           append_percent(text, comparison_percent(of, of->change)) ||
           buffer_append_text(text, of->change > 0 ? " longer" : " shorter");
}

/* ", interval -0.4 to +3.1 %" */
static int append_interval(const struct comparison *of, struct buffer *text)
{
    return buffer_printf(text, ", interval %+.2g to %+.2g %%", comparison_percent(of, of->change - of->reach),
                         comparison_percent(of, of->change + of->reach));
}

static int append_steps(const struct comparison *of, struct buffer *text)
{
    return buffer_append_text(text, "A step took ") || append_longer(of, text) ||
           buffer_append_text(text, " than in A") || append_interval(of, text) ||
           buffer_append_text(text, ".\n");
}

static int append_share(const struct comparison *of, const char *what, struct buffer *text)
{
    return buffer_printf(text, "%s %.*f %% of the time (%.*f %% in A).\n", what, of->values[1] < 9.95,
                         of->values[1], of->values[0] < 9.95, of->values[0]);
}

static int append_overlap(const struct comparison *of, struct buffer *text)
{
    return buffer_printf(text, "GPUs computed in %.*f %% of the communication time (%.*f %% in A).\n",
                         of->values[1] < 9.95, of->values[1], of->values[0] < 9.95, of->values[0]);
}

static int append_phase(const struct comparison *of, struct buffer *text)
{
    return buffer_append_text(text, "Phase ") || append_quoted(text, of->key) ||
           buffer_append_text(text, " took ") || append_longer(of, text) ||
           buffer_append_text(text, " than in A.\n");
}

static int append_transfer(const struct comparison *of, struct buffer *text)
{
    double gbs = of->series[1]->gbs_us;
    return append_quoted(text, of->key) || buffer_append_text(text, ": a transfer took ") ||
           append_longer(of, text) || buffer_append_text(text, " than in A") ||
           (gbs > 0 && buffer_printf(text, "; bus bandwidth %.3g GB/s (%.3g GB/s in A)", gbs / of->values[1],
                                     gbs / of->values[0])) ||
           buffer_append_text(text, ".\n");
}

static int append_edge(const struct comparison *of, struct buffer *text)
{
    return buffer_append_text(text, "Sends from ") || append_quoted(text, of->key) ||
           buffer_append_text(text, " waited ") || append_us(text, of->change) ||
           buffer_printf(text, " %s per step for the network", of->change > 0 ? "longer" : "less") ||
           append_percent(text, comparison_percent(of, of->change)) ||
           buffer_append_text(text, " than in A.\n");
}

/* The position whose gap time changed most in the direction of the whole change; NULL: none. */
static const struct measured_place *changed_place(const struct comparison *of, size_t *at)
{
    const struct step_series *a = of->series[0], *b = of->series[1];
    const struct measured_place *best = NULL;
    double most = 0;
    if (!a || !b || a->place_count != b->place_count)
        return NULL;
    for (size_t i = 0; i < a->place_count; i++) {
        double change = (b->places[i].own_us - a->places[i].own_us) * (of->change > 0 ? 1 : -1);
        if (change > most) {
            most = change;
            best = &b->places[i];
            *at = i;
        }
    }
    return best;
}

int comparison_append_place(const struct comparison *of, struct buffer *text)
{
    size_t at = 0;
    const struct measured_place *place = changed_place(of, &at);
    const char *function = place ? function_name((enum function)place->function) : NULL;
    if (!place)
        return 0;
    return buffer_printf(text, "before operation %zu of the step (%s", at + 1,
                         function ? function : "function unknown") ||
                   (place->tag && (buffer_append_text(text, ", ") || buffer_append_text(text, place->tag))) ||
                   buffer_append_byte(text, ')')
               ? -1
               : 0;
}

static int append_rank(const struct comparison *of, struct buffer *text)
{
    struct buffer place = BUFFER_INIT;
    int failed =
        buffer_append_byte(text, (char)toupper((unsigned char)*of->key)) ||
        append_quoted(text, of->key + 1) || buffer_append_text(text, " spends ") ||
        append_us(text, of->change) ||
        buffer_printf(text, " %s per step between operations than in A", of->change > 0 ? "more" : "less") ||
        append_percent(text, comparison_percent(of, of->change)) || comparison_append_place(of, &place) ||
        (place.length &&
         (buffer_append_text(text, ", most of it ") || escape_terminal(text, place.data, place.length))) ||
        buffer_append_text(text, ".\n");
    buffer_release(&place);
    return failed;
}

/* "All ranks spend 546 us more per step between operations than in A in phase backward (6.4 %)." */
static int append_all(const struct comparison *of, struct buffer *text)
{
    return buffer_append_text(text, "All ranks spend ") || append_us(text, of->change) ||
           buffer_printf(text, " %s per step between operations", of->change > 0 ? "more" : "less") ||
           (of->tag && (buffer_append_text(text, " in phase ") || append_quoted(text, of->tag))) ||
           buffer_append_text(text, " than in A") ||
           append_percent(text, comparison_percent(of, of->change)) || buffer_append_text(text, ".\n");
}

static int append_finding(const struct comparison *of, struct buffer *text)
{
    const struct measured_finding *found = of->found[1] ? of->found[1] : of->found[0];
    const char *how = !of->found[0]    ? "New: "
                      : !of->found[1]  ? "Gone: "
                      : of->change > 0 ? "Grew: "
                                       : "Shrank: ";
    int is_both = of->found[0] && of->found[1];
    if (!found)
        return 0;
    return buffer_append_text(text, how) || append_quoted(text, found->text) ||
           (is_both && (buffer_append_text(text, ". Cost per step: ") || append_us(text, of->values[0]) ||
                        buffer_append_text(text, " in A, ") || append_us(text, of->values[1]) ||
                        buffer_append_text(text, " in B"))) ||
           buffer_append_text(text, ".\n");
}

static int say(const struct comparison *of, struct buffer *text)
{
    switch (of->kind) {
    case SERIES_STEP:
        return append_steps(of, text);
    case SERIES_COMMUNICATION:
        return append_share(of, "Communication took", text);
    case SERIES_WAITING:
        return append_share(of, "Ranks waited for others", text);
    case SERIES_OVERLAP:
        return append_overlap(of, text);
    case SERIES_PHASE:
        return append_phase(of, text);
    case SERIES_TRANSFER:
        return append_transfer(of, text);
    case SERIES_EDGE:
        return append_edge(of, text);
    case SERIES_OWN:
    case SERIES_OWN_PHASE:
        return append_all(of, text);
    case SERIES_RANK:
        return append_rank(of, text);
    default:
        return append_finding(of, text);
    }
}

/* Appends what differs beyond noise. */
static int append_differences(const struct comparisons *all, size_t *told, struct buffer *text)
{
    size_t of_kind[COMPARED_KINDS] = {0}, left_out = 0;
    *told = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct comparison *of = &all->items[i];
        if (of->verdict != COMPARED_BEYOND)
            continue;
        ++*told;
        if (++of_kind[of->kind] > MOST_TOLD)
            left_out++;
        else if (say(of, text))
            return -1;
    }
    return left_out ? buffer_printf(text, "%zu more difference%s beyond noise; use --all\n", left_out,
                                    left_out == 1 ? "" : "s")
                    : 0;
}

/* A short reason why step time is not compared; the notes have the full one. */
static const char *reason_of(const struct comparison *steps)
{
    static const char *const reasons[COMPARE_RULES] = {
        [COMPARE_ONE_SIDE] = "a run has no steps",
        [COMPARE_RANKS] = "the runs differ in ranks",
        [COMPARE_PROGRAMME] = "the steps contain different operations",
        [COMPARE_PLACEMENT] = "the ranks are placed on the hosts differently",
        [COMPARE_CALLED] = "operations have no end times",
        [COMPARE_FEW_STEPS] = "there are too few steps",
    };
    return steps && reasons[steps->rule] ? reasons[steps->rule] : "a run has no steps";
}

/* "Step time cannot be compared (49.9 ms in A, 72.0 ms in B): the steps contain different operations." */
static int append_untold(const struct comparison *steps, struct buffer *text)
{
    if (buffer_append_text(text, "Step time cannot be compared"))
        return -1;
    if (steps && isfinite(steps->change) &&
        (buffer_append_text(text, " (") || append_us(text, steps->values[0]) ||
         buffer_append_text(text, " in A, ") || append_us(text, steps->values[1]) ||
         buffer_append_text(text, " in B)")))
        return -1;
    return buffer_printf(text, ": %s.\n", reason_of(steps));
}

static const struct comparison *own_of_all(const struct comparisons *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].kind == SERIES_OWN)
            return &all->items[i];
    return NULL;
}

/*
 * Appends how far gap time could differ. It is known more precisely than step time, which includes the
 * network.
 */
static int append_own(const struct comparisons *all, struct buffer *text)
{
    const struct comparison *own = own_of_all(all);
    if (!own || own->verdict != COMPARED_WITHIN || isnan(own->whole))
        return buffer_append_byte(text, '\n');
    return buffer_printf(
        text, " Time between operations changed by %.2g %% of a step (detection limit %.2g %%).\n",
        fabs(comparison_percent(own, own->change)), comparison_percent(own, own->detectable));
}

/* Appends the result for step time if it does not differ. */
static int append_silence(const struct comparisons *all, size_t told, struct buffer *text)
{
    const struct comparison *steps = comparisons_steps(all);
    if (!steps || steps->verdict == COMPARED_NOT)
        return append_untold(steps, text);
    if (steps->verdict == COMPARED_BEYOND)
        return 0;
    return buffer_printf(text, "%s: step time changed by %+.2g %%",
                         told ? "No difference in step time beyond noise" : "No difference beyond noise",
                         comparison_percent(steps, steps->change)) ||
           append_interval(steps, text) ||
           buffer_printf(text, " (detection limit %.2g %%).", comparison_percent(steps, steps->detectable)) ||
           append_own(all, text);
}

static int append_run_name(const struct measured_run *run, struct buffer *text)
{
    return append_quoted(text, run->run_name ? run->run_name : "no operations") ||
           (run->run_name && buffer_printf(text, " (run %lld)", (long long)run->run_id));
}

/* "A: job (run 1), 8 ranks, 40 baseline steps of 41"; of repeats, the names and the sums of steps. */
static int append_side(const struct measured_side *side, const char *name, struct buffer *text)
{
    int64_t usual = 0, steps = 0;
    if (side->count == 1 && !side->runs[0].run_name)
        return buffer_printf(text, "%s: no operations\n", name);
    if (buffer_printf(text, "%s: ", name))
        return -1;
    for (size_t i = 0; i < side->count; i++) {
        if ((i && buffer_append_text(text, ", ")) || append_run_name(&side->runs[i], text))
            return -1;
        usual += side->runs[i].usual;
        steps += side->runs[i].steps;
    }
    return (side->count > 1 && buffer_printf(text, ": %zu repeats", side->count)) ||
           buffer_printf(text, ", %lld rank%s, %lld baseline step%s of %lld\n",
                         (long long)side->runs[0].ranks, side->runs[0].ranks == 1 ? "" : "s",
                         (long long)usual, usual == 1 ? "" : "s", (long long)steps);
}

int comparisons_append(const struct comparisons *all, struct buffer *text)
{
    size_t told;
    struct buffer differences = BUFFER_INIT;
    int failed = append_side(&all->sides[0], "A", text) || append_side(&all->sides[1], "B", text) ||
                 buffer_append_byte(text, '\n') || append_differences(all, &told, &differences) ||
                 (differences.length && buffer_append(text, differences.data, differences.length)) ||
                 append_silence(all, told, text);
    buffer_release(&differences);
    return failed ? -1 : 0;
}

/* The fewest baseline steps of a run of that side. */
static int fewest_steps(const struct measured_side *side)
{
    int fewest = (int)side->runs[0].usual;
    for (size_t i = 1; i < side->count; i++)
        fewest = side->runs[i].usual < fewest ? (int)side->runs[i].usual : fewest;
    return fewest;
}

static int append_few(const struct comparisons *all, struct buffer *text)
{
    double least = compare_limit(COMPARE_FEW_STEPS);
    int a = fewest_steps(&all->sides[0]), b = fewest_steps(&all->sides[1]);
    if (a >= least && b >= least)
        return buffer_printf(text, "items present in fewer than %g steps of a run are not compared", least);
    return buffer_printf(text, "A has %d baseline step%s, B has %d; at least %g are needed to estimate noise",
                         a, a == 1 ? "" : "s", b, least);
}

/* The most communicators whose data goes over the network in one of two runs only. */
static size_t most_moved(const struct comparisons *all)
{
    size_t most = 0;
    for (size_t i = 0; i < all->sides[0].count; i++)
        for (size_t k = 0; k < all->sides[1].count; k++) {
            size_t moved = count_moved_communicators(&all->sides[0].runs[i], &all->sides[1].runs[k]);
            most = moved > most ? moved : most;
        }
    return most;
}

static int append_placement(const struct comparisons *all, struct buffer *text)
{
    size_t moved = most_moved(all);
    if (moved &&
        buffer_printf(text, "the data of %zu communicator%s goes over the network in only one run, because ",
                      moved, moved == 1 ? "" : "s"))
        return -1;
    return buffer_append_text(
        text,
        "the ranks are placed on the hosts differently; steps, phases, transfers and links are not compared");
}

static int append_ranks(const struct comparisons *all, struct buffer *text)
{
    int64_t a = all->sides[0].runs[0].ranks, b = all->sides[1].runs[0].ranks;
    if (a == b)
        return buffer_append_text(text, "the repeats of a side differ in ranks: only findings are compared");
    return buffer_printf(text, "A has %lld ranks, B has %lld: only findings are compared", (long long)a,
                         (long long)b);
}

int comparisons_append_bar(const struct comparisons *all, enum compare_rule rule, struct buffer *text)
{
    switch (rule) {
    case COMPARE_ONE_SIDE:
        return buffer_append_text(text, "items present in only one run are not compared; --all lists them");
    case COMPARE_RANKS:
        return append_ranks(all, text);
    case COMPARE_PROGRAMME:
        return buffer_append_text(text,
                                  "the operations of a step differ (number, order, function, size or ranks): "
                                  "steps, phases, links and ranks are not compared");
    case COMPARE_PLACEMENT:
        return append_placement(all, text);
    case COMPARE_CALLED:
        return buffer_printf(text, "%s; step time is not compared", compare_rules[rule].says);
    default:
        return append_few(all, text);
    }
}
