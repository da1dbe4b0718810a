/** Rejects ids of messages that an operation cannot change: a silent skip looks like success. */
import { YaokiError } from '../../core/errors/errors.ts'
import type { MessageStatus } from '../message/message.ts'
import type { OutboxStore } from '../store/store.ts'

/** A message that cannot be changed as requested. `unknown`: it was sent or discarded, or never existed. */
interface UnchangedMessage {
	readonly id: string
	readonly status: MessageStatus | 'unknown'
}

type Ids = readonly string[] | undefined
type Action = 'replayed' | 'edited' | 'discarded' | 'retried' | 'expired'

const COUNT_SIZE = 1_000
/** Messages are listed with their payloads, so fewer at a time. */
const LIST_SIZE = 100

/**
 * `replay`, `edit` and `discard` of `outbox.dead` reject with it if one of the ids is not the id of a dead
 * letter; nothing was changed. `messages` has the id and the status of each: call again without them.
 */
export class DeadLetterNotFoundError extends YaokiError {
	override readonly name = 'DeadLetterNotFoundError'
	/** The messages that are no dead letters. `unknown`: it was sent or discarded, or never existed. */
	readonly messages: readonly UnchangedMessage[]

	constructor(messages: readonly UnchangedMessage[], action: Action) {
		super('YAOKI_DEAD_LETTER_NOT_FOUND', describe(messages, 'a dead letter', action))
		this.messages = messages
	}
}

/**
 * `outbox.retry` and `outbox.expire` reject with it if one of the `ids` is not a message that waits in the
 * queue; nothing was changed. `messages` has the id and the status of each: call again without them.
 */
export class MessageNotQueuedError extends YaokiError {
	override readonly name = 'MessageNotQueuedError'
	/**
	 * The messages that do not wait in the queue. `processing`: it is in flight. `unknown`: it was sent or
	 * discarded, or never existed.
	 */
	readonly messages: readonly UnchangedMessage[]

	constructor(messages: readonly UnchangedMessage[], action: Action) {
		super('YAOKI_MESSAGE_NOT_QUEUED', describe(messages, 'pending', action))
		this.messages = messages
	}
}

/**
 * `outbox.resend` rejects with it if the id is not the id of a sent message in the history; nothing was
 * changed. `messages` has the id and the status. Without history, set `historyForMs` of the outbox.
 */
export class MessageNotSentError extends YaokiError {
	override readonly name = 'MessageNotSentError'
	/**
	 * The message. `pending`, `processing`: it is still to be sent. `dead`: it is a dead letter. `unknown`: it
	 * is not in the history, was discarded, or never existed.
	 */
	readonly messages: readonly UnchangedMessage[]

	constructor(message: UnchangedMessage, historyForMs: number) {
		super('YAOKI_MESSAGE_NOT_SENT', `Message ${message.id} ${describeNotSent(message, historyForMs)}`)
		this.messages = [message]
	}
}

function describeNotSent({ status }: UnchangedMessage, historyForMs: number): string {
	if (status === 'dead') return 'is a dead letter, not sent. Replay it instead.'
	if (status === 'processing') return 'is in flight already. Nothing was resent.'
	if (status !== 'unknown') return 'is queued already. Nothing was resent. Use retry to make it due now.'
	const kept =
		historyForMs > 0
			? `sent messages are kept for ${historyForMs} ms (historyForMs)`
			: 'this outbox keeps no sent messages. Set historyForMs of the outbox that the relay uses, to resend messages that are sent from then on'
	return `is not in the history: it was sent too long ago, was discarded, or never existed; ${kept}.`
}

/** Returns the error for an id that was not in the history. */
export async function notSentError(
	store: OutboxStore,
	id: string,
	historyForMs: number,
): Promise<MessageNotSentError> {
	const [other = { id, status: 'unknown' } as const] = await findOthers(store, [id], 'sent')
	return new MessageNotSentError(other, historyForMs)
}

function describe(messages: readonly UnchangedMessage[], expected: string, action: Action): string {
	const [first] = messages
	const isUnknown = first?.status === 'unknown'
	const found = isUnknown
		? 'unknown: it was sent or discarded, or never existed'
		: `${first?.status}, not ${expected}`
	const others = messages.length === 1 ? '' : ` (the first of ${messages.length} such messages)`
	return `Message ${first?.id} is ${found}${others}. Nothing was ${action}.`
}

export async function requireDeadLetters(store: OutboxStore, given: Ids, action: Action): Promise<void> {
	const others: UnchangedMessage[] = []
	for (const ids of parts(given, COUNT_SIZE)) {
		const { count } = await store.countDead({ ids }, ids.length)
		if (count < ids.length) others.push(...(await findOthers(store, ids, 'dead')))
	}
	if (others.length > 0) throw new DeadLetterNotFoundError(others, action)
}

export async function requireQueued(store: OutboxStore, given: Ids, action: Action): Promise<void> {
	const others = await findOthers(store, given, 'pending')
	if (others.length > 0) throw new MessageNotQueuedError(others, action)
}

/** Returns the messages with another status. */
async function findOthers(
	store: OutboxStore,
	given: Ids,
	expected: MessageStatus,
): Promise<UnchangedMessage[]> {
	const others: UnchangedMessage[] = []
	for (const ids of parts(given, LIST_SIZE)) {
		const current = await store.list({ ids }, ids.length)
		const sent = current.length < ids.length ? await store.list({ ids, status: 'sent' }, ids.length) : []
		const statuses = new Map([...sent, ...current].map(({ id, status }) => [id, status]))
		for (const id of ids) {
			const status = statuses.get(id) ?? 'unknown'
			if (status !== expected) others.push({ id, status })
		}
	}
	return others
}

function* parts(given: Iterable<string> | undefined, size: number): Generator<readonly string[]> {
	const ids = [...new Set(given)]
	for (let from = 0; from < ids.length; from += size) yield ids.slice(from, from + size)
}
