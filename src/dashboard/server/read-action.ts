/** Reads the body of a write. The half that runs an action of the queue checks its fields, because it also does so for a plan, whose reason is not known yet. */
import { isObject } from '../../core/options/schema.ts'
import type { Action } from '../contract.ts'
import type { CircuitAction } from '../parts.ts'
import { invalid, type Rejection } from './rejection.ts'

const CIRCUIT_ACTIONS: readonly unknown[] = [
	'isolate',
	'release',
	'reset',
] satisfies CircuitAction['action'][]

const TEXTS: readonly string[] = ['action', 'source', 'circuit', 'reason']

export const isOfCircuit = (action: Action): action is CircuitAction =>
	CIRCUIT_ACTIONS.includes(action.action)

export function readAction(body: unknown): Action | Rejection {
	if (!isObject(body)) return invalid('The body must be an object with an action.')
	const action = body as Action
	return (isOfCircuit(action) ? problemIn(action) : undefined) ?? action
}

function problemIn(action: CircuitAction): Rejection | undefined {
	const given: Readonly<Record<string, unknown>> = Object.assign(
		{ source: undefined, circuit: undefined },
		action,
	)
	for (const [name, value] of Object.entries(given)) {
		if (!TEXTS.includes(name)) return invalid(`Unknown field "${name}". Valid fields: ${TEXTS.join(', ')}`)
		if (typeof value !== 'string' || value.trim() === '')
			return invalid(`"${name}" must be a text that is not empty.`)
	}
	return undefined
}
