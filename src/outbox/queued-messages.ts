/**
 * What an operator does with queued messages: make them due, or end them. In batches, because one transaction with a million rows
 * would lock and log all of them.
 */
import { checkNames } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { type BatchStep, runBatches } from './dead-letters/batches.ts'
import type { MessagesChangedEvent } from './events/outbox-events.ts'
import { type MessageFilter, toFilterOf } from './message/filter.ts'
import { OPERATOR_SCHEMA, type OperatorOptions, readOperator } from './operator/operator.ts'
import { requireQueued } from './operator/require-status.ts'
import type { OutboxStore } from './store/store.ts'

type OnChanged = (type: MessagesChangedEvent['type'], count: number) => void

const ACTIONS = { outbox_retried: 'retried', outbox_expired: 'expired' } as const

export class QueuedMessages {
	readonly #store: OutboxStore
	readonly #runtime: Runtime
	readonly #onChanged: OnChanged

	/** `onChanged` is called after each batch, to wake relays. */
	constructor(store: OutboxStore, runtime: Runtime, onChanged: OnChanged) {
		this.#store = store
		this.#runtime = runtime
		this.#onChanged = onChanged
	}

	async retry(filter: MessageFilter): Promise<number> {
		let first: ReadonlySet<string> | undefined
		return this.#change(filter, 'outbox_retried', async (batch, limit) => {
			const ids = await this.#store.retryNow(batch, limit)
			// Relays run concurrently: messages that have failed again already would be retried endlessly.
			if (first !== undefined && ids.some((id) => first?.has(id))) return []
			first ??= new Set(ids)
			return ids
		})
	}

	async expire(filter: MessageFilter, options: OperatorOptions): Promise<number> {
		checkNames(options, OPERATOR_SCHEMA, 'expire')
		const operator = readOperator(options)
		return this.#change(filter, 'outbox_expired', (batch, limit) =>
			this.#store.expire(batch, limit, operator),
		)
	}

	async #change(given: MessageFilter, type: keyof typeof ACTIONS, step: BatchStep): Promise<number> {
		const filter = toFilterOf('pending', given)
		await requireQueued(this.#store, filter.ids, ACTIONS[type])
		const change: BatchStep = async (batch, limit) => {
			const ids = await step(batch, limit)
			if (ids.length > 0) this.#onChanged(type, ids.length)
			return ids
		}
		const { done } = await runBatches(this.#runtime, filter, change, {})
		return done
	}
}
