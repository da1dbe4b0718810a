/**
 * Fetches messages for the lanes that want some. One claim at a time for all lanes, while the outcomes of the latest messages are written
 * beside it; then it waits until somebody rings, a lane has room, or the next message is due.
 */

import type { WakeSignal } from '../notify/wake-signal.ts'
import type { ClaimedRow, ClaimResult, ClaimTarget } from '../store/rows.ts'
import { EventLoopYield } from '../timing/yield.ts'
import { Delivery } from './delivery.ts'
import type { DestinationStates } from './destination-discovery.ts'
import type { DestinationState } from './destination-state.ts'
import type { Dispatcher } from './dispatcher.ts'
import { DestinationDiscovery } from './name-scout.ts'
import { acquirePermits } from './places.ts'
import type { PoisonDetection } from './poison-detection.ts'
import type { RelayContext } from './relay-context.ts'
import type { Settler } from './settler.ts'
import type { SharedBreaker } from './shared-breaker.ts'

/** The next due time is asked for at most so often. */
const DUE_EVERY_MS = 20

/** The parts of a relay that fetching has to do with. */
export interface ClaimerParts {
	readonly context: RelayContext
	readonly lanes: DestinationStates
	readonly dispatcher: Dispatcher
	readonly gatekeeper: SharedBreaker
	readonly settler: Settler
	readonly isolation: PoisonDetection
	readonly bell: WakeSignal
}

export class Claimer {
	readonly #parts: ClaimerParts
	#isStopping = false
	/** Did somebody say that there is something new? */
	#isNews = true
	#polledAt = -Infinity
	#dueAskedAt = -Infinity
	/** Of which lanes it is still true: nothing has been fetched or told of since. */
	readonly #dueKnown = new Set<DestinationState>()
	readonly #yield: EventLoopYield
	readonly #names: DestinationDiscovery

	constructor(parts: ClaimerParts) {
		this.#parts = parts
		this.#yield = new EventLoopYield(parts.context.runtime)
		this.#names = new DestinationDiscovery(parts.context, parts.lanes)
	}

	/** There may be something new. */
	wake(): void {
		this.#isNews = true
		this.#parts.bell.wake()
	}

	/** Nothing more is fetched. */
	stop(): void {
		this.#isStopping = true
		this.#parts.bell.wake()
	}

	/** Goes on until it is stopped. */
	async run(): Promise<void> {
		const { bell } = this.#parts
		while (!this.#isStopping) {
			await this.#prepare()
			if (this.#isStopping) return
			await this.#yield.yieldIfDue()
			if (this.#isStopping) return
			if (await this.#fetch()) continue
			const ms = await this.#untilNext()
			if (!this.#isStopping) await bell.wait(ms)
		}
	}

	async #prepare(): Promise<void> {
		const { context, lanes, gatekeeper, isolation, dispatcher } = this.#parts
		const now = context.runtime.now()
		// The same sum as in the wait for it: by a difference, rounded otherwise, it could be not yet due and no time left to wait.
		const isPoll = now >= this.#polledAt + context.settings.pollMs
		if (isPoll || this.#isNews || now >= this.#names.dueAt) {
			this.#isNews = false
			this.#dueKnown.clear()
			await this.#names.look()
			for (const lane of lanes.byName.values()) lane.lookout.expect(now)
		}
		if (isPoll) {
			this.#polledAt = now
			// Another relay may have opened one before its time, or shut one that this relay has messages for.
			const open = ([, { gate, waiting }]: [string, DestinationState]) =>
				gate.heldUntil > now || waiting.length > 0
			const concerned = new Map([...lanes.byName].filter(open))
			if (concerned.size > 0) await gatekeeper.refresh(concerned)
			await isolation.runSuspects(() => this.#isStopping)
			for (const lane of lanes.byName.values()) this.#tellHanging(lane)
			// A lane that comes back after an outage has more room by now, whether one of its messages has ended or not.
			dispatcher.pump()
		}
		for (const lane of lanes.byName.values()) {
			if (this.#isStopping) return
			await this.#prepareLane(lane)
		}
	}

	async #prepareLane(lane: DestinationState): Promise<void> {
		const { context, gatekeeper } = this.#parts
		// One that has just been met; for the others the heartbeat asks.
		if (lane.needsPlaces) await context.ask('places', () => acquirePermits(context, lane))
		const now = context.runtime.now()
		if (lane.gate.shouldProbe(now) && now >= lane.lookout.nextAt && lane.canProbe(now))
			await gatekeeper.probe(lane)
	}

	/** Handlers that have had their time and do not end hold the destination up, without a word of their own. */
	#tellHanging(lane: DestinationState): void {
		const hanging = lane.newlyHanging()
		if (hanging > 0)
			this.#parts.context.tell({ type: 'handlers_hang', destination: lane.destination, hanging })
	}

	/** Answers whether anything was fetched, so that it is worth to try again at once. */
	async #fetch(): Promise<boolean> {
		const { context, settler, dispatcher } = this.#parts
		const asks = await this.#asks()
		if (asks.length === 0 || dispatcher.isPaused) return false
		// With the claim, and not after it: a database that can write both at once does.
		settler.flush()
		let beganAt = 0
		const { owner, settings } = context
		const result = await context.ask('claim', () => {
			// Of the try that is answered: leases of one that came after a minute of others would be over already.
			beganAt = context.runtime.now()
			return context.store.claim({
				...{ owner, leaseMs: settings.leaseMs, targets: asks, poisonCandidates: false },
				poisonAfter: this.#parts.isolation.poisonAfter,
			})
		})
		this.#dueKnown.clear()
		context.sawTime(result.now)
		this.#take(asks, result, beganAt)
		return result.rows.length > 0
	}

	async #asks(): Promise<ClaimTarget[]> {
		const { context, lanes } = this.#parts
		const asks: ClaimTarget[] = []
		for (const lane of lanes.byName.values()) {
			const now = context.runtime.now()
			if (now < lane.gate.heldUntil) continue
			const isFree = lane.freedKeys.size > 0
			const wanted = lane.wanted(now)
			if (wanted === 0 || (!isFree && now < lane.lookout.nextAt)) continue
			const granted = await this.#granted(lane, wanted)
			if (granted > 0) asks.push(...lane.asks(granted, now))
		}
		return asks
	}

	/** How many of them the rate that all relays share has room for. */
	async #granted(lane: DestinationState, wanted: number): Promise<number> {
		const { rate } = lane.settings
		if (!rate) return wanted
		const { context } = this.#parts
		const count = Math.min(wanted, rate.burst)
		const { granted, inMs } = await context.ask('rate', () =>
			context.store.acquireTokens(lane.destination, count, rate),
		)
		if (granted === 0) lane.lookout.waitUntil(context.runtime.now() + Math.max(1, inMs))
		return granted
	}

	#take(asks: readonly ClaimTarget[], { rows, circuits }: ClaimResult, beganAt: number): void {
		const { context, lanes, dispatcher, gatekeeper } = this.#parts
		const now = context.runtime.now()
		const leaseUntil = beganAt + context.settings.leaseMs
		const byLane = byDestination(rows)
		const isMissed = (name: string) => !byLane.has(name)
		const freed = new Map(asks.flatMap(({ destination, keys }) => (keys ? [[destination, keys]] : [])))
		for (const [name, own] of byLane) {
			const lane = lanes.byName.get(name)
			const fresh = lane?.unbegun(own, now, leaseUntil) ?? []
			lane?.queue(fresh.map((row) => new Delivery(row, leaseUntil, (one) => dispatcher.expired(one))))
		}
		for (const gate of circuits) {
			const lane = lanes.byName.get(gate.destination)
			if (lane) gatekeeper.see(lane, gate)
		}
		for (const name of byLane.keys()) {
			const lane = lanes.byName.get(name)
			// Shut while the claim was under way, which knew nothing of it: these would sit here until somebody looks again.
			if (lane && lane.gate.heldUntil > now) dispatcher.release(lane, 'gate')
		}
		for (const { destination, keys, limit, since } of asks) {
			const lane = lanes.byName.get(destination)
			if (!lane) continue
			const own = (byLane.get(destination) ?? []).filter(isOf(keys ?? freed.get(destination), !keys))
			this.#giveTokensBack(lane, limit - own.length)
			if (keys) continue
			lane.lookout.recordScan(since, beganAt, now, own.length < limit, latestDue(own))
			if (lane.gate.isProbing && isMissed(destination)) gatekeeper.turn(lane, lane.gate.endProbe())
		}
		dispatcher.pump()
	}

	#giveTokensBack(lane: DestinationState, count: number): void {
		const { rate } = lane.settings
		const { context } = this.#parts
		if (!rate || count <= 0) return
		context
			.ask('rate', () => context.store.returnTokens(lane.destination, count, rate))
			.catch(() => {
				// The relay has stopped; a few tokens come back by themselves.
			})
	}

	/** For how long there is nothing to do unless somebody rings. */
	async #untilNext(): Promise<number> {
		const { context, lanes } = this.#parts
		const { pollMs } = context.settings
		let now = context.runtime.now()
		const idle = [...lanes.byName.values()].filter(
			(lane) => lane.gate.heldUntil <= now && lane.wanted(now) > 0,
		)
		let next = Math.min(this.#polledAt + pollMs, this.#names.dueAt)
		const isAsked = idle.some((lane) => !this.#dueKnown.has(lane))
		if (isAsked && now < this.#dueAskedAt + DUE_EVERY_MS)
			next = Math.min(next, this.#dueAskedAt + DUE_EVERY_MS)
		else if (isAsked) {
			this.#dueAskedAt = now
			this.#dueKnown.clear()
			for (const lane of idle) this.#dueKnown.add(lane)
			const names = idle.map(({ destination }) => destination)
			const inMs = await context.ask('next due', () => context.store.nextDueInMs(names))
			now = context.runtime.now()
			for (const lane of idle) lane.lookout.expect(inMs === undefined ? Infinity : now + inMs)
		}
		for (const lane of lanes.byName.values()) {
			if (lane.gate.heldUntil > now) next = Math.min(next, lane.gate.heldUntil)
			else if (lane.wanted(now) > 0) next = Math.min(next, lane.lookout.nextAt)
		}
		return Math.max(0, next - now)
	}
}

/** Those whose key is one of these; or all others. */
function isOf(keys: readonly string[] = [], isOther: boolean): (row: ClaimedRow) => boolean {
	const known = new Set<string | null>(keys)
	return ({ key }) => known.has(key) !== isOther
}

const latestDue = (rows: readonly ClaimedRow[]): number =>
	rows.reduce((latest, { dueAt }) => Math.max(latest, dueAt), 0)

function byDestination(rows: readonly ClaimedRow[]): ReadonlyMap<string, readonly ClaimedRow[]> {
	const lanes = new Map<string, ClaimedRow[]>()
	for (const row of rows) {
		const own = lanes.get(row.destination)
		if (own) own.push(row)
		else lanes.set(row.destination, [row])
	}
	return lanes
}
