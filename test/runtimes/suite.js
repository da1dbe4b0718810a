/**
 * The built package, on whatever runs this: no test framework, no `node:` import, nothing that a browser lacks. Waits are
 * real and short, for here it is the runtime's own timers, signals and network errors that are asked.
 *
 * `surroundings`: `deadUrl` where nobody listens; `faultyUrl` whose server holds its answer back (`/hang`), breaks the
 * connection off (`/reset`) or in the middle of the body (`/cut`); `apiUrl`, to a browser's page another origin, which like
 * `faultyUrl` does as a URL says (stories.js); `AsyncLocalStorage`, `ambient` of `yaoki/node`, and `serve` to start a server with a fetch
 * handler, where there is one.
 */
import { tests as calls } from './calls.js'
import { describe, SKIPPED } from './checks.js'
import { tests as bodies } from './http-bodies.js'
import { tests as client } from './http-client.js'
import { tests as limits } from './http-limits.js'
import { tests as repeats } from './http-repeats.js'
import { tests as responses } from './http-responses.js'
import { tests as retries } from './http-retries.js'
import { tests as services } from './http-services.js'
import { tests as network } from './network.js'
import { tests as policies } from './policies.js'
import { tests as simulations } from './simulations.js'

const PARTS = [
	simulations,
	calls,
	network,
	policies,
	retries,
	repeats,
	bodies,
	limits,
	responses,
	client,
	services,
]

/** Answers how many passed, what went wrong with each that did not, and which this runtime can not run. */
export async function runSuite(surroundings) {
	let passed = 0
	const failed = []
	const skipped = []
	for (const [name, test] of PARTS.flatMap(Object.entries)) {
		try {
			if ((await inTime(test(surroundings))) === SKIPPED) skipped.push(name)
			else passed++
		} catch (error) {
			failed.push({ name, error: describe(error) })
		}
	}
	return { passed, failed, skipped }
}

/** A test that hangs must fail by its name, and not take the whole run with it. */
function inTime(promise) {
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error('no end after 10 s')), 10_000)
	})
	return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
