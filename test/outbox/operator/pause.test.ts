import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import { Process } from '../relay/process.ts'
import { setup } from '../relay/setup.ts'

const POLL_MS = 1_000
const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 20 } as const
const BREAKER = {
	failureThreshold: 3,
	resetBackoff: { initialMs: 10_000, factor: 2, jitterStrategy: 'none' },
} as const
const down = () => {
	throw new Error('down')
}

test('every relay stops within its poll, finishes what is in flight and uses no attempts for the rest', async () => {
	await using system = await setup()
	await using elsewhere = new Process(system)
	const deliver = system.sends(() => system.pause(400))
	const options = { pollMs: POLL_MS, rampUpMs: 0 }
	await system.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await elsewhere.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await system.enqueue(200)
	await system.clock.advance(2_000)
	await system.outbox.pause('jobs', { by: 'ada@ops', reason: 'deploy' })
	await system.clock.advance(POLL_MS + 400)
	const sent = system.sendings.length
	await system.clock.advance(60_000)
	expect(system.sendings).toHaveLength(sent)
	const left = await system.outbox.list({}, { limit: 1_000 })
	expect(left).toHaveLength(200 - sent)
	expect(left.length).toBeGreaterThan(0)
	expect(left.filter(({ attempts, status }) => attempts > 0 || status !== 'pending')).toEqual([])
	const pause = { destination: 'jobs', reason: 'operator', pausedForMs: Infinity }
	expect(system.eventsOf('relay_paused')).toMatchObject([pause])
	expect(elsewhere.eventsOf('relay_paused')).toMatchObject([pause])
})

test('an ordered destination stops too, within a run of messages of one key', async () => {
	await using system = await setup()
	const deliver = system.sends(() => system.pause(400))
	await system.relay({ jobs: { deliver, order: true } }, { pollMs: POLL_MS, rampUpMs: 0 })
	await system.enqueue(100, { key: 'k' })
	await system.clock.advance(2_000)
	await system.outbox.pause('jobs')
	await system.clock.advance(POLL_MS + 400)
	const sent = system.sendings.length
	expect(sent).toBeGreaterThan(0)
	await system.clock.advance(60_000)
	expect(system.sendings).toHaveLength(sent)
	await system.outbox.resume('jobs')
	await system.clock.advance(60_000)
	expect(system.payloads()).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
})

test('a pause survives a restart of all relays, and resume ends it within a poll', async () => {
	await using system = await setup()
	await system.outbox.pause('jobs')
	await system.enqueue(3)
	const first = await system.relay({ jobs: system.sends() }, { pollMs: POLL_MS })
	await system.clock.advance(60_000)
	const stopped = first.stop()
	await system.clock.advance(1_000)
	await stopped
	await using elsewhere = new Process(system)
	await elsewhere.relay({ '*': system.sends() }, { pollMs: POLL_MS, rampUpMs: 0 })
	await system.clock.advance(60_000)
	expect(system.sendings).toEqual([])
	expect(await system.outbox.resume('jobs')).toBe(true)
	expect(await system.outbox.resume('jobs')).toBe(false)
	await system.clock.advance(POLL_MS)
	expect(system.sendings).toHaveLength(3)
	expect(elsewhere.eventsOf('relay_resumed')).toMatchObject([{ destination: 'jobs', pausedForMs: 0 }])
})

test('a pause with forMs ends by itself, without waiting for the next poll', async () => {
	await using system = await setup()
	await system.enqueue(1)
	await system.outbox.pause('jobs', { forMs: 90_000 })
	await system.relay({ jobs: system.sends() }, { pollMs: 60_000 })
	await system.clock.advance(89_900)
	expect(system.sendings).toEqual([])
	await system.clock.advance(200)
	expect(system.sendings).toHaveLength(1)
})

test('neither a success of a message in flight nor a probe ends a pause', async () => {
	await using system = await setup()
	await system.enqueue(10)
	let isDown = true
	const deliver = system.sends(async () => {
		await system.pause(5_000)
		if (isDown) down()
	})
	await system.relay(
		{ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY, rampUpMs: 0 },
	)
	// The circuit opens after three failures, and a probe is in flight ten seconds later.
	await system.clock.advance(27_000)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open'])
	expect(system.sendings).toHaveLength(4)
	isDown = false
	await system.outbox.pause('jobs')
	await system.clock.advance(300_000)
	expect(system.sendings).toHaveLength(4)
	expect((await system.outbox.stats()).circuits).toMatchObject([
		{ reason: 'operator', pausedForMs: Infinity },
	])
	await system.outbox.resume('jobs')
	await system.clock.advance(120_000)
	expect(await system.outbox.list()).toEqual([])
})

test('resume leaves an open circuit open unless closeCircuit is given', async () => {
	await using system = await setup()
	await system.enqueue(5)
	let isDown = true
	const deliver = system.sends(() => (isDown ? down() : undefined))
	const breaker = { ...BREAKER, resetBackoff: { ...BREAKER.resetBackoff, initialMs: 300_000 } }
	const options = { retry: { ...RETRY, baseDelayMs: 10 }, rampUpMs: 0 }
	await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: breaker } }, options)
	await system.clock.advance(5_000)
	const tries = system.sendings.length
	isDown = false
	await system.outbox.pause('jobs')
	await system.outbox.resume('jobs')
	await system.clock.advance(60_000)
	expect(system.sendings).toHaveLength(tries)
	expect(await system.outbox.resume('jobs', { closeCircuit: true })).toBe(true)
	await system.clock.advance(2_000)
	expect(await system.outbox.list()).toEqual([])
})

test('closeCircuit ends a Retry-After of every relay, but not the pause of an operator', async () => {
	await using system = await setup()
	await using elsewhere = new Process(system)
	let isBusy = true
	const deliver = system.sends(() => {
		if (isBusy) throw Object.assign(new HttpError(429), { retryAfterMs: 3_000_000 })
	})
	const options = { retry: { ...RETRY, delayFor: () => 10 }, rampUpMs: 0 }
	await system.relay({ jobs: deliver }, options)
	await elsewhere.relay({ jobs: deliver }, options)
	await system.enqueue(1)
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(1)
	isBusy = false
	await system.outbox.pause('jobs')
	expect(await system.outbox.closeCircuit('jobs')).toBe(true)
	expect(await system.outbox.closeCircuit('jobs')).toBe(false)
	await system.outbox.retry({ destination: 'jobs' })
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(1)
	await system.outbox.resume('jobs')
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(2)
})

test('stats lists a paused destination without messages and relays, and why names who paused it', async () => {
	await using system = await setup()
	await system.outbox.pause('empty', { by: 'ada@ops', reason: 'deploy', forMs: 60_000 })
	expect((await system.outbox.stats()).circuits).toEqual([
		{
			destination: 'empty',
			state: 'closed',
			pausedForMs: 60_000,
			reason: 'operator',
			operatorPause: { by: 'ada@ops', reason: 'deploy', pausedForMs: 60_000, pausedAt: expect.any(Date) },
		},
	])
	const [id = ''] = await system.enqueue(1, { topic: 'empty' })
	expect(await system.outbox.why(id)).toContain(
		"destination 'empty' is paused by ada@ops (deploy), for another 60 s",
	)
})

test('a pause without a name is attributed to user and host of the process', async () => {
	await using system = await setup()
	await system.outbox.pause('jobs')
	const [circuit] = (await system.outbox.stats()).circuits
	expect(circuit?.operatorPause?.by).toMatch(/^.+@.+$/)
	expect(circuit?.operatorPause?.reason).toBeNull()
})

test('rejects invalid destinations and options', async () => {
	await using system = await setup()
	const { outbox } = system
	const invalid = (option: string) => ({ code: 'YAOKI_INVALID_OPTION', optionPath: option })
	const argument = { code: 'YAOKI_INVALID_ARGUMENT', argument: 'destination' }
	await expect(outbox.pause('')).rejects.toMatchObject(argument)
	await expect(outbox.resume('a\0')).rejects.toMatchObject(argument)
	await expect(outbox.closeCircuit('é'.repeat(200))).rejects.toMatchObject(argument)
	await expect(outbox.pause('a', { forMs: 0 })).rejects.toMatchObject(invalid('forMs'))
	await expect(outbox.pause('a', { forMs: Number.NaN })).rejects.toMatchObject(invalid('forMs'))
	await expect(outbox.pause('a', { by: 'x'.repeat(256) })).rejects.toMatchObject(invalid('by'))
	await expect(outbox.pause('a', { reason: '' })).rejects.toMatchObject(invalid('reason'))
	// @ts-expect-error an unknown option
	await expect(outbox.pause('a', { for: 1 })).rejects.toMatchObject(invalid('for'))
	// @ts-expect-error not a boolean
	await expect(outbox.resume('a', { closeCircuit: 1 })).rejects.toMatchObject(invalid('closeCircuit'))
	expect((await outbox.stats()).circuits).toEqual([])
})
