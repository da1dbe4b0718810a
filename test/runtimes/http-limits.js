/** Timeouts of an attempt and of the request, the deadline and the abort of the caller, with the signals of the runtime. */
import { Deadline, explain } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { A_MINUTE, describe, errorOf, SHORT, same } from './checks.js'
import { isWorker, story } from './stories.js'

/** An abort with a recognizable reason. */
function abortable() {
	const controller = new AbortController()
	const reason = new Error('never mind')
	return { signal: controller.signal, reason, abort: () => controller.abort(reason) }
}

const isReason = (error, reason) =>
	isWorker ? same(error.message, reason.message) : same(error, reason, describe(error))

function isTimeout(error, timeoutMs) {
	same(
		`${error.name} ${error.code} ${error.timeoutMs}`,
		`TimeoutError YAOKI_TIMEOUT ${timeoutMs}`,
		describe(error),
	)
}

export const tests = {
	async 'throws a TimeoutError if the server does not respond in time, and disconnects'({ apiUrl }) {
		const clock = virtualRuntime()
		const { url, arrived, gone } = story(apiUrl, 'hang')
		const error = errorOf(resilientFetch({ timeout: 1_000, maxRetries: 0, runtime: clock })(url))
		await arrived()
		await clock.advance(1_000)
		isTimeout(await error, 1_000)
		await gone()
	},

	async 'retries after a timeout'({ apiUrl }) {
		const { url } = story(apiUrl, 'hang,200')
		// The second attempt must arrive in time on a slow machine too.
		const response = await resilientFetch({ ...SHORT, timeout: 2_000 })(url)
		same(response.status, 200)
		same(explain(response).attempts[0].errorType, 'TimeoutError')
	},

	async 'throws a TimeoutError if the body stops in the middle'({ apiUrl }) {
		const clock = virtualRuntime()
		const { url, gone } = story(apiUrl, 'stall')
		const response = await resilientFetch({ timeout: 1_000, runtime: clock })(url)
		const error = errorOf(response.text())
		await clock.advance(1_000)
		isTimeout(await error, 1_000)
		await gone()
	},

	async 'throws a TimeoutError for a body that is not read in time'({ apiUrl }) {
		const clock = virtualRuntime()
		const response = await resilientFetch({ timeout: 1_000, runtime: clock })(story(apiUrl, 'stall').url)
		await clock.advance(1_000)
		isTimeout(await errorOf(response.json()), 1_000)
	},

	async 'does not limit a body that the caller reads as a stream'({ apiUrl }) {
		const clock = virtualRuntime()
		const { url } = story(apiUrl, 'stall')
		const response = await resilientFetch({ timeout: 1_000, runtime: clock })(url)
		const reader = response.body.getReader()
		await clock.advance(60_000)
		const { value } = await reader.read()
		same(new TextDecoder().decode(value), 'the beginning')
		await reader.cancel()
	},

	async 'clears the timeout of a body that was read in time'({ apiUrl }) {
		const clock = virtualRuntime()
		const events = []
		const get = resilientFetch({ timeout: 1_000, runtime: clock, onEvent: ({ type }) => events.push(type) })
		const response = await get(story(apiUrl, 'page').url)
		same(await response.text(), 'a page')
		await clock.advance(60_000)
		same(events.includes('timeout'), false)
	},

	async 'limits the whole request'({ apiUrl }) {
		const { url } = story(apiUrl, 'hang')
		const get = resilientFetch({ ...SHORT, timeout: 60_000, totalTimeoutMs: 30 })
		isTimeout(await errorOf(get(url)), 30)
	},

	async 'throws a DeadlineExceededError at the deadline of the caller'({ apiUrl }) {
		const { url } = story(apiUrl, 'hang')
		const deadline = Deadline.after(30)
		const error = await errorOf(resilientFetch(SHORT)(url, { yaoki: { deadline } }))
		same(error.name, 'DeadlineExceededError', describe(error))
	},

	async 'an abort before the response throws its reason and disconnects'({ apiUrl }) {
		const { url, arrived, gone } = story(apiUrl, 'hang')
		const { signal, reason, abort } = abortable()
		const failed = errorOf(resilientFetch(SHORT)(url, { signal }))
		await arrived()
		abort()
		const error = await failed
		isReason(error, reason)
		same(explain(error).stop, 'abort')
		await gone()
	},

	async 'an abort in a wait throws its reason immediately'({ apiUrl }) {
		const { signal, reason, abort } = abortable()
		const get = resilientFetch({ ...A_MINUTE, totalTimeoutMs: Infinity, onRetry: () => setTimeout(abort, 1) })
		same(await errorOf(get(story(apiUrl, '503').url, { signal })), reason)
	},

	async 'an abort in the middle of the body throws its reason'({ apiUrl }) {
		const { url, gone } = story(apiUrl, 'stall')
		const { signal, reason, abort } = abortable()
		const response = await resilientFetch(SHORT)(url, { signal })
		setTimeout(abort, 5)
		const error = await errorOf(response.text())
		isReason(error, reason)
		await gone()
	},

	async 'an abort without a reason throws the AbortError of the runtime'({ apiUrl }) {
		const controller = new AbortController()
		setTimeout(() => controller.abort(), 5)
		const error = await errorOf(resilientFetch(SHORT)(story(apiUrl, 'hang').url, controller))
		same(error.name, 'AbortError')
	},

	async 'does not send a request with an aborted signal'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '200')
		same(await errorOf(resilientFetch(SHORT)(url, { signal: AbortSignal.abort('too late') })), 'too late')
		same((await seen()).length, 0)
	},

	async 'honors the signal of a Request'({ apiUrl }) {
		const { signal, reason, abort } = abortable()
		const request = new Request(story(apiUrl, 'hang').url, { signal })
		setTimeout(abort, 5)
		isReason(await errorOf(resilientFetch(SHORT)(request)), reason)
	},
}
