/** The options of an outbox: validation and defaults. */
import {
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import { readTopics, type ValidatePayload } from './enqueue/schemas.ts'
import type { Topics } from './message/message.ts'
import type { RedactMessage } from './message/redact.ts'
import type { OutboxStore } from './store/store.ts'
import { DEFAULT_DEDUPE_FOR_MS } from './store/stored-values.ts'

/** Options of `new Outbox`. `store` is required. */
export interface OutboxOptions<T extends Topics = Topics> {
	/** The database: `sqliteOutboxStore(...)` or `postgresOutboxStore(...)`. */
	readonly store: OutboxStore
	/** The outbox's name in events. Default `'outbox'`. */
	readonly name?: string | undefined
	/**
	 * A schema for each topic, of zod, valibot or any other library that follows Standard Schema. Default: any
	 * topic with any JSON payload.
	 */
	readonly topics?: T | undefined
	/** Maximum size of a payload, in bytes of JSON. Default 1,048,576. */
	readonly maxPayloadBytes?: number | undefined
	/**
	 * How long sent messages are kept, in milliseconds, so that `find` returns them and `resend` delivers them
	 * again. `Infinity` keeps them permanently. Default 0: a message is deleted when it is sent.
	 */
	readonly historyForMs?: number | undefined
	/**
	 * How long a `dedupeKey` rejects further messages, from the time when its message is due. A key is never
	 * free while its message is queued or dead. Default 86,400,000: a day.
	 */
	readonly dedupeForMs?: number | undefined
	/**
	 * Whether transactions that enqueue messages of the same destination and key wait for each other until they
	 * end, so that the order of enqueuing is the order of commits. Default true.
	 */
	readonly lockKeys?: boolean | undefined
	/**
	 * How long records of replayed, edited and discarded dead letters and of pauses are kept, in milliseconds.
	 * Default 7,776,000,000 (90 days).
	 */
	readonly auditForMs?: number | undefined
	/**
	 * Replaces what `find`, `list`, `why`, `attempts`, `audit` and the dead letters show of payloads, headers
	 * and error messages, for example `redactFields(['email'])`. Never changes what is stored or sent. Default:
	 * everything is shown.
	 */
	readonly redact?: RedactMessage | undefined
	/** What to do when a message is enqueued outside a transaction. Default `'warn'`: print a warning once. */
	readonly outsideTransaction?: 'warn' | 'allow' | 'reject' | undefined
	/** Clock and timers, for ids and for waking relays. Default: the system's. */
	readonly runtime?: Runtime | undefined
	/** Receives warnings. Default: `console.warn`. */
	readonly onWarning?: ((text: string) => void) | undefined
}

type WithoutDefault = 'topics' | 'redact'

export type OutboxSettings = Pick<OutboxOptions, 'redact'> & {
	readonly [Name in Exclude<keyof OutboxOptions, WithoutDefault>]-?: NonNullable<OutboxOptions[Name]>
} & {
	readonly validatePayload: ValidatePayload | undefined
	readonly keepsHistory: boolean
}

/** The settings whose defaults are in the schema. */
type Defaults = Pick<
	OutboxSettings,
	'maxPayloadBytes' | 'historyForMs' | 'dedupeForMs' | 'auditForMs' | 'outsideTransaction'
>

const DAY_MS = 86_400_000

const SCHEMA: OptionSchema = {
	store: 'any',
	name: 'string',
	topics: 'any',
	maxPayloadBytes: [1, MAX_NUMBER, 1_048_576],
	historyForMs: [0, Infinity, 0],
	dedupeForMs: [1, MAX_NUMBER, DEFAULT_DEDUPE_FOR_MS],
	lockKeys: 'boolean',
	auditForMs: [1, Infinity, 90 * DAY_MS],
	redact: 'function',
	outsideTransaction: ['warn', 'allow', 'reject'],
	runtime: 'any',
	onWarning: 'function',
}

export function readOutboxOptions(options: OutboxOptions): OutboxSettings {
	checkNames(options, SCHEMA, 'Outbox')
	const { topics, ...settings } = readOptions<OutboxOptions & Defaults>(options, SCHEMA)
	const { store, runtime = systemRuntime } = options
	const expected = 'a store, such as sqliteOutboxStore(file) or postgresOutboxStore({ client })'
	if (typeof (store as Partial<OutboxStore> | null | undefined)?.insert !== 'function')
		invalidOption('store', store, expected)
	if (typeof (runtime as Partial<Runtime> | null)?.setTimer !== 'function')
		invalidOption('runtime', runtime, 'a Runtime')
	return {
		...settings,
		name: options.name ?? 'outbox',
		validatePayload: readTopics(topics),
		keepsHistory: settings.historyForMs > 0,
		lockKeys: options.lockKeys ?? true,
		runtime,
		onWarning: options.onWarning ?? ((text) => console.warn(text)),
	}
}
