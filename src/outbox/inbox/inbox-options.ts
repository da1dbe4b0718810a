/** The options of an inbox: validation and defaults. */
import { presets } from '../../core/backoff/presets.ts'
import {
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import { RETRY_AFTER_JITTER } from '../../core/retry/decision.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { isStorable } from '../enqueue/fields.ts'
import { DEFAULT_MAX_RETRY_AFTER_MS, DEFAULT_TIMEOUT_MS } from '../relay/defaults.ts'
import type { InboxListener } from './events.ts'
import type { InboxStore } from './store/store.ts'

/** Options of `new Inbox`. `store` is required. */
export interface InboxOptions {
	/** The database of your own tables: `postgresInboxStore(...)` or `sqliteInboxStore(...)`. */
	readonly store: InboxStore
	/**
	 * The inbox's name in events and in the database. Ids of messages are unique within one name, so use one
	 * inbox per sender if senders number their messages. Default `'inbox'`.
	 */
	readonly name?: string | undefined
	/**
	 * How long a processed message is remembered, in milliseconds; `Infinity`: permanently. At least
	 * `senderRetriesForMs`. Default 2,592,000,000 (30 days).
	 */
	readonly retentionMs?: number | undefined
	/**
	 * How long the sender may repeat a message, in milliseconds. Default 45,330,000 (about 13 hours): the preset
	 * `messageQueue` of a relay, if every response asks for the longest Retry-After.
	 */
	readonly senderRetriesForMs?: number | undefined
	/**
	 * How often this process deletes marks whose retention is over, about, in milliseconds; 0: never. Default
	 * 3,600,000 (an hour).
	 */
	readonly purgeEveryMs?: number | undefined
	/**
	 * What a delivery does while an earlier one of the same message is in flight. `'wait'`: until the transaction
	 * of the earlier one ends. `'reject'`: it rejects with an `InboxConflictError`. Default `'wait'`.
	 */
	readonly onConflict?: 'wait' | 'reject' | undefined
	/** Clock, timers and randomness. Default: the system's. */
	readonly runtime?: Runtime | undefined
	/** Receives every event. */
	readonly onEvent?: InboxListener | undefined
}

export type InboxSettings = Pick<InboxOptions, 'onEvent'> & {
	readonly [Name in Exclude<keyof InboxOptions, 'onEvent'>]-?: NonNullable<InboxOptions[Name]>
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Every retry waits for the longest Retry-After with its jitter, and every attempt takes until its timeout. */
const { maxRetries } = presets.messageQueue
const DEFAULT_SENDER_RETRIES_MS =
	maxRetries * DEFAULT_MAX_RETRY_AFTER_MS * (1 + RETRY_AFTER_JITTER) + (maxRetries + 1) * DEFAULT_TIMEOUT_MS

const SCHEMA: OptionSchema = {
	store: 'any',
	name: 'string',
	retentionMs: [1, Infinity, 30 * DAY_MS],
	senderRetriesForMs: [0, Infinity, DEFAULT_SENDER_RETRIES_MS],
	purgeEveryMs: [0, MAX_NUMBER, HOUR_MS],
	onConflict: ['wait', 'reject'],
	runtime: 'any',
	onEvent: 'function',
}

type Defaults = Pick<InboxSettings, 'retentionMs' | 'senderRetriesForMs' | 'purgeEveryMs' | 'onConflict'>

/** The name is part of an index row. */
const NAME_BYTES = 255

export function readInboxOptions(options: InboxOptions): InboxSettings {
	checkNames(options, SCHEMA, 'Inbox')
	const settings = readOptions<InboxOptions & Defaults>(options, SCHEMA)
	const { store, name = 'inbox', runtime = systemRuntime, retentionMs, senderRetriesForMs } = settings
	if (typeof (store as Partial<InboxStore> | null | undefined)?.unmark !== 'function')
		invalidOption('store', store, 'a store, such as sqliteInboxStore(file) or postgresInboxStore({ client })')
	if (typeof (runtime as Partial<Runtime> | null)?.setTimer !== 'function')
		invalidOption('runtime', runtime, 'a Runtime')
	if (name === '' || !isStorable(name) || Buffer.byteLength(name) > NAME_BYTES)
		invalidOption('name', name, `a non-empty string of at most ${NAME_BYTES} bytes, without NUL characters`)
	if (retentionMs < senderRetriesForMs) {
		const from = options.senderRetriesForMs === undefined ? ', its default' : ''
		const expected = `at least senderRetriesForMs (${senderRetriesForMs}${from}), because a message that the sender repeats after its mark was deleted is processed again`
		invalidOption('retentionMs', retentionMs, expected)
	}
	return { ...settings, name, runtime }
}
