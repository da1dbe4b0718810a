/**
 * Finds messages, oldest first: those in the queue and the dead letters, then sent ones if a history is kept. Conditions
 * that no index answers are compared here, over a limited number of messages per request, so that one search can neither
 * occupy the database nor this process. The page continues it.
 */

import { invalidArgument } from '../../core/options/schema.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import type { MessageFilter } from '../../outbox/message/filter.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { MessagesPage } from '../contract.ts'
import type { Query } from '../parts.ts'
import { checkId, QueryReader } from './input.ts'
import { hasValue, parsePath } from './payload-path.ts'
import { toMessageRow } from './rows.ts'
import { CAUSES } from './selection.ts'
import type { QueueSettings } from './settings.ts'

/** At most so many messages are read per request. */
const MAX_SCANNED = 10_000
/** Payloads may have a megabyte each. */
const SCAN_PAGE = 100
/** A slow database ends the request earlier. */
const MAX_SCAN_MS = 2_000

const PARAMETERS = [
	...['outbox', 'id', 'destination', 'key', 'cause', 'status', 'from', 'until', 'topic', 'text'],
	...['path', 'value', 'after', 'limit'],
]

/** What is listed one after the other: queue and dead letters, or one status. */
type Phase = 'current' | 'pending' | 'processing' | 'dead' | 'sent'

interface Search {
	readonly id: string | undefined
	readonly filter: MessageFilter
	readonly phases: readonly Phase[]
	readonly start: { readonly phase: number; readonly after: string | undefined }
	readonly limit: number
	/** Undefined if an index answers all conditions. */
	readonly matches: ((record: MessageRecord) => boolean) | undefined
}

export function readSearch(query: Query, settings: QueueSettings): Search {
	const reader = new QueryReader(query, PARAMETERS)
	const id = reader.id('id')
	const others = Object.keys(query).filter((name) => query[name] !== undefined)
	const other = others.find((name) => !['outbox', 'id', 'limit'].includes(name))
	if (id !== undefined && other !== undefined)
		invalidArgument(other, query[other], 'no value beside id, which selects a message by itself')
	const status = reader.oneOf('status', ['pending', 'in-flight', 'dead', 'sent'])
	const cause = reader.oneOf('cause', CAUSES)
	if (cause !== undefined && status !== undefined && status !== 'dead')
		invalidArgument('cause', cause, `no value for messages with the status ${status}`)
	const [from, until] = [reader.time('from'), reader.time('until')]
	if (from !== undefined && until !== undefined && from >= until)
		invalidArgument('until', until, 'a time after from')
	const phases = phasesOf(cause === undefined ? status : 'dead')
	const conditions = {
		destination: reader.text('destination'),
		key: reader.text('key'),
		cause,
		since: from === undefined ? undefined : new Date(from),
		until: until === undefined ? undefined : new Date(until),
	}
	return {
		id,
		filter: Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined)),
		phases,
		start: readCursor(reader.get('after'), phases),
		limit: reader.limit(),
		matches: readScan(reader, settings),
	}
}

function phasesOf(status: 'pending' | 'in-flight' | 'dead' | 'sent' | undefined): readonly Phase[] {
	if (status === undefined) return ['current', 'sent']
	return [status === 'in-flight' ? 'processing' : status]
}

function readCursor(after: string | undefined, phases: readonly Phase[]): Search['start'] {
	if (after === undefined) return { phase: 0, after: undefined }
	const [name, id = '', ...rest] = after.split(':')
	const phase = phases.indexOf(name as Phase)
	if (phase < 0 || rest.length > 0) invalidArgument('after', after, 'the value of next of the previous page')
	return {
		phase,
		after: id === '' ? undefined : checkId('after', id, 'the value of next of the previous page'),
	}
}

function readScan(reader: QueryReader, settings: QueueSettings): Search['matches'] {
	const [topic, text] = [reader.text('topic'), reader.text('text')?.toLowerCase()]
	const [path, value] = [reader.text('path'), reader.get('value')]
	if (path !== undefined && value === undefined) invalidArgument('value', value, 'a value beside path')
	if (value !== undefined && path === undefined) invalidArgument('path', path, 'a path beside value')
	// A search would tell what is hidden.
	if (path !== undefined && settings.payloads === 'hidden')
		invalidArgument('path', path, 'no value, because payloads are hidden')
	const steps = path === undefined ? undefined : parsePath(path)
	if (topic === undefined && text === undefined && steps === undefined) return undefined
	return (record) =>
		(topic === undefined || record.topic === topic) &&
		(text === undefined || (toMessageRow(record, settings).error ?? '').toLowerCase().includes(text)) &&
		(steps === undefined || hasValue(record.payload, steps, value ?? ''))
}

export async function searchMessages(
	outbox: Outbox,
	search: Search,
	settings: QueueSettings,
): Promise<MessagesPage> {
	const { filter, phases, limit, matches } = search
	const { runtime } = settings
	const found: MessageRecord[] = []
	const endsAt = runtime.now() + MAX_SCAN_MS
	let { phase, after } = search.start
	let scanned = 0
	const pageOf = (next: string | null): MessagesPage => ({
		messages: found.map((record) => toMessageRow(record, settings)),
		next,
		scanned,
	})
	for (;;) {
		const name = phases[phase]
		if (name === undefined) return pageOf(null)
		// One more than needed says whether there are more.
		const size = matches ? SCAN_PAGE : limit - found.length + 1
		const status = name === 'current' ? undefined : name
		const page = await outbox.list({ ...filter, ...(status && { status }) }, { limit: size, after })
		for (const record of page) {
			if (found.length === limit) return pageOf(`${name}:${after ?? ''}`)
			after = record.id
			scanned += 1
			if (matches?.(record) ?? true) found.push(record)
		}
		if (page.length < size) {
			phase += 1
			after = undefined
		}
		const isLimited = matches && (scanned >= MAX_SCANNED || runtime.now() >= endsAt)
		if (isLimited && phases[phase]) return pageOf(`${phases[phase]}:${after ?? ''}`)
		// SQLite responds by microtasks only.
		if (matches) await sleep(runtime, 0)
	}
}
