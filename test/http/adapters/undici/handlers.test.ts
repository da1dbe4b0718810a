import type { Dispatcher } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { CircuitOpenError } from '../../../../src/core/errors/errors.ts'
import { undiciInterceptor } from '../../../../src/http/adapters/undici/undici-interceptor.ts'
import { eventuallyTrue } from '../../../support/eventually.ts'
import { answer, type FaultServer, reset } from '../../faults/fault-server.ts'
import { composed, inVirtualTime, serving } from './composed.ts'

type Handler = Dispatcher.DispatchHandler

/** A handler that records its events; `own` can do more. */
function noting(own: Handler = {}) {
	const notes: string[] = []
	const errors: unknown[] = []
	let controller: Dispatcher.DispatchController | undefined
	let over = () => {}
	const ended = new Promise<void>((resolve) => {
		over = resolve
	})
	const handler: Handler = {
		onRequestStart(given, context) {
			controller = given
			notes.push('start')
			own.onRequestStart?.(given, context)
		},
		onBodySent: () => notes.push('body sent'),
		onRequestSent: () => notes.push('sent'),
		onResponseStarted: () => notes.push('started'),
		onResponseStart(given, status, headers, message) {
			notes.push(`head ${status}`)
			own.onResponseStart?.(given, status, headers, message)
		},
		onResponseData(given, chunk) {
			notes.push(`data ${chunk}`)
			own.onResponseData?.(given, chunk)
		},
		onResponseEnd(given, trailers) {
			notes.push('end')
			over()
			own.onResponseEnd?.(given, trailers)
		},
		onResponseError(given, error) {
			notes.push('error')
			errors.push(error)
			over()
			own.onResponseError?.(given, error)
		},
	}
	return { handler, notes, errors, ended, controller: () => controller }
}

const get = (server: FaultServer): Dispatcher.DispatchOptions => ({
	origin: server.origin,
	path: '/',
	method: 'GET',
})

/** Long enough for any further event. */
async function settled() {
	for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
}

describe('a handler', () => {
	it('sees one request, however many attempts were sent', async () => {
		const server = await serving([
			answer({ status: 503, body: 'no' }),
			reset('request-head'),
			answer({ body: 'yes' }),
		])
		const { handler, notes, ended } = noting()
		expect(composed().dispatch({ ...get(server), method: 'PUT', body: 'data' }, handler)).toBe(true)
		await ended
		await settled()
		expect(notes.sort()).toEqual(
			['start', 'body sent', 'sent', 'started', 'head 200', 'data yes', 'end'].sort(),
		)
		expect(server.requests).toHaveLength(3)
	})

	it('has its controller before anything is sent, and can abort immediately', async () => {
		const reason = new Error('no')
		const server = await serving(answer())
		const { handler, notes, errors, ended } = noting({
			onRequestStart: (controller) => controller.abort(reason),
		})
		composed().dispatch(get(server), handler)
		await ended
		await settled()
		expect([notes, errors]).toEqual([['start', 'error'], [reason]])
		expect(server.connections.opened).toBe(0)
	})

	it('is notified of a rejection once, and of nothing else', async () => {
		const server = await serving(answer({ status: 500 }))
		const dispatcher = composed({ maxRetries: 0, circuitBreaker: { failureThreshold: 1 } })
		const first = noting()
		dispatcher.dispatch(get(server), first.handler)
		await first.ended
		const { handler, notes, errors, ended, controller } = noting()
		dispatcher.dispatch(get(server), handler)
		await ended
		await settled()
		expect(notes).toEqual(['start', 'error'])
		expect(errors[0]).toBeInstanceOf(CircuitOpenError)
		expect(controller()).toMatchObject({ aborted: false, reason: null })
	})

	it('is notified of informational responses', async () => {
		const server = await serving([
			answer({ status: 503, informational: [103] }),
			answer({ informational: [102] }),
		])
		const { handler, notes, ended } = noting()
		composed().dispatch(get(server), handler)
		await ended
		expect(notes.filter((note) => note.startsWith('head'))).toEqual(['head 103', 'head 102', 'head 200'])
	})

	it.each([200, 500])(
		'a handler that pauses receives nothing until it resumes: status %s',
		async (status) => {
			const server = await serving(answer({ status, body: 'x'.repeat(200_000) }))
			let paused = () => {}
			const isPaused = new Promise<void>((resolve) => {
				paused = resolve
			})
			const { handler, notes, ended, controller } = noting({
				onResponseStart(given) {
					given.pause()
					paused()
				},
			})
			composed({ maxRetries: 0 }).dispatch(get(server), handler)
			await isPaused
			await settled()
			expect(controller()?.paused).toBe(true)
			expect(notes.length).toBeGreaterThan(0)
			expect(notes.filter((note) => note.startsWith('data'))).toEqual([])
			controller()?.resume()
			await ended
			expect(notes.at(-1)).toBe('end')
		},
	)

	it('a handler that paused before the response stays paused', async () => {
		const server = await serving(answer({ body: 'fine' }))
		const { handler, notes, ended, controller } = noting({ onRequestStart: (given) => given.pause() })
		composed().dispatch(get(server), handler)
		await server.done(1)
		await eventuallyTrue(() => notes.includes('head 200'))
		await settled()
		expect(notes.at(-1)).toBe('head 200')
		controller()?.resume()
		await ended
	})

	it.each([
		['onRequestStart', 200],
		['onResponseStart', 200],
		['onResponseStart', 500],
		['onResponseData', 500],
		['onResponseEnd', 200],
		['onResponseEnd', 500],
	] as const)('that throws in %s (status %s) has failed, as with undici alone', async (method, status) => {
		const thrown = new Error('a fault in the handler')
		const fault = () => {
			throw thrown
		}
		const server = await serving(answer({ status, body: 'fine' }))
		const { handler, notes, errors } = noting({ [method]: fault })
		composed({ maxRetries: 0 }).dispatch(get(server), handler)
		await eventuallyTrue(() => notes.includes('error'))
		await settled()
		expect(errors).toEqual([thrown])
	})

	it('a handler that throws in onResponseError does no harm', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const rejections: unknown[] = []
		const note = (error: unknown) => rejections.push(error)
		process.on('unhandledRejection', note)
		onTestFinished(() => void process.off('unhandledRejection', note))
		const server = await serving(reset('request-head'))
		const { handler, ended } = noting({
			onResponseError() {
				throw new Error('a fault in the handler')
			},
		})
		composed({ maxRetries: 1 }).dispatch(get(server), handler)
		await ended
		await settled()
		expect(warn).toHaveBeenCalledOnce()
		expect(rejections).toEqual([])
	})

	it('a handler that aborts after the end changes nothing', async () => {
		const server = await serving(answer())
		const { handler, notes, ended, controller } = noting()
		const { dispatcher, clock } = inVirtualTime()
		dispatcher.dispatch(get(server), handler)
		await ended
		controller()?.abort(new Error('too late'))
		await settled()
		expect(notes.at(-1)).toBe('end')
		expect(clock.pendingTimers).toBe(0)
	})
})

describe('an inner interceptor', () => {
	it('an inner interceptor that throws instead of dispatching fails the request', async () => {
		const thrown = new Error('not today')
		const dispatch = undiciInterceptor({ maxRetries: 0 })((): boolean => {
			throw thrown
		})
		const { handler, errors, ended } = noting()
		const options = { origin: 'http://127.0.0.1:1', path: '/', method: 'GET' }
		const send: (options: object, handler: object) => boolean = dispatch
		send(options, handler)
		await ended
		expect(errors).toEqual([thrown])
	})

	it('reports its redirects to the caller', async () => {
		const server = await serving([
			answer({ status: 302, headers: { location: '/there' } }),
			answer({ status: 503 }),
			answer(),
		])
		const { Agent, interceptors } = await import('undici')
		const agent = new Agent()
		onTestFinished(() => agent.destroy())
		const dispatcher = agent.compose(
			interceptors.redirect({ maxRedirections: 3 }),
			undiciInterceptor({ baseDelayMs: 1 }),
		)
		const { statusCode, context } = await dispatcher.request({ ...get(server) })
		expect(statusCode).toBe(200)
		expect(context).toHaveProperty('history')
	})

	it('works with undici’s own retry interceptor around it', async () => {
		const server = await serving([answer({ status: 503 }), answer({ status: 503 }), answer({ body: 'fine' })])
		const { interceptors } = await import('undici')
		const dispatcher = composed({ maxRetries: 1 }).compose(
			interceptors.retry({ minTimeout: 1, maxTimeout: 1, maxRetries: 2 }),
		)
		const { statusCode, body } = await dispatcher.request(get(server))
		expect([statusCode, await body.text()]).toEqual([200, 'fine'])
	})
})
