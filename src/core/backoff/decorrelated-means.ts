/**
 * The means of decorrelated delays, by numeric integration.
 *
 * Let g_k(x) be the mean of the k-th delay from now if the previous delay was x. Then g_0(x) = x. One uniform
 * draw from [base, m) with m = 3x (capped) gives g_k(x) = (1 / (m - base)) * integral of g_(k-1) from base to
 * m. The mean of the n-th delay is g_n(base).
 *
 * The g_k have kinks at cap / 3^j and start at base, so the edges of the panels are base * 3^j and cap / 3^j.
 * Between two edges each g_k is smooth, and multiplication by 3 maps a panel onto another panel, node onto
 * node. So g_k is needed at Chebyshev nodes only, without interpolation. 17 nodes per panel are far more
 * accurate than the documented 1e-6; sampling would need about 10^12 draws for that.
 */
import type { BackoffSettings } from './formula.ts'

const LAST_NODE = 16
const NODES = Array.from({ length: LAST_NODE + 1 }, (_, i) => i)

/** A tabulated function: its values at the nodes of each panel. */
type Table = readonly (readonly number[])[]

/** Returns the means of the first `count` delays. */
export function decorrelatedMeans(settings: BackoffSettings, count: number): number[] {
	const { baseDelayMs: base, maxDelayMs: cap, jitterStrategy } = settings
	if (base === 0 || cap === base) return new Array<number>(count).fill(base)

	const edges = panelEdges(base, cap)
	const xs: Table = edges.slice(1).map((right, i) => nodesBetween(edges[i] ?? base, right))
	// By how many panels a multiplication by 3 moves x. If 3 * base is above the cap, 3x is beyond the last
	// panel.
	const panelShift =
		3 * base > cap ? xs.length : edges.findIndex((edge) => edge > 3 * base * (1 - EDGE_TOLERANCE))
	const weights = integrationWeights()

	let g = xs
	return Array.from({ length: count }, () => {
		const integral = runningIntegral(g, xs, weights)
		const whole = integral.at(-1)?.at(-1) ?? 0
		const atCap = g.at(-1)?.at(-1) ?? cap
		g = xs.map((nodes, panel) =>
			nodes.map((x, node) => {
				const upTo3x = integral[panel + panelShift]?.[node]
				if (upTo3x !== undefined) return upTo3x / (3 * x - base)
				// 3x reaches the cap: the draw ends at the cap or, in the published form, is cut back to it.
				return jitterStrategy === 'decorrelated'
					? whole / (cap - base)
					: (whole + (3 * x - cap) * atCap) / (3 * x - base)
			}),
		)
		return g[0]?.[0] ?? base
	})
}

/** Two edges with a smaller relative difference are the same edge with a rounding error. */
const EDGE_TOLERANCE = 1e-9

/** Returns base * 3^j and cap / 3^j, sorted, without duplicates up to rounding. */
function panelEdges(base: number, cap: number): number[] {
	const rising: number[] = []
	for (let edge = base; edge < cap * (1 - EDGE_TOLERANCE); edge *= 3) rising.push(edge)
	const falling: number[] = []
	let edge = cap
	for (; edge > base * (1 + EDGE_TOLERANCE); edge /= 3) falling.push(edge)
	if (edge > base * (1 - EDGE_TOLERANCE)) return [...rising, cap]
	return [...rising, ...falling].sort((a, b) => a - b)
}

const nodesBetween = (left: number, right: number): number[] =>
	NODES.map((i) => left + ((right - left) * (1 - Math.cos((Math.PI * i) / LAST_NODE))) / 2)

/** Returns the integral from base to each node. */
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

/** Returns a matrix. Row i integrates the polynomial through the nodes of [-1, 1] from -1 to node i. */
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
