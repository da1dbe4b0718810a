/** Operations on dead letters, in batches. A store moves each message in one transaction. */
import {
	checkNames,
	checkRange,
	invalidArgument,
	invalidOption,
	type OptionSchema,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { invalidField } from '../message/errors.ts'
import { isMessageId, type MessageFilter, PAGE_SIZE, toFilterOf, toSelection } from '../message/filter.ts'
import type { MessageRecord } from '../message/message.ts'
import { toRecord } from '../message/record.ts'
import { REDACTED, type ShownStore } from '../message/redact.ts'
import { OPERATOR_SCHEMA, type OperatorOptions, readOperator } from '../operator/operator.ts'
import { DeadLetterNotFoundError, requireDeadLetters } from '../operator/require-status.ts'
import type { OutboxStore, StoreFilter } from '../store/store.ts'
import type { CappedCount } from '../store/store-stats.ts'
import { type BatchStep, deadByNow, reporting, runBatches } from './batches.ts'
import { ABORTED, replayCanary, SUCCEEDED } from './canary.ts'
import { type PayloadRules, toEdit } from './changes.ts'
import {
	type BatchOptions,
	checkSignal,
	type DeadLetterChanges,
	type DeadLetterGroup,
	type DiscardReport,
	type LimitOptions,
	type PageOptions,
	type ReplayOptions,
	type ReplayReport,
	readLimit,
	readPage,
} from './options.ts'

export interface DeadLettersParts extends PayloadRules {
	readonly store: OutboxStore
	/** The store with redacted messages. Default: the store. */
	readonly shown?: ShownStore | undefined
	readonly runtime: Runtime
	/** True if discarded messages are kept as history. */
	readonly keepsHistory: boolean
	/** Called after each batch with the number of changed messages. */
	readonly onChanged: (type: 'outbox_replayed' | 'outbox_discarded', count: number) => void
}

const COUNT_LIMIT = 10_000
const CANARY_TIMEOUT_MS = 60_000

const BATCH_SCHEMA: OptionSchema = { ...OPERATOR_SCHEMA, all: 'any', onProgress: 'function', signal: 'any' }
const REPLAY_SCHEMA: OptionSchema = { ...BATCH_SCHEMA, canary: 'any', timeoutMs: 'any' }

/**
 * The dead letters of an outbox.
 *
 * @example
 * const [worst] = await outbox.dead.groups()
 * if (worst) await outbox.dead.replay({ fingerprint: worst.fingerprint }, { canary: true })
 */
export class DeadLetters {
	readonly #parts: DeadLettersParts

	/** @internal */
	constructor(parts: DeadLettersParts) {
		this.#parts = parts
	}

	get #shown(): ShownStore {
		return this.#parts.shown ?? this.#parts.store
	}

	/** Returns a page of matching dead letters, oldest first. */
	async list(filter: MessageFilter = {}, options: PageOptions = {}): Promise<readonly MessageRecord[]> {
		const { limit, after } = readPage(options)
		const selected = toDeadFilter(filter)
		if (selected.ids?.length === 0) return []
		const messages = await this.#shown.list({ ...selected, status: 'dead' }, limit, after)
		return messages.map(toRecord)
	}

	/** Iterates over all matching dead letters, oldest first, and reads them page by page. */
	async *each(filter: MessageFilter = {}): AsyncGenerator<MessageRecord, void, undefined> {
		let after: string | undefined
		do {
			const page = await this.list(filter, { limit: PAGE_SIZE, after })
			yield* page
			after = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined
		} while (after !== undefined)
	}

	/**
	 * Groups dead letters by kind of failure, cause and destination, largest groups first. Returns at most
	 * `limit` (default 100).
	 */
	async groups(filter: MessageFilter = {}, options: LimitOptions = {}): Promise<readonly DeadLetterGroup[]> {
		const limit = readLimit(options, PAGE_SIZE)
		const selected = toDeadFilter(filter)
		if (selected.ids?.length === 0) return []
		const groups = await this.#shown.deadGroups(selected, limit)
		return groups.map(({ errorType, errorMessage, firstAt, lastAt, ...group }) => ({
			...group,
			errorType: errorType ?? undefined,
			errorMessage: errorMessage ?? undefined,
			firstAt: new Date(firstAt),
			lastAt: new Date(lastAt),
		}))
	}

	/** Counts matching dead letters, up to `limit` (default 10,000). */
	async count(filter: MessageFilter = {}, options: LimitOptions = {}): Promise<CappedCount> {
		const limit = readLimit(options, COUNT_LIMIT)
		const selected = toDeadFilter(filter)
		if (selected.ids?.length === 0) return { count: 0, isCapped: false }
		return this.#parts.store.countDead(selected, limit)
	}

	/**
	 * Returns matching dead letters to the queue, oldest first: due now, with no attempts counted. Messages
	 * that fail again in the meantime are not replayed a second time. Without conditions it requires
	 * `{ all: true }`. Throws a `DeadLetterNotFoundError` if one of `ids` is no dead letter.
	 */
	async replay(filter: MessageFilter, options: ReplayOptions = {}): Promise<ReplayReport> {
		checkNames(options, REPLAY_SCHEMA, 'replay')
		checkSignal(options.signal)
		const { canary, timeoutMs = CANARY_TIMEOUT_MS, all } = options
		checkRange('timeoutMs', timeoutMs)
		if (canary !== undefined && typeof canary !== 'boolean') invalidOption('canary', canary, 'a boolean')
		const operator = readOperator(options)
		const { store, runtime } = this.#parts
		const chosen = toSelection('dead', 'replay', filter, all)
		await requireDeadLetters(store, chosen.ids, 'replayed')
		const selected = await deadByNow(store, chosen)
		const replay = this.#reporting('outbox_replayed', (batch, limit) => store.replay(batch, limit, operator))
		const first =
			canary && selected.ids?.length !== 0
				? await replayCanary({ store, runtime, timeoutMs, options, replay }, selected)
				: undefined
		if (first?.stoppedBy) return { ...first, stopped: true }
		const { done, isAborted } = await runBatches(runtime, selected, replay, options, first?.replayed)
		return { ...(isAborted ? ABORTED : SUCCEEDED), replayed: done, stopped: isAborted }
	}

	/**
	 * Changes a dead letter and replays it, in one transaction. Throws a `DeadLetterNotFoundError` if the
	 * message is no dead letter.
	 */
	async edit(id: string, changes: DeadLetterChanges, options: OperatorOptions = {}): Promise<void> {
		if (!isMessageId(id)) invalidArgument('id', id, 'a message id, which is a UUID')
		const messageId = id.toLowerCase()
		checkNames(options, OPERATOR_SCHEMA, 'edit')
		const operator = readOperator(options)
		const { store } = this.#parts
		const found = await store.find(messageId)
		// Invalid changes are rejected even if there is no such dead letter.
		const edit = await toEdit(found ?? { id: messageId }, changes, this.#parts)
		await requireDeadLetters(store, [messageId], 'edited')
		if (found?.cause === 'expired' && changes.expiresAt === undefined && found.expiresAt !== null) {
			const expected = 'a later time, or null for no expiry (otherwise it would expire again)'
			invalidField(found, 'expiresAt', new Date(found.expiresAt), expected)
		}
		// A payload that was read with redaction, changed and written back would destroy the original.
		const marker = JSON.stringify(REDACTED)
		if (edit.payload?.includes(marker) && found && !found.payload.includes(marker))
			invalidArgument('changes.payload', REDACTED, 'the original values instead of redacted ones')
		const [replayed] = await store.replay({ ids: [messageId] }, 1, operator, edit)
		if (replayed !== undefined) return this.#parts.onChanged('outbox_replayed', 1)
		// Another operator changed it since the check.
		const status = (await store.find(messageId))?.status ?? 'unknown'
		throw new DeadLetterNotFoundError([{ id: messageId, status }], 'edited')
	}

	/**
	 * Permanently deletes matching dead letters; with history they are kept there. Without conditions it
	 * requires `{ all: true }`. Throws a `DeadLetterNotFoundError` if one of `ids` is no dead letter.
	 */
	async discard(filter: MessageFilter, options: BatchOptions = {}): Promise<DiscardReport> {
		checkNames(options, BATCH_SCHEMA, 'discard')
		checkSignal(options.signal)
		const operator = readOperator(options)
		const { store, runtime, keepsHistory } = this.#parts
		const chosen = toSelection('dead', 'discard', filter, options.all)
		await requireDeadLetters(store, chosen.ids, 'discarded')
		const selected = await deadByNow(store, chosen)
		const discard = this.#reporting('outbox_discarded', (batch, limit) =>
			store.discard(batch, limit, operator, keepsHistory),
		)
		const { done, isAborted } = await runBatches(runtime, selected, discard, options)
		return { discarded: done, stopped: isAborted }
	}

	#reporting(type: 'outbox_replayed' | 'outbox_discarded', step: BatchStep): BatchStep {
		return reporting(step, (count) => this.#parts.onChanged(type, count))
	}
}

const toDeadFilter = (filter: MessageFilter): StoreFilter => toFilterOf('dead', filter)
