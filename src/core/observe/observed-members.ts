import type { EventFilter, ObservedPipeline } from './observation.ts'

type Listenable = Pick<ObservedPipeline, 'listen'>

/**
 * Subscriptions to what is created on first use, such as a pipeline per origin or a policy per key, and may be
 * evicted.
 */
export class ObservedMembers<Member extends Listenable> {
	readonly #members: () => Iterable<Member>
	readonly #attachers = new Set<(member: Member) => void>()

	/** `members` returns the members that exist. */
	constructor(members: () => Iterable<Member>) {
		this.#members = members
	}

	/** Must be called with every new member. */
	add(member: Member): void {
		for (const attach of this.#attachers) attach(member)
	}

	/**
	 * Calls `attach` once with every member, later ones included, and with its `listen`. Returns a function that
	 * ends this.
	 */
	observe(attach: (member: Member, listen: Listenable['listen']) => () => void): () => void {
		// Weakly, because members are evicted. An evicted member may emit events later too, for example of downloads.
		const ends = new WeakMap<Member, () => void>()
		let isObserved = true
		const add = (member: Member) => {
			if (ends.has(member)) return
			const end = attach(member, (listener, filter?: EventFilter) =>
				member.listen((event) => isObserved && listener(event), filter),
			)
			ends.set(member, end)
		}
		for (const member of this.#members()) add(member)
		this.#attachers.add(add)
		return () => {
			isObserved = false
			this.#attachers.delete(add)
			for (const member of this.#members()) ends.get(member)?.()
		}
	}
}

/** Calls `attach` with every pipeline, later ones included. Returns a function that ends this. */
export const observePipelines = <Pipeline extends ObservedPipeline>(
	pipelines: ObservedMembers<Pipeline>,
	attach: (pipeline: ObservedPipeline) => () => void,
): (() => void) => pipelines.observe(({ compiled }, listen) => attach({ compiled, listen }))
