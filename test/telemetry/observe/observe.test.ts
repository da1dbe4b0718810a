import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { EventBase } from '../../../src/core/events/events.ts'
import { circuitBreaker, pipeline, retry, timeout } from '../../../src/core/index.ts'
import type { AroundInfo, CallEnd, ObservationLevel } from '../../../src/core/observe/observer.ts'
import { ResilientHttpClient, resilientFetch } from '../../../src/http/index.ts'
import { isHttpAttempt } from '../../../src/http/request/http-attempt.ts'
import { idempotency, memoryIdempotencyStore } from '../../../src/idempotency/index.ts'
import { Outbox, Relay, sqliteOutboxStore } from '../../../src/outbox/index.ts'
import { type Exporter, type ObservedSource, observe } from '../../../src/telemetry/index.ts'

/** Keeps everything that it receives. */
function recorder(parts: { level?: ObservationLevel; hasAround?: boolean } = {}) {
	const events: EventBase[] = []
	const ends: CallEnd[] = []
	const infos: AroundInfo[] = []
	const sources: ObservedSource[] = []
	const exporter: Exporter = {
		name: 'recorder',
		attach: (source) => {
			sources.push(source)
			return {
				level: parts.level ?? 'notable',
				onEvent: (event) => events.push(event),
				onCallEnd: (end) => ends.push(end),
				...(parts.hasAround && {
					around: (info: AroundInfo, next: () => unknown) => {
						infos.push(info)
						return next()
					},
				}),
			}
		},
	}
	return { exporter, events, ends, infos, sources }
}

const failTimes = (times: number) => {
	let left = times
	return async () => {
		if (left-- > 0) throw new Error('down')
		return 'ok'
	}
}

const fast = { baseDelayMs: 0, maxDelayMs: 0 }

const warnings = () => vi.spyOn(console, 'warn').mockImplementation(() => {})

afterEach(() => {
	vi.restoreAllMocks()
})

describe('the events of an observer', () => {
	it('leave out those of a call that succeeds at the first attempt', async () => {
		const { exporter, events, ends } = recorder()
		const payments = pipeline({ name: 'p' }, circuitBreaker(), retry(fast), timeout(1_000))
		observe({ payments }, [exporter])
		await payments.execute(async () => 1)
		expect(events).toEqual([])
		expect(ends).toMatchObject([
			{ emitter: 'p', outcome: 'success', attempts: 1, retries: 0, error: undefined },
		])
	})

	it('are complete for an exporter that asks for it, also beside one that does not', async () => {
		const all = recorder({ level: 'all' })
		const some = recorder()
		const payments = pipeline(circuitBreaker(), retry(fast))
		observe({ payments }, [all.exporter, some.exporter])
		await payments.execute(async () => 1)
		expect(all.events.map(({ type }) => type)).toEqual(['retry_success', 'success', 'call'])
		expect(some.events).toEqual([])
	})

	it('contain the retries, and the success after them with its real duration', async () => {
		const { exporter, events, ends } = recorder()
		const payments = pipeline(retry(fast))
		observe({ payments }, [exporter])
		await payments.execute(failTimes(2))
		expect(events.map(({ type }) => type)).toEqual(['retry_attempt', 'retry_attempt', 'retry_success'])
		expect(ends).toMatchObject([{ outcome: 'success', attempts: 3, retries: 2 }])
		const { durationMs } = events[2] as unknown as { durationMs: number }
		expect(durationMs).toBeGreaterThan(0)
	})

	it('are only those of calls through the observed pipeline, if a policy is part of several', async () => {
		const shared = retry(fast)
		const [a, b] = [pipeline({ name: 'a' }, shared), pipeline({ name: 'b' }, shared)]
		const first = recorder()
		const second = recorder()
		observe({ a }, [first.exporter])
		observe({ b }, [second.exporter])
		await a.execute(failTimes(1))
		expect(first.events.map(({ type }) => type)).toEqual(['retry_attempt', 'retry_success'])
		expect(second.events).toEqual([])
	})

	it('are those of all pipelines that contain it, if a single policy is observed', async () => {
		const breaker = circuitBreaker({ failureThreshold: 1 })
		const { exporter, events } = recorder()
		observe({ breaker }, [exporter])
		await pipeline(breaker, retry({ ...fast, maxRetries: 0 }))
			.execute(failTimes(1))
			.catch(() => {})
		expect(events).toMatchObject([{ type: 'state_change', from: 'closed', to: 'open' }])
	})

	it('end with stop, and listeners of the policy still get theirs', async () => {
		const { exporter, events, ends } = recorder({ level: 'all' })
		const payments = pipeline(retry(fast))
		const listener = vi.fn()
		payments.subscribe(listener)
		const stop = observe({ payments }, [exporter])
		stop()
		stop()
		await payments.execute(async () => 1)
		expect([events, ends]).toEqual([[], []])
		expect(listener).toHaveBeenCalledTimes(2)
	})
})

describe('the end of a call', () => {
	it('is reported for rejected calls and for invalid options', async () => {
		const { exporter, ends } = recorder({ hasAround: true })
		const breaker = circuitBreaker({ failureThreshold: 1 })
		const payments = pipeline(breaker)
		observe({ payments }, [exporter])
		breaker.isolate()
		await expect(payments.execute(async () => 1)).rejects.toThrow()
		await expect(payments.execute(async () => 1, { tiemout: 1 } as never)).rejects.toThrow('tiemout')
		expect(ends.map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
			['rejected', 0],
			['failure', 0],
		])
	})

	it('has the info that `around` received', async () => {
		const { exporter, ends, infos } = recorder({ hasAround: true })
		const payments = pipeline({ name: 'p' }, retry(fast))
		observe({ payments }, [exporter])
		await payments.execute(failTimes(1), { name: 'charge', key: 'eu' })
		expect(infos.map(({ type }) => type)).toEqual(['call', 'attempt', 'attempt'])
		expect(infos[0]).toMatchObject({ type: 'call', emitter: 'p', key: 'eu', call: 'charge' })
		expect(infos[2]).toMatchObject({ attempt: 2, resendCount: 1, extension: undefined })
		expect(ends[0]?.info).toBe(infos[0])
	})
})

describe('an exporter with a fault', () => {
	it.each(['attach', 'onEvent', 'onCallEnd', 'around', 'around after next', 'around without next', 'detach'])(
		'in %s affects no call and is reported once',
		async (fault) => {
			const warn = warnings()
			const boom = () => {
				throw new Error('broken exporter')
			}
			const broken: Exporter = {
				name: 'broken',
				attach: () => {
					if (fault === 'attach') boom()
					return {
						onEvent: () => fault === 'onEvent' && boom(),
						onCallEnd: () => fault === 'onCallEnd' && boom(),
						around: (_, next) => {
							if (fault === 'around') boom()
							if (fault === 'around without next') return undefined
							next()
							next()
							if (fault === 'around after next') boom()
							return 'another result'
						},
						detach: () => fault === 'detach' && boom(),
					}
				},
			}
			const healthy = recorder()
			const payments = pipeline(retry(fast))
			const stop = observe({ payments }, [broken, healthy.exporter])
			const operation = vi.fn(failTimes(2))
			expect(await payments.execute(operation)).toBe('ok')
			expect(operation).toHaveBeenCalledTimes(3)
			await expect(payments.execute(() => Promise.reject(new TypeError('own')))).rejects.toThrow('own')
			stop()
			expect(healthy.ends).toHaveLength(2)
			expect(warn.mock.calls.length).toBe(fault === 'around without next' ? 0 : 1)
		},
	)

	it('sees a promise for a foreign thenable, which is subscribed once', async () => {
		const seen: unknown[] = []
		const exporter: Exporter = {
			name: 'thenables',
			attach: () => ({
				around: (_, next) => {
					seen.push(next())
				},
			}),
		}
		const payments = pipeline(retry(fast))
		observe({ payments }, [exporter])
		const subscribed = vi.fn()
		const thenable = {
			// biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested.
			then(resolve: (value: number) => void) {
				subscribed()
				resolve(7)
			},
		}
		expect(await payments.execute(() => thenable)).toBe(7)
		expect(seen.length).toBeGreaterThan(0)
		expect(seen.filter((one) => !(one instanceof Promise))).toEqual([])
		expect(subscribed).toHaveBeenCalledTimes(1)
	})
})

describe('observe', () => {
	it('counts a thing once, whatever its names, and says so', async () => {
		const warn = warnings()
		const { exporter, ends } = recorder()
		const payments = pipeline(retry(fast))
		const stop = observe({ payments }, [exporter])
		observe({ again: payments }, [exporter])
		await payments.execute(async () => 1)
		expect(ends).toHaveLength(1)
		expect(String(warn.mock.calls[0])).toContain('"again" is already observed, as "payments"')
		stop()
		observe({ payments }, [exporter])
		await payments.execute(async () => 1)
		expect(ends).toHaveLength(2)
	})

	it.each([
		[undefined, [], 'Invalid argument "things"'],
		[retry(), [], 'Invalid argument "things"'],
		[{ payments: 5 }, [], 'Invalid argument "things.payments"'],
		[{ payments: retry() }, undefined, 'Invalid argument "exporters"'],
		[{ payments: retry() }, [{}], 'Invalid argument "exporters[0]"'],
	])('rejects %s with %s', (things, exporters, part) => {
		expect(() => observe(things as never, exporters as never)).toThrow(part)
	})

	it('rejects unknown options', () => {
		expect(() => observe({}, [], { servce: () => '' } as never)).toThrow('Did you mean "service"?')
	})

	it('names services after the property, the host of an origin, or by `service`', async () => {
		const warn = warnings()
		const { exporter, sources } = recorder()
		const client = resilientFetch()
		observe({ payments: retry(), client }, [exporter])
		const facts = (key?: string) => ({ type: 'call', emitter: 'http', key })
		const [policy, http] = sources
		expect(policy?.serviceOf(facts('tenant-7'))).toBe('payments')
		expect(http?.serviceOf(facts('https://api.example.com:8443'))).toBe('api.example.com:8443')
		expect(http?.serviceOf(facts('https://api.example.com checkout'))).toBe('api.example.com')
		expect(http?.serviceOf(facts())).toBe('client')
		const base = recorder()
		const payments = new ResilientHttpClient({ baseUrl: 'http://127.0.0.1:41003/v1/' })
		observe({ payments }, [base.exporter])
		expect(base.sources[0]?.serviceOf(facts('http://127.0.0.1:41003'))).toBe('payments')
		expect(base.sources[0]?.serviceOf(facts('http://127.0.0.1:41003 checkout'))).toBe('payments')
		expect(base.sources[0]?.serviceOf(facts('http://127.0.0.1:41004'))).toBe('127.0.0.1:41004')
		const named = recorder()
		const service = ({ key }: { key?: string | undefined }) => {
			if (key === 'bad') throw new Error('no name')
			return key && 'x'.repeat(1_000)
		}
		observe({ payments: retry() }, [named.exporter], { service })
		expect(named.sources[0]?.serviceOf(facts('k'))).toHaveLength(200)
		expect(named.sources[0]?.serviceOf(facts())).toBe('payments')
		expect(named.sources[0]?.serviceOf(facts('bad'))).toBe('payments')
		expect(named.sources[0]?.serviceOf(facts('bad'))).toBe('payments')
		expect(warn).toHaveBeenCalledTimes(1)
	})
})

describe('HTTP clients', () => {
	it('report calls and attempts, and send the headers that `around` adds to its attempt only', async () => {
		const traces: unknown[] = []
		let failures = 1
		const server = createServer((request, response) => {
			traces.push(request.headers['traceparent'])
			response.statusCode = failures-- > 0 ? 503 : 200
			response.end('ok')
		}).listen(0, '127.0.0.1')
		await new Promise((resolve) => server.once('listening', resolve))
		const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
		const fetch = resilientFetch({ baseDelayMs: 0, maxDelayMs: 0 })
		let sent = 0
		const { exporter, ends } = recorder()
		const tracer: Exporter = {
			name: 'tracer',
			attach: () => ({
				around: (info, next) => {
					if (info.type === 'attempt' && isHttpAttempt(info.extension))
						info.extension.addHeaders({ traceparent: `attempt-${sent++}` })
					return next()
				},
			}),
		}
		const stop = observe({ fetch }, [exporter, tracer])
		await (await fetch(`${origin}/a`)).text()
		await (await fetch(`${origin}/a`, { headers: { Traceparent: 'own' } })).text()
		stop()
		await (await fetch(`${origin}/a`)).text()
		expect(traces).toEqual(['attempt-0', 'attempt-1', 'own', undefined])
		expect(ends).toMatchObject([
			{ key: origin, method: 'GET', outcome: 'success', attempts: 2, retries: 1 },
			{ key: origin, method: 'GET', outcome: 'success', attempts: 1, retries: 0 },
		])
		server.closeAllConnections()
		server.close()
	})
})

describe('outboxes and relays', () => {
	it('run enqueues and deliveries inside of `around`, with the headers that it added', async () => {
		const outbox = new Outbox({ store: sqliteOutboxStore({ file: ':memory:' }) })
		await outbox.migrate()
		const delivered: unknown[] = []
		const relay = new Relay(outbox, {
			destinations: { a: (message) => void delivered.push(message.headers) },
		})
		const { exporter, events, infos } = recorder({ hasAround: true })
		const tracer: Exporter = {
			name: 'tracer',
			attach: () => ({
				around: (info, next) => {
					if (info.type === 'enqueue') info.addHeaders({ traceparent: 'added', tracestate: 'x' })
					return next()
				},
			}),
		}
		const stop = observe({ outbox, relay }, [exporter, tracer])
		await outbox.enqueue(
			[
				{ topic: 'a', payload: 1 },
				{ topic: 'a', payload: 2, headers: { Traceparent: 'own' } },
			],
			{ withoutTransaction: true },
		)
		const done = new Promise<void>((resolve) => {
			relay.subscribe(({ type }) => {
				if (type === 'relay_sent' && delivered.length === 2) resolve()
			})
		})
		await relay.start()
		await done
		await relay.stop()
		stop()
		expect(delivered).toEqual([{ traceparent: 'added', tracestate: 'x' }, { Traceparent: 'own' }])
		expect(infos).toMatchObject([
			{ type: 'enqueue', topics: ['a'], count: 2 },
			{
				type: 'delivery',
				destination: 'a',
				attempt: 1,
				headers: { traceparent: 'added', tracestate: 'x' },
			},
			{ type: 'delivery', destination: 'a', attempt: 1 },
		])
		expect(events.map(({ type }) => type)).toEqual(
			expect.arrayContaining(['outbox_enqueued', 'relay_started', 'relay_sent']),
		)
		await outbox.close()
	})
})

it('an idempotency engine shows its policies and statistics', () => {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'a' })
	const { exporter, sources } = recorder()
	observe({ engine }, [exporter])
	const [source] = sources
	expect(source).toMatchObject({ name: 'engine', kind: 'idempotency' })
	expect(source?.stats?.()).toEqual({ running: 0, unstored: 0, storeCircuit: 'closed' })
	expect([...(source?.members?.() ?? [])].map(([key]) => key)).toEqual(['store'])
})
