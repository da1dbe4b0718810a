/** A group of dead letters, as a row of a table and as the subject of an action. */
import type { DeadGroup, Selection } from '../../src/dashboard/contract.ts'
import type { ActionRequest } from './action.ts'

/** The error alone is not enough: the same error of another destination is another group. */
export const selectionOfGroup = ({ fingerprint, cause, destination }: DeadGroup): Selection => ({
	fingerprint,
	cause,
	destination,
})

export function requestsForGroup(source: string, group: DeadGroup): ActionRequest[] {
	const { error, cause, destination, actions } = group
	const subject = `${destination}: ${error ?? cause}`
	return actions.flatMap(({ action }) =>
		action === 'cancel-job' ? [] : [{ action, source, subject, selection: selectionOfGroup(group) }],
	)
}
