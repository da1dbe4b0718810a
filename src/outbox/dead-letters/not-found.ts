/** Dead letters that are selected by id: an id that is no dead letter is an error, because a silent skip looks like success. */
import { YaokiError } from '../../core/errors/errors.ts'
import type { MessageStatus } from '../message/message.ts'
import type { OutboxStore, StoreFilter } from '../store/store.ts'

/** A message that is no dead letter. `unknown`: the outbox does not have it. */
interface MissingLetter {
	readonly id: string
	readonly status: Exclude<MessageStatus, 'dead'> | 'unknown'
}

const COUNT_SIZE = 1_000
/** Messages are listed with their payloads, so fewer at a time. */
const LIST_SIZE = 100

/** Thrown by `replay` and `discard` if an id is not the id of a dead letter. Nothing was changed. */
export class DeadLetterNotFoundError extends YaokiError {
	override readonly name = 'DeadLetterNotFoundError'
	/** The messages that are no dead letters. `unknown`: it was sent or discarded, or never existed. */
	readonly messages: readonly MissingLetter[]

	constructor(messages: readonly MissingLetter[], done: 'replayed' | 'discarded') {
		super('YAOKI_DEAD_LETTER_NOT_FOUND', `${describe(messages)}. Nothing was ${done}.`)
		this.messages = messages
	}
}

function describe(messages: readonly MissingLetter[]): string {
	const [first] = messages
	const more = messages.length - 1
	const others = more === 0 ? '' : ` (and ${more} more ${more === 1 ? 'message is' : 'messages are'} none)`
	if (first?.status === 'unknown')
		return `Message ${first.id} is unknown: it was sent or discarded, or never existed${others}`
	return `Message ${first?.id} is ${first?.status}, not a dead letter${others}`
}

/** Throws if the filter has ids of messages that are no dead letters. Other conditions of the filter are not checked. */
export async function requireDeadLetters(
	store: OutboxStore,
	filter: StoreFilter,
	done: 'replayed' | 'discarded',
): Promise<void> {
	const missing: MissingLetter[] = []
	for (const ids of parts([...new Set(filter.ids)], COUNT_SIZE)) {
		const { count } = await store.countDead({ ids }, ids.length)
		if (count < ids.length)
			for (const some of parts(ids, LIST_SIZE)) missing.push(...(await findMissing(store, some)))
	}
	if (missing.length > 0) throw new DeadLetterNotFoundError(missing, done)
}

async function findMissing(store: OutboxStore, ids: readonly string[]): Promise<readonly MissingLetter[]> {
	const current = await store.list({ ids }, ids.length)
	const sent = await store.list({ ids, status: 'sent' }, ids.length)
	const statuses = new Map([...sent, ...current].map(({ id, status }) => [id, status]))
	return ids.flatMap((id) => {
		const status = statuses.get(id) ?? 'unknown'
		return status === 'dead' ? [] : [{ id, status }]
	})
}

function* parts(ids: readonly string[], size: number): Generator<readonly string[]> {
	for (let from = 0; from < ids.length; from += size) yield ids.slice(from, from + size)
}
