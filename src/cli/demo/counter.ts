/**
 * Orders that come in, so many a second by the clock: after a pause (a busy disk, a busy machine) it catches up, so that what is shown
 * does not depend on how fine the timers are. Some transactions are rolled back, for a message of those must never arrive.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Shop } from './shop.ts'

const TICK_MS = 25
/** Of how many orders one is rolled back. */
const ROLLED_BACK_EACH = 20

export class Counter {
	committed = 0
	rolledBack = 0
	readonly #shop: Shop
	readonly #runtime: Runtime

	constructor(shop: Shop, runtime: Runtime) {
		this.#shop = shop
		this.#runtime = runtime
	}

	/** Takes orders until it is told to stop. */
	async serve(perSecond: number, signal: AbortSignal): Promise<void> {
		const startedAt = this.#runtime.now()
		while (!signal.aborted) {
			const due = ((this.#runtime.now() - startedAt) / 1000) * perSecond
			while (this.#taken < due && !signal.aborted) await this.#take()
			await pause(this.#runtime, TICK_MS, signal)
		}
	}

	get #taken(): number {
		return this.committed + this.rolledBack
	}

	async #take(): Promise<void> {
		const number = this.#taken + 1
		const isRolledBack = number % ROLLED_BACK_EACH === 0
		const order = { orderId: `order-${number}`, amount: 1 + Math.floor(this.#runtime.random() * 10_000) }
		await this.#shop.write(order, isRolledBack ? 'ROLLBACK' : 'COMMIT')
		if (isRolledBack) this.rolledBack += 1
		else this.committed += 1
	}
}

/** Until the time is over, or the signal says that nobody waits any more. */
export function pause(runtime: Runtime, ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal?.aborted) return resolve()
		const end = () => {
			cancel()
			signal?.removeEventListener('abort', end)
			resolve()
		}
		const cancel = runtime.setTimer(ms, end)
		signal?.addEventListener('abort', end)
	})
}
