/**
 * Selects the step of each request. A list is played in order over all connections and its last step repeats, so that "two
 * failures, then success" is a list of three. Steps by path, or chosen by a function, are for tests with parallel requests,
 * whose order of arrival is not defined.
 */
import type { SeenRequest } from './ledger.ts'

type Steps<S> = S | readonly [S, ...(readonly S[])]
type ByPath<S> = Readonly<Record<`/${string}`, Steps<S>>>

/** A step, several in turn (the last repeats), the same by path (without the query), or a function of the request. */
export type Script<S> = Steps<S> | ByPath<S> | ((request: SeenRequest) => S)

/** Every step has it; this distinguishes a step from a table of paths. */
interface Playable {
	readonly play: unknown
}

export interface Cast<S> {
	/** The step of the next request, if it is known before the request is. */
	peek(): S | undefined
	/** Skips the peeked step. */
	drop(): void
	take(request: SeenRequest): S
}

export function cast<S extends Playable>(script: Script<S>): Cast<S> {
	if (typeof script === 'function') return unforeseen(script)
	if (isList(script) || isStep(script)) return inTurn(script)
	const byPath = new Map(Object.entries(script).map(([path, steps]) => [path, inTurn(steps)]))
	return unforeseen((request) => {
		const [path = ''] = request.path.split('?')
		const turn = byPath.get(path)
		if (turn === undefined) throw new Error(`the script has no step for ${path}`)
		return turn.take(request)
	})
}

function inTurn<S extends Playable>(steps: Steps<S>): Cast<S> {
	const list = isList(steps) ? steps : [steps]
	let next = 0
	const peek = () => list[Math.min(next, list.length - 1)]
	return {
		peek,
		drop: () => {
			next++
		},
		take: () => {
			const step = peek()
			next++
			if (step === undefined) throw new Error('a script needs at least one step')
			return step
		},
	}
}

function unforeseen<S>(take: (request: SeenRequest) => S): Cast<S> {
	return { peek: () => undefined, drop: () => {}, take }
}

function isStep<S extends Playable>(script: S | ByPath<S>): script is S {
	return 'play' in script
}

function isList<S extends Playable>(script: Script<S>): script is readonly [S, ...(readonly S[])] {
	return Array.isArray(script)
}
