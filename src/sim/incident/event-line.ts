/**
 * One line of a log, as an event or as the reason why it is none. Logs are shared with other writers and get cut off, so a
 * line that can not be read is no reason to give up; but a line that is read must have every number that is used later, or a
 * NaN would turn up far from where it came in.
 */
import type { YaokiEvent } from '../../core/events/events.ts'
import { isAmount } from '../../core/options/schema.ts'

/** Why a line was left out. */
export type UnreadableReason = 'not JSON' | 'not an event' | 'an event without all of its fields'

/** What is used of each type: numbers, and a text. */
interface Fields {
	readonly amounts?: readonly string[]
	readonly text?: string
}

const FIELDS: Readonly<Record<YaokiEvent['type'], Fields>> = {
	retry_attempt: { amounts: ['delayMs'], text: 'outcome' },
	retry_success: { amounts: ['attempts', 'durationMs'] },
	retry_failure: { amounts: ['attempts', 'durationMs'], text: 'stop' },
	timeout: { amounts: ['timeoutMs'] },
	rejected: { text: 'reason' },
	state_change: {},
	success: { amounts: ['durationMs'] },
	failure: { amounts: ['durationMs'] },
	fallback: {},
	hedge: {},
	limit_change: {},
}

const KNOWN: ReadonlyMap<unknown, Fields> = new Map(Object.entries(FIELDS))

/** Texts that may be missing, but are texts. */
const OPTIONAL = ['pipeline', 'errorType', 'errorMessage'] as const

/** No Date is later. */
const LATEST = 8.64e15

export function parseEvent(line: string): YaokiEvent | UnreadableReason {
	const value = parsed(line)
	if (value === undefined) return 'not JSON'
	if (!isRecord(value) || !KNOWN.has(value['type'])) return 'not an event'
	return isEvent(value) ? value : 'an event without all of its fields'
}

function parsed(line: string): unknown {
	// Most lines of other writers end here, which costs less than an error.
	if (!line.includes('{')) return undefined
	try {
		return JSON.parse(line)
	} catch {
		return undefined
	}
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === 'object' && value !== null

const isTime = (value: unknown): boolean => isAmount(value) && value <= LATEST

function isEvent(value: unknown): value is YaokiEvent {
	if (!isRecord(value)) return false
	const { amounts = [], text } = KNOWN.get(value['type']) ?? {}
	return (
		typeof value['policy'] === 'string' &&
		isTime(value['timestamp']) &&
		amounts.every((name) => isTime(value[name])) &&
		(text === undefined || typeof value[text] === 'string') &&
		OPTIONAL.every((name) => value[name] === undefined || typeof value[name] === 'string')
	)
}
