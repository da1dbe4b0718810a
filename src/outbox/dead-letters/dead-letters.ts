/**
 * Messages that could not be sent, and what people do about them: look, mend, replay, discard. Nothing here deletes before its copy is safe: a store
 * moves a letter in one transaction. What is done to many is done in batches.
 */
import { checkNames, checkRange, invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Schemas } from '../enqueue/schemas.ts'
import { invalidField } from '../message/errors.ts'
import { isMessageId, type MessageFilter } from '../message/filter.ts'
import type { MessageRecord } from '../message/message.ts'
import { toRecord } from '../message/record.ts'
import type { CappedCount, Store } from '../store/store.ts'
import { type BatchStep, byBatches, deadByNow } from './batches.ts'
import { ABORTED, replayCanary, WENT_WELL } from './canary.ts'
import { toEdit } from './changes.ts'
import type {
	BatchOptions,
	DeadLetterChanges,
	DeadLetterGroup,
	DiscardReport,
	LimitOptions,
	PageOptions,
	ReplayOptions,
	ReplayReport,
} from './options.ts'
import { selectDead, selectOnPurpose } from './selection.ts'

/** What dead letters need of the outbox that they belong to. */
export interface DeadLettersParts {
	readonly store: Store
	readonly runtime: Runtime
	/** Do discarded messages go into the history? */
	readonly keepsHistory: boolean
	readonly maxPayloadBytes: number
	/** The schemas of topics, if there are any. */
	readonly schemas?: Schemas | undefined
	/** Tells relays that there may be something to do. */
	readonly wake: () => void
}

const PAGE = 100
const COUNT_LIMIT = 10_000
const CANARY_TIMEOUT_MS = 60_000

const PAGE_RULES: OptionSchema = { limit: 'any', after: 'any' }
const LIMIT_RULES: OptionSchema = { limit: 'any' }
const BATCH_RULES: OptionSchema = { all: 'any', onProgress: 'function', signal: 'any' }
const REPLAY_RULES: OptionSchema = { ...BATCH_RULES, canary: 'any', timeoutMs: 'any' }

/**
 * The dead letters of an outbox.
 *
 * @example
 * const [worst] = await outbox.dead.groups()
 * await outbox.dead.replay({ fingerprint: worst.fingerprint }, { canary: true })
 */
export class DeadLetters {
	readonly #parts: DeadLettersParts

	constructor(parts: DeadLettersParts) {
		this.#parts = parts
	}

	/** Those that match, oldest first, a page of them. */
	async list(filter: MessageFilter = {}, options: PageOptions = {}): Promise<readonly MessageRecord[]> {
		checkNames(options, PAGE_RULES)
		const { limit = PAGE, after } = options
		checkLimit(limit)
		if (after !== undefined && !isMessageId(after)) invalidOption('after', after, 'the id of a message')
		const selected = selectDead(filter)
		if (selected.ids?.length === 0) return []
		const letters = await this.#parts.store.list({ ...selected, status: 'dead' }, limit, after?.toLowerCase())
		return letters.map(toRecord)
	}

	/** All that match, oldest first, read page by page as they are asked for. */
	async *each(filter: MessageFilter = {}): AsyncGenerator<MessageRecord, void, undefined> {
		let after: string | undefined
		do {
			const page = await this.list(filter, { limit: PAGE, after })
			yield* page
			after = page.length === PAGE ? page.at(-1)?.id : undefined
		} while (after !== undefined)
	}

	/** By what they died of: kind of failure, cause and destination, the greatest groups first. At most 100, or `limit`. */
	async groups(filter: MessageFilter = {}, options: LimitOptions = {}): Promise<readonly DeadLetterGroup[]> {
		checkNames(options, LIMIT_RULES)
		const { limit = PAGE } = options
		checkLimit(limit)
		const selected = selectDead(filter)
		if (selected.ids?.length === 0) return []
		const groups = await this.#parts.store.deadGroups(selected, limit)
		return groups.map(({ errorType, errorMessage, firstAt, lastAt, ...group }) => ({
			...group,
			errorType: errorType ?? undefined,
			errorMessage: errorMessage ?? undefined,
			firstAt: new Date(firstAt),
			lastAt: new Date(lastAt),
		}))
	}

	/** How many match. Counting ends at 10,000, or `limit`. */
	async count(filter: MessageFilter = {}, options: LimitOptions = {}): Promise<CappedCount> {
		checkNames(options, LIMIT_RULES)
		const { limit = COUNT_LIMIT } = options
		checkLimit(limit)
		const selected = selectDead(filter)
		if (selected.ids?.length === 0) return { count: 0, isCapped: false }
		return this.#parts.store.countDead(selected, limit)
	}

	/**
	 * Puts those that match back into the queue, oldest first: due now, with all their attempts before them. What dies again meanwhile is not taken a
	 * second time. Every dead letter only with `{ all: true }`.
	 */
	async replay(filter: MessageFilter, options: ReplayOptions = {}): Promise<ReplayReport> {
		checkNames(options, REPLAY_RULES)
		checkSignal(options.signal)
		const { canary, timeoutMs = CANARY_TIMEOUT_MS, all } = options
		checkRange('timeoutMs', timeoutMs)
		if (canary !== undefined && typeof canary !== 'boolean') invalidOption('canary', canary, 'true or false')
		const { store, runtime } = this.#parts
		const selected = await deadByNow(store, selectOnPurpose('replay', filter, all))
		const replay: BatchStep = this.#thenWake((chosen, limit) => store.replay(chosen, limit))
		const first =
			canary && selected.ids?.length !== 0
				? await replayCanary({ store, runtime, timeoutMs, options, replay }, selected)
				: undefined
		if (first?.stoppedBy) return { ...first, stopped: true }
		const { done, isAborted } = await byBatches(runtime, selected, replay, options, first?.replayed)
		return { ...(isAborted ? ABORTED : WENT_WELL), replayed: done, stopped: isAborted }
	}

	/** Changes a dead letter and puts it back into the queue, both or neither. False when there is no dead letter with this id. */
	async edit(id: string, changes: DeadLetterChanges): Promise<boolean> {
		if (!isMessageId(id)) invalidOption('id', id, 'the id of a message, which is a UUID')
		const { store, maxPayloadBytes, schemas } = this.#parts
		const found = await store.find(id.toLowerCase())
		// What is not there, or is no dead letter, is not replayed; but what is wrong with the changes is told all the same.
		const edit = await toEdit(found ?? { id }, changes, maxPayloadBytes, schemas)
		if (found?.cause === 'expired' && changes.expiresAt === undefined && found.expiresAt !== null)
			invalidField(
				found,
				'expiresAt',
				new Date(found.expiresAt),
				'a later time, or null for no expiry (otherwise it would expire again)',
			)
		const replay = this.#thenWake((chosen, limit) => store.replay(chosen, limit, edit))
		return (await replay({ ids: [id.toLowerCase()] }, 1)).length > 0
	}

	/** Takes those that match away for good; where history is kept they stay in it. Every dead letter only with `{ all: true }`. */
	async discard(filter: MessageFilter, options: BatchOptions = {}): Promise<DiscardReport> {
		checkNames(options, BATCH_RULES)
		checkSignal(options.signal)
		const { store, runtime, keepsHistory } = this.#parts
		const selected = await deadByNow(store, selectOnPurpose('discard', filter, options.all))
		// Those that waited behind one of them may go on.
		const discard = this.#thenWake((chosen, limit) => store.discard(chosen, limit, keepsHistory))
		const { done, isAborted } = await byBatches(runtime, selected, discard, options)
		return { discarded: done, stopped: isAborted }
	}

	#thenWake(step: BatchStep): BatchStep {
		return async (filter, limit) => {
			const ids = await step(filter, limit)
			if (ids.length > 0) this.#parts.wake()
			return ids
		}
	}
}

/** One that can not be heard would let all of it happen after the caller had said no. */
function checkSignal(signal: unknown): void {
	const { aborted } = Object(signal) as Partial<AbortSignal>
	if (signal !== undefined && typeof aborted !== 'boolean') invalidOption('signal', signal, 'an AbortSignal')
}

function checkLimit(limit: unknown): void {
	if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1)
		invalidOption('limit', limit, 'a whole number, 1 or more')
}
