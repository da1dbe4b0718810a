import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { Deadline, explain, TimeoutError } from 'yaoki'
import { answer, hang } from '../../faults/fault-server.ts'
import { axiosFailure, failure, setup } from './setup.ts'

describe('a timeout', () => {
	test("a timeout of axios applies to each attempt and rejects with axios' own timeout error", async () => {
		const { api, server, clock } = await setup(hang(), {
			maxRetries: 1,
			axiosDefaults: { timeout: 20_000 },
		})
		const request = axiosFailure(api.get('/'))
		await server.requested(1)
		await clock.advance(20_000)
		await server.requested(2)
		await clock.advance(20_000)
		const error = await request
		expect(error).toMatchObject({ code: 'ECONNABORTED', message: 'timeout of 20000ms exceeded' })
		expect(error.config?.timeout).toBe(20_000)
		expect(error.cause).toBeInstanceOf(TimeoutError)
		expect(Object.keys(error)).not.toContain('cause')
		expect(explain(error)?.attempts).toMatchObject([{ durationMs: 20_000 }, { durationMs: 20_000 }])
		await server.aborted(2)
	})

	test('a timeout while a body is read leads to another attempt', async () => {
		const { api, server, clock } = await setup([hang('body'), answer({ body: '{"id":7}' })], {
			timeout: 1_000,
		})
		const request = api.get('/')
		await server.requested(1)
		await clock.advance(1_000)
		expect((await request).data).toEqual({ id: 7 })
	})

	test('has the code and the message of the config', async () => {
		const { api, server, clock } = await setup(hang(), { maxRetries: 0, timeout: 1_000 })
		const transitional = { clarifyTimeoutError: true }
		const request = axiosFailure(api.get('/', { transitional, timeoutErrorMessage: 'too slow' }))
		await server.requested(1)
		await clock.advance(1_000)
		expect(await request).toMatchObject({ code: 'ETIMEDOUT', message: 'too slow' })
	})

	test('a timeout after a stream was sent says why it was not retried', async () => {
		const { api, server, clock } = await setup(hang(), { timeout: 1_000 })
		const request = axiosFailure(api.put('/', Readable.from(['a stream'])))
		await server.requested(1)
		await clock.advance(1_000)
		const error = await request
		expect(error.message).toBe(
			'timeout of 1000ms exceeded (not retried: data is a stream and was already sent. Pass data: () => a new stream)',
		)
		expect(error.code).toBe('ECONNABORTED')
	})

	test('under yaoki overrides that of axios', async () => {
		const { api, server, clock } = await setup(hang(), { maxRetries: 0 })
		const request = axiosFailure(api.get('/', { timeout: 5_000, yaoki: { timeout: 300 } }))
		await server.requested(1)
		await clock.advance(300)
		expect((await request).message).toBe('timeout of 300ms exceeded')
	})

	test('differs from an expired deadline', async () => {
		const { api, server, clock } = await setup(hang())
		const deadline = Deadline.after(500, { runtime: clock })
		const request = failure(api.get('/', { yaoki: { deadline } }))
		await server.requested(1)
		await clock.advance(500)
		expect(await request).toMatchObject({ name: 'DeadlineExceededError' })
	})

	test('a timeout that is invalid is rejected', async () => {
		const { api } = await setup(answer())
		await expect(api.get('/', { timeout: -5 })).rejects.toThrow(
			'Invalid option "timeout": expected a number of milliseconds, or 0 for the default, got -5',
		)
	})
})
