import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import { Process } from './process.ts'
import { setup, type TestSystem } from './setup.ts'

const no = () => {
	throw new Error('down')
}
const BREAKER = {
	failureThreshold: 3,
	resetBackoff: { initialMs: 10_000, factor: 2, jitterStrategy: 'none' },
} as const
const RETRY = { baseDelayMs: 1_000, jitterStrategy: 'none', maxRetries: 20 } as const

const attempts = async (system: TestSystem) =>
	(await system.outbox.list()).map((one) => one.attempts).toSorted((a, b) => a - b)

test('an open circuit uses no attempts: claimed messages are released, queued ones stay', async () => {
	await using system = await setup()
	await system.enqueue(40)
	await system.relay(
		{ jobs: { deliver: system.sends(no), maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY },
	)
	await system.clock.advance(9_000)
	expect(system.sendings).toHaveLength(3)
	expect(await attempts(system)).toEqual([...Array.from({ length: 37 }, () => 0), 1, 1, 1])
	const reasons = new Set(system.eventsOf('relay_released').map(({ reason }) => reason))
	expect(reasons).toEqual(new Set(['paused']))
	expect(system.eventsOf('relay_state_change')).toMatchObject([
		{ from: 'closed', to: 'open', reason: 'circuit-open' },
	])
})

test('a failed probe extends the open time; a successful one closes the circuit', async () => {
	await using system = await setup()
	await system.enqueue(10)
	let isDown = true
	const deliver = system.sends(() => (isDown ? no() : undefined))
	await system.relay(
		{ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY, rampUpMs: 0 },
	)
	await system.clock.advance(100_000)
	// Probes after 10 s, 20 s and 40 s.
	const probes = system.sendings.slice(3).map(({ at }) => Math.round(at / 1_000))
	expect(probes).toEqual([10, 30, 70])
	isDown = false
	await system.clock.advance(60_000)
	expect(await system.outbox.list()).toEqual([])
	const changes = system.eventsOf('relay_state_change').map(({ to }) => to)
	expect(changes.slice(-2)).toEqual(['half-open', 'closed'])
})

test('a message does not become a dead letter while its destination refuses connections', async () => {
	// Regression: with probes after a second instead of ten, the only message of a destination was dead half a minute after an outage had begun.
	await using system = await setup()
	await system.enqueue(1)
	const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
	const deliver = system.sends(() => {
		if (system.clock.now() < 3_600_000) throw refused
	})
	await system.relay({ jobs: deliver })
	await system.clock.advance(3_600_000)
	expect(system.sendings.length).toBeGreaterThan(20)
	// 5 failures opened the circuit.
	expect(await attempts(system)).toEqual([5])
	await system.clock.advance(300_000)
	expect(system.eventsOf('relay_sent')).toHaveLength(1)
})

test('by default a destination that was down for 2 s gets messages at most 2 s later', async () => {
	// Regression: the circuit was open for 5 to 10 s, however short the outage was.
	await using system = await setup()
	await system.enqueue(100)
	const deliver = system.sends(() => (system.clock.now() < 2_000 ? no() : undefined))
	await system.relay({ jobs: deliver })
	await system.clock.advance(4_000)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toContain('closed')
	expect(system.eventsOf('relay_sent').length).toBeGreaterThan(0)
})

test('exactly one of three relays probes', async () => {
	await using system = await setup()
	await system.enqueue(30)
	let isDown = true
	let inFlight = 0
	let most = 0
	const deliver = system.sends(async () => {
		most = Math.max(most, ++inFlight)
		await system.pause(2_000)
		inFlight--
		if (isDown) no()
	})
	for (let n = 0; n < 3; n++)
		await system.relay({ jobs: { deliver, maxConcurrent: 2, circuitBreaker: BREAKER } }, { retry: RETRY })
	await system.clock.advance(10_000)
	const before = system.sendings.length
	most = 0
	await system.clock.advance(80_000)
	expect(most).toBe(1)
	expect(system.sendings.length).toBeGreaterThan(before)
	isDown = false
	await system.clock.advance(120_000)
	expect(await system.outbox.list()).toEqual([])
})

test('a relay that crashes while probing does not block the circuit', async () => {
	await using system = await setup()
	await system.enqueue(10)
	const crashing = new Process(system)
	let isDown = true
	const options = { retry: RETRY, leaseMs: 5_000, timeoutMs: 4_000 }
	await crashing.relay(
		{
			jobs: {
				deliver: system.sends(() => {
					if (system.sendings.length > 3) crashing.kill()
					return no()
				}),
				maxConcurrent: 1,
				circuitBreaker: BREAKER,
			},
		},
		options,
	)
	await system.clock.advance(11_000)
	expect(system.sendings).toHaveLength(4)
	isDown = false
	await system.relay(
		{ jobs: { deliver: system.sends(() => (isDown ? no() : undefined)), circuitBreaker: BREAKER } },
		options,
	)
	await system.clock.advance(60_000)
	expect(await system.outbox.list()).toEqual([])
})

test('a relay with handlers that hang since before the outage still probes', async () => {
	// Regression: hung handlers occupied the slot of the probe, so the relay never sent it and the circuit stayed half-open.
	await using system = await setup()
	await system.enqueue(10)
	let isDown = true
	const deliver = system.sends(({ payload }) =>
		Number(payload) <= 3 && isDown ? new Promise(() => {}) : undefined,
	)
	await system.relay(
		{ jobs: { deliver, maxConcurrent: 5, circuitBreaker: { ...BREAKER, failureThreshold: 3 } } },
		{ retry: { ...RETRY, baseDelayMs: 60_000 }, timeoutMs: 1_000, rampUpMs: 0 },
	)
	await system.clock.advance(2_000)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open'])
	isDown = false
	await system.enqueue(5)
	await system.clock.advance(120_000)
	expect(await system.outbox.list()).toEqual([])
})

test('results of deliveries from before the outage do not count for the probe', async () => {
	// Regression: the late success of an older delivery closed the circuit of a host that was down.
	await using system = await setup()
	await system.enqueue(1, { payload: 'slow' })
	await system.enqueue(8)
	const deliver = system.sends(({ payload }) =>
		payload === 'slow' ? system.pause(13_000) : system.pause(2_000).then(no),
	)
	await system.relay({ jobs: { deliver, maxConcurrent: 4, circuitBreaker: BREAKER } }, { retry: RETRY })
	await system.clock.advance(13_900)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open'])
	await system.clock.advance(1_000)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open', 'open'])
})

test('after an outage concurrency ramps up from one, even if no message ends', async () => {
	await using system = await setup()
	await system.enqueue(200)
	let isDown = true
	let inFlight = 0
	const seen: number[] = []
	const deliver = system.sends(async () => {
		if (isDown) no()
		inFlight++
		seen.push(inFlight)
		await system.pause(500)
		inFlight--
	})
	await system.relay(
		{ jobs: { deliver, maxConcurrent: 16, circuitBreaker: BREAKER } },
		{ retry: RETRY, rampUpMs: 10_000 },
	)
	await system.clock.advance(5_000)
	isDown = false
	await system.clock.advance(6_000)
	expect(Math.max(...seen)).toBe(1)
	await system.clock.advance(5_000)
	expect(Math.max(...seen)).toBeGreaterThanOrEqual(3)
	expect(Math.max(...seen)).toBeLessThanOrEqual(6)
	await system.clock.advance(8_000)
	expect(Math.max(...seen)).toBe(16)
	const firsts = seen.filter((most, at) => most > Math.max(0, ...seen.slice(0, at)))
	expect(firsts).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
})

test('successThreshold probes close the circuit, one by one', async () => {
	await using system = await setup()
	await system.enqueue(12)
	let isDown = true
	let inFlight = 0
	const most: number[] = []
	const deliver = system.sends(async () => {
		if (isDown) no()
		most.push(++inFlight)
		await system.pause(700)
		inFlight--
	})
	const breaker = { ...BREAKER, successThreshold: 3 }
	await system.relay(
		{ jobs: { deliver, maxConcurrent: 4, circuitBreaker: breaker } },
		{ retry: RETRY, rampUpMs: 0, timeoutMs: 1_000 },
	)
	await system.clock.advance(5_000)
	isDown = false
	await system.clock.advance(7_000)
	expect(most.slice(0, 3)).toEqual([1, 1, 1])
	await system.clock.advance(8_000)
	expect(Math.max(...most)).toBe(4)
	expect(await system.outbox.list()).toEqual([])
})

test('permanent errors do not open the circuit without a permanentThreshold', async () => {
	await using system = await setup()
	await system.enqueue(20)
	const deliver = system.sends(() => {
		throw permanent(new HttpError(400))
	})
	await system.relay({ jobs: { deliver, circuitBreaker: { ...BREAKER, permanentThreshold: Infinity } } })
	await system.clock.advance(1_000)
	expect(system.sendings).toHaveLength(20)
	expect(system.eventsOf('relay_state_change')).toEqual([])
})

test('with circuitBreaker: false the circuit never opens', async () => {
	await using system = await setup()
	await system.enqueue(50)
	await system.relay(
		{ jobs: { deliver: system.sends(no), circuitBreaker: false } },
		{ retry: RETRY, circuitBreaker: BREAKER },
	)
	await system.clock.advance(100)
	expect(system.sendings).toHaveLength(50)
})

test('a relay with circuitBreaker: false obeys a circuit that another relay opened', async () => {
	await using system = await setup()
	await system.enqueue(10)
	const counting = await system.relay(
		{ jobs: { deliver: system.sends(no), maxConcurrent: 1, circuitBreaker: BREAKER } },
		{ retry: RETRY },
	)
	await system.clock.advance(100)
	await counting.stop()
	const before = system.sendings.length
	await system.relay({ jobs: { deliver: system.sends(), circuitBreaker: false } })
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(before)
	await system.clock.advance(60_000)
	expect(await system.outbox.list()).toEqual([])
})

test('a relay with queued messages notices within pollMs that another relay opened the circuit', async () => {
	// Regression: it read only circuits that it knew to be open, and sent its queued messages.
	await using system = await setup()
	const quickThenSlow = system.sends(({ payload }) =>
		Number(payload) > 100 ? system.pause(1_500) : undefined,
	)
	const options = { retry: RETRY, batchSize: 20 }
	await system.enqueue(100)
	await system.relay({ jobs: { deliver: quickThenSlow, maxConcurrent: 1, circuitBreaker: BREAKER } }, options)
	await system.clock.advance(500)
	await system.enqueue(40)
	await system.clock.advance(100)
	await system.enqueue(5)
	await system.relay(
		{ jobs: { deliver: system.sends(no), maxConcurrent: 1, circuitBreaker: BREAKER } },
		options,
	)
	await system.clock.advance(3_000)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toContain('open')
	const before = system.sendings.length
	await system.clock.advance(5_000)
	expect(system.sendings).toHaveLength(before)
})

test('an open circuit with nothing due writes nothing', async () => {
	// Regression: every poll wrote the right to probe and its return.
	await using system = await setup()
	await using there = new Process(system)
	await system.enqueue(3)
	const retry = { ...RETRY, baseDelayMs: 600_000, maxDelayMs: 600_000 }
	await there.relay({ jobs: { deliver: system.sends(no), circuitBreaker: BREAKER } }, { retry })
	await system.clock.advance(5_000)
	expect(there.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open'])
	there.calls.length = 0
	await system.clock.advance(60_000)
	expect(there.calls).not.toContain('changeCircuit')
	const [circuit] = await system.store.circuits(['jobs'])
	expect(circuit).toMatchObject({ state: 'open', version: 1 })
	await system.enqueue(1)
	await system.clock.advance(1_000)
	expect(system.sendings).toHaveLength(4)
})

test.for([
	['blocked by dead letters', 0],
	['waiting for a retry of an earlier one', 20],
])(
	'an open circuit with all due messages of an ordered destination %s writes nothing',
	async ([, maxRetries]) => {
		// Regression: due messages that no relay may claim were a reason to probe, which wrote twice per poll.
		await using system = await setup()
		await using there = new Process(system)
		for (const key of ['a', 'b', 'c']) await system.enqueue(2, { key })
		const retry = { ...RETRY, maxRetries: Number(maxRetries), baseDelayMs: 600_000, maxDelayMs: 600_000 }
		await there.relay(
			{ jobs: { deliver: system.sends(no), order: true, circuitBreaker: BREAKER } },
			{ retry },
		)
		await system.clock.advance(5_000)
		expect(there.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open'])
		expect(system.sendings).toHaveLength(3)
		await system.clock.advance(10_000)
		there.calls.length = 0
		await system.clock.advance(60_000)
		expect(there.calls).not.toContain('changeCircuit')
		expect(system.sendings).toHaveLength(3)
		await system.enqueue(1, { key: 'd' })
		await system.clock.advance(1_000)
		expect(system.sendings).toHaveLength(4)
	},
)
