/**
 * Keeps what this relay holds from being taken for lost, tells that it is alive, and asks for its share of the places that all relays have
 * together. What could not be renewed in time is let go: another relay may be sending it.
 */
import { hostname } from 'node:os'
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import { type Delivery, heldBy } from './delivery.ts'
import type { DestinationStates } from './destination-discovery.ts'
import type { DestinationState } from './destination-state.ts'
import type { Dispatcher } from './dispatcher.ts'
import { acquirePermits } from './places.ts'
import type { RelayContext } from './relay-context.ts'
import type { Settler } from './settler.ts'

/** Others hear at least so often that this relay is alive. */
const LONGEST_BEAT_MS = 5_000

export class Heartbeat {
	readonly #context: RelayContext
	readonly #lanes: DestinationStates
	readonly #dispatcher: Dispatcher
	readonly #settler: Settler
	readonly #onRoom: () => void
	readonly beatMs: number
	#cancel: CancelTimer | undefined
	#isOver = false
	#isBeating = false
	#counted = { at: 0, sent: 0 }

	constructor(
		context: RelayContext,
		lanes: DestinationStates,
		dispatcher: Dispatcher,
		settler: Settler,
		onRoom: () => void,
	) {
		this.#context = context
		this.#lanes = lanes
		this.#dispatcher = dispatcher
		this.#settler = settler
		this.#onRoom = onRoom
		this.beatMs = Math.min(LONGEST_BEAT_MS, context.settings.leaseMs / 3)
		this.#counted.at = context.runtime.now()
	}

	/** The first beat, and from then on one after the other. */
	async start(): Promise<void> {
		await this.#report()
		await this.#sharePlaces()
		this.#arm()
	}

	stop(): void {
		this.#isOver = true
		this.#cancel?.()
	}

	#arm(): void {
		if (!this.#isOver) this.#cancel = this.#context.runtime.setTimer(this.beatMs, () => void this.#beat())
	}

	async #beat(): Promise<void> {
		this.#letGo()
		// Before the database is asked: one that does not answer must not keep this relay from letting go in time.
		this.#arm()
		if (this.#isBeating) return
		this.#isBeating = true
		try {
			// A relay that has left must not come back by a beat that was under way.
			for (const step of [() => this.#renew(), () => this.#sharePlaces(), () => this.#report()])
				if (!this.#isOver) await step()
		} catch {
			// The relay gave up on its database, or could not reach it this time: the next beat tries again.
		}
		this.#isBeating = false
	}

	/** Those whose lease has ended by our own clock, whatever the database would say. */
	#letGo(): void {
		const now = this.#context.runtime.now()
		for (const lane of this.#lanes.byName.values())
			for (const delivery of [...lane.waiting, ...lane.underWay])
				if (now >= delivery.leaseUntil) this.#dispatcher.letGo(lane, delivery)
	}

	async #renew(): Promise<void> {
		const { store, owner, settings, runtime } = this.#context
		const now = runtime.now()
		const soon = now + (settings.leaseMs * 2) / 3
		const held = new Map<string, readonly [Delivery, DestinationState | undefined]>()
		for (const lane of this.#lanes.byName.values())
			for (const delivery of [...lane.waiting, ...lane.underWay])
				if (!delivery.isSettled && delivery.leaseUntil <= soon) held.set(delivery.row.id, [delivery, lane])
		for (const delivery of this.#settler.held())
			if (delivery.leaseUntil <= soon) held.set(delivery.row.id, [delivery, undefined])
		if (held.size === 0) return
		const asked = [...held.values()].map(([{ row }]) => heldBy(row))
		const lost = new Set(await this.#context.once(() => store.renew(owner, settings.leaseMs, asked)))
		for (const [id, [delivery, lane]] of held) {
			if (!lost.has(id)) delivery.leaseUntil = now + settings.leaseMs
			// What was settled meanwhile is no longer held, and that is as it should be.
			else if (lane && !delivery.isSettled) this.#dispatcher.lose(lane, delivery)
		}
	}

	async #sharePlaces(): Promise<void> {
		for (const lane of this.#lanes.byName.values()) {
			if (lane.settings.maxConcurrent === Infinity) continue
			await this.#context.once(() => acquirePermits(this.#context, lane))
			// Others are given what this one may no longer use; what only waits here would keep it from them.
			if (lane.waiting.length > Math.max(0, lane.room(this.#context.runtime.now())))
				this.#dispatcher.release(lane, 'gate')
			this.#onRoom()
		}
	}

	async #report(): Promise<void> {
		const { store, owner, sent, failed, dead, runtime } = this.#context
		const now = runtime.now()
		const { at, sent: before } = this.#counted
		const seconds = (now - at) / 1_000
		this.#counted = { at: now, sent }
		const report = {
			...{ id: owner, host: hostname(), pid: process.pid, sent, failed, dead },
			destinations: [...this.#lanes.byName.keys(), ...(this.#lanes.hasWildcard ? ['*'] : [])],
			inFlight: this.#dispatcher.inFlight,
			throughput: seconds > 0 ? (sent - before) / seconds : 0,
		}
		await this.#context.once(() => store.heartbeat(report, 6 * this.beatMs))
	}
}
