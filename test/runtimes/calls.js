/** Retries, aborts, deadlines and explanations. */
import { classify, Deadline, explain, HttpError, permanent, pipeline, retry, retryWithBackoff } from 'yaoki'
import { A_MINUTE, errorOf, fail, isTrue, once, SHORT, SKIPPED, same } from './checks.js'

export const tests = {
	async 'retries a call that fails twice, after real waits'() {
		const from = performance.now()
		const answer = await retryWithBackoff(
			({ attempt }) => (attempt < 2 ? fail('ECONNRESET') : attempt),
			SHORT,
		)
		same(answer, 2)
		// A timer may fire a millisecond early, because clocks round differently.
		isTrue(performance.now() - from >= 4, 'it did not wait')
	},

	async 'throws the last error when retries are exhausted'() {
		const error = await errorOf(retryWithBackoff(() => fail('EPIPE'), { ...SHORT, maxRetries: 1 }))
		same(error.code, 'EPIPE')
		same(explain(error).attempts.length, 2)
		same(explain(error).stop, 'retries-exhausted')
	},

	async 'does not retry a permanent error'() {
		let calls = 0
		const work = () => {
			calls++
			throw permanent(new Error('sold out'))
		}
		await errorOf(retryWithBackoff(work, SHORT))
		same(calls, 1)
	},

	async 'an abort ends a wait immediately with its reason'() {
		const controller = new AbortController()
		const reason = new Error('never mind')
		const { signal } = controller
		const onRetry = () => setTimeout(() => controller.abort(reason), 3)
		const error = await errorOf(retryWithBackoff(() => fail('EPIPE'), { ...A_MINUTE, signal, onRetry }))
		same(error, reason)
		same(explain(error).stop, 'abort')
	},

	async 'an abort without a reason throws the AbortError of the runtime'() {
		const controller = new AbortController()
		const onRetry = () => controller.abort()
		const error = await errorOf(
			retryWithBackoff(() => fail('EPIPE'), { ...A_MINUTE, signal: controller.signal, onRetry }),
		)
		same(error.name, 'AbortError')
	},

	async 'a call with an aborted signal runs nothing'() {
		let calls = 0
		const error = await errorOf(retryWithBackoff(() => calls++, { signal: AbortSignal.abort('too late') }))
		same(error, 'too late')
		same(calls, 0)
	},

	async 'aborts the signal of the operation with the signal of the caller'() {
		const controller = new AbortController()
		const work = ({ signal }) =>
			new Promise((_, reject) => {
				signal.addEventListener('abort', () => reject(signal.reason))
				setTimeout(() => controller.abort('enough'), 1)
			})
		const options = { signal: controller.signal, deadline: Deadline.after(60_000) }
		same(await errorOf(retry(SHORT).execute(work, options)), 'enough')
	},

	async 'a deadline aborts its signal on time'() {
		const { signal } = Deadline.after(5)
		// A busy machine may have taken longer than that already.
		if (!signal.aborted) await once(signal, 'abort')
		same(signal.reason.name, 'DeadlineExceededError')
	},

	async 'ends a call that would wait beyond its deadline'() {
		const error = await errorOf(
			retryWithBackoff(() => fail('EPIPE'), { ...A_MINUTE, deadline: Deadline.after(1_000) }),
		)
		same(explain(error).stop, 'deadline')
	},

	async 'settle never throws, and explain lists the attempts'() {
		const policy = pipeline({ name: 'payments' }, retry({ ...SHORT, maxRetries: 1 }))
		const failed = await policy.settle(() => fail('EPIPE'))
		same(failed.ok, false)
		isTrue(String(explain(failed)).startsWith('payments: 2 attempts'), String(explain(failed)))
		const settled = await policy.settle(() => 7)
		same(settled.value, 7)
		same(explain(settled).stop, 'success')
	},

	async 'classifies statuses the same everywhere'() {
		const kinds = [429, 503, 500, 404].map((status) => classify(new HttpError(status)).kind)
		same(kinds.join(), 'throttled,throttled,transient,permanent')
	},

	async 'keeps the async context of the caller after a wait'({ AsyncLocalStorage }) {
		if (!AsyncLocalStorage) return SKIPPED
		const user = new AsyncLocalStorage()
		const ask = (name) =>
			user.run(name, () =>
				retryWithBackoff(({ attempt }) => (attempt < 2 ? fail('EPIPE') : user.getStore()), SHORT),
			)
		same((await Promise.all([ask('Ana'), ask('Ben'), ask('Cleo')])).join(), 'Ana,Ben,Cleo')
		return undefined
	},
}
