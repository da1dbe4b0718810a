/**
 * Finds texts for which a backtracking engine takes more than linear time. That needs a text `w` which the pattern can read in more than one
 * way, over and over: in two loops and between them (each repetition of `w` can belong to the one or the other: quadratic), or in two ways
 * through one loop (exponential). This is the known criterion for the ambiguity of automata; it is decided here by searching two or
 * three copies of the pattern's graph that read the same text. Rejected: a list of bad shapes, because `\w*x\w*y` looks harmless.
 */
import { type Edge, type Graph, type State, toGraph } from './graph.ts'
import type { Pattern } from './parse.ts'

export interface Blowup {
	readonly growth: 'quadratic' | 'exponential'
	/** The text whose repetition shows it. */
	readonly text: string
}

/** Returns a text that makes the pattern slow if it is repeated, or undefined if the pattern takes linear time for all texts. */
export function findBlowup(pattern: Pattern): Blowup | undefined {
	const graph = toGraph(pattern)
	const { states } = graph
	const reachable = new Map(states.map((state) => [state, reachableFrom(state)]))
	const reaches = (from: State, to: State): boolean => reachable.get(from)?.has(to) === true
	const loops = states.filter((state) => reaches(state, state))
	// Where the pattern has matched, nothing is tried again.
	const failing = loops.filter((state) => !state.isAccepting)
	for (const loop of failing) {
		const text = search(
			graph,
			[loop, loop],
			[loop, loop],
			(state) => !state.isAccepting && reaches(state, loop),
			true,
		)
		if (text !== undefined) return { growth: 'exponential', text }
	}
	for (const first of loops)
		for (const last of failing) {
			if (first === last || !reaches(first, last)) continue
			const mayVisit = (state: State, copy: number): boolean =>
				copy === 0 ? reaches(state, first) : reaches(state, last) && (copy === 1 || !state.isAccepting)
			const text = search(graph, [first, first, last], [first, last, last], mayVisit, false)
			if (text !== undefined) return { growth: 'quadratic', text }
		}
	return undefined
}

function reachableFrom(start: State): ReadonlySet<State> {
	const found = new Set<State>()
	const left = [start]
	for (let state = left.pop(); state; state = left.pop())
		for (const { to } of state.edges)
			if (!found.has(to)) {
				found.add(to)
				left.push(to)
			}
	return found
}

interface Node {
	readonly copies: readonly State[]
	/** The character that all copies have read last. */
	readonly before: string
	/** True if the copies have taken different edges. */
	readonly isDivided: boolean
	readonly text: string
}

/** Returns a text that moves all copies of the graph from `start` to `goal`, on different edges if `mustDivide`. */
function search(
	{ alphabet, contextOf }: Graph,
	start: readonly State[],
	goal: readonly State[],
	mayVisit: (state: State, copy: number) => boolean,
	mustDivide: boolean,
): string | undefined {
	const ids = new Map<State, number>()
	const idOf = (state: State): number => {
		const id = ids.get(state) ?? ids.size
		ids.set(state, id)
		return id
	}
	const movesOf = indexMoves(alphabet, mayVisit)
	// What comes before the first repetition is the end of a repetition.
	const ends = alphabet.filter((character) => start.every((state) => state.has(character)))
	for (const [context, last] of new Map(ends.map((character) => [contextOf(character), character]))) {
		const seen = new Set<string>()
		let nodes: Node[] = [{ copies: start, before: last, isDivided: false, text: '' }]
		while (nodes.length > 0) {
			const next: Node[] = []
			for (const node of nodes)
				for (const after of alphabet)
					for (const { copies, isDivided } of movesOf(node, after)) {
						const text = node.text + after
						const isGoal = contextOf(after) === context && copies.every((state, copy) => state === goal[copy])
						if (isGoal && (isDivided || !mustDivide)) return text
						const key = `${copies.map(idOf)} ${contextOf(after)} ${isDivided}`
						if (seen.has(key)) continue
						seen.add(key)
						next.push({ copies, before: after, isDivided, text })
					}
			nodes = next
		}
	}
	return undefined
}

/** Returns a function that returns where the copies can be after one more character: every combination of their edges. */
function indexMoves(
	alphabet: readonly string[],
	mayVisit: (state: State, copy: number) => boolean,
): (node: Node, after: string) => Pick<Node, 'copies' | 'isDivided'>[] {
	const indexes: Map<State, ReadonlyMap<string, readonly Edge[]>>[] = [new Map(), new Map(), new Map()]
	const edgesOf = (state: State, copy: number, after: string): readonly Edge[] => {
		const index = indexes[copy]
		let byCharacter = index?.get(state)
		if (!byCharacter) {
			const visited = state.edges.filter(({ to }) => mayVisit(to, copy))
			byCharacter = new Map(alphabet.map((one) => [one, visited.filter(({ to }) => to.has(one))]))
			index?.set(state, byCharacter)
		}
		return byCharacter.get(after) ?? []
	}
	return ({ copies, before, isDivided }, after) => {
		let combinations: { readonly copies: readonly State[]; readonly edges: readonly Edge[] }[] = [
			{ copies: [], edges: [] },
		]
		for (const [copy, state] of copies.entries()) {
			const open = edgesOf(state, copy, after).filter(({ isOpen }) => isOpen(before, after))
			if (open.length === 0) return []
			combinations = combinations.flatMap((one) =>
				open.map((edge) => ({ copies: [...one.copies, edge.to], edges: [...one.edges, edge] })),
			)
		}
		return combinations.map((one) => ({
			copies: one.copies,
			isDivided: isDivided || one.edges[0] !== one.edges[1],
		}))
	}
}
