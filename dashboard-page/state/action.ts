/** What a dialog asks for, and the action that it sends. */
import type { Action, ActionName, MessageRow, Selection } from '../../src/dashboard/contract.ts'

/** What a button wants to do. The dialog adds what the user enters. */
export interface ActionRequest {
	readonly action: Exclude<ActionName, 'cancel-job'>
	readonly source: string
	/** What it is about, in the reader's words. */
	readonly subject: string
	/** For `retry`, `expire`, `replay` and `discard`. */
	readonly selection?: Selection
	/** The destination, the circuit, the message or the endpoint. */
	readonly target?: string
	/** Asks for the time from which dead letters are selected. */
	readonly asksFrom?: boolean
}

/** What the user has entered. Times and numbers are undefined while they are empty. */
export interface Entered {
	readonly reason: string
	readonly canary: boolean
	readonly perSecond: number | undefined
	readonly minutes: number | undefined
	readonly from: number | undefined
}

type Field = 'canary' | 'perSecond' | 'minutes' | 'from'

const FIELDS: Readonly<Partial<Record<ActionName, readonly Field[]>>> = {
	replay: ['canary', 'perSecond'],
	pause: ['minutes'],
	'resend-endpoint': ['from', 'perSecond'],
}

/** Actions on circuits are in the memory of one process: they have no plan and no form on the command line. */
export const isInMemory = (action: ActionName): boolean =>
	action === 'isolate' || action === 'release' || action === 'reset'

/** Actions that no other action takes back. */
export const isFinal = (action: ActionName): boolean => action === 'discard' || action === 'expire'

export const needsReason = (action: ActionName): boolean => action === 'discard' || action === 'expire'

export function asksFor(request: ActionRequest, field: Field): boolean {
	return (FIELDS[request.action] ?? []).includes(field) || (field === 'from' && request.asksFrom === true)
}

/** Returns the action, or undefined while something required is missing. */
export function toAction(request: ActionRequest, entered: Entered): Action | undefined {
	const { action, source, target = '' } = request
	const { perSecond, canary, from, minutes } = entered
	const reason = entered.reason.trim()
	const why = reason === '' ? {} : { reason }
	const rate = perSecond === undefined ? {} : { perSecond }
	switch (action) {
		case 'replay':
			return {
				action,
				source,
				selection: selectionOf(request, from),
				...(canary ? { canary } : {}),
				...rate,
				...why,
			}
		case 'discard':
			return { action, source, selection: selectionOf(request, from), reason }
		case 'retry':
		case 'expire':
			return { action, source, selection: selectionOf(request, from), ...why }
		case 'pause':
			return {
				action,
				source,
				destination: target,
				...(minutes === undefined ? {} : { forMs: minutes * 60_000 }),
				...why,
			}
		case 'resume':
		case 'close-circuit':
			return { action, source, destination: target, ...why }
		case 'isolate':
		case 'release':
		case 'reset':
			return { action, source, circuit: target, ...why }
		case 'resend-endpoint':
			return from === undefined ? undefined : { action, source, id: target, since: from, ...rate, ...why }
		default:
			return { action, source, id: target, ...why }
	}
}

/** A time is a condition of its own, so that "all" is required only without any. */
function selectionOf({ selection = {} }: ActionRequest, from: number | undefined): Selection {
	if (from === undefined) return selection
	const { all: _, ...conditions } = selection
	return { ...conditions, from }
}

/** Returns the selection of a search, or undefined if it has conditions that an action cannot have. */
export function selectionOfFilter(filter: Readonly<Record<string, string>>): Selection | undefined {
	const { id, status, destination, key, cause, topic, from, until, text, path } = filter
	if (text !== undefined || path !== undefined) return undefined
	if (status !== undefined && status !== 'dead' && status !== 'pending') return undefined
	const conditions = {
		...(id === undefined ? {} : { ids: [id] }),
		...(destination === undefined ? {} : { destination }),
		...(key === undefined ? {} : { key }),
		...(cause === undefined ? {} : { cause }),
		...(topic === undefined ? {} : { topic }),
		...(from === undefined ? {} : { from: Number(from) }),
		...(until === undefined ? {} : { until: Number(until) }),
	}
	return {
		...(status === undefined ? {} : { status }),
		...(Object.keys(conditions).length === 0 ? { all: true } : conditions),
	}
}

/** Returns the bulk actions on messages of a status. */
export function actionsOfStatus(status: string | undefined): readonly ActionRequest['action'][] {
	if (status === 'dead') return ['replay', 'discard']
	return status === 'pending' ? ['retry', 'expire'] : []
}

/** Returns the actions on chosen messages. Each is about those that it can change: one that it cannot would reject all. */
export function requestsForChosen(
	source: string,
	rows: readonly Pick<MessageRow, 'id' | 'status'>[],
	describe: (count: number) => string,
): ActionRequest[] {
	return ['pending', 'dead'].flatMap((status) => {
		const ids = rows.filter((row) => row.status === status).map(({ id }) => id)
		if (ids.length === 0) return []
		const about = { source, subject: describe(ids.length), selection: { ids } }
		return actionsOfStatus(status).map((action) => ({ ...about, action }))
	})
}
