import { expect, test } from 'vitest'
import { explain, retry } from 'yaoki'
import { type ResilientFetch, resilientFetch } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { settled, steady } from '../../support/scenario.ts'

const MAX_RETRIES = 2

/** A resilient fetch of a server that always responds with this status, and a retry around it. */
function useFetch(status = 503) {
	const runtime = virtualRuntime()
	const sent: string[] = []
	const fetch: ResilientFetch = resilientFetch({
		...steady,
		runtime,
		maxRetries: MAX_RETRIES,
		fetch: async (input) => {
			sent.push(String(input))
			return new Response('', { status: String(input).endsWith('/ok') ? 200 : status })
		},
	})
	const outer = retry({ ...steady, maxRetries: MAX_RETRIES, runtime })
	return { runtime, sent, fetch, outer }
}

const URL = 'https://api.example.com/users'

const failedStatus = ({ status }: Response): Error => new Error(`status ${status}`)

test('an error that stands for a response after exhausted retries is not retried', async () => {
	const { runtime, sent, fetch, outer } = useFetch()
	const result = await settled(
		runtime,
		outer.execute(async (ctx) => {
			throw failedStatus(await fetch(URL, { yaoki: { parent: ctx } }))
		}),
	)
	expect(sent).toHaveLength(3)
	expect(explain(result.ok ? undefined : result.error)).toMatchObject({ stop: 'inner-retry' })
})

test('an error of exhausted retries is not retried two levels further out', async () => {
	const { runtime, sent, fetch, outer } = useFetch()
	const edge = retry({ ...steady, runtime })
	await settled(
		runtime,
		edge.execute(() =>
			outer.execute(async (ctx) => {
				throw failedStatus(await fetch(URL, { yaoki: { parent: ctx } }))
			}),
		),
	)
	expect(sent).toHaveLength(3)
})

test.each([
	['asks shouldRetry, because the operation may have handled the response', 503, () => true, 9],
	['decides about a permanent status, which was not retried', 404, undefined, 3],
])('the outer retry %s', async (_, status, shouldRetry, requests) => {
	const { runtime, sent, fetch } = useFetch(status)
	const outer = retry({ ...steady, maxRetries: MAX_RETRIES, runtime, shouldRetry })
	await settled(
		runtime,
		outer.execute(async (ctx) => {
			throw failedStatus(await fetch(URL, { yaoki: { parent: ctx } }))
		}),
	)
	expect(sent).toHaveLength(requests)
})

test('the error of another call stands for that call, not for the response', async () => {
	const { runtime, fetch, outer } = useFetch()
	const other = retry({ ...steady, maxRetries: 0, runtime })
	const attempts: number[] = []
	await settled(
		runtime,
		outer.execute(async (ctx) => {
			attempts.push(ctx.attempt)
			await fetch(URL, { yaoki: { parent: ctx } })
			await other.execute(() => Promise.reject(new Error('another failure')))
		}),
	)
	expect(attempts).toEqual([0, 1, 2])
})

test('a response of an earlier attempt does not affect a later one', async () => {
	const { runtime, fetch } = useFetch()
	const outer = retry({ ...steady, maxRetries: 3, runtime, retryResult: (value) => value === 'poor' })
	const attempts: number[] = []
	const result = await settled(
		runtime,
		outer.execute(async (ctx) => {
			attempts.push(ctx.attempt)
			if (ctx.attempt === 0) return (await fetch(URL, { yaoki: { parent: ctx } })).ok ? 'good' : 'poor'
			if (ctx.attempt === 1) throw new Error('its own')
			return 'good'
		}),
	)
	expect(result).toEqual({ ok: true, value: 'good' })
	expect(attempts).toEqual([0, 1, 2])
})

test('a successful response does not affect a later failure of the attempt', async () => {
	const { runtime, fetch, outer } = useFetch()
	const attempts: number[] = []
	await settled(
		runtime,
		outer.execute(async (ctx) => {
			attempts.push(ctx.attempt)
			await fetch(`${URL}/ok`, { yaoki: { parent: ctx } })
			throw new Error('its own')
		}),
	)
	expect(attempts).toEqual([0, 1, 2])
})

test('a response as cause is enough without a context', async () => {
	const { runtime, sent, fetch, outer } = useFetch()
	await settled(
		runtime,
		outer.execute(async () => {
			throw new Error('failed', { cause: await fetch(URL) })
		}),
	)
	expect(sent).toHaveLength(3)
})

test('a response that was kept from an earlier call does not count', async () => {
	const { runtime, fetch, outer } = useFetch()
	const kept = await settled(runtime, fetch(URL))
	const attempts: number[] = []
	await settled(
		runtime,
		outer.execute(({ attempt }) => {
			attempts.push(attempt)
			throw new Error('failed', { cause: kept.ok ? kept.value : undefined })
		}),
	)
	expect(attempts).toEqual([0, 1, 2])
})

test('a POST that must not be sent twice may be sent again by an outer retry', async () => {
	const { runtime, sent, fetch, outer } = useFetch()
	await settled(
		runtime,
		outer.execute(async () => {
			throw new Error('failed', { cause: await fetch(URL, { method: 'POST' }) })
		}),
	)
	expect(sent).toHaveLength(3)
})
