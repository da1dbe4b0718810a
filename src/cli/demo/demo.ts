/** The demo itself: orders are produced, the receiver fails by the schedule, a relay is killed, and everything is counted. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../outbox/timing/sleep.ts'
import { formatCount } from '../../text/format.ts'
import { createLedger, type Kill, type Ledger } from './ledger.ts'
import type { DemoStatus, LiveStatus } from './live-status.ts'
import { OrderProducer } from './order-producer.ts'
import type { Receiver } from './receiver.ts'
import { RelayProcess } from './relay-process.ts'
import type { DemoSchedule } from './schedule.ts'
import type { Shop } from './shop.ts'

export interface DemoParts {
	readonly shop: Shop
	readonly receiver: Receiver
	readonly status: LiveStatus
	readonly schedule: DemoSchedule
	readonly runtime: Runtime
}

interface ScheduledAction {
	readonly atMs: number
	run(signal: AbortSignal): void | Promise<void>
}

const DRAIN_POLL_MS = 50
/** A kill shows duplicates only if the relay is busy; after this time it happens anyway. */
const WAIT_FOR_BUSY_MS = 1000
const BUSY_MESSAGES = 4

export class Demo {
	readonly #parts: DemoParts
	readonly #producer: OrderProducer
	readonly #relays: RelayProcess[] = []
	readonly #kills: Kill[] = []
	/** Rejects if a relay process fails, and never resolves. */
	readonly #failure: Promise<never>
	#fail: (error: unknown) => void = () => {}
	#url = ''
	#isClosed = false
	#phase = 'starting relays'

	constructor(parts: DemoParts) {
		this.#parts = parts
		this.#producer = new OrderProducer(parts.shop, parts.runtime)
		this.#failure = new Promise((_, reject) => {
			this.#fail = reject
		})
		this.#failure.catch(() => {})
	}

	/** Runs the demo and returns its ledger. `signal` ends the orders early; messages in flight are still delivered. */
	run(signal: AbortSignal): Promise<Ledger> {
		return Promise.race([this.#run(signal), this.#failure])
	}

	/** Kills all relay processes that still run. */
	async close(): Promise<void> {
		this.#isClosed = true
		await Promise.all(this.#relays.map((relay) => relay.kill()))
	}

	async #run(signal: AbortSignal): Promise<Ledger> {
		const { receiver, status, schedule, runtime } = this.#parts
		this.#url = await receiver.start()
		const pair = [this.#startRelay(), this.#startRelay()]
		await Promise.all(pair.map(({ ready }) => ready))
		status.print(pair.map(({ name, pid }) => `${name} is process ${pid}`).join(', '))
		status.follow(() => this.#status())
		const stopOrders = new AbortController()
		const stop = () => stopOrders.abort()
		signal.addEventListener('abort', stop)
		if (signal.aborted) stop()
		try {
			const producing = this.#producer.run(schedule.ordersPerSecond, stopOrders.signal)
			await Promise.race([producing, this.#runSchedule(stopOrders.signal)])
			stop()
			await producing
		} finally {
			stop()
			signal.removeEventListener('abort', stop)
		}
		receiver.isDown = false
		receiver.injectsFaults = false
		this.#phase = 'no more orders; delivering the remaining messages'
		const { left, dead } = await this.#drain()
		await Promise.all(this.#relays.map((relay) => relay.stop(runtime)))
		return this.#ledger(left, dead)
	}

	async #runSchedule(signal: AbortSignal): Promise<void> {
		const { runtime } = this.#parts
		const startedAt = runtime.now()
		this.#phase = 'producing orders'
		for (const { atMs, run } of this.#scheduledActions()) {
			await sleep(runtime, Math.max(0, atMs - (runtime.now() - startedAt)), signal)
			if (signal.aborted) return
			await run(signal)
		}
	}

	#scheduledActions(): readonly ScheduledAction[] {
		const { receiver, status, schedule } = this.#parts
		const { failures, outage, killAtMs, produceMs } = schedule
		const setDown = (isDown: boolean, message: string) => () => {
			receiver.isDown = isDown
			status.print(message)
		}
		const actions: ScheduledAction[] = [
			...failures.map(({ atMs, fault }) => ({ atMs, run: () => receiver.failNext(fault) })),
			{ atMs: outage.fromMs, run: setDown(true, 'the receiver goes down') },
			{ atMs: outage.toMs, run: setDown(false, 'the receiver is back') },
			{ atMs: killAtMs, run: (signal) => this.#killBusiestRelay(signal) },
			{ atMs: produceMs, run: () => {} },
		]
		return actions.sort((one, other) => one.atMs - other.atMs)
	}

	async #killBusiestRelay(signal: AbortSignal): Promise<void> {
		const { receiver, runtime } = this.#parts
		const until = runtime.now() + WAIT_FOR_BUSY_MS
		const busiest = () =>
			this.#relays
				.filter(({ state }) => state === 'running')
				.map((relay) => ({ relay, unanswered: receiver.countUnanswered(relay.name) }))
				.sort((one, other) => other.unanswered - one.unanswered)[0]
		while ((busiest()?.unanswered ?? 0) < BUSY_MESSAGES && runtime.now() < until && !signal.aborted)
			await sleep(runtime, 1, signal)
		const victim = busiest()?.relay
		if (!victim || signal.aborted) return
		const unanswered = receiver.countUnanswered(victim.name)
		await victim.kill()
		this.#replace(victim, unanswered)
	}

	#replace({ name, pid }: RelayProcess, unanswered: number): void {
		const { receiver, status } = this.#parts
		if (this.#isClosed) return
		receiver.markKilled(name)
		this.#kills.push({ relay: name, unanswered })
		const replacement = this.#startRelay()
		status.print(
			`${name} (process ${pid}) was killed with SIGKILL during ${formatCount(unanswered, 'request')}; ${replacement.name} replaces it`,
		)
	}

	/** Starts a relay process. If a user kills it by hand, it is replaced too. */
	#startRelay(): RelayProcess {
		const { shop, schedule, receiver } = this.#parts
		const name = `relay-${this.#relays.length + 1}`
		const input = { type: 'start', name, database: shop.database, to: this.#url, schedule } as const
		const relay = new RelayProcess(input, (exited, error) => {
			if (error) this.#fail(error)
			else this.#replace(exited, receiver.countUnanswered(exited.name))
		})
		this.#relays.push(relay)
		return relay
	}

	/** Waits until the queue is empty or the timeout passes. */
	async #drain(): Promise<{ readonly left: number; readonly dead: number }> {
		const { shop, schedule, runtime } = this.#parts
		const until = runtime.now() + schedule.drainTimeoutMs
		for (;;) {
			const { due, scheduled, inFlight, dead } = (await shop.outbox.stats()).totals
			const left = due.count + scheduled.count + inFlight.count
			if (left === 0 || runtime.now() > until) return { left, dead: dead.count }
			await sleep(runtime, DRAIN_POLL_MS, undefined)
		}
	}

	async #ledger(left: number, dead: number): Promise<Ledger> {
		const { shop, receiver } = this.#parts
		return createLedger({
			...{ database: shop.name, committed: await shop.orderIds(), rolledBack: this.#producer.rolledBack },
			...{ received: receiver.orders, faults: receiver.faults, left, dead, kills: this.#kills },
			relays: this.#relays.map(({ name, pid, counts }) => ({ name, pid, sent: counts.sent })),
			...{ duplicates: receiver.duplicates, duplicatesByKill: receiver.duplicatesByKill },
		})
	}

	#status(): DemoStatus {
		const { committed } = this.#producer
		return { committed, receiver: this.#parts.receiver, relays: this.#relays, phase: this.#phase }
	}
}
