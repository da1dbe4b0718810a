import { getEventListeners, once } from 'node:events'
import { Readable } from 'node:stream'
import axios, { type AxiosRequestConfig, type CancelToken } from 'axios'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { answer, drip, hang } from '../../faults/fault-server.ts'
import { axiosFailure, failure, setup } from './setup.ts'

const busy = answer({ status: 503, body: 'busy' })

/** The ways to cancel, each with what does it. */
const ways: readonly [string, () => { config: AxiosRequestConfig; cancel: () => void }][] = [
	[
		'a signal',
		() => {
			const controller = new AbortController()
			return { config: { signal: controller.signal }, cancel: () => controller.abort() }
		},
	],
	[
		'a CancelToken',
		() => {
			const { token, cancel } = axios.CancelToken.source()
			return { config: { cancelToken: token }, cancel: () => cancel('enough') }
		},
	],
	[
		'the CancelToken of a request that has a signal as well',
		() => {
			const { token, cancel } = axios.CancelToken.source()
			const { signal } = new AbortController()
			return { config: { cancelToken: token, signal }, cancel: () => cancel('enough') }
		},
	],
	[
		'the signal of a polyfill',
		() => {
			const signal = Object.assign(new EventTarget(), { aborted: false })
			const cancel = () => {
				signal.aborted = true
				signal.dispatchEvent(new Event('abort'))
			}
			return { config: { signal }, cancel }
		},
	],
]

describe.each(ways)('to cancel by %s', (_, make) => {
	test('ends a wait immediately and sends nothing more', async () => {
		const { api, server, waiting, clock } = await setup(busy, { areWaitsHeld: true })
		const { config, cancel } = make()
		const request = axiosFailure(api.get('/', config))
		await waiting
		cancel()
		const error = await request
		expect(axios.isCancel(error)).toBe(true)
		expect(error.code).toBe('ERR_CANCELED')
		expect(explain(error)).toMatchObject({
			stop: 'abort',
			attempts: [{ errorMessage: 'HTTP 503', delayMs: 100 }],
		})
		await clock.runUntilIdle()
		expect(server.requests).toHaveLength(1)
	})

	test('ends a request in flight and closes the connection', async () => {
		const { api, server, waits } = await setup(hang())
		const { config, cancel } = make()
		const request = failure(api.get('/', config))
		await server.requested(1)
		cancel()
		expect(axios.isCancel(await request)).toBe(true)
		await server.aborted(1)
		expect(waits).toEqual([])
	})
})

describe('a cancellation', () => {
	test.each(ways.slice(0, 3))('a cancellation by %s ends a stream that the caller reads', async (_, make) => {
		const { api, server } = await setup(drip())
		const { config, cancel } = make()
		const { data } = await api.get<Readable>('/', { ...config, responseType: 'stream' })
		await once(data, 'data')
		const failed = once(data, 'error')
		cancel()
		const [error] = await failed
		expect(axios.isCancel(error)).toBe(true)
		await server.aborted(1)
	})

	test('a cancellation in a queue ends the stream in data, which was not sent', async () => {
		const { api, server } = await setup(hang(), { bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
		const leaving = new AbortController()
		const first = failure(api.get('/', { signal: leaving.signal }))
		await server.requested(1)
		const data = new Readable({ read() {} })
		const ended = once(data, 'close')
		const second = failure(api.put('/', data, { signal: leaving.signal }))
		leaving.abort()
		expect((await Promise.all([first, second])).map((error) => axios.isCancel(error))).toEqual([true, true])
		await ended
		expect(server.requests.length).toBe(1)
	})

	test('leaves no listener on long-lived objects', async () => {
		const { api } = await setup([busy, answer()])
		const { signal } = new AbortController()
		const token: CancelToken & { _listeners?: unknown[] } = axios.CancelToken.source().token
		await api.get('/', { signal })
		await api.get('/', { cancelToken: token })
		expect(getEventListeners(signal, 'abort')).toEqual([])
		expect(token._listeners).toEqual([])
	})
})
