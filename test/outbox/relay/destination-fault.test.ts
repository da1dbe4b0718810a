import { describe, expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import { setup } from './setup.ts'

const BREAKER = { resetBackoff: { initialMs: 10_000, factor: 2, jitterStrategy: 'none' } } as const

const coded = (code: string, message = 'fetch failed') =>
	Object.assign(new TypeError(message), { cause: Object.assign(new Error(code), { code }) })

const throws = (error: unknown) => () => {
	throw error
}

describe('an error of the destination that opens the circuit at the first failure', () => {
	// Regression: an expired certificate made 500 of 500 messages dead letters in 1.5 s.
	test.for([
		['an expired certificate', coded('CERT_HAS_EXPIRED'), 'certificate'],
		['a certificate of another host', coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'certificate'],
		['an unknown issuer', coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'certificate'],
		['a self-signed certificate', coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'certificate'],
		['a failed handshake', coded('ERR_SSL_WRONG_VERSION_NUMBER'), 'certificate'],
		['401', new HttpError(401), 'credentials'],
		['403', new HttpError(403), 'credentials'],
		['gRPC UNAUTHENTICATED', Object.assign(new Error('16'), { code: 16, details: 'no' }), 'credentials'],
	] as const)('keeps every message queued after %s', async ([, error, reason]) => {
		await using system = await setup()
		await system.enqueue(500)
		const deliver = system.sends(async () => {
			await system.pause(5)
			throw error
		})
		await system.relay({ jobs: { deliver, circuitBreaker: BREAKER } })
		await system.clock.advance(1_500)
		expect(system.sendings).toHaveLength(16)
		expect(system.eventsOf('relay_dead_letter')).toEqual([])
		const messages = await system.outbox.list({}, { limit: 1_000 })
		expect(messages).toHaveLength(500)
		expect(messages.filter(({ status, attempts }) => status !== 'pending' || attempts > 0)).toEqual([])
		const { errorMessage } = system.eventsOf('relay_state_change')[0] ?? {}
		expect(system.eventsOf('relay_state_change')).toMatchObject([{ from: 'closed', to: 'open', reason }])
		expect(errorMessage).not.toBe('')
		const [first] = messages
		expect(await system.outbox.why(String(first?.id))).toMatch(
			reason === 'certificate'
				? /circuit is open because .*certificate/
				: /circuit is open because .*401 or 403/,
		)
	})
})

test('the fourth permanent failure in a row is a dead letter; the fifth message opens the circuit and stays queued', async () => {
	await using system = await setup()
	const ids = await system.enqueue(20)
	const deliver = system.sends(throws(new HttpError(404)))
	await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } })
	await system.clock.advance(1_000)
	expect(system.sendings).toHaveLength(5)
	expect(system.eventsOf('relay_dead_letter').map(({ messageId }) => messageId)).toEqual(ids.slice(0, 4))
	expect(system.eventsOf('relay_state_change')).toMatchObject([
		{ to: 'open', reason: 'permanent-failures', deadLetters: ids.slice(0, 4), statusCode: 404 },
	])
	expect(await system.outbox.find(String(ids[4]))).toMatchObject({ status: 'pending', attempts: 0 })
	expect(await system.outbox.why(String(ids[5]))).toContain('different messages in a row failed permanently')
})

test('with 16 messages in flight four become dead letters, and the others stay queued', async () => {
	await using system = await setup()
	await system.enqueue(100)
	const deliver = system.sends(throws(new HttpError(422)))
	await system.relay({ jobs: { deliver, circuitBreaker: BREAKER } })
	await system.clock.advance(1_000)
	expect(system.eventsOf('relay_dead_letter')).toHaveLength(4)
	expect(await system.outbox.list({ status: 'pending' }, { limit: 200 })).toHaveLength(96)
})

test('each probe is another message, and one that succeeds closes the circuit', async () => {
	await using system = await setup()
	const ids = await system.enqueue(12)
	// The first eight messages are invalid.
	const deliver = system.sends(({ payload }) => {
		if (Number(payload) <= 8) throw new HttpError(422)
	})
	await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } }, { rampUpMs: 0 })
	await system.clock.advance(200_000)
	expect(system.sendings.slice(4, 9).map(({ id }) => id)).toEqual(ids.slice(4, 9))
	// The four that opened the circuit or failed as probes are then sent again; four in a row are not enough to open it.
	expect(await system.outbox.list({ status: 'pending' })).toEqual([])
	expect(system.eventsOf('relay_sent')).toHaveLength(4)
	expect(system.eventsOf('relay_dead_letter')).toHaveLength(8)
})

test('where order allows no other message, the probe is the same message', async () => {
	await using system = await setup()
	let isBroken = true
	const [first] = await system.enqueue(3, { key: 'a' })
	const deliver = system.sends(() => {
		if (isBroken) throw new HttpError(401)
	})
	await system.relay({ jobs: { deliver, order: true, circuitBreaker: BREAKER } }, { rampUpMs: 0 })
	await system.clock.advance(15_000)
	expect(system.sendings.map(({ id }) => id)).toEqual([first, first])
	isBroken = false
	await system.clock.advance(60_000)
	expect(system.payloads()).toEqual([1, 1, 1, 2, 3])
})

test('a fixed certificate closes the circuit, with no dead letter and no attempt counted', async () => {
	await using system = await setup()
	await system.enqueue(30)
	let isBroken = true
	const deliver = system.sends(() => {
		if (isBroken) throw coded('CERT_HAS_EXPIRED')
	})
	await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } }, { rampUpMs: 0 })
	await system.clock.advance(35_000)
	const changes = system.eventsOf('relay_state_change').map(({ to, reason }) => [to, reason])
	expect(changes).toEqual([
		['open', 'certificate'],
		['half-open', 'probe'],
		['open', 'certificate'],
		['half-open', 'probe'],
		['open', 'certificate'],
	])
	isBroken = false
	await system.clock.advance(60_000)
	expect(await system.outbox.list()).toEqual([])
	expect(system.eventsOf('relay_dead_letter')).toEqual([])
	expect(system.eventsOf('relay_sent').map(({ attempts }) => attempts)).toEqual(
		Array.from({ length: 30 }, () => 1),
	)
})

test('single bad messages between good ones are dead letters, and the circuit stays closed', async () => {
	await using system = await setup()
	await system.enqueue(40)
	const deliver = system.sends(({ payload }) => {
		if (Number(payload) % 5 !== 0) throw new HttpError(400)
	})
	await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: BREAKER } })
	await system.clock.advance(1_000)
	expect(system.eventsOf('relay_dead_letter')).toHaveLength(32)
	expect(system.eventsOf('relay_state_change')).toEqual([])
})

test('one message that is replayed and fails again counts once', async () => {
	await using system = await setup()
	await system.enqueue(1)
	await system.relay({ jobs: { deliver: system.sends(throws(new HttpError(410))), circuitBreaker: BREAKER } })
	for (let n = 0; n < 8; n++) {
		await system.clock.advance(1_000)
		await system.outbox.dead.replay({}, { all: true, canary: false })
	}
	await system.clock.advance(1_000)
	expect(system.sendings).toHaveLength(9)
	expect(system.eventsOf('relay_state_change')).toEqual([])
})

test('after another outage, a probe that is rejected becomes a dead letter and closes the circuit', async () => {
	await using system = await setup()
	await system.enqueue(1)
	let error: Error = new HttpError(500)
	const deliver = system.sends(() => throws(error)())
	const breaker = { ...BREAKER, failureThreshold: 1 }
	await system.relay({ jobs: { deliver, circuitBreaker: breaker } })
	await system.clock.advance(1_000)
	error = new HttpError(422)
	await system.clock.advance(100_000)
	expect(system.eventsOf('relay_state_change').map(({ to }) => to)).toEqual(['open', 'half-open', 'closed'])
	expect(system.eventsOf('relay_dead_letter')).toHaveLength(1)
})

describe('user code', () => {
	const run = async (error: Error, breaker: object | false, retry = {}) => {
		await using system = await setup()
		await system.enqueue(30)
		const deliver = system.sends(throws(error))
		const own = breaker === false ? false : { ...BREAKER, ...breaker }
		await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: own, retry } })
		await system.clock.advance(500)
		return {
			dead: system.eventsOf('relay_dead_letter').length,
			opened: system.eventsOf('relay_state_change')[0]?.reason,
		}
	}

	test('sets the number of different messages by permanentThreshold', async () => {
		expect(await run(new HttpError(404), { permanentThreshold: 2 })).toEqual({
			dead: 1,
			opened: 'permanent-failures',
		})
		expect(await run(new HttpError(404), { permanentThreshold: Infinity })).toEqual({
			dead: 30,
			opened: undefined,
		})
	})

	test('marks a failure of the message by permanent(error), until several messages in a row have it', async () => {
		expect(await run(permanent(new HttpError(403)), {})).toEqual({ dead: 4, opened: 'permanent-failures' })
	})

	test('keeps errors of messages from the circuit by an isFailure that returns false', async () => {
		const isFailure = (error: unknown) => (error as HttpError).statusCode !== 403
		expect(await run(new HttpError(403), { isFailure })).toEqual({ dead: 30, opened: undefined })
	})

	test('gets a dead letter for every message with circuitBreaker: false', async () => {
		expect(await run(new HttpError(401), false)).toEqual({ dead: 30, opened: undefined })
	})

	test('gets retries for a status that it classifies as transient', async () => {
		const classify = () => ({ kind: 'transient', isKnown: true }) as const
		expect(await run(new HttpError(401), {}, { classify })).toEqual({ dead: 0, opened: 'circuit-open' })
	})
})
