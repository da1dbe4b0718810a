/**
 * The relay's main loop: claims messages for destinations that need some, then waits until it is woken, a slot
 * is free, or the next message is due. While claims are fast, one serves all destinations. Results of earlier
 * messages are written concurrently.
 */
import { TimeoutError } from '../../core/errors/errors.ts'
import type { ClaimedRow, ClaimResult, ClaimTarget } from '../store/rows.ts'
import { ClaimLanes, type Lane } from './claim-lanes.ts'
import { Delivery } from './delivery.ts'
import { DestinationDiscovery } from './destination-discovery.ts'
import type { DestinationState } from './destination-state.ts'
import type { RelayParts } from './dispatcher.ts'
import { eventLoopYield, nextTick } from './event-loop-yield.ts'
import { acquirePermits } from './heartbeat.ts'
import { LostClaims } from './lost-claims.ts'
import { PoisonDetection } from './poison-detection.ts'
import { longestLag, PollSchedule } from './poll-schedule.ts'

/** Messages of a larger claim start in the next turn of the event loop: they would delay the next claim. */
const MANY = 100

/** The store is asked for the next due time at most this often. */
const NEXT_DUE_EVERY_MS = 20

export class Claimer {
	readonly #parts: RelayParts
	readonly #poison: PoisonDetection
	readonly lost: LostClaims
	readonly #yieldIfDue: () => Promise<void>
	readonly #discovery: DestinationDiscovery
	readonly #polls: PollSchedule
	readonly #lanes = new ClaimLanes()
	#isWoken = true
	/** True from a poll until the scan that it caused. */
	#isPolling = false
	#maintainAt = -Infinity
	#nextDueAskedAt = -Infinity
	/** Destinations whose next due time is known; cleared when messages are claimed or the relay is woken. */
	readonly #nextDueKnown = new Set<DestinationState>()

	constructor(parts: RelayParts) {
		this.#parts = parts
		this.lost = new LostClaims(parts)
		this.#poison = new PoisonDetection(parts, () => this.#lanes.all())
		this.#yieldIfDue = eventLoopYield(parts.context.runtime)
		this.#polls = new PollSchedule(parts.context.settings.pollMs)
		const isClaiming = (name: string) => this.#lanes.isClaiming(name)
		this.#discovery = new DestinationDiscovery(parts, isClaiming)
	}

	/** Scans soon, because there may be new messages. */
	wake(): void {
		this.#isWoken = true
		this.#parts.signal.wake()
	}

	async run(): Promise<void> {
		const { context, signal } = this.#parts
		try {
			while (!context.isStopping) {
				await this.#prepare()
				if (context.isStopping) return
				await this.#yieldIfDue()
				if (context.isStopping) return
				if (await this.#claim()) continue
				// Nothing else has to be sent, so nothing waits for the poison candidates.
				if (this.#poison.hasMore && this.#isIdle()) {
					await this.#poison.runCandidates()
					continue
				}
				const ms = await this.#msUntilNext()
				if (!context.isStopping) await signal.wait(ms)
			}
		} finally {
			await this.#lanes.all()
		}
	}

	#isIdle(): boolean {
		return [...this.#parts.states.byName.values()].every((state) => state.isIdle)
	}

	async #prepare(): Promise<void> {
		const { context, states, breaker, dispatcher } = this.#parts
		// A running claim may return messages that would be taken for lost ones.
		if (context.runtime.now() >= this.lost.nextAt) {
			await this.#lanes.all()
			await this.lost.release()
		}
		const now = context.runtime.now()
		const isMaintenanceDue = now >= this.#maintainAt
		const isPoll = now >= this.#polls.nextAt
		if (isMaintenanceDue || isPoll || this.#isWoken || now >= this.#discovery.nextAt) {
			this.#isPolling = isPoll && !this.#isWoken
			this.#isWoken = false
			this.#polls.recordScan(now)
			this.#nextDueKnown.clear()
			await this.#discovery.run()
			for (const state of states.byName.values()) state.scan.expect(now)
		}
		if (isMaintenanceDue) {
			this.#maintainAt = now + context.settings.pollMs
			// Another relay may have ended a pause early, or paused a destination whose messages this relay has.
			const isAffected = ([, state]: [string, DestinationState]) =>
				state.breaker.pausedUntil > now || state.waiting > 0
			const affected = new Map([...states.byName].filter(isAffected))
			if (affected.size > 0) await breaker.refresh(affected)
			await this.#poison.runCandidates()
			for (const state of states.byName.values()) this.#emitHung(state)
			// While a destination ramps up after an outage, its capacity grows even if no message ends.
			dispatcher.pump()
		}
		for (const state of states.byName.values()) {
			if (context.isStopping) return
			await this.#prepareDestination(state)
		}
	}

	async #prepareDestination(state: DestinationState): Promise<void> {
		const { context, breaker } = this.#parts
		// Only new destinations need permits here: the heartbeat renews them.
		if (state.needsPermits) await context.callStore('permits', () => acquirePermits(context, state))
		const now = context.runtime.now()
		if (state.breaker.shouldProbe(now) && now >= state.scan.nextAt && state.canProbe(now))
			await breaker.probe(state)
	}

	#emitHung(state: DestinationState): void {
		const count = state.newlyHung()
		if (count > 0)
			this.#parts.context.emitter.emit({ type: 'relay_handlers_hung', destination: state.destination, count })
	}

	/** Returns true if messages were claimed, so that the next claim should follow immediately. */
	async #claim(): Promise<boolean> {
		const { context, settler, dispatcher, signal } = this.#parts
		const fullScans = dispatcher.isPaused ? [] : this.#longFullScans()
		const targets = await this.#claimTargets()
		const onEnd = () => signal.wake()
		this.#lanes.startFullScans(fullScans, (lane, own) => this.#claimIn(lane, own, false), onEnd)
		if (targets.length === 0 && this.#isPolling && this.#isIdle()) {
			// No destination has messages, or those that have are paused: the poll has found nothing.
			this.#isPolling = false
			this.#polls.recordPoll(context.runtime.now(), undefined)
		}
		if (targets.length === 0 || dispatcher.isPaused) return false
		// Started together with the claim, because some stores combine both writes.
		settler.flush()
		const isPoll = this.#isPolling
		this.#isPolling = false
		const now = () => context.runtime.now()
		this.#lanes.start(targets, now, (lane, own) => this.#claimIn(lane, own, isPoll), onEnd)
		return this.#lanes.next()
	}

	async #claimIn(lane: Lane, targets: readonly ClaimTarget[], isPoll: boolean): Promise<boolean> {
		const { context } = this.#parts
		const { limit } = lane
		let startedAt = 0
		let parts = limit.divide(targets)
		const claim = async (signal: AbortSignal) => {
			// The start of the successful try: measured from the first of several, leases could be over already.
			startedAt = context.runtime.now()
			parts = limit.divide(targets)
			try {
				return await context.claim(parts.now, false, signal)
			} catch (error) {
				if (signal.aborted || error instanceof TimeoutError) limit.recordTimeout(parts.now)
				throw error
			}
		}
		const reduced = () => (limit.max < Infinity ? { claimLimit: limit.max } : {})
		const result = await context.callStore('claim', claim, reduced)
		limit.recordSuccess(targets)
		for (const target of parts.later) this.#postpone(target)
		this.#nextDueKnown.clear()
		if (isPoll) this.#polls.recordPoll(context.runtime.now(), longestLag(result, parts.now))
		this.#accept(parts.now, result, startedAt)
		return result.rows.length > 0 || parts.later.length > 0
	}

	/** Returns the tokens and keys of (a part of) a target that a reduced claim left out. */
	#postpone({ destination, limit, since, keys }: ClaimTarget): void {
		const state = this.#parts.states.byName.get(destination)
		if (!state) return
		if (since === 0 && !keys) state.scan.postponeFullScan()
		this.#returnTokens(state, limit)
		for (const key of keys ?? []) state.freeKeys.add(key)
	}

	#longFullScans(): ClaimTarget[] {
		const { context, states } = this.#parts
		const now = context.runtime.now()
		return [...states.byName.values()].flatMap((state) => {
			if (now < state.breaker.pausedUntil || state.claimSize(now) === 0) return []
			return state.longFullScan(now) ?? []
		})
	}

	async #claimTargets(): Promise<ClaimTarget[]> {
		const { context, states } = this.#parts
		const targets: ClaimTarget[] = []
		for (const state of states.byName.values()) {
			const now = context.runtime.now()
			if (now < state.breaker.pausedUntil || this.#lanes.isBusy(state.destination)) continue
			const size = state.claimSize(now)
			if (size === 0 || (state.freeKeys.size === 0 && now < state.scan.nextAt)) continue
			const granted = await this.#acquireTokens(state, size)
			if (granted > 0) targets.push(...state.claimTargets(granted, now))
		}
		return targets
	}

	/** Returns how many messages the rate limit, which all relays share, admits. */
	async #acquireTokens(state: DestinationState, wanted: number): Promise<number> {
		const { rate } = state.settings
		if (!rate) return wanted
		const { context } = this.#parts
		const count = Math.min(wanted, rate.burst)
		const { granted, inMs } = await context.callStore('rate', () =>
			context.store.acquireTokens(state.destination, count, rate),
		)
		if (granted === 0) state.scan.nextAt = context.runtime.now() + Math.max(1, inMs)
		return granted
	}

	#accept(targets: readonly ClaimTarget[], { rows, circuits }: ClaimResult, startedAt: number): void {
		const { context, states, dispatcher, settler, breaker } = this.#parts
		const now = context.runtime.now()
		const leaseUntil = startedAt + context.settings.leaseMs
		const claimed = groupByDestination(rows)
		for (const [name, own] of claimed) {
			const state = states.byName.get(name)
			const fresh = state?.withoutInFlight(own, now, leaseUntil) ?? []
			state?.enqueue(fresh.map((row) => new Delivery(row, leaseUntil, dispatcher.onTimeout)))
		}
		for (const circuit of circuits) {
			const state = states.byName.get(circuit.destination)
			if (state) breaker.update(state, circuit)
		}
		for (const name of claimed.keys()) {
			const state = states.byName.get(name)
			// Paused while the claim was in flight: these messages would stay here until the next poll.
			if (state && state.breaker.pausedUntil > now) settler.releaseQueued(state, 'paused')
		}
		const keysOf = new Map(targets.flatMap(({ destination, keys }) => (keys ? [[destination, keys]] : [])))
		for (const { destination, keys, limit, since } of targets) {
			const state = states.byName.get(destination)
			if (!state) continue
			const all = claimed.get(destination) ?? []
			const wanted = keys ?? keysOf.get(destination)
			const known = wanted && new Set<string | null>(wanted)
			const own = known ? all.filter(({ key }) => known.has(key) === (keys !== undefined)) : all
			this.#returnTokens(state, limit - own.length)
			if (keys) continue
			state.scan.recordScan(since, startedAt, now, own.length < limit, latestDueAt(own))
			if (state.breaker.isProbing && !claimed.has(destination))
				breaker.apply(state, state.breaker.cancelProbe())
		}
		if (rows.length < MANY) dispatcher.pump()
		else nextTick(context.runtime, () => dispatcher.pump())
	}

	#returnTokens(state: DestinationState, count: number): void {
		const { rate } = state.settings
		const { context } = this.#parts
		if (!rate || count <= 0) return
		const returned = context.callStore('rate', () =>
			context.store.returnTokens(state.destination, count, rate),
		)
		// Fails only after the stop of the relay. Tokens refill with time.
		returned.catch(() => {})
	}

	/** Returns how long there is nothing to do unless the relay is woken. */
	async #msUntilNext(): Promise<number> {
		const { context, states } = this.#parts
		let now = context.runtime.now()
		const idle = [...states.byName.values()].filter((state) => this.#canClaim(state, now))
		let next = Math.min(this.#maintainAt, this.#polls.nextAt, this.#discovery.nextAt, this.lost.nextAt)
		const mustAsk = idle.some((state) => !this.#nextDueKnown.has(state))
		if (mustAsk && now < this.#nextDueAskedAt + NEXT_DUE_EVERY_MS)
			next = Math.min(next, this.#nextDueAskedAt + NEXT_DUE_EVERY_MS)
		else if (mustAsk) {
			this.#nextDueAskedAt = now
			this.#nextDueKnown.clear()
			for (const state of idle) this.#nextDueKnown.add(state)
			const names = idle.map(({ destination }) => destination)
			const inMs = await context.callStore('next due', () => context.store.nextDueInMs(names))
			now = context.runtime.now()
			for (const state of idle) state.scan.expect(inMs === undefined ? Infinity : now + inMs)
		}
		for (const state of states.byName.values()) {
			if (state.breaker.pausedUntil > now) next = Math.min(next, state.breaker.pausedUntil)
			else if (this.#canClaim(state, now)) next = Math.min(next, state.scan.nextAt)
		}
		return Math.max(0, next - now)
	}

	/** False while the destination is paused, has enough messages, or is in a claim, whose end wakes the loop. */
	#canClaim(state: DestinationState, now: number): boolean {
		const { breaker, destination } = state
		return breaker.pausedUntil <= now && state.claimSize(now) > 0 && !this.#lanes.isBusy(destination)
	}
}

const latestDueAt = (rows: readonly ClaimedRow[]): number =>
	rows.reduce((latest, { dueAt }) => Math.max(latest, dueAt), 0)

function groupByDestination(rows: readonly ClaimedRow[]): ReadonlyMap<string, readonly ClaimedRow[]> {
	const groups = new Map<string, ClaimedRow[]>()
	for (const row of rows) {
		const group = groups.get(row.destination)
		if (group) group.push(row)
		else groups.set(row.destination, [row])
	}
	return groups
}
