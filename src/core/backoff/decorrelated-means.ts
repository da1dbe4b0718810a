/**
 * The mean of the n-th decorrelated delay.
 *
 * Let g_k(x) be the mean of the k-th delay from now when the previous one was x. Then g_0(x) = x, and one draw uniform in
 * [base, m) with m = 3x (capped) gives g_k(x) = (1 / (m - base)) * integral of g_(k-1) from base to m. The answer is
 * g_n(base).
 *
 * The g_k have kinks at cap / 3^j and start at base, so the panels' edges are base * 3^j and cap / 3^j: between two edges
 * each g_k is smooth, and multiplying by 3 maps a panel onto another one, node onto node. So g_k is needed only at
 * Chebyshev nodes and nothing is ever interpolated; 17 nodes a panel give far more than the promised 1e-6. Sampling
 * would need some 10^12 draws for that.
 */
import type { BackoffSettings } from './settings.ts'

const LAST_NODE = 16
const NODES = Array.from({ length: LAST_NODE + 1 }, (_, i) => i)

/** One function, tabulated: its values at the nodes of each panel. */
type Table = readonly (readonly number[])[]

export function decorrelatedMeans(settings: BackoffSettings, count: number): number[] {
	const { baseDelayMs: base, maxDelayMs: cap, jitterStrategy } = settings
	if (base === 0 || cap === base) return new Array<number>(count).fill(base)

	const edges = panelEdges(base, cap)
	const xs: Table = edges.slice(1).map((right, i) => nodesBetween(edges[i] ?? base, right))
	// How many panels up a multiplication by 3 leads; none are left where 3x passes the cap at once.
	const tripled = 3 * base > cap ? xs.length : edges.findIndex((edge) => edge > 3 * base * (1 - NEARLY))
	const weights = integrationWeights()

	let g = xs
	return Array.from({ length: count }, () => {
		const integral = runningIntegral(g, xs, weights)
		const whole = integral.at(-1)?.at(-1) ?? 0
		const atCap = g.at(-1)?.at(-1) ?? cap
		g = xs.map((nodes, panel) =>
			nodes.map((x, node) => {
				const upTo3x = integral[panel + tripled]?.[node]
				if (upTo3x !== undefined) return upTo3x / (3 * x - base)
				// Here 3x reaches the cap: the draw ends there or, in the published form, runs past it and is cut back.
				return jitterStrategy === 'decorrelated'
					? whole / (cap - base)
					: (whole + (3 * x - cap) * atCap) / (3 * x - base)
			}),
		)
		return g[0]?.[0] ?? base
	})
}

/** So close are two edges that only rounding tells them apart. */
const NEARLY = 1e-9

/** base * 3^j and cap / 3^j, in order. Where cap is base * 3^k but for rounding, the two are one family. */
function panelEdges(base: number, cap: number): number[] {
	const rising: number[] = []
	for (let edge = base; edge < cap * (1 - NEARLY); edge *= 3) rising.push(edge)
	const falling: number[] = []
	let edge = cap
	for (; edge > base * (1 + NEARLY); edge /= 3) falling.push(edge)
	if (edge > base * (1 - NEARLY)) return [...rising, cap]
	return [...rising, ...falling].sort((a, b) => a - b)
}

const nodesBetween = (left: number, right: number): number[] =>
	NODES.map((i) => left + ((right - left) * (1 - Math.cos((Math.PI * i) / LAST_NODE))) / 2)

/** The integral from base to each node, panel after panel. */
function runningIntegral(values: Table, xs: Table, weights: Table): number[][] {
	let before = 0
	return values.map((panel, p) => {
		const nodes = xs[p] ?? []
		const halfWidth = ((nodes.at(-1) ?? 0) - (nodes[0] ?? 0)) / 2
		const sums = weights.map(
			(row) => before + halfWidth * row.reduce((sum, w, j) => sum + w * (panel[j] ?? 0), 0),
		)
		before = sums.at(-1) ?? before
		return sums
	})
}

/** Row i integrates the polynomial through the values at the nodes of [-1, 1] from -1 to node i. */
function integrationWeights(): number[][] {
	const chebyshev = (k: number, node: number): number =>
		Math.cos((k * Math.PI * (LAST_NODE - node)) / LAST_NODE)
	/** The integral of the k-th Chebyshev polynomial from -1 to a node. */
	const integral = (k: number, node: number): number => {
		if (k === 0) return chebyshev(1, node) + 1
		if (k === 1) return (chebyshev(1, node) ** 2 - 1) / 2
		const antiderivative = (at: number) =>
			chebyshev(k + 1, at) / (2 * (k + 1)) - chebyshev(k - 1, at) / (2 * (k - 1))
		return antiderivative(node) - antiderivative(0)
	}
	const isEnd = (i: number): boolean => i === 0 || i === LAST_NODE
	return NODES.map((i) =>
		NODES.map((j) => {
			const sum = NODES.reduce((acc, k) => acc + (isEnd(k) ? 1 : 2) * chebyshev(k, j) * integral(k, i), 0)
			return (sum * (isEnd(j) ? 0.5 : 1)) / LAST_NODE
		}),
	)
}
