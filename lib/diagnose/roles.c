/*
 * Finds the call sequences of each rank and groups ranks with the same sequences into roles. Gives each
 * operation its position in its role. Runs as part of baseline_init.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stdlib.h>

/* Minimum length of a regular stretch in steps: fewer are not enough for a baseline. */
enum { FEWEST_STEPS = 6 };

static int is_as(const struct stretch *stretch, const struct stretch *other)
{
    return stretch->signature == other->signature && stretch->count == other->count;
}

/* The call sequence that a step under this load matches; -1: none. */
static int32_t find(const struct call_sequences *sequences, struct stretch stretch, int32_t load)
{
    for (int32_t i = 0; i < sequences->count; i++)
        if (sequences->load[i] == load && is_as(&sequences->canonical[i], &stretch))
            return i;
    return -1;
}

/* The number of consecutive steps from `step` on that are like it; none of them has a gap. */
static int32_t count_alike(const struct stretch *stretches, const int32_t *loads, int32_t step,
                           int32_t step_count)
{
    int32_t count = 0;
    while (step + count < step_count && stretches[step + count].count && !stretches[step + count].has_gap &&
           loads[step + count] == loads[step] && is_as(&stretches[step + count], &stretches[step]))
        count++;
    return count;
}

/* The load of most of the steps that have the canonical sequence (NULL: of all steps). */
static int32_t main_load(const struct stretch *stretches, const struct stretch *canonical,
                         const int32_t *loads, int32_t first_step, int32_t step_count)
{
    int32_t best = 0, most = 0;
    for (int32_t step = first_step, end, here; step < step_count; step = end) {
        for (end = step, here = 0; end < step_count && loads[end] == loads[step]; end++)
            here += !canonical || is_as(&stretches[end], canonical);
        if (here > most) {
            most = here;
            best = loads[step];
        }
    }
    return best;
}

static void add_stretches(struct call_sequences *sequences, const struct stretch *stretches,
                          const int32_t *loads, int32_t first_step, int32_t step_count)
{
    for (int32_t step = first_step, alike; step < step_count; step += alike ? alike : 1) {
        alike = count_alike(stretches, loads, step, step_count);
        if (alike < FEWEST_STEPS || sequences->count == MAX_CALL_SEQUENCES ||
            find(sequences, stretches[step], loads[step]) >= 0)
            continue;
        sequences->load[sequences->count] = loads[step];
        sequences->canonical[sequences->count++] = stretches[step];
    }
}

static void assign_steps(struct call_sequences *sequences, const struct stretch *stretches,
                         const int32_t *loads, int32_t step_count)
{
    int32_t last = -1;
    for (int32_t step = 0; step < step_count; step++) {
        int32_t here = find(sequences, stretches[step], loads[step]);
        last = here >= 0 ? here : last;
        sequences->of_step[step] = last;
    }
    last = 0;
    for (int32_t step = step_count; step-- > 0;) {
        last = sequences->of_step[step] >= 0 ? sequences->of_step[step] : last;
        sequences->of_step[step] = last;
        sequences->first_step[last] = step;
    }
}

/* Whether at least half of the steps have one of the sequences. */
static int are_usual(const struct call_sequences *sequences, const struct stretch *stretches,
                     const int32_t *loads, int32_t first_step, int32_t step_count)
{
    int32_t alike = 0, used = 0;
    for (int32_t step = first_step; step < step_count; step++) {
        used += stretches[step].count > 0;
        alike += stretches[step].count && find(sequences, stretches[step], loads[step]) >= 0;
    }
    return alike * 2 >= used;
}

/* Replaces all sequences by one that is made of many steps. */
static int take_merged(struct call_sequences *sequences, const struct stretch *stretches,
                       const int32_t *loads, int32_t first_step, const struct step_numbers *numbers)
{
    int32_t step_count = numbers->job->step_count;
    if (merged_step_find(&sequences->merged, numbers, stretches, first_step))
        return -1;
    const struct merged_step *merged = &sequences->merged;
    if (!merged->count)
        return 0;
    sequences->canonical[0] =
        (struct stretch){.first = merged->operations[0], .count = merged->count, .list = merged->operations};
    sequences->load[0] = main_load(stretches, NULL, loads, first_step, step_count);
    sequences->count = 1;
    return 0;
}

int call_sequences_find(struct call_sequences *sequences, const struct stretch *stretches,
                        const int32_t *loads, int32_t first_step, int32_t step_count,
                        const struct step_numbers *numbers, struct stretch *scratch)
{
    *sequences = (struct call_sequences){.count = 0};
    sequences->of_step = array_new((size_t)step_count, sizeof *sequences->of_step);
    if (!sequences->of_step)
        return -1;
    struct stretch canonical = stretches_canonical(stretches, first_step, step_count, scratch);
    sequences->count = canonical.first >= 0;
    sequences->canonical[0] = canonical;
    sequences->load[0] = main_load(stretches, &canonical, loads, first_step, step_count);
    if (sequences->count)
        add_stretches(sequences, stretches, loads, first_step, step_count);
    if (sequences->count && numbers && !are_usual(sequences, stretches, loads, first_step, step_count) &&
        take_merged(sequences, stretches, loads, first_step, numbers))
        return -1;
    assign_steps(sequences, stretches, loads, step_count);
    return 0;
}

void call_sequences_release(struct call_sequences *sequences)
{
    free(sequences->of_step);
    sequences->of_step = NULL;
    sequences->count = 0;
    merged_step_release(&sequences->merged);
}

/*
 * What two ranks of one role have in common at a position. The size is included only if most steps have it.
 */
static uint64_t hash_role(const struct job *job, const struct job_operation *operation, int is_usual_size)
{
    uint64_t size = (uint64_t)job->communicators[operation->communicator].size;
    return hash_mix(hash_mix(size, operation->function),
                    hash_mix(is_usual_size ? (uint64_t)operation->bytes : 0, operation->kind));
}

/* Limit for the number of cells of a rank: per operation, plus a constant. */
enum { CELLS_AN_OPERATION = 64, CELLS_ALWAYS = 1 << 14 };

/*
 * Whether steps repeat. Repeated steps fill their cells; one step that holds nearly all operations would
 * leave nearly all cells empty.
 */
static int recurs(const struct job *job, const struct job_rank *rank, int32_t positions)
{
    uint64_t cells = (uint64_t)positions * (uint64_t)job->step_count;
    return cells <= CELLS_ALWAYS + CELLS_AN_OPERATION * (uint64_t)rank->count;
}

/* A rank whose role is being determined. */
struct player {
    const struct job *job;
    struct baseline *baseline;
    struct map *roles; /* (sequence, FIRST_OF or IN_ANY) -> role; (sequence, role) -> first position of the
                          sequence in the role */
    size_t *capacity;  /* of baseline->roles */
    struct stretch *stretches; /* one per step, followed by the same amount of scratch space */
    const int32_t *loads;      /* one per step */
    struct call_sequences sequences;
    const struct step_numbers *numbers; /* NULL: no records are missing */
    int32_t begins[MAX_CALL_SEQUENCES]; /* first positions of its call sequences in its role */
    size_t rank;
    int32_t stage;
};

/* One vote in a majority vote (Boyer and Moore, 1981): `before` keeps the majority's candidate. */
static void vote(int32_t *before, int32_t *votes, int32_t position)
{
    if (*votes == 0)
        *before = position;
    *votes += *before == position ? 1 : -1;
}

/*
 * Counts which position comes before each position on its stream, in steps with the canonical sequence. For
 * the first operation of a stream that is the last one of the step before, whose position is not less. -1:
 * only operations without a place come before it.
 */
static void vote_in_step(const struct player *player, int32_t step, int32_t *before, int32_t *votes)
{
    int32_t call_sequence = player->sequences.of_step[step], begin = player->begins[call_sequence];
    const struct stretch *like = &player->stretches[step];
    const struct stretch *canonical = &player->sequences.canonical[call_sequence];
    for (int32_t i = 0;
         begin >= 0 && like->signature == canonical->signature && i < canonical->count && i < like->count;
         i++) {
        const struct job_operation *operations = player->job->operations;
        int32_t previous = operations[like->first + i].previous;
        int32_t at = previous >= 0 ? player->baseline->positions[operations[previous].group] : -1;
        if (at >= 0)
            vote(&before[begin + i], &votes[begin + i], at);
    }
}

/* The same in a step that need not be complete, by the positions of its operations. */
static void vote_by_positions(const struct player *player, int32_t step, int32_t *before, int32_t *votes)
{
    const struct job_operation *operations = player->job->operations;
    const int32_t *positions = player->baseline->positions;
    const struct stretch *stretch = &player->stretches[step];
    for (int32_t i = stretch->first; i >= 0 && i < stretch->first + stretch->count; i++) {
        int32_t previous = operations[i].previous;
        int32_t at = previous >= 0 ? positions[operations[previous].group] : -1;
        if (positions[i] >= 0 && at >= 0)
            vote(&before[positions[i]], &votes[positions[i]], at);
    }
}

static int note_predecessors(struct player *player)
{
    struct baseline *baseline = player->baseline;
    int32_t length = baseline->roles[baseline->role_of_rank[player->rank]].length;
    int32_t *before = array_new((size_t)length, sizeof *before);
    int32_t *votes = array_new((size_t)length, sizeof *votes);
    baseline->predecessors[player->rank] = before;
    for (int32_t i = 0; before && i < length; i++)
        before[i] = -1;
    for (int32_t step = baseline->first_step; before && votes && step < player->job->step_count; step++) {
        if (player->sequences.merged.count)
            vote_by_positions(player, step, before, votes);
        else
            vote_in_step(player, step, before, votes);
    }
    int failed = !before || !votes;
    free(votes);
    return failed ? -1 : 0;
}

/*
 * Whether at least half of the steps of the sequence, of those with the same number of operations, have the
 * size of the canonical one at a position. Where the data decide how much is sent, sizes do not distinguish
 * roles.
 */
static int is_usual_size(const struct player *player, int32_t call_sequence, int32_t at)
{
    const struct job_operation *operations = player->job->operations;
    struct stretch canonical = player->sequences.canonical[call_sequence];
    int32_t alike = 0;
    if (canonical.list)
        return !player->sequences.merged.varies[at];
    for (int32_t step = player->baseline->first_step; step < player->job->step_count; step++) {
        const struct stretch *stretch = &player->stretches[step];
        if (player->sequences.of_step[step] != call_sequence || stretch->count != canonical.count)
            continue;
        alike += operations[stretch->first + at].bytes == operations[canonical.first + at].bytes ? 1 : -1;
    }
    return alike >= 0;
}

static uint64_t hash_sequence(const struct player *player, int32_t call_sequence)
{
    struct stretch canonical = player->sequences.canonical[call_sequence];
    uint64_t hash = hash_mix((uint64_t)canonical.count, (uint64_t)player->stage);
    for (int32_t i = 0; i < canonical.count; i++)
        hash = hash_mix(hash, hash_role(player->job, &player->job->operations[stretch_at(&canonical, i)],
                                        is_usual_size(player, call_sequence, i)));
    return hash;
}

/*
 * What the map stores for a sequence: the role that it is the first sequence of (FIRST_OF), any role that has
 * it (IN_ANY), or, under the number of a role, its first position there.
 */
enum { FIRST_OF = -1, IN_ANY = -2 };

static struct map_key key_of(const struct player *player, int32_t call_sequence, int64_t of)
{
    struct stretch canonical = player->sequences.canonical[call_sequence];
    return (struct map_key){{hash_sequence(player, call_sequence), (uint64_t)canonical.count, (uint64_t)of,
                             (uint64_t)player->sequences.load[call_sequence]}};
}

/*
 * The role with the sequences of the rank; -1: none yet. Ranks that join or leave when communicators are
 * recreated do only part of the work: their first sequence may be the second of another rank, or the other
 * way round. A shared second sequence is not enough, because two roles may have only an evaluation in common.
 */
static int32_t find_role(const struct player *player)
{
    const int64_t *role = map_get(player->roles, key_of(player, 0, FIRST_OF));
    if (!role)
        role = map_get(player->roles, key_of(player, 0, IN_ANY));
    for (int32_t i = 1; !role && i < player->sequences.count; i++)
        role = map_get(player->roles, key_of(player, i, FIRST_OF));
    return role ? (int32_t)*role : -1;
}

static int join_role(struct player *player)
{
    struct baseline *baseline = player->baseline;
    int32_t number = find_role(player);
    if (number < 0) {
        number = (int32_t)baseline->role_count;
        if (array_reserve((void **)&baseline->roles, player->capacity, baseline->role_count + 1,
                          sizeof *baseline->roles) ||
            !map_put(player->roles, key_of(player, 0, FIRST_OF), number, NULL))
            return -1;
        baseline->roles[baseline->role_count++] = (struct role){.length = 0};
    }
    baseline->role_of_rank[player->rank] = number;
    baseline->rank_in_role[player->rank] = (int32_t)baseline->roles[number].rank_count++;
    return 0;
}

/* Adds a call sequence to a role. */
static int add_call_sequence(struct role *role, int32_t count)
{
    int32_t *begins = realloc(role->begins, ((size_t)role->call_sequences + 1) * sizeof *begins);
    if (!begins)
        return -1;
    role->begins = begins;
    begins[role->call_sequences++] = role->length;
    role->length += count;
    return 0;
}

/*
 * Determines where the positions of the rank's call sequences begin in its role. Sequences are identified by
 * content because not every rank needs to have all of them in the same steps. A sequence that would leave
 * nearly all of its cells empty gets no positions (-1).
 */
static int take_call_sequences(struct player *player)
{
    const struct job *job = player->job;
    int32_t number = player->baseline->role_of_rank[player->rank];
    struct role *role = &player->baseline->roles[number];
    for (int32_t i = 0; i < player->sequences.count; i++) {
        int32_t count = player->sequences.canonical[i].count;
        const int64_t *known = map_get(player->roles, key_of(player, i, number));
        player->begins[i] = known ? (int32_t)*known : -1;
        if (player->sequences.first_step[i] >= player->baseline->first_step && player->sequences.count > 1 &&
            warm_up_add(player->baseline, player->sequences.first_step[i]))
            return -1;
        if (known || !recurs(job, &job->ranks[player->rank], role->length + count))
            continue;
        player->begins[i] = role->length;
        if (!map_put(player->roles, key_of(player, i, number), role->length, NULL) ||
            !map_put(player->roles, key_of(player, i, IN_ANY), number, NULL) ||
            add_call_sequence(role, count))
            return -1;
    }
    return 0;
}

/*
 * Converts positions within a call sequence to positions within the role. Where the calls of two steps are
 * interleaved, the stretch contains operations of the other step, which have a position in their own.
 */
static void shift_positions(const struct job *job, struct stretch own, int32_t step, int32_t begin,
                            int32_t *positions)
{
    for (int32_t i = own.first; i >= 0 && i < own.first + own.count; i++)
        if (positions[i] >= 0)
            positions[i] = job->operations[i].step == step ? positions[i] + begin : -1;
}

/* Sets the positions of the operations in the steps of one call sequence. */
static int place_call_sequence(struct player *player, int32_t call_sequence)
{
    const struct job *job = player->job;
    struct stretch *own = player->stretches + job->step_count;
    int32_t *positions = player->baseline->positions, begin = player->begins[call_sequence];
    for (int32_t step = 0; step < job->step_count; step++)
        own[step] = player->sequences.of_step[step] == call_sequence ? player->stretches[step]
                                                                     : (struct stretch){.first = -1};
    if (begin < 0)
        return 0;
    if (positions_match(job, own, player->sequences.canonical[call_sequence], player->numbers, positions))
        return -1;
    for (int32_t step = 0; (begin || player->sequences.count > 1) && step < job->step_count; step++)
        shift_positions(job, own[step], step, begin, positions);
    return 0;
}

struct regularity {
    uint64_t whole;
    uint64_t all;
};

static int32_t count_placed(const int32_t *positions, struct stretch stretch)
{
    int32_t placed = 0;
    for (int32_t i = 0; i < stretch.count; i++)
        placed += positions[stretch.first + i] >= 0;
    return placed;
}

/* Counts steps with the complete sequence or, where records are missing, operations with a position in it. */
static void count_whole(struct regularity *regularity, const struct player *player)
{
    for (int32_t step = player->baseline->first_step; step < player->job->step_count; step++) {
        if (job_is_break(player->job, step))
            continue;
        int32_t count = player->sequences.canonical[player->sequences.of_step[step]].count;
        int32_t placed = count_placed(player->baseline->positions, player->stretches[step]);
        regularity->whole += player->job->missing_sequence ? (uint64_t)placed : placed == count;
        regularity->all += player->job->missing_sequence ? (uint64_t)count : 1;
    }
}

static int place_operations(struct player *player)
{
    const struct job *job = player->job;
    const struct job_rank *rank = &job->ranks[player->rank];
    if (stretches_cut(job, rank, player->stretches) ||
        call_sequences_find(&player->sequences, player->stretches, player->loads,
                            player->baseline->first_step, job->step_count, player->numbers,
                            player->stretches + job->step_count))
        return -1;
    if (!player->sequences.count || !recurs(job, rank, player->sequences.canonical[0].count))
        return 0;
    if (join_role(player) || take_call_sequences(player))
        return -1;
    for (int32_t i = 0; i < player->sequences.count; i++)
        if (place_call_sequence(player, i))
            return -1;
    return note_predecessors(player);
}

static int place_rank(struct player *player)
{
    struct step_numbers numbers = {.begins = NULL};
    int is_lossy = player->job->missing_sequence != 0;
    player->numbers = is_lossy ? &numbers : NULL;
    int failed = is_lossy && step_numbers_init(&numbers, player->job, &player->job->ranks[player->rank]);
    failed = failed || place_operations(player);
    step_numbers_release(&numbers);
    player->numbers = NULL;
    return failed ? -1 : 0;
}

/*
 * The first of the ranks with the most operations: present from the first step to the last, if any rank was.
 */
static size_t busiest_rank(const struct job *job)
{
    size_t busiest = 0;
    for (size_t i = 1; i < job->rank_count; i++)
        if (job->ranks[i].count > job->ranks[busiest].count)
            busiest = i;
    return busiest;
}

int baseline_find_roles(struct baseline *baseline, const struct job *job)
{
    struct map roles;
    size_t capacity = 0, busiest = busiest_rank(job);
    struct player player = {.job = job,
                            .baseline = baseline,
                            .roles = &roles,
                            .capacity = &capacity,
                            .stretches = array_new((size_t)job->step_count * 2, sizeof *player.stretches)};
    int32_t *stage = stages_find(job), *loads = loads_find(job, baseline->first_step);
    struct regularity regularity = {0};
    int failed = !player.stretches || !stage || !loads;
    player.loads = loads;
    map_init(&roles);
    for (size_t i = 0; i < job->operation_count; i++)
        baseline->positions[i] = -1;
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        baseline->role_of_rank[i] = -1;
        if (!job->ranks[i].count)
            continue;
        player.rank = i;
        player.stage = job->blind_to_pairs ? stage[i] : 0;
        failed = place_rank(&player);
        if (!failed && baseline->role_of_rank[i] >= 0)
            count_whole(&regularity, &player);
        for (int32_t step = 0; !failed && i == busiest && step < job->step_count; step++)
            baseline->stretch_of_step[step] = player.sequences.of_step[step];
        call_sequences_release(&player.sequences);
    }
    if (regularity.all)
        baseline->regular = (double)regularity.whole / (double)regularity.all;
    map_release(&roles);
    free(player.stretches);
    free(stage);
    free(loads);
    return failed ? -1 : 0;
}

/* Ranks that do the same work. Each is in a tree with the others, whose root stands for all of them. */

static int32_t root_of(int32_t *parent, int32_t rank)
{
    while (parent[rank] != rank)
        rank = parent[rank] = parent[parent[rank]];
    return rank;
}

/* Whether all members of a communicator have one role. */
static int is_of_one_role(const struct job_communicator *communicator, const struct baseline *baseline)
{
    for (size_t i = 0; i < communicator->member_list_count; i++)
        if (baseline->role_of_rank[communicator->member_list[i].rank] < 0 ||
            baseline->role_of_rank[communicator->member_list[i].rank] !=
                baseline->role_of_rank[communicator->member_list[0].rank])
            return 0;
    return 1;
}

static void unite(int32_t *parent, const struct job_communicator *communicator)
{
    for (size_t i = 1; i < communicator->member_list_count; i++)
        parent[root_of(parent, communicator->member_list[i].rank)] =
            root_of(parent, communicator->member_list[0].rank);
}

static int shares_work(enum function function)
{
    return function == FUNCTION_ALL_REDUCE || function == FUNCTION_ALL_GATHER ||
           function == FUNCTION_REDUCE_SCATTER;
}

/* `is_seen` has one value per communicator, zeroed. */
static void unite_all(int32_t *parent, const struct baseline *baseline, const struct job *job,
                      unsigned char *is_seen)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        const struct job_communicator *communicator = &job->communicators[operation->communicator];
        if (is_seen[operation->communicator] || !shares_work((enum function)operation->function))
            continue;
        is_seen[operation->communicator] = 1;
        if (is_of_one_role(communicator, baseline))
            unite(parent, communicator);
    }
}

int baseline_find_same_work(struct baseline *baseline, const struct job *job)
{
    unsigned char *is_seen = array_new(job->communicator_count + 1, 1);
    int32_t *parent = array_new(job->rank_count + 1, sizeof *parent);
    int failed = !is_seen || !parent;
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        parent[i] = (int32_t)i;
        baseline->same_work[i] = 0;
    }
    if (!failed)
        unite_all(parent, baseline, job, is_seen);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        baseline->same_work[root_of(parent, (int32_t)i)]++;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        baseline->same_work[i] = baseline->same_work[root_of(parent, (int32_t)i)];
    free(is_seen);
    free(parent);
    return failed ? -1 : 0;
}
