/** The demo itself: produces orders, lets the receiver fail, kills a relay, and counts everything. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import { formatCount } from '../../text/format.ts'
import { createLedger, type Kill, type Ledger } from './ledger.ts'
import type { LiveStatus } from './live-status.ts'
import { OUTAGE_PATH, type Receiver, STOCK_PATH } from './receiver.ts'
import { RelayProcess } from './relay-process.ts'
import type { DemoSchedule } from './schedule.ts'
import type { Shop, ShopOrder } from './shop.ts'
import type { StockCalls } from './stock-calls.ts'

export interface DemoParts {
	readonly shop: Shop
	readonly receiver: Receiver
	readonly status: LiveStatus
	readonly stock: StockCalls
	readonly schedule: DemoSchedule
	readonly runtime: Runtime
}

/** One of this many orders is rolled back; its message must never arrive. */
const ROLLBACK_EVERY = 20
const DRAIN_POLL_MS = 50
/** A kill shows duplicates only if the relay is busy; after this time it happens anyway. */
const WAIT_FOR_BUSY_MS = 1000
const BUSY_MESSAGES = 4

export class Demo {
	readonly #parts: DemoParts
	readonly #relays: RelayProcess[] = []
	readonly #kills: Kill[] = []
	/** Rejects if a relay process fails, and never resolves. */
	readonly #failure = Promise.withResolvers<never>()
	#committed = 0
	#rolledBack = 0
	#url = ''
	#isClosed = false
	#phase = 'starting relays'

	constructor(parts: DemoParts) {
		this.#parts = parts
		this.#failure.promise.catch(() => {})
	}

	/** Returns the ledger. `signal` ends the orders early; messages in flight are still delivered. */
	run(signal: AbortSignal): Promise<Ledger> {
		return Promise.race([this.#run(signal), this.#failure.promise])
	}

	async close(): Promise<void> {
		this.#isClosed = true
		await Promise.all(this.#relays.map((relay) => relay.kill()))
	}

	async #run(signal: AbortSignal): Promise<Ledger> {
		const { shop, receiver, status, stock, runtime } = this.#parts
		this.#url = await receiver.start()
		const { href } = new URL(OUTAGE_PATH, this.#url)
		status.print(`Start an outage of the receiver: curl -X PUT ${href}; end it: curl -X DELETE ${href}`)
		const pair = [this.#startRelay(), this.#startRelay()]
		await Promise.all(pair.map(({ ready }) => ready))
		status.print(pair.map(({ name, pid }) => `${name} is process ${pid}`).join(', '))
		status.follow(() => ({ committed: this.#committed, receiver, relays: this.#relays, phase: this.#phase }))
		const end = new AbortController()
		const untilEnd = AbortSignal.any([signal, end.signal])
		const producing = this.#produceOrders(untilEnd)
		const asking = stock.run(new URL(STOCK_PATH, this.#url).href, untilEnd)
		try {
			await Promise.race([producing, this.#runSchedule(untilEnd)])
		} finally {
			end.abort()
		}
		await Promise.all([producing, asking])
		receiver.injectsFaults = false
		this.#phase = 'no more orders; delivering the remaining messages'
		const remaining = await this.#drain()
		await Promise.all(this.#relays.map((relay) => relay.stop(runtime)))
		return createLedger({
			...remaining,
			database: shop.name,
			committed: await shop.orderIds(),
			rolledBack: this.#rolledBack,
			discarded: await this.#discarded(),
			received: receiver.orders,
			faults: receiver.faults,
			kills: this.#kills,
			duplicates: receiver.duplicates,
			duplicatesByKill: receiver.duplicatesByKill,
			relays: this.#relays.map(({ name, pid, counts }) => ({ name, pid, sent: counts.sent })),
		})
	}

	/** Each order has its own time: the rate must not depend on timers or a busy disk. */
	async #produceOrders(signal: AbortSignal): Promise<void> {
		const { shop, schedule, runtime } = this.#parts
		const startedAt = runtime.now()
		for (let number = 1; ; number++) {
			const dueAt = startedAt + (number * 1000) / schedule.ordersPerSecond
			await sleep(runtime, Math.max(0, dueAt - runtime.now()), signal)
			if (signal.aborted) return
			const isRolledBack = number % ROLLBACK_EVERY === 0
			const order = { orderId: `order-${number}`, amount: 1 + Math.floor(runtime.random() * 10_000) }
			await shop.write(order, isRolledBack ? 'ROLLBACK' : 'COMMIT')
			if (isRolledBack) this.#rolledBack += 1
			else this.#committed += 1
		}
	}

	async #runSchedule(signal: AbortSignal): Promise<void> {
		const { receiver, status, schedule, runtime } = this.#parts
		const startedAt = runtime.now()
		const at = async (ms: number, act: () => void | Promise<void>) => {
			await sleep(runtime, Math.max(0, startedAt + ms - runtime.now()), signal)
			if (!signal.aborted) await act()
		}
		const setDown = (isDown: boolean, message: string) => () => {
			receiver.outages[isDown ? 'add' : 'delete']('scheduled')
			status.print(message)
		}
		this.#phase = 'producing orders'
		for (const { atMs, fault } of schedule.failures) await at(atMs, () => receiver.failNext(fault))
		await at(schedule.outage.fromMs, setDown(true, 'the receiver goes down'))
		await at(schedule.outage.toMs, async () => {
			// On a slow machine, an order may take longer than the outage.
			while (receiver.faults.outage === 0 && !signal.aborted) await sleep(runtime, 1, signal)
			setDown(false, 'the receiver is back')()
		})
		await at(schedule.killAtMs, () => this.#killBusiestRelay(signal))
		await at(schedule.produceMs, () => {})
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
		const victim = busiest()
		if (!victim || signal.aborted) return
		await victim.relay.kill()
		this.#replace(victim.relay, victim.unanswered)
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
			if (error) this.#failure.reject(error)
			else this.#replace(exited, receiver.countUnanswered(exited.name))
		})
		this.#relays.push(relay)
		return relay
	}

	/** Also undoes what a user may have done on the dashboard: paused messages would never be delivered. */
	async #drain(): Promise<{ readonly left: number; readonly dead: number }> {
		const { shop, status, schedule, runtime } = this.#parts
		await shop.outbox.resume('orders', { reason: 'the demo ends' })
		const until = runtime.now() + schedule.drainTimeoutMs
		for (;;) {
			const { due, scheduled, inFlight, dead } = (await shop.outbox.stats()).totals
			const left = due.count + scheduled.count + inFlight.count
			if (left + dead.count === 0 || runtime.now() > until) return { left, dead: dead.count }
			if (dead.count > 0) {
				const { replayed } = await shop.outbox.dead.replay({}, { all: true, reason: 'the demo ends' })
				status.print(`${formatCount(replayed, 'dead letter')} replayed: the receiver accepts every order now`)
			}
			await sleep(runtime, DRAIN_POLL_MS, undefined)
		}
	}

	/** Returns the orders that a user has discarded on the dashboard. */
	async #discarded(): Promise<readonly string[]> {
		const records = await this.#parts.shop.outbox.audit({ action: 'discard' }, { limit: 1000 })
		return records.map(({ payload }) => (payload as ShopOrder).orderId)
	}
}
