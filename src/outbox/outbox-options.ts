/** What an outbox is made of. */
import {
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import { placed } from '../http/options/option-path.ts'
import { readTopics, type Schemas } from './enqueue/schemas.ts'
import type { OutsideTransaction } from './enqueue/transaction-check.ts'
import type { Topics } from './message/message.ts'
import type { Store } from './store/store.ts'

/** How long messages that were sent are kept. */
export interface HistoryOptions {
	/** From when they were sent, in milliseconds. */
	readonly keepForMs: number
}

/** What an outbox is made of. */
export interface OutboxOptions<T extends Topics = Topics> {
	/** The database: `sqliteStore(...)` or `postgresStore(...)`. */
	readonly store: Store
	/** A schema for each topic: of zod, valibot or whatever else follows Standard Schema. Default: every topic is taken, with every payload that JSON can hold. */
	readonly topics?: T | undefined
	/** The greatest payload that is taken, in bytes of JSON. Default 1,048,576. */
	readonly maxPayloadBytes?: number | undefined
	/** Are messages kept when they were sent? `true` keeps them for good. Default false: they are deleted. */
	readonly history?: HistoryOptions | boolean | undefined
	/** What happens when a message is enqueued outside of a transaction. Default `'warn'`: it is said once. */
	readonly outsideTransaction?: OutsideTransaction | undefined
	/** Time of this process, for ids and for waking relays. Default: the system's. */
	readonly runtime?: Runtime | undefined
	/** Told what should be known. Default: a warning on the console. */
	readonly onWarning?: ((text: string) => void) | undefined
}

/** The options after the check. */
export interface OutboxSettings {
	readonly store: Store
	readonly schemas: Schemas | undefined
	readonly maxPayloadBytes: number
	readonly keepsHistory: boolean
	/** Undefined when history is kept for good, or not at all. */
	readonly historyForMs: number | undefined
	readonly outsideTransaction: OutsideTransaction
	readonly runtime: Runtime
	readonly onWarning: (text: string) => void
}

const RULES: OptionSchema = {
	store: 'any',
	topics: 'any',
	maxPayloadBytes: [1, MAX_NUMBER, 1_048_576],
	history: 'any',
	outsideTransaction: 'any',
	runtime: 'any',
	onWarning: 'function',
}

const MODES: readonly OutsideTransaction[] = ['warn', 'allow', 'reject']

export function readOutboxOptions(options: OutboxOptions): OutboxSettings {
	checkNames(options, RULES)
	const { maxPayloadBytes } = readOptions<{ readonly maxPayloadBytes: number }>(options, RULES)
	const { store, history = false, outsideTransaction = 'warn', runtime = systemRuntime } = options
	if (typeof (store as Partial<Store> | null | undefined)?.insert !== 'function') {
		invalidOption('store', store, 'a store, such as sqliteStore(file) or postgresStore({ client })')
	}
	if (!MODES.includes(outsideTransaction))
		invalidOption('outsideTransaction', outsideTransaction, MODES.join(', '))
	if (typeof (runtime as Partial<Runtime> | null)?.setTimer !== 'function')
		invalidOption('runtime', runtime, 'a Runtime')
	return {
		store,
		schemas: readTopics(options.topics),
		maxPayloadBytes,
		keepsHistory: history !== false,
		historyForMs: readHistory(history),
		outsideTransaction,
		runtime,
		onWarning: options.onWarning ?? ((text) => console.warn(text)),
	}
}

function readHistory(history: unknown): number | undefined {
	if (typeof history === 'boolean') return undefined
	const keepForMs =
		typeof history === 'object' && history !== null ? (history as Partial<HistoryOptions>).keepForMs : 0
	if (typeof keepForMs !== 'number' || !(keepForMs > 0 && keepForMs <= MAX_NUMBER)) {
		invalidOption('history', history, 'true, false or { keepForMs } with a number above 0')
	}
	placed('history.', () => checkNames(history as HistoryOptions, { keepForMs: 'any' }))
	return keepForMs
}
