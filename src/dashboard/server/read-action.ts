/**
 * Reads the body of a write. Every field is checked here, and an unknown field is an error: a misspelt condition of a selection would select
 * more messages than the client meant.
 */
import { isObject } from '../../core/options/schema.ts'
import type { Action, ActionName } from '../contract.ts'
import { invalid, type Rejection } from './rejection.ts'

type Kind = 'string' | 'number' | 'boolean' | 'strings' | 'selection'

/** The fields of an action with their kinds. A kind in an array is optional. */
type Fields = Readonly<Record<string, Kind | readonly [Kind]>>

const ID = { id: 'string', reason: ['string'] } as const
const DESTINATION = { destination: 'string', reason: ['string'] } as const
const CIRCUIT = { circuit: 'string', reason: ['string'] } as const
const SELECTED = { selection: 'selection', reason: ['string'] } as const

const ACTIONS: Readonly<Record<ActionName, Fields>> = {
	retry: SELECTED,
	expire: SELECTED,
	discard: { selection: 'selection', reason: 'string' },
	replay: { ...SELECTED, canary: ['boolean'], perSecond: ['number'] },
	resend: ID,
	pause: { ...DESTINATION, forMs: ['number'] },
	resume: DESTINATION,
	'close-circuit': DESTINATION,
	isolate: CIRCUIT,
	release: CIRCUIT,
	reset: CIRCUIT,
	'disable-endpoint': ID,
	'enable-endpoint': ID,
	'test-endpoint': ID,
	'resend-endpoint': { ...ID, since: 'number', perSecond: ['number'] },
	'cancel-job': { id: 'string' },
}

const SELECTION: Fields = {
	ids: ['strings'],
	fingerprint: ['string'],
	destination: ['string'],
	cause: ['string'],
	key: ['string'],
	topic: ['string'],
	from: ['number'],
	until: ['number'],
	all: ['boolean'],
}

const EXPECTED: Readonly<Record<Kind, string>> = {
	string: 'a text that is not empty',
	number: 'a number, 0 or more',
	boolean: 'true or false',
	strings: 'a list of texts that is not empty',
	selection: 'an object with a condition, or with all: true',
}

export function readAction(body: unknown): Action | Rejection {
	if (!isObject(body)) return invalid('The body must be an object.')
	const { action, ...fields } = body as { readonly action?: unknown }
	if (typeof action !== 'string' || !Object.hasOwn(ACTIONS, action))
		return invalid(`Unknown action. Valid actions: ${Object.keys(ACTIONS).join(', ')}`)
	const problem = problemIn(fields, { source: 'string', ...ACTIONS[action as ActionName] })
	return problem === undefined ? (body as Action) : invalid(`Invalid action "${action}": ${problem}.`)
}

/** Returns what is wrong with the fields. */
function problemIn(given: object, fields: Fields): string | undefined {
	const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name))
	if (unknown !== undefined)
		return `unknown field "${unknown}", valid fields are ${Object.keys(fields).join(', ')}`
	for (const [name, rule] of Object.entries(fields)) {
		const value: unknown = Reflect.get(given, name)
		const [kind, isOptional] = typeof rule === 'string' ? [rule, false] : [rule[0], true]
		if (value === undefined && isOptional) continue
		if (!isOfKind(value, kind)) return `"${name}" must be ${EXPECTED[kind]}`
		const problem = kind === 'selection' ? problemIn(value as object, SELECTION) : undefined
		if (problem !== undefined) return problem
	}
	return undefined
}

function isOfKind(value: unknown, kind: Kind): boolean {
	if (kind === 'string') return typeof value === 'string' && value.trim() !== ''
	if (kind === 'number') return typeof value === 'number' && value >= 0
	if (kind === 'strings')
		return Array.isArray(value) && value.length > 0 && value.every((one) => isOfKind(one, 'string'))
	if (kind === 'boolean') return typeof value === 'boolean'
	return isObject(value) && Object.values(value).some((condition) => condition !== false)
}
