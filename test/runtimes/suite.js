/**
 * Tests of the built package that run on every runtime: no test framework, no `node:` import, nothing that a browser lacks. Delays are
 * real and short, because these tests are about the timers, signals and network errors of the runtime.
 *
 * `env`: `deadUrl` is a closed port; the server of `faultyUrl` never responds (`/hang`), or breaks the connection before (`/reset`) or in
 * the body (`/cut`); `apiUrl` is another origin for a page, and scripted by its URLs like `faultyUrl` (stories.js); `AsyncLocalStorage`,
 * `withAmbientContext` of `yaoki/node`, `serve` to start a server with a fetch handler, and `setOffline` to disconnect the browser exist on some runtimes only.
 */
import { tests as calls } from './calls.js'
import { describe, SKIPPED } from './checks.js'
import { tests as grpc } from './grpc.js'
import { tests as bodies } from './http-bodies.js'
import { tests as client } from './http-client.js'
import { tests as limits } from './http-limits.js'
import { tests as repeats } from './http-repeats.js'
import { tests as responses } from './http-responses.js'
import { tests as retries } from './http-retries.js'
import { tests as services } from './http-services.js'
import { tests as idempotency } from './idempotency.js'
import { tests as network } from './network.js'
import { tests as policies } from './policies.js'
import { tests as simulations } from './simulations.js'
import { tests as stacks } from './stacks.js'
import { tests as telemetry } from './telemetry.js'
import { tests as webhooks } from './webhooks.js'

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
	idempotency,
	telemetry,
	grpc,
	webhooks,
	stacks,
]

/** The name and the function of each test. */
export const TESTS = PARTS.flatMap(Object.entries)

export { SKIPPED }

/** Returns the number of passed tests, the error of each failed one, and the names of skipped ones. */
export async function runSuite(env) {
	let passed = 0
	const failed = []
	const skipped = []
	for (const [name, test] of TESTS) {
		try {
			if ((await inTime(test(env))) === SKIPPED) skipped.push(name)
			else passed++
		} catch (error) {
			failed.push({ name, error: describe(error) })
		}
	}
	return { passed, failed, skipped }
}

/** Fails a test that hangs, so that the others still run. */
function inTime(promise) {
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error('no end after 10 s')), 10_000)
	})
	return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
