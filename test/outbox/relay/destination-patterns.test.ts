import { expect, test, vi } from 'vitest'
import { setup } from './setup.ts'

test('a name that ends with an asterisk serves the destinations that start with the rest', async () => {
	await using system = await setup()
	const { outbox, clock } = system
	const served: string[] = []
	const serveAs = (entry: string) =>
		system.sends(({ destination }) => served.push(`${destination} by ${entry}`))
	await outbox.fanOut({ topic: 'event', payload: 1 }, ['hook:1', 'hook:eu:2', 'hook:eu:main', 'mail'])
	await system.relay({
		'hook:*': serveAs('hook:*'),
		'hook:eu:*': serveAs('hook:eu:*'),
		'hook:eu:main': serveAs('hook:eu:main'),
	})
	await clock.advance(2_000)
	expect(served.sort()).toEqual([
		'hook:1 by hook:*',
		'hook:eu:2 by hook:eu:*',
		'hook:eu:main by hook:eu:main',
	])
	expect((await outbox.list()).map(({ destination }) => destination)).toEqual(['mail'])
	const { relays, destinations } = await outbox.stats()
	expect(relays[0]?.destinations).toEqual(['hook:eu:main', 'hook:eu:*', 'hook:*'])
	expect(destinations.map(({ destination }) => destination)).not.toContain('hook:*')
})

test('each destination of a pattern has a circuit of its own, which the relay reports while it is not closed', async () => {
	await using system = await setup()
	const { outbox, clock } = system
	const send = system.sends(({ destination }) => {
		if (destination === 'hook:1') throw new Error('down')
	})
	const messages = Array.from({ length: 10 }, (_, payload) => ({ topic: 'event', payload }))
	for (const destination of ['hook:1', 'hook:2'])
		await outbox.enqueue(messages.map((message) => ({ ...message, destination })))
	await system.relay({ 'hook:*': send })
	await clock.advance(10_000)
	expect(system.eventsOf('relay_sent').map(({ destination }) => destination)).toEqual(
		Array(10).fill('hook:2'),
	)
	expect((await outbox.stats()).relays[0]?.destinations).toEqual(['hook:1', 'hook:*'])
})

test('why names a relay whose pattern serves the message', async () => {
	await using system = await setup()
	const [first] = await system.outbox.fanOut({ topic: 'event', payload: 1 }, ['mail:1'])
	await system.relay({ 'hook:*': system.sends() })
	expect(await system.outbox.why(first?.id ?? '')).toContain('no running relay')
	await system.relay({ 'mail:*': () => new Promise(() => {}) })
	expect(await system.outbox.why(first?.id ?? '')).not.toContain('no running relay')
})

test.each([
	['nothing is queued', false],
	['its only destination is down', true],
])(
	'a relay with patterns looks for destinations once per pollMs while %s (regression: every 50 ms)',
	async (_, isDown) => {
		await using system = await setup()
		const { outbox, store, clock } = system
		const search = vi.spyOn(store, 'dueDestinations')
		if (isDown) {
			const messages = Array.from({ length: 20 }, (_, payload) => ({ topic: 'event', payload }))
			await outbox.enqueue(messages.map((message) => ({ ...message, destination: 'hook:1' })))
		}
		const send = system.sends(() => {
			throw new Error('down')
		})
		await system.relay({ 'hook:*': send }, { pollMs: 10_000 })
		await clock.advance(60_000)
		search.mockClear()
		await clock.advance(600_000)
		expect(search.mock.calls.length).toBeLessThan(isDown ? 200 : 70)
	},
)
