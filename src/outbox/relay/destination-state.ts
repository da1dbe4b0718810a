/**
 * One destination as a relay sees it: what is claimed for it and not started, what is under way, and when to look for more. Every
 * destination has a lane of its own with its own limit, so that one that hangs holds up nobody else.
 */

import type { Runtime } from '../../core/runtime/runtime.ts'
import { type TimeoutList, timeoutList } from '../../core/runtime/timeout-list.ts'
import type { ClaimedRow, ClaimTarget } from '../store/rows.ts'
import { ScanSchedule } from '../timing/scan-schedule.ts'
import type { Delivery } from './delivery.ts'
import { LocalBreaker } from './local-breaker.ts'
import type { DestinationSettings, RelaySettings } from './settings.ts'

/** So much of its work a lane holds ahead, in time: enough to hide the way to the database, not so much that others could do it sooner. */
const AHEAD_MS = 500

/** How long the pace is measured at least. */
const PACE_MS = 10

export class DestinationState {
	readonly destination: string
	readonly settings: DestinationSettings
	readonly gate: LocalBreaker
	readonly lookout: ScanSchedule
	/** Claimed and not started, the next one last. */
	waiting: Delivery[] = []
	readonly underWay: Set<Delivery> = new Set()
	/** Keys whose first message is done, so that the next may come. */
	readonly freedKeys: Set<string> = new Set()
	/** How many of the places that all relays share are this relay's, and until when. */
	#places = 0
	#placesUntil = -Infinity
	readonly #runtime: Runtime
	readonly #batchSize: number
	#limits: TimeoutList | undefined
	#finished = 0
	#countedAt: number
	#perMs = 0
	#isHeldUp = false

	constructor(
		destination: string,
		settings: DestinationSettings,
		relay: RelaySettings,
		fallback: DestinationSettings['breaker'],
	) {
		this.destination = destination
		this.settings = settings
		this.#runtime = relay.runtime
		this.#batchSize = relay.batchSize
		this.#countedAt = relay.runtime.now()
		const breaker = settings.breaker ?? fallback
		if (!breaker) throw new TypeError('a lane needs the settings of a breaker')
		this.gate = new LocalBreaker(destination, breaker, settings.breaker !== undefined, relay.rampUpMs)
		this.lookout = new ScanSchedule(relay.pollMs)
	}

	get isIdle(): boolean {
		return this.waiting.length === 0 && this.underWay.size === 0
	}

	/** How many more may be started now. */
	room(now: number): number {
		return this.#limit(now) - this.underWay.size
	}

	/** Has it a place for a probe? Handlers that hang from before the outage have theirs still. */
	canProbe(now: number): boolean {
		return this.underWay.size < Math.min(this.settings.concurrency, this.#placesAt(now))
	}

	/** Will it have a place when all is quiet? Handlers that hang beyond their time keep theirs. */
	hasPlaceWhenQuiet(now: number): boolean {
		let hanging = 0
		for (const { isSettled } of this.underWay) if (isSettled) hanging++
		return hanging < Math.min(this.settings.concurrency, this.#placesAt(now))
	}

	/** The time limits of its messages. */
	limits(): TimeoutList {
		this.#limits = timeoutList(this.#runtime, this.settings.timeoutMs, this.#limits)
		return this.#limits
	}

	/**
	 * Of what was claimed, that which it does not work on already. A message whose lease had ended, unnoticed by others, is ours again under
	 * another number: sending it a second time beside the first would be a repeat that nobody asked for.
	 */
	unbegun(rows: readonly ClaimedRow[], now: number, leaseUntil: number): readonly ClaimedRow[] {
		const overdue = new Map<string, Delivery>()
		for (const delivery of this.underWay)
			if (!delivery.isSettled && delivery.leaseUntil <= now) overdue.set(delivery.row.id, delivery)
		if (overdue.size === 0) return rows
		return rows.filter((row) => {
			const delivery = overdue.get(row.id)
			if (!delivery) return true
			delivery.row = row
			delivery.leaseUntil = leaseUntil
			return false
		})
	}

	/** How many handlers hang beyond their time, if those are all that it may run and it was not told before. */
	newlyHanging(): number {
		let hanging = 0
		for (const { isSettled } of this.underWay) if (isSettled) hanging++
		const wasHeldUp = this.#isHeldUp
		this.#isHeldUp = hanging >= this.settings.concurrency
		return this.#isHeldUp && !wasHeldUp ? hanging : 0
	}

	/** In the order in which they came, after those that wait already. */
	queue(claimed: readonly Delivery[]): void {
		this.waiting = [...claimed.toReversed(), ...this.waiting]
	}

	/** One of them is done. */
	finished(delivery: Delivery): void {
		this.underWay.delete(delivery)
		this.#finished++
	}

	/** How many messages should be claimed now, for none to be missing; 0 when there is enough. */
	wanted(now: number): number {
		const limit = this.#limit(now)
		const waiting = this.waiting.length
		if (limit <= 0) return 0
		if (this.gate.isProbing || this.settings.rate || this.settings.maxConcurrent < Infinity)
			return Math.max(0, limit - this.underWay.size - waiting)
		// Two batches at most: one that is being sent, and one that is on its way meanwhile.
		const ahead = Math.min(2 * this.#batchSize, Math.max(limit, Math.ceil(this.#pace(now) * AHEAD_MS)))
		if (waiting >= Math.max(limit, ahead / 2)) return 0
		return Math.max(0, Math.min(this.#batchSize, ahead - waiting))
	}

	/** What to ask the store for, `limit` of them; and the next of the keys that are free. */
	asks(limit: number, now: number): ClaimTarget[] {
		const { destination } = this
		const isOrdered = this.settings.afterDeadLetter !== undefined
		const isProbe = this.gate.isProbing
		const since = this.lookout.since(now)
		const all: ClaimTarget = { destination, limit, since, isOrdered, isProbe }
		if (this.freedKeys.size === 0 || isProbe) return [all]
		// Where each message is paid for with a token, or has a place that others lack, the freed keys are among those.
		const isScarce = this.settings.rate !== undefined || this.settings.maxConcurrent < Infinity
		const keys = [...this.freedKeys].slice(0, isScarce ? limit : Infinity)
		for (const key of keys) this.freedKeys.delete(key)
		const freed: ClaimTarget = { destination, limit: keys.length, since: 0, isOrdered, isProbe, keys }
		// Only because of a freed key nobody looks through all that is due.
		const wanted = now < this.lookout.nextAt ? 0 : limit
		const rest = isScarce ? limit - keys.length : wanted
		return rest > 0 ? [freed, { ...all, limit: rest }] : [freed]
	}

	/** The key of a message that is done with, if others may wait for it. */
	freed(row: ClaimedRow): boolean {
		if (this.settings.afterDeadLetter === undefined || row.key === null) return false
		this.freedKeys.add(row.key)
		return true
	}

	/** Are there places to be shared, of which it was never given any? */
	get needsPlaces(): boolean {
		return this.settings.maxConcurrent < Infinity && this.#placesUntil === -Infinity
	}

	/** How many places it uses. No more than these from now on, until it is told its share: that is what others reckon with. */
	countPlaces(): number {
		const inUse = this.underWay.size + this.waiting.length
		this.#places = Math.min(this.#places, inUse)
		return inUse
	}

	/** So many places are this relay's until then. */
	share(places: number, until: number): void {
		this.#places = places
		this.#placesUntil = until
	}

	#limit(now: number): number {
		const { concurrency } = this.settings
		const limit = this.gate.limit(concurrency, now)
		if (!this.gate.isProbing) return Math.min(limit, this.#placesAt(now))
		let before = 0
		for (const { ticket } of this.underWay) if (ticket !== this.gate.ticket) before++
		return Math.min(concurrency, before + limit, this.#placesAt(now))
	}

	#placesAt(now: number): number {
		if (this.settings.maxConcurrent === Infinity) return Infinity
		return now < this.#placesUntil ? this.#places : 0
	}

	/** How many are finished in a millisecond, lately. */
	#pace(now: number): number {
		const elapsedMs = now - this.#countedAt
		// A few in a moment may be chance.
		if (this.#finished > 0 && (elapsedMs >= PACE_MS || this.#finished >= 2 * this.settings.concurrency)) {
			const latest = this.#finished / Math.max(elapsedMs, 0.001)
			this.#perMs = this.#perMs === 0 ? latest : (this.#perMs + latest) / 2
			this.#finished = 0
			this.#countedAt = now
		}
		return this.#perMs
	}
}
