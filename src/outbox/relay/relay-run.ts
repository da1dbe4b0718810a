/** A relay from one start to its stop: all parts, made for each other, and how they end. */
import { WakeSignal } from '../notify/wake-signal.ts'
import { withTimeout } from '../timing/sleep.ts'
import { emitSettlement } from './chronicle.ts'
import { Claimer } from './claimer.ts'
import { RelayStoppedError } from './delivery.ts'
import type { DestinationStates } from './destination-discovery.ts'
import { Dispatcher } from './dispatcher.ts'
import { Heartbeat } from './heartbeat.ts'
import { PoisonDetection } from './poison-detection.ts'
import type { RelayContext } from './relay-context.ts'
import { type SettledDelivery, Settler } from './settler.ts'
import { SharedBreaker } from './shared-breaker.ts'

/** What handlers that were aborted may still take. */
const GRACE_MS = 1_000

export class RelayRun {
	readonly lanes: DestinationStates
	readonly dispatcher: Dispatcher
	readonly #context: RelayContext
	readonly #bell: WakeSignal
	readonly #settler: Settler
	readonly #gatekeeper: SharedBreaker
	readonly #claimer: Claimer
	readonly #heartbeat: Heartbeat
	#running: Promise<void> | undefined

	constructor(context: RelayContext, lanes: DestinationStates) {
		this.#context = context
		this.lanes = lanes
		const bell = new WakeSignal(context.runtime)
		const onRoom = () => bell.wake()
		this.#bell = bell
		this.#settler = new Settler(context, (settlements, lost) => this.#written(settlements, lost))
		this.#gatekeeper = new SharedBreaker(context, (lane) => this.dispatcher.release(lane, 'gate'))
		const [settler, gatekeeper] = [this.#settler, this.#gatekeeper]
		const dispatcher = new Dispatcher(context, lanes.byName, settler, gatekeeper, onRoom)
		this.dispatcher = dispatcher
		const isolation = new PoisonDetection(context, lanes, dispatcher, settler, bell)
		this.#claimer = new Claimer({ context, lanes, dispatcher, gatekeeper, settler, isolation, bell })
		this.#heartbeat = new Heartbeat(context, lanes, dispatcher, settler, onRoom)
	}

	async begin(): Promise<void> {
		await this.#heartbeat.start()
		this.#running = this.#claimer.run().catch(() => {
			// Only when the relay gave up on its database, in its stop.
		})
	}

	wake(): void {
		this.#claimer.wake()
	}

	/** Gives back what was not started, waits for what was, writes all of it down. After `timeoutMs` handlers are aborted. */
	async end(timeoutMs: number): Promise<void> {
		const { runtime } = this.#context
		const endsAt = runtime.now() + timeoutMs
		this.#context.isStopping = true
		this.dispatcher.isPaused = true
		this.#claimer.stop()
		const cancel = runtime.setTimer(timeoutMs + 2 * GRACE_MS, () => this.#context.giveUp())
		this.#releaseAll()
		// With nothing to wait for and nothing to write down, a database that is away is no reason to stay.
		if (this.#context.isAway && this.dispatcher.inFlight === 0 && this.#settler.isIdle) this.#context.giveUp()
		await withTimeout(runtime, timeoutMs, this.#running)
		// What the latest claim brought.
		this.#releaseAll()
		await this.#drain(endsAt)
		if (this.dispatcher.inFlight > 0) {
			for (const lane of this.lanes.byName.values())
				for (const delivery of lane.underWay) delivery.abort(new RelayStoppedError())
			await this.#drain(runtime.now() + GRACE_MS)
			for (const lane of this.lanes.byName.values())
				for (const delivery of lane.underWay) this.dispatcher.leave(lane, delivery)
		}
		await this.#settler.written()
		await this.#gatekeeper.written()
		this.#heartbeat.stop()
		cancel()
		this.#context.giveUp()
	}

	#releaseAll(): void {
		for (const lane of this.lanes.byName.values()) this.dispatcher.release(lane, 'stopping')
	}

	async #drain(until: number): Promise<void> {
		const { runtime } = this.#context
		while (this.dispatcher.inFlight > 0 && runtime.now() < until)
			await this.#bell.wait(Math.max(0, until - runtime.now()))
	}

	#written(settlements: readonly SettledDelivery[], lost: ReadonlySet<string>): void {
		let isFreed = false
		for (const settlement of settlements) {
			const { delivery, outcome } = settlement
			emitSettlement(this.#context, settlement, lost.has(outcome.id))
			const lane = this.lanes.byName.get(delivery.row.destination)
			if (outcome.type === 'sent' || outcome.type === 'dead') isFreed = lane?.freed(delivery.row) || isFreed
			// It is due as it was, which lies before what is looked at.
			if (outcome.type === 'release' && outcome.inMs === undefined) lane?.lookout.reset()
		}
		if (isFreed) this.#bell.wake()
	}
}
