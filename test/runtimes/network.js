/** What `fetch` throws on this runtime, and what classification makes of it. */
import { classify, retryWithBackoff } from 'yaoki'
import { describe, errorOf, isNetworkFailure, SHORT, same } from './checks.js'

export const tests = {
	async 'a server that is not there is a network failure worth retrying'({ deadUrl }) {
		isNetworkFailure(await errorOf(fetch(deadUrl)))
	},

	async 'so is a connection that breaks off'({ faultyUrl }) {
		isNetworkFailure(await errorOf(fetch(`${faultyUrl}/reset`)))
	},

	async 'so is an answer that breaks off in the middle'({ faultyUrl }) {
		isNetworkFailure(await errorOf(fetch(`${faultyUrl}/cut`).then((response) => response.text())))
	},

	async 'and such a call is made again'({ deadUrl, faultyUrl }) {
		const work = ({ attempt }) => fetch(attempt === 0 ? deadUrl : `${faultyUrl}/ok`)
		same(await (await retryWithBackoff(work, SHORT)).text(), 'ok')
	},

	async 'a fetch that the caller aborts ends the call'({ faultyUrl }) {
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

	async 'a fetch that takes too long is worth another try'({ faultyUrl }) {
		const error = await errorOf(fetch(`${faultyUrl}/hang`, { signal: AbortSignal.timeout(5) }))
		same(JSON.stringify(classify(error)), '{"kind":"transient","known":true}', describe(error))
	},
}
