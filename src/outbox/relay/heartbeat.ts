/**
 * Renews leases and permits, and reports that the relay is alive. A delivery whose lease could not be renewed in
 * time is aborted, because another relay may be sending the message.
 */
import { hostname } from 'node:os'
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { ClaimedRow } from '../store/rows.ts'
import { claimRef, type Delivery } from './delivery.ts'
import type { DestinationState } from './destination-state.ts'
import type { RelayParts } from './dispatcher.ts'
import type { RelayContext } from './relay-context.ts'

const MAX_INTERVAL_MS = 5_000
/** Relays are forgotten after this time without a heartbeat. All use the same time, whatever their lease. */
const FORGET_AFTER_MS = 6 * MAX_INTERVAL_MS

export class Heartbeat {
	readonly #parts: RelayParts
	readonly #context: RelayContext
	readonly intervalMs: number
	#cancel: CancelTimer | undefined
	#isStopped = false
	#isRunning = false
	#reported = { at: 0, sent: 0 }

	constructor(parts: RelayParts) {
		this.#parts = parts
		this.#context = parts.context
		this.intervalMs = Math.min(MAX_INTERVAL_MS, this.#context.settings.leaseMs / 3)
		this.#reported.at = this.#context.runtime.now()
	}

	async start(): Promise<void> {
		await this.#report()
		await this.#renewPermits()
		this.#schedule(Infinity)
	}

	stop(): void {
		this.#isStopped = true
		this.#cancel?.()
	}

	/** Schedules the next run, at `before` at the latest. */
	#schedule(before: number): void {
		const { runtime } = this.#context
		const ms = Math.min(this.intervalMs, before - runtime.now())
		if (!this.#isStopped) this.#cancel = runtime.setTimer(ms, () => void this.#run())
	}

	async #run(): Promise<void> {
		// The next run is scheduled first: if the database hangs, leases must still expire in time.
		this.#schedule(this.#expireLeases())
		if (this.#isRunning) return
		this.#isRunning = true
		try {
			// Checked before each step: a stopped relay must not register itself again.
			for (const step of [() => this.#renewLeases(), () => this.#renewPermits(), () => this.#report()])
				if (!this.#isStopped) await step()
		} catch {
			// The store is unreachable or was abandoned: the next heartbeat tries again.
		}
		this.#isRunning = false
	}

	/** Aborts deliveries whose leases have ended by this process's clock. Returns when the next lease ends. */
	#expireLeases(): number {
		const now = this.#context.runtime.now()
		let next = Infinity
		for (const state of this.#parts.states.byName.values())
			for (const delivery of [...state.queued, ...state.inFlight])
				if (now >= delivery.leaseUntil) this.#parts.dispatcher.expireLease(state, delivery)
				else next = Math.min(next, delivery.leaseUntil)
		return next
	}

	async #renewLeases(): Promise<void> {
		const { store, owner, settings, runtime } = this.#context
		const now = runtime.now()
		const clockOffset = this.#context.clockOffset()
		const hasSlept = (since: number | undefined) => this.#context.hasSlept(since)
		const renewBefore = now + (settings.leaseMs * 2) / 3
		const due = new Map<string, readonly [Delivery, DestinationState | undefined, ClaimedRow]>()
		for (const state of this.#parts.states.byName.values())
			for (const delivery of state.held())
				if (!delivery.isSettled && (delivery.leaseUntil <= renewBefore || hasSlept(delivery.clockOffset)))
					due.set(delivery.row.id, [delivery, state, delivery.row])
		for (const delivery of this.#parts.settler.unwritten())
			if (delivery.leaseUntil <= renewBefore) due.set(delivery.row.id, [delivery, undefined, delivery.row])
		if (due.size === 0) return
		const refs = [...due.values()].map(([, , row]) => claimRef(row))
		const lost = new Set(await this.#context.callStoreOnce(() => store.renew(owner, settings.leaseMs, refs)))
		for (const [id, [delivery, state, row]] of due) {
			// The delivery continues under a newer claim, which this renewal did not name.
			if (delivery.row !== row) continue
			if (!lost.has(id)) {
				delivery.leaseUntil = now + settings.leaseMs
				delivery.clockOffset = clockOffset
			}
			// A delivery that was settled in the meantime is no longer claimed, as intended.
			else if (state && !delivery.isSettled) this.#parts.dispatcher.loseLease(state, delivery)
		}
	}

	async #renewPermits(): Promise<void> {
		for (const state of this.#parts.states.byName.values()) {
			if (state.settings.maxConcurrentAllRelays === Infinity) continue
			await this.#context.callStoreOnce(() => acquirePermits(this.#context, state))
			// Other relays get the permits that this relay lost. Queued messages would keep them in use.
			if (state.waiting > Math.max(0, state.capacity(this.#context.runtime.now())))
				this.#parts.settler.releaseQueued(state, 'no-permit')
			this.#parts.signal.wake()
		}
	}

	async #report(): Promise<void> {
		const { store, owner, sent, failed, dead, runtime } = this.#context
		const now = runtime.now()
		const seconds = (now - this.#reported.at) / 1_000
		const throughput = seconds > 0 ? (sent - this.#reported.sent) / seconds : 0
		this.#reported = { at: now, sent }
		const { states } = this.#parts
		const ordered = [...states.byName.values()].filter(({ isOrdered }) => isOrdered)
		const report = {
			id: owner,
			host: hostname(),
			pid: process.pid,
			sent,
			failed,
			dead,
			throughput,
			destinations: states.reported,
			orderedDestinations: ordered.map(({ destination }) => destination),
			heartbeatMs: this.intervalMs,
			inFlight: this.#parts.dispatcher.inFlight,
		}
		await this.#context.callStoreOnce(() => store.heartbeat(report, FORGET_AFTER_MS))
	}
}

/** Requests this relay's permits. Until the response it starts nothing beyond what it reported. */
export async function acquirePermits(context: RelayContext, state: DestinationState): Promise<void> {
	const { store, owner, runtime } = context
	const { leaseMs } = context.settings
	const { destination } = state
	const { maxConcurrentAllRelays: total } = state.settings
	const wanted = state.maxInFlight
	const until = runtime.now() + leaseMs
	const inUse = state.freezePermits()
	const permits = await store.acquirePermits({ destination, owner, wanted, inUse, total, leaseMs })
	state.setPermits(permits, until)
}
