/** What an operator does with queued messages, in batches: makes them due, or ends them. */
import { checkNames, type OptionSchema } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { type BatchStep, reporting, runBatches } from './dead-letters/batches.ts'
import { type BatchOptions, checkSignal } from './dead-letters/options.ts'
import type { MessagesChangedEvent } from './events/outbox-events.ts'
import { type MessageFilter, toSelection } from './message/filter.ts'
import { OPERATOR_SCHEMA, type OperatorOptions, readOperator } from './operator/operator.ts'
import { requireQueued } from './operator/require-status.ts'
import type { OutboxStore, StoreFilter } from './store/store.ts'

type OnChanged = (type: MessagesChangedEvent['type'], count: number) => void

/** Options of `retry` and `expire`. */
export interface SelectionOptions extends OperatorOptions, Pick<BatchOptions, 'onProgress' | 'signal'> {
	/** Required for a filter without conditions, which matches every queued message. Default false. */
	readonly all?: boolean | undefined
}

const SELECTION_SCHEMA: OptionSchema = {
	...OPERATOR_SCHEMA,
	all: 'any',
	onProgress: 'function',
	signal: 'any',
}

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

	async retry(filter: MessageFilter, options: SelectionOptions): Promise<number> {
		checkNames(options, SELECTION_SCHEMA, 'retry')
		checkSignal(options.signal)
		const operator = readOperator(options)
		const selected = toSelection('pending', 'retry', filter, options.all)
		let first: ReadonlySet<string> | undefined
		return this.#change(selected, 'outbox_retried', options, async (batch, limit) => {
			const ids = await this.#store.retryNow(batch, limit, undefined, operator)
			// Relays run concurrently: messages that have failed again already would be retried endlessly.
			if (first !== undefined && ids.some((id) => first?.has(id))) return []
			first ??= new Set(ids)
			return ids
		})
	}

	/**
	 * Makes messages of a destination due that wait for a retry and have at most `maxAttempts` attempts. Ends,
	 * although relays run concurrently, because every attempt brings a message closer to that number.
	 */
	async retryAfterOutage(destination: string, maxAttempts: number): Promise<number> {
		const step: BatchStep = (batch, limit) => this.#store.retryNow(batch, limit, maxAttempts)
		return this.#change({ destination }, 'outbox_retried', {}, step)
	}

	async expire(filter: MessageFilter, options: SelectionOptions): Promise<number> {
		checkNames(options, SELECTION_SCHEMA, 'expire')
		checkSignal(options.signal)
		const operator = readOperator(options)
		const selected = toSelection('pending', 'expire', filter, options.all)
		const expire: BatchStep = (batch, limit) => this.#store.expire(batch, limit, operator)
		return this.#change(selected, 'outbox_expired', options, expire)
	}

	async #change(
		filter: StoreFilter,
		type: keyof typeof ACTIONS,
		options: SelectionOptions,
		step: BatchStep,
	): Promise<number> {
		await requireQueued(this.#store, filter.ids, ACTIONS[type])
		const change = reporting(step, (count) => this.#onChanged(type, count))
		const { done } = await runBatches(this.#runtime, filter, change, options)
		return done
	}
}
