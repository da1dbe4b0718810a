/**
 * Writes down what became of messages, in batches. While one batch is on its way the next gathers, so that a quiet relay writes at once
 * and a busy one by the thousand, without a setting for it.
 */

import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { Settlement } from '../store/rows.ts'
import { nextTick } from '../timing/yield.ts'
import type { Delivery } from './delivery.ts'
import type { RelayContext } from './relay-context.ts'

/** A message, and what became of it. */
export interface SettledDelivery {
	readonly delivery: Delivery
	readonly outcome: Settlement
	readonly durationMs: number
}

/** Told what was written, and the ids of those that were no longer ours. */
export type Written = (settlements: readonly SettledDelivery[], lost: ReadonlySet<string>) => void

const NOTHING_LOST: ReadonlySet<string> = new Set()

export class Settler {
	readonly #context: RelayContext
	readonly #onWritten: Written
	#waiting: SettledDelivery[] = []
	#onItsWay: readonly SettledDelivery[] = []
	#disarm: CancelTimer | undefined
	#flushing: Promise<void> | undefined

	constructor(context: RelayContext, onWritten: Written) {
		this.#context = context
		this.#onWritten = onWritten
	}

	add(delivery: Delivery, outcome: Settlement, durationMs: number): void {
		this.#waiting.push({ delivery, outcome, durationMs })
		if (this.#flushing === undefined) this.#arm()
	}

	/** Begins to write now. Whoever asks the store for something else at this moment shares the way with it. */
	flush(): void {
		// One that is left over would write the next ones alone, just before they go with a claim.
		this.#disarm?.()
		this.#disarm = undefined
		if (this.#flushing !== undefined || this.#waiting.length === 0) return
		this.#flushing = this.#write()
			.catch(() => {
				// The relay gave up on its database: leases end by themselves.
			})
			.then(() => {
				this.#flushing = undefined
				if (this.#waiting.length >= this.#context.settings.batchSize) this.flush()
				else if (this.#waiting.length > 0) this.#arm()
			})
	}

	/** Everything that was settled is written when it resolves, or given up. */
	async written(): Promise<void> {
		this.flush()
		while (this.#flushing !== undefined) {
			await this.#flushing
			this.flush()
		}
	}

	get isIdle(): boolean {
		return this.#flushing === undefined && this.#waiting.length === 0
	}

	/** What is decided and not yet written: still ours. */
	*held(): Generator<Delivery> {
		for (const { delivery } of this.#onItsWay) yield delivery
		for (const { delivery } of this.#waiting) yield delivery
	}

	/** Not at once: the others of the same turn are to go with it. SQLite answers within the turn, and would write them one by one. */
	#arm(): void {
		this.#disarm ??= nextTick(this.#context.runtime, () => this.flush())
	}

	async #write(): Promise<void> {
		const { store, owner, keepsHistory, settings } = this.#context
		const batch = this.#waiting.splice(0, 2 * settings.batchSize)
		this.#onItsWay = batch
		const outcomes = batch.map(({ outcome }) => outcome)
		try {
			let isRepeated = false
			const lost = await this.#context.ask('settle', (failures) => {
				isRepeated = failures > 0
				return store.settle(owner, outcomes, keepsHistory)
			})
			// Written the first time, perhaps, and only the answer was lost: what is gone then is done.
			this.#onWritten(batch, lost.length === 0 || isRepeated ? NOTHING_LOST : new Set(lost))
		} finally {
			this.#onItsWay = []
		}
	}
}
