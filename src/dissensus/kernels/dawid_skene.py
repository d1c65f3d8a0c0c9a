"""Draw from the Bayesian Dawid-Skene model: a Gibbs sampler over the whole study.

Case i has a true condition z_i ~ pi, and annotator j names condition l with probability Theta_j[z_i, l]. Row k of every
annotator is Dirichlet(s_k), where s_kl ~ Gamma(a_kl) / b_k and b_k ~ Gamma(SCALE_SHAPE) / SCALE_RATE; so the pooled row
is s_k / kappa_k, and kappa_k, the sum of s_k, says how much alike annotators are. An anonymous opinion is that of an
annotator of whom nothing else is known: it follows the pooled row. Where nobody is named, all opinions are those of one
annotator with the rows Dirichlet(a_k), which are the pooled rows of this model.

A sweep draws s, b and z with all Theta and pi integrated out; every step is exact for numbers of votes that are not
whole, too:

- s given z. Row (j, k) with votes n_l, n in all, has the probability
  Gamma(kappa) / Gamma(kappa + n) * product over l of Gamma(s_l + n_l) / Gamma(s_l). With q ~ Beta(kappa, n) the first
  factor becomes q^kappa. With n_l = N + f, N whole, the others are the product over t < N of (s_l + f + t), of which a
  coin of chance s_l / (s_l + f + t) takes s_l or the rest, times Gamma(s_l + f) / Gamma(s_l), which for f > 0 is
  proportional to s_l times the integral of u^(s_l + f - 1) (1 - u)^-f: with u drawn, s_l * u^s_l. An anonymous row has
  the probability product of s_l^n_l / kappa^n; with v ~ Gamma(n) / kappa the latter becomes exp(-v kappa). Given q, u,
  v and the coins, the s_kl are independent gamma variates.
- b given s.
- z case by case, given that of all other cases: condition k is as probable as it has cases, plus the prior, and with n
  the votes on those, a vote for l has the probability (s_kl + n_jkl) / (kappa_k + n_jk).

After a sweep that is kept, Theta and pi are drawn given s and z; the plausibilities of a case are the probabilities of
z_i given what was said about it, Theta and pi.

Votes of a large panel, if they are wanted, differ between cases of one condition: on a case of condition k they are
Dirichlet(c r_k) before, and that plus its votes after these are seen, where r_k is the mean row of the annotators given
z and s, each as often as they vote. z_i is drawn from its plausibilities, then the votes. c takes Metropolis steps
given z, s and the votes on all cases, with a log-normal prior; nothing else depends on it.

Conditions that nobody named share one column of s, and those that an annotator never named one column of Theta_j:
sums of gamma variates are gamma variates, so nothing is lost.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled, fill, inlined, inner
from dissensus.kernels.randomness import Stream, Streams, gamma, log_gamma, new_streams, raw_normal, start, uniform

# Before anything is seen, b_k is Gamma(SCALE_SHAPE) / SCALE_RATE: kappa_k is rarely below 1 and has a heavy tail.
SCALE_SHAPE, SCALE_RATE = 1.0, 1.0

# Pooled shapes below this are taken to be this: a condition of such a shape is never named.
FLOOR = 1e-9

# Before anything is seen, log(c) is normal around the logarithm of the first, with the second as its deviation.
CONCENTRATION, CONCENTRATION_SD = 10.0, 1.5

# How many Metropolis steps c takes in a sweep, and the deviation of the logarithm in each.
STEPS, STEP = 3, 0.4

# Deviation of the logarithm of the factor that a row of pooled shapes is scaled by.
FAR = 1.0

# How many factors are multiplied before their logarithm is taken, so that products neither vanish nor overflow.
FACTORS = 8

# Numbers of votes this close to a whole number are taken to be whole.
WHOLE = 1e-9


class Votes(NamedTuple):
    """Hold what was said.

    Attributes
    ----------
    case_offsets : (n_cases + 1,)
        From cases to votes.
    annotators : (n_votes,)
        Annotator of each vote, ascending within a case; the anonymous ones have the number of annotators.
    columns : (n_votes,)
        Column of the annotator and the condition of each vote.
    powers : (n_votes,)
        How often each vote counts.
    known : (n_cases,)
        True condition of each case where it is known, otherwise -1.
    column_offsets : (n_annotators + 2,)
        From annotators to columns; the anonymous ones, who follow the pooled rows, come last, with no columns if there
        are none. The last column of an annotator stands for all conditions that have none.
    labels : (n_columns,)
        Pooled column of each column.
    are_alike : bool
        Whether nobody is named: all annotators are then one, whose rows are the pooled rows, Dirichlet(a_k).
    """

    case_offsets: IntArray
    annotators: IntArray
    columns: IntArray
    powers: FloatArray
    known: IntArray
    column_offsets: IntArray
    labels: IntArray
    are_alike: bool


class Pool(NamedTuple):
    """Hold what annotators have in common; K conditions, L pooled columns of which the last is of the unnamed.

    Attributes
    ----------
    shapes, priors, wins, rates : (L, K)
        s, a, and shapes and rates of the gamma variates that s is drawn from.
    scales, totals, common : (K,)
        b, kappa, and the part of the rates that a row shares.
    """

    shapes: FloatArray
    priors: FloatArray
    wins: FloatArray
    rates: FloatArray
    scales: FloatArray
    totals: FloatArray
    common: FloatArray


class Tallied(NamedTuple):
    """Hold the truths of a chain, and what is counted by them.

    Attributes
    ----------
    truths : (n_cases,)
        z.
    log_pi : (K,)
        Logarithms of the frequencies of conditions.
    sizes : (K,)
        Number of cases of each true condition.
    counts : (n_columns, K)
        Votes of each column on cases of each true condition.
    rows : (n_annotators, K)
        Votes of each annotator on them.
    """

    truths: IntArray
    log_pi: FloatArray
    sizes: FloatArray
    counts: FloatArray
    rows: FloatArray


class Chances(NamedTuple):
    """Hold logarithms of numerators and denominators of the chances of votes.

    They are those of Theta once it is drawn, and before of the next vote with Theta integrated out; those of anonymous
    votes, whose denominators come last, are the pooled rows.

    Attributes
    ----------
    parts : (n_columns, K)
        Shapes of the pool plus votes, or gamma variates.
    sums : (n_annotators + 1, K)
        What these sum to over all labels.
    """

    parts: FloatArray
    sums: FloatArray


class Room(NamedTuple):
    """Hold room to work in, one number per condition each."""

    work: FloatArray
    other: FloatArray


class State(NamedTuple):
    """Hold where a chain is, and room to work in. Steps are given the parts that they need: they compile faster.

    Attributes
    ----------
    pool, tallied, chances
        Pooled rows; truths and counts; chances of votes.
    crowd : (L, K)
        r, in the order of pooled columns.
    room
        To work in.
    concentration : (1,)
        c.
    """

    pool: Pool
    tallied: Tallied
    chances: Chances
    crowd: FloatArray
    room: Room
    concentration: FloatArray


class Record(NamedTuple):
    """Hold what is kept of a chain.

    Attributes
    ----------
    support_offsets, support
        Conditions of each case that have a plausibility of their own.
    labels, votes : (sum of U,)
        Their pooled columns, and how many votes they have; empty if it is the truth that is wanted, not votes.
    values : (n_draws * sum of (U + 1),)
        Plausibilities, laid out as in a batch; empty if they are not wanted.
    accuracies : (n_draws, n_annotators)
        Chance of each annotator to name the true condition of a case drawn from pi; empty if it is not wanted. Every
        annotator then has the columns of all K conditions, in order, and one more.
    frequencies : (K,)
        Sum of pi over draws.
    confusions : (n_columns, K)
        Sum of Theta over draws; empty if it is not wanted.
    """

    support_offsets: IntArray
    support: IntArray
    labels: IntArray
    votes: FloatArray
    values: FloatArray
    accuracies: FloatArray
    frequencies: FloatArray
    confusions: FloatArray


def new_state(votes: Votes, priors: FloatArray) -> State:
    """Make room for a chain, which begins where every annotator follows the prior."""
    n_labels, n_conditions = priors.shape
    cells, pooled = (len(votes.labels), n_conditions), (n_labels, n_conditions)
    pool = Pool(
        np.maximum(priors, FLOOR),
        priors,
        np.zeros(pooled),
        np.zeros(pooled),
        np.ones(n_conditions),
        np.maximum(priors, FLOOR).sum(axis=0),
        np.zeros(n_conditions),
    )
    tallied = Tallied(
        np.maximum(votes.known, 0),
        np.full(n_conditions, -math.log(n_conditions)),
        np.zeros(n_conditions),
        np.zeros(cells),
        np.zeros((len(votes.column_offsets) - 2, n_conditions)),
    )
    return State(
        pool,
        tallied,
        Chances(
            np.log(np.maximum(priors / priors.sum(axis=0), FLOOR))[votes.labels],
            np.zeros((len(votes.column_offsets) - 1, n_conditions)),
        ),
        np.zeros(pooled),
        Room(np.zeros(n_conditions), np.zeros(n_conditions)),
        np.array([CONCENTRATION]),
    )


@inner
def log_rise(x: float, power: float) -> float:
    """Return log(Gamma(x + power) / Gamma(x)): for small whole powers, that of a product."""
    if power <= FACTORS and power == math.floor(power):
        risen = 1.0
        for t in range(int(power)):
            risen *= x + t
        return math.log(risen)
    return math.lgamma(x + power) - math.lgamma(x)


@inner
def minus_log_beta(stream: Stream, a: float, b: float) -> float:
    """Draw -log(q) of a Beta(a, b) variate q, which is log(1 + exp(x)), x being its log-odds with the sign changed."""
    x = log_gamma(stream, b) - log_gamma(stream, a)
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@inner
def add_case(votes: Votes, tallied: Tallied, case: int, sign: float) -> None:
    """Add a case, and the votes on it, to those of its true condition, or take them away again."""
    truth, counts, rows = tallied.truths[case], tallied.counts, tallied.rows
    tallied.sizes[truth] += sign
    for vote in range(votes.case_offsets[case], votes.case_offsets[case + 1]):
        column, row, power = votes.columns[vote], votes.annotators[vote], sign * votes.powers[vote]
        counts[column, truth] = max(counts[column, truth] + power, 0.0)
        if row < len(rows):
            rows[row, truth] = max(rows[row, truth] + power, 0.0)


@inner
def move_case(
    votes: Votes, pool: Pool, tallied: Tallied, chances: Chances, case: int, truth: int, alpha: float
) -> None:
    """Give a case another true condition, and work out anew what chances change by that."""
    parts, sums, counts, rows, log_pi = chances.parts, chances.sums, tallied.counts, tallied.rows, tallied.log_pi
    for sign in (-1.0, 1.0):
        add_case(votes, tallied, case, sign)
        k = tallied.truths[case]
        log_pi[k] = math.log(alpha + tallied.sizes[k])
        for vote in range(votes.case_offsets[case], votes.case_offsets[case + 1]):
            column, row = votes.columns[vote], votes.annotators[vote]
            if row < len(rows):
                parts[column, k] = math.log(pool.shapes[votes.labels[column], k] + counts[column, k])
                sums[row, k] = math.log(pool.totals[k] + rows[row, k])
        tallied.truths[case] = truth


@inner
def fill_chances(votes: Votes, pool: Pool, tallied: Tallied, chances: Chances, alpha: float) -> None:
    """Work out the chances of the next vote of everybody, Theta integrated out, and of the next case."""
    counts, rows, labels, shapes, totals = tallied.counts, tallied.rows, votes.labels, pool.shapes, pool.totals
    for k in range(len(totals)):
        tallied.log_pi[k] = math.log(alpha + tallied.sizes[k])
    for row in range(len(rows) + 1):
        is_named = row < len(rows)  # anonymous annotators have the pooled rows
        for k in range(len(totals)):
            chances.sums[row, k] = math.log(totals[k] + rows[row, k] if is_named else totals[k])
        for column in range(votes.column_offsets[row], votes.column_offsets[row + 1]):
            for k in range(len(totals)):
                shape = shapes[labels[column], k]
                chances.parts[column, k] = math.log(shape + counts[column, k] if is_named else shape)


@inner
def draw_shapes(stream: Stream, votes: Votes, pool: Pool, tallied: Tallied, work: FloatArray) -> None:  # noqa: C901
    """Draw s given z, then b given s; ``totals`` are those of the new s.

    The rows of named annotators are integrated out, column by column; anonymous votes follow the pooled rows.
    """
    column_offsets, labels, counts, rows = votes.column_offsets, votes.labels, tallied.counts, tallied.rows
    shapes, priors, wins, rates, scales, totals, common = pool
    (n_labels, n_conditions), (n_annotators, _) = shapes.shape, rows.shape
    for k in range(n_conditions):
        common[k] = scales[k]
        for label in range(n_labels):
            wins[label, k], rates[label, k] = priors[label, k], 0.0
    for annotator in range(n_annotators):
        for column in range(column_offsets[annotator], column_offsets[annotator + 1]):
            label = labels[column]
            for k in range(n_conditions):
                n_votes, shape = counts[column, k], shapes[label, k]
                if n_votes > 0.0:
                    whole, n_won, rate = math.floor(n_votes + WHOLE), 0.0, 0.0
                    part = n_votes - whole if n_votes - whole > WHOLE else 0.0
                    for t in range(int(whole)):
                        n_won += uniform(stream) * (shape + part + t) < shape
                    if part > 0.0:
                        n_won += 1.0
                        rate = minus_log_beta(stream, shape + part, 1.0 - part)
                    wins[label, k] += n_won
                    rates[label, k] += rate
        for k in range(n_conditions):
            if rows[annotator, k] > 0.0:
                common[k] += minus_log_beta(stream, totals[k], rows[annotator, k])
    fill(work, 0.0)
    for column in range(column_offsets[n_annotators], column_offsets[n_annotators + 1]):
        for k in range(n_conditions):
            wins[labels[column], k] += counts[column, k]
            work[k] += counts[column, k]
    for k in range(n_conditions):
        common[k] += gamma(stream, work[k]) / totals[k]
        totals[k], work[k] = 0.0, SCALE_SHAPE
    for label in range(n_labels):
        for k in range(n_conditions):
            shapes[label, k] = max(gamma(stream, wins[label, k]) / (common[k] + rates[label, k]), FLOOR)
            totals[k] += shapes[label, k]
            work[k] += priors[label, k]
    for k in range(n_conditions):
        scales[k] = gamma(stream, work[k]) / (SCALE_RATE + totals[k])


@inner
def move_totals(stream: Stream, votes: Votes, pool: Pool, tallied: Tallied) -> None:
    """Scale the rows of s by a factor, Theta and b integrated out: how alike annotators are moves far at once."""
    shapes, priors, totals, counts, rows = pool.shapes, pool.priors, pool.totals, tallied.counts, tallied.rows
    for k in range(len(totals)):
        log_factor, shape = FAR * raw_normal(stream), 0.0
        factor = math.exp(log_factor)
        for label in range(len(priors)):
            shape += priors[label, k]
        grown = (SCALE_RATE + factor * totals[k]) / (SCALE_RATE + totals[k])
        log_odds = shape * log_factor - (SCALE_SHAPE + shape) * math.log(grown)
        for annotator in range(len(rows)):
            if rows[annotator, k] > 0.0:
                log_odds += log_rise(totals[k], rows[annotator, k]) - log_rise(factor * totals[k], rows[annotator, k])
                for column in range(votes.column_offsets[annotator], votes.column_offsets[annotator + 1]):
                    n_votes, own = counts[column, k], shapes[votes.labels[column], k]
                    if n_votes > 0.0:
                        log_odds += log_rise(factor * own, n_votes) - log_rise(own, n_votes)
        if math.log(uniform(stream)) < log_odds:
            for label in range(len(shapes)):
                shapes[label, k] = max(factor * shapes[label, k], FLOOR)
            totals[k] *= factor
        pool.scales[k] = gamma(stream, SCALE_SHAPE + shape) / (SCALE_RATE + totals[k])


@inner
def draw_theta(stream: Stream, votes: Votes, pool: Pool, tallied: Tallied, chances: Chances, room: Room) -> None:
    """Draw the rows of all named annotators given s and z, as logarithms."""
    (work, other), (shapes, totals), counts = room, (pool.shapes, pool.totals), tallied.counts
    for annotator in range(len(tallied.rows)):
        first, last = votes.column_offsets[annotator], votes.column_offsets[annotator + 1] - 1
        for k in range(len(work)):
            work[k], other[k] = totals[k], -np.inf
        for column in range(first, last + 1):
            label = votes.labels[column]
            for k in range(len(work)):
                shape = shapes[label, k] if column < last else max(work[k], shapes[label, k])
                work[k] -= shapes[label, k]
                drawn = log_gamma(stream, shape + counts[column, k])
                chances.parts[column, k] = drawn
                other[k] = max(other[k], drawn)
        fill(work, 0.0)
        for column in range(first, last + 1):
            for k in range(len(work)):
                work[k] += math.exp(chances.parts[column, k] - other[k])
        for k in range(len(work)):
            chances.sums[annotator, k] = math.log(work[k]) + other[k]


@inlined
def fill_predictive(
    votes: Votes, pool: Pool, tallied: Tallied, chances: Chances, other: FloatArray, case: int, alpha: float
) -> None:
    """Put the log-probability of what was said about a case under every condition into ``other``, Theta integrated out.

    The case itself does not count, so what it adds to its true condition is left out there, and the condition has one
    case less. Factors gather in ``above`` and ``below`` until their logarithms are taken.
    """
    counts, rows, (parts, sums), shapes, totals = tallied.counts, tallied.rows, chances, pool.shapes, pool.totals
    first, last, truth = votes.case_offsets[case], votes.case_offsets[case + 1], tallied.truths[case]
    own, together, below = 0.0, 0.0, alpha + tallied.sizes[truth]
    above = below - 1.0
    fill(other, 0.0)
    for vote in range(first, last):
        column, row, power = votes.columns[vote], votes.annotators[vote], votes.powers[vote]
        label, is_named, together = votes.labels[column], row < len(rows), together + power
        is_last = vote + 1 == last or votes.annotators[vote + 1] != row
        if not is_named or (is_last and power == 1.0 and together == 1.0):
            for k in range(len(other)):
                other[k] += power * (parts[column, k] - sums[row, k])
        else:
            for k in range(len(other)):
                other[k] += parts[column, k] if power == 1.0 else log_rise(shapes[label, k] + counts[column, k], power)
                if is_last:
                    other[k] -= log_rise(totals[k] + rows[row, k], together)
        if not is_named:
            own += power * (parts[column, truth] - sums[row, truth])
        elif power == 1.0:
            above *= shapes[label, truth] + max(counts[column, truth] - 1.0, 0.0)
        else:
            own += log_rise(shapes[label, truth] + max(counts[column, truth] - power, 0.0), power)
        if is_last and is_named:
            if together == 1.0:
                below *= totals[truth] + max(rows[row, truth] - 1.0, 0.0)
            else:
                own -= log_rise(totals[truth] + max(rows[row, truth] - together, 0.0), together)
        if is_last:
            together = 0.0
        if vote % FACTORS == 0:
            own += math.log(above / below)
            above, below = 1.0, 1.0
    other[truth] = own + math.log(above / below)


@inlined
def fill_likelihood(votes: Votes, chances: Chances, other: FloatArray, case: int) -> None:
    """Put the log-likelihood of every condition, given what was said about a case and Theta, into ``other``."""
    fill(other, 0.0)
    for vote in range(votes.case_offsets[case], votes.case_offsets[case + 1]):
        column, row, power = votes.columns[vote], votes.annotators[vote], votes.powers[vote]
        for k in range(len(other)):
            other[k] += power * (chances.parts[column, k] - chances.sums[row, k])


@inlined
def fill_plausibilities(log_pi: FloatArray, room: Room, power: float, known: int) -> float:
    """Put probabilities of the truth of a case, times a factor that is returned, into ``work``."""
    work, other = room
    if known >= 0:
        fill(work, 0.0)
        work[known] = 1.0
        return 1.0
    greatest, total = -np.inf, 0.0
    for k in range(len(work)):
        work[k] = log_pi[k] + power * other[k]
        greatest = max(greatest, work[k])
    for k in range(len(work)):
        work[k] = math.exp(work[k] - greatest)
        total += work[k]
    return total


@inlined
def draw_truth(stream: Stream, work: FloatArray, total: float) -> int:
    """Draw a condition in proportion to ``work``; the most probable, if rounding leaves none."""
    left, best = uniform(stream) * total, 0
    for k in range(len(work)):
        left -= work[k]
        if left < 0.0:
            return k
        if work[k] > work[best]:
            best = k
    return best


@inner
def fill_crowd(votes: Votes, pool: Pool, tallied: Tallied, crowd: FloatArray) -> None:
    """Average the rows of all annotators, given z and s, each as often as they vote."""
    rows, counts, common, totals = tallied.rows, tallied.counts, pool.common, pool.totals
    (n_annotators, n_conditions), all_votes, anonymous = rows.shape, 0.0, 0.0
    fill(common, 0.0)  # of each condition, the part of the average that is in proportion to s
    for label in range(len(crowd)):
        for k in range(n_conditions):
            crowd[label, k] = 0.0
    for annotator in range(n_annotators):
        n_votes = 0.0
        for k in range(n_conditions):
            n_votes += rows[annotator, k]
            all_votes += rows[annotator, k]
        for k in range(n_conditions):
            common[k] += n_votes / (totals[k] + rows[annotator, k])
        for column in range(votes.column_offsets[annotator], votes.column_offsets[annotator + 1]):
            for k in range(n_conditions):
                crowd[votes.labels[column], k] += n_votes * counts[column, k] / (totals[k] + rows[annotator, k])
    for column in range(votes.column_offsets[n_annotators], len(counts)):
        for k in range(n_conditions):
            anonymous += counts[column, k]
    for label in range(len(crowd)):
        for k in range(n_conditions):
            of_pool = common[k] + anonymous / totals[k]
            crowd[label, k] = (crowd[label, k] + of_pool * pool.shapes[label, k]) / (all_votes + anonymous)


@inner
def move_concentration(
    stream: Stream, truths: IntArray, crowd: FloatArray, concentration: FloatArray, record: Record
) -> None:
    """Take a few Metropolis steps with c, on the density of log(c) given z, s and the votes on all cases."""
    labels, votes = record.labels, record.votes
    old, density = concentration[0], 0.0
    for step in range(STEPS + 1):
        new = old * math.exp(STEP * raw_normal(stream)) if step > 0 else old
        found = -0.5 * (math.log(new / CONCENTRATION) / CONCENTRATION_SD) ** 2
        for case in range(len(truths)):
            truth, n_votes = truths[case], 0.0
            for member in range(record.support_offsets[case], record.support_offsets[case + 1]):
                if votes[member] > 0.0:
                    found += log_rise(new * crowd[labels[member], truth], votes[member])
                    n_votes += votes[member]
            found -= log_rise(new, n_votes)
        if step == 0 or math.log(uniform(stream)) < found - density:
            old, density = new, found
    concentration[0] = old


@inner
def keep_cases(stream: Stream, votes: Votes, state: State, record: Record, row: int, reliability: float) -> None:
    """Write one draw of all cases down, given Theta; what was said about a case has the power ``reliability``.

    It is the probabilities of the truth; or, if votes are wanted, those of a large panel given a truth that is drawn.
    """
    values, work, crowd, c = record.values, state.room.work, state.crowd, state.concentration[0]
    for case in range(len(state.tallied.truths)):
        fill_likelihood(votes, state.chances, state.room.other, case)
        total = fill_plausibilities(state.tallied.log_pi, state.room, reliability, votes.known[case])
        first, size = record.support_offsets[case], record.support_offsets[case + 1] - record.support_offsets[case]
        at = len(record.accuracies) * (first + case) + row * (size + 1)
        if len(record.votes) == 0:
            rest = 0.0
            for i in range(size):
                code = record.support[first + i]
                values[at + i] = work[code] / total
                work[code] = 0.0
            for k in range(len(work)):
                rest += work[k]
            values[at + size] = rest / total
            continue
        truth, left, greatest, total = draw_truth(stream, work, total), 1.0, -np.inf, 0.0
        for i in range(size):
            share = crowd[record.labels[first + i], truth]
            values[at + i] = log_gamma(stream, c * share + reliability * record.votes[first + i])
            greatest = max(greatest, values[at + i])
            left -= share
        values[at + size] = -np.inf if size == crowd.shape[1] else log_gamma(stream, c * max(left, FLOOR))
        greatest = max(greatest, values[at + size])
        for place in range(at, at + size + 1):
            values[place] = math.exp(values[place] - greatest)
            total += values[place]
        for place in range(at, at + size + 1):
            values[place] /= total


@inner
def keep_annotators(stream: Stream, votes: Votes, tallied: Tallied, chances: Chances, record: Record, row: int) -> None:
    """Add up pi and Theta, and draw the accuracies of annotators, given z, from Beta(right + 1/2, wrong + 1/2)."""
    counts, (n_people, n_conditions) = tallied.counts, (record.accuracies.shape[1], len(tallied.log_pi))
    for k in range(n_conditions):
        record.frequencies[k] += math.exp(tallied.log_pi[k])
        for who in range(len(chances.sums) if len(record.confusions) else 0):
            for column in range(votes.column_offsets[who], votes.column_offsets[who + 1]):
                record.confusions[column, k] += math.exp(chances.parts[column, k] - chances.sums[who, k])
    for annotator in range(n_people):
        first, right, wrong = votes.column_offsets[annotator], 0.5, 0.5
        for k in range(n_conditions):
            right += counts[first + k, k]
            wrong += max(tallied.rows[annotator, k] - counts[first + k, k], 0.0)
        odds = log_gamma(stream, wrong) - log_gamma(stream, right)
        record.accuracies[row, annotator] = 1.0 / (1.0 + math.exp(min(odds, 700.0)))


@compiled
def sweep_chain(  # noqa: C901 - what is called once is written here, which compiles faster
    votes: Votes,
    state: State,
    record: Record,
    streams: Streams,
    key: np.uint64,
    warmup: int,
    first: int,
    last: int,
    alpha: float,
    reliability: float,
) -> None:
    """Run one chain from its beginning; see :func:`run_chain`."""
    stream, pool, tallied, chances, room = streams[0], state.pool, state.tallied, state.chances, state.room
    truths, log_pi, sizes, counts, rows = tallied
    n_cases, n_conditions = len(truths), len(sizes)
    start(stream, key)
    for case in range(n_cases):
        fill_likelihood(votes, chances, room.other, case)
        total = fill_plausibilities(log_pi, room, 1.0, votes.known[case])
        truths[case] = draw_truth(stream, room.work, total)
    for sweep in range(-warmup, last - first):
        fill(sizes, 0.0)
        for k in range(n_conditions):
            for column in range(len(counts)):
                counts[column, k] = 0.0
            for annotator in range(len(rows)):
                rows[annotator, k] = 0.0
        for case in range(n_cases):
            add_case(votes, tallied, case, 1.0)
        if not votes.are_alike:
            draw_shapes(stream, votes, pool, tallied, room.work)
            move_totals(stream, votes, pool, tallied)
        fill_chances(votes, pool, tallied, chances, alpha)
        for case in range(n_cases):
            fill_predictive(votes, pool, tallied, chances, room.other, case, alpha)
            total = fill_plausibilities(log_pi, room, 1.0, votes.known[case])
            truth = draw_truth(stream, room.work, total)
            if truth != truths[case]:
                move_case(votes, pool, tallied, chances, case, truth, alpha)
        if len(record.votes):
            fill_crowd(votes, pool, tallied, state.crowd)
            move_concentration(stream, truths, state.crowd, state.concentration, record)
        if sweep >= 0:
            greatest, total = -np.inf, 0.0
            for k in range(n_conditions):
                log_pi[k] = log_gamma(stream, alpha + sizes[k])
                greatest = max(greatest, log_pi[k])
            for k in range(n_conditions):
                total += math.exp(log_pi[k] - greatest)
            for k in range(n_conditions):
                log_pi[k] -= greatest + math.log(total)
            draw_theta(stream, votes, pool, tallied, chances, room)
            keep_annotators(stream, votes, tallied, chances, record, first + sweep)
            if len(record.values):
                keep_cases(stream, votes, state, record, first + sweep, reliability)
    streams[0].uniforms += np.uint64(0)  # a record must not outlive its array


def run_chain(
    votes: Votes,
    priors: FloatArray,
    record: Record,
    *,
    key: np.uint64,
    warmup: int,
    rows: tuple[int, int],
    alpha: float,
    reliability: float,
) -> None:
    """Run one chain and fill its rows of the record.

    Parameters
    ----------
    priors : (L, K)
        a: prior shapes of the pooled columns, under every true condition.
    warmup
        Sweeps that are thrown away.
    rows
        First draw of this chain, and one past its last.
    alpha
        Prior shape of the frequency of every condition.
    reliability
        Power of the likelihood of what was said in the plausibilities that are kept; the chain itself has power one.
    """
    state, streams = new_state(votes, priors), new_streams()
    first, last = rows
    sweep_chain(votes, state, record, streams, key, warmup, first, last, alpha, float(reliability))
