/** Checks an action of a request, field by field. */
import { invalidArgument, isObject } from '../../core/options/schema.ts'
import type { QueueAction } from '../parts.ts'
import {
	checkBoolean,
	checkFields,
	checkId,
	checkNumber,
	checkOneOf,
	checkText,
	checkTime,
	optional,
} from './input.ts'
import { checkSelection } from './selection.ts'

type Check = (value: never, name: string) => unknown

const text: Check = (value, name) => checkText(name, value)
const reason: Check = (value, name) => optional(value as unknown, (given) => checkText(name, given))
const id: Check = (value, name) => checkId(name, value, 'an id')
const selectionOf =
	(isDead: boolean): Check =>
	(value) =>
		checkSelection(value, isDead)
const perSecond: Check = (value, name) =>
	optional(value as unknown, (given) => checkNumber(name, given, 0.001, 100_000))

const DESTINATION = { source: text, destination: text, reason }
const ENDPOINT = { source: text, id, reason }
const YEAR_MS = 31_622_400_000

const FIELDS: Readonly<Record<QueueAction['action'], Readonly<Record<string, Check>>>> = {
	retry: { source: text, selection: selectionOf(false), reason },
	expire: { source: text, selection: selectionOf(false), reason },
	resend: ENDPOINT,
	pause: {
		...DESTINATION,
		forMs: (value, name) => optional(value as unknown, (given) => checkNumber(name, given, 1, YEAR_MS)),
	},
	resume: DESTINATION,
	'close-circuit': DESTINATION,
	'disable-endpoint': ENDPOINT,
	'enable-endpoint': ENDPOINT,
	'test-endpoint': ENDPOINT,
	'resend-endpoint': { ...ENDPOINT, since: (value, name) => checkTime(name, value), perSecond },
	replay: {
		source: text,
		selection: selectionOf(true),
		canary: (value, name) => optional(value as unknown, (given) => checkBoolean(name, given)),
		perSecond,
		reason,
	},
	discard: { source: text, selection: selectionOf(true), reason: text },
	'cancel-job': { source: text, id: text },
}

/** Returns the action. `isPlan`: a reason need not be known yet. */
export function checkAction(given: unknown, isPlan: boolean): QueueAction {
	if (!isObject(given)) invalidArgument('body', given, 'an object with an action')
	const names = Object.keys(FIELDS) as QueueAction['action'][]
	const fields = FIELDS[checkOneOf('action', Reflect.get(given, 'action'), names)]
	checkFields(given, ['action', ...Object.keys(fields)])
	for (const [name, check] of Object.entries(fields)) {
		if (isPlan && name === 'reason' && Reflect.get(given, name) === undefined) continue
		check(Reflect.get(given, name) as never, name)
	}
	return given as QueueAction
}
