/**
 * Produces orders at a fixed rate by the clock: after a delay (a busy disk, a busy machine) it catches up, so the demo does not
 * depend on the precision of timers. Some transactions are rolled back; their messages must never arrive.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../outbox/timing/sleep.ts'
import type { Shop } from './shop.ts'

const TICK_MS = 25
/** One of this many orders is rolled back. */
const ROLLBACK_EVERY = 20

export class OrderProducer {
	committed = 0
	rolledBack = 0
	readonly #shop: Shop
	readonly #runtime: Runtime

	constructor(shop: Shop, runtime: Runtime) {
		this.#shop = shop
		this.#runtime = runtime
	}

	/** Writes orders until the signal is aborted. */
	async run(ordersPerSecond: number, signal: AbortSignal): Promise<void> {
		const startedAt = this.#runtime.now()
		while (!signal.aborted) {
			const due = ((this.#runtime.now() - startedAt) / 1000) * ordersPerSecond
			while (this.#written < due && !signal.aborted) await this.#writeOrder()
			await sleep(this.#runtime, TICK_MS, signal)
		}
	}

	get #written(): number {
		return this.committed + this.rolledBack
	}

	async #writeOrder(): Promise<void> {
		const number = this.#written + 1
		const isRolledBack = number % ROLLBACK_EVERY === 0
		const order = { orderId: `order-${number}`, amount: 1 + Math.floor(this.#runtime.random() * 10_000) }
		await this.#shop.write(order, isRolledBack ? 'ROLLBACK' : 'COMMIT')
		if (isRolledBack) this.rolledBack += 1
		else this.committed += 1
	}
}
