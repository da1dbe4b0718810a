import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { EventBase } from '../../../src/core/events/events.ts'
import { circuitBreaker, pipeline, retry } from '../../../src/core/index.ts'
import { ResilientHttpClient } from '../../../src/http/index.ts'
import { withAmbientContext } from '../../../src/node/index.ts'
import { Outbox, sqliteOutboxStore } from '../../../src/outbox/index.ts'
import { type Exporter, inMemoryMetrics, observe } from '../../../src/telemetry/index.ts'

const fast = { baseDelayMs: 0, maxDelayMs: 0 }

const warnings = () => vi.spyOn(console, 'warn').mockImplementation(() => {})

const exporterOf = (observer: ReturnType<Exporter['attach']>): Exporter => ({
	name: 'own',
	attach: () => observer,
})

afterEach(() => {
	vi.restoreAllMocks()
})

it('a call that stops with an unwanted first result was not reported as retry_failure', async () => {
	const events: EventBase[] = []
	const metrics = inMemoryMetrics()
	const payments = retry({ ...fast, maxRetries: 0, retryResult: (result) => result === 'bad' })
	observe({ payments }, [metrics, exporterOf({ onEvent: (event) => void events.push(event) })])
	expect(await payments.execute(async () => 'bad')).toBe('bad')
	expect(events).toMatchObject([{ type: 'retry_failure', attempts: 1, stop: 'retries-exhausted' }])
	expect(await metrics.toPrometheus()).toContain('yaoki_retries_stopped_total{service="payments"')
})

it('a client and one that extends it, with shared state, were counted twice', async () => {
	const warn = warnings()
	const metrics = inMemoryMetrics()
	const client = new ResilientHttpClient({
		baseUrl: 'http://127.0.0.1',
		fetch: async () => new Response('{}'),
	})
	const asUser = client.extend({ headers: { 'x-user': '7' } })
	const stop = observe({ client, asUser }, [metrics])
	await asUser.get('/a').json()
	expect(metrics.snapshot().total.calls).toBe(1)
	expect(String(warn.mock.calls)).toContain('"asUser" is already observed, as "client"')
	stop()
	observe({ asUser }, [metrics])
	await client.get('/a').json()
	expect(metrics.snapshot().total.calls).toBe(2)
})

it('a policy and the same policy with ambient context were counted twice', async () => {
	warnings()
	const metrics = inMemoryMetrics()
	const policy = retry(fast)
	const ambient = withAmbientContext(policy)
	observe({ policy, ambient }, [metrics])
	await ambient.execute(async () => 1)
	expect(metrics.snapshot().total.calls).toBe(1)
})

it('attempts of a call in flight ran inside of `around` after the observation had ended', async () => {
	const seen: string[] = []
	const payments = retry({ ...fast, maxRetries: 1 })
	const around: Exporter['attach'] = () => ({
		around: (info, next) => {
			seen.push(info.type)
			return next()
		},
	})
	const stop = observe({ payments }, [{ name: 'own', attach: around }])
	const operation = vi.fn(async () => {
		if (operation.mock.calls.length > 1) return 'ok'
		stop()
		throw new Error('down')
	})
	expect(await payments.execute(operation)).toBe('ok')
	expect(seen).toEqual(['call', 'attempt'])
})

it.each([null, Object.create(null), Symbol('topic'), 7])(
	'an invalid topic was another error, thrown instead of rejected, if the outbox was observed',
	async (topic) => {
		const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })
		onTestFinished(() => outbox.close())
		const enqueue = async () => {
			const pending = outbox.enqueue({ topic, payload: {} } as never)
			return pending.catch((error: Error) => error.message)
		}
		const message = await enqueue()
		observe({ outbox }, [exporterOf({ around: (_, next) => next() })])
		expect(await enqueue()).toBe(message)
	},
)

it('a name with line breaks or 10 kB was two services in the snapshot and 10 kB in every log line', async () => {
	const metrics = inMemoryMetrics()
	const names: string[] = []
	const reader: Exporter = {
		name: 'reader',
		attach: ({ serviceOf }) => ({ onCallEnd: (end) => void names.push(serviceOf(end)) }),
	}
	const name = `a\nb${'x'.repeat(10_000)}`
	const breaker = circuitBreaker()
	observe({ [name]: breaker }, [metrics, reader])
	await breaker.execute(async () => 1)
	expect(names).toEqual([name.slice(0, 200)])
	const { services } = metrics.snapshot()
	expect(Object.values(services)).toMatchObject([{ calls: 1, circuits: { state: 'closed' } }])
})

describe('a problem of an exporter', () => {
	it('was reported again for every thing and every observe', async () => {
		const warn = warnings()
		const broken = exporterOf({
			onCallEnd: () => {
				throw new Error('broken')
			},
		})
		const [a, b] = [retry(fast), retry(fast)]
		observe({ a, b }, [broken])
		observe({ a }, [broken])
		observe({ a }, [broken])
		await a.execute(async () => 1)
		await b.execute(async () => 1)
		expect(warn.mock.calls.map(([text]) => text)).toEqual([
			expect.stringContaining('"a" is already observed'),
			expect.stringContaining('the end of a call was not exported'),
		])
	})

	it('in attach, which returned no observer, was thrown by observe', async () => {
		const warn = warnings()
		const payments = retry(fast)
		observe({ payments }, [{ name: 'own', attach: () => undefined as never }])
		expect(await payments.execute(async () => 1)).toBe(1)
		expect(warn).toHaveBeenCalledTimes(1)
	})

	it.each(['onEvent', 'onCallEnd', 'around', 'detach'])(
		'that is async, in %s, was an unhandled rejection',
		async (fault) => {
			const warn = warnings()
			const unhandled = vi.fn()
			process.on('unhandledRejection', unhandled)
			const boom = async (name: string): Promise<void> => {
				if (name === fault) throw new Error('broken exporter')
			}
			const exporter = exporterOf({
				onEvent: () => boom('onEvent'),
				onCallEnd: () => boom('onCallEnd'),
				around: async (_, next) => {
					const result = await next()
					await boom('around')
					return result
				},
				detach: () => boom('detach'),
			} as ReturnType<Exporter['attach']>)
			const payments = pipeline(retry({ ...fast, maxRetries: 1 }))
			const stop = observe({ payments }, [exporter])
			const operation = vi.fn(async () => {
				if (operation.mock.calls.length === 1) throw new Error('down')
				return 'ok'
			})
			expect(await payments.execute(operation)).toBe('ok')
			stop()
			await setImmediate()
			process.off('unhandledRejection', unhandled)
			expect(unhandled).not.toHaveBeenCalled()
			expect(warn).toHaveBeenCalledTimes(1)
		},
	)

	it('is not the failure of a call that an async `around` passes on', async () => {
		const warn = warnings()
		const unhandled = vi.fn()
		process.on('unhandledRejection', unhandled)
		const payments = retry({ ...fast, maxRetries: 1 })
		observe({ payments }, [exporterOf({ around: async (_, next) => await next() })])
		await expect(payments.execute(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
		await expect(
			payments.execute(() => {
				throw new Error('down')
			}),
		).rejects.toThrow('down')
		await setImmediate()
		process.off('unhandledRejection', unhandled)
		expect(unhandled).not.toHaveBeenCalled()
		expect(warn).not.toHaveBeenCalled()
	})
})
