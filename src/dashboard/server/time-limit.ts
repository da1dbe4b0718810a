/** The time limit of functions of the application: a session store that hangs must not keep requests open forever. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { clientLeft, Rejection } from './rejection.ts'

/** How long `authorize` and `actor` may take. A session store responds in milliseconds, or is down. */
const MAX_USER_CODE_MS = 10_000

/** Returns what the function of the option returns, or a rejection if it takes too long or the client leaves before. */
export function withTimeLimit<Result>(
	option: 'authorize' | 'actor',
	run: () => Result | Promise<Result>,
	{ signal }: Request,
	runtime: Runtime,
): Promise<Result | Rejection> {
	if (signal.aborted) return Promise.resolve(clientLeft())
	return new Promise((resolve, reject) => {
		const leave = () => end(clientLeft())
		const stop = runtime.setTimer(MAX_USER_CODE_MS, () => end(tookTooLong(option)), 'limit')
		const release = () => {
			stop()
			signal.removeEventListener('abort', leave)
		}
		const end = (result: Result | Rejection) => {
			release()
			resolve(result)
		}
		signal.addEventListener('abort', leave, { once: true })
		// An async function, because `run` may throw without returning a promise.
		const running = (async () => run())()
		running.then(end, (error) => {
			release()
			reject(error)
		})
	})
}

const tookTooLong = (option: string): Rejection =>
	new Rejection(
		503,
		'timeout',
		`The function ${option} of the dashboard's options did not settle within ${MAX_USER_CODE_MS / 1_000} s, so nothing was done.`,
	)
