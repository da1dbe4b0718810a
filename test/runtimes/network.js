/** Classifies the errors that `fetch` throws on this runtime. */
import { classify, retryWithBackoff } from 'yaoki'
import { describe, errorOf, isNetworkFailure, SHORT, same } from './checks.js'

export const tests = {
	async 'classifies a refused connection as transient'({ deadUrl }) {
		isNetworkFailure(await errorOf(fetch(deadUrl)))
	},

	async 'classifies a broken connection as transient'({ faultyUrl }) {
		isNetworkFailure(await errorOf(fetch(`${faultyUrl}/reset`)))
	},

	async 'classifies a response that breaks in the middle as transient'({ faultyUrl }) {
		isNetworkFailure(await errorOf(fetch(`${faultyUrl}/cut`).then((response) => response.text())))
	},

	async 'retries such a call'({ deadUrl, faultyUrl }) {
		const work = ({ attempt }) => fetch(attempt === 0 ? deadUrl : `${faultyUrl}/ok`)
		same(await (await retryWithBackoff(work, SHORT)).text(), 'ok')
	},

	async 'ends the call if the caller aborts the fetch'({ faultyUrl }) {
		const controller = new AbortController()
		let calls = 0
		const work = ({ signal }) => {
			calls++
			setTimeout(() => controller.abort(), 5)
			return fetch(`${faultyUrl}/hang`, { signal })
		}
		const { signal } = controller
		const error = await errorOf(retryWithBackoff(work, { ...SHORT, signal }))
		same(error.name, 'AbortError')
		same(calls, 1)
		same(classify(error, { signal }).kind, 'cancelled')
	},

	async 'retries a fetch that times out'({ faultyUrl }) {
		const error = await errorOf(fetch(`${faultyUrl}/hang`, { signal: AbortSignal.timeout(5) }))
		same(JSON.stringify(classify(error)), '{"kind":"transient","isKnown":true}', describe(error))
	},
}
