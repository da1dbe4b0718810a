import { describe, expect, test, vi } from 'vitest'
import { metricsEndpoint } from '../../../src/telemetry/http/metrics-endpoint.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'

const TEXT = '# TYPE up gauge\nup 1\n'
const get = (method = 'GET') => new Request('http://127.0.0.1/metrics', { method })

describe('metricsEndpoint', () => {
	test('returns the metrics in the text format of Prometheus', async () => {
		const response = await metricsEndpoint({ toPrometheus: () => TEXT }).fetch(get())
		expect(response.status).toBe(200)
		expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
		expect(await response.text()).toBe(TEXT)
	})

	test('metricsEndpoint has the content type of the registry', async () => {
		const contentType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
		const { fetch } = metricsEndpoint({ contentType, metrics: async () => '# EOF\n' })
		const response = await fetch(get())
		expect(response.headers.get('content-type')).toBe(contentType)
		expect(await response.text()).toBe('# EOF\n')
	})

	test('responds to HEAD without a body', async () => {
		const response = await metricsEndpoint({ toPrometheus: () => TEXT }).fetch(get('HEAD'))
		expect(response.status).toBe(200)
		expect(response.body).toBeNull()
	})

	test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('rejects %s and collects nothing', async (method) => {
		const toPrometheus = vi.fn(() => TEXT)
		const response = await metricsEndpoint({ toPrometheus }).fetch(get(method))
		expect(response.status).toBe(405)
		expect(response.headers.get('allow')).toBe('GET, HEAD')
		expect(toPrometheus).not.toHaveBeenCalled()
	})

	test.each([
		[
			'throws',
			() => {
				throw new Error('secret host')
			},
		],
		['rejects', () => Promise.reject(new Error('secret host'))],
	])('returns 500 if the source %s, reports it once, and recovers', async (_, fail) => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
		const toPrometheus = vi.fn<() => string | Promise<string>>(() => TEXT)
		toPrometheus.mockImplementationOnce(fail).mockImplementationOnce(fail)
		const { fetch } = metricsEndpoint({ toPrometheus })
		const failed = [await fetch(get()), await fetch(get())]
		expect(failed.map(({ status }) => status)).toEqual([500, 500])
		expect(await failed[0]?.text()).not.toContain('secret')
		expect(warn).toHaveBeenCalledOnce()
		expect((await fetch(get())).status).toBe(200)
	})

	test('collects once for scrapes that overlap, and again for the next', async () => {
		const { promise, resolve } = Promise.withResolvers<string>()
		const toPrometheus = vi.fn<() => string | Promise<string>>(() => TEXT).mockReturnValueOnce(promise)
		const { fetch } = metricsEndpoint({ toPrometheus })
		const both = Promise.all([fetch(get()), fetch(get())])
		resolve('shared 1\n')
		for (const response of await both) expect(await response.text()).toBe('shared 1\n')
		expect(toPrometheus).toHaveBeenCalledOnce()
		expect(await (await fetch(get())).text()).toBe(TEXT)
	})

	test('does not join a scrape that has been running for ten seconds: it may never end', async () => {
		const runtime = virtualRuntime()
		const never = new Promise<string>(() => undefined)
		const toPrometheus = vi.fn<() => string | Promise<string>>(() => TEXT).mockReturnValueOnce(never)
		const { fetch } = metricsEndpoint({ toPrometheus }, { runtime })
		void fetch(get())
		await runtime.advance(9_999)
		void fetch(get())
		expect(toPrometheus).toHaveBeenCalledOnce()
		await runtime.advance(1)
		expect(await (await fetch(get())).text()).toBe(TEXT)
	})

	test('rejects other sources and unknown options', () => {
		const source = { toPrometheus: () => TEXT }
		for (const wrong of [undefined, null, {}, 'metrics'])
			expect(() => metricsEndpoint(wrong as never)).toThrow(
				/inMemoryMetrics\(\) or a registry of prom-client/,
			)
		expect(() => metricsEndpoint(source, { runtme: 1 } as never)).toThrow('Did you mean "runtime"?')
	})
})
