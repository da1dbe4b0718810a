import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { setup } from './setup.ts'

test('stats count messages in flight, queued, sent, failed and dead', async () => {
	await using system = await setup()
	const bad = ({ payload }: { payload: unknown }) => {
		if (payload === 1) throw permanent(new Error('never'))
		if (payload === 2) throw new Error('later')
		return Number(payload) < 5 ? undefined : system.pause(60_000)
	}
	const relay = await system.relay({ jobs: { deliver: bad, maxConcurrent: 3 } })
	expect(relay.stats).toEqual({ inFlight: 0, queued: 0, sent: 0, failed: 0, dead: 0 })
	await system.enqueue(10)
	await system.clock.advance(500)
	expect(relay.stats).toMatchObject({ inFlight: 3, sent: 2, failed: 1, dead: 1 })
	expect(relay.stats.queued).toBeGreaterThan(0)
	await system.clock.advance(6_000)
	const [row] = await system.store.relays()
	expect(row).toMatchObject({ inFlight: 3, sent: 2, failed: 1, dead: 1, destinations: ['jobs'] })
	// Counts stay readable after the stop.
	const stopped = relay.stop({ timeoutMs: 10 })
	await system.clock.advance(2_000)
	await stopped
	expect(relay.stats).toMatchObject({ inFlight: 0, queued: 0, sent: 2, dead: 1 })
})
