/** The strategies of a load balancer. Each returns the instance for the next request from a list that is never empty. */
import type { LoadBalancerModel } from '../scenario/scenario.ts'

interface Candidate {
	readonly outstanding: number
}

export type Strategy = <T extends Candidate>(candidates: readonly T[]) => T

const at = <T>(items: readonly T[], index: number): T => items[index] as T

/** Chooses the next in turn among equals: a fixed instance would get all requests of an idle service. */
function leastRequests(): Strategy {
	let turn = 0
	return (candidates) => {
		const first = turn++ % candidates.length
		let best = at(candidates, first)
		for (let offset = 1; offset < candidates.length; offset++) {
			const other = at(candidates, (first + offset) % candidates.length)
			if (other.outstanding < best.outstanding) best = other
		}
		return best
	}
}

function roundRobin(): Strategy {
	let turn = 0
	return (candidates) => at(candidates, turn++ % candidates.length)
}

const random =
	(draw: () => number): Strategy =>
	(candidates) =>
		at(candidates, Math.floor(draw() * candidates.length))

/** Draws two different instances, if there are two. */
function twoChoices(draw: () => number): Strategy {
	return (candidates) => {
		const { length } = candidates
		const one = Math.floor(draw() * length)
		if (length === 1) return at(candidates, one)
		const other = (one + 1 + Math.floor(draw() * (length - 1))) % length
		const [first, second] = [at(candidates, one), at(candidates, other)]
		return second.outstanding < first.outstanding ? second : first
	}
}

export const STRATEGIES: Readonly<
	Record<NonNullable<LoadBalancerModel['strategy']>, (draw: () => number) => Strategy>
> = { 'round-robin': roundRobin, 'least-requests': leastRequests, 'two-choices': twoChoices, random }
