/**
 * Finds the message that crashes its process. After a crash it is unknown which of the claimed messages caused
 * it. So a message that was claimed during more than one crash runs alone, with nothing else in flight or
 * claimed. Only crashes of these runs count.
 */
import type { ClaimedRow } from '../store/rows.ts'
import { claimRef, Delivery } from './delivery.ts'
import type { RelayParts } from './dispatcher.ts'
import type { RelayContext } from './relay-context.ts'

/** Other messages continue after this many candidates, or this time. */
const MAX_CANDIDATES = 20
const MAX_MS = 250

export class PoisonDetection {
	readonly #parts: RelayParts
	readonly #context: RelayContext
	readonly #untilClaimsEnd: () => Promise<void>
	#claimStartedAt = 0
	/** True if the latest run ended before it had run all candidates. */
	hasMore = false

	/** `untilClaimsEnd` waits for claims that run, because they may return messages. */
	constructor(parts: RelayParts, untilClaimsEnd: () => Promise<void>) {
		this.#parts = parts
		this.#untilClaimsEnd = untilClaimsEnd
		this.#context = parts.context
	}

	/** Runs poison candidates, if there are any, one by one. */
	async runCandidates(): Promise<void> {
		this.hasMore = false
		const first = await this.#claimCandidate()
		if (!first) return
		// It is released first, so that a crash while the other deliveries end does not count for it.
		await this.#release([first])
		this.#parts.dispatcher.isPaused = true
		try {
			await this.#untilClaimsEnd()
			this.#releaseQueued()
			await this.#drain()
			// A batch that failed meanwhile may have been divided, and its messages are queued again.
			this.#releaseQueued()
			await this.#parts.settler.flushAll()
			const endsAt = this.#context.runtime.now() + MAX_MS
			for (let count = 0; count < MAX_CANDIDATES && !this.#context.isStopping; count++) {
				if (count > 0 && this.#context.runtime.now() >= endsAt) break
				const row = await this.#claimCandidate()
				if (!row) return
				await this.#runAlone(row)
			}
			this.hasMore = true
		} finally {
			this.#parts.dispatcher.isPaused = this.#context.isStopping
			// Released messages keep their due times, which are before the next scan's start.
			for (const state of this.#parts.states.byName.values()) state.scan.reset()
			this.#parts.dispatcher.pump()
		}
	}

	#releaseQueued(): void {
		for (const state of this.#parts.states.byName.values())
			this.#parts.settler.releaseQueued(state, 'poison-check')
	}

	async #claimCandidate(): Promise<ClaimedRow | undefined> {
		const { runtime } = this.#context
		const now = runtime.now()
		const targets = [...this.#parts.states.byName.values()]
			.filter(({ breaker }) => breaker.state === 'closed' && breaker.pausedUntil <= now)
			.filter((state) => state.hasSlotWhenDrained(now))
			.map(({ destination, isOrdered }) => ({ destination, limit: 1, since: 0, isProbe: false, isOrdered }))
		if (targets.length === 0) return undefined
		const result = await this.#context.callStore('claim', (signal) => {
			this.#claimStartedAt = runtime.now()
			return this.#context.claim(targets, true, signal)
		})
		const [row, ...others] = result.rows
		if (others.length > 0) await this.#release(others)
		return row
	}

	async #runAlone(row: ClaimedRow): Promise<void> {
		const state = this.#parts.states.byName.get(row.destination)
		if (!state) return
		const { settings, store, runtime } = this.#context
		const { rate } = state.settings
		const leaseUntil = this.#claimStartedAt + settings.leaseMs
		const token =
			rate && (await this.#context.callStore('rate', () => store.acquireTokens(row.destination, 1, rate)))
		if (token?.granted === 0) return this.#release([row], Math.max(1, token.inMs))
		// Another relay may have claimed it while this relay waited for the database.
		const now = runtime.now()
		if (now >= leaseUntil) return this.#release([row])
		const delivery = new Delivery(row, leaseUntil, this.#parts.dispatcher.onTimeout)
		this.#parts.dispatcher.start(state, delivery, now)
		await this.#drain()
	}

	async #release(rows: readonly ClaimedRow[], inMs?: number): Promise<void> {
		const { store, owner, keepsHistory } = this.#context
		const settlements = rows.map((row) => ({ type: 'release', ...claimRef(row), inMs }) as const)
		await this.#context.callStore('settle', () => store.settle(owner, settlements, keepsHistory))
	}

	/** Waits until nothing is in flight and all results are written. Hung handlers may never end. */
	async #drain(): Promise<void> {
		while (this.#isBusy()) await this.#parts.signal.wait(this.#context.settings.pollMs)
		await this.#parts.settler.flushAll()
	}

	#isBusy(): boolean {
		for (const { inFlight } of this.#parts.states.byName.values())
			for (const { isSettled } of inFlight) if (!isSettled) return true
		return false
	}
}
