import { describe, expect, test } from 'vitest'
import { CircuitOpenError, explain, InvalidArgumentError } from 'yaoki'
import { type GrpcClientOptions, resilientNiceMiddleware } from 'yaoki/grpc'
import { virtualRuntime } from 'yaoki/testing'
import { hedging, retries } from '../support/configs.ts'
import { type Attempt, ClientError, failed, Metadata, nice, niceCall, read } from './nice-module.ts'

const KINDS = [
	{ requestStream: false, responseStream: false },
	{ requestStream: false, responseStream: true },
	{ requestStream: true, responseStream: false },
	{ requestStream: true, responseStream: true },
] as const

function useMiddleware(options: GrpcClientOptions = {}) {
	const clock = virtualRuntime({ seed: 1 })
	return { clock, middleware: resilientNiceMiddleware(nice, { runtime: clock, ...options }) }
}

async function* requests() {
	yield 'a'
	yield 'b'
}

/** Returns all messages of a request. */
async function received(request: unknown): Promise<unknown[]> {
	if (typeof request === 'string') return [request]
	const items: unknown[] = []
	for await (const item of request as AsyncIterable<unknown>) items.push(item)
	return items
}

describe.each(KINDS)('a call of kind %o', (kind) => {
	const request = () => (kind.requestStream ? requests() : 'a')
	const all = kind.requestStream ? ['a', 'b'] : ['a']

	test('is retried with all its messages, and delivers one header and one trailer', async () => {
		const { clock, middleware } = useMiddleware({ serviceConfig: retries() })
		const seen: unknown[] = []
		const attempt: Attempt = async function* (message, { metadata, onHeader, onTrailer }, number) {
			seen.push([await received(message), metadata.get('grpc-previous-rpc-attempts'), metadata.get('x-a')])
			onTrailer(new Metadata([['x-attempt', String(number)]]))
			if (number < 3) throw failed(14)
			onHeader(new Metadata([['x-attempt', String(number)]]))
			if (!kind.responseStream) return 'ok'
			yield 'ok'
			return undefined
		}
		const events: unknown[] = []
		const options = {
			metadata: new Metadata([['x-a', '1']]) as never,
			onHeader: (header: Metadata) => void events.push(['header', header.get('x-attempt')]),
			onTrailer: (trailer: Metadata) => void events.push(['trailer', trailer.get('x-attempt')]),
		}
		const done = read(middleware(niceCall(kind, request(), attempt), options))
		await clock.advance(10_000)
		expect(await done).toEqual({ items: ['ok'], error: undefined })
		expect(seen).toEqual([
			[all, undefined, ['1']],
			[all, '1', ['1']],
			[all, '2', ['1']],
		])
		expect(events).toEqual([
			['header', '3'],
			['trailer', '3'],
		])
		expect(middleware.stats).toMatchObject({ calls: 1, failures: 0, attempts: 3, bufferedBytes: 0 })
	})

	test('ends with the error of its last attempt if it fails', async () => {
		const { clock, middleware } = useMiddleware({ serviceConfig: retries(2) })
		const errors = [failed(14, 'first'), failed(14, 'second')]
		// biome-ignore lint/correctness/useYield: it fails before a message.
		const attempt: Attempt = async function* (_message, { onTrailer }, number) {
			onTrailer(new Metadata([['x-attempt', String(number)]]))
			throw errors[number - 1]
		}
		let trailer: string | undefined
		const onTrailer = (given: Metadata) => {
			trailer = given.get('x-attempt')
		}
		const done = read(middleware(niceCall(kind, request(), attempt), { onTrailer }))
		await clock.advance(10_000)
		const { error } = await done
		expect(error).toBe(errors[1])
		expect(trailer).toBe('2')
		expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', name: '/shop.Users/Get' })
	})
})

const failing = (code: number, details?: string, pushback?: string): Attempt =>
	// biome-ignore lint/correctness/useYield: it fails before a message.
	async function* (_request, { onTrailer }) {
		if (pushback !== undefined) onTrailer(new Metadata([['grpc-retry-pushback-ms', pushback]]))
		throw failed(code, details)
	}

test('the pushback of a server forbids retries', async () => {
	const { clock, middleware } = useMiddleware({ serviceConfig: retries() })
	const done = read(middleware(niceCall({}, 'a', failing(14, 'down', '-1')), {}))
	await clock.advance(10_000)
	expect(explain((await done).error)).toMatchObject({ stop: 'server-veto' })
	expect(middleware.stats.attempts).toBe(1)
})

test('an open circuit is a ClientError with the error of the policy as its cause', async () => {
	const { middleware } = useMiddleware({ circuitBreaker: { failureThreshold: 1 } })
	await read(middleware(niceCall({}, 'a', failing(14)), {}))
	const { error } = await read(middleware(niceCall({}, 'a', failing(14)), {}))
	expect(error).toBeInstanceOf(ClientError)
	expect(error).toMatchObject({ path: '/shop.Users/Get', code: 14, cause: expect.any(CircuitOpenError) })
	expect(explain(error)).toMatchObject({ stop: 'rejected' })
})

test('a connection that is lost counts once, and an oversized message not at all', async () => {
	const { middleware } = useMiddleware({ circuitBreaker: { failureThreshold: 2 } })
	const lost = Array.from({ length: 5 }, () =>
		middleware(niceCall({}, 'a', failing(14, 'Connection dropped')), {}),
	)
	await Promise.all(lost.map(read))
	expect(middleware.stats.circuits['']).toMatchObject({ state: 'closed', consecutiveFailures: 1 })
	await read(
		middleware(niceCall({}, 'a', failing(8, 'Attempted to send message with a size larger than 5')), {}),
	)
	expect(middleware.stats.circuits['']).toMatchObject({ state: 'closed', consecutiveFailures: 1 })
})

test('a caller that aborts receives an AbortError, and the attempt is aborted', async () => {
	const { middleware } = useMiddleware({ serviceConfig: hedging() })
	const controller = new AbortController()
	let signal: AbortSignal | undefined
	const attempt: Attempt = async function* (_request, options) {
		signal = options.signal
		const aborted = new Promise((_, reject) => options.signal.addEventListener('abort', reject))
		controller.abort()
		await aborted
		yield undefined
	}
	const { error } = await read(middleware(niceCall({}, 'a', attempt), { signal: controller.signal }))
	expect(error).toMatchObject({ name: 'AbortError' })
	expect(signal?.aborted).toBe(true)
})

test('the deadline of the service config reaches the server', async () => {
	const { clock, middleware } = useMiddleware({ serviceConfig: retries(2, { timeout: '2s' }) })
	let timeout: string | undefined
	const attempt: Attempt = async function* (_request, { metadata, signal }) {
		timeout = metadata.get('grpc-timeout')
		await new Promise((_, reject) => signal.addEventListener('abort', reject))
		yield undefined
	}
	const done = read(middleware(niceCall({}, 'a', attempt), {}))
	await clock.advance(2_000)
	expect((await done).error).toMatchObject({ code: 4 })
	expect(timeout).toMatch(/^(2000m|2S|1999m)$/)
})

test('a caller that stops reading ends the stream', async () => {
	const { middleware } = useMiddleware({ bulkhead: {} })
	let isEnded = false
	const attempt: Attempt = async function* () {
		try {
			for (;;) yield 'a'
		} finally {
			isEnded = true
		}
	}
	for await (const item of middleware(niceCall({ responseStream: true }, 'a', attempt), {})) {
		expect(item).toBe('a')
		break
	}
	expect(isEnded).toBe(true)
	expect(middleware.stats.bulkhead).toMatchObject({ concurrent: 0 })
})

test('the module and the options are validated', () => {
	expect(() => resilientNiceMiddleware({} as never)).toThrow(InvalidArgumentError)
	expect(() => resilientNiceMiddleware(nice, { bulkhed: {} } as never)).toThrow(/for resilientNiceMiddleware/)
})
