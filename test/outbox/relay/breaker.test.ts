import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import { Process } from './process.ts'
import { type World, world } from './world.ts'

const no = () => {
	throw new Error('down')
}
const BREAKER = {
	failureThreshold: 3,
	resetTimeoutMs: 10_000,
	resetBackoff: { jitterStrategy: 'none' },
} as const
const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 20 } as const

const attempts = async (here: World) =>
	(await here.outbox.list()).map((one) => one.attempts).toSorted((a, b) => a - b)

test('an open breaker burns no attempt: what was claimed is given back, what waits is left alone', async () => {
	await using here = await world()
	await here.enqueue(40)
	await here.relay({ jobs: { deliver: here.sends(no), concurrency: 1, breaker: BREAKER } }, { retry: RETRY })
	await here.clock.advance(9_000)
	expect(here.sendings).toHaveLength(3)
	expect(await attempts(here)).toEqual([...Array.from({ length: 37 }, () => 0), 1, 1, 1])
	expect(here.eventsOf('released').every(({ reason }) => reason === 'paused')).toBe(true)
	expect(here.eventsOf('state_change')).toMatchObject([
		{ from: 'closed', to: 'open', reason: 'circuit-open' },
	])
})

test('a probe that fails shuts it for longer, a probe that goes well lets all through', async () => {
	await using here = await world()
	await here.enqueue(10)
	let isDown = true
	const deliver = here.sends(() => (isDown ? no() : undefined))
	await here.relay({ jobs: { deliver, concurrency: 1, breaker: BREAKER } }, { retry: RETRY, rampUpMs: 0 })
	await here.clock.advance(100_000)
	// 10 s after opening, 20 s after that, 40 s after that.
	const probes = here.sendings.slice(3).map(({ at }) => Math.round(at / 1_000))
	expect(probes).toEqual([10, 30, 70])
	isDown = false
	await here.clock.advance(60_000)
	expect(await here.outbox.list()).toEqual([])
	const changes = here.eventsOf('state_change').map(({ to }) => to)
	expect(changes.slice(-2)).toEqual(['half-open', 'closed'])
})

test('of three relays exactly one probes', async () => {
	await using here = await world()
	await here.enqueue(30)
	let isDown = true
	let inFlight = 0
	let most = 0
	const deliver = here.sends(async () => {
		most = Math.max(most, ++inFlight)
		await here.pause(2_000)
		inFlight--
		if (isDown) no()
	})
	for (let n = 0; n < 3; n++)
		await here.relay({ jobs: { deliver, concurrency: 2, breaker: BREAKER } }, { retry: RETRY })
	await here.clock.advance(10_000)
	const before = here.sendings.length
	most = 0
	await here.clock.advance(80_000)
	expect(most).toBe(1)
	expect(here.sendings.length).toBeGreaterThan(before)
	isDown = false
	await here.clock.advance(120_000)
	expect(await here.outbox.list()).toEqual([])
})

test('a prober that dies does not lock the gate', async () => {
	await using here = await world()
	await here.enqueue(10)
	const doomed = new Process(here)
	let isDown = true
	const options = { retry: RETRY, leaseMs: 5_000, timeoutMs: 4_000 }
	await doomed.relay(
		{
			jobs: {
				deliver: here.sends(() => {
					if (here.sendings.length > 3) doomed.kill()
					return no()
				}),
				...{ concurrency: 1, breaker: BREAKER },
			},
		},
		options,
	)
	await here.clock.advance(11_000)
	expect(here.sendings).toHaveLength(4)
	isDown = false
	await here.relay(
		{ jobs: { deliver: here.sends(() => (isDown ? no() : undefined)), breaker: BREAKER } },
		options,
	)
	await here.clock.advance(60_000)
	expect(await here.outbox.list()).toEqual([])
})

test('a relay whose handlers hang from before the outage still probes beside them', async () => {
	// It took the one place of a probe for taken, asked to be the one who probes, and never did; and the gate was half-open for good.
	await using here = await world()
	await here.enqueue(10)
	let isDown = true
	const deliver = here.sends(({ payload }) =>
		Number(payload) <= 3 && isDown ? new Promise(() => {}) : undefined,
	)
	await here.relay(
		{ jobs: { deliver, concurrency: 5, breaker: { ...BREAKER, failureThreshold: 3 } } },
		{ retry: { ...RETRY, baseDelayMs: 60_000 }, timeoutMs: 1_000, rampUpMs: 0 },
	)
	await here.clock.advance(2_000)
	expect(here.eventsOf('state_change').map(({ to }) => to)).toEqual(['open'])
	isDown = false
	await here.enqueue(5)
	await here.clock.advance(120_000)
	expect(await here.outbox.list()).toEqual([])
})

test('what was started before the outage says nothing about the probe', async () => {
	// The late success of an older send was taken for that of the probe, and closed the gate of a host that was down.
	await using here = await world()
	await here.enqueue(1, { payload: 'slow' })
	await here.enqueue(8)
	const deliver = here.sends(({ payload }) =>
		payload === 'slow' ? here.pause(13_000) : here.pause(2_000).then(no),
	)
	await here.relay({ jobs: { deliver, concurrency: 4, breaker: BREAKER } }, { retry: RETRY })
	await here.clock.advance(13_900)
	expect(here.eventsOf('state_change').map(({ to }) => to)).toEqual(['open', 'half-open'])
	await here.clock.advance(1_000)
	expect(here.eventsOf('state_change').map(({ to }) => to)).toEqual(['open', 'half-open', 'open'])
})

test('after an outage concurrency grows from one, whether or not a message ends meanwhile', async () => {
	await using here = await world()
	await here.enqueue(200)
	let isDown = true
	let inFlight = 0
	const seen: number[] = []
	const deliver = here.sends(async () => {
		if (isDown) no()
		inFlight++
		seen.push(inFlight)
		await here.pause(500)
		inFlight--
	})
	await here.relay(
		{ jobs: { deliver, concurrency: 16, breaker: BREAKER } },
		{ retry: RETRY, rampUpMs: 10_000 },
	)
	await here.clock.advance(5_000)
	isDown = false
	await here.clock.advance(6_000)
	expect(Math.max(...seen)).toBe(1)
	await here.clock.advance(5_000)
	expect(Math.max(...seen)).toBeGreaterThanOrEqual(3)
	expect(Math.max(...seen)).toBeLessThanOrEqual(6)
	await here.clock.advance(8_000)
	expect(Math.max(...seen)).toBe(16)
	const firsts = seen.filter((most, at) => most > Math.max(0, ...seen.slice(0, at)))
	expect(firsts).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
})

test('successThreshold probes close it, one after the other', async () => {
	await using here = await world()
	await here.enqueue(12)
	let isDown = true
	let inFlight = 0
	const most: number[] = []
	const deliver = here.sends(async () => {
		if (isDown) no()
		most.push(++inFlight)
		await here.pause(700)
		inFlight--
	})
	const breaker = { ...BREAKER, successThreshold: 3 }
	await here.relay(
		{ jobs: { deliver, concurrency: 4, breaker } },
		{ retry: RETRY, rampUpMs: 0, timeoutMs: 1_000 },
	)
	await here.clock.advance(5_000)
	isDown = false
	await here.clock.advance(7_000)
	expect(most.slice(0, 3)).toEqual([1, 1, 1])
	await here.clock.advance(8_000)
	expect(Math.max(...most)).toBe(4)
	expect(await here.outbox.list()).toEqual([])
})

test('failures that are the message’s own fault do not open it', async () => {
	await using here = await world()
	await here.enqueue(20)
	const deliver = here.sends(() => {
		throw permanent(new HttpError(400))
	})
	await here.relay({ jobs: { deliver, breaker: BREAKER } })
	await here.clock.advance(1_000)
	expect(here.sendings).toHaveLength(20)
	expect(here.eventsOf('state_change')).toEqual([])
})

test('with breaker: false nothing is ever left alone', async () => {
	await using here = await world()
	await here.enqueue(50)
	await here.relay({ jobs: { deliver: here.sends(no), breaker: false } }, { retry: RETRY, breaker: BREAKER })
	await here.clock.advance(100)
	expect(here.sendings).toHaveLength(50)
})

test('a relay that counts no failures heeds the gate that another shut', async () => {
	await using here = await world()
	await here.enqueue(10)
	const counting = await here.relay(
		{ jobs: { deliver: here.sends(no), concurrency: 1, breaker: BREAKER } },
		{ retry: RETRY },
	)
	await here.clock.advance(100)
	await counting.stop()
	const before = here.sendings.length
	await here.relay({ jobs: { deliver: here.sends(), breaker: false } })
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(before)
	await here.clock.advance(60_000)
	expect(await here.outbox.list()).toEqual([])
})

test('a relay that holds messages hears within a poll that another has shut the gate', async () => {
	// It asked for the gates of those lanes only that it knew to be shut, and went on to send what it held.
	await using here = await world()
	const quickThenSlow = here.sends(({ payload }) => (Number(payload) > 100 ? here.pause(1_500) : undefined))
	const options = { retry: RETRY, batchSize: 20 }
	await here.enqueue(100)
	await here.relay({ jobs: { deliver: quickThenSlow, concurrency: 1, breaker: BREAKER } }, options)
	await here.clock.advance(500)
	await here.enqueue(40)
	await here.clock.advance(100)
	await here.enqueue(5)
	await here.relay({ jobs: { deliver: here.sends(no), concurrency: 1, breaker: BREAKER } }, options)
	await here.clock.advance(3_000)
	expect(here.eventsOf('state_change').some(({ to }) => to === 'open')).toBe(true)
	const before = here.sendings.length
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(before)
})
