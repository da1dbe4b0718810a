/**
 * One destination as this relay sees it: queued and in-flight messages, breaker, permits, and when to claim
 * more. Each has its own limits, so a destination that hangs does not delay the others.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { findTimeoutList, type TimeoutList } from '../../core/runtime/timeout-list.ts'
import { isPattern, servesBy } from '../../text/name-pattern.ts'
import type { Destination, MessageHandler } from '../destinations/destination.ts'
import type { ClaimedRow, ClaimTarget } from '../store/rows.ts'
import type { Batch } from './batch.ts'
import type { Delivery } from './delivery.ts'
import { KeyRuns } from './key-runs.ts'
import { LocalBreaker } from './local-breaker.ts'
import { type DestinationSettings, type RelaySettings, readDestination } from './options.ts'
import { ScanSchedule } from './scan-schedule.ts'

/** Messages for this time are claimed ahead: it hides the round trip, and leaves the rest to other relays. */
const CLAIM_AHEAD_MS = 500

const MIN_THROUGHPUT_SAMPLE_MS = 10

/** Maximum number of messages of one key per claim: while the next run is claimed, the key is idle. */
const MAX_PER_KEY = 256
/** With more free keys, one message of each is a large batch, and a claim of runs costs more per message. */
const MAX_KEYS_WITH_RUNS = 32

/** Up to this many messages in flight, a scan skips the messages of their keys. */
const MAX_HELD_KEYS = 64

/** More permits cannot exist. */
const MAX_IN_FLIGHT = 1e6

export class DestinationState {
	readonly destination: string
	readonly settings: DestinationSettings
	readonly breaker: LocalBreaker
	readonly scan: ScanSchedule
	/** True while the database is asked whether the leases of waiting messages are still held. */
	isVerifying = false
	/** Claimed and not started, in reverse order. */
	queued: Delivery[] = []
	readonly inFlight: Set<Delivery> = new Set()
	/** The calls in flight, if a call gets several messages. */
	readonly batches: Set<Batch> = new Set()
	/** Claimed, and waiting for an earlier message of their key. */
	readonly runs: KeyRuns<Delivery> = new KeyRuns()
	/** Keys whose first message was settled, so that the next one can be claimed. */
	readonly freeKeys: Set<string> = new Set()
	/** This relay's share of `maxConcurrent`, and until when it is valid. */
	#permits = 0
	#permitsUntil = -Infinity
	readonly #runtime: Runtime
	readonly #batchSize: number
	#timeouts: TimeoutList | undefined
	#finished = 0
	#sampledAt: number
	#finishedPerMs = 0
	#wasHung = false
	#hasWarned = false

	constructor(destination: string, settings: DestinationSettings, relay: RelaySettings) {
		this.destination = destination
		this.settings = settings
		this.#runtime = relay.runtime
		this.#batchSize = relay.batchSize
		this.#sampledAt = relay.runtime.now()
		this.breaker = new LocalBreaker(destination, settings.circuitBreaker, relay)
		this.scan = new ScanSchedule(relay.pollMs, this.isOrdered ? 1 : Infinity)
	}

	get isOrdered(): boolean {
		return this.settings.afterDeadLetter !== undefined
	}

	get isIdle(): boolean {
		return this.waiting === 0 && this.inFlight.size === 0
	}

	/** Maximum number of messages per call of the handler. A probe must not risk more than one. */
	get perCall(): number {
		const { batch } = this.settings
		return batch === undefined || this.breaker.isProbing ? 1 : batch.maxMessages
	}

	/** Maximum number of messages in flight, if nothing else limits it. */
	get maxInFlight(): number {
		const { maxConcurrent, batch } = this.settings
		return Math.min(MAX_IN_FLIGHT, maxConcurrent * (batch?.maxMessages ?? 1))
	}

	/** Returns how many messages may be started now. Slots are counted in calls, permits in messages. */
	capacity(now: number): number {
		const slots = this.#slots(now) - this.#calls.size
		return Math.min(slots * this.perCall, this.#permitsAt(now) - this.inFlight.size)
	}

	/** Returns true if a slot is free for a probe; handlers that hang since before the outage keep theirs. */
	canProbe(now: number): boolean {
		return this.#calls.size < this.settings.maxConcurrent && this.inFlight.size < this.#permitsAt(now)
	}

	/** Returns true if a slot is free once all handlers that do not hang have ended. */
	hasSlotWhenDrained(now: number): boolean {
		const { maxConcurrent } = this.settings
		return countSettled(this.#calls) < maxConcurrent && countSettled(this.inFlight) < this.#permitsAt(now)
	}

	timeouts(): TimeoutList {
		this.#timeouts = findTimeoutList(this.#runtime, this.settings.timeoutMs, this.#timeouts)
		return this.#timeouts
	}

	/**
	 * Returns the claimed rows that are not already in flight here. If the lease of an in-flight message
	 * expired and this relay claimed it again, the delivery continues under the new claim.
	 */
	withoutInFlight(rows: readonly ClaimedRow[], now: number, leaseUntil: number): readonly ClaimedRow[] {
		const expired = new Map<string, Delivery>()
		for (const delivery of this.inFlight)
			if (!delivery.isSettled && delivery.leaseUntil <= now) expired.set(delivery.row.id, delivery)
		if (expired.size === 0) return rows
		return rows.filter((row) => {
			const delivery = expired.get(row.id)
			if (!delivery) return true
			delivery.row = row
			delivery.leaseUntil = leaseUntil
			return false
		})
	}

	/** Returns the number of hung handlers if they have just come to occupy all slots; otherwise 0. */
	newlyHung(): number {
		const hung = countSettled(this.#calls)
		const wasHung = this.#wasHung
		this.#wasHung = hung >= this.settings.maxConcurrent
		return this.#wasHung && !wasHung ? hung : 0
	}

	/** The number of messages that are claimed and not started. */
	get waiting(): number {
		return this.queued.length + this.runs.size
	}

	/** Yields all messages that this relay holds and has not settled. */
	*held(): Generator<Delivery> {
		yield* this.queued
		yield* this.inFlight
		yield* this.runs
	}

	/** Adds claimed messages at the end of the queue. */
	enqueue(claimed: readonly Delivery[]): void {
		const clockOffset = this.#runtime.wallNow() - this.#runtime.now()
		for (const delivery of claimed) delivery.clockOffset = clockOffset
		const first = this.isOrdered ? this.runs.split(claimed, this.inFlight) : claimed
		this.queued = [...first.toReversed(), ...this.queued]
	}

	/** Queues the message that follows a sent one as the next to start. Returns false if there is none. */
	continueRun(sent: Delivery): boolean {
		const next = this.runs.next(sent)
		if (next) this.queued.push(next)
		return next !== undefined
	}

	/** Queues the messages of a batch that failed as the next to start, in two calls. */
	requeueInHalves(deliveries: readonly Delivery[]): void {
		const half = (deliveries.length + 1) >> 1
		for (const part of [deliveries.slice(half), deliveries.slice(0, half)]) {
			const division = {}
			for (const delivery of part.toReversed()) {
				delivery.division = division
				this.queued.push(delivery)
			}
		}
	}

	/** Removes and returns all messages that are claimed and not started. */
	takeWaiting(): readonly Delivery[] {
		const waiting = [...this.runs.takeAll(), ...this.queued]
		this.queued = []
		return waiting
	}

	/** Reports once that a batch handler reported a message that it did not get. */
	warnOfForeignId(id = ''): void {
		if (this.#hasWarned) return
		this.#hasWarned = true
		console.warn(
			`yaoki: destination "${this.destination}" reported the message "${id}", which was not in its batch. This is ignored; the ids in a report are those of the messages in the call.`,
		)
	}

	finish(delivery: Delivery): void {
		this.inFlight.delete(delivery)
		this.#finished++
	}

	/** Returns how many messages to claim now; 0 if enough are queued. */
	claimSize(now: number): number {
		const limit = this.#limit(now)
		// Messages that wait for an earlier one of their key do not count: they need no slot.
		const queued = this.queued.length
		if (limit <= 0) return 0
		if (this.breaker.isProbing || this.#isScarce) return Math.max(0, this.capacity(now) - queued)
		const expected = Math.ceil(this.#throughput(now) * CLAIM_AHEAD_MS)
		// Two batches at most: one that is being sent, and one that is being claimed meanwhile.
		const ahead = Math.min(2 * this.#batchSize, Math.max(limit, expected))
		if (queued > Math.max(limit, ahead / 2)) return 0
		return Math.max(0, Math.min(this.#batchSize, ahead - queued))
	}

	/** Returns a long full scan if one is due. With a rate or permits, claims are counted one by one. */
	longFullScan(now: number): ClaimTarget | undefined {
		if (this.#isScarce || this.breaker.isProbing || !this.scan.startLongFullScan(now)) return undefined
		const { destination, isOrdered } = this
		const limit = this.scan.limit(0, this.#batchSize)
		return { destination, limit, since: 0, isOrdered, isProbe: false, heldKeys: this.#heldKeys() }
	}

	/** Returns what to claim: `limit` messages, and the next messages of each free key. */
	claimTargets(limit: number, now: number): ClaimTarget[] {
		const { destination, isOrdered } = this
		const isProbe = this.breaker.isProbing
		const isScarce = this.#isScarce
		const since = this.scan.since(now)
		// Tokens were acquired for the whole limit.
		const size = isScarce ? limit : this.scan.limit(since, limit)
		const heldKeys = this.#heldKeys()
		const all = { destination, limit: size, since, isOrdered, isProbe, heldKeys }
		if (this.freeKeys.size === 0 || isProbe) return [all]
		// Messages of free keys use tokens and permits too, so they count towards the limit.
		const keys = [...this.freeKeys].slice(0, isScarce ? limit : Infinity)
		for (const key of keys) this.freeKeys.delete(key)
		const perKey = isScarce ? 1 : this.#perKey(limit, keys.length)
		const ofKeys = { destination, limit: keys.length * perKey, since: 0, isOrdered, isProbe, keys, perKey }
		// A free key alone is no reason to scan for other messages.
		const others = now < this.scan.nextAt ? 0 : size
		const rest = isScarce ? limit - keys.length : others
		return rest > 0 ? [ofKeys, { ...all, limit: rest }] : [ofKeys]
	}

	/**
	 * Returns the keys whose messages cannot be claimed, because the relay holds an earlier one. A scan compares
	 * every message with all these keys. With many messages in flight, only the keys of waiting messages are
	 * returned.
	 */
	#heldKeys(): readonly string[] {
		if (!this.isOrdered) return []
		const keys = new Set(this.runs.keys)
		if (this.inFlight.size + this.queued.length <= MAX_HELD_KEYS)
			for (const { row, isSettled } of [...this.inFlight, ...this.queued])
				if (row.key !== null && !isSettled) keys.add(row.key)
		return [...keys]
	}

	/** Frees the key of a settled message; returns true if later messages may wait for it. */
	freeKey({ row, follower }: Delivery): boolean {
		if (!this.isOrdered || row.key === null || follower) return false
		this.freeKeys.add(row.key)
		return true
	}

	/** Returns how many messages to claim per free key: at most `limit` in total, with the waiting messages. */
	#perKey(limit: number, keys: number): number {
		if (keys > MAX_KEYS_WITH_RUNS) return 1
		return Math.max(1, Math.min(MAX_PER_KEY, Math.floor((limit - this.runs.size) / keys)))
	}

	/** True if permits are required and none have been requested yet. */
	get needsPermits(): boolean {
		return this.settings.maxConcurrentAllRelays < Infinity && this.#permitsUntil === -Infinity
	}

	/** Returns the permits in use, and uses no more until `setPermits`: other relays get the rest. */
	freezePermits(): number {
		const inUse = this.inFlight.size + this.waiting
		this.#permits = Math.min(this.#permits, inUse)
		return inUse
	}

	setPermits(permits: number, until: number): void {
		this.#permits = permits
		this.#permitsUntil = until
	}

	/** True if each claimed message uses up a token or a permit that other relays could use. */
	get #isScarce(): boolean {
		return this.settings.rate !== undefined || this.settings.maxConcurrentAllRelays < Infinity
	}

	/** What occupies a slot each. */
	get #calls(): ReadonlySet<Delivery | Batch> {
		return this.settings.batch ? this.batches : this.inFlight
	}

	/** Returns how many messages may be in flight. */
	#limit(now: number): number {
		return Math.min(this.#slots(now) * this.perCall, this.#permitsAt(now))
	}

	#slots(now: number): number {
		const { maxConcurrent: concurrency } = this.settings
		const slots = this.breaker.limit(concurrency, now)
		if (!this.breaker.isProbing) return slots
		let older = 0
		for (const { generation } of this.#calls) if (generation !== this.breaker.generation) older++
		return Math.min(concurrency, older + slots)
	}

	#permitsAt(now: number): number {
		if (this.settings.maxConcurrentAllRelays === Infinity) return Infinity
		return now < this.#permitsUntil ? this.#permits : 0
	}

	/** Returns the recent throughput in messages per millisecond. */
	#throughput(now: number): number {
		const elapsedMs = now - this.#sampledAt
		// A shorter sample with few messages says too little.
		const isSample =
			elapsedMs >= MIN_THROUGHPUT_SAMPLE_MS || this.#finished >= 2 * this.settings.maxConcurrent
		if (this.#finished > 0 && isSample) {
			const latest = this.#finished / Math.max(elapsedMs, 0.001)
			this.#finishedPerMs = this.#finishedPerMs === 0 ? latest : (this.#finishedPerMs + latest) / 2
			this.#finished = 0
			this.#sampledAt = now
		}
		return this.#finishedPerMs
	}
}

/** Counts handlers that run beyond their timeout: what they send is settled, and they keep their slot. */
function countSettled(calls: ReadonlySet<Delivery | Batch>): number {
	let settled = 0
	for (const { isSettled } of calls) if (isSettled) settled++
	return settled
}

/** Handlers by destination, for messages of any topics. */
export type Destinations = Readonly<Record<string, MessageHandler<never> | Destination<never>>>

/**
 * The states of all destinations of a relay. With a pattern such as `'*'`, each other name in the queue that it
 * matches has a state, with its own limits and breaker, while the queue has messages for it.
 */
export class DestinationStates {
	readonly byName: Map<string, DestinationState> = new Map()
	readonly #settings: RelaySettings
	/** The most specific pattern is the first. */
	readonly #patterns: readonly (readonly [pattern: string, settings: DestinationSettings])[]
	readonly #named: ReadonlySet<string>

	constructor(destinations: Destinations, settings: RelaySettings) {
		this.#settings = settings
		const entries = Object.entries(destinations)
		if (entries.length === 0)
			invalidOption('destinations', '{}', "at least one destination, such as { 'order.created': handler }")
		const read = entries.map(([name, given]) => [name, readDestination(name, given, settings)] as const)
		this.#patterns = read.filter(([name]) => isPattern(name)).sort(([a], [b]) => b.length - a.length)
		const named = read.filter(([name]) => !isPattern(name))
		this.#named = new Set(named.map(([name]) => name))
		for (const [name, own] of named) this.#add(name, own)
	}

	get hasPatterns(): boolean {
		return this.#patterns.length > 0
	}

	/**
	 * Returns what the relay reports to others: its names and patterns, and the destinations of a pattern whose
	 * circuits are not closed. The others may be thousands, and the patterns say that they are served.
	 */
	get reported(): string[] {
		const failing = [...this.byName.values()].filter(
			({ destination, breaker }) => !this.#named.has(destination) && breaker.state !== 'closed',
		)
		return [
			...this.#named,
			...failing.map(({ destination }) => destination),
			...this.#patterns.map(([pattern]) => pattern),
		]
	}

	serves(destination: string): boolean {
		return this.byName.has(destination) || this.#settingsFor(destination) !== undefined
	}

	/**
	 * Adds states for those of the names, which are in the queue, that a pattern matches, and removes other idle
	 * states of patterns. A destination that is claimed now keeps its state, because the claim may return
	 * messages.
	 */
	sync(names: readonly string[], isClaiming: (name: string) => boolean = () => false): void {
		if (!this.hasPatterns) return
		for (const name of names) {
			const settings = this.byName.has(name) ? undefined : this.#settingsFor(name)
			if (settings) this.#add(name, settings)
		}
		const inQueue = new Set(names)
		const isKept = (name: string) => inQueue.has(name) || this.#named.has(name) || isClaiming(name)
		for (const [name, { isIdle, breaker }] of this.byName)
			if (isIdle && breaker.state === 'closed' && !isKept(name)) this.byName.delete(name)
	}

	#settingsFor(name: string): DestinationSettings | undefined {
		return this.#patterns.find(([pattern]) => servesBy(pattern, name))?.[1]
	}

	#add(name: string, own: DestinationSettings): void {
		this.byName.set(name, new DestinationState(name, own, this.#settings))
	}
}
