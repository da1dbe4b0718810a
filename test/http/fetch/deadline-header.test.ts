import { describe, expect, test } from 'vitest'
import { Deadline } from 'yaoki'
import { type DeadlineHeader, readDeadline } from '../../../src/http/headers/deadline-headers.ts'
import { hang } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import { BUSY, FINE, failure, SENDERS } from './setup.ts'

/** How each header expresses a remaining time. */
const FORMS: Readonly<Record<DeadlineHeader, (ms: number) => string>> = {
	'x-request-timeout-ms': String,
	'grpc-timeout': (ms) => `${ms}m`,
	'x-envoy-upstream-rq-timeout-ms': String,
	'x-envoy-expected-rq-timeout-ms': String,
	'connect-timeout-ms': String,
}
const NAMES = Object.keys(FORMS) as DeadlineHeader[]

/** All deadline headers of a request. */
const deadlines = ({ headers }: SeenRequest): object =>
	Object.fromEntries(NAMES.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))

describe.each(SENDERS)('over $name', ({ setup }) => {
	describe.each(NAMES)("with deadlineHeader: '%s'", (deadlineHeader) => {
		const saying = (ms: number) => ({ [deadlineHeader]: FORMS[deadlineHeader](ms) })

		test('every attempt sends its timeout or the remaining total, in this header only', async () => {
			const { fetch, url, server } = await setup([BUSY, BUSY, FINE], {
				deadlineHeader,
				timeout: 2_450,
				totalTimeoutMs: 2_500,
			})
			expect((await fetch(url)).status).toBe(200)
			// The waits between them took 100 and 200.
			expect(server.requests.map(deadlines)).toEqual([saying(2_450), saying(2_400), saying(2_200)])
		})

		test("the caller's deadline is sent if it is earlier, without fractions of a millisecond", async () => {
			const { fetch, url, server, runtime } = await setup(FINE, { deadlineHeader })
			await fetch(url, { yaoki: { deadline: Deadline.after(750.9, { runtime }) } })
			expect(server.requests.map(deadlines)).toEqual([saying(750)])
		})

		test('the server reads what was sent', async () => {
			const { fetch, url, server } = await setup(FINE, { deadlineHeader, totalTimeoutMs: 5_000 })
			await fetch(url, { method: 'POST', body: 'an order' })
			const headers = new Headers(server.requests[0]?.headers as Record<string, string>)
			expect(readDeadline(headers, [deadlineHeader])).toBe(5_000)
		})

		test('a request without timeouts sends nothing', async () => {
			const { fetch, url, server } = await setup(FINE, {
				deadlineHeader,
				timeout: Infinity,
				totalTimeoutMs: Infinity,
			})
			await fetch(url)
			expect(server.requests.map(deadlines)).toEqual([{}])
		})
	})

	test('less than a millisecond is sent as 1 to Envoy, for which 0 means no timeout, and as 0 to others', async () => {
		for (const [deadlineHeader, text] of [
			['x-envoy-upstream-rq-timeout-ms', '1'],
			['x-request-timeout-ms', '0'],
			['grpc-timeout', '0m'],
		] as const) {
			const { fetch, url, server, time } = await setup(hang(), { deadlineHeader, totalTimeoutMs: 0.5 })
			const asked = failure(fetch(url))
			await server.requested(1)
			await time.advance(1)
			expect((await asked).name).toBe('TimeoutError')
			expect(server.requests.map(deadlines)).toEqual([{ [deadlineHeader]: text }])
		}
	})

	test("the header is 'x-request-timeout-ms' by default", async () => {
		const { fetch, url, server } = await setup(FINE)
		await fetch(url)
		expect(server.requests.map(deadlines)).toEqual([{ 'x-request-timeout-ms': '10000' }])
	})

	test('deadlineHeader: false sends no header and does not change the timeouts', async () => {
		const { fetch, url, server, time } = await setup([BUSY, hang()], {
			deadlineHeader: false,
			totalTimeoutMs: 600,
		})
		const asked = failure(fetch(url))
		await server.requested(2)
		await time.advance(500)
		expect(await asked).toMatchObject({ name: 'TimeoutError', timeoutMs: 600 })
		expect(server.requests.map(deadlines)).toEqual([{}, {}])
	})
})
