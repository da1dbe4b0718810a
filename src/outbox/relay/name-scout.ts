/** Finds the destinations that `'*'` is for. Of more names than can be looked at at once the others come with the next look. */

import type { DestinationStates } from './destination-discovery.ts'
import type { RelayContext } from './relay-context.ts'

const MOST_NAMES = 1_000
/** When there are more, the next look comes so soon. */
const NEXT_PAGE_MS = 20

export class DestinationDiscovery {
	readonly #context: RelayContext
	readonly #lanes: DestinationStates
	#after: string | undefined
	/** When it is worth another look, if nobody says so before. */
	dueAt: number = Infinity

	constructor(context: RelayContext, lanes: DestinationStates) {
		this.#context = context
		this.#lanes = lanes
	}

	async look(): Promise<void> {
		if (!this.#lanes.hasWildcard) return
		const { store, runtime } = this.#context
		const after = this.#after
		const { names, nextDueInMs = Infinity } = await this.#context.ask('destinations', () =>
			store.dueDestinations(MOST_NAMES, after),
		)
		this.#lanes.meet(names)
		this.#after = names.length === MOST_NAMES ? names.at(-1) : undefined
		const isPaging = this.#after !== undefined || after !== undefined
		this.dueAt = runtime.now() + (isPaging ? NEXT_PAGE_MS : nextDueInMs)
	}
}
