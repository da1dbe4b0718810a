import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import { Process } from '../relay/process.ts'
import { world } from '../relay/world.ts'

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
	await using here = await world()
	await using elsewhere = new Process(here)
	const deliver = here.sends(() => here.pause(400))
	const options = { pollMs: POLL_MS, rampUpMs: 0 }
	await here.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await elsewhere.relay({ jobs: { deliver, maxConcurrent: 1 } }, options)
	await here.enqueue(200)
	await here.clock.advance(2_000)
	await here.outbox.pause('jobs', { by: 'ada@ops', reason: 'deploy' })
	await here.clock.advance(POLL_MS + 400)
	const sent = here.sendings.length
	await here.clock.advance(60_000)
	expect(here.sendings).toHaveLength(sent)
	const left = await here.outbox.list({}, { limit: 1_000 })
	expect(left).toHaveLength(200 - sent)
	expect(left.every(({ attempts, status }) => attempts === 0 && status === 'pending')).toBe(true)
	const pause = { destination: 'jobs', reason: 'operator', pausedForMs: Infinity }
	expect(here.eventsOf('relay_paused')).toMatchObject([pause])
	expect(elsewhere.eventsOf('relay_paused')).toMatchObject([pause])
})

test('an ordered destination stops too, within a run of messages of one key', async () => {
	await using here = await world()
	const deliver = here.sends(() => here.pause(400))
	await here.relay({ jobs: { deliver, order: true } }, { pollMs: POLL_MS, rampUpMs: 0 })
	await here.enqueue(100, { key: 'k' })
	await here.clock.advance(2_000)
	await here.outbox.pause('jobs')
	await here.clock.advance(POLL_MS + 400)
	const sent = here.sendings.length
	expect(sent).toBeGreaterThan(0)
	await here.clock.advance(60_000)
	expect(here.sendings).toHaveLength(sent)
	await here.outbox.resume('jobs')
	await here.clock.advance(60_000)
	expect(here.payloads()).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
})

test('a pause survives a restart of all relays, and resume ends it within a poll', async () => {
	await using here = await world()
	await here.outbox.pause('jobs')
	await here.enqueue(3)
	const first = await here.relay({ jobs: here.sends() }, { pollMs: POLL_MS })
	await here.clock.advance(60_000)
	const stopped = first.stop()
	await here.clock.advance(1_000)
	await stopped
	await using elsewhere = new Process(here)
	await elsewhere.relay({ '*': here.sends() }, { pollMs: POLL_MS, rampUpMs: 0 })
	await here.clock.advance(60_000)
	expect(here.sendings).toEqual([])
	expect(await here.outbox.resume('jobs')).toBe(true)
	expect(await here.outbox.resume('jobs')).toBe(false)
	await here.clock.advance(POLL_MS)
	expect(here.sendings).toHaveLength(3)
	expect(elsewhere.eventsOf('relay_resumed')).toMatchObject([{ destination: 'jobs', pausedForMs: 0 }])
})

test('a pause with forMs ends by itself, without waiting for the next poll', async () => {
	await using here = await world()
	await here.enqueue(1)
	await here.outbox.pause('jobs', { forMs: 90_000 })
	await here.relay({ jobs: here.sends() }, { pollMs: 60_000 })
	await here.clock.advance(89_900)
	expect(here.sendings).toEqual([])
	await here.clock.advance(200)
	expect(here.sendings).toHaveLength(1)
})

test('neither a success of a message in flight nor a probe ends a pause', async () => {
	await using here = await world()
	await here.enqueue(10)
	let isDown = true
	const deliver = here.sends(async () => {
		await here.pause(5_000)
		if (isDown) down()
	})
	await here.relay(
		{ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY, rampUpMs: 0 },
	)
	// The circuit opens after three failures, and a probe is in flight ten seconds later.
	await here.clock.advance(27_000)
	expect(here.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open'])
	expect(here.sendings).toHaveLength(4)
	isDown = false
	await here.outbox.pause('jobs')
	await here.clock.advance(300_000)
	expect(here.sendings).toHaveLength(4)
	expect((await here.outbox.stats()).circuits).toMatchObject([{ reason: 'operator', pausedForMs: Infinity }])
	await here.outbox.resume('jobs')
	await here.clock.advance(120_000)
	expect(await here.outbox.list()).toEqual([])
})

test('resume leaves an open circuit open unless closeCircuit is given', async () => {
	await using here = await world()
	await here.enqueue(5)
	let isDown = true
	const deliver = here.sends(() => (isDown ? down() : undefined))
	const breaker = { ...BREAKER, resetBackoff: { ...BREAKER.resetBackoff, initialMs: 300_000 } }
	const options = { retry: { ...RETRY, baseDelayMs: 10 }, rampUpMs: 0 }
	await here.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: breaker } }, options)
	await here.clock.advance(5_000)
	const tries = here.sendings.length
	isDown = false
	await here.outbox.pause('jobs')
	await here.outbox.resume('jobs')
	await here.clock.advance(60_000)
	expect(here.sendings).toHaveLength(tries)
	expect(await here.outbox.resume('jobs', { closeCircuit: true })).toBe(true)
	await here.clock.advance(2_000)
	expect(await here.outbox.list()).toEqual([])
})

test('closeCircuit ends a Retry-After of every relay, but not the pause of an operator', async () => {
	await using here = await world()
	await using elsewhere = new Process(here)
	let isBusy = true
	const deliver = here.sends(() => {
		if (isBusy) throw Object.assign(new HttpError(429), { retryAfterMs: 3_000_000 })
	})
	const options = { retry: { ...RETRY, delayFor: () => 10 }, rampUpMs: 0 }
	await here.relay({ jobs: deliver }, options)
	await elsewhere.relay({ jobs: deliver }, options)
	await here.enqueue(1)
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(1)
	isBusy = false
	await here.outbox.pause('jobs')
	expect(await here.outbox.closeCircuit('jobs')).toBe(true)
	expect(await here.outbox.closeCircuit('jobs')).toBe(false)
	await here.outbox.retry({ destination: 'jobs' })
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(1)
	await here.outbox.resume('jobs')
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(2)
})

test('stats lists a paused destination without messages and relays, and why names who paused it', async () => {
	await using here = await world()
	await here.outbox.pause('empty', { by: 'ada@ops', reason: 'deploy', forMs: 60_000 })
	expect((await here.outbox.stats()).circuits).toEqual([
		{
			destination: 'empty',
			state: 'closed',
			pausedForMs: 60_000,
			reason: 'operator',
			operatorPause: { by: 'ada@ops', reason: 'deploy', pausedForMs: 60_000, pausedAt: expect.any(Date) },
		},
	])
	const [id = ''] = await here.enqueue(1, { topic: 'empty' })
	expect(await here.outbox.why(id)).toContain(
		"destination 'empty' is paused by ada@ops (deploy), for another 60 s",
	)
})

test('a pause without a name is attributed to user and host of the process', async () => {
	await using here = await world()
	await here.outbox.pause('jobs')
	const [circuit] = (await here.outbox.stats()).circuits
	expect(circuit?.operatorPause?.by).toMatch(/^.+@.+$/)
	expect(circuit?.operatorPause?.reason).toBeNull()
})

test('rejects invalid destinations and options', async () => {
	await using here = await world()
	const { outbox } = here
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
