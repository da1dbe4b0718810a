/**
 * Keeps a slow claim of one destination from delaying the others. While claims are fast, all destinations
 * share one claim, which is one round trip. After a slow one, half of its destinations move to another lane,
 * whose claims run concurrently. A few slow claims later the slow destination is alone. The number of lanes is
 * fixed, so a database that is slow for all destinations gets only a few claims. The first claim of an ordered
 * destination has a lane of its own, because it may have to search for the first messages of all keys. Full
 * scans that take long have a lane of their own too, beside all other claims of their destination.
 */
import type { ClaimTarget } from '../store/rows.ts'

const LANES = 3
/** Longer than a claim of two batches takes. */
const SLOW_MS = 100
/** After this long without a slow claim all destinations share a lane again. */
const REJOIN_AFTER_MS = 60_000
/** Names of destinations that are remembered. */
const MAX_KNOWN = 10_000

export class Lane {
	readonly limit: ClaimLimit = new ClaimLimit()
	/** The destinations of the claim that runs now. */
	claiming: ReadonlySet<string> = new Set()
	slowAt: number = -Infinity
}

/** Resolves with true if another claim should follow immediately. */
type Claim = (lane: Lane, targets: readonly ClaimTarget[]) => Promise<boolean>

export class ClaimLanes {
	readonly #first = new Lane()
	readonly #lanes: readonly Lane[] = [this.#first, ...Array.from({ length: LANES - 1 }, () => new Lane())]
	readonly #fullScans = new Lane()
	#waitingFullScans: ClaimTarget[] = []
	/** Ends with the full scans that run now. */
	#fullScan: Promise<unknown> | undefined
	/** Destinations that have been claimed from. */
	readonly #known = new Set<string>()
	/** The lanes of destinations that are not in the first one. */
	readonly #moved = new Map<string, Lane>()
	readonly #running = new Map<Lane, Promise<boolean>>()
	#isAwaited = false

	/** True while a claim of this destination runs, or its lane is used by another one. */
	isBusy(destination: string): boolean {
		if (this.#running.size === 0) return false
		if (this.#running.has(this.#laneOf(destination))) return true
		return [...this.#running.keys()].some(({ claiming }) => claiming.has(destination))
	}

	/** True while a claim of this destination runs or waits. */
	isClaiming(destination: string): boolean {
		for (const { claiming } of this.#running.keys()) if (claiming.has(destination)) return true
		if (this.#fullScan !== undefined && this.#fullScans.claiming.has(destination)) return true
		return this.#waitingFullScans.some((target) => target.destination === destination)
	}

	/** Starts a claim per lane. `onEnd` is called after a claim that `next` does not await. */
	start(targets: readonly ClaimTarget[], now: () => number, claim: Claim, onEnd: () => void): void {
		for (const [lane, own] of this.#divide(targets)) {
			const startedAt = now()
			lane.claiming = new Set(own.map(({ destination }) => destination))
			const running = claim(lane, own).finally(() => {
				this.#running.delete(lane)
				this.#recordClaim(lane, now() - startedAt, now())
				if (!this.#isAwaited) onEnd()
			})
			// A rejection is handled by `next`, which may be called later.
			running.catch(() => {})
			this.#running.set(lane, running)
		}
	}

	/** Starts full scans, or lets them wait for the running ones. */
	startFullScans(targets: readonly ClaimTarget[], claim: Claim, onEnd: () => void): void {
		this.#waitingFullScans.push(...targets)
		if (this.#fullScan !== undefined || this.#waitingFullScans.length === 0) return
		const own = this.#waitingFullScans
		this.#waitingFullScans = []
		this.#fullScans.claiming = new Set(own.map(({ destination }) => destination))
		this.#fullScan = claim(this.#fullScans, own)
			.finally(() => {
				this.#fullScan = undefined
				onEnd()
			})
			// It fails only if the store was abandoned.
			.catch(() => {})
	}

	/** Resolves when one of the running claims has ended, with its result. */
	async next(): Promise<boolean> {
		this.#isAwaited = true
		try {
			return await Promise.race(this.#running.values())
		} finally {
			this.#isAwaited = false
		}
	}

	/** Resolves when all running claims have ended. */
	async all(): Promise<void> {
		await Promise.allSettled([...this.#running.values(), this.#fullScan])
	}

	#laneOf(destination: string): Lane {
		return this.#moved.get(destination) ?? this.#first
	}

	#divide(targets: readonly ClaimTarget[]): ReadonlyMap<Lane, readonly ClaimTarget[]> {
		const divided = new Map<Lane, ClaimTarget[]>()
		for (const target of targets) {
			this.#separateUnknown(target)
			const lane = this.#laneOf(target.destination)
			const own = divided.get(lane)
			if (own) own.push(target)
			else divided.set(lane, [target])
		}
		return divided
	}

	#separateUnknown({ destination, isOrdered }: ClaimTarget): void {
		if (this.#known.has(destination)) return
		if (this.#known.size >= MAX_KNOWN) this.#known.clear()
		this.#known.add(destination)
		const last = this.#lanes.at(-1)
		if (isOrdered && last && !this.#running.has(last)) this.#moved.set(destination, last)
	}

	#recordClaim(lane: Lane, durationMs: number, now: number): void {
		if (durationMs <= SLOW_MS) {
			if ([lane, this.#first].every(({ slowAt }) => now >= slowAt + REJOIN_AFTER_MS))
				for (const destination of lane.claiming) this.#moved.delete(destination)
			return
		}
		lane.slowAt = now
		const others = this.#lanes.filter((other) => other !== lane)
		const fastest = others.reduce((best, other) => (other.slowAt < best.slowAt ? other : best))
		;[...lane.claiming].forEach((destination, at) => {
			if (at % 2 === 1) this.#moved.set(destination, fastest)
		})
	}
}

/**
 * Decides how many messages a claim may ask for. A claim that was cancelled would take too long again, so each
 * cancelled one halves the next, down to a single message, and each successful one doubles it.
 */
export class ClaimLimit {
	#max = Infinity
	/** The target that a reduced claim starts with, so that the last ones get their turn. */
	#first = 0

	/** The maximum number of messages of the next claim; Infinity if it is not reduced. */
	get max(): number {
		return this.#max
	}

	recordTimeout(targets: readonly ClaimTarget[]): void {
		this.#max = Math.max(1, Math.floor(sizeOf(targets) / 2))
	}

	recordSuccess(wanted: readonly ClaimTarget[]): void {
		if (this.#max === Infinity) return
		this.#max *= 2
		if (this.#max >= sizeOf(wanted)) this.#max = Infinity
	}

	/** Divides the targets between the next claim and a later one. */
	divide(wanted: readonly ClaimTarget[]): { readonly now: ClaimTarget[]; readonly later: ClaimTarget[] } {
		const total = sizeOf(wanted)
		if (total <= this.#max) return { now: [...wanted], later: [] }
		const now: ClaimTarget[] = []
		const later: ClaimTarget[] = []
		let left = this.#max
		const start = this.#first++ % wanted.length
		for (const target of [...wanted.slice(start), ...wanted.slice(0, start)]) {
			const share = Math.max(1, Math.floor((target.limit * this.#max) / total))
			const limit = Math.min(left, share)
			left -= limit
			if (limit > 0) now.push(part(target, 0, limit))
			if (limit < target.limit) later.push(part(target, limit, target.limit))
		}
		return { now, later }
	}
}

const sizeOf = (targets: readonly ClaimTarget[]): number => targets.reduce((sum, { limit }) => sum + limit, 0)

const part = (target: ClaimTarget, from: number, to: number): ClaimTarget => ({
	...target,
	limit: to - from,
	...(target.keys && { keys: target.keys.slice(from, to) }),
})
