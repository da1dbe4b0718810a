/** The changes of an audit record, as JSON. Payload and headers are JSON already and are inserted as they are: parsing would round big numbers. */
import type { OperatorChange } from './rows.ts'
import type { MessageEdit } from './store.ts'

const RAW: ReadonlySet<string> = new Set(['payload', 'headers'])

/** Returns null if the edit changes nothing. */
export function editChanges(edit: MessageEdit): string | null {
	const members = Object.entries(edit)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => `"${name}":${RAW.has(name) ? value : JSON.stringify(value)}`)
	return members.length === 0 ? null : `{${members.join()}}`
}

/** A pause until it is resumed has no number: Infinity is not JSON. */
export const operatorChanges = (change: OperatorChange): string | null =>
	change.action === 'pause'
		? JSON.stringify({ forMs: change.forMs === Infinity ? null : change.forMs })
		: null
