/** What users write if their library does not have it. Shorter than it should be: no abort, no deadline, no events. */
import type { Programs, Session } from './programs.ts'

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const refreshes = new WeakMap<Session, Promise<void>>()

/** One refresh for all requests that need it. */
function refreshOnce(session: Session): Promise<void> {
	const pending = refreshes.get(session) ?? session.refresh().finally(() => refreshes.delete(session))
	refreshes.set(session, pending)
	return pending
}

export const byHand: Programs = {
	async retry(load) {
		for (let attempt = 0; ; attempt++) {
			try {
				return await load()
			} catch (error) {
				if (attempt === 2) throw error
				await sleep(5 * 2 ** attempt * Math.random())
			}
		}
	},

	getJson() {
		throw new Error('every library has it')
	},

	breaker(load) {
		let failures = 0
		let openUntil = 0
		return async () => {
			if (Date.now() < openUntil) return 'default'
			try {
				const result = await load()
				failures = 0
				return result
			} catch {
				if (++failures >= 2) openUntil = Date.now() + 30_000
				return 'default'
			}
		}
	},

	bulkhead(load) {
		let running = 0
		const queue: (() => void)[] = []
		return async () => {
			if (running >= 2) {
				if (queue.length >= 2) throw new Error('bulkhead full')
				await new Promise<void>((resolve) => queue.push(resolve))
			} else running++
			try {
				return await load()
			} finally {
				// The slot is handed to the next one in the queue.
				const next = queue.shift()
				if (next) next()
				else running--
			}
		}
	},

	post() {
		throw new Error('every library has it')
	},

	auth(session, baseUrl) {
		const get = (path: string, token: string) =>
			fetch(baseUrl + path, { headers: { authorization: `Bearer ${token}` } })
		return async (path) => {
			const { token } = session
			let response = await get(path, token)
			if (response.status === 401) {
				await response.body?.cancel()
				if (session.token === token) await refreshOnce(session)
				response = await get(path, session.token)
			}
			if (!response.ok) throw new Error(`HTTP ${response.status}`)
			return response.text()
		}
	},
}
