import { expect, test } from 'vitest'
import { placeOf, requestFor } from '../../../dashboard-page/state/next-step.ts'
import { PROBLEMS, sampleOverview } from './sample.ts'

const overview = sampleOverview(0)

test('replays the dead letters of a destination', () => {
	const problem = PROBLEMS['dead-letters']
	expect(placeOf(problem)).toEqual({ view: 'dead', filter: { outbox: 'orders', destination: 'email' } })
	expect(requestFor(problem, overview)).toMatchObject({
		action: 'replay',
		source: 'orders',
		selection: { destination: 'email' },
	})
})

test('shows all dead letters for those of endpoints, because no message has their pattern as its destination', () => {
	const problem = { ...PROBLEMS['dead-letters'], destination: 'webhook:*' }
	expect(placeOf(problem)).toEqual({ view: 'dead', filter: { outbox: 'orders', destination: undefined } })
	expect(requestFor(problem, overview)).toBeUndefined()
})
