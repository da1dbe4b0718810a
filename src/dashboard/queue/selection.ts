/** Which messages a bulk action is about. Checked strictly: a condition that is lost would discard more. */
import { invalidArgument } from '../../core/options/schema.ts'
import type { MessageFilter } from '../../outbox/message/filter.ts'
import type { DeadLetterCause } from '../../outbox/message/message.ts'
import type { Selection } from '../contract.ts'
import { checkBoolean, checkFields, checkId, checkOneOf, checkText, checkTime, optional } from './input.ts'

export const CAUSES: readonly DeadLetterCause[] = [
	'retries-exhausted',
	'permanent',
	'expired',
	'crashed',
	'predecessor-dead',
]

const FIELDS: readonly (keyof Selection)[] = [
	...(['ids', 'status', 'fingerprint', 'destination', 'cause'] as const),
	...(['key', 'topic', 'from', 'until', 'all'] as const),
]

const MAX_IDS = 10_000

/** Returns the checked selection. `isDead`: dead letters are selected, else queued messages. */
export function checkSelection(given: unknown, isDead: boolean): Selection {
	checkFields(given, FIELDS, 'selection')
	const selection = given as Selection
	const { ids, status, fingerprint, destination, cause, key, topic, from, until, all } = selection
	const only = isDead ? 'dead' : 'pending'
	optional(ids, checkIds)
	if (status !== undefined && status !== only)
		invalidArgument('selection.status', status, `${only}, the only status that the action changes`)
	// The fingerprint of messages without an error is empty.
	if (fingerprint !== '') optional(fingerprint, (value) => checkText('selection.fingerprint', value))
	optional(destination, (value) => checkText('selection.destination', value))
	optional(cause, (value) => checkOneOf('selection.cause', value, CAUSES))
	optional(key, (value) => checkText('selection.key', value))
	optional(topic, (value) => checkText('selection.topic', value))
	optional(from, (value) => checkTime('selection.from', value))
	optional(until, (value) => checkTime('selection.until', value))
	optional(all, (value) => checkBoolean('selection.all', value))
	if (from !== undefined && until !== undefined && from >= until)
		invalidArgument('selection.until', until, 'a time after selection.from')
	if (cause !== undefined && !isDead)
		invalidArgument('selection.cause', cause, 'no value, because queued messages have no cause')
	const { all: _, status: __, ...conditions } = selection
	const [first, second] = Object.keys(conditions)
	if (first === undefined && all !== true)
		invalidArgument('selection', '{}', 'at least one condition, or all: true for every message')
	if (first !== undefined && all === true)
		invalidArgument('selection.all', all, `no value beside selection.${first}, which selects less`)
	if (ids !== undefined && second !== undefined)
		invalidArgument('selection.ids', `${ids.length} ids`, 'ids alone, which select messages by themselves')
	return selection
}

function checkIds(ids: unknown): void {
	if (!Array.isArray(ids) || ids.length === 0 || ids.length > MAX_IDS)
		invalidArgument('selection.ids', ids, `an array of 1 to ${MAX_IDS} message ids`)
	for (const [at, id] of ids.entries()) checkId(`selection.ids[${at}]`, id)
}

/** Returns the filter of a checked selection, with the given conditions only. */
export function toFilter(selection: Selection): MessageFilter {
	const { from, until, all: _, ...others } = selection
	return {
		...(others as MessageFilter),
		...(from !== undefined && { since: new Date(from) }),
		...(until !== undefined && { until: new Date(until) }),
	}
}
