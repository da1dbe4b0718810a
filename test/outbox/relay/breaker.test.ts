import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import { Process } from './process.ts'
import { type World, world } from './world.ts'

const no = () => {
	throw new Error('down')
}
const BREAKER = {
	failureThreshold: 3,
	resetBackoff: { initialMs: 10_000, factor: 2, jitterStrategy: 'none' },
} as const
const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 20 } as const

const attempts = async (here: World) =>
	(await here.outbox.list()).map((one) => one.attempts).toSorted((a, b) => a - b)

test('an open circuit uses no attempts: claimed messages are released, queued ones stay', async () => {
	await using here = await world()
	await here.enqueue(40)
	await here.relay(
		{ jobs: { deliver: here.sends(no), maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY },
	)
	await here.clock.advance(9_000)
	expect(here.sendings).toHaveLength(3)
	expect(await attempts(here)).toEqual([...Array.from({ length: 37 }, () => 0), 1, 1, 1])
	expect(here.eventsOf('relay_released').every(({ reason }) => reason === 'paused')).toBe(true)
	expect(here.eventsOf('relay_state_change')).toMatchObject([
		{ from: 'closed', to: 'open', reason: 'circuit-open' },
	])
})

test('a failed probe extends the open time; a successful one closes the circuit', async () => {
	await using here = await world()
	await here.enqueue(10)
	let isDown = true
	const deliver = here.sends(() => (isDown ? no() : undefined))
	await here.relay(
		{ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY, rampUpMs: 0 },
	)
	await here.clock.advance(100_000)
	// Probes after 10 s, 20 s and 40 s.
	const probes = here.sendings.slice(3).map(({ at }) => Math.round(at / 1_000))
	expect(probes).toEqual([10, 30, 70])
	isDown = false
	await here.clock.advance(60_000)
	expect(await here.outbox.list()).toEqual([])
	const changes = here.eventsOf('relay_state_change').map(({ to }) => to)
	expect(changes.slice(-2)).toEqual(['half-open', 'closed'])
})

test('a message does not become a dead letter while its destination refuses connections', async () => {
	// Regression: with probes after a second instead of ten, the only message of a destination was dead half a minute after an outage had begun.
	await using here = await world()
	await here.enqueue(1)
	const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
	const deliver = here.sends(() => {
		if (here.clock.now() < 3_600_000) throw refused
	})
	await here.relay({ jobs: deliver })
	await here.clock.advance(3_600_000)
	expect(here.sendings.length).toBeGreaterThan(20)
	// 5 failures opened the circuit.
	expect(await attempts(here)).toEqual([5])
	await here.clock.advance(300_000)
	expect(here.eventsOf('relay_sent')).toHaveLength(1)
})

test('by default a destination that was down for 2 s gets messages at most 2 s later', async () => {
	// Regression: the circuit was open for 5 to 10 s, however short the outage was.
	await using here = await world()
	await here.enqueue(100)
	const deliver = here.sends(() => (here.clock.now() < 2_000 ? no() : undefined))
	await here.relay({ jobs: deliver })
	await here.clock.advance(4_000)
	expect(here.eventsOf('relay_state_change').map(({ to }) => to)).toContain('closed')
	expect(here.eventsOf('relay_sent').length).toBeGreaterThan(0)
})

test('exactly one of three relays probes', async () => {
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
		await here.relay({ jobs: { deliver, maxConcurrent: 2, circuitBreaker: BREAKER } }, { retry: RETRY })
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

test('a relay that crashes while probing does not block the circuit', async () => {
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
				maxConcurrent: 1,
				circuitBreaker: BREAKER,
			},
		},
		options,
	)
	await here.clock.advance(11_000)
	expect(here.sendings).toHaveLength(4)
	isDown = false
	await here.relay(
		{ jobs: { deliver: here.sends(() => (isDown ? no() : undefined)), circuitBreaker: BREAKER } },
		options,
	)
	await here.clock.advance(60_000)
	expect(await here.outbox.list()).toEqual([])
})

test('a relay with handlers that hang since before the outage still probes', async () => {
	// Regression: hung handlers occupied the slot of the probe, so the relay never sent it and the circuit stayed half-open.
	await using here = await world()
	await here.enqueue(10)
	let isDown = true
	const deliver = here.sends(({ payload }) =>
		Number(payload) <= 3 && isDown ? new Promise(() => {}) : undefined,
	)
	await here.relay(
		{ jobs: { deliver, maxConcurrent: 5, circuitBreaker: { ...BREAKER, failureThreshold: 3 } } },
		{ retry: { ...RETRY, baseDelayMs: 60_000 }, timeoutMs: 1_000, rampUpMs: 0 },
	)
	await here.clock.advance(2_000)
	expect(here.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open'])
	isDown = false
	await here.enqueue(5)
	await here.clock.advance(120_000)
	expect(await here.outbox.list()).toEqual([])
})

test('results of deliveries from before the outage do not count for the probe', async () => {
	// Regression: the late success of an older delivery closed the circuit of a host that was down.
	await using here = await world()
	await here.enqueue(1, { payload: 'slow' })
	await here.enqueue(8)
	const deliver = here.sends(({ payload }) =>
		payload === 'slow' ? here.pause(13_000) : here.pause(2_000).then(no),
	)
	await here.relay({ jobs: { deliver, maxConcurrent: 4, circuitBreaker: BREAKER } }, { retry: RETRY })
	await here.clock.advance(13_900)
	expect(here.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open'])
	await here.clock.advance(1_000)
	expect(here.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open', 'open'])
})

test('after an outage concurrency ramps up from one, even if no message ends', async () => {
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
		{ jobs: { deliver, maxConcurrent: 16, circuitBreaker: BREAKER } },
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

test('successThreshold probes close the circuit, one by one', async () => {
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
		{ jobs: { deliver, maxConcurrent: 4, circuitBreaker: breaker } },
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

test('permanent errors do not open the circuit without a permanentThreshold', async () => {
	await using here = await world()
	await here.enqueue(20)
	const deliver = here.sends(() => {
		throw permanent(new HttpError(400))
	})
	await here.relay({ jobs: { deliver, circuitBreaker: { ...BREAKER, permanentThreshold: Infinity } } })
	await here.clock.advance(1_000)
	expect(here.sendings).toHaveLength(20)
	expect(here.eventsOf('relay_state_change')).toEqual([])
})

test('with circuitBreaker: false the circuit never opens', async () => {
	await using here = await world()
	await here.enqueue(50)
	await here.relay(
		{ jobs: { deliver: here.sends(no), circuitBreaker: false } },
		{ retry: RETRY, circuitBreaker: BREAKER },
	)
	await here.clock.advance(100)
	expect(here.sendings).toHaveLength(50)
})

test('a relay with circuitBreaker: false obeys a circuit that another relay opened', async () => {
	await using here = await world()
	await here.enqueue(10)
	const counting = await here.relay(
		{ jobs: { deliver: here.sends(no), maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY },
	)
	await here.clock.advance(100)
	await counting.stop()
	const before = here.sendings.length
	await here.relay({ jobs: { deliver: here.sends(), circuitBreaker: false } })
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(before)
	await here.clock.advance(60_000)
	expect(await here.outbox.list()).toEqual([])
})

test('a relay with queued messages notices within pollMs that another relay opened the circuit', async () => {
	// Regression: it read only circuits that it knew to be open, and sent its queued messages.
	await using here = await world()
	const quickThenSlow = here.sends(({ payload }) => (Number(payload) > 100 ? here.pause(1_500) : undefined))
	const options = { retry: RETRY, batchSize: 20 }
	await here.enqueue(100)
	await here.relay({ jobs: { deliver: quickThenSlow, maxConcurrent: 1, circuitBreaker: BREAKER } }, options)
	await here.clock.advance(500)
	await here.enqueue(40)
	await here.clock.advance(100)
	await here.enqueue(5)
	await here.relay({ jobs: { deliver: here.sends(no), maxConcurrent: 1, circuitBreaker: BREAKER } }, options)
	await here.clock.advance(3_000)
	expect(here.eventsOf('relay_state_change').some(({ to }) => to === 'open')).toBe(true)
	const before = here.sendings.length
	await here.clock.advance(5_000)
	expect(here.sendings).toHaveLength(before)
})

test('an open circuit with nothing due writes nothing', async () => {
	// Regression: every poll wrote the right to probe and its return.
	await using here = await world()
	await using there = new Process(here)
	await here.enqueue(3)
	const retry = { ...RETRY, baseDelayMs: 600_000, maxDelayMs: 600_000 }
	await there.relay({ jobs: { deliver: here.sends(no), circuitBreaker: BREAKER } }, { retry })
	await here.clock.advance(5_000)
	expect(there.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open'])
	there.calls.length = 0
	await here.clock.advance(60_000)
	expect(there.calls).not.toContain('changeCircuit')
	const [circuit] = await here.store.circuits(['jobs'])
	expect(circuit).toMatchObject({ state: 'open', version: 1 })
	await here.enqueue(1)
	await here.clock.advance(1_000)
	expect(here.sendings).toHaveLength(4)
})

test.for([
	['blocked by dead letters', 0],
	['waiting for a retry of an earlier one', 20],
])(
	'an open circuit with all due messages of an ordered destination %s writes nothing',
	async ([, maxRetries]) => {
		// Regression: due messages that no relay may claim were a reason to probe, which wrote twice per poll.
		await using here = await world()
		await using there = new Process(here)
		for (const key of ['a', 'b', 'c']) await here.enqueue(2, { key })
		const retry = { ...RETRY, maxRetries: Number(maxRetries), baseDelayMs: 600_000, maxDelayMs: 600_000 }
		await there.relay({ jobs: { deliver: here.sends(no), order: true, circuitBreaker: BREAKER } }, { retry })
		await here.clock.advance(5_000)
		expect(there.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open'])
		expect(here.sendings).toHaveLength(3)
		await here.clock.advance(10_000)
		there.calls.length = 0
		await here.clock.advance(60_000)
		expect(there.calls).not.toContain('changeCircuit')
		expect(here.sendings).toHaveLength(3)
		await here.enqueue(1, { key: 'd' })
		await here.clock.advance(1_000)
		expect(here.sendings).toHaveLength(4)
	},
)
