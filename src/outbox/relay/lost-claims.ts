/**
 * Releases messages that the database has claimed for this relay without the relay's knowledge: a claim was
 * committed, and its response was lost with the connection. These messages would stay claimed until their
 * lease ends, long after the database has returned.
 *
 * After a claim with an unknown outcome the relay asks for its claims and releases the ones that it does not
 * hold. The server may still be executing the claim. So the search is repeated until a lease is over: after a
 * second, and then whenever the time since the failure has doubled.
 *
 * The search runs in the loop that claims, never during a claim, whose response may be on its way. The release
 * names exact claims, so a late one cannot end a later claim.
 */
import type { ClaimRef, ClaimTarget } from '../store/rows.ts'
import type { RelayParts } from './dispatcher.ts'

const MIN_INTERVAL_MS = 1_000

export class LostClaims {
	readonly #parts: RelayParts
	/** When to search next; Infinity if the outcome of all claims is known. */
	nextAt: number = Infinity
	#failedAt = 0
	readonly #destinations = new Set<string>()

	constructor(parts: RelayParts) {
		this.#parts = parts
		parts.context.onUnknownClaim = (targets) => this.#remember(targets)
	}

	/** Searches for lost claims now, and releases them. */
	async release(): Promise<void> {
		const { context, states } = this.#parts
		const { store, owner, settings, runtime, keepsHistory } = context
		if (this.nextAt === Infinity) return
		const destinations = [...this.#destinations]
		const now = runtime.now()
		const endsAt = this.#failedAt + settings.leaseMs
		this.nextAt = Math.min(endsAt, now + Math.max(MIN_INTERVAL_MS, now - this.#failedAt))
		if (now >= endsAt) {
			this.nextAt = Infinity
			this.#destinations.clear()
		}
		const held = new Set([...this.#held()].map(nameOf))
		try {
			const claims = await context.callStoreOnce(() => store.claimsOf(owner, destinations))
			const releases = claims
				.filter((claim) => !held.has(nameOf(claim)))
				.map((claim) => ({ type: 'release', ...claim }) as const)
			if (releases.length === 0) return
			await context.callStoreOnce(() => store.settle(owner, releases, keepsHistory))
			// Released messages keep their due times, which are before the next scan's start.
			for (const destination of destinations) states.byName.get(destination)?.scan.reset()
		} catch {
			// The next search repeats it.
		}
	}

	#remember(targets: readonly ClaimTarget[]): void {
		for (const { destination } of targets) this.#destinations.add(destination)
		this.#failedAt = this.nextAt = this.#parts.context.runtime.now()
	}

	*#held(): Generator<ClaimRef> {
		for (const state of this.#parts.states.byName.values()) for (const { row } of state.held()) yield row
		for (const { row } of this.#parts.settler.unwritten()) yield row
	}
}

const nameOf = ({ id, attempt, claimedAt }: ClaimRef): string => `${id} ${attempt} ${claimedAt}`
