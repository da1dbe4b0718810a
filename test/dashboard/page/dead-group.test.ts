import { expect, test } from 'vitest'
import { requestsForGroup, selectionOfGroup } from '../../../dashboard-page/state/dead-group.ts'
import { sampleDead } from './sample.ts'

test('an action on a group does not select the same error of another destination', () => {
	const [group] = sampleDead(0)
	if (!group) throw new Error('No sample')
	const other = { ...group, destination: 'crm' }
	const selection = { fingerprint: group.fingerprint, cause: group.cause, destination: 'email' }
	expect(requestsForGroup('orders', group)).toMatchObject([
		{ action: 'replay', source: 'orders', selection },
		{ action: 'discard', source: 'orders', selection },
	])
	expect(selectionOfGroup(other)).toEqual({ ...selection, destination: 'crm' })
})
